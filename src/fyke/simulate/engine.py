"""The virtual crawl: a frontier in arrays over a compressed graph, ordered by any prioritizer.

The loop is the crawler's: take the best waiting pages, fetch them, follow their links, ask the policy about
what they discovered. ``in_flight`` pages are fetched at once; what they link to is known when all have come, as in
a live crawl. Of each page the crawl holds 18 bytes, 12 more where scores can change, and 16 while the page waits.

Time is virtual. With politeness, a host is contacted again ``delay`` seconds after the end of the last fetch, a
fetch takes ``latency`` seconds and its size over the bandwidth, and the best page of a host that is ready goes first.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fyke.errors import UserError
from fyke.graph.graph import Graph
from fyke.simulate import kernels
from fyke.simulate.focused import Clues, OnlineLinks, clues_of_urls
from fyke.simulate.hosts import HostClock, KnownRank, Sites
from fyke.simulate.policies import BySignal, Policy, Signal
from fyke.topic.links import SEED_WORTH
from fyke.topic.topic import Topic
from fyke.values import Candidates

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

GROWTH = 1.1
"""Partial PageRank is computed anew whenever the crawl has grown by a tenth."""
RANKED_GROWTH, LEAST_RANKED = 1.25, 64
"""The rank of the quality order is computed anew whenever the crawl has grown by a quarter, as live."""
LEVEL = 1 / 32
"""What a score must have lost for its page to wait on: a level of the live crawl (fyke.crawl.reserve)."""
_FORESEEABLE_BATCH = 4096
_STRETCH = 1 << 16  # pages between two looks at Python


@dataclass(frozen=True, slots=True)
class Politeness:
    """Virtual time. The default costs none: pages are counted, not seconds."""

    delay: float = 0.0
    """Seconds between two contacts of a host."""
    latency: float = 0.0
    """Seconds that a fetch takes besides its transfer."""
    bandwidth: float = 0.0
    """Bytes a second of the crawler's own line; 0 for no limit."""


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """What a simulated web is: shared by all policies of a run."""

    graph: Graph
    seeds: Ints
    pagerank: Floats
    relevance: NDArray[np.float32] | None = None
    """Of each page, where there is a topic."""
    hosts: NDArray[np.int32] | None = None
    """The number of each page's host."""
    sizes: Ints | None = None
    """Bytes of each page, for the time that a fetch takes."""
    failing: NDArray[np.bool_] | None = None
    """Pages that cannot be fetched: known only when tried."""
    change_rate: NDArray[np.float32] | None = None
    members: NDArray[np.bool_] | None = None
    """The pages that exist, where the web is a sub-archive's."""
    clues: Clues | None = None
    """What links show of their targets; their URLs alone where it is not given."""
    focus: Topic = Topic()  # noqa: RUF009 - frozen
    """Tunnelling, exploration and host shares of a crawl that learns from links."""
    targets: NDArray[np.bool_] | None = None
    """What is counted as relevant, where that is known; else what has a relevance above 0."""


class VirtualCrawl:
    """One crawl of a world by one policy."""

    def __init__(self, world: World, policy: Policy, in_flight: int, politeness: Politeness) -> None:
        nodes = world.graph.nodes
        if policy.signal is Signal.SITE and world.hosts is None:
            raise UserError("larger-sites-first wants to know each page's host; use a collection with URLs")
        if policy.needs_topic and world.relevance is None:
            raise UserError(f"{policy.name} wants a topic; give one with --topic or examples")
        if politeness.delay > 0 and world.hosts is None:
            raise UserError("a delay per host wants to know each page's host; use a collection with URLs")
        self._world, self._policy, self._politeness = world, policy, politeness
        self._in_flight = (
            max(in_flight, _FORESEEABLE_BATCH) if policy.foreseeable and not politeness.delay else in_flight
        )
        self._state = np.zeros(nodes, np.int8)
        self._depth = np.zeros(nodes, np.int32)
        self._inlinks = np.zeros(nodes, np.int32)
        self._births = np.zeros(nodes, np.int32)
        self._signal = np.zeros(nodes, np.float32)
        self._unused = np.zeros(nodes if policy.signal is Signal.ORACLE else 0, np.float32)
        changing = nodes if policy.changing else 0  # else a page is scored once, when it is discovered
        self._current = np.full(changing, np.nan)  # unlike every score
        self._mark = np.zeros(changing, np.int32)
        self._stamp = 0
        self._born = 0
        self._followed = 0  # links
        self._is_seed = np.zeros(nodes, np.bool_)
        self._heap = (np.empty(1024), np.empty(1024, np.int32), np.empty(1024, np.int32))
        self._heap_size = 0
        self._sites = Sites(world.hosts) if policy.signal is Signal.SITE and world.hosts is not None else None
        self._links = _online(world) if policy.signal is Signal.LINK else None
        self._known = KnownRank(world.graph, world.hosts) if policy.ranked else None
        self._next_rank = 1.0
        self._base_rank = 0.0
        self._order = array("i")
        self._seconds = array("d")
        self.fetched = self.failed = 0
        self._clock = HostClock(world, politeness)
        if world.members is not None:
            self._state[~world.members] = kernels.DONE  # as if it were not there
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
        seeds = np.unique(self._world.seeds)
        self._state[seeds] = kernels.WAITING
        self._is_seed[seeds] = True
        self._births[seeds] = np.arange(len(seeds))
        self._born = len(seeds)
        if self._policy.signal in {Signal.CASH, Signal.RANK}:
            self._signal[seeds] = 1 / max(1, len(seeds))
        if self._policy.signal is Signal.LINK:
            self._signal[seeds] = SEED_WORTH
        if self._policy.signal is Signal.ORACLE:
            self._signal[:] = self._world.pagerank if self._world.relevance is None else self._world.relevance
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
        world, nothing = self._world, np.empty(0, np.float32)
        relevance = nothing if self._policy.signal is Signal.CASH or world.relevance is None else world.relevance
        failing = np.empty(0, np.bool_) if world.failing is None else world.failing
        while self.fetched + self.failed < budget:
            self._make_room(self._heap_size + world.graph.stream.room)
            order = np.empty(min(budget - self.fetched - self.failed, _STRETCH), np.int64)
            tried, fetched, self._heap_size, self._born = kernels.follow_signal(
                world.graph.stream, *self._heap, self._heap_size, self._state, self._depth, self._inlinks,
                self._signal, self._births, self._born, self._current, relevance, failing, order,
            )  # fmt: skip
            if tried < 0:
                world.graph.successors(int(fetched))  # raises: its list is damaged
            if not tried:
                return
            self.fetched += fetched
            self.failed += tried - fetched
            self._order.frombytes(order[:fetched].astype(np.int32).tobytes())

    def _make_room(self, size: int) -> None:
        if size > len(self._heap[0]):
            self._heap = tuple(np.concatenate([a, np.empty(size, a.dtype)]) for a in self._heap)  # type: ignore[assignment]

    def _take(self, count: int) -> Ints:
        """Return the next pages: the best waiting ones, of hosts that are ready where there is politeness."""
        if self._politeness.delay > 0:
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
        world = self._world
        seconds = self._clock.fetch(tried)
        good = np.ones(len(tried), np.bool_) if world.failing is None else ~world.failing[tried]
        pages = tried[good]
        self.failed += len(tried) - len(pages)
        self.fetched += len(pages)
        self._order.frombytes(pages.astype(np.int32).tobytes())
        if self._clock.ticks:
            self._seconds.frombytes(seconds[good].tobytes())
        if self._known is not None:
            self._known.fetch(pages)
        lists = world.graph.lists(pages)
        self._stamp += 1
        self._followed += len(lists.successors)
        born = self._born
        signal = self._policy.signal
        touched = np.empty(len(lists.successors), np.int64)
        count, self._born = kernels.discover(
            pages, lists.starts, lists.successors, self._state, self._depth, self._inlinks,
            self._unused if signal is Signal.ORACLE else self._signal, self._births, self._born,
            self._given(pages, np.diff(lists.starts)), signal in {Signal.CASH, Signal.RANK},
            self._policy.changing and signal is not Signal.SITE,
            touched, self._mark, self._stamp,
        )  # fmt: skip
        touched = touched[:count]
        if self._links is not None:
            self._links.fetched(pages, lists.starts, lists.successors, self._state, self._signal)
        if signal is Signal.RANK:
            # What every known page has at least, so that those found since the last computation compete fairly.
            self._signal[touched[self._births[touched] >= born]] += self._base_rank
        if signal is Signal.RANK and self.fetched >= self._next_rank:
            self._next_rank = max(self.fetched * GROWTH, self.fetched + 1)
            self._rank_known()
            touched = np.flatnonzero(self._state == kernels.WAITING)
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
        if signal is Signal.RELEVANCE and self._world.relevance is not None:
            return self._world.relevance[pages]
        if signal in {Signal.CASH, Signal.RANK}:
            keep = 0.85 if signal is Signal.RANK else 1.0
            return (keep * self._signal[pages] / np.maximum(1, degrees)).astype(np.float32)
        return np.zeros(len(pages), np.float32)

    def _rank_known(self) -> None:
        """Compute PageRank on the pages and links known so far, those not fetched having no links."""
        pages = self.order
        lists = self._world.graph.lists(pages)
        known = np.flatnonzero(self._state != kernels.UNKNOWN)
        ranks = np.zeros(len(self._state))
        ranks[known] = 1 / len(known)
        waiting = self._state == kernels.WAITING
        for _ in range(30):
            received = np.zeros(len(self._state))
            dangling = kernels.push_known(pages, lists.starts, lists.successors, ranks, received)
            dangling += ranks[waiting].sum()
            self._base_rank = 0.85 * dangling / len(known) + 0.15 / len(known)
            new = np.zeros(len(self._state))
            new[known] = 0.85 * received[known] + self._base_rank
            change = np.abs(new - ranks).sum()
            ranks = new
            if change < 1e-6:
                break
        self._signal[:] = ranks

    def _kept(self, pages: Ints) -> dict[str, Any]:
        """Return cash, ranks and means for the quality formula, where they are kept: there is 1 of cash."""
        if self._known is None:
            return {}
        waiting = max(1, self._born - self.fetched - self.failed)
        cash = self._signal[pages].astype(np.float64)
        means = {"mean_cash": 1 / waiting, "mean_inlinks": self._followed / waiting}
        return {"cash": cash, **means, **self._known.of(pages)}

    def _priority(self, pages: Ints) -> Floats:
        rate = self._world.change_rate
        candidates = Candidates(
            self._depth[pages],
            self._inlinks[pages],
            self._signal[pages],
            np.full(len(pages), -1, np.float32),  # no sitemap names it
            self._is_seed[pages],
            np.zeros(len(pages), np.float32) if rate is None else rate[pages],
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


def _online(world: World) -> OnlineLinks:
    assert world.relevance is not None
    clues = world.clues or clues_of_urls(world.graph)
    hosts = None if world.hosts is None else world.hosts.astype(np.int64)
    return OnlineLinks(world.relevance.astype(np.float64), clues, world.focus, hosts)
