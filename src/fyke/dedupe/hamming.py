"""Search among simhashes: all within k bits, by groups of bits (the lecture's) or permuted tables (Manku)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]


def distance(left: int, right: int) -> int:
    """Return in how many bits two simhashes differ."""
    return (left ^ right).bit_count()


def similarity(apart: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return cos(π·distance/64) of distances, which estimates the cosine of the feature vectors (Charikar)."""
    return np.asarray(np.cos(np.pi * apart / 64), np.float64)


@dataclass(frozen=True, slots=True)
class Table:
    """Simhashes with some blocks of bits brought to the top, sorted: equal tops stand together."""

    blocks: tuple[tuple[int, int], ...]
    """(first bit from the top, width) of the blocks at the top."""
    keys: Hashes
    documents: NDArray[np.int64]


class HammingIndex:
    """All simhashes within k bits of a given one.

    ``groups`` blocks of bits; those within k bits agree wholly in at least groups − k of them (pigeonhole), so there is
    one table for each choice of that many blocks, and a query looks at the equal tops of each table. groups = k + 1 is
    the lecture's L groups (one block on top, few tables, long buckets); more groups are Manku's (more tables, short
    buckets): 64 bits, k = 3, 4 groups → 4 tables of 16 bits; 6 groups → 20 tables of 32 bits. All answers are exact.
    """

    def __init__(self, simhashes: Hashes, k: int = 3, groups: int | None = None) -> None:
        """Sort the tables: ``len(simhashes)`` · tables · 16 bytes."""
        groups = k + 1 if groups is None else groups
        if not k < groups <= 64:
            raise ValueError(f"groups is {groups}; between k + 1 = {k + 1} and 64 are needed")
        self.k = k
        self.simhashes = simhashes
        edges = [round(i * 64 / groups) for i in range(groups + 1)]
        blocks = [(a, b - a) for a, b in itertools.pairwise(edges)]
        self.tables = [self._table(chosen) for chosen in itertools.combinations(blocks, groups - k)]

    def _table(self, blocks: tuple[tuple[int, int], ...]) -> Table:
        keys = top(self.simhashes, blocks)
        order = np.argsort(keys, kind="stable")
        return Table(blocks, keys[order], order)

    def near(self, simhash: int) -> list[tuple[int, int]]:
        """Return (document, distance) of all within k bits, nearest first."""
        value = np.array([simhash], np.uint64)
        found = [np.empty(0, np.int64)]
        for table in self.tables:
            key = top(value, table.blocks)[0]
            first, last = np.searchsorted(table.keys, key), np.searchsorted(table.keys, key, "right")
            found.append(table.documents[first:last])
        candidates = np.unique(np.concatenate(found))
        apart = np.bitwise_count(self.simhashes[candidates] ^ value)
        order = np.lexsort((candidates, apart))
        return [(int(candidates[i]), int(apart[i])) for i in order if apart[i] <= self.k]

    def pairs(self, crowd: int = 1000) -> list[tuple[int, int, int]]:
        """Return all pairs (i, j, distance) within k bits; of a bucket of more than ``crowd``, those with its first."""
        found: dict[tuple[int, int], int] = {}
        for table in self.tables:
            bounds = np.flatnonzero(np.diff(table.keys) != 0) + 1
            for bucket in np.split(table.documents, bounds) if len(table.keys) else []:
                if len(bucket) < 2:
                    continue
                values = self.simhashes[bucket]
                heads = range(len(bucket) if len(bucket) <= crowd else 1)
                for i in heads:
                    apart = np.bitwise_count(values[i + 1 :] ^ values[i])
                    for j in np.flatnonzero(apart <= self.k).tolist():
                        a, b = sorted((int(bucket[i]), int(bucket[i + 1 + j])))
                        found[a, b] = int(apart[j])
        return [(i, j, apart) for (i, j), apart in sorted(found.items())]


def top(simhashes: Hashes, blocks: tuple[tuple[int, int], ...]) -> Hashes:
    """Return the chosen blocks of bits, one after the other, as numbers."""
    out = np.zeros(len(simhashes), np.uint64)
    for first, width in blocks:
        part = (simhashes >> np.uint64(64 - first - width)) & np.uint64((1 << width) - 1)
        out = (out << np.uint64(width) if width < 64 else out) | part
    return out
