"""The biased selector: high priorities more often, none never."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from fyke.frontier.selector import Randomised, RoundRobin, Selector


@pytest.mark.parametrize("selector", [RoundRobin(), Randomised(np.random.default_rng(1))])
def test_each_queue_twice_as_often_as_the_next(selector: Selector) -> None:
    queues = [[1], [1], [1]]
    chosen = Counter(selector.pick(queues) for _ in range(7000))
    assert [round(chosen[i] / 1000) for i in range(3)] == [4, 2, 1]


@pytest.mark.parametrize("selector", [RoundRobin(), Randomised(np.random.default_rng(1))])
def test_only_queues_that_hold_something(selector: Selector) -> None:
    assert {selector.pick([[], [1], [], [1]]) for _ in range(50)} == {1, 3}
    assert selector.pick([[], []]) == -1


def test_same_seed_same_choice() -> None:
    one, two = Randomised(np.random.default_rng(7)), Randomised(np.random.default_rng(7))
    assert [one.pick([[1]] * 8) for _ in range(50)] == [two.pick([[1]] * 8) for _ in range(50)]
