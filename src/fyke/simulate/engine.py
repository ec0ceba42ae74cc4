"""The virtual crawl: a frontier in arrays over a compressed graph, ordered by any prioritizer.

The loop is the crawler's: take the best waiting pages, fetch them, follow their links, ask the policy about
what they discovered. ``in_flight`` pages are fetched at once; what they link to is known when all have come, as in
a live crawl. Of each page the crawl holds 18 bytes, 12 more where scores can change, and 16 while the page waits.

Time is virtual. With politeness, a host is contacted again ``delay`` seconds after the end of the last fetch, a
fetch takes ``latency`` seconds and its size over the bandwidth, and the best page of a host that is ready goes first.
"""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fyke.errors import UserError
from fyke.simulate import kernels
from fyke.simulate.focused import OnlineLinks, clues_of_urls
from fyke.simulate.hosts import HostClock, Sites
from fyke.simulate.policies import BySignal, Policy, Signal
from fyke.simulate.ranks import KnownRank, partial_pagerank
from fyke.simulate.web import Floats, Ints, Timing, Web
from fyke.topic.links import SEED_WORTH
from fyke.topic.rank import DAMPING
from fyke.values import Candidates

GROWTH = 1.1
"""Partial PageRank is computed anew whenever the crawl has grown by a tenth."""
RANKED_GROWTH, LEAST_RANKED = 1.25, 64
"""The rank of the quality order is computed anew whenever the crawl has grown by a quarter, as live."""
LEVEL = 1 / 32
"""What a score must have lost for its page to wait on: a level of the live crawl (fyke.crawl.order.reserve)."""
_FORESEEABLE_BATCH = 4096
_STRETCH = 1 << 16  # pages between two looks at Python


class VirtualCrawl:
    """One crawl of a web by one policy."""

    def __init__(self, web: Web, policy: Policy, in_flight: int, timing: Timing) -> None:
        nodes = web.graph.nodes
        if policy.signal is Signal.SITE and web.hosts is None:
            raise UserError("larger-sites-first wants to know each page's host; use a collection with URLs")
        if policy.needs_topic and web.relevance is None:
            raise UserError(f"{policy.name} wants a topic; give one with --topic or examples")
        if timing.delay > 0 and web.hosts is None:
            raise UserError("a delay per host wants to know each page's host; use a collection with URLs")
        self._web, self._policy, self._timing = web, policy, timing
        batched = policy.foreseeable and not timing.delay
        self._in_flight = max(in_flight, _FORESEEABLE_BATCH) if batched else in_flight
        self._pages = kernels.Pages(
            np.zeros(nodes, np.int8), np.zeros(nodes, np.int32), np.zeros(nodes, np.int32),
            np.zeros(nodes, np.float32), np.zeros(nodes, np.int32),
        )  # fmt: skip
        self._state, self._depth, self._inlinks, self._signal, self._births = self._pages
        self._unused = np.zeros(nodes if policy.signal is Signal.ORACLE else 0, np.float32)
        changing = nodes if policy.changing else 0  # else a page is scored once, when it is discovered
        self._current = np.full(changing, np.nan)  # unlike every score
        self._mark = np.zeros(0 if policy.signal is Signal.SITE else changing, np.int32)
        self._stamp = 0
        self._born = 0
        self._followed = 0  # links
        self._is_seed = np.zeros(nodes, np.bool_)
        self._heap = kernels.Heap(np.empty(1024), np.empty(1024, np.int32), np.empty(1024, np.int32))
        self._heap_size = 0
        self._sites = Sites(web.hosts) if policy.signal is Signal.SITE and web.hosts is not None else None
        self._links = _online(web) if policy.signal is Signal.LINK else None
        self._known = KnownRank(web.graph, web.hosts) if policy.ranked else None
        self._next_rank = 1.0
        self._base_rank = 0.0
        self._order = array("i")
        self._seconds = array("d")
        self.fetched = self.failed = 0
        self._clock = HostClock(web, timing)
        if web.members is not None:
            self._state[~web.members] = kernels.DONE  # as if it were not there
        self._seed()

    @property
    def waiting(self) -> int:
        """Pages known but not fetched."""
        return int((self._state == kernels.WAITING).sum())

    @property
    def order(self) -> Ints:
        """The pages in the order in which they came."""
        return np.array(self._order, np.int64)

    @property
    def seconds(self) -> Floats:
        """When each page came."""
        return np.array(self._seconds) if self._clock.ticks else np.zeros(self.fetched)

    def _seed(self) -> None:
        seeds = np.unique(self._web.seeds)
        self._state[seeds] = kernels.WAITING
        self._is_seed[seeds] = True
        self._births[seeds] = np.arange(len(seeds))
        self._born = len(seeds)
        if self._policy.signal in {Signal.CASH, Signal.RANK}:
            self._signal[seeds] = 1 / max(1, len(seeds))
        if self._policy.signal is Signal.LINK:
            self._signal[seeds] = SEED_WORTH
        if self._policy.signal is Signal.ORACLE:
            self._signal[:] = self._web.pagerank if self._web.relevance is None else self._web.relevance
        self._score(self._heads(np.empty(0, np.int64), seeds))

    def run(self, budget: int) -> None:
        """Crawl until ``budget`` pages are tried or nothing waits."""
        if (
            self._in_flight == 1
            and not self._clock.ticks
            and type(self._policy.prioritizer) is BySignal
            and self._policy.signal in {Signal.RELEVANCE, Signal.CASH}
        ):
            self._follow_signal(budget)
            return
        while self.fetched + self.failed < budget:
            tried = self._take(min(self._in_flight, budget - self.fetched - self.failed))
            if not len(tried):
                return
            self._fetch(tried)

    def _follow_signal(self, budget: int) -> None:
        """Do the same where the score is the signal itself, without asking: a kernel's work from end to end."""
        web, nothing = self._web, np.empty(0, np.float32)
        relevance = nothing if self._policy.signal is Signal.CASH or web.relevance is None else web.relevance
        failing = np.empty(0, np.bool_) if web.failing is None else web.failing
        while self.fetched + self.failed < budget:
            self._make_room(self._heap_size + web.graph.stream.room)
            order = np.empty(min(budget - self.fetched - self.failed, _STRETCH), np.int64)
            tried, fetched, self._heap_size, self._born = kernels.follow_signal(
                web.graph.stream, self._heap, self._heap_size, self._pages, self._born, self._current, relevance,
                failing, order,
            )  # fmt: skip
            if tried < 0:
                web.graph.successors(int(fetched))  # raises: its list is damaged
            if not tried:
                return
            self.fetched += fetched
            self.failed += tried - fetched
            self._order.frombytes(order[:fetched].astype(np.int32).tobytes())

    def _make_room(self, size: int) -> None:
        if size > len(self._heap[0]):
            self._heap = kernels.Heap(*(np.concatenate([a, np.empty(size, a.dtype)]) for a in self._heap))

    def _take(self, count: int) -> Ints:
        """Return the next pages: the best waiting ones, of hosts that are ready where there is politeness."""
        if self._timing.delay > 0:
            return self._clock.take(self._pop, count)
        return self._pop(count) if self._known is None else self._pop_again(count)

    def _pop_again(self, count: int) -> Ints:
        """Take the best, each judged once more: what is worth less by now waits on, as live."""
        taken = np.empty(0, np.int64)
        while len(taken) < count:
            popped = self._pop(count - len(taken))
            if not len(popped):
                break
            scores = self._priority(popped)
            fell = scores < self._current[popped] - LEVEL
            taken = np.concatenate([taken, popped[~fell]])
            self._state[popped[fell]] = kernels.WAITING
            self._queue(popped[fell], scores[fell])
        return taken

    def _pop(self, count: int) -> Ints:
        out = np.empty(count, np.int64)
        taken, self._heap_size = kernels.pop(*self._heap, self._heap_size, self._state, self._current, out)
        return out[:taken]

    def _fetch(self, tried: Ints) -> None:
        web = self._web
        seconds = self._clock.fetch(tried)
        good = np.ones(len(tried), np.bool_) if web.failing is None else ~web.failing[tried]
        pages = tried[good]
        self.failed += len(tried) - len(pages)
        self.fetched += len(pages)
        self._order.frombytes(pages.astype(np.int32).tobytes())
        if self._clock.ticks:
            self._seconds.frombytes(seconds[good].tobytes())
        if self._known is not None:
            self._known.fetch(pages)
        lists = web.graph.lists(pages)
        self._stamp += 1
        self._followed += len(lists.successors)
        born = self._born
        signal = self._policy.signal
        touched = np.empty(len(lists.successors), np.int64)
        known = self._pages._replace(signal=self._unused) if signal is Signal.ORACLE else self._pages
        count, self._born = kernels.discover(
            pages, lists.starts, lists.successors, known, self._born, self._given(pages, np.diff(lists.starts)),
            signal in {Signal.CASH, Signal.RANK}, touched, self._mark, self._stamp,
        )  # fmt: skip
        touched = touched[:count]
        if self._links is not None:
            self._links.fetched(pages, lists.starts, lists.successors, self._state, self._signal)
        if signal is Signal.RANK:
            # What every known page has at least, so that those found since the last computation compete fairly.
            self._signal[touched[self._births[touched] >= born]] += self._base_rank
        if signal is Signal.RANK and self.fetched >= self._next_rank:
            self._next_rank = max(self.fetched * GROWTH, self.fetched + 1)
            touched = np.flatnonzero(self._state == kernels.WAITING)
            self._signal[:], self._base_rank = partial_pagerank(web.graph, self.order, touched)
        if self._known is not None and self.fetched >= self._next_rank:
            self._next_rank = max(self.fetched * RANKED_GROWTH, self.fetched + LEAST_RANKED)
            touched = np.flatnonzero(self._state == kernels.WAITING)
            self._known.compute(self.order, touched)
        self._score(self._heads(tried, touched))

    def _heads(self, left: Ints, came: Ints) -> Ints:
        """Return the pages to score: all that came or, by sites, the first waiting page of each site that changed."""
        if self._sites is None:
            return came
        heads, waiting = self._sites.change(left, came)
        self._signal[heads] = waiting
        return heads

    def _given(self, pages: Ints, degrees: Ints) -> NDArray[np.float32]:
        """Return what each fetched page gives to each page it links to."""
        signal = self._policy.signal
        if signal is Signal.RELEVANCE and self._web.relevance is not None:
            return self._web.relevance[pages]
        if signal in {Signal.CASH, Signal.RANK}:
            keep = DAMPING if signal is Signal.RANK else 1.0
            return (keep * self._signal[pages] / np.maximum(1, degrees)).astype(np.float32)
        return np.zeros(len(pages), np.float32)

    def _kept(self, pages: Ints) -> dict[str, Any]:
        """Return cash, ranks and means for the quality formula, where they are kept: there is 1 of cash."""
        if self._known is None:
            return {}
        waiting = max(1, self._born - self.fetched - self.failed)
        cash = self._signal[pages].astype(np.float64)
        means = {"mean_cash": 1 / waiting, "mean_inlinks": self._followed / waiting}
        return {"cash": cash, **means, **self._known.of(pages)}

    def _priority(self, pages: Ints) -> Floats:
        candidates = Candidates(
            self._depth[pages],
            self._inlinks[pages],
            self._signal[pages],
            np.full(len(pages), -1, np.float32),  # no sitemap names it
            self._is_seed[pages],
            np.zeros(len(pages), np.float32),  # nor when it changes
            **self._kept(pages),
        )
        return self._policy.prioritizer.priority(candidates)

    def _score(self, pages: Ints) -> None:
        """Ask the policy about ``pages``, and queue those whose score is new."""
        if not len(pages):
            return
        scores = self._priority(pages)
        if self._policy.changing:
            new = scores != self._current[pages]
            pages, scores = pages[new], scores[new]
        self._queue(pages, scores)

    def _queue(self, pages: Ints, scores: Floats) -> None:
        if self._policy.changing:
            self._current[pages] = scores
        births = -self._births[pages] if self._policy.newest_first else self._births[pages]
        self._make_room(self._heap_size + len(pages))
        self._heap_size = kernels.push(*self._heap, self._heap_size, scores, births, pages)


def _online(web: Web) -> OnlineLinks:
    assert web.relevance is not None
    clues = web.clues or clues_of_urls(web.graph)
    hosts = None if web.hosts is None else web.hosts.astype(np.int64)
    return OnlineLinks(web.relevance.astype(np.float64), clues, web.focus, hosts)
