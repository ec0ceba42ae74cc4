"""When again: how often a page changes, what a visit is worth, and the threshold that spends a budget of visits.

A page's ``ChangeState`` is constant in size and learns from each visit (``visited``): whether the main text had
changed, and, where its host is honest, since when. Its rate has a Gamma prior learnt from the other pages of its host
and of its media type (``Priors``). A ``RevisitPolicy`` says what a visit is worth at an age of the copy; a page is due
when that passes the ``Threshold``, which moves so that visits come at a constant rate: no page knows of another, and
nobody solves anything for all of them. The crawler and the simulator (fyke.simulate.change) take the same objects.

Formulas and references: revisit_kernels.py and docs/freshness.md. Rates are changes per day, ages are days; points in
time are seconds since 1970.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

from fyke.errors import UNREADABLE
from fyke.frontier import change_kernels as changes
from fyke.frontier import revisit_kernels as kernels

DAY = 86_400.0
Floats = npt.NDArray[np.float64]

FEW = changes.FEW
"""Visits below which the prior weighs much on a page's rate."""
DEFAULT_RATE = 0.1
DEFAULT_PRIOR = (0.5, DEFAULT_RATE, 0.1)
"""Shape and mean rate of the first page's prior, and the share of pages that never change: once in ten days, give or
take a factor of ten, is where studies of the web find the median."""
MOST_QUIET = 180.0
"""Days of quiet before the first look that count: pages wake up."""
_CODES = {
    "uniform": kernels.UNIFORM,
    "proportional": kernels.PROPORTIONAL,
    "freshness-optimal": kernels.FRESHNESS,
    "age-optimal": kernels.AGE,
}


@dataclass(frozen=True, slots=True)
class RevisitPolicy:
    """What a visit is worth. One of ``NAMES``."""

    NAMES: ClassVar[tuple[str, ...]] = tuple(_CODES)

    name: str = "age-optimal"

    @property
    def code(self) -> int:
        """What the kernels call it."""
        return _CODES[self.name]

    def value(self, rate: float, age: float, weight: float = 1.0) -> float:
        """Return the crawl value of a page whose copy is ``age`` days old."""
        return weight * kernels.value(self.code, rate, age)

    def due_after(self, rate: float, threshold: float, weight: float = 1.0) -> float:
        """Return the age at which the value reaches ``threshold``; ``kernels.NEVER`` where it never does."""
        return kernels.due_after(self.code, rate, threshold / weight)

    def look_again(self, rate: float, age: float, threshold: float, weight: float = 1.0) -> float:
        """Return 0 where a visit is due now, else the age at which to judge again: a lower bound of the due age."""
        again = kernels.look_again(self.code, rate, weight, age, threshold)
        return again if again < kernels.NEVER else 2 * age + 1.0

    def due_at(self, state: ChangeState, threshold: float, now: float) -> float:
        """Return 0 where a visit to a page is due, else when to judge again, in seconds since 1970."""
        age = max(now - state.seen, 0.0) / DAY
        when, trust = state.signal
        if trust > 0 and self.code in (kernels.FRESHNESS, kernels.AGE):
            at = max(when - state.seen, 0.0) / DAY
            due = kernels.due_with_signals(self.code, state.rate, threshold / state.weight, at, trust, 0.0)
            return 0.0 if due <= age else state.seen + min(due, age + 1.0) * DAY
        again = self.look_again(state.rate, age, threshold, state.weight)
        return state.seen + again * DAY if again else 0.0

    def rates(self, rates: Floats, budget: float, weights: Floats | None = None) -> Floats:
        """Return the visits per day that spend ``budget`` a day best, as a solver that knows all rates would.

        The theoretical optimum that tests and benches compare with; the crawler never calls it.
        """
        weights = np.ones(len(rates)) if weights is None else weights
        low, high = -60.0, 60.0
        for _ in range(200):
            middle = (low + high) / 2
            visits = self._at(rates, weights, math.exp(middle))
            if visits.sum() > budget:
                low = middle
            else:
                high = middle
        return self._at(rates, weights, math.exp(high))

    def _at(self, rates: Floats, weights: Floats, threshold: float) -> Floats:
        ages = [self.due_after(rate, threshold, weight) for rate, weight in zip(rates, weights, strict=True)]
        visits: Floats = 1 / np.maximum(np.array(ages), 1e-9) * (np.array(ages) < kernels.NEVER)
        return visits


def expected_age(rate: float, days: float) -> float:
    """Return Age(λ, t): the expected age of a copy ``days`` after its page was last crawled."""
    return kernels.age(rate, days)


def mean_age(rate: float, interval: float) -> float:
    """Return the time average of the expected age where a page is visited every ``interval`` days; at rate 0, 0."""
    if rate <= 0:
        return 0.0
    x = rate * interval
    if x < kernels.SMALL:
        return interval * x * (1 / 6 - x * (1 / 24 - x / 120))
    return interval / 2 - 1 / rate - math.expm1(-x) / (rate * x)


def mean_freshness(rate: float, interval: float) -> float:
    """Return the share of time at which a copy is right where its page is visited every ``interval`` days."""
    x = rate * interval
    return -math.expm1(-x) / x if x > 0 else 1.0


@dataclass(slots=True)
class Threshold:
    """The one number that all pages are measured by; several agents share it (fyke.crawl.run.board).

    Each visit raises it by the factor e^gain, each day lowers it by e^(gain × budget): it stands still when visits
    come at the budget. Twenty turns of e for a visit of every page hold the pace; a hundredth a visit blurs little.
    Where visits stay away or flood in, it hurries: nobody knows the rates of a collection when it begins, and they
    may be a day's or a second's.
    """

    value: float
    budget: float
    """Visits per day."""
    gain: float = 0.01
    drift: float = 0.0
    """Visits granted lately beyond the budget, in ``MEMORY`` of them: −1 where none is, 1 where twice as many are."""
    _granted: float = 0.0
    _haste: float = 0.0
    _proved: float = 0.0
    """Turns of e that it may hurry down: pages were looked at, and it stood too high for them."""

    MEMORY: ClassVar[float] = 0.4
    """Turns of e at which lateness is forgotten: forty visits at the largest gain."""
    HASTE: ClassVar[float] = 20.0
    """How much faster it moves where no visit is granted, or twice as many as should be; not before half of that."""
    LEAST: ClassVar[float] = 1e-30
    """Days²: a millisecond's worth of a page that changes once in a thousand years."""

    @classmethod
    def guess(cls, policy: RevisitPolicy, pages: int, budget: float) -> Threshold:
        """Return a start: what fits if all pages changed at the default rate."""
        value = max(policy.value(DEFAULT_RATE, max(pages, 1) / budget), cls.LEAST)
        return cls(value, budget, cls.gain_for(pages))

    @staticmethod
    def gain_for(pages: int) -> float:
        """Return the gain that suits a collection of that size."""
        return min(0.01, 20 / max(pages, 1))

    @property
    def step(self) -> float:
        """What a visit raises it by now, in turns of e."""
        return self.gain * (1 + self._haste if self.drift > 0 else 1.0)

    def visited(self) -> None:
        """Tell that a visit was granted."""
        self.raised(1, self.value * math.exp(self.step))

    def raised(self, count: int, value: float) -> None:
        """Tell that visits were granted, each of which raised it by ``step``, to ``value`` in the end."""
        self.value = value
        self._granted += count

    def early(self, count: int = 1) -> None:
        """Tell that pages were looked at and not due. Without such looks it does not hurry: nobody would notice."""
        self._proved = min(self._proved + self.gain * self.HASTE * count, 1.0)

    def passed(self, days: float, budget: float | None = None) -> None:
        """Tell that time has passed. A clock that jumped does little harm: one step is at most a factor of 100."""
        due = (self.budget if budget is None else budget) * max(days, 0.0)
        fall = self.gain * due
        hurry = min(fall * self._haste, self._proved) if self.drift < 0 else 0.0
        self._proved -= hurry
        self.value = max(self.value * math.exp(-min(fall + hurry, math.log(100))), self.LEAST)
        turns = self.gain * due / self.MEMORY
        kept = math.exp(-turns)
        weight = (1 - kept) / turns if turns > 1e-9 else 1.0
        self.drift = kept * self.drift + weight * (self._granted - due) * self.gain / self.MEMORY
        self._granted = 0.0
        self._haste = self.HASTE * max(min(2 * abs(self.drift), 2.0) - 1, 0.0) ** 2


class ChangeState(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """What is known of a page's changes: a few numbers, whatever the number of visits. Version 1, in a row's meta."""

    seen: float = 0.0
    """When the page was last looked at, in seconds since 1970."""
    rate: float = 0.0
    """Changes per day, as expected."""
    belief: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Rate if it changes at all, its precision in events (0: not counted in its groups), chance that it does not."""
    text: bytes = b""
    """Digest of the main text."""
    events: float = 0.0
    exposure: float = 0.0
    visits: float = 0.0
    bins: tuple[tuple[int, float, float], ...] = ()
    """(bin, changes, days) for each bin of intervals with changes in it."""
    absent: int = 0
    """Visits in a row that found it gone."""
    weight: float = 1.0
    """Importance."""
    signal: tuple[float, float] = (0.0, 0.0)
    """When somebody says that it changed since the last look, and how far that is trusted; (0, 0) for nobody."""
    generation: int = 0
    """Queue entries of an earlier one are dropped when popped: a signal moved the page forward."""
    quiet: float = 0.0
    """Days for which it had been quiet at the first look, as it says; 0 once that was counted, or proved nothing."""

    def encode(self) -> bytes:
        """Return this as MessagePack; ``decode`` is the inverse."""
        return _encoder.encode(self)

    @classmethod
    def decode(cls, data: bytes) -> ChangeState:
        """Return what ``encode`` wrote; a fresh state for anything else."""
        try:
            return _states.decode(data) if data else cls()
        except UNREADABLE:
            return cls()


_encoder = msgspec.msgpack.Encoder()
_states = msgspec.msgpack.Decoder(ChangeState)


def counting_quiet(state: ChangeState) -> ChangeState:
    """Return ``state`` with the quiet before the first look counted; call it where the host's dates are believed."""
    return msgspec.structs.replace(state, exposure=state.exposure + min(state.quiet, MOST_QUIET), quiet=0.0)


class Priors:
    """Gamma priors by host and by media type, from the rates of their pages (empirical Bayes, one step at a time).

    A group is four sums: pages that change, their rates, expected logarithms of rates, pages that never change.
    """

    def __init__(self) -> None:
        self._default = changes.defaults(*DEFAULT_PRIOR)
        self._hosts: dict[str, Floats] = {}
        self._types: dict[str, Floats] = {}

    def host(self, name: str) -> Floats:
        """The sums of a host; to be written with its pages."""
        return self._group(self._hosts, name)

    def restore(self, host: str, sums: Sequence[float]) -> None:
        """Take up what an earlier run wrote."""
        if len(sums) == 4 and all(map(math.isfinite, sums)) and sums[0] >= 0 and sums[1] >= 0 and sums[3] >= 0:
            self._hosts[host] = np.array(sums)

    def learn(self, state: ChangeState, host: str, kind: str) -> ChangeState:
        """Return ``state`` with its rate estimated anew, and let the groups know."""
        narrow, wide = self._group(self._hosts, host), self._group(self._types, kind)
        facts = np.array([state.events, state.exposure, state.visits])
        belief = np.array(state.belief)
        rate = changes.judge_page(facts, *_unpack(state.bins), belief, narrow, wide, self._default)
        return msgspec.structs.replace(state, rate=float(rate), belief=tuple(belief.tolist()))

    def rate(self, state: ChangeState, host: str, kind: str) -> float:
        """Return the rate of a page as its groups are known now, which may be better than at its last visit."""
        narrow, wide = self._group(self._hosts, host), self._group(self._types, kind)
        facts = np.array([state.events, state.exposure, state.visits])
        return float(changes.rate_of(facts, *_unpack(state.bins), state.rate, narrow, wide, self._default))

    def _group(self, groups: dict[str, Floats], name: str) -> Floats:
        group = groups.get(name)
        if group is None:
            group = groups[name] = np.zeros(4)
        return group


def visited(state: ChangeState, now: float, changed: bool, modified: float | None = None) -> ChangeState:
    """Return ``state`` after a visit at ``now`` that found the page changed or not.

    ``modified`` is when the page says that it last changed; give it only where its host is believed. On the first
    visit there is nothing to compare with.
    """
    interval = (now - state.seen) / DAY if state.seen else 0.0
    facts = np.array([state.events, state.exposure, state.visits])
    counts, sums = _unpack(state.bins)
    since = -1.0
    if modified is not None and modified <= now:
        since = (now - modified) / DAY
    if changed and since > interval:
        since = -1.0  # a change since the last look can not be older than that
    if interval > 0:
        changes.observe(facts, counts, sums, interval, changed, since)
    return msgspec.structs.replace(
        state,
        signal=(0.0, 0.0),
        quiet=0.0 if changed else state.quiet,
        seen=max(now, state.seen),
        events=float(facts[0]),
        exposure=float(facts[1]),
        visits=float(facts[2]),
        bins=tuple((i, float(counts[i]), float(sums[i])) for i in range(changes.BINS) if counts[i] > 0),
    )


def _unpack(bins: tuple[tuple[int, float, float], ...]) -> tuple[Floats, Floats]:
    counts, sums = np.zeros(changes.BINS), np.zeros(changes.BINS)
    for i, count, total in bins:
        if 0 <= i < changes.BINS and count > 0 and total > 0:
            counts[i], sums[i] = count, total
    return counts, sums


@dataclass(frozen=True, slots=True)
class Signal:
    """Somebody says that a page changed: a sitemap's lastmod, a feed's item, a hub's push."""

    when: float
    """When it changed, as is said; seconds since 1970."""
    kind: str
    """``sitemap``, ``feed``, ``push``, …"""
    trust: float = 1.0
    """The chance that it is true beyond what chance would give, as learnt of its sender."""


class Trust(msgspec.Struct, array_like=True, omit_defaults=True):
    """What signals of one sender were worth: how much more often they were right than the page's rate foretold."""

    expected: float = 1.0
    """Σ (1 − chance of a change anyway) over visits that a signal preceded."""
    gained: float = 0.0
    """Σ (changed − chance) over the same."""
    told: float = 0.0
    changes: float = 1.0

    @property
    def trust(self) -> float:
        """The share of signals that stand for a change beyond chance: what is sure of it, two deviations below."""
        return min(max((self.gained - 2 * math.sqrt(self.expected)) / self.expected, 0.0), 1.0)

    @property
    def recall(self) -> float:
        """The share of changes that a signal told."""
        return min(max(self.told / self.changes, 0.0), 1.0)

    def judged(self, signalled: bool, changed: bool, chance: float) -> None:
        """Learn from a visit to a page of which a change was expected with ``chance`` by its rate alone."""
        if signalled:
            self.expected += 1 - chance
            self.gained += changed - chance
        if changed:
            self.changes += 1
            self.told += signalled
