"""What the virtual crawl keeps for hosts: who waits at a site, and when it may be contacted again."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fyke.simulate import kernels
from fyke.simulate.web import Floats, Ints, Timing, Web


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

    def __init__(self, web: Web, timing: Timing) -> None:
        self._web, self._timing = web, timing
        self.ticks = bool(timing.delay or timing.latency or timing.bandwidth)
        """Whether anything takes time."""
        self.now = 0.0
        self._ready = np.zeros(int(web.hosts.max(initial=-1)) + 1 if web.hosts is not None else 0)
        self._parked: dict[int, list[int]] = {}
        self._wakes: list[tuple[float, int]] = []

    def take(self, pop: Callable[[int], Ints], count: int) -> Ints:
        """Return up to ``count`` pages of different hosts that are ready; move the clock where none is.

        ``pop`` takes so many of the best waiting pages.
        """
        hosts = self._web.hosts
        assert hosts is not None
        taken: list[int] = []
        busy: set[int] = set()
        while len(taken) < count:
            page = self._unparked(busy)
            if page is None:
                popped = pop(1)
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
        p = self._timing
        if not self.ticks:
            return np.zeros(len(pages))
        transfer = np.zeros(len(pages))
        if p.bandwidth and self._web.sizes is not None:
            transfer = np.cumsum(self._web.sizes[pages] / p.bandwidth)
        ends = self.now + p.latency + transfer
        if self._web.hosts is not None:
            self._ready[self._web.hosts[pages]] = ends + p.delay
        self.now = float(ends.max(initial=self.now))
        return ends
