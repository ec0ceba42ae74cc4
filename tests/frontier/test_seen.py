"""The seen-set against a Python set, in memory and over runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.frontier.seen import SeenSet, merge, sorted_run, url_keys
from fyke.sites.traps import seen_key
from fyke.url import Url

KEY = st.integers(1, 40) | st.integers(1, 2**64 - 1)


def keys(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array(values, np.uint64)


@pytest.mark.kernel
@settings(max_examples=30)
@given(st.lists(st.tuples(st.lists(KEY, max_size=12), st.booleans()), max_size=6))
def test_like_a_set(batches: list[tuple[list[int], bool]]) -> None:
    with np.errstate(over="ignore"):
        seen, model = SeenSet(limit=8), set[int]()
        for batch, spill in batches:
            assert seen.contains(keys(batch)).tolist() == [key in model for key in batch]
            expected = []
            for key in batch:
                expected.append(key not in model)
                model.add(key)
            assert seen.add(keys(batch)).tolist() == expected
            assert len(seen) == len(model)
            if spill and len(seen.runs) < 4:
                left = seen.spill()
                assert seen.contains(keys(sorted(model))).all()  # while it is sorted, and written
                assert not seen.add(keys(batch)).any()
                seen.attach(sorted_run(left))
                pair = seen.merges()
                if pair:
                    seen.replace(pair, merge(seen.runs[pair[0]], seen.runs[pair[1]]))
        assert seen.contains(keys(sorted(model))).all()


@pytest.mark.kernel
@given(st.lists(KEY, max_size=20), st.lists(KEY, max_size=20))
def test_merge_is_union(one: list[int], two: list[int]) -> None:
    assert merge(keys(sorted(set(one))), keys(sorted(set(two)))).tolist() == sorted({*one, *two})


def test_a_million_keys_over_mapped_runs(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    wanted = draw.integers(1, 2**64 - 1, 1_000_000, dtype=np.uint64)
    seen = SeenSet(limit=100_000)
    merged = 0
    for number, batch in enumerate(np.array_split(wanted, 50)):
        assert seen.add(batch).all()
        if seen.full:
            path = tmp_path / f"{number}.run"
            sorted_run(seen.spill()).tofile(path)
            seen.attach(np.memmap(path, np.uint64, "r"))
        while pair := seen.merges():
            seen.replace(pair, merge(seen.runs[pair[0]], seen.runs[pair[1]]))
            merged += 1
    assert merged
    assert len(seen.runs) <= 3
    assert seen.contains(wanted).all()
    assert not seen.add(wanted[::7]).any()
    assert not seen.contains(draw.integers(1, 2**64 - 1, 100_000, dtype=np.uint64)).any()
    assert len(seen) == 1_000_000


def test_ends_of_the_key_space() -> None:
    ends = keys([1, 2, 2**63, 2**64 - 2, 2**64 - 1])
    seen = SeenSet()
    seen.attach(ends)
    assert seen.contains(ends).all()
    assert not seen.contains(keys([3, 2**63 - 1, 2**64 - 3])).any()


def test_keys_are_of_the_normal_form_and_the_seed() -> None:
    one, two = url_keys(["http://a.test/", "http://a.test/?"])
    assert one != two
    assert url_keys(["http://a.test/"], seed=1)[0] != one
    assert url_keys(["http://a.test/"], seed=1)[0] == seen_key(Url("http://a.test/?sid=1"), seed=1)
    assert url_keys([]).dtype == np.uint64
