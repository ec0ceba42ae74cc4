"""Important pages are visited more often, as much more as the optimum says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fyke.clock import VirtualClock
from fyke.config import read
from fyke.crawl.budget import RevisitSettings
from fyke.crawl.settings import CrawlSettings
from fyke.crawl.weights import Weights
from fyke.errors import ConfigError
from fyke.frontier.revisit import DAY, RevisitPolicy
from fyke.values import Request
from fyke.world.config import START
from tests.crawl.continuous import OnePage, crawl, page

PAGES = [f"http://one.test/{kind}/{i}" for kind in ("news", "other") for i in range(12)]
RATE, BUDGET, DAYS = 2.0, 60.0, 40.0


def test_weights_of_addresses_and_sitemaps() -> None:
    weights = Weights(["/news/=4", r"\.pdf$=0.5"])
    assert weights.of("http://h/news/1.pdf") == 4, "the first that matches counts"
    assert weights.of("http://h/x.pdf") == 0.5
    assert weights.of("http://h/", priority=1.0) == 2
    assert weights.of("http://h/news/1", priority=0.25) == 2
    assert weights.of("http://h/") == weights.of("http://h/", priority=0.5) == 1


def test_a_table_of_the_file_gives_weights(tmp_path: Path) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text('max_pages = 9\n[weights]\n"/news/" = 4\n"/archive/" = 0.25\n')
    assert read(CrawlSettings, file).weights == ("/news/=4", "/archive/=0.25")
    for wrong in ('"/a/" = "x"', '"(" = 2', '"/a/" = 1e9'):
        file.write_text(f"[weights]\n{wrong}\n")
        with pytest.raises(ConfigError, match="weights"):
            read(CrawlSettings, file)


def test_equal_pages_get_the_visits_that_the_optimum_says(tmp_path: Path) -> None:
    """Pages that change equally often, half of them with four times the weight."""
    clock = VirtualClock(START)
    rng = np.random.default_rng(0)
    changes = {href: np.cumsum(rng.exponential(DAY / RATE, 400)) for href in PAGES}

    def answer(request: Request, now: float) -> tuple[int, str, str]:
        href = request.url.href
        if href not in changes:
            links = "".join(f'<a href="{each}">{each}</a>' for each in PAGES)
            return 200, "", f"<title>t</title><body><p>All of them.</p>{links}</body>"
        version = int(np.searchsorted(changes[href], now - START))
        return 200, "", page(f"{href} in version {version}", 40).replace("/other", href)

    site = OnePage(clock, answer)
    settings = RevisitSettings(budget=BUDGET / DAY, weights=Weights(["/news/=4"]))
    crawl(tmp_path / "s", site, ["http://one.test/"], clock, DAYS, settings)
    late = Counter(request.url.path.split("/")[1] for request in site.requests[len(site.requests) // 2 :])
    rates = np.full(len(PAGES), RATE)
    weights = np.array([4.0 if "/news/" in href else 1.0 for href in PAGES])
    best = RevisitPolicy("age-optimal").rates(rates, BUDGET, weights)
    wanted = best[weights == 4].sum() / best[weights == 1].sum()
    assert late["news"] / late["other"] == pytest.approx(wanted, rel=0.2)
