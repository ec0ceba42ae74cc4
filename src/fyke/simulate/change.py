"""A collection that grows stale: pages that change at known rates, revisited by a schedule, measured by the truth.

Time is virtual and in days. Each page's next change is drawn when it is visited (the process has no memory), so a
copy's true age is known at every moment: what no crawler can measure. Any scheduler with ``due`` and ``visited`` can
be run, so that peers stand beside fyke's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fyke.frontier.revisit import RevisitPolicy, Trust, mean_age, mean_freshness
from fyke.frontier.schedule import Schedule

Floats = npt.NDArray[np.float64]
Pages = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Scheduler(Protocol):
    """Which pages to visit when."""

    def due(self, now: float) -> Pages:
        """Take the pages to visit at ``now``."""
        ...

    def visited(self, pages: Pages, now: float, changed: Flags) -> None:
        """Learn whether they had changed."""
        ...


@dataclass(frozen=True, slots=True)
class Signals:
    """Change signals of a world: honest ones tell a change, false ones come by themselves."""

    told: float = 0.0
    """The share of changes that are told."""
    lag: float = 0.1
    """Days from a change until it is told: sitemaps are made and read now and then."""
    false: float = 0.0
    """False signals per page and day."""
    liars: float = 0.0
    """The share of hosts that tell no change and send twenty times as many false ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Freshness and age of the collection over the days, and what it cost."""

    days: Floats
    freshness: Floats
    age: Floats
    visits: int

    def second_half(self) -> tuple[float, float]:
        """Mean freshness and mean age after learning."""
        late = self.days >= self.days[-1] / 2
        return float(self.freshness[late].mean()), float(self.age[late].mean())


@dataclass(frozen=True, slots=True, eq=False)
class ChangingWorld:
    """Pages and how often they change."""

    rates: Floats
    """Changes per day."""
    hosts: Pages
    kinds: Pages
    weights: Floats | None = None
    dated: Flags | None = None
    """Pages that say truly when they last changed (Last-Modified)."""

    def optimum(self, policy: RevisitPolicy, budget: float) -> tuple[float, float]:
        """Return (freshness, age) of the visits that are best by ``policy``'s measure, with all rates known."""
        visits = policy.rates(self.rates, budget, self.weights)
        pairs = [(rate, 1 / v if v > 0 else 1e9) for rate, v in zip(self.rates, visits, strict=True)]
        fresh = [mean_freshness(rate, interval) for rate, interval in pairs]
        old = [mean_age(rate, interval) for rate, interval in pairs]
        return float(np.average(fresh, weights=self.weights)), float(np.average(old, weights=self.weights))

    def schedule(self, policy: RevisitPolicy, budget: float, *, known: bool) -> Schedule:
        """Return fyke's own scheduler for this world, which knows the rates or learns them."""
        rates = self.rates if known else None
        return Schedule(
            *(len(self.rates), budget, policy),
            rates=rates,
            weights=self.weights,
            hosts=self.hosts,
            kinds=self.kinds,
            last=self.first_visits(budget),
            quiet=self._quiet() if self.dated is not None else None,
        )

    def _quiet(self) -> Floats:
        """For how long pages that are dated had not changed at the first visit; for ever, where they never do."""
        assert self.dated is not None
        scale = np.divide(1.0, self.rates, out=np.full(len(self.rates), 1e15), where=self.rates > 0)
        quiet: Floats = np.random.default_rng(1).exponential(scale)
        return np.where(self.dated, quiet, 0.0)

    def first_visits(self, budget: float) -> Floats:
        """Return when each page was first fetched: before time 0, at the budget's pace, in any order."""
        count = len(self.rates)
        turn = np.arange(count, dtype=np.float64) * 0.6180339887 % 1.0
        return -turn * (count / budget)


def simulate_changes(
    world: ChangingWorld,
    scheduler: Scheduler,
    days: float,
    chance: np.random.Generator,
    *,
    step: float = 0.01,
    samples: int = 400,
    signals: Signals | None = None,
) -> Curve:
    """Run ``scheduler`` over ``world``; at time 0 all copies are right. Steps are days between two looks."""
    rates, count = world.rates, len(world.rates)
    scale = np.divide(1.0, rates, out=np.full(count, 1e15), where=rates > 0)
    changes = chance.exponential(scale)
    last = np.zeros(count)
    sender = None
    if signals is not None:
        assert isinstance(scheduler, Schedule), "only fyke's schedule listens to signals"
        sender = _Sender(world, scheduler, signals, changes, chance)
    steps = round(days / step)
    every = max(steps // samples, 1)
    when, fresh, age = [], [], []
    visits = 0
    for number in range(1, steps + 1):
        now = number * step
        if sender is not None:
            sender.send(now - step, now)
        if number % every == 0:  # in the middle of a step: visits come at its end
            stale = np.maximum(now - step / 2 - changes, 0.0)
            when.append(now)
            fresh.append(np.average(stale == 0, weights=world.weights))
            age.append(np.average(stale, weights=world.weights))
        pages = scheduler.due(now)
        if len(pages):
            changed = changes[pages] <= now
            if sender is not None:
                sender.judge(pages, now - last[pages], changed)
            if world.dated is None:
                scheduler.visited(pages, now, changed)
            else:
                assert isinstance(scheduler, Schedule), "only fyke's schedule listens to Last-Modified"
                since = np.minimum(chance.exponential(scale[pages]), now - changes[pages])
                scheduler.visited(pages, now, changed, np.where(world.dated[pages], since, -1.0))
            changes[pages] = np.where(changed, now + chance.exponential(scale[pages]), changes[pages])
            last[pages] = now
            visits += len(pages)
            if sender is not None:
                sender.drawn(pages, changed)
    return Curve(np.array(when), np.array(fresh), np.array(age), visits)


class _Sender:
    """Sends the signals of a world to a schedule, and keeps the schedule's trust in each host."""

    def __init__(
        self, world: ChangingWorld, schedule: Schedule, signals: Signals, changes: Floats, chance: np.random.Generator
    ) -> None:
        self._world, self._schedule, self._signals, self._chance = world, schedule, signals, chance
        self._changes = changes
        hosts = int(world.hosts.max()) + 1
        lying = chance.random(hosts) < signals.liars
        self._tells = np.where(lying, 0.0, signals.told)[world.hosts]
        self._false = (np.where(lying, 20.0, 1.0) * signals.false)[world.hosts]
        self._at = np.full(len(world.rates), np.inf)
        self._trust = [Trust() for _ in range(hosts)]
        self.drawn(np.arange(len(world.rates)), np.ones(len(world.rates), bool))
        self._set()

    def drawn(self, pages: Pages, changed: Flags) -> None:
        """New change times were drawn."""
        pages = pages[changed]
        told = self._chance.random(len(pages)) < self._tells[pages]
        self._at[pages] = np.where(told, self._changes[pages] + self._signals.lag, np.inf)

    def send(self, before: float, now: float) -> None:
        """Send what is to be told in (before, now]."""
        true = np.flatnonzero((self._at > before) & (self._at <= now))
        self._schedule.signalled(true, self._at[true] - self._signals.lag, now)
        if self._signals.false:
            false = np.flatnonzero(self._chance.random(len(self._at)) < self._false * (now - before))
            self._schedule.signalled(false, np.full(len(false), now), now)

    def judge(self, pages: Pages, interval: Floats, changed: Flags) -> None:
        """Learn what the signals of the visited pages' hosts were worth."""
        pending = self._schedule.pending(pages)
        chances = -np.expm1(-self._schedule.rate[pages] * interval)
        for page, had, did, chance in zip(pages.tolist(), pending, changed, chances, strict=True):
            self._trust[self._world.hosts[page]].judged(bool(had), bool(did), float(chance))
        self._set()

    def _set(self) -> None:
        self._schedule.trusted(np.array([t.trust for t in self._trust]), np.array([t.recall for t in self._trust]))
