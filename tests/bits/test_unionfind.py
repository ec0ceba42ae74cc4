from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.bits.unionfind import flatten, join_pairs

PAIRS = st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=25)


@pytest.mark.kernel
@given(PAIRS)
def test_roots_are_the_least_of_what_pairs_connect(pairs: list[tuple[int, int]]) -> None:
    sets = {x: {x} for x in range(20)}
    for x, y in pairs:
        both = sets[x] | sets[y]
        sets.update(dict.fromkeys(both, both))
    parents = np.arange(20)
    join_pairs(parents, np.array([x for x, _ in pairs], np.int64), np.array([y for _, y in pairs], np.int64))
    flatten(parents)
    assert parents.tolist() == [min(sets[x]) for x in range(20)]
