"""``--requisites``: what pages need to be shown is in the store, and nothing else of it is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fyke.assemble import crawl
from fyke.crawl.run.summary import Summary
from fyke.store import Store
from fyke.store.where import Where
from fyke.values import Drop
from tests.crawl.pictured import NEEDED, Pictured, pictured


def run(site: Pictured, store: Path, **options: Any) -> Summary:
    how = {"delay": 0.0, "agents": 1, "allow_private": True, "requisites": True, "sitemaps": False, **options}
    return crawl([site.seed], store, resolve=site.resolve, **how)


def test_everything_a_page_needs_is_fetched_once_and_is_no_document(tmp_path: Path) -> None:
    with pictured() as site:
        summary = run(site, tmp_path / "s")
        asked = Counter(site.log)
    needed = {site.url(place) for place in NEEDED}
    with Store.open(tmp_path / "s", "r") as store:
        rows = {row.url: row for row in store.scan()}
        documents = [row.url for row in Where().rows(store, ("text", "page"))]
        bodies = [row.url for row in Where(needs_text=False).rows(store, ("page",))]
    assert needed <= rows.keys(), needed - rows.keys()
    for place in NEEDED - {("www.test", "/img/moved.gif")}:
        row = rows[site.url(place)]
        assert (row.meta.status, row.meta.requisite, row.meta.error) == (200, True, "")
        assert row.raw == site.body(place)
        assert not row.text
    assert rows[site.url(("www.test", "/img/moved.gif"))].meta.redirect == site.url(("cdn.test", "/img/real.gif"))
    assert documents == bodies == [site.seed, f"{site.seed}second.html"]
    assert (summary.pages, summary.requisites, summary.queued) == (2, len(NEEDED), 0)
    # Robots hold for requisites, too; another host's page is none; nothing is asked for twice.
    assert rows[site.url(("www.test", "/private/secret.gif"))].meta.error == Drop.ROBOTS
    assert ("cdn.test", "/page.html") not in asked
    assert ("cdn.test", "/robots.txt") in asked
    assert set(asked.values()) == {1}


@pytest.mark.parametrize("agents", [1, 2])
def test_a_limit_of_pages_leaves_no_page_without_its_requisites(tmp_path: Path, agents: int) -> None:
    with pictured() as site:
        summary = run(site, tmp_path / "s", max_pages=1, agents=agents)
        assert (summary.pages, summary.requisites, summary.ended, summary.status) == (1, len(NEEDED) - 1, "limit", 0)
        assert site.log.count(("www.test", "/second.html")) == 0
        if agents > 1:
            return
        # A crawl that goes on knows what it has.
        more = run(site, tmp_path / "s", max_pages=2, agents=1)
        assert (more.pages, more.requisites) == (2, len(NEEDED))
        twice = {place for place, count in Counter(site.log).items() if count > 1 and place[1] != "/robots.txt"}
        assert not twice


@pytest.mark.parametrize("order", ["breadth", "quality"])
def test_what_the_user_excludes_is_not_fetched_for_a_page_either(tmp_path: Path, order: str) -> None:
    with pictured() as site:
        summary = run(site, tmp_path / "s", exclude=(r"\.woff2?$",), order=order)
    assert summary.requisites == len(NEEDED) - 2
    assert not [place for place in site.log if ".woff" in place[1]]
    assert summary.dropped[Drop.EXCLUDED] == 2


def test_without_it_pages_alone_are_fetched(tmp_path: Path) -> None:
    with pictured() as site:
        summary = run(site, tmp_path / "s", requisites=False)
    assert (summary.pages, summary.requisites) == (2, 0)
    assert {path for _, path in site.log} == {"/robots.txt", "/", "/second.html"}
