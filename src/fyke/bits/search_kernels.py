"""Searching bytes: a vector at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fyke.bits.jit import LANES, bytes_equal, inlined, trailing_zeros


@inlined
def find_byte(page: npt.NDArray[np.uint8], at: int, byte: np.uint8) -> int:
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
