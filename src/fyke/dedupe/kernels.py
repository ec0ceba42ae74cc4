"""Word hashes to sketches: MinHash, simhash, and the key of a text's order of words.

Words and n-grams are those of fyke.text. Every function here has a slow twin in plain Python
(tests/dedupe/reference.py) and agrees with it bit for bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fyke.bits.jit import inlined, kernel
from fyke.text.word_kernels import U0, U1, Hash, shingles, words

Array = NDArray[Any]
U32 = np.uint64(32)
ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
NO_MINIMUM = np.uint32(0xFFFFFFFF)

PLANES = 32
"""Bit planes of the simhash counters: up to 2^32 features."""


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
def signature(hashes: Array, n: int, a: Array, b: Array, out: Array) -> None:
    """Write the minima of the n-grams of words with these hashes."""
    grams = np.empty(hashes.size + 1, np.uint64)
    minima(grams, shingles(hashes, hashes.size, n, grams), a, b, out)


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


class Recipe(NamedTuple):
    """How texts are sketched."""

    ngram: int
    table: Array
    a: NDArray[np.uint32]
    b: NDArray[np.uint32]
    by_words: bool
    """Words are the features of the simhash, else shingles."""


@kernel
def sketch(
    buffer: Array, offsets: Array, recipe: Recipe, signatures: Array, simhashes: Array, counts: Array, keys: Array
) -> None:
    """Sketch each document ``buffer[offsets[d]:offsets[d + 1]]``: MinHash, simhash, number of shingles, word-order key.

    O(bytes + shingles · permutations).
    """
    n, table, a, b, by_words = recipe
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
