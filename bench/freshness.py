"""Freshness: policies against the theoretical optimum and a multiplicative-interval peer; signals; decisions a second.

python -m bench.freshness [--days 60]

Time is virtual. Rates are those of the synthetic world, and a wider log-uniform spread; visits are the same for all
policies. Figures are means over the second half of the days.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bench.measure import figure, table
from fyke.frontier.revisit import RevisitPolicy, Threshold
from fyke.frontier.schedule import Schedule
from fyke.simulate.change import ChangingWorld, Signals, simulate_changes
from fyke.world.config import WorldConfig
from fyke.world.world import World

Floats = npt.NDArray[np.float64]


class Multiplicative:
    """Nutch's AdaptiveFetchSchedule: a change shortens a page's interval by a fifth, none lengthens it by two fifths.

    Of the pages whose interval has passed, the longest overdue are fetched, as many as the budget allows; where fewer
    are due, the rest of the budget is saved.
    """

    def __init__(self, world: ChangingWorld, budget: float) -> None:
        self._interval = np.full(len(world.rates), len(world.rates) / budget)  # the best common start
        self._last = world.first_visits(budget)
        self._budget = budget
        self._now = self._saved = 0.0

    def due(self, now: float) -> npt.NDArray[np.int64]:
        """The pages to fetch."""
        self._saved = min(self._saved + self._budget * (now - self._now), self._budget)  # a day's worth at most
        self._now = now
        due = self._last + self._interval
        found = np.flatnonzero(due <= now)
        taken = found[np.argsort(due[found])][: int(self._saved)]
        self._saved -= len(taken)
        return taken

    def visited(self, pages: npt.NDArray[np.int64], now: float, changed: npt.NDArray[np.bool_]) -> None:
        """Adapt."""
        self._interval[pages] = np.clip(self._interval[pages] * np.where(changed, 0.8, 1.4), 60 / 86400, 365.0)
        self._last[pages] = now


class Told:
    """A learner that is told how the rates are distributed, and has only to find out whose is which.

    Bayes' rule on forty rates and 0, the same threshold and the mean of what is believed: what learning costs at least,
    for who revisits by the value of the moment.
    """

    def __init__(self, world: ChangingWorld, budget: float) -> None:
        count, moving = len(world.rates), world.rates[world.rates > 0]
        still = 1 - len(moving) / count
        self._grid = np.concatenate([[0.0], np.quantile(moving, (np.arange(40) + 0.5) / 40)])
        share = np.concatenate([[max(still, 1e-12)], np.full(40, (1 - still) / 40)])
        self._belief = np.tile(np.log(share), (count, 1))
        self._rate = np.full(count, float(share @ self._grid))
        self._last = world.first_visits(budget)
        self._threshold = Threshold.guess(RevisitPolicy(), count, budget)
        self._now = 0.0

    def due(self, now: float) -> npt.NDArray[np.int64]:
        """The pages to fetch."""
        self._threshold.passed(now - self._now)
        self._now = now
        x = np.maximum(self._rate, 1e-9) * (now - self._last)
        exact = x * x / 2 + x * np.exp(-x) + np.expm1(-x)
        worth = np.where(x < 0.02, x**3 * (1 / 3 - x / 8), exact) / np.maximum(self._rate, 1e-9) ** 2
        found = np.flatnonzero(worth >= self._threshold.value)
        self._threshold.raised(len(found), self._threshold.value * float(np.exp(self._threshold.step * len(found))))
        return found

    def visited(self, pages: npt.NDArray[np.int64], now: float, changed: npt.NDArray[np.bool_]) -> None:
        """Learn."""
        x = self._grid * (now - self._last[pages])[:, None]
        self._belief[pages] += np.where(changed[:, None], np.log(-np.expm1(-x) + 1e-300), -x)
        chance = np.exp(self._belief[pages] - self._belief[pages].max(1, keepdims=True))
        self._rate[pages] = chance @ self._grid / chance.sum(1)
        self._last[pages] = now


@dataclass(frozen=True, slots=True)
class Case:
    """A world and a budget."""

    name: str
    world: ChangingWorld
    per_page: float


def cases() -> list[Case]:
    """The synthetic world's own rates, and a wide spread."""
    made = World(WorldConfig(hosts=50, pages=3000))
    rates, hosts = [], []
    for host in made.hosts:
        for url in made.pages(host.name):
            rates.append(made.truth(url).rate)
            hosts.append(host.number)
    own = ChangingWorld(np.array(rates), np.array(hosts), np.zeros(len(rates), np.int64))
    alive = own.rates > 0
    moving = ChangingWorld(own.rates[alive], own.hosts[alive], own.kinds[alive])
    chance = np.random.default_rng(7)
    spread = np.exp(np.log(1 / 365) + chance.random(3000) * np.log(365 * 24.0))
    wide = ChangingWorld(spread, np.arange(3000) // 60, np.zeros(3000, np.int64))
    return [
        Case("the world's changing pages", moving, 1.0),
        Case("log-uniform, once a year … hourly", wide, 2.0),
        Case("all of the world's pages (two in five never change)", own, 1.0),
    ]


def policies(case: Case, days: float) -> None:
    """Every policy, rates known and learnt, beside the peer."""
    world, budget = case.world, case.per_page * len(case.world.rates)
    best = {name: world.optimum(RevisitPolicy(name), budget) for name in RevisitPolicy.NAMES}
    least_age, uniform = best["age-optimal"][1], best["uniform"][1]
    print(
        f"\n{case.name}: {len(world.rates):,} pages, {case.per_page} visits per page and day, {days:.0f} days;", end=" "
    )
    print(f"least mean age {least_age * 24:.3f} h, {least_age / uniform:.3f} of uniform")
    rows: list[list[object]] = []
    for known in (True, False):
        for name in RevisitPolicy.NAMES:
            scheduler = world.schedule(RevisitPolicy(name), budget, known=known)
            curve = simulate_changes(world, scheduler, days, np.random.default_rng(3))
            fresh, age = curve.second_half()
            own = fresh / best[name][0] if name in ("proportional", "freshness-optimal") else age / best[name][1]
            rows.append(
                [name, "known" if known else "learnt", fresh, age * 24, age / least_age, own if known else "",
                 curve.visits / budget / days]
            )  # fmt: skip
    dated = replace(world, dated=np.ones(len(world.rates), np.bool_))
    curve = simulate_changes(
        dated, dated.schedule(RevisitPolicy(), budget, known=False), days, np.random.default_rng(3)
    )
    fresh, age = curve.second_half()
    spent = curve.visits / budget / days
    rows.append(["age-optimal", "learnt, Last-Modified", fresh, age * 24, age / least_age, "", spent])
    for name, rates, peer in (
        ("age-optimal", "learnt, their distribution known", Told(world, budget)),
        ("multiplicative (as Nutch's, written anew here)", "learnt", Multiplicative(world, budget)),
    ):
        curve = simulate_changes(world, peer, days, np.random.default_rng(3))
        fresh, age = curve.second_half()
        rows.append([name, rates, fresh, age * 24, age / least_age, "", curve.visits / budget / days])
    ages = {f"{row[0]}, {row[1]}": row[4] for row in rows}
    peers = {name: ages[name] for name in ("uniform, known", "multiplicative (as Nutch's, written anew here), learnt")}
    figure(f"mean age ÷ the least possible: {case.name}", "ratio", ages["age-optimal, learnt"], peers)
    head = [
        "policy",
        "rates",
        "freshness",
        "age, hours",
        "age ÷ optimum",
        "own measure ÷ its optimum",
        "visits ÷ budget",
    ]
    print(table(head, rows))


def with_signals(case: Case, days: float) -> None:
    """The default policy with honest and with lying signals."""
    budget = case.per_page * len(case.world.rates)
    print(f"\nage-optimal, rates learnt, with change signals; {case.name}")
    rows: list[list[object]] = []
    alone = 0.0
    for name, signals in (
        ("none", None),
        ("honest: 80 % of changes told, 0.1 days late", Signals(told=0.8)),
        ("honest, with a false one per page in ten days", Signals(told=0.8, false=0.1)),
        ("half of the hosts lie (two false ones a day)", Signals(told=0.8, false=0.1, liars=0.5)),
        ("all lie (two false ones a day)", Signals(false=0.1, liars=1.0)),
    ):
        scheduler = case.world.schedule(RevisitPolicy(), budget, known=False)
        curve = simulate_changes(case.world, scheduler, days, np.random.default_rng(3), signals=signals)
        fresh, age = curve.second_half()
        alone = alone or age
        rows.append([name, fresh, age * 24, age / alone, curve.visits / budget / days])
    print(table(["signals", "freshness", "age, hours", "÷ none", "visits ÷ budget"], rows))


def scale(pages: int) -> None:
    """Decisions at a million pages: taking what is due, learning from it, putting it back."""
    warm = Schedule(10, 10.0)
    due = warm.due(99.0)
    warm.visited(due, 99.0, np.ones(len(due), np.bool_))
    chance = np.random.default_rng(5)
    rates = np.exp(np.log(1 / 60) + chance.random(pages) * np.log(480))
    world = ChangingWorld(rates, np.arange(pages) // 100, np.zeros(pages, np.int64))
    schedule = world.schedule(RevisitPolicy(), pages * 1.0, known=False)
    taken, now, costs = 0, 0.0, []
    while taken < 2 * pages:
        now += 0.01
        started = time.process_time()
        due = schedule.due(now, pages)
        spent = time.process_time() - started
        changed = chance.random(len(due)) < -np.expm1(-rates[due] * (now - schedule.last[due]))
        started = time.process_time()
        schedule.visited(due, now, changed)
        spent += time.process_time() - started
        taken += len(due)
        if len(due):
            costs.append(spent / len(due) * 1e6)
    best, median = np.quantile(costs, [0.1, 0.5])
    print(
        f"\n{pages:,} pages: {median:.2f} µs CPU per decision (due, learnt, queued again), {best:.2f} in the best tenth"
    )


def main() -> None:
    """Print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=float, default=60.0)
    parser.add_argument("--pages", type=int, default=1_000_000, help="for decisions a second")
    parser.add_argument("parts", nargs="*", default=["policies", "signals", "scale"])
    given = parser.parse_args()
    every = cases()
    if "policies" in given.parts:
        for case in every:
            policies(case, given.days)
    if "signals" in given.parts:
        with_signals(every[0], given.days)
    if "scale" in given.parts:
        scale(given.pages)


if __name__ == "__main__":
    main()
