"""Words: runs of bytes to words of all scripts, with what a block counts of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fyke.bits.hashing import mix
from fyke.bits.jit import (
    LANES,
    copy_lanes,
    inlined,
    leaf,
)
from fyke.clean.columns import (
    BODIED,
    HASH,
    IDEOGRAPHS,
    LINKED,
    POINTS,
    SAID_END,
    TITLED,
    WORDS,
)  # fmt: skip
from fyke.clean.elements import BYTE, FOLDED, HASHED, SPACE, Array

TEXT_WORDS = 1 << 16
"""Words of texts are known by 16 bits of their hash."""
HASH_BITS = (1 << 40) - 1
"""Of the hash of a word."""
_HASH = np.uint64(HASH_BITS)
STEP = 8
"""Letters that are hashed at once: eight of them are a number, and two such numbers are mixed for every word."""
_NONE = np.uint64(0)


@inlined
def is_ideograph(page: Array, at: int) -> bool:
    """Tell whether a Chinese, Japanese or Korean character of three bytes starts here (kana, hanzi, hangul)."""
    lead = page[at]
    if lead < 0xE3 or lead > 0xED or at + 2 >= page.size:
        return False
    second = page[at + 1]
    if lead == 0xE3:
        return bool(0x81 <= second <= 0x83 or second >= 0x90)
    if lead == 0xEA:
        return bool(second >= 0xB0)
    return bool(lead != 0xED or second <= 0x9E)


@inlined
def is_mark(page: Array, at: int) -> bool:
    """Tell whether a punctuation mark of three bytes starts here: dashes, quotes, and those of East Asia."""
    lead = page[at]
    if (lead != 0xE2 and lead != 0xE3 and lead != 0xEF) or at + 2 >= page.size:
        return False
    return bool(page[at + 1] == (0xBC if lead == 0xEF else 0x80))


class Spelt(NamedTuple):
    """The hash of the letters so far: of whole eights, those after them, and how many there are."""

    value: np.uint64
    eight: np.uint64
    size: int


@inlined
def spell(spelt: Spelt, letter: int) -> Spelt:
    """Add a letter: a byte of HASHED."""
    value, eight, count = spelt
    eight |= np.uint64(letter - 1) << np.uint64(STEP * (count % STEP))
    if count % STEP == STEP - 1:
        return Spelt(mix(value ^ eight), _NONE, count + 1)
    return Spelt(value, eight, count + 1)


@inlined
def hash_of(spelt: Spelt) -> int:
    """Return the hash of a word that was spelt; 0 if it has no letters."""
    value, eight, count = spelt
    if count == 0:
        return 0
    if count % STEP:
        value = mix(value ^ eight)
    if (count - 1) // STEP % 2 == 0:
        value = mix(value)
    return np.int64(value & _HASH)  # type: ignore[return-value]  # to a kernel it is one


@leaf
def word_ends(page: Array, at: int, end: int) -> tuple[int, int]:
    """Return (hash, end) of the word at ``at``, case folded; an ideograph is a word. Hash 0: there are no letters."""
    if is_mark(page, at):
        return 0, min(end, at + 3)
    if is_ideograph(page, at):
        return HASHED[page[at]] * 65536 + HASHED[page[at + 1]] * 256 + HASHED[page[at + 2]], at + 3
    spelt = Spelt(_NONE, _NONE, 0)
    while at < end:
        byte = page[at]
        if BYTE[byte] == SPACE:
            break
        if byte >= 0xE2 and (is_ideograph(page, at) or (is_mark(page, at) and (byte != 0xE2 or spelt.size == 0))):
            break
        if HASHED[byte]:
            spelt = spell(spelt, HASHED[byte])
        at += 1
    return hash_of(spelt), min(at, end)


@inlined
def slot_of(table: Array, key: int) -> int:
    """Return the slot at which the search for ``key`` begins."""
    return (key ^ key >> 15 ^ key >> 29) & (table.size - 1)


@inlined
def find(table: Array, key: int) -> int:
    """Return the slot of ``key`` in an open-addressing table of a power of two, or that of the free place for it."""
    slot = slot_of(table, key)
    while table[slot] != 0 and table[slot] != key:
        slot = (slot + 1) & (table.size - 1)
    return slot


@leaf
def remember_words(text: Array, table: Array, paired: bool, limit: int) -> int:
    """Put the hashes of the words of ``text`` (``paired``: of neighbouring words) into ``table``; return how many."""
    at, count, before = 0, 0, 0
    while at < text.size and count < limit:
        if BYTE[text[at]] == SPACE:
            at += 1
            continue
        value, at = word_ends(text, at, text.size)
        if value == 0:
            continue
        key = (before * 31 + value) & HASH_BITS if paired else value
        before = value
        slot = find(table, key)
        if key != 0 and table[slot] == 0:
            table[slot] = key
            count += 1
    return count


class Known(NamedTuple):
    """Words that are looked for: those of the title, and pairs of those that the page says are its text.

    ``said`` is where the words of all blocks are noted.
    """

    titles: Array
    bodies: Array
    said: Array


@inlined
def say(said: Array, at: int, value: int) -> int:
    """Note a word by its hash; return where the next goes."""
    if at == said.size:
        return at
    said[at] = (value ^ value >> 16) & (TEXT_WORDS - 1)
    return at + 1


@inlined
def note_word(value: int, row: Array, half: bool, in_link: bool, known: Known, last: int) -> int:
    """Count a word by its hash; return the hash. ``half``: it is the second ideograph of two, which are one word."""
    titles, bodies, said = known
    row[SAID_END] = say(said, row[SAID_END], last * 31 + value if half else value)
    if titles[find(titles, value)] != 0:
        row[TITLED] += 1
    if not half:
        row[WORDS] += 1
        if in_link:
            row[LINKED] += 1
        if bodies.size > 1 and bodies[find(bodies, (last * 31 + value) & HASH_BITS)] != 0:
            row[BODIED] += 1
    row[HASH] = (row[HASH] * 1000003 + value) & HASH_BITS
    return value


@leaf
def count_words(
    page: Array, start: int, end: int, row: Array, in_link: bool, known: Known, last: int
) -> int:  # fmt: skip
    """Count the words of a run with entities or with bytes beyond ASCII, where one run may be many words."""
    at = start
    while at < end:
        if page[at] == 38:  # an entity is no word; those that are letters are rare enough
            semicolon = at + 1
            while semicolon < end and semicolon < at + 9 and page[semicolon] != 59:
                semicolon += 1
            if semicolon < end and page[semicolon] == 59:
                at = semicolon + 1
                continue
        half = False
        if page[at] >= 0xE3:
            if is_ideograph(page, at):
                half = row[IDEOGRAPHS] & 1 == 1
                row[IDEOGRAPHS] += 1
            elif is_mark(page, at):  # 、。，！？：；
                row[POINTS] += 1
        value, at = word_ends(page, at, end)
        if value:
            last = note_word(value, row, half, in_link, known, last)
    return last


@inlined
def write(page: Array, start: int, end: int, out: Array, size: int) -> int:
    """Write ``page[start:end]`` at ``size`` of ``out``; return where it ends."""
    if end - start <= LANES and start + LANES <= page.size and size + LANES <= out.size:  # nearly every word
        copy_lanes(page, start, out, size)
    else:
        for byte in range(start, end):
            out[size + byte - start] = page[byte]
    return size + end - start


@leaf
def hash_letters(page: Array, start: int, end: int) -> int:
    """Return the hash of a word in ASCII: of its letters and digits, case folded; 0 where it has none."""
    spelt = Spelt(_NONE, _NONE, 0)
    for at in range(start, end):
        if FOLDED[page[at]]:
            spelt = spell(spelt, FOLDED[page[at]])
    return hash_of(spelt)


@leaf
def is_plain(page: Array, start: int, end: int) -> bool:
    """Tell whether a word is ASCII without entities."""
    for at in range(start, end):
        if page[at] >= 128 or page[at] == 38:
            return False
    return True
