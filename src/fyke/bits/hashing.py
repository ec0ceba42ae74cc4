"""Hashing 64-bit words: splitmix64's finish, for one word in a kernel or for an array, and its sequence of numbers.

Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fyke.bits.jit import inlined

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64/φ, odd: the step of splitmix64."""
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31 = np.uint64(27), np.uint64(30), np.uint64(31)


@inlined
def mix(x: np.uint64) -> np.uint64:
    """Finish a 64-bit hash, so that each input bit reaches each output bit; one to one, and 0 stays 0."""
    x ^= x >> _S30
    x *= _FIRST
    x ^= x >> _S27
    x *= _SECOND
    return x ^ (x >> _S31)


def mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return ``mix`` of each value."""
    out = values ^ values >> _S30
    out *= _FIRST
    out ^= out >> _S27
    out *= _SECOND
    out ^= out >> _S31
    return out


def splitmix64(count: int, seed: int = 0) -> NDArray[np.uint64]:
    """Return the first ``count`` numbers of the generator splitmix64."""
    return mixed(np.arange(1, count + 1, dtype=np.uint64) * GOLDEN + np.uint64(seed))
