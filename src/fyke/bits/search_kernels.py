"""Searching bytes a vector at a time, and comparing them by words of eight."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fyke.bits.jit import LANES, bytes_equal, eight_bytes, inlined, leaf, trailing_zeros

Bytes = npt.NDArray[np.uint8]
_U0, _U1 = np.uint64(0), np.uint64(1)


@inlined
def find_byte(page: Bytes, at: int, byte: np.uint8) -> int:
    """Return where ``byte`` stands at or after ``at``; the end of the page if it does not."""
    last = page.size - LANES
    while at <= last:
        found = bytes_equal(page, at, byte)
        if found:
            return at + trailing_zeros(found)
        at += LANES
    while at < page.size and page[at] != byte:
        at += 1
    return at


@leaf
def same_bytes(one: Bytes, at: int, other: Bytes, start: int, size: int) -> bool:
    """Whether ``size`` bytes are the same in both. REQUIRES: arrays of uint8 with seven bytes behind them."""
    k = 0
    while k + 8 <= size:
        if eight_bytes(one, at + k) != eight_bytes(other, start + k):
            return False
        k += 8
    differ = eight_bytes(one, at + k) ^ eight_bytes(other, start + k)
    return bool(differ & ((_U1 << np.uint64(8 * (size - k))) - _U1) == _U0)
