"""The seen-set: which URLs were ever discovered, as 64-bit keys: a table in memory before sorted runs on disk.

``add`` says which keys are new and remembers them. The table takes ``limit`` keys (16 bytes each at its fullest);
then ``full`` is true, and the engine moves them to disk (queue.seen_runs): ``spill()`` hands them over, the engine
sorts and writes them (8 bytes per key) and gives them back mapped, ``attach(run)``; meanwhile they are still seen. Runs
are merged by size, ``merges()`` says which, so that there are few: at most eight for a hundred million keys.

Everything can be rebuilt from the URLs of rows and queues. Two URLs share a key with a chance of n²/2^65: under one
in three hundred thousand for ten million URLs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import xxhash

from fyke.frontier.kernels import add_keys, find_keys, merge_runs, search_run

Keys = npt.NDArray[np.uint64]

LIMIT = 1_400_000
"""Keys in memory: what 16 MB hold at ``_MAX_LOAD``, before the table would be doubled."""
_FIRST_BITS = 12
_MAX_LOAD = 0.7
_FANOUT = 4  # runs within this factor of each other are merged


def url_keys(hrefs: Iterable[str], seed: int = 0) -> Keys:
    """Return the keys of URLs in normal form. A secret ``seed`` keeps strangers from choosing keys."""
    digest = xxhash.xxh3_64_intdigest
    return np.array([digest(href.encode(), seed) or 1 for href in hrefs], dtype=np.uint64)


class SeenSet:
    """Keys seen. REQUIRES of all keys: uniform 64-bit hashes, none 0 (``url_keys``)."""

    def __init__(self, limit: int = LIMIT, runs: Sequence[Keys] = ()) -> None:
        self._limit = limit
        self._bits = _FIRST_BITS
        self._table: Keys = np.zeros(1 << self._bits, np.uint64)
        self._held = 0
        self._leaving: tuple[Keys, int, int] | None = None  # table, bits and keys that were spilled and not attached
        self.runs: list[Keys] = list(runs)
        """Sorted runs, disjoint from the table."""

    def __len__(self) -> int:
        leaving = self._leaving[2] if self._leaving is not None else 0
        return self._held + leaving + sum(len(run) for run in self.runs)

    @property
    def full(self) -> bool:
        """Whether it is time to ``spill``. Nothing is lost if it is done later; the table grows meanwhile."""
        return self._held >= self._limit and self._leaving is None

    def add(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """Return for each key whether it is new, and remember it; of equal keys the first is new."""
        self._grow(len(keys))
        fresh = np.empty(len(keys), np.bool_)
        if not self.runs and self._leaving is None:
            self._held += add_keys(self._table, self._bits, keys, fresh)
            return fresh
        unknown = ~self.contains(keys)
        fresh[:] = False
        chosen = keys[unknown]
        new = np.empty(len(chosen), np.bool_)
        self._held += add_keys(self._table, self._bits, chosen, new)
        fresh[unknown] = new
        return fresh

    def contains(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """Return for each key whether it was added before."""
        found = np.empty(len(keys), np.bool_)
        find_keys(self._table, self._bits, keys, found)
        if self._leaving is not None and not found.all():
            left = np.empty(len(keys), np.bool_)
            find_keys(self._leaving[0], self._leaving[1], keys, left)
            found |= left
        if self.runs and not found.all():
            self._search_runs(keys, found)
        return found

    def spill(self) -> Keys:
        """Hand over the keys in memory, to become a run (``sorted_run``); they are seen until ``attach`` takes it.

        REQUIRES: what was spilled before is attached.
        """
        assert self._leaving is None
        self._leaving = self._table, self._bits, self._held
        self._bits = _FIRST_BITS
        self._table = np.zeros(1 << self._bits, np.uint64)
        self._held = 0
        return self._leaving[0]

    def attach(self, run: Keys) -> None:
        """Take up a sorted run (a mapped file, say): that of the keys which were spilled, if any were."""
        self.runs.append(run)
        self._leaving = None

    def merges(self) -> tuple[int, int] | None:
        """Return which two runs are of about one size, and so worth merging; None where there are none."""
        order = sorted(range(len(self.runs)), key=lambda i: len(self.runs[i]))
        for one, two in pairwise(order):
            if len(self.runs[two]) < _FANOUT * len(self.runs[one]):
                return one, two
        return None

    def replace(self, merged: tuple[int, int], run: Keys) -> None:
        """Take up the merger of two runs in their place."""
        self.runs = [old for i, old in enumerate(self.runs) if i not in merged] + [run]

    def _search_runs(self, keys: Keys, found: npt.NDArray[np.bool_]) -> None:
        # In the order of keys a run is read from its beginning to its end: pages are met once, caches help.
        missing = np.flatnonzero(~found)
        missing = missing[np.argsort(keys[missing])]
        wanted = keys[missing]
        hit = np.zeros(len(wanted), np.bool_)
        for run in self.runs:
            search_run(run, wanted, hit)
        found[missing] = hit

    def _grow(self, more: int) -> None:
        while self._held + more > _MAX_LOAD * len(self._table):
            old = self._table[self._table != 0]
            self._bits += 1
            self._table = np.zeros(1 << self._bits, np.uint64)
            add_keys(self._table, self._bits, old, np.empty(len(old), np.bool_))


def sorted_run(table: Keys) -> Keys:
    """Return the keys that were spilled as a run."""
    return np.sort(table[table != 0])


def merge(one: Keys, two: Keys) -> Keys:
    """Return two sorted runs as one."""
    out = np.empty(len(one) + len(two), np.uint64)
    return out[: merge_runs(one, two, out)]
