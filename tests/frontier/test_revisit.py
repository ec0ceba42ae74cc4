"""Rates, crawl values, policies and honesty: the lecture's numbers, numeric integrals, and simulated pages."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.frontier import change_kernels as change
from fyke.frontier import revisit_kernels as kernels
from fyke.frontier.honesty import Honesty
from fyke.frontier.revisit import (
    DAY,
    MOST_QUIET,
    ChangeState,
    Priors,
    RevisitPolicy,
    Threshold,
    Trust,
    counting_quiet,
    expected_age,
    mean_age,
    mean_freshness,
    visited,
)
from fyke.frontier.schedule import Schedule

RATES = st.floats(1e-4, 100)


@pytest.mark.kernel
@pytest.mark.parametrize(("days", "expected"), [(1, 0.0681), (7, 2.5752), (14, 7.9473), (30, 23.0963)])
def test_age_of_a_weekly_page_is_the_lectures(days: int, expected: float) -> None:
    assert expected_age(1 / 7, days) == pytest.approx(expected, abs=5e-5)
    changes = np.random.default_rng(days).exponential(7.0, 400_000)
    assert np.maximum(days - changes, 0).mean() == pytest.approx(expected, rel=0.02)


def test_four_pages_are_visited_as_the_lecture_warns() -> None:
    rates = np.array([1 / 30, 1 / 7, 1.0, 10.0])
    fresh = RevisitPolicy("freshness-optimal").rates(rates, 1.0)
    assert fresh == pytest.approx([0.161, 0.307, 0.532, 0.0], abs=6e-4)  # it abandons the page that changes most
    assert RevisitPolicy("age-optimal").rates(rates, 1.0) == pytest.approx([0.134, 0.207, 0.315, 0.344], abs=6e-4)
    assert RevisitPolicy("uniform").rates(rates, 1.0) == pytest.approx([0.25] * 4)
    assert RevisitPolicy("proportional").rates(rates, 1.0) == pytest.approx(rates / rates.sum())


def test_no_other_visits_are_better() -> None:
    """The policies' visits are optimal: moving a little from any page to any other makes their measure worse."""
    rates, weights = np.array([0.02, 0.3, 1.5, 6.0]), np.array([1.0, 3.0, 1.0, 2.0])
    for name, measure, sign in (("age-optimal", mean_age, 1), ("freshness-optimal", mean_freshness, -1)):
        visits = RevisitPolicy(name).rates(rates, 2.0, weights)

        def cost(visits: Any, measure: Any = measure, sign: int = sign) -> float:
            each = [w * measure(r, 1 / v) for r, v, w in zip(rates, visits, weights, strict=True) if v > 0]
            return float(sign * sum(each))

        for i in range(4):
            for j in range(4):
                moved = visits.copy()
                moved[i] += 0.01
                moved[j] -= 0.01
                if i != j and moved[j] > 0 and visits[i] > 0:
                    assert cost(moved) > cost(visits)


@pytest.mark.kernel
@settings(max_examples=60, deadline=None)
@given(RATES, st.floats(1e-3, 30))
def test_values_are_the_integrals_they_stand_for(rate: float, x: float) -> None:
    t = x / rate
    s = (np.arange(4000) + 0.5) / 4000 * t
    for code, cost in ((kernels.AGE, s + np.expm1(-rate * s) / rate), (kernels.FRESHNESS, -np.expm1(-rate * s))):
        now = t + math.expm1(-rate * t) / rate if code == kernels.AGE else -math.expm1(-rate * t)
        assert kernels.value(code, rate, t) == pytest.approx(t * now - cost.mean() * t, rel=1e-3, abs=1e-8 * t * t)
        assert kernels.cost(code, rate, t, -1.0, 0.0) == pytest.approx(now, rel=1e-6, abs=1e-10 * t)


@pytest.mark.kernel
@settings(max_examples=100, deadline=None)
@given(st.sampled_from(range(4)), RATES, st.floats(1e-8, 1e4))
def test_due_is_when_the_value_passes_the_threshold(policy: int, rate: float, threshold: float) -> None:
    t = kernels.due_after(policy, rate, threshold)
    if t >= kernels.NEVER:
        assert policy == kernels.FRESHNESS
        assert threshold * rate >= 1 or t * rate > 30
    else:
        assert kernels.value(policy, rate, t) == pytest.approx(threshold, rel=1e-5)
        again = kernels.look_again(policy, rate, 1.0, 0.3 * t, threshold)
        assert 0.3 * t < again <= t * (1 + 1e-6)  # a lower bound of the due time
        assert kernels.look_again(policy, rate, 1.0, t * 1.001, threshold) == 0.0


@pytest.mark.kernel
def test_series_and_closed_forms_meet() -> None:
    for policy in (kernels.FRESHNESS, kernels.AGE):
        below, above = (kernels.value(policy, 1.0, kernels.SMALL * (1 + e)) for e in (-1e-9, 1e-9))
        assert below == pytest.approx(above, rel=1e-6)
    assert mean_age(1.0, 0.0199999) == pytest.approx(mean_age(1.0, 0.0200001), rel=1e-4)


@pytest.mark.kernel
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0.01, 60), st.booleans()), min_size=1, max_size=40), st.floats(0.1, 5))
def test_the_rate_is_the_most_likely_one(seen: list[tuple[float, bool]], shape: float) -> None:
    facts, counts, sums = np.zeros(3), np.zeros(change.BINS), np.zeros(change.BINS)
    for interval, changed in seen:
        change.observe(facts, counts, sums, interval, changed, -1.0)
    rate, precision = change.estimate(shape, 1.0, facts, counts, sums, 0.0)
    for guess in (rate / 9, rate * 1.1, rate * 1e6):
        assert change.estimate(shape, 1.0, facts, counts, sums, guess)[0] == pytest.approx(rate, rel=1e-6)
    binned = [(sums[i] / counts[i], counts[i]) for i in range(change.BINS) if counts[i]]

    def likelihood(r: float) -> float:
        told = sum(c * math.log(-math.expm1(-r * t)) for t, c in binned)
        return float(shape * math.log(r) - (1 + facts[1]) * r + told)

    assert precision > 0
    assert likelihood(rate) >= max(likelihood(rate * 1.02), likelihood(rate / 1.02)) - 1e-9


def _watched(rate: float, visits: int, every: float, seed: int, *, dated: bool = False) -> ChangeState:
    chance = np.random.default_rng(seed)
    state, priors, now, last = ChangeState(), Priors(), 1e9, 1e9
    changes = now + np.cumsum(chance.exponential(DAY / rate, int(visits * every * rate * 2) + 50))
    for _ in range(visits):
        state = priors.learn(visited(state, now, bool(((changes > last) & (changes <= now)).any()), None), "h", "t")
        last, now = now, now + every * DAY * chance.uniform(0.5, 1.5)
        if dated and (before := changes[changes <= now]).size and before[-1] > last:
            state = priors.learn(visited(state, now, True, float(before[-1])), "h", "t")
            last = now
    return state


@pytest.mark.parametrize("rate", [0.05, 0.5, 2.0])
def test_rates_are_found_from_irregular_visits_alone(rate: float) -> None:
    found = [_watched(rate, 80, min(1 / rate, 5.0), seed).rate for seed in range(8)]
    assert np.exp(np.mean(np.log(found))) == pytest.approx(rate, rel=0.25)


def test_dates_that_are_believed_tell_rates_that_visits_cannot() -> None:
    """A page that changes forty times between visits: it has always changed; only the dates say how often."""
    blind, told = _watched(40.0, 40, 1.0, 3).rate, _watched(40.0, 40, 1.0, 3, dated=True).rate
    assert abs(math.log(told / 40)) < 0.4 < abs(math.log(blind / 40))


def test_a_state_is_small_and_survives_a_round_trip() -> None:
    state = _watched(0.7, 300, 2.0, 1)
    assert len(state.encode()) < 200
    assert ChangeState.decode(state.encode()) == state
    assert ChangeState.decode(b"\xc1junk") == ChangeState()
    assert state.visits <= change.MEMORY


def test_a_new_page_is_taken_for_what_its_host_is_like() -> None:
    priors = Priors()
    for page in range(40):
        state, now = ChangeState(), 1e9
        for visit in range(12):
            state = priors.learn(visited(state, now, visit > 0 and page % 10 != 0), "busy", "text/html")
            now += DAY / 4
    fresh = ChangeState(seen=now)
    assert priors.learn(fresh, "busy", "text/html").rate > 3 * priors.learn(fresh, "other", "image/png").rate


def test_pages_that_never_change_are_told_from_slow_ones() -> None:
    priors, states = Priors(), [ChangeState() for _ in range(60)]
    for day in range(30):
        for page, state in enumerate(states):
            states[page] = priors.learn(visited(state, 1e9 + day * DAY, page % 2 == 0), "h", "t")
    assert states[1].belief[2] > 0.6
    assert states[0].belief[2] == 0.0
    assert states[1].rate < 0.01 < 1 < states[0].rate


def test_the_threshold_stands_still_at_the_budget() -> None:
    threshold = Threshold(1.0, budget=100.0)
    for _ in range(100):
        threshold.visited()
        threshold.passed(0.01)
    assert threshold.value == pytest.approx(1.0)
    for _ in range(100):
        threshold.early()
        threshold.passed(0.01)
    assert threshold.value < 1e-2, "it hurries where no visit is worth it"
    for _ in range(400):
        threshold.visited()
        threshold.passed(0.005)
    assert threshold.value > 1.0, "and where far too many are"
    threshold = Threshold(1.0, budget=100.0)
    threshold.passed(1e9)  # a clock that jumps
    assert threshold.value == pytest.approx(0.01)
    threshold.passed(-5.0)
    assert threshold.value == pytest.approx(0.01)


@pytest.mark.kernel
def test_good_signals_bring_the_visit_forward_and_worthless_ones_do_nothing() -> None:
    alone = kernels.due_after(kernels.AGE, 0.5, 1.0)
    told = kernels.due_with_signals(kernels.AGE, 0.5, 1.0, 1.0, 1.0, 1.0)
    assert 1.0 < told < alone
    assert kernels.due_with_signals(kernels.AGE, 0.5, 1.0, -1.0, 1.0, 1.0) > alone  # no news is good news
    for policy in (kernels.AGE, kernels.FRESHNESS):
        alone = kernels.due_after(policy, 0.5, 1.0)
        for signalled in (-1.0, 0.5):
            assert kernels.due_with_signals(policy, 0.5, 1.0, signalled, 0.0, 1.0) == pytest.approx(alone, rel=1e-4)


def test_trust_is_what_signals_add_to_chance() -> None:
    honest, liar = Trust(), Trust()
    chance = np.random.default_rng(1)
    for _ in range(400):
        changed = chance.random() < 0.3
        honest.judged(changed, changed, 0.3)
        liar.judged(True, changed, 0.3)
    assert honest.trust > 0.7
    assert honest.recall > 0.95
    assert liar.trust < 0.05


def test_hosts_that_lie_are_found_out() -> None:
    honest, frozen, now = Honesty(), Honesty(), Honesty()
    for visit in range(40):
        changed = visit % 4 == 0
        honest.compared(same_text=not changed, same_validators=not changed, date_between=changed, date_moved=False)
        frozen.compared(same_text=not changed, same_validators=True, date_between=False, date_moved=False)
        now.compared(same_text=not changed, same_validators=False, date_between=True, date_moved=not changed)
    assert honest.believes_304
    assert honest.believes_dates
    assert honest.validators_good
    assert not frozen.believes_304
    assert frozen.audits(0.999)
    assert not now.believes_dates
    assert not now.validators_good
    assert honest.audits(0.01)
    assert not honest.audits(0.5)
    honest.sized(2_000_000)
    assert honest.asks_head(1e6)
    assert not now.asks_head(1e6)


def test_a_long_quiet_before_the_first_look_counts_once_and_so_far() -> None:
    """Where the host's dates are believed, a page that has not changed for years is taken for a still one."""
    priors = Priors()
    for i in range(40):  # the like of it: half change daily, half never
        state = ChangeState()
        for day in range(30):
            state = visited(state, (day + 1) * DAY, i % 2 == 0 and day > 0)
        priors.learn(state, "h", "text/html")
    fresh = visited(ChangeState(quiet=400.0), DAY, False)
    told = counting_quiet(fresh)
    assert told.exposure == fresh.exposure + MOST_QUIET, "pages wake up"
    assert counting_quiet(told) == told, "it is counted once"
    assert priors.rate(told, "h", "text/html") < priors.rate(fresh, "h", "text/html") / 100
    assert visited(fresh, 2 * DAY, True).quiet == 0, "refuted"
    assert ChangeState.decode(fresh.encode()) == fresh


def test_what_a_host_taught_is_taken_up_and_nonsense_of_it_is_not() -> None:
    right = [3.0, 1.5, -2.0, 0.4]  # logarithms may be below 0, counts and rates not
    for sums in (
        right,
        *([*right[:i], wrong, *right[i + 1 :]] for i in range(4) for wrong in (-1.0, math.nan, math.inf)),
    ):
        priors = Priors()
        new = priors.host("a.test").tolist()
        priors = Priors()
        priors.restore("a.test", sums)
        is_right = all(map(math.isfinite, sums)) and min(sums[0], sums[1], sums[3]) >= 0
        assert priors.host("a.test").tolist() == (sums if is_right else new)
    priors = Priors()
    priors.restore("a.test", right[:3])
    assert priors.host("a.test").tolist() == new


def test_a_schedule_keeps_bins_for_counts_and_for_sums() -> None:
    schedule = Schedule(5, 1.0)
    assert schedule._learnt.counts.shape == schedule._learnt.sums.shape == (5, change.BINS)


def test_a_schedule_waits_for_signals_where_they_are_good_and_hands_out_so_many_at_once() -> None:
    known = Schedule(2, 1.0, rates=np.full(2, 0.5), hosts=np.array([0, 1]))
    known.trusted(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    taken = [int(page) for day in range(60) for page in known.due(day / 4).tolist()]
    assert set(taken) == {0}, "of a host whose signals are good, no news is good news"
    many = Schedule(70_000, 1e9, rates=np.full(70_000, 50.0))
    assert len(many.due(10.0)) == 1 << 16
