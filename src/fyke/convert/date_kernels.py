"""Where years stand in a text: the digits that may begin one are found by comparing vectors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fyke.bits.jit import LANES, bytes_below, inlined, kernel, leaf, popcount, trailing_zeros
from fyke.bits.search_kernels import find_byte
from fyke.convert.months import LONGEST, SLOTS

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int32]
Bounds = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

_ZERO, _ONE, _TWO, _FOUR, _NINE, _POINT, _SLASH = (ord(character) for character in "01249./")
_SPACE, _MINUS, _A, _Z, _LOWER = 32, 45, 97, 122, 32
_SHORTEST = 3
"""Letters of a month's name."""
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
def _is_month(word: int) -> bool:
    """Whether letters are a month's name: five bits of each, as SLOTS has them."""
    slot = word % SLOTS.size
    while SLOTS[slot] and SLOTS[slot] != word:
        slot = (slot + 1) % SLOTS.size
    return bool(SLOTS[slot] == word)


@leaf
def _is_parted(text: Bytes, at: int) -> bool:
    """Whether the number at ``at`` stands behind another and one of ``./-``, maybe with a space. REQUIRES: ASCII."""
    at -= 2 if at > 0 and text[at - 1] <= _SPACE else 1
    return at > 0 and _MINUS <= text[at] <= _SLASH and _is_digit(text[at - 1])


@leaf
def _is_dated(text: Bytes, at: int, end: int) -> bool:
    """Whether AROUND ``text[at:end]`` a number stands that may be a day, and a month by number or by name.

    A day is of one or two digits, or before a year. Characters beyond ASCII may be any of it: then the answer is yes.
    """
    first, last = max(0, at - AROUND - 1), min(text.size, end + AROUND + 1)
    while first > 0 and _is_digit(text[first]):
        first -= 1
    while last < text.size and _is_digit(text[last]):
        last += 1
    day, month, digits, letters, word, glued = False, False, 0, 0, 0, False
    for here in range(first, last + 1):
        byte = int(text[here]) if here < last else _SPACE
        if byte >= _ABOVE_ASCII:
            return True
        letter = byte | _LOWER
        if _A <= letter <= _Z:
            glued = digits > 0 or (glued and letters > 0)
            word = (word << 5) + (letter & 31) if 0 < letters < LONGEST else letter & 31
            letters += 1
        elif letters:
            month = month or (letters >= _SHORTEST and (glued or (letters <= LONGEST and _is_month(word))))
            letters = 0
        if _is_digit(byte):
            month = month or (digits == 0 and _is_parted(text, here))
            digits += 1
        else:
            day = day or _DAYS[min(digits, 7)] != 0
            digits = 0
    return day and month


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
        if _is_dated(text, int(at), int(at + size)):
            found[count, 0], found[count, 1] = place, place + size
            count += 1
    return count


@kernel
def may_hold_years(text: Bytes, bounds: Bounds, found: Flags) -> None:
    """Tell of each text ``text[bounds[i]:bounds[i + 1]]`` whether ``find_years`` may find one.

    One with entities may hold more than it shows.
    """
    years = np.empty((MAX_YEARS, 3), np.int32)
    for n in range(found.size):
        part = text[bounds[n] : bounds[n + 1]]
        found[n] = find_byte(part, 0, _AMPERSAND) < part.size or find_years(part, years) > 0
