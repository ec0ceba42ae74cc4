"""How long a host is left alone: each term of the delay, back-off and recovery."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.frontier.politeness import FRESH, MAX_BACKOFF, Contact, Pace, Politeness, after

WANTED = Politeness(delay=1.0, factor=10.0)


@pytest.mark.parametrize(
    ("pace", "duration", "gap"),
    [
        (FRESH, 0.01, 1.0),  # the configured minimum
        (Pace(crawl_delay=7.0), 0.01, 7.0),  # the site's own delay can only lengthen it
        (Pace(crawl_delay=0.1), 0.01, 1.0),
        (FRESH, 0.3, 3.0),  # ten times the last fetch
        (FRESH, 30.0, 60.0),  # but one slow page is not a slow host
        (Pace(usual=1.0), 2.0, 40.0),  # twice as slow as usual: twice the gap
        (Pace(usual=0.1), 2.0, 80.0),  # at most four times
        (Pace(usual=0.001), 0.005, 1.0),  # noise
        (Pace(crawl_delay=1e9), 0.01, 86_400.0),
    ],
)
def test_gap(pace: Pace, duration: float, gap: float) -> None:
    _, due, _ = after(pace, Contact(100.0, duration), WANTED)
    assert due == pytest.approx(100.0 + gap)


def test_no_delay_means_no_delay_but_for_back_off() -> None:
    own = Politeness(delay=0.0)
    assert after(Pace(usual=0.1), Contact(5.0, 3.0), own)[1] == 5.0
    assert after(FRESH, Contact(5.0, 0.1, overloaded=True), own)[1] == 7.0


def test_back_off_doubles_up_to_an_hour_and_recovers_step_by_step() -> None:
    pace, gaps = FRESH, []
    for _ in range(14):
        pace, due, _ = after(pace, Contact(0.0, 0.01, overloaded=True), WANTED)
        gaps.append(due)
    assert gaps[:4] == [2.0, 4.0, 8.0, 16.0]
    assert gaps[-1] == MAX_BACKOFF
    down = []
    for _ in range(16):
        pace, due, _ = after(pace, Contact(0.0, 0.01), WANTED)
        down.append(due)
    assert down == sorted(down, reverse=True)
    assert down[-1] == 1.0


def test_retry_after_is_obeyed() -> None:
    assert after(FRESH, Contact(100.0, 0.1, overloaded=True, retry_at=9000.0), WANTED)[1] == 9000.0
    assert after(FRESH, Contact(100.0, 0.1, overloaded=True, retry_at=100.5), WANTED)[1] == 101.0, "and our own gap"


def test_one_silent_url_says_nothing_of_its_host() -> None:
    pace, due, _ = after(FRESH, Contact(100.0, 20.0, silent=True), WANTED)
    assert (due, pace.failures) == (101.0, 0)
    pace, due, _ = after(pace, Contact(120.0, 20.0, silent=True), WANTED)
    assert (due, pace.failures) == (122.0, 1), "two in a row do"
    pace, due, _ = after(pace, Contact(130.0, 0.05), WANTED)
    assert (due, pace.failures) == (131.0, 0)


def test_what_a_host_wants_is_told_from_our_own_caution() -> None:
    slow = after(Pace(usual=0.1), Contact(100.0, 5.0), WANTED)
    assert slow.due > 200.0
    assert slow.asked == 0.0, "it was slow, and asked for nothing"
    assert after(FRESH, Contact(100.0, 0.1, overloaded=True, retry_at=9000.0), WANTED).asked == 9000.0
    assert after(FRESH, Contact(100.0, 0.1, overloaded=True), WANTED).asked == 102.0
    assert after(Pace(crawl_delay=30.0), Contact(100.0, 0.1), WANTED).asked == 130.0


@given(
    st.builds(Pace, st.floats(0, 1e12), st.floats(0, 1e3), st.integers(0, 16)),
    st.floats(0, 1e5),
    st.booleans(),
    st.floats(0, 10),
)
def test_never_early_and_never_endless(pace: Pace, duration: float, overloaded: bool, delay: float) -> None:
    wanted = Politeness(delay=delay)
    known, due, _ = after(pace, Contact(0.0, duration, overloaded), wanted)
    assert due >= delay
    assert due <= max(86_400.0, 4 * 60.0, MAX_BACKOFF) * 4
    assert known.crawl_delay == pace.crawl_delay
    assert 0 <= known.failures <= 16
