"""Chance by counter: every draw is a hash of what it is for, so it is the same whenever and wherever it is made.

No generator has a state: page 7 of host 3 is drawn without drawing page 6. Parts are integers and strings,
whose ``repr`` no Python version and no hash randomisation changes.
"""

from __future__ import annotations

import hashlib
import math

from xxhash import xxh3_64_intdigest

_SCALE = 1.0 / (1 << 64)


def draw(*parts: int | str) -> int:
    """64 uniform bits."""
    return int(xxh3_64_intdigest(repr(parts).encode()))


def unit(*parts: int | str) -> float:
    """Uniform in [0, 1)."""
    return min(draw(*parts) * _SCALE, 1.0 - 2**-53)


def exponential(mean: float, *parts: int | str) -> float:
    """Exponential with the given mean: the gap between two events of a Poisson process."""
    return -mean * math.log1p(-unit(*parts))


def stream(size: int, *parts: int | str) -> bytes:
    """``size`` uniform bytes."""
    return hashlib.shake_128(repr(parts).encode()).digest(size)
