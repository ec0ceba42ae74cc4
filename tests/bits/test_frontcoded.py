from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.bits.frontcoded import FrontCoded

TEXT = st.binary(max_size=300) | st.text("ab/", max_size=12).map(str.encode)


@given(st.sets(TEXT, max_size=80), st.lists(TEXT, max_size=20))
def test_lookup_both_ways_against_a_list(strings: set[bytes], others: list[bytes]) -> None:
    ordered = sorted(strings)
    listed = FrontCoded.of(ordered)
    assert list(listed) == ordered
    assert [listed[i] for i in range(len(ordered))] == ordered
    for string in [*ordered, *others]:
        assert listed.find(string) == (ordered.index(string) if string in strings else None)


@given(st.binary(max_size=60), st.lists(st.integers(0, 80), min_size=1, max_size=3))
def test_damage_stays_within_the_data(data: bytes, starts: list[int]) -> None:
    damaged = FrontCoded(len(starts) * 16, np.frombuffer(data, np.uint8), np.array(sorted(starts), np.uint64))
    assert len(list(damaged)) == len(starts) * 16


def test_urls_shrink() -> None:
    urls = [f"http://host{i // 100:03}.example/path/page-{i % 100:02}.html".encode() for i in range(1000)]
    assert FrontCoded.of(urls).nbytes < sum(map(len, urls)) / 3


def test_disorder_is_refused() -> None:
    with pytest.raises(ValueError, match="strictly increasing"):
        FrontCoded.of([b"b", b"a"])
    with pytest.raises(IndexError):
        FrontCoded.of([b"b"])[1]
