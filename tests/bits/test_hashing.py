from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.bits.hashing import mix, mixed, splitmix64


def test_the_generator_is_splitmix64() -> None:
    """The first numbers that the authors' Java and Vigna's C give from 0 and from 1234567."""
    assert [hex(x) for x in splitmix64(2).tolist()] == ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4"]
    assert splitmix64(2, 1234567).tolist() == [6457827717110365317, 3203168211198807973]


@pytest.mark.kernel
@given(st.integers(0, 2**64 - 1))
def test_one_word_or_many(x: int) -> None:
    with np.errstate(over="ignore"):
        assert int(mix(np.uint64(x))) == mixed(np.array([x], np.uint64))[0]
