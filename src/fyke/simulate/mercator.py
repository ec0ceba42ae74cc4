"""The virtual crawl through the live crawler's own frontier: what a policy comes to behind Mercator's queues.

A heap over all waiting pages (simulate/engine.py) gives a policy its way at every step. The live crawler cannot: a
score becomes one of eight priorities, a host's entries are read 32 at a time, hosts take turns. Here the very same
objects (fyke.frontier: ``Frontier``, ``Levels``) decide, over queues in memory and in virtual time, and a page is
scored once, when it is discovered, from what the live crawler knows then. On one host the order is the live crawl's,
page by page (tests/simulate/test_live_order.py); with several, the clock has its say in both.
"""

from __future__ import annotations

import heapq
from collections import defaultdict

import numpy as np

from fyke.frontier.frontier import Frontier
from fyke.frontier.keys import Entry
from fyke.frontier.leases import Idle, Lease, Why
from fyke.frontier.politeness import Contact, Politeness
from fyke.frontier.priority import Levels
from fyke.simulate.policies import Policy, Signal
from fyke.simulate.web import Floats, Ints, Timing, Web
from fyke.values import Candidates

QUEUES_PER_FETCH = 3
"""Back queues for each page in flight, as Mercator's authors recommend and the live crawler has it."""


class MercatorCrawl:
    """One crawl of a web by one policy through the live frontier. REQUIRES: a prioritizer of the live crawler."""

    def __init__(self, web: Web, policy: Policy, in_flight: int, timing: Timing) -> None:
        self._web, self._policy, self._timing, self._in_flight = web, policy, timing, in_flight
        self._frontier = Frontier(Politeness(delay=timing.delay), back_queues=QUEUES_PER_FETCH * in_flight)
        self._levels = Levels(self._frontier.priorities)
        self._seen = np.zeros(web.graph.nodes, np.bool_)
        if web.members is not None:
            self._seen[~web.members] = True
        self._lanes: defaultdict[tuple[str, int], list[Entry]] = defaultdict(list)
        self._now = 0.0
        self._flying: list[tuple[float, int, Lease]] = []
        self._begun = 0
        self._order: list[int] = []
        self._seconds: list[float] = []
        self.fetched = self.failed = 0
        for seed in np.unique(web.seeds):
            self._offer(np.array([seed]), 0, 0.0)

    @property
    def waiting(self) -> int:
        """Pages known but not fetched."""
        return self._frontier.counts().queued

    @property
    def order(self) -> Ints:
        """The pages in the order in which they came."""
        return np.array(self._order, np.int64)

    @property
    def seconds(self) -> Floats:
        """When each page came."""
        return np.array(self._seconds, np.float64)

    def run(self, budget: int) -> None:
        """Crawl until ``budget`` pages are tried or nothing waits."""
        while self.fetched + self.failed < budget:
            idle = self._begin(budget)
            if self._flying:
                self._now, _, lease = heapq.heappop(self._flying)
                page = int(lease.entry.href)
                if self._finish(lease, page):
                    self._order.append(page)
                    self._seconds.append(self._now)
            elif idle is None or idle.until == float("inf"):
                break
            else:
                self._now = max(self._now, idle.until)

    def _begin(self, budget: int) -> Idle | None:
        """Begin as many fetches as may be; return what there is to wait for, if anything."""
        tried = self.fetched + self.failed
        while len(self._flying) < min(self._in_flight, budget - tried):
            self._refill()
            lease = self._frontier.next(self._now)
            if isinstance(lease, Idle):
                if lease.why is Why.REFILL:
                    continue
                return lease
            page = int(lease.entry.href)
            p, sizes = self._timing, self._web.sizes
            transfer = int(sizes[page]) / p.bandwidth if p.bandwidth and sizes is not None else 0.0
            self._begun += 1
            heapq.heappush(self._flying, (self._now + p.latency + transfer, self._begun, lease))
        return None

    def _finish(self, lease: Lease, page: int) -> bool:
        """Free the host and offer what the page links to; return whether the page came."""
        self._frontier.done(lease, self._now, Contact(self._now, self._timing.latency))
        if self._web.failing is not None and self._web.failing[page]:
            self.failed += 1
            return False
        self.fetched += 1
        links = self._web.graph.lists(np.array([page])).successors
        links = links[~self._seen[links]]
        relevance = self._web.relevance
        score = 0.0 if relevance is None or self._policy.signal is not Signal.RELEVANCE else float(relevance[page])
        self._offer(links, lease.entry.depth + 1, score)
        return True

    def _offer(self, pages: Ints, depth: int, parent_score: float) -> None:
        """Score and queue pages that were not seen before."""
        count = len(pages)
        if not count:
            return
        self._seen[pages] = True
        candidates = Candidates(
            np.full(count, depth, np.int32),
            np.ones(count, np.int32),
            np.full(count, parent_score, np.float32),
            np.full(count, 1.0 if depth == 0 else -1.0, np.float32),  # a seed is as good as a sitemap's best
            np.full(count, depth == 0),
            np.zeros(count, np.float32),  # nobody knows when it changes
        )
        priorities = self._levels.priorities(self._policy.prioritizer.priority(candidates).tolist())
        hosts = self._web.hosts
        queued: defaultdict[str, list[Entry]] = defaultdict(list)
        for page, priority in zip(pages.tolist(), priorities, strict=True):
            queued["" if hosts is None else str(hosts[page])].append(Entry(str(page), priority, depth))
        for host, entries in queued.items():
            self._frontier.add(host, entries, self._now)
            for entry in entries:
                self._lanes[host, entry.priority].append(entry)

    def _refill(self) -> None:
        for wish in self._frontier.refills():
            lane = self._lanes[wish.host, wish.priority]
            end = wish.start + wish.count
            self._frontier.supply(wish, list(enumerate(lane[wish.start : end], wish.start)), self._now)
