"""The text of a block: its bytes and words counted, its white space folded, a window of 64 bytes at a time.

A *window* begins where a word may begin. What its bytes are, is told by masks of 64 bits; the words that end in it are
found by these, and the next window begins behind the last white space of this one.
"""

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
    leading_zeros,
    leaf,
    popcount,
    trailing_zeros,
    vector,
)
from fyke.clean.columns import (
    BODIED,
    CAPITALS,
    CHARS,
    DIGITS,
    ENDS,
    HASH,
    LINKED,
    LOWERS,
    POINTS,
    SAID_END,
    TEXT,
    TITLED,
    UPPERS,
    WORDS,
)  # fmt: skip
from fyke.clean.elements import BYTE, PACKED, TERMINAL, Array
from fyke.clean.token_kernels import word_end
from fyke.clean.word_kernels import (
    HASH_BITS,
    STEP,
    Known,
    count_words,
    find,
    hash_letters,
    is_plain,
    say,
    slot_of,
    write,
)

WINDOW = 64
"""Bytes of a window: the bits of a word of the machine."""
_READ = 2 * WINDOW
"""Bytes from the beginning of a window on that are read and written, wanted or not."""
_SPACES = np.array([0, 32, 10], np.uint8)
_SPACE = np.uint8(32)
_SMALL = np.uint64(0x2020202020202020)
"""Folds the case of eight letters; digits have these bits."""
_LETTERS = np.array([(1 << 8 * min(8, count)) - 1 for count in range(2 * STEP + 1)], np.uint64)
"""Masks of the first letters of eight."""
_0, _COLON, _LESS, _A, _AFTER_Z, _SMALL_A, _AFTER_SMALL_Z, _ABOVE_ASCII, _ABOVE_SPACE = (
    np.uint8(byte) for byte in (48, 58, 60, 65, 91, 97, 123, 128, 33)
)
_COMMA, _DOT, _BANG, _WHAT, _AMPERSAND = (np.uint8(ord(mark)) for mark in ",.!?&")
_HASH = np.uint64(HASH_BITS)
_BIT, _NONE, _HALF = np.uint64(1), np.uint64(0), np.uint64(LANES)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


class Window(NamedTuple):
    """Of 64 bytes those that are white space, letters of either case, digits, points, and of no plain word."""

    spaces: np.uint64
    lowers: np.uint64
    uppers: np.uint64
    digits: np.uint64
    points: np.uint64
    others: np.uint64
    """Beyond ASCII, or the beginning of an entity."""


@inlined
def below(page: Array, at: int, byte: np.uint8) -> np.uint64:
    """``bytes_below`` of a window."""
    return bytes_below(page, at, byte) | bytes_below(page, at + LANES, byte) << _HALF


@inlined
def equal(page: Array, at: int, byte: np.uint8) -> np.uint64:
    """``bytes_equal`` of a window."""
    return bytes_equal(page, at, byte) | bytes_equal(page, at + LANES, byte) << _HALF


@inlined
def window_at(page: Array, at: int) -> Window:
    """Return the window that begins at ``at``. REQUIRES: it ends within the page."""
    below_colon = below(page, at, _COLON)
    points = equal(page, at, _COMMA) | equal(page, at, _DOT) | equal(page, at, _BANG) | equal(page, at, _WHAT)
    return Window(
        below(page, at, _ABOVE_SPACE),
        below(page, at, _AFTER_SMALL_Z) & ~below(page, at, _SMALL_A),
        below(page, at, _AFTER_Z) & ~below(page, at, _A),
        below_colon & ~below(page, at, _0),
        points | (below(page, at, _LESS) & ~below_colon),
        ~below(page, at, _ABOVE_ASCII) | equal(page, at, _AMPERSAND),
    )


@inlined
def first_bits(count: int) -> np.uint64:
    """Return a mask of ``count`` bits, 1 … 64."""
    return _ALL >> np.uint64(WINDOW - count)


@inlined
def count_window(window: Window, own: np.uint64, row: Array) -> None:
    """Add what those bytes of a window are that ``own`` names to a block's row."""
    row[LOWERS] += popcount(own & window.lowers)
    row[UPPERS] += popcount(own & window.uppers)
    row[DIGITS] += popcount(own & window.digits)
    row[POINTS] += popcount(own & window.points)
    row[CHARS] += popcount(own & ~window.spaces)


@leaf
def count_bytes(page: Array, start: int, end: int, row: Array) -> None:
    """Add what the bytes of a text are to a block's row."""
    at = start
    while at < end and at + WINDOW <= page.size:
        count_window(window_at(page, at), first_bits(min(WINDOW, end - at)), row)
        at += WINDOW
    for here in range(at, end):  # the last bytes of the page
        packed = PACKED[page[here]]
        row[LOWERS] += packed & 1
        row[UPPERS] += packed >> 16 & 1
        row[DIGITS] += packed >> 32 & 1
        row[POINTS] += packed >> 48 & 1
        row[CHARS] += page[here] > 32


class Pen(NamedTuple):
    """Where the text of a block goes on: the last word's hash, the bytes written, and the white space that is due."""

    last: int
    size: int
    gap: int
    """0 none, 1 a space, 2 a new line."""


class Sums(NamedTuple):
    """What the words of a text come to so far; their block's row is written at the end of the text."""

    last: int
    """The last word's hash."""
    hashed: int
    noted: int
    words: int
    titled: int
    bodied: int


@inlined
def add_word(value: int, known: Known, sums: Sums) -> Sums:
    """Add a word by its hash; 0 is none."""
    titles, bodies, said = known
    last, hashed, noted, words, titled, bodied = sums
    if value == 0:
        return sums
    if bodies.size > 1:
        bodied += bodies[find(bodies, (last * 31 + value) & HASH_BITS)] != 0
    if titles[slot_of(titles, value)] != 0:
        titled += titles[find(titles, value)] != 0
    return Sums(value, (hashed * 1000003 + value) & HASH_BITS, say(said, noted, value), words + 1, titled, bodied)


@leaf
def add_run(page: Array, start: int, end: int, row: Array, in_link: bool, known: Known, sums: Sums) -> Sums:
    """Add the words of a run of any bytes but white space."""
    if is_plain(page, start, end):
        return add_word(hash_letters(page, start, end), known, sums)
    row[HASH], row[SAID_END] = sums.hashed, sums.noted
    last = count_words(page, start, end, row, in_link, known, sums.last)
    return Sums(last, row[HASH], row[SAID_END], sums.words, sums.titled, sums.bodied)


@inlined
def hash_at(page: Array, at: int, count: int) -> int:
    """Return ``hash_letters`` of ``count`` letters and digits. REQUIRES: at most 2 · STEP of them."""
    first, second = eight_bytes(page, at) | _SMALL, eight_bytes(page, at + STEP) | _SMALL
    first &= _LETTERS[count]
    second &= _LETTERS[max(0, count - STEP)]
    return np.int64(mix(mix(first) ^ second) & _HASH)  # type: ignore[return-value]  # to a kernel it is one


@inlined
def copy_window(page: Array, at: int, out: Array, size: int) -> None:
    """Copy 64 bytes, wanted or not."""
    copy_lanes(page, at, out, size)
    copy_lanes(page, at + LANES, out, size + LANES)


@inlined
def write_window(page: Array, at: int, length: int, ends: np.uint64, out: Array, size: int) -> int:
    """Write the words in the first ``length`` bytes of a window, a space behind each; return where the next one goes.

    ``ends`` are its bytes that end a word.
    """
    own, after = first_bits(length), ends << _BIT | _BIT
    if ends & after & own == _NONE:  # no white space behind another
        copy_window(page, at, out, size)
        controls = ends & own & ~equal(page, at, _SPACE)
        while controls != _NONE:
            out[size + trailing_zeros(controls)] = _SPACE
            controls &= controls - _BIT
        out[size + length] = _SPACE
        return size + length + (1 if page[at + length - 1] > 32 else 0)
    starts = own & ~ends & after
    while starts != _NONE:
        place = trailing_zeros(starts)
        starts &= starts - _BIT
        copy_window(page, at + place, out, size)
        size += trailing_zeros(ends >> np.uint64(place)) + 1
        out[size - 1] = _SPACE
    return size


@inlined
def add_window(
    page: Array, at: int, window: Window, ends: np.uint64, row: Array, in_link: bool, known: Known, sums: Sums
) -> Sums:  # fmt: skip
    """Count the words that end in the window at ``at``; ``ends`` are its bytes that end one."""
    own = first_bits(WINDOW - leading_zeros(ends)) & ~ends
    count_window(window, own, row)
    starts = own & (ends << _BIT | _BIT)
    row[CAPITALS] += popcount(starts & window.uppers)
    letters, others = window.lowers | window.uppers | window.digits, window.others & own
    while starts != _NONE:
        begin, place = at + trailing_zeros(starts), np.uint64(trailing_zeros(starts))
        starts &= starts - _BIT
        length = trailing_zeros(ends >> place)
        bits = letters >> place & first_bits(length)
        before, count = trailing_zeros(bits), popcount(bits)
        joined = 0 < count <= 2 * STEP and bits == first_bits(count) << np.uint64(before)
        if joined and (others == _NONE or others >> place & first_bits(length) == _NONE):
            sums = add_word(hash_at(page, begin + before, count), known, sums)
        else:
            sums = add_run(page, begin, begin + length, row, in_link, known, sums)
    return sums


@inlined
def ending(page: Array, end: int) -> int:
    """Return how a text that ends at ``end`` does that: 1 with a colon, 2 as a sentence. REQUIRES: there is a word."""
    while page[end - 1] <= 32:
        end -= 1
    tail = page[end - 1]
    if BYTE[tail] == TERMINAL or tail == 0x82 or tail == 0x81 or tail == 0x9F or tail == 34 or tail == 0x9D:  # 。！？”
        return 2
    return 1 if tail == 58 else 0


@vector
def count_text(
    page: Array, start: int, end: int, row: Array, in_link: bool, known: Known, pen: Pen, out: Array
) -> Pen:  # fmt: skip
    """Add what the bytes and words of ``page[start:end]`` tell to a block's row; write it, white space folded.

    REQUIRES: there is a word.
    """
    at, size = start, pen.size
    gap = max(pen.gap, 1) if page[start] <= 32 else pen.gap
    if gap and size > row[TEXT]:
        out[size] = _SPACES[gap]
        size += 1
    sums = Sums(pen.last, row[HASH], row[SAID_END], 0, 0, 0)
    while at < end:
        ends = _NONE
        if at + _READ <= page.size and size + _READ <= out.size:
            window = window_at(page, at)
            ends = window.spaces | ~first_bits(min(WINDOW, end - at))
        if ends != _NONE:
            length = min(end - at, WINDOW - leading_zeros(ends))
            size = write_window(page, at, length, ends, out, size)
            sums = add_window(page, at, window, ends, row, in_link, known, sums)
            at += length
        elif page[at] <= 32:
            at += 1
        else:  # a long word, or the end of the page
            begin, at = at, word_end(page, at, end)
            count_bytes(page, begin, at, row)
            row[CAPITALS] += PACKED[page[begin]] >> 16 & 1
            sums = add_run(page, begin, at, row, in_link, known, sums)
            size = write(page, begin, at, out, size) + 1
            out[size - 1] = _SPACE
    row[ENDS] = ending(page, end)
    row[HASH], row[SAID_END] = sums.hashed, sums.noted
    row[WORDS] += sums.words
    row[TITLED] += sums.titled
    row[BODIED] += sums.bodied
    if in_link:
        row[LINKED] += sums.words
    return Pen(sums.last, size - 1, 1 if page[end - 1] <= 32 else 0)
