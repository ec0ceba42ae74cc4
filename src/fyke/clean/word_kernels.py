"""Words: runs of bytes to words of all scripts, with what a block counts of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fyke.bits.hashing import mix
from fyke.bits.jit import (
    LANES,
    bytes_below,
    bytes_equal,
    copy_lanes,
    eight_bytes,
    inlined,
    leaf,
    popcount,
    trailing_zeros,
)
from fyke.clean.columns import (
    BODIED,
    CAPITALS,
    CHARS,
    DIGITS,
    ENDS,
    HASH,
    IDEOGRAPHS,
    LINKED,
    LOWERS,
    POINTS,
    SAID_END,
    TEXT,
    TITLED,
    UPPERS,
    WORDS,
)  # fmt: skip
from fyke.clean.elements import BYTE, FOLDED, HASHED, PACKED, SPACE, TERMINAL, UPPER, Array

TEXT_WORDS = 1 << 16
"""Words of texts are known by 16 bits of their hash."""
_MASK = (1 << 40) - 1
_HASH = np.uint64(_MASK)
_SPACES = np.array([0, 32, 10], np.uint8)
_STEP = 8
"""Letters that are hashed at once: eight of them are a number, and two such numbers are mixed for every word."""
_SMALL = np.uint64(0x2020202020202020)
"""Folds the case of eight letters; digits have these bits."""
_LETTERS = np.array([(1 << 8 * min(8, count)) - 1 for count in range(2 * _STEP + 1)], np.uint64)
"""Masks of the first letters of eight."""
_0, _COLON, _LESS, _A, _AFTER_Z, _SMALL_A, _AFTER_SMALL_Z, _ABOVE_ASCII, _ABOVE_SPACE = (
    np.uint8(byte) for byte in (48, 58, 60, 65, 91, 97, 123, 128, 33)
)
_COMMA, _DOT, _BANG, _WHAT, _AMPERSAND = (np.uint8(ord(mark)) for mark in ",.!?&")
_BIT = np.uint64(1)
_NONE = np.uint64(0)
_LANE = np.uint64((1 << LANES) - 1)


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
    eight |= np.uint64(letter - 1) << np.uint64(_STEP * (count % _STEP))
    if count % _STEP == _STEP - 1:
        return Spelt(mix(value ^ eight), _NONE, count + 1)
    return Spelt(value, eight, count + 1)


@inlined
def hash_of(spelt: Spelt) -> int:
    """Return the hash of a word that was spelt; 0 if it has no letters."""
    value, eight, count = spelt
    if count == 0:
        return 0
    if count % _STEP:
        value = mix(value ^ eight)
    if (count - 1) // _STEP % 2 == 0:
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
def find(table: Array, key: int) -> int:
    """Return the slot of ``key`` in an open-addressing table of a power of two, or that of the free place for it."""
    slot = (key ^ key >> 15 ^ key >> 29) & (table.size - 1)
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
        key = (before * 31 + value) & _MASK if paired else value
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
        if bodies.size > 1 and bodies[find(bodies, (last * 31 + value) & _MASK)] != 0:
            row[BODIED] += 1
    row[HASH] = (row[HASH] * 1000003 + value) & _MASK
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


class Pen(NamedTuple):
    """Where the text of a block goes on: the last word's hash, the bytes written, and the white space that is due."""

    last: int
    size: int
    gap: int
    """0 none, 1 a space, 2 a new line."""


@inlined
def first_bits(count: int) -> int:
    """Return a mask of ``count`` bits."""
    return (_BIT << np.uint64(count)) - _BIT  # type: ignore[return-value]  # to a kernel it is one


@leaf
def count_bytes(page: Array, start: int, end: int, row: Array) -> bool:
    """Add what the bytes of a text are to a block's row; return whether all are ASCII and none begins an entity."""
    lowers, uppers, digits, points, chars, others = 0, 0, 0, 0, 0, 0
    at = start
    while at < end and at + LANES <= page.size:
        own = first_bits(min(LANES, end - at))
        below_0, below_colon = bytes_below(page, at, _0), bytes_below(page, at, _COLON)
        marks = bytes_equal(page, at, _COMMA) | bytes_equal(page, at, _DOT) | bytes_equal(page, at, _BANG)
        marks |= bytes_equal(page, at, _WHAT) | (bytes_below(page, at, _LESS) & ~below_colon)
        lowers += popcount(own & bytes_below(page, at, _AFTER_SMALL_Z) & ~bytes_below(page, at, _SMALL_A))
        uppers += popcount(own & bytes_below(page, at, _AFTER_Z) & ~bytes_below(page, at, _A))
        digits += popcount(own & below_colon & ~below_0)
        points += popcount(own & marks)
        chars += popcount(own & ~bytes_below(page, at, _ABOVE_SPACE))
        others += popcount(own & (~bytes_below(page, at, _ABOVE_ASCII) | bytes_equal(page, at, _AMPERSAND)))
        at += LANES
    for here in range(at, end):  # the last bytes of the page
        byte = page[here]
        packed = PACKED[byte]
        lowers += packed & 1
        uppers += packed >> 16 & 1
        digits += packed >> 32 & 1
        points += packed >> 48 & 1
        chars += byte > 32
        others += byte >= 128 or byte == 38
    row[LOWERS] += lowers
    row[UPPERS] += uppers
    row[DIGITS] += digits
    row[POINTS] += points
    row[CHARS] += chars
    return others == 0


@leaf
def hash_letters(page: Array, start: int, end: int) -> int:
    """Return the hash of a word in ASCII: of its letters and digits, case folded; 0 where it has none."""
    spelt = Spelt(_NONE, _NONE, 0)
    for at in range(start, end):
        if FOLDED[page[at]]:
            spelt = spell(spelt, FOLDED[page[at]])
    return hash_of(spelt)


@inlined
def hash_word(page: Array, start: int, size: int) -> int:
    """Return ``hash_letters`` of a word of ``size`` bytes. REQUIRES: it is shorter than LANES, and 2 · LANES follow."""
    letters = bytes_below(page, start, _AFTER_SMALL_Z) & ~bytes_below(page, start, _SMALL_A)
    letters |= bytes_below(page, start, _AFTER_Z) & ~bytes_below(page, start, _A)
    letters |= bytes_below(page, start, _COLON) & ~bytes_below(page, start, _0)
    letters &= first_bits(size)
    if letters == _NONE:
        return 0
    before, count = trailing_zeros(letters), popcount(letters)
    if count > 2 * _STEP or letters >> np.uint64(before) != first_bits(count):
        return hash_letters(page, start, start + size)
    first, second = eight_bytes(page, start + before) | _SMALL, eight_bytes(page, start + before + _STEP) | _SMALL
    first &= _LETTERS[count]
    second &= _LETTERS[max(0, count - _STEP)]
    return np.int64(mix(mix(first) ^ second) & _HASH)  # type: ignore[return-value]  # to a kernel it is one


@leaf
def is_plain(page: Array, start: int, end: int) -> bool:
    """Tell whether a word is ASCII without entities."""
    for at in range(start, end):
        if page[at] >= 128 or page[at] == 38:
            return False
    return True


@leaf
def count_text(
    page: Array, start: int, end: int, row: Array, in_link: bool, known: Known, pen: Pen, out: Array
) -> Pen:  # fmt: skip
    """Add what the words of ``page[start:end]`` tell to a block's row, and write them, white space folded.

    Sums are kept beside the row: it is written once for each text.
    """
    titles, bodies, said = known
    last, size, gap = pen
    at, tail, first = start, 0, row[TEXT]
    capitals, words, titled, bodied = 0, 0, 0, 0
    plain = count_bytes(page, start, end, row)
    hashed, noted = row[HASH], row[SAID_END]
    while at < end:
        if page[at] <= 32:
            gap = max(gap, 1)
            at += 1
            continue
        begin = at
        near = at + 2 * LANES <= page.size
        if near:
            at = min(end, at + trailing_zeros(bytes_below(page, at, _ABOVE_SPACE) | ~_LANE))
        while at < end and page[at] > 32:
            at += 1
        if gap and size > first:
            out[size] = _SPACES[gap]
            size += 1
        gap = 0
        size = write(page, begin, at, out, size)
        tail = page[at - 1]
        capitals += BYTE[page[begin]] == UPPER
        if not plain and not is_plain(page, begin, at):
            row[HASH], row[SAID_END] = hashed, noted
            last = count_words(page, begin, at, row, in_link, known, last)
            hashed, noted = row[HASH], row[SAID_END]
            continue
        value = hash_word(page, begin, at - begin) if near and at - begin < LANES else hash_letters(page, begin, at)
        if value:
            words += 1
            noted = say(said, noted, value)
            titled += titles[find(titles, value)] != 0
            if bodies.size > 1:
                bodied += bodies[find(bodies, (last * 31 + value) & _MASK)] != 0
            hashed = (hashed * 1000003 + value) & _MASK
            last = value
    row[ENDS] = 1 if tail == 58 else 0
    if BYTE[tail] == TERMINAL or tail == 0x82 or tail == 0x81 or tail == 0x9F or tail == 34 or tail == 0x9D:  # 。！？”
        row[ENDS] = 2
    row[HASH], row[SAID_END] = hashed, noted
    row[CAPITALS] += capitals
    row[WORDS] += words
    row[TITLED] += titled
    row[BODIED] += bodied
    if in_link:
        row[LINKED] += words
    return Pen(last, size, gap)
