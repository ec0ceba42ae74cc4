"""Whom to believe on changes: precision and recall are learnt, and lies that show are not even asked about."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.sites.honesty import AHEAD, MEMORY, Honesty, is_stamped

NOW = 1_794_700_800.0


@pytest.mark.parametrize(("precision", "recall", "changes"), [(1.0, 1.0, 0.3), (0.2, 0.9, 0.2), (0.9, 0.3, 0.5)])
def test_precision_and_recall_are_learnt(precision: float, recall: float, changes: float) -> None:
    chance = random.Random(7)
    honesty = Honesty()
    seen = []
    cries = changes * recall * (1 - precision) / precision / (1 - changes)  # P(said | not changed)
    for step in range(3000):
        changed = chance.random() < changes
        honesty = honesty.after(said=chance.random() < (recall if changed else cries), changed=changed)
        if step >= 1000:
            seen.append((honesty.precision, honesty.recall))
    assert sum(p for p, _ in seen) / len(seen) == pytest.approx(precision, abs=0.05)
    assert sum(r for _, r in seen) / len(seen) == pytest.approx(recall, abs=0.05)


def test_a_host_that_begins_to_lie_is_noticed() -> None:
    honesty = Honesty()
    for _ in range(1000):
        honesty = honesty.after(said=True, changed=True)
    assert honesty.precision > 0.98
    for _ in range(300):
        honesty = honesty.after(said=True, changed=False)
    assert honesty.precision < 0.3


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=600))
def test_chances_are_chances_and_the_past_is_bounded(visits: list[tuple[bool, bool]]) -> None:
    honesty = Honesty()
    for said, changed in visits:
        honesty = honesty.after(said=said, changed=changed)
    assert 0 < honesty.precision < 1
    assert 0 < honesty.recall < 1
    assert honesty.told + honesty.cried + honesty.hidden + honesty.quiet <= MEMORY + 1e-9
    assert Honesty.decode(honesty.encode()) == honesty


def test_signals_carry_time_and_trust() -> None:
    honesty = Honesty(told=8.0)
    signal = honesty.signal(NOW - 100, NOW - 1000, NOW)
    assert signal is not None
    assert (signal.time, signal.precision, signal.recall) == (NOW - 100, 0.9, 0.9)
    assert honesty.signal(NOW - 2000, NOW - 1000, NOW) is None  # before our last visit
    assert honesty.signal(0.0, NOW - 1000, NOW) is None
    assert honesty.signal(NOW + AHEAD + 1, NOW - 1000, NOW) is None  # in the future
    early = honesty.signal(NOW + 3600, NOW - 1000, NOW)  # today, in a zone that is ahead of ours
    assert early is not None
    assert early.time == NOW


def test_a_file_stamped_with_its_own_making_says_nothing() -> None:
    assert is_stamped([NOW - 60] * 20, NOW)
    assert is_stamped([NOW - 60] * 11 + [NOW - 1e6] * 9, NOW)
    assert not is_stamped([NOW - 60] * 5, NOW)  # too few to tell
    assert not is_stamped([NOW - 1e6] * 20, NOW)  # a site that was made once and is left alone
    assert not is_stamped([NOW - 60 * k for k in range(20)], NOW)
    assert not is_stamped([0.0] * 30, NOW)
