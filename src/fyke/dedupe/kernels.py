"""Text to sketches in one pass: UTF-8 bytes → word hashes → rolling n-grams → MinHash, simhash.

Every function here has a slow twin in plain Python (tests/dedupe/reference.py) and agrees with it bit for bit.

- A word is a maximal run of letters, digits and marks; in scripts without spaces (Chinese, Japanese, …) each pair of
  neighbouring characters is a word, and a lone character is one. `words.character_table` says which character is what.
- A word's hash folds the codes c of its characters: h ← rotl(h, 5) + c, then `mix` (the finaliser of splitmix64).
- A shingle is n consecutive words; its hash is mix(Σ w_i B^(n−1−i)) modulo 2^64, rolled along the text. A text of
  fewer than n words, but at least one, is one shingle of all its words; a text without words has none.
- Bytes that are not UTF-8 separate words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fyke.bits.hashing import mix
from fyke.bits.jit import inlined, kernel, leaf

Array = NDArray[Any]
Hash = np.uint64

BASE = np.uint64(0x9FB21C651E98DF25)
"""Of the n-gram polynomial: odd, without structure."""

U0 = np.uint64(0)
U1 = np.uint64(1)
U2 = np.uint64(2)
U3 = np.uint64(3)
U4 = np.uint64(4)
U5 = np.uint64(5)
U32 = np.uint64(32)
U59 = np.uint64(59)
ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
NO_MINIMUM = np.uint32(0xFFFFFFFF)

# The table gives each character a code of 64 bits: mix of the folded character, its two lowest bits saying what it is.
# Code 0 separates words.
KIND = np.uint64(3)
LETTER = np.uint64(1)
UNSPACED = np.uint64(2)
"""A character of a script without spaces between words."""
SKIP = np.uint64(3)
"""An accent that is folded away."""
TABLE_SIZE = 0x20000
"""The table covers planes 0 and 1; planes 2 and 3 are Han, above them nothing is a letter."""
HAN_PLANES_END = 0x40000

PLANES = 32
"""Bit planes of the simhash counters: up to 2^32 features."""


@inlined
def code_point(buffer: Array, i: Any, end: int) -> tuple[int, int]:
    """Decode the UTF-8 sequence at ``i``; return (code point, length), or (0, 1) where it is not valid UTF-8."""
    lead = int(buffer[i])
    if lead < 0xC2 or lead > 0xF4:
        return 0, 1
    size = 2 if lead < 0xE0 else (3 if lead < 0xF0 else 4)
    if i + size > end:
        return 0, 1
    point = lead & (0x7F >> size)
    for j in range(1, size):
        byte = int(buffer[i + j])
        if byte & 0xC0 != 0x80:
            return 0, 1
        point = (point << 6) | (byte & 0x3F)
    too_long = (size == 3 and point < 0x800) or (size == 4 and point < 0x10000)
    if too_long or point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
        return 0, 1
    return point, size


@inlined
def character(buffer: Array, i: Any, end: int, table: Array) -> tuple[Hash, int]:
    """Return (code, length) of the character at ``i``."""
    if buffer[i] < 128:
        return np.uint64(table[buffer[i]]), 1
    point, size = code_point(buffer, np.int64(i), end)
    if point < TABLE_SIZE:
        return np.uint64(table[point]), size
    if point < HAN_PLANES_END:
        return (mix(np.uint64(point)) & ~KIND) | UNSPACED, size
    return U0, size


@inlined
def extended(h: Hash, code: Hash) -> Hash:
    """Fold one character more into the hash of a word."""
    return ((h << U5) | (h >> U59)) + code


@leaf
def bigrams(buffer: Array, i: Hash, end: int, table: Array, first: Hash, out: Array, count: Hash) -> tuple[Hash, Hash]:
    """Write the pairs of a run of unspaced characters, ``first`` and those from ``i`` on; return where both stand then.

    A lone character is written by itself.
    """
    last = first
    alone = U1
    while i < np.uint64(end):
        c, size = character(buffer, i, end, table)
        if c & KIND == UNSPACED:
            out[count] = extended(last, c)
            count += U1
            alone = U0
            last = c
        elif c & KIND != SKIP:
            break
        i += np.uint64(size)
    out[count] = last
    return i, count + alone


@leaf
def words(buffer: Array, start: int, end: int, table: Array, out: Array) -> int:
    """Write the hash of each word of ``buffer[start:end]`` to ``out``; return how many.

    REQUIRES: ``len(out) > end - start``. Plain ASCII runs without branches, four bytes at a time: each byte stores the
    hash of the word so far and advances only where a word ends.
    """
    # Unsigned, or each load and store would first look for a negative index: a fifth of the time.
    count = U0
    h = U0
    inside = U0
    i = np.uint64(start)
    stop = np.uint64(end)
    while i < stop:
        while i + U4 <= stop and (buffer[i] | buffer[i + U1] | buffer[i + U2] | buffer[i + U3]) < 128:
            for _ in range(4):
                c = table[buffer[i]]
                now = c & U1  # LETTER, or nothing
                out[count] = h
                count += inside & ~now
                h = extended(h, c) & (U0 - now)
                inside = now
                i += U1
        if i == stop:
            break
        c, size = character(buffer, i, end, table)
        i += np.uint64(size)
        if c & KIND == SKIP:
            continue
        now = np.uint64(c & KIND == LETTER)
        out[count] = h
        count += inside & ~now
        h = extended(h, c) & (U0 - now)
        inside = now
        if c & KIND == UNSPACED:
            i, count = bigrams(buffer, i, end, table, c, out, count)
    out[count] = h
    count += inside
    total: int = np.int64(count)  # type: ignore[assignment]  # to a kernel it is one
    for j in range(total):
        out[j] = mix(out[j])
    return total


@kernel
def shingles(hashes: Array, count: int, n: int, out: Array) -> int:
    """Write the hash of each n-gram of ``hashes[:count]`` to ``out``; return how many."""
    if count == 0:
        return 0
    width = min(n, count)
    made = count - width + 1
    leaving = U1  # BASE^width: the weight of the word that leaves the window
    h = U0
    for i in range(width):
        h = h * BASE + hashes[i]
        leaving *= BASE
    out[0] = h
    for i in range(1, made):
        h = h * BASE + (hashes[i + width - 1] - hashes[i - 1] * leaving)
        out[i] = h
    for i in range(made):
        out[i] = mix(out[i])
    return made


@kernel
def minima(hashes: Array, count: int, a: Array, b: Array, out: Array) -> None:
    """Write min over hashes of (a_j x + b_j) mod 2^32 to ``out[j]``, x being the upper 32 bits of a hash; a_j odd.

    Eight hashes per pass over the permutations: a, b and the minima are then loaded once for eight multiplications.
    """
    k = out.shape[0]
    for j in range(k):
        out[j] = NO_MINIMUM
    i = 0
    while i + 8 <= count:
        x0 = np.uint32(hashes[i] >> U32)
        x1 = np.uint32(hashes[i + 1] >> U32)
        x2 = np.uint32(hashes[i + 2] >> U32)
        x3 = np.uint32(hashes[i + 3] >> U32)
        x4 = np.uint32(hashes[i + 4] >> U32)
        x5 = np.uint32(hashes[i + 5] >> U32)
        x6 = np.uint32(hashes[i + 6] >> U32)
        x7 = np.uint32(hashes[i + 7] >> U32)
        for j in range(k):
            s = a[j]
            t = b[j]
            v0 = min(np.uint32(s * x0 + t), np.uint32(s * x1 + t))
            v1 = min(np.uint32(s * x2 + t), np.uint32(s * x3 + t))
            v2 = min(np.uint32(s * x4 + t), np.uint32(s * x5 + t))
            v3 = min(np.uint32(s * x6 + t), np.uint32(s * x7 + t))
            out[j] = min(out[j], min(min(v0, v1), min(v2, v3)))  # noqa: PLW3301 - a tree, not a chain
        i += 8
    while i < count:
        x = np.uint32(hashes[i] >> U32)
        for j in range(k):
            out[j] = min(out[j], np.uint32(a[j] * x + b[j]))
        i += 1


@kernel
def minima_modulo(hashes: Array, count: int, a: Array, b: Array, p: Hash, out: Array) -> None:
    """Write min over hashes of (a_j x + b_j) mod p to ``out[j]``: the textbook's permutations, p < 2^32 prime."""
    for j in range(out.shape[0]):
        out[j] = NO_MINIMUM
    for i in range(count):
        x = hashes[i] % p
        for j in range(out.shape[0]):
            out[j] = min(out[j], np.uint32((a[j] * x + b[j]) % p))


@inlined
def full_add(a: Hash, b: Hash, c: Hash) -> tuple[Hash, Hash]:
    """Add three bits in each of 64 places; return the sums and the carries."""
    u = a ^ b
    return u ^ c, (a & b) | (u & c)


@inlined
def add_at(planes: Array, p: int, bits: Hash) -> None:
    """Add 2^p to each of 64 counters whose bit is set."""
    while bits != U0:
        carry = planes[p] & bits
        planes[p] ^= bits
        bits = carry
        p += 1


@kernel
def majority(hashes: Array, count: int, planes: Array) -> Hash:
    """Return the 64 bits that are set in more than half of the hashes: Charikar's simhash, each hash weighing one.

    Bit-sliced: plane p holds bit p of 64 counters at once, and seven hashes become a 3-bit number by full adders.
    REQUIRES: ``planes`` has PLANES words.
    """
    for p in range(PLANES):
        planes[p] = U0
    i = 0
    while i + 7 <= count:
        ones1, twos1 = full_add(hashes[i], hashes[i + 1], hashes[i + 2])
        ones2, twos2 = full_add(hashes[i + 3], hashes[i + 4], hashes[i + 5])
        ones, twos3 = full_add(ones1, ones2, hashes[i + 6])
        twos, fours = full_add(twos1, twos2, twos3)
        planes[0], carry = full_add(planes[0], ones, U0)
        planes[1], carry = full_add(planes[1], twos, carry)
        planes[2], carry = full_add(planes[2], fours, carry)
        add_at(planes, 3, carry)
        i += 7
    while i < count:
        add_at(planes, 0, hashes[i])
        i += 1
    # All 64 counters against count // 2 at once, from the highest bit down: greater, or still equal.
    half = count // 2
    greater = U0
    equal = ONES
    for p in range(PLANES - 1, -1, -1):
        if (half >> p) & 1:
            equal &= planes[p]
        else:
            greater |= equal & planes[p]
            equal &= ~planes[p]
    return greater


@kernel
def weighted_majority(hashes: Array, weights: Array, totals: Array) -> None:
    """Add each weight to the components whose bit is set, subtract it from the others; component 0 is the highest bit.

    ``hashes`` has a row of 64-bit words for each feature; ``totals`` has 64 components for each of them.
    """
    for i in range(hashes.shape[0]):
        for j in range(totals.shape[0]):
            bit = (hashes[i, j // 64] >> np.uint64(63 - j % 64)) & U1
            totals[j] += weights[i] if bit != U0 else -weights[i]


@inlined
def text_key(gram: Array, made: int, found: int) -> Hash:
    """Hash the whole sequence of a text's words, of which there are ``found``: equal keys propose equal texts."""
    key = np.uint64(found)
    for i in range(made):
        key += gram[i] * np.uint64(2 * i + 1)
    return key


@kernel
def sketch(
    buffer: Array, offsets: Array, n: int, table: Array, a: Array, b: Array, by_words: bool,
    signatures: Array, simhashes: Array, counts: Array, keys: Array,
) -> None:  # fmt: skip
    """Sketch each document ``buffer[offsets[d]:offsets[d + 1]]``: MinHash, simhash, number of shingles, word-order key.

    ``by_words`` takes words as simhash features, else shingles.
    """
    longest = 0
    for d in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[d + 1] - offsets[d])
    word = np.empty(longest + 1, np.uint64)
    gram = np.empty(longest + 1, np.uint64)
    planes = np.empty(PLANES, np.uint64)
    for d in range(offsets.shape[0] - 1):
        found = words(buffer, offsets[d], offsets[d + 1], table, word)
        made = shingles(word, found, n, gram)
        minima(gram, made, a, b, signatures[d])
        simhashes[d] = majority(word, found, planes) if by_words else majority(gram, made, planes)
        counts[d] = made
        keys[d] = text_key(gram, made, found)
