"""Words: runs of bytes to words of all scripts, with what a block counts of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fyke.bits.jit import LANES, copy_lanes, inlined, leaf
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
    TEXT,
    TITLED,
    UPPERS,
    WORDS,
)  # fmt: skip
from fyke.clean.elements import BYTE, FOLDED, HASHED, PACKED, SPACE, TERMINAL, UPPER, Array

_MASK = (1 << 40) - 1
_SPACES = np.array([0, 32, 10], np.uint8)
_LONGEST = 30_000
"""Bytes of a run whose letters are counted: more would spill the counts of 16 bits."""


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


@leaf
def word_ends(page: Array, at: int, end: int) -> tuple[int, int]:
    """Return (hash, end) of the word at ``at``, case folded; an ideograph is a word. Hash 0: there are no letters."""
    if is_mark(page, at):
        return 0, min(end, at + 3)
    if is_ideograph(page, at):
        return HASHED[page[at]] * 65536 + HASHED[page[at + 1]] * 256 + HASHED[page[at + 2]], at + 3
    value = 0
    while at < end:
        byte = page[at]
        if BYTE[byte] == SPACE:
            break
        if byte >= 0xE2 and (is_ideograph(page, at) or (is_mark(page, at) and (byte != 0xE2 or value == 0))):
            break
        if HASHED[byte]:
            value = (value * 31 + HASHED[byte]) & _MASK
        at += 1
    return value, min(at, end)


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


@inlined
def note_word(value: int, row: Array, half: bool, in_link: bool, titles: Array, bodies: Array,
              last: int) -> int:  # fmt: skip
    """Count a word by its hash; return the hash. ``half``: it is the second ideograph of two, which are one word."""
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
    page: Array, start: int, end: int, row: Array, in_link: bool, titles: Array, bodies: Array, last: int
) -> int:
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
            last = note_word(value, row, half, in_link, titles, bodies, last)
    return last


class Known(NamedTuple):
    """Words that are looked for: those of the title, and pairs of those that the page says are its text."""

    titles: Array
    bodies: Array


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


@leaf
def count_text(
    page: Array, start: int, end: int, row: Array, in_link: bool, known: Known, pen: Pen, out: Array
) -> Pen:  # fmt: skip
    """Add what the words of ``page[start:end]`` tell to a block's row, and write them, white space folded.

    Sums are kept beside the row: it is written once for each text.
    """
    titles, bodies = known
    last, size, gap = pen
    at, tail, first = start, 0, row[TEXT]
    lowers, uppers, digits, points, chars, capitals, words, titled, bodied = 0, 0, 0, 0, 0, 0, 0, 0, 0
    hashed = row[HASH]
    while at < end:
        if page[at] <= 32:
            gap = max(gap, 1)
            at += 1
            continue
        begin = at
        packed, value, seen, entity = 0, 0, 0, False
        longest = min(end, begin + _LONGEST)
        while at < longest:
            byte = page[at]
            if byte <= 32:
                break
            packed += PACKED[byte]
            seen |= byte
            entity |= byte == 38
            folded = FOLDED[byte]
            if folded:
                value = value * 31 + folded  # wraps: only the low bits count
            at += 1
        while at < end and page[at] > 32:
            at += 1
        if gap and size > first:
            out[size] = _SPACES[gap]
            size += 1
        gap = 0
        size = write(page, begin, at, out, size)
        value &= _MASK
        tail = page[at - 1]
        chars += at - begin
        lowers += packed & 0xFFFF
        uppers += packed >> 16 & 0xFFFF
        digits += packed >> 32 & 0xFFFF
        points += packed >> 48
        capitals += BYTE[page[begin]] == UPPER
        if seen >= 128 or entity:
            row[HASH] = hashed
            last = count_words(page, begin, at, row, in_link, titles, bodies, last)
            hashed = row[HASH]
        elif value:
            words += 1
            titled += titles[find(titles, value)] != 0
            if bodies.size > 1:
                bodied += bodies[find(bodies, (last * 31 + value) & _MASK)] != 0
            hashed = (hashed * 1000003 + value) & _MASK
            last = value
    row[ENDS] = 1 if tail == 58 else 0
    if BYTE[tail] == TERMINAL or tail == 0x82 or tail == 0x81 or tail == 0x9F or tail == 34 or tail == 0x9D:  # 。！？”
        row[ENDS] = 2
    row[HASH] = hashed
    row[CHARS] += chars
    row[LOWERS] += lowers
    row[UPPERS] += uppers
    row[DIGITS] += digits
    row[POINTS] += points
    row[CAPITALS] += capitals
    row[WORDS] += words
    row[TITLED] += titled
    row[BODIED] += bodied
    if in_link:
        row[LINKED] += words
    return Pen(last, size, gap)
