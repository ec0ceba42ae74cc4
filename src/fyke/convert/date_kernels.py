"""Where years stand in a text: the digits that may begin one are found by comparing vectors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fyke.bits.jit import LANES, bytes_below, inlined, kernel, leaf, popcount, trailing_zeros
from fyke.bits.search_kernels import find_byte

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int32]

_ZERO, _ONE, _TWO, _FOUR, _NINE, _POINT, _SLASH = (ord(character) for character in "01249./")
_FIRST_DIGIT, _ABOVE_DIGITS, _ABOVE_ASCII, _ABOVE_INNER = (np.uint8(byte) for byte in (48, 58, 0x80, 0xC0))
AROUND = 40
"""Characters before and after a year in which the rest of a date stands."""
MAX_YEARS = 400
"""Years of a text that are looked at."""
_DAYS = np.array([0, 1, 1, 0, 0, 1, 1, 0], np.uint8)
"""Of a number by how many digits it has: whether it may be a day, by itself or right before a year."""
_AMPERSAND = np.uint8(ord("&"))
_NO_BITS = np.uint64(0)
_FIRST_BIT = np.uint64(1)


@inlined
def _is_digit(byte: int) -> bool:
    return _ZERO <= byte <= _NINE


@leaf
def year_size(text: Bytes, at: int) -> int:
    """Return the size of 1990 … 2049 or of 3.4.20 (3/4/20) at a digit; 0 where neither stands there."""
    first, second, third, fourth = text[at], text[at + 1], text[at + 2], text[at + 3]
    if second == _NINE or second == _ZERO:
        nineties = first == _ONE and second == _NINE and third == _NINE
        after = first == _TWO and second == _ZERO and _ZERO <= third <= _FOUR
        return 4 if (nineties or after) and _is_digit(fourth) else 0
    if (second != _POINT and second != _SLASH) or not _is_digit(third):
        return 0
    behind = at + (4 if _is_digit(fourth) else 3)
    if text[behind] != _POINT and text[behind] != _SLASH:
        return 0
    return behind + 3 - at if _is_digit(text[behind + 1]) and _is_digit(text[behind + 2]) else 0


@leaf
def _scan(text: Bytes, end: int, first: int, state: Places, found: Places) -> None:
    """Look at ``text[:end]``, which stands at ``first`` of the whole; REQUIRES: LANES bytes more than that.

    ``state`` is how many years were found, how many bytes do not begin a character, and where the last year ended; a
    row of ``found`` is where a year begins, in characters and in bytes, and its size.
    """
    count, inner, behind = state[0], state[1], state[2] - first
    for begin in range(0, end, LANES):
        digits = bytes_below(text, begin, _ABOVE_DIGITS) & ~bytes_below(text, begin, _FIRST_DIGIT)
        inside = bytes_below(text, begin, _ABOVE_INNER) & ~bytes_below(text, begin, _ABOVE_ASCII)
        while digits != _NO_BITS:
            lane = trailing_zeros(digits)
            digits &= digits - _FIRST_BIT  # type: ignore[assignment]  # both are uint64
            at = begin + lane
            size = year_size(text, at) if at >= behind else 0
            if size and count < found.shape[0]:
                behind = at + size
                place = first + at - inner - popcount(inside & ((_FIRST_BIT << np.uint64(lane)) - _FIRST_BIT))
                found[count, 0], found[count, 1], found[count, 2] = place, first + at, size
                count += 1
        inner += popcount(inside)
    state[0], state[1], state[2] = count, inner, behind + first


@leaf
def _has_day(text: Bytes, at: int, end: int) -> bool:
    """Whether a number that may be a day stands AROUND ``text[at:end]``: of one or two digits, or before a year.

    Digits of other scripts may be one too: with any character beyond ASCII the answer is yes.
    """
    first, last = max(0, at - AROUND - 1), min(text.size, end + AROUND + 1)
    while first > 0 and _is_digit(text[first]):
        first -= 1
    while last < text.size and _is_digit(text[last]):
        last += 1
    run = 0
    for here in range(first, last):
        if _is_digit(text[here]):
            run += 1
        elif _DAYS[min(run, 7)] or text[here] >= _ABOVE_ASCII:
            return True
        else:
            run = 0
    return bool(_DAYS[min(run, 7)])


@kernel
def find_years(text: Bytes, found: Places) -> int:
    """Write where each year of UTF-8 begins and ends that may be a date's, in characters; return how many.

    As far as there is room in ``found``, which has three columns, of which the last is for its own use.
    """
    state, rest = np.zeros(3, np.int32), np.zeros(3 * LANES, np.uint8)
    whole = max(0, text.size // LANES - 1) * LANES
    _scan(text, whole, 0 * whole, state, found)
    for at in range(whole, text.size):
        rest[at - whole] = text[at]
    _scan(rest, 2 * LANES, whole, state, found)
    count = 0
    for year in range(state[0]):
        place, at, size = found[year, 0], found[year, 1], found[year, 2]
        if _has_day(text, int(at), int(at + size)):
            found[count, 0], found[count, 1] = place, place + size
            count += 1
    return count


@kernel
def may_hold_year(text: Bytes) -> bool:
    """Whether ``find_years`` may find one: a text with entities may hold more than it shows."""
    if find_byte(text, 0, _AMPERSAND) < text.size:
        return True
    return find_years(text, np.empty((MAX_YEARS, 3), np.int32)) > 0
