"""PageRank of a web that is half known: what a crawl has fetched, and what that links to.

The classical rank of the known graph takes the pages that wait for dead ends, so it favours what was found early. But
the pages of a host link alike: to its home page, its menu, its neighbours. So what the waiting pages of a host hold is
handed on by its fetched ones, in equal parts beside their own rank r, n of them having links: page x gives
(r(x) + Σ r(waiting pages of its host)/n)/degree to each link. A menu's page is known as such after the first few pages
of a site. Where nothing waits it is PageRank; with all fetched pages without links, or of hosts never entered, rank
is spread over all pages.

``Numbering`` makes edges of records (64-bit keys) as they are read, so that only one array for each known page is in
memory, 40 bytes; the edges may be a mapped file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fyke.topic import rank_kernels as kernels
from fyke.topic.table import KeyTable

Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

DAMPING = 0.85
TOLERANCE = 1e-3
"""Σ|change| of a step that ends: the order of pages does not change any more."""
STEPS = 40
MOST = 8_000_000
"""Pages that are ranked, in 320 MB; what is found later counts as ordinary."""


class Numbering:
    """Numbers for the pages and hosts of records, and their edges."""

    def __init__(self, edges: Numbers, most: int = MOST) -> None:
        """``edges`` is written from its beginning; it has room for as many numbers as the records have words."""
        self.pages, self.hosts = KeyTable(number=np.int32), KeyTable(number=np.int32)
        self._counts = np.zeros(2, np.int64)
        self._most = most
        self._edges, self._used = edges, 0
        self._degrees, self._host_of = np.empty(0, np.int32), np.empty(0, np.int32)
        self._places = np.empty(0, np.int64)

    def take(self, words: Words) -> int:
        """Take in the whole records at the beginning of ``words``; return how many words they are."""
        self.pages.make_room(len(words))
        self.hosts.make_room(len(words))
        room = min(self._most, int(self._counts[0]) + len(words))
        if room > len(self._degrees):
            more = max(room, len(self._degrees) * 3 // 2) - len(self._degrees)
            self._degrees = np.concatenate([self._degrees, np.empty(more, np.int32)])
            self._host_of = np.concatenate([self._host_of, np.empty(more, np.int32)])
            self._places = np.concatenate([self._places, np.empty(more, np.int64)])
        pages, hosts = self.pages, self.hosts
        numbers = kernels.Numbers(
            pages.keys, pages.columns["number"], hosts.keys, hosts.columns["number"], self._counts
        )
        graph = kernels.Edges(self._degrees, self._host_of, self._places, self._edges)
        read, self._used = kernels.take_records(words, numbers, graph, self._most, self._used)
        self.pages.held, self.hosts.held = (int(count) for count in self._counts)
        return int(read)

    def known(self) -> LinkGraph:
        """The graph so far."""
        pages, hosts = self._counts.tolist()
        return LinkGraph(self._edges[: self._used], self._degrees[:pages], self._host_of[:pages], hosts)


@dataclass(frozen=True, slots=True, eq=False)
class LinkGraph:
    """A graph: edge lists (page, count, targets), and of each known page its outdegree (−1: it waits) and host."""

    edges: Numbers
    degrees: Numbers
    host_of: Numbers
    hosts: int

    def ranks(self, rest: Callable[[], bool] = lambda: False, tolerance: float = TOLERANCE) -> Floats | None:
        """The rank of every known page; they sum to 1. ``rest`` is called after each step; None where it says True."""
        pages = len(self.degrees)
        linking = np.bincount(self.host_of[self.degrees > 0], minlength=self.hosts)
        ranks, new, owed = np.full(pages, 1 / max(1, pages)), np.empty(pages), np.empty(self.hosts)
        for _ in range(STEPS if pages else 0):
            change = kernels.step(self.edges, self.degrees, self.host_of, linking, owed, DAMPING, ranks, new)
            ranks, new = new, ranks
            if rest():
                return None
            if change <= tolerance:
                break
        return ranks

    def authority(self, ranks: Floats) -> Floats:
        """The mean rank of the known pages of each host."""
        counts = np.bincount(self.host_of, minlength=self.hosts)
        found: Floats = np.bincount(self.host_of, ranks, self.hosts) / np.maximum(1, counts)
        return found


def whole_records(words: Words) -> tuple[int, int]:
    """Return how many words the whole records are at the beginning of ``words``, and the sequence of the last."""
    whole, last = kernels.whole_records(words)
    return int(whole), int(last)


def edges_of(pages: npt.NDArray[np.int64], starts: npt.NDArray[np.int64], targets: npt.NDArray[np.int64]) -> Numbers:
    """Return edge lists of pages, of which the k-th links to ``targets`` from ``starts[k]`` to ``starts[k + 1]``."""
    counts = np.diff(starts)
    edges = np.empty(len(targets) + 2 * len(pages), np.int32)
    heads = starts[:-1] + 2 * np.arange(len(pages))
    edges[heads], edges[heads + 1] = pages, counts
    edges[np.arange(len(targets)) + np.repeat(2 * np.arange(1, len(pages) + 1), counts)] = targets
    return edges


def is_open_table(table: Words) -> bool:
    """Whether ``look_up`` finds its way in a table: its size is a power of two, and a place of it is empty."""
    return bool(len(table) and not len(table) & (len(table) - 1) and (table == 0).any())


def look_up(table: Words, values: npt.NDArray[np.float32], keys: Words, unknown: float) -> Floats:
    """Return the values of keys in a table (``is_open_table``); ``unknown`` for those that it does not have."""
    found = np.full(len(keys), unknown)
    kernels.look_up(table, values, keys, found)
    return found
