"""Durations and sizes: one way to write them, read back as they were written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.config import build
from fyke.crawl.run.settings import CrawlSettings
from fyke.errors import ConfigError, UserError
from fyke.units import parse_duration, parse_size, write_duration, write_size


@pytest.mark.parametrize(
    ("words", "seconds"),
    [("2h", 7200), ("1h30m", 5400), ("90", 90), ("1.5", 1.5), ("500ms", 0.5), ("2 days", 172_800), ("1W", 604_800)],
)
def test_durations(words: str, seconds: float) -> None:
    assert parse_duration(words) == seconds


@pytest.mark.parametrize(
    ("words", "size"), [("2GB", 2_000_000_000), ("1.5 GiB", 3 << 29), ("4096", 4096), ("50kb", 50_000)]
)
def test_sizes(words: str, size: int) -> None:
    assert parse_size(words) == size


@pytest.mark.parametrize("words", ["", "h", "2x", "-2h", "2h-", "1h 30", "nan", "inf", "1e999", "two hours"])
def test_what_is_no_duration_is_named(words: str) -> None:
    with pytest.raises(UserError, match="is no duration; write"):
        parse_duration(words)


@pytest.mark.parametrize("words", ["", "GB", "-1GB", "2XB", "1e9"])
def test_what_is_no_size_is_named(words: str) -> None:
    with pytest.raises(UserError, match="is no size; write"):
        parse_size(words)


@given(st.integers(0, 10**9), st.integers(0, 10**15))
def test_what_is_written_is_read(seconds: int, size: int) -> None:
    assert parse_duration(write_duration(seconds)) == seconds
    assert parse_size(write_size(size)) == size


def test_settings_take_them_as_text_and_as_numbers() -> None:
    made = build(CrawlSettings, {"max_time": "2h", "max_bytes": "50GB", "delay": "500ms", "patience": 3})
    assert (made.max_time, made.max_bytes, made.delay, made.patience) == (7200.0, 50_000_000_000, 0.5, 3.0)
    with pytest.raises(ConfigError, match="max_time: '2 fortnights' is no duration; write"):
        build(CrawlSettings, {"max_time": "2 fortnights"})
