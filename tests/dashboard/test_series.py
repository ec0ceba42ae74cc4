"""Curves, trends and when it ends."""

from __future__ import annotations

import math
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.crawl.run.history import Moment
from fyke.crawl.run.status import AgentStatus, total
from fyke.dashboard.facts import HostFacts, Hosts, Now
from fyke.dashboard.series import HEIGHT, WIDTH, curve, duration, projected, theil_sen


def test_a_trend_is_not_moved_by_outliers() -> None:
    points = [(float(n), 100.0 - 2 * n + (500 if n % 5 == 0 else 0)) for n in range(60)]
    assert theil_sen(points) == pytest.approx(-2, abs=0.5)
    assert theil_sen([(1.0, 2.0)]) == 0.0


@given(st.lists(st.tuples(st.floats(0, 1e10), st.floats()), max_size=30))
def test_a_curve_stays_in_its_box(points: list[tuple[float, float]]) -> None:
    drawn = curve(sorted(points))
    if drawn is not None:
        for point in drawn.points.split():
            x, y = map(float, point.split(","))
            assert -0.1 <= x <= WIDTH + 0.1
            assert -0.1 <= y <= HEIGHT + 0.1


def now(queued: int) -> Now:
    return Now(
        total([AgentStatus(1, 0, os.getpid(), 1e9, 1e9 - 100, 200, counters={"pages": 200}, queued=queued)], 1e9)
    )


@pytest.mark.parametrize(
    ("step", "said"), [(-10, "empty in 1 min 40 s"), (10, "grows by 60.0 URLs a minute; no end"), (0, "neither")]
)
def test_the_end_is_told_honestly(step: int, said: str) -> None:
    past = [Moment(1e9 - 10 * n, queued=100 - step * n) for n in range(30, -1, -1)]
    hosts = Hosts((HostFacts("a.example", queued=950, delay=12.0), HostFacts("b.example", queued=2000, delay=1.0)))
    sentences = projected(now(100), past, hosts, 1000)
    assert "a.example alone needs 3 h 10 min" in sentences[0]
    assert said in sentences[1]
    assert "800 pages up to the 1,000" in sentences[2]
    assert projected(now(0), past, hosts, 0)[0].startswith("Nothing is queued")


def test_durations() -> None:
    assert [duration(s) for s in (0, 59, 60, 3661, 90_000, math.inf)] == [
        "0 s",
        "59 s",
        "1 min",
        "1 h 1 min",
        "1 d 1 h",
        "ages",
    ]
