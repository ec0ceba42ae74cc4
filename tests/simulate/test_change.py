"""The schedule over simulated change: optima reached with known rates, near them with learnt ones."""

from __future__ import annotations

import numpy as np
import pytest

from fyke.frontier import schedule_kernels as kernels
from fyke.frontier.revisit import RevisitPolicy
from fyke.frontier.schedule import Schedule
from fyke.simulate.change import ChangingWorld, Signals, simulate_changes


def _world(pages: int = 1200, slowest: float = 1 / 60, fastest: float = 24.0) -> ChangingWorld:
    chance = np.random.default_rng(11)
    rates = slowest * (fastest / slowest) ** chance.random(pages)
    return ChangingWorld(rates, np.arange(pages) // 40, np.zeros(pages, np.int64))


@pytest.mark.parametrize("name", RevisitPolicy.NAMES)
def test_known_rates_reach_the_optimum(name: str) -> None:
    world, policy = _world(fastest=4.0), RevisitPolicy(name)
    budget = 1.0 * len(world.rates)
    curve = simulate_changes(world, world.schedule(policy, budget, known=True), 60, np.random.default_rng(1))
    assert curve.visits == pytest.approx(budget * 60, rel=0.03)
    fresh, age = world.optimum(policy, budget)
    if name in ("uniform", "age-optimal"):
        assert curve.second_half()[1] == pytest.approx(age, rel=0.05)
    else:
        assert curve.second_half()[0] == pytest.approx(fresh, rel=0.03)


def test_learnt_rates_come_near_and_beat_fixed_shares() -> None:
    world = _world()
    budget = 2.0 * len(world.rates)
    ages = {
        name: simulate_changes(
            world, world.schedule(RevisitPolicy(name), budget, known=False), 60, np.random.default_rng(2)
        ).second_half()[1]
        for name in ("uniform", "proportional", "age-optimal")
    }
    optimum = world.optimum(RevisitPolicy(), budget)[1]
    assert optimum <= 0.65 * world.optimum(RevisitPolicy("uniform"), budget)[1]
    assert ages["age-optimal"] <= 1.15 * optimum
    assert ages["age-optimal"] <= 0.75 * min(ages["uniform"], ages["proportional"])


def test_a_day_or_four_seconds_are_the_same() -> None:
    """Nobody says beforehand how fast a collection lives; over sockets a day of the world passes in four seconds."""
    for speed in (1 / 30, 21_600.0):
        slow = _world(300)
        world = ChangingWorld(slow.rates * speed, slow.hosts, slow.kinds)
        budget = 2.0 * len(world.rates) * speed
        schedule = world.schedule(RevisitPolicy(), budget, known=False)
        curve = simulate_changes(world, schedule, 15 / speed, np.random.default_rng(2), step=0.01 / speed)
        assert curve.visits == pytest.approx(budget * 15 / speed, rel=0.1)
        assert curve.second_half()[1] <= 1.25 * world.optimum(RevisitPolicy(), budget)[1]


def test_honest_signals_help_and_lies_do_not_harm() -> None:
    world = _world(600)
    budget = 1.0 * len(world.rates)

    def age(signals: Signals | None) -> float:
        schedule = world.schedule(RevisitPolicy(), budget, known=False)
        return simulate_changes(
            world, schedule, 40, np.random.default_rng(3), step=0.02, signals=signals
        ).second_half()[1]

    none = age(None)
    assert age(Signals(told=0.8)) < 0.9 * none
    assert age(Signals(false=0.1, liars=1.0)) < 1.05 * none


def test_weights_are_visits() -> None:
    rates = np.full(200, 0.5)
    world = ChangingWorld(rates, np.zeros(200, np.int64), np.zeros(200, np.int64), np.repeat([1.0, 8.0], 100))
    schedule = world.schedule(RevisitPolicy(), 100.0, known=True)
    seen = np.zeros(200)
    for step in range(1, 3000):
        due = schedule.due(step * 0.01)
        seen[due] += 1
        schedule.visited(due, step * 0.01, np.zeros(len(due), np.bool_))
    assert seen[100:].mean() > 1.5 * seen[:100].mean() > 0


@pytest.mark.kernel
def test_the_queue_is_in_order_and_forgets_what_was_moved() -> None:
    times, pages, size = np.empty(64), np.empty(64, np.int64), np.zeros(1, np.int64)
    chance = np.random.default_rng(4)
    for page, time in enumerate(given := chance.random(50)):
        kernels.push(times, pages, size, time, page)
    assert [kernels.pop(times, pages, size) for _ in given] == np.argsort(given).tolist()

    schedule = Schedule(20, 20.0, rates=np.full(20, 1.0))
    for _ in range(10):  # entries of a page that is signalled again and again do not pile up
        schedule.signalled(np.arange(20), np.full(20, 0.5), 0.6)
    taken = [page for step in range(1, 400) for page in _visit(schedule, step * 0.05)]
    assert set(taken) == set(range(20))
    assert len(taken) < 800


def _visit(schedule: Schedule, now: float) -> list[int]:
    due = schedule.due(now)
    schedule.visited(due, now, np.ones(len(due), np.bool_))
    pages: list[int] = due.tolist()
    return pages


@pytest.mark.kernel
def test_every_kernel_runs_in_plain_python() -> None:
    world = _world(30)
    schedule = world.schedule(RevisitPolicy(), 30.0, known=False)
    curve = simulate_changes(world, schedule, 3, np.random.default_rng(5), step=0.1, signals=Signals(told=1.0))
    assert curve.visits > 30
