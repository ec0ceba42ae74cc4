from __future__ import annotations

import bisect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.bits import eliasfano
from fyke.bits.eliasfano import EliasFano

SETS = [[], [0], [5], [0, 0, 0], [0, 1, 2, 3], [7, 7, 900, 901, 2**40], list(range(0, 3000, 3)), [10**6] * 600]


def check(values: list[int], universe: int | None, probes: list[int]) -> None:
    sequence = EliasFano.of(np.array(values, np.int64), universe)
    assert sequence.values().tolist() == values
    assert len(sequence) == len(values)
    for x in probes:
        assert sequence.rank(x) == bisect.bisect_left(values, x)
        assert (x in sequence) == (x in values)


@pytest.mark.kernel
@pytest.mark.parametrize("values", SETS, ids=lambda v: f"{len(v)}-{v[-1] if v else 0}")
def test_select_and_rank_against_a_list(values: list[int]) -> None:
    last = values[-1] if values else 0
    check(values, None, [0, 1, last, max(0, last - 1), last + 1, last + 100, *values[:20]])


@given(st.lists(st.integers(0, 2**44), max_size=400), st.lists(st.integers(0, 2**44), max_size=20), st.integers(0, 9))
def test_select_and_rank_of_random_sets(values: list[int], probes: list[int], slack: int) -> None:
    values.sort()
    check(values, (values[-1] if values else 0) + 1 + slack, probes + values[:10])


@given(st.integers(300, 1500), st.integers(0, 2**32), st.lists(st.integers(0, 5100), max_size=40))
def test_dense_sets(size: int, seed: int, probes: list[int]) -> None:
    values = np.random.default_rng(seed).integers(0, 5000, size)
    check(np.sort(values).tolist(), None, probes)


def test_cost_is_near_the_bound() -> None:
    chance = np.random.default_rng(3)
    values = np.cumsum(chance.geometric(1 / 1600, 100_000))
    sequence = EliasFano.of(values)
    assert sequence.payload_bits / len(sequence) < 2 + np.log2(1600) + 0.1
    assert (sequence.ones.size + sequence.zeros.size) * 64 / len(sequence) < 0.7, "the inventories, in memory only"


@pytest.mark.kernel
@given(st.integers(1, 2**64 - 1))
def test_select_in_word(word: int) -> None:
    ones = [i for i in range(64) if word >> i & 1]
    assert [eliasfano.select_in_word(np.uint64(word), k) for k in range(len(ones))] == ones


def test_wrong_sequences_are_refused() -> None:
    for values, universe in (([3, 2], None), ([1, 9, 3, 9], None), ([1, 5], 5), ([-1, 2], None)):
        with pytest.raises(ValueError, match="naturals below the universe, in order"):
            EliasFano.of(np.array(values), universe)
    good = EliasFano.of(np.array([1, 5, 9]))
    with pytest.raises(ValueError, match="another number"):
        EliasFano.over(3, 10, good.low, np.zeros_like(good.high))
    with pytest.raises(ValueError, match="shorter"):
        EliasFano.over(3, 10, good.low[:1], good.high)
    with pytest.raises(IndexError):
        good.select(np.array([3]))
