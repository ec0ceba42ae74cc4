"""The biased front queue selector: high priorities often, low ones never not at all.

Front queue p has weight 2^(K − p): each is chosen twice as often as the next while both hold URLs, and the last
of eight still gets one choice of 255.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Protocol

import numpy as np


class Selector(Protocol):
    """Which front queue to pull from."""

    def pick(self, queues: Sequence[Sized]) -> int:
        """Return the index of a queue that is not empty; -1 where all are. Index 0 has priority 1."""
        ...


class RoundRobin:
    """Weighted round robin, spread evenly: each queue earns its weight each turn, the richest pays for all."""

    def __init__(self) -> None:
        self._credit: list[int] = []

    def pick(self, queues: Sequence[Sized]) -> int:
        """Return the index of a queue that is not empty; -1 where all are."""
        count = len(queues)
        credit = self._credit
        if len(credit) != count:
            credit = self._credit = [0] * count
        best, total = -1, 0
        for index in range(count):
            if queues[index]:
                weight = 1 << (count - 1 - index)
                total += weight
                credit[index] += weight
                if best < 0 or credit[index] > credit[best]:
                    best = index
        if best >= 0:
            credit[best] -= total
        return best


class Randomised:
    """A draw by weight from ``generator``, which the caller has seeded."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def pick(self, queues: Sequence[Sized]) -> int:
        """Return the index of a queue that is not empty; -1 where all are."""
        count = len(queues)
        weights = [1 << (count - 1 - index) if queues[index] else 0 for index in range(count)]
        ball = self._generator.random() * sum(weights)
        for index, weight in enumerate(weights):
            ball -= weight
            if weight and ball < 0:
                return index
        return -1
