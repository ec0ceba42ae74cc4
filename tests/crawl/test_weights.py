"""Important pages are visited more often, as much more as the optimum says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fyke.clock import VirtualClock
from fyke.config import read
from fyke.crawl.order.quality import ByQuality
from fyke.crawl.order.ranking import Ranks
from fyke.crawl.order.reserve import Reserve
from fyke.crawl.order.topic import Focus
from fyke.crawl.revisit.budget import RevisitSettings
from fyke.crawl.revisit.weights import Weights
from fyke.crawl.run.settings import CrawlSettings
from fyke.errors import ConfigError
from fyke.frontier.frontier import Frontier
from fyke.frontier.keys import Entry
from fyke.frontier.revisit import DAY, ChangeState, RevisitPolicy
from fyke.frontier.seen import url_keys
from fyke.store import RowMeta, Settings, Store
from fyke.topic.model import PageModel
from fyke.topic.table import KeyTable
from fyke.topic.topic import Topic
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


def test_pages_about_the_topic_are_kept_fresher(tmp_path: Path) -> None:
    """All change equally often; half of them are about it."""
    clock = VirtualClock(START)

    def answer(request: Request, now: float) -> tuple[int, str, str]:
        href = request.url.href
        if href not in PAGES:
            links = "".join(f'<a href="{each}">{each}</a>' for each in PAGES)
            return 200, "", f"<title>t</title><body><p>All of them.</p>{links}</body>"
        words = "fish nets and ponds " if "/news/" in href else "stone and iron and coal "
        own = "".join(f"{href[-2:].strip('/')}{i} " for i in range(60))  # so that none is a copy of another
        return 200, "", page(f"{href} in version {int(now / DAY * RATE)}: {words * 20} {own}")

    model = PageModel(Topic("fishing", words=("fish", "nets", "ponds")))
    site = OnePage(clock, answer)
    settings = RevisitSettings(budget=BUDGET / DAY)
    crawl(tmp_path / "s", site, ["http://one.test/"], clock, 12.0, settings, order=lambda s, r: Focus(s, model, r))
    with Store.open(tmp_path / "s", "r") as store:
        rows = {row.url: row.meta for row in store.scan(parts=()) if row.url in PAGES}
    weights = {url: ChangeState.decode(meta.change).weight for url, meta in rows.items()}
    assert len(weights) == len(PAGES)
    assert weights == pytest.approx({url: max(2 * meta.relevance, 0.1) for url, meta in rows.items()}, abs=1e-3)
    visits = Counter(request.url.path.split("/")[1] for request in site.requests)
    assert visits["news"] > 1.5 * visits["other"]


def test_pages_of_high_rank_are_kept_fresher(tmp_path: Path) -> None:
    """A crawl by quality that has ranked its pages gives the weight of a page by its rank."""
    with Store.open(tmp_path / "s", settings=Settings(tablets=2)) as store:
        order = ByQuality(store, Reserve(store, Frontier(), lambda batch, site: None, 8))
        entries = [Entry(f"http://one.test/{i}", 1) for i in range(4)]
        assert order.importance(entries[0], RowMeta()) == 1, "nothing is ranked yet"
        keys = url_keys([entry.href for entry in entries[:3]], store.secret)
        table = KeyTable(rank=np.float32)
        table.columns["rank"][table.slots(keys)] = (0.9, 0.09, 0.01)
        order.ranking.ranks = Ranks(known=3, pages=table.keys, ranks=table.columns["rank"])
        found = [order.importance(entry, RowMeta()) for entry in entries]
        order.checkpoint(force=True)
    assert found == pytest.approx([2.7**0.5, 0.27**0.5, 0.25, 1.0], rel=1e-3)
