"""Scores and Mercator's priorities."""

from __future__ import annotations

import numpy as np
import pytest

from fyke.frontier.priority import DefaultPrioritizer, Levels
from fyke.values import Candidates


def candidates(**columns: list[float]) -> Candidates:
    count = len(next(iter(columns.values())))
    return Candidates(
        depth=np.array(columns.get("depth", [1] * count), np.int32),
        inlinks=np.array(columns.get("inlinks", [0] * count), np.int32),
        parent_score=np.array(columns.get("parent_score", [0] * count), np.float32),
        sitemap_priority=np.array(columns.get("sitemap_priority", [-1] * count), np.float32),
        is_seed=np.array(columns.get("is_seed", [False] * count), np.bool_),
        change_rate=np.array(columns.get("change_rate", [0] * count), np.float32),
    )


@pytest.mark.parametrize(
    "better_first",
    [
        {"is_seed": [True, False], "depth": [0, 0], "sitemap_priority": [-1, 1], "inlinks": [0, 10**9]},
        {"depth": [1, 2]},
        {"sitemap_priority": [0.9, 0.1]},
        {"sitemap_priority": [-1, 0.4]},
        {"inlinks": [5, 1]},
        {"change_rate": [2.0, 0.1]},
    ],
)
def test_default_order(better_first: dict[str, list[float]]) -> None:
    first, second = DefaultPrioritizer().priority(candidates(**better_first))
    assert 0 <= second < first <= 1


def test_hostile_numbers_stay_in_range() -> None:
    odd = [float("nan"), float("inf"), -float("inf"), 1e30]
    scores = DefaultPrioritizer().priority(candidates(sitemap_priority=odd, change_rate=[0, 1, 0, 1]))
    assert ((scores >= 0) & (scores <= 1)).all()


def test_levels_are_shares_whatever_the_scale() -> None:
    draw = np.random.default_rng(3)
    for scale in (1.0, 1e-9, 1e6):
        levels = Levels(8)
        scores = draw.random(20_000) * scale
        given = np.concatenate([levels.priorities(batch) for batch in np.array_split(scores, 400)])
        shares = np.bincount(given[2000:], minlength=9)[1:] / 18_000
        assert np.allclose(shares, 1 / 8, atol=0.03)
        assert scores[given == 1].mean() > scores[given == 4].mean() > scores[given == 8].mean()


def test_equal_scores_share_the_first_level() -> None:
    levels = Levels(4)
    assert levels.priorities([0.3] * 10) == [1] * 10
    assert levels.priorities([]) == []
    assert levels.priorities([0.1, 0.3, float("nan")]) == [4, 1, 4]
