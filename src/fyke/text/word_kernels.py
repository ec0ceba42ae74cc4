"""Words of UTF-8 bytes, in one pass: as hashes, as n-grams of hashes, and folded, with where they stand.

Every function here has a slow twin in plain Python (tests/text/reference.py) and agrees with it bit for bit.

- A word is a maximal run of letters, digits and marks; in scripts without spaces (Chinese, Japanese, …) each pair of
  neighbouring characters is a word, and a lone character is one. text/characters.py says which character is what.
- A word's hash folds the codes c of its characters: h ← rotl(h, 5) + c, then `mix` (the finaliser of splitmix64).
- A shingle is n consecutive words; its hash is mix(Σ w_i B^(n−1−i)) modulo 2^64, rolled along the text. A text of
  fewer than n words, but at least one, is one shingle of all its words; a text without words has none.
- Bytes that are not UTF-8 separate words.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fyke.bits.hashing import mix
from fyke.bits.jit import inlined, kernel, leaf, vector

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
U59 = np.uint64(59)

# The two lowest bits of a character's entry, or of its code, say what it is. 0 separates words.
KIND = np.uint64(3)
LETTER = np.uint64(1)
UNSPACED = np.uint64(2)
"""A character of a script without spaces between words."""
SKIP = np.uint64(3)
"""An accent that is folded away."""
TABLE_SIZE = 0x20000
"""The table covers planes 0 and 1; planes 2 and 3 are Han, above them nothing is a letter."""
HAN_PLANES_END = 0x40000
SPACE = 32
GROWTH, MARGIN = 3, 8
"""``fold_words`` writes at most GROWTH bytes for one, and MARGIN more."""


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

    REQUIRES: ``len(out) > (end - start) // 2 + 1``: a word is a letter and what parts it from the next, or a character
    of three bytes. Plain ASCII runs without branches, four bytes at a time: each byte stores the hash of the word so
    far and advances only where a word ends.
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


@vector
def add_words(hashes: Array, grams: Array) -> None:
    """Add the next word to each of the n-grams."""
    for i in range(grams.size):
        grams[i] = grams[i] * BASE + hashes[i]


@kernel
def shingles(hashes: Array, count: int, n: int, out: Array) -> int:
    """Write the hash of each n-gram of ``hashes[:count]`` to ``out``; return how many."""
    if count == 0:
        return 0
    width = min(n, count)
    made = count - width + 1
    grams = out[:made]
    grams[:] = U0
    for word in range(width):
        add_words(hashes[word : word + made], grams)
    for i in range(made):
        out[i] = mix(out[i])
    return made


class Room(NamedTuple):
    """What ``fold_words`` takes and gives. REQUIRES: room for GROWTH bytes for each byte of text, and MARGIN."""

    table: Array
    """characters.folded_table."""
    out: Array
    """Gets the words, folded, a space behind each."""
    spans: Array
    """Its rows get where the first words begin and end, in characters from the start."""


@inlined
def put_point(out: Array, at: int, point: int) -> int:
    """Write a character below 0x40000 as UTF-8; return where the next one goes."""
    if point < 0x80:
        out[at] = point
        return at + 1
    if point < 0x800:
        out[at] = 0xC0 | point >> 6
        out[at + 1] = 0x80 | point & 0x3F
        return at + 2
    if point < 0x10000:
        out[at] = 0xE0 | point >> 12
        out[at + 1] = 0x80 | point >> 6 & 0x3F
        out[at + 2] = 0x80 | point & 0x3F
        return at + 3
    out[at] = 0xF0 | point >> 18
    out[at + 1] = 0x80 | point >> 12 & 0x3F
    out[at + 2] = 0x80 | point >> 6 & 0x3F
    out[at + 3] = 0x80 | point & 0x3F
    return at + 4


@inlined
def end_word(out: Array, at: int, spans: Array, count: int, start: int, end: int) -> int:
    """Write the space behind a word, and where it stood; return where the next one goes."""
    out[at] = SPACE
    if count < spans.shape[0]:
        spans[count, 0] = start
        spans[count, 1] = end
    return at + 1


@inlined
def _entry(buffer: Any, at: Any, end: Any, table: Any) -> Any:
    """Return (what a character is folded to above its kind in two bits, its bytes)."""
    size = 1
    point = int(buffer[at])
    if point >= 128:
        point, size = code_point(buffer, at, end)
    entry = 0
    if point < TABLE_SIZE:
        entry = int(table[point])
    elif point < HAN_PLANES_END:
        entry = point << 2 | 2
    return entry, size


@leaf
def fold_words(buffer: Array, start: int, end: int, room: Room) -> tuple[int, int]:
    """Write the words of ``buffer[start:end]`` to ``room``; return (bytes written, words)."""
    table, out, spans = room
    at = count = place = began = 0
    last = -1  # the unspaced character before
    last_place = 0
    inside = alone = False
    i = start
    while i < end:
        entry, size = _entry(buffer, i, end, table)
        i += size
        kind = entry & 3
        place += 1
        if kind == 3:
            continue
        if kind != 1 and inside:
            at = end_word(out, at, spans, count, began, place - 1)
            count += 1
            inside = False
        if kind != 2 and last >= 0:
            if alone:
                at = put_point(out, at, last)
                at = end_word(out, at, spans, count, last_place, last_place + 1)
                count += 1
            last = -1
        if kind == 1:
            if not inside:
                inside = True
                began = place - 1
            at = put_point(out, at, entry >> 2)
        elif kind == 2:
            alone = last < 0
            if not alone:
                at = put_point(out, at, last)
                at = put_point(out, at, entry >> 2)
                at = end_word(out, at, spans, count, last_place, place)
                count += 1
            last = entry >> 2
            last_place = place - 1
    if inside:
        at = end_word(out, at, spans, count, began, place)
        count += 1
    if last >= 0 and alone:
        at = put_point(out, at, last)
        at = end_word(out, at, spans, count, last_place, last_place + 1)
        count += 1
    return at, count
