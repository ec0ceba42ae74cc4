"""What becomes of one page in a continuous crawl: kept, asked for by HEAD, gone, back again, taken up later."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from fyke.clock import VirtualClock
from fyke.crawl.revisit import freshness
from fyke.crawl.revisit.budget import RevisitSettings
from fyke.frontier.revisit import DAY, ChangeState
from fyke.store import Store
from fyke.values import Request
from fyke.world.config import START
from tests.crawl.continuous import OnePage, crawl, page


def test_a_304_keeps_the_copy_and_offers_its_links_again(tmp_path: Path) -> None:
    clock = VirtualClock(START)
    site = OnePage(clock, lambda request, now: (304, '"a"', "") if request.validators.etag else (200, '"a"', page("x")))
    ended = crawl(tmp_path / "s", site, ["http://one.test/"], clock, 3, RevisitSettings(budget=20 / DAY))
    assert ended.counters["revisits:unchanged"] >= 5
    with Store.open(tmp_path / "s", "r") as store:
        row = store.get("http://one.test/")
        assert row is not None
        assert len(row.versions) == 1
        assert [link.target.href for link in row.links] == ["http://one.test/other"]
        assert ChangeState.decode(row.meta.change).seen > START + 2 * DAY


def test_large_pages_of_honest_hosts_are_asked_for_by_head(tmp_path: Path) -> None:
    clock = VirtualClock(START)

    def answer(request: Request, now: float) -> tuple[int, str, str]:
        version = int((now - START) / (DAY / 3))
        etag = f'"{version}"'
        if request.validators.etag == etag:
            return 304, etag, ""
        return 200, etag, page(f"version {version}", 120_000)

    site = OnePage(clock, answer)
    crawl(tmp_path / "s", site, ["http://one.test/"], clock, 8, RevisitSettings(budget=12 / DAY))
    methods = [request.method for request in site.requests]
    first = methods.index("HEAD")
    assert methods[:first].count("GET") >= 4, "validators are tried before they are believed"
    assert Counter(methods[first:])["HEAD"] >= 0.4 * len(methods[first:])
    with Store.open(tmp_path / "s", "r") as store:
        row = store.get("http://one.test/")
        assert row is not None
        assert len(row.versions) >= 10, "what a HEAD says to have changed is fetched"


def test_pages_that_are_gone_are_retired_after_repeated_proof(tmp_path: Path) -> None:
    clock = VirtualClock(START)
    site = OnePage(clock, lambda request, now: (410, "", "gone") if now > START + DAY else (200, "", page("x")))
    ended = crawl(tmp_path / "s", site, ["http://one.test/"], clock, 12, RevisitSettings(budget=20 / DAY))
    assert ended.counters["revisits:retired"] == 2
    assert ended.counters["pages"] == 0
    assert len(site.requests) <= 2 * 20 + 2 * 3, "what is retired is not asked for again"
    with Store.open(tmp_path / "s", "r") as store:
        row = store.get("http://one.test/")
        assert row is not None
        assert (row.meta.error, row.meta.status) == ("gone", 410)
        assert len(row.versions) == 2, "the last copy is kept"
        assert freshness.collection(store.scan(), clock.now()).whole.pages == 0


def test_a_page_that_comes_back_is_not_retired(tmp_path: Path) -> None:
    clock = VirtualClock(START)
    bad = (START + DAY, START + 2.5 * DAY)
    site = OnePage(clock, lambda request, now: (404, "", "") if bad[0] < now < bad[1] else (200, "", page("x")))
    ended = crawl(tmp_path / "s", site, ["http://one.test/"], clock, 8, RevisitSettings(budget=20 / DAY))
    assert ended.counters["revisits:absent"] >= 1
    assert ended.counters["revisits:retired"] == 0
    assert ended.counters["pages"] == 2


def test_pages_that_all_say_sorry_are_gone_too(tmp_path: Path) -> None:
    clock = VirtualClock(START)

    def answer(request: Request, now: float) -> tuple[int, str, str]:
        own = f"the page {request.url.path} tells of its own matters and of nothing else"
        return 200, "", page(own if now < START + DAY else "sorry, we cannot find what you asked for")

    site = OnePage(clock, answer)
    ended = crawl(tmp_path / "s", site, ["http://one.test/"], clock, 14, RevisitSettings(budget=20 / DAY))
    assert ended.counters["revisits:retired"] == 2


def test_a_crawl_that_is_not_continuous_is_taken_up_and_ends_by_itself(tmp_path: Path) -> None:
    clock = VirtualClock(START)
    site = OnePage(clock, lambda request, now: (200, "", page(f"at {now:.0f}")))
    crawl(tmp_path / "s", site, ["http://one.test/"], clock, 1, None)
    before = len(site.requests)
    assert before == 2  # the page and its link
    ended = crawl(tmp_path / "s", site, ["http://one.test/"], clock, 2, RevisitSettings(budget=20 / DAY))
    assert ended.counters["revisits:changed"] >= 5
    again = len(site.requests)
    crawl(tmp_path / "s", site, ["http://one.test/"], clock, 1, None)
    assert len(site.requests) <= again + 2, "a crawl without revisits makes none"
