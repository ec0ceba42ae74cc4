"""When feeds are asked again: within bounds whatever they say, near the optimum for the polls spent."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.sites.feed import Rhythm, parse_feed
from fyke.sites.polling import DAY, HOUR, LONGEST, SHORTEST, Posting, next_poll

NOW = 1_794_700_800.0  # Sunday, 2026-11-15T00:00:00Z

_times = st.floats(0, 4e9)
_rhythms = st.builds(
    Rhythm,
    st.floats(0, 1e11),
    st.frozensets(st.integers(0, 23)),
    st.frozensets(st.integers(0, 6)),
    st.floats(0, 1e9),
)
_postings = st.builds(Posting, st.floats(0, 1e7), st.floats(0, 1e9), _times, st.integers(0, 16))


@given(_postings, _rhythms, _times, st.floats(0, 1e9), st.booleans())
def test_the_next_poll_is_neither_too_soon_nor_never(
    posting: Posting, rhythm: Rhythm, now: float, max_age: float, pushed: bool
) -> None:
    due = next_poll(posting, rhythm, now, max_age=max_age, pushed=pushed)
    assert due >= now + SHORTEST - 1e-3
    assert due >= now + min(max(rhythm.ttl, rhythm.period, max_age), LONGEST) - 1e-3
    moment = datetime.fromtimestamp(due, UTC)
    everything = len(rhythm.skip_hours) == 24 or len(rhythm.skip_days) == 7
    assert everything or (moment.hour not in rhythm.skip_hours and moment.weekday() not in rhythm.skip_days)
    assert due <= now + LONGEST + 7 * DAY


@given(st.lists(st.tuples(st.floats(-1e8, 1e8), st.integers(0, 10_000)), max_size=50), st.lists(st.floats(-1e9, 1e10)))
def test_clocks_that_jump_and_dates_that_lie_do_no_harm(polls: list[tuple[float, int]], dates: list[float]) -> None:
    posting = Posting().after(NOW, 0, dates)
    now = NOW
    for step, new in polls:
        now = max(now + step, 1.0)
        posting = posting.after(now, new)
        assert posting.rate > 0
        assert now + SHORTEST <= next_poll(posting, Rhythm(), now) + 1e-3
        assert next_poll(posting, Rhythm(), now) <= now + LONGEST + 1e-3


@given(_postings, st.floats(0.001, 1e6))
def test_more_items_never_mean_rarer_polls(posting: Posting, more: float) -> None:
    busier = Posting(posting.items + more, posting.time, posting.polled, posting.failures)
    assert next_poll(busier, Rhythm(), NOW) <= next_poll(posting, Rhythm(), NOW)


def test_the_first_poll_learns_from_the_dates() -> None:
    hourly = Posting().after(NOW, 0, [NOW - HOUR * k for k in range(1, 15)])
    weekly = Posting().after(NOW, 0, [NOW - 7 * DAY * k for k in range(1, 15)])
    unknown = Posting().after(NOW, 0, [0.0, 0.0])
    assert HOUR / 2 < 1 / hourly.rate < 2 * HOUR
    assert weekly.rate < 1 / (3 * DAY)
    assert next_poll(hourly, Rhythm(), NOW) < next_poll(unknown, Rhythm(), NOW) < next_poll(weekly, Rhythm(), NOW)


def test_a_feed_that_falls_asleep_is_asked_more_rarely() -> None:
    posting = Posting().after(NOW, 0, [NOW - HOUR * k for k in range(1, 15)])
    now, gaps = NOW, []
    for _ in range(400):
        due = next_poll(posting, Rhythm(), now)
        gaps.append(due - now)
        now = due
        posting = posting.after(now, 0)
    assert gaps == sorted(gaps)
    assert gaps[-1] > 3 * gaps[0]


def test_a_feed_that_fails_is_left_alone_for_longer_each_time() -> None:
    posting = Posting(1.0, 2 * DAY, NOW)
    gaps = []
    for _ in range(6):
        posting = posting.failed(NOW)
        gaps.append(next_poll(posting, Rhythm(), NOW) - NOW)
    assert gaps[1] == pytest.approx(2 * gaps[0])
    assert gaps[-1] == LONGEST
    assert posting.after(NOW + DAY, 0).failures == 0


def test_the_weekend_is_skipped() -> None:
    feed = parse_feed("<rss><channel><skipDays><day>Saturday</day><day>Sunday</day></skipDays></channel></rss>")
    saturday = NOW - 20 * HOUR
    assert next_poll(Posting(), feed.rhythm, saturday) == NOW + DAY


def test_a_pushed_feed_is_polled_once_a_day() -> None:
    assert next_poll(Posting(100.0, DAY, NOW), Rhythm(), NOW, pushed=True) == NOW + LONGEST


def test_a_posting_survives_the_disk() -> None:
    posting = Posting(1.5, 2.5, NOW, 3)
    assert Posting.decode(posting.encode()) == posting
