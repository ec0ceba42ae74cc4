"""Where years stand in a text: the digits that may begin one are found by comparing vectors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fyke.bits.jit import LANES, bytes_below, inlined, kernel, leaf, popcount, trailing_zeros

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int32]

_ZERO, _ONE, _TWO, _FOUR, _NINE, _POINT, _SLASH = (ord(character) for character in "01249./")
_FIRST_DIGIT, _ABOVE_DIGITS, _ABOVE_ASCII, _ABOVE_INNER = (np.uint8(byte) for byte in (48, 58, 0x80, 0xC0))
BEHIND = b" " * LANES
"""What stands behind a text, so that whole vectors can be read."""
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


@kernel
def find_years(text: Bytes, found: Places) -> int:
    """Write where each year begins and ends, in characters, as far as there is room; return how many.

    REQUIRES: UTF-8 with BEHIND behind it.
    """
    count, inner, behind = 0, 0, 0
    for begin in range(0, text.size - LANES, LANES):
        digits = bytes_below(text, begin, _ABOVE_DIGITS) & ~bytes_below(text, begin, _FIRST_DIGIT)
        inside = bytes_below(text, begin, _ABOVE_INNER) & ~bytes_below(text, begin, _ABOVE_ASCII)
        while digits != _NO_BITS:
            lane = trailing_zeros(digits)
            digits &= digits - _FIRST_BIT  # type: ignore[assignment]  # both are uint64
            at = begin + lane
            size = year_size(text, at) if at >= behind else 0
            if size:
                if count == found.shape[0]:
                    return count
                behind = at + size
                place = at - inner - popcount(inside & ((_FIRST_BIT << np.uint64(lane)) - _FIRST_BIT))
                found[count, 0], found[count, 1] = place, place + size
                count += 1
        inner += popcount(inside)
    return count
