"""One seam for locality-sensitive hashing: a family hashes vectors or sets so that the similar collide more often.

Every family gives L tables of keys, each made of K elementary hashes, and knows the probability that one elementary
hash agrees at a given similarity or distance; `plan` turns that probability into error rates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fyke.bits.hashing import mixed, splitmix64

Matrix = NDArray[np.float64]
Keys = NDArray[np.uint64]


class Family(Protocol):
    """A locality-sensitive family of hash functions over rows."""

    def hashes(self, rows: Matrix, count: int) -> NDArray[np.int64]:
        """Return ``count`` elementary hashes of each row, [row, hash]; always the same for the same row."""
        ...

    def agreement(self, measure: float) -> float:
        """Return the probability that an elementary hash of two rows agrees at a similarity (or distance)."""
        ...


def uniform(count: int, seed: int) -> Matrix:
    """Return numbers in (0, 1), always the same."""
    return ((splitmix64(count, seed) >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53


def normal(count: int, seed: int) -> Matrix:
    """Return standard normal numbers (Box and Muller)."""
    a, b = uniform(2 * count, seed).reshape(2, count)
    return np.asarray(np.sqrt(-2 * np.log(a)) * np.cos(2 * np.pi * b), np.float64)


@dataclass(frozen=True, slots=True)
class Cosine:
    """Random hyperplanes (Charikar): one bit for the side on which a row lies."""

    seed: int = 1

    def hashes(self, rows: Matrix, count: int) -> NDArray[np.int64]:
        """Return the sides of ``count`` hyperplanes."""
        planes = normal(rows.shape[1] * count, self.seed).reshape(rows.shape[1], count)
        return (rows @ planes > 0).astype(np.int64)

    def agreement(self, measure: float) -> float:
        """1 − θ/π, ``measure`` being the cosine."""
        return 1 - math.acos(max(-1.0, min(1.0, measure))) / math.pi


@dataclass(frozen=True, slots=True)
class Jaccard:
    """MinHash: the least of a permuted set; a row is the indicator of a set."""

    seed: int = 1

    def hashes(self, rows: Matrix, count: int) -> NDArray[np.int64]:
        """Return ``count`` minima; −1 for an empty set."""
        weights = splitmix64(rows.shape[1] * count, self.seed).reshape(rows.shape[1], count) >> np.uint64(2)
        out = np.full((len(rows), count), -1, np.int64)
        for i, row in enumerate(rows):
            if (members := row > 0).any():
                out[i] = weights[members].min(axis=0).astype(np.int64)
        return out

    def agreement(self, measure: float) -> float:
        """J itself."""
        return measure


@dataclass(frozen=True, slots=True)
class Hamming:
    """Sampled coordinates of rows of bits (Indyk and Motwani)."""

    width: int
    seed: int = 1

    def hashes(self, rows: Matrix, count: int) -> NDArray[np.int64]:
        """Return ``count`` sampled coordinates."""
        chosen = (splitmix64(count, self.seed) % np.uint64(self.width)).astype(np.int64)
        return (rows[:, chosen] > 0).astype(np.int64)

    def agreement(self, measure: float) -> float:
        """1 − d/width, ``measure`` being the distance d."""
        return 1 - measure / self.width


@dataclass(frozen=True, slots=True)
class Stable:
    """p-stable projections (Datar, Immorlica, Indyk, Mirrokni): ⌊(a·v + b)/w⌋, Cauchy for L1 and normal for L2."""

    p: int
    """1 or 2: the norm."""
    width: float = 4.0
    seed: int = 1

    def hashes(self, rows: Matrix, count: int) -> NDArray[np.int64]:
        """Return ``count`` quantised projections."""
        size = rows.shape[1] * count
        a = np.tan(np.pi * (uniform(size, self.seed) - 0.5)) if self.p == 1 else normal(size, self.seed)
        b = uniform(count, self.seed + 1) * self.width
        return np.floor((rows @ a.reshape(rows.shape[1], count) + b) / self.width).astype(np.int64)

    def agreement(self, measure: float) -> float:
        """The paper's closed forms, ``measure`` being the distance."""
        if measure == 0:
            return 1.0
        r = self.width / measure
        if self.p == 1:
            return 2 * math.atan(r) / math.pi - math.log(1 + r * r) / (math.pi * r)
        return math.erf(r / math.sqrt(2)) - 2 / (math.sqrt(2 * math.pi) * r) * (1 - math.exp(-r * r / 2))


def keys(family: Family, rows: Matrix, k: int, groups: int) -> Keys:
    """Return a key [group, row] for each of L groups of K elementary hashes: equal keys make candidates."""
    hashes = family.hashes(rows, k * groups).view(np.uint64).reshape(len(rows), groups, k)
    out = np.zeros((len(rows), groups), np.uint64)
    for j in range(k):
        out = mixed(out ^ hashes[:, :, j])
    return np.ascontiguousarray(out.T)


def candidates(made: Keys) -> set[tuple[int, int]]:
    """Return the pairs of rows that share a key in some group."""
    found: set[tuple[int, int]] = set()
    for group in made:
        buckets: dict[int, list[int]] = {}
        for row, key in enumerate(group.tolist()):
            bucket = buckets.setdefault(key, [])
            found.update((other, row) for other in bucket)
            bucket.append(row)
    return found
