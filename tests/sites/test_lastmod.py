"""Lies about lastmod that need no visit to be seen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fyke.sites.lastmod import is_stamped, signals
from fyke.sites.sitemap import Entry

NOW = 1_794_700_800.0  # 2026-11-15T00:00:00Z


def test_a_file_stamped_with_its_own_making_says_nothing() -> None:
    assert is_stamped([NOW - 60] * 20, NOW)
    assert is_stamped([NOW - 60] * 11 + [NOW - 1e6] * 9, NOW)
    assert not is_stamped([NOW - 60] * 5, NOW)  # too few to tell
    assert not is_stamped([NOW - 1e6] * 20, NOW)  # a site that was made once and is left alone
    assert not is_stamped([NOW - 60 * k for k in range(20)], NOW)
    assert not is_stamped([0.0] * 30, NOW)
    assert list(signals([Entry(f"http://a.example/{k}", "2026-11-14T23:59:00Z") for k in range(20)], NOW)) == []


def test_what_may_be_true_is_a_signal() -> None:
    entries = [
        Entry("http://a.example/old", "2026-11-01"),
        Entry("http://a.example/none"),
        Entry("http://a.example/ahead", "2026-11-15T05:00:00Z"),  # now, on a clock that is ahead
        Entry("http://a.example/never", "2027-01-01"),
    ]
    assert list(signals(entries, NOW)) == [
        ("http://a.example/old", NOW - 14 * 86_400),
        ("http://a.example/ahead", NOW),
    ]


@given(st.lists(st.integers(1990, 2100).map(str) | st.just("") | st.text(max_size=8)), st.floats(0, 4e9))
def test_no_signal_lies_ahead(dates: list[str], now: float) -> None:
    for _, time in signals([Entry("http://a.example/", date) for date in dates], now):
        assert 0 < time <= now
