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
    """Distinct simhashes with some blocks of bits brought to the top, sorted: equal tops stand together."""

    blocks: tuple[tuple[int, int], ...]
    """(first bit from the top, width) of the blocks at the top."""
    keys: Hashes
    numbers: NDArray[np.int64]
    """Of the distinct simhashes."""


class HammingIndex:
    """All simhashes within k bits of a given one.

    ``groups`` blocks of bits; those within k bits agree wholly in at least groups − k of them (pigeonhole), so there is
    one table for each choice of that many blocks, and a query looks at the equal tops of each table. groups = k + 1 is
    the lecture's L groups (one block on top, few tables, long buckets); more groups are Manku's (more tables, short
    buckets): 64 bits, k = 3, 4 groups → 4 tables of 16 bits; 6 groups → 20 tables of 32 bits. All answers are exact.
    """

    def __init__(self, simhashes: Hashes, k: int = 3, groups: int | None = None) -> None:
        """Sort the tables: distinct simhashes · tables · 16 bytes."""
        groups = k + 1 if groups is None else groups
        if not k < groups <= 64:
            raise ValueError(f"groups is {groups}; between k + 1 = {k + 1} and 64 are needed")
        self.k = k
        self._distinct, of_document, counts = np.unique(simhashes, return_inverse=True, return_counts=True)
        self._documents = np.split(np.argsort(of_document, kind="stable"), np.cumsum(counts)[:-1])
        edges = [round(i * 64 / groups) for i in range(groups + 1)]
        blocks = [(a, b - a) for a, b in itertools.pairwise(edges)]
        self.tables = [self._table(chosen) for chosen in itertools.combinations(blocks, groups - k)]

    def _table(self, blocks: tuple[tuple[int, int], ...]) -> Table:
        keys = top(self._distinct, blocks)
        order = np.argsort(keys, kind="stable")
        return Table(blocks, keys[order], order)

    def near(self, simhash: int) -> list[tuple[int, int]]:
        """Return (document, distance) of all within k bits, nearest first."""
        value = np.array([simhash], np.uint64)
        found = [np.empty(0, np.int64)]
        for table in self.tables:
            key = top(value, table.blocks)[0]
            first, last = np.searchsorted(table.keys, key), np.searchsorted(table.keys, key, "right")
            found.append(table.numbers[first:last])
        candidates = np.unique(np.concatenate(found))
        apart = np.bitwise_count(self._distinct[candidates] ^ value).tolist()
        close = [(c, d) for c, d in zip(candidates.tolist(), apart, strict=True) if d <= self.k]
        return sorted(((int(x), d) for c, d in close for x in self._documents[c]), key=lambda pair: (pair[1], pair[0]))

    def pairs(self, max_bucket: int = 20_000, max_equal: int = 1000) -> tuple[list[tuple[int, int, int]], int]:
        """Return all pairs (i, j, distance) within k bits, and how many were skipped: not compared, or not listed.

        Of a bucket of more than ``max_bucket`` different simhashes each is compared with the first ones only. Of more
        than ``max_equal`` documents with one simhash only the first is paired with others, and with those.
        """
        found: list[tuple[int, int, int]] = []
        skipped = 0
        heads = []
        for documents in self._documents:
            listed = documents if len(documents) <= max_equal else documents[:1]
            own = [(int(a), int(b), 0) for n, a in enumerate(listed, 1) for b in documents[n:]]
            found += own
            skipped += len(documents) * (len(documents) - 1) // 2 - len(own)
            heads.append(listed)
        close, over = self._close(max_bucket)
        for (one, other), apart in close.items():
            cross = itertools.product(heads[one].tolist(), heads[other].tolist())
            found += [(min(pair), max(pair), apart) for pair in cross]
            skipped += len(self._documents[one]) * len(self._documents[other]) - len(heads[one]) * len(heads[other])
        return sorted(found), skipped + over

    def _close(self, max_bucket: int) -> tuple[dict[tuple[int, int], int], int]:
        """Return pairs of different simhashes within k bits, by number, and how many were not compared."""
        found: dict[tuple[int, int], int] = {}
        skipped = 0
        for table in self.tables:
            bounds = np.flatnonzero(np.diff(table.keys) != 0) + 1
            for bucket in np.split(table.numbers, bounds):
                bucket.sort()
                values = self._distinct[bucket]
                compared = len(bucket) if len(bucket) <= max_bucket else max(1, max_bucket**2 // len(bucket))
                left = max(0, len(bucket) - compared)
                skipped += left * (left - 1) // 2
                for i in range(min(compared, len(bucket) - 1)):
                    apart = np.bitwise_count(values[i + 1 :] ^ values[i])
                    for j in np.flatnonzero(apart <= self.k).tolist():
                        found[int(bucket[i]), int(bucket[i + 1 + j])] = int(apart[j])
        return found, skipped


def top(simhashes: Hashes, blocks: tuple[tuple[int, int], ...]) -> Hashes:
    """Return the chosen blocks of bits, one after the other, as numbers."""
    out = np.zeros(len(simhashes), np.uint64)
    for first, width in blocks:
        part = (simhashes >> np.uint64(64 - first - width)) & np.uint64((1 << width) - 1)
        out = (out << np.uint64(width) if width < 64 else out) | part
    return out
