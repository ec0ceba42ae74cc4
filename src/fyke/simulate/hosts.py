"""What the virtual crawl keeps for hosts: who waits at a site, when it may be contacted again, what rank it has.

``KnownRank`` is the live crawl's PageRank of what was crawled so far (fyke.topic.rank), over the simulator's arrays.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fyke.graph.graph import Graph
from fyke.simulate import kernels
from fyke.topic.quality import path_depth
from fyke.topic.rank import Known, edges_of

if TYPE_CHECKING:
    from fyke.simulate.engine import Politeness, World

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Sites:
    """The waiting pages of each site in order of discovery: of a site only the first is in the heap."""

    def __init__(self, hosts: NDArray[np.int32]) -> None:
        self._hosts = hosts
        count = int(hosts.max(initial=-1)) + 1
        self._first, self._last = np.full(count, -1), np.full(count, -1)
        self._waiting = np.zeros(count, np.int64)
        self._next = np.full(len(hosts), -1)

    def change(self, left: Ints, came: Ints) -> tuple[Ints, Ints]:
        """Note pages that left (each its site's first) and that came; return their sites' first pages and sizes."""
        sites = np.unique(self._hosts[np.concatenate([left, came])])
        kernels.change_sites(self._hosts, self._first, self._last, self._waiting, self._next, left, came)
        sites = sites[self._waiting[sites] > 0]
        return self._first[sites], self._waiting[sites]


class HostClock:
    """Virtual time: when each host may be contacted again, and which pages wait for that."""

    def __init__(self, world: World, politeness: Politeness) -> None:
        self._world, self._politeness = world, politeness
        self.ticks = bool(politeness.delay or politeness.latency or politeness.bandwidth)
        """Whether anything takes time."""
        self.now = 0.0
        self._ready = np.zeros(int(world.hosts.max(initial=-1)) + 1 if world.hosts is not None else 0)
        self._parked: dict[int, list[int]] = {}
        self._wakes: list[tuple[float, int]] = []

    def take(self, pop: object, count: int) -> Ints:
        """Return up to ``count`` pages of different hosts that are ready; move the clock where none is."""
        hosts = self._world.hosts
        assert hosts is not None
        taken: list[int] = []
        busy: set[int] = set()
        while len(taken) < count:
            page = self._unparked(busy)
            if page is None:
                popped = pop(1)  # type: ignore[operator]
                if not len(popped):
                    if taken or not self._wakes:
                        break
                    self.now = max(self.now, self._wakes[0][0])
                    continue
                page = int(popped[0])
            host = int(hosts[page])
            if host in busy or self._ready[host] > self.now:
                waiting = self._parked.setdefault(host, [])
                waiting.append(page)
                if len(waiting) == 1:
                    heapq.heappush(self._wakes, (max(self._ready[host], self.now), host))
                continue
            busy.add(host)
            taken.append(page)
        return np.array(taken, np.int64)

    def _unparked(self, busy: set[int]) -> int | None:
        """Return the longest-waiting page of a host that is ready again."""
        while self._wakes and self._wakes[0][0] <= self.now:
            _, host = heapq.heappop(self._wakes)
            if host in busy or self._ready[host] > self.now:
                heapq.heappush(self._wakes, (max(self._ready[host], np.nextafter(self.now, np.inf)), host))
                if host in busy:
                    return None
                continue
            waiting = self._parked[host]
            page = waiting.pop(0)
            if waiting:
                heapq.heappush(self._wakes, (self.now, host))
            else:
                del self._parked[host]
            return page
        return None

    def fetch(self, pages: Ints) -> Floats:
        """Return when each page is there; hosts are busy until then and ``delay`` longer."""
        p = self._politeness
        if not self.ticks:
            return np.zeros(len(pages))
        transfer = np.zeros(len(pages))
        if p.bandwidth and self._world.sizes is not None:
            transfer = np.cumsum(self._world.sizes[pages] / p.bandwidth)
        ends = self.now + p.latency + transfer
        if self._world.hosts is not None:
            self._ready[self._world.hosts[pages]] = ends + p.delay
        self.now = float(ends.max(initial=self.now))
        return ends


class KnownRank:
    """Ranks of pages and authority of hosts, over what a virtual crawl has fetched so far."""

    def __init__(self, graph: Graph, hosts: NDArray[np.int32] | None) -> None:
        self._graph = graph
        self._hosts = np.zeros(graph.nodes, np.int32) if hosts is None else hosts
        self._ranks = np.full(graph.nodes, np.nan)
        self._authority = np.full(int(self._hosts.max(initial=0)) + 1, np.nan)
        self._host_pages = np.zeros(len(self._authority))
        self.mean = 0.0
        """The rank of an ordinary page; 0 before the first computation."""
        self.path_depth = np.empty(0)
        if graph.has_urls:
            depths = (path_depth(url.decode()) for url in graph.urls)
            self.path_depth = np.fromiter(depths, np.float64, graph.nodes)

    def fetch(self, pages: Ints) -> None:
        """Note that pages were fetched."""
        np.add.at(self._host_pages, self._hosts[pages], 1)

    def of(self, pages: Ints) -> dict[str, Any]:
        """Return what a prioritizer is told of pages; ordinary where nothing is known."""
        hosts = self._hosts[pages]
        ranks, authority = self._ranks[pages], self._authority[hosts]
        return {
            "rank": np.where(np.isnan(ranks), self.mean, ranks),
            "authority": np.where(np.isnan(authority), self.mean, authority),
            "mean_rank": self.mean,
            "host_pages": self._host_pages[hosts],
            "path_depth": self.path_depth[pages] if len(self.path_depth) else self.path_depth,
        }

    def compute(self, fetched: Ints, waiting: Ints) -> None:
        """Rank the pages that were fetched and those that wait."""
        known = np.concatenate([fetched, waiting])
        number = np.full(self._graph.nodes, -1, np.int64)
        number[known] = np.arange(len(known))
        lists = self._graph.lists(fetched)
        targets = number[lists.successors]
        kept = targets >= 0
        starts = np.r_[0, np.cumsum(kept)][lists.starts]
        degrees = np.full(len(known), -1, np.int32)
        degrees[: len(fetched)] = np.diff(starts)
        edges = edges_of(np.arange(len(fetched)), starts, targets[kept])
        graph = Known(edges, degrees, self._hosts[known], len(self._authority))
        ranks = graph.ranks()
        assert ranks is not None
        self._ranks[:], self._authority[:] = np.nan, np.nan
        self._ranks[known] = ranks
        met = np.unique(self._hosts[known])
        self._authority[met] = graph.authority(ranks)[met]
        self.mean = 1 / len(known)
