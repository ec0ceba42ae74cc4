"""Levenshtein's distance over word hashes, one row at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fyke.bits.jit import kernel

Array = NDArray[Any]


@kernel
def edit_distance(left: Array, right: Array) -> int:
    """Return how many words must be inserted, deleted or replaced to make one sequence the other."""
    row = np.arange(right.shape[0] + 1)
    for i in range(left.shape[0]):
        diagonal = row[0]
        row[0] = i + 1
        for j in range(right.shape[0]):
            above = row[j + 1]
            change = diagonal + (0 if left[i] == right[j] else 1)
            row[j + 1] = min(change, min(above, row[j]) + 1)
            diagonal = above
    return int(row[right.shape[0]])
