"""What users say of a crawl beside its seeds: limits of bytes and time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fyke.assemble import Summary, crawl
from fyke.store import Store
from tests.little_site import page, serving

PAGES = 60
LARGE = {
    "/": page("first", *(f"/{number}" for number in range(PAGES))),
    **{f"/{number}": page(f"page {number}", text=f"{number} and so on. " * 1000) for number in range(PAGES)},
}


def run(seeds: list[str], store: Path, **options: Any) -> Summary:
    how: dict[str, Any] = {"delay": 0.0, "agents": 1, "sitemaps": False, **options}
    return crawl(seeds, store, **how)


def stored(store: Path) -> dict[str, str]:
    """URL to type of the documents."""
    with Store.open(store, "r") as reader:
        return {row.url: row.meta.type for row in reader.scan(parts=()) if row.meta.status == 200}


@pytest.mark.parametrize("agents", [1, 2])
def test_max_bytes_is_a_total_and_a_limit_that_was_asked_for(tmp_path: Path, agents: int) -> None:
    with serving(LARGE) as site:
        summary = run([f"{site.root}/"], tmp_path / "s", max_bytes="200kB", agents=agents)
        assert (summary.ended, summary.limit, summary.status) == ("limit", "max_bytes", 0)
        assert 200_000 <= summary.bytes < 300_000, "what is under way comes in addition"
        assert summary.queued > 0
        again = run([f"{site.root}/"], tmp_path / "s", max_bytes="400kB", agents=agents)
        assert 400_000 <= again.bytes < 500_000


@pytest.mark.parametrize("agents", [1, 2])
def test_max_time_ends_a_crawl_with_status_0(tmp_path: Path, agents: int) -> None:
    """One page a minute would take an hour."""
    with serving(LARGE) as site:
        summary = run([f"{site.root}/"], tmp_path / "s", delay="1m", max_time="1s", patience="1h", agents=agents)
    assert (summary.ended, summary.limit, summary.status) == ("limit", "max_time", 0)


def test_a_limit_that_is_not_reached_says_nothing(tmp_path: Path) -> None:
    with serving({"/": page("alone")}) as site:
        summary = run([f"{site.root}/"], tmp_path / "s", max_time="1h", max_bytes="1GB", max_pages=10)
    assert (summary.ended, summary.limit, summary.finished) == ("done", "", True)
