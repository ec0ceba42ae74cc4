"""The kernels of dedupe again, in plain Python as their docstrings define them: slow, short, and the truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def minima(hashes: Sequence[int], a: Sequence[int], b: Sequence[int], p: int = 1 << 32) -> list[int]:
    values = [x >> 32 if p == 1 << 32 else x % p for x in hashes]
    return [min(((s * x + t) % p for x in values), default=0xFFFFFFFF) for s, t in zip(a, b, strict=True)]


def simhash(hashes: Sequence[int], bits: int = 64) -> int:
    totals = [0] * bits
    for value, weight in Counter(hashes).items():
        for i in range(bits):
            totals[i] += weight if value >> i & 1 else -weight
    return sum(1 << i for i, total in enumerate(totals) if total > 0)


def jaccard(left: set[int], right: set[int]) -> float:
    return len(left & right) / len(left | right) if left | right else 0.0
