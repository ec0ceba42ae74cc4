"""``fyke.pages``: documents as they are stored, at the pace of whoever takes them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fyke
from fyke import streaming
from fyke.errors import FykeError
from tests.little_site import Answer, Site, page, serving

PAGES = 40
OPTIONS: dict[str, Any] = {"delay": 0.0, "sitemaps": False}


@pytest.fixture
def site() -> Iterator[Site]:
    made = {
        f"/{n}": page(f"Net number {n}", text=f"This is the text of page {n}, which is its own.") for n in range(PAGES)
    }
    made["/"] = page("Home", *made, "/gone", "/doc.txt")
    made["/doc.txt"] = Answer(b"A plain text of some words.", "text/plain")
    with serving(made) as found:
        yield found


def test_every_document_comes_once_it_is_stored(site: Site, tmp_path: Path) -> None:
    seen = {}
    for each in fyke.pages([site.root + "/"], tmp_path / "s", **OPTIONS):
        seen[each.url] = each
        assert each.status == 200
    assert set(seen) == {f"{site.root}/{path}" for path in ("", "doc.txt", *range(PAGES))}
    found = seen[f"{site.root}/7"]
    assert (found.title, "page 7" in found.text, "Net number 7" in found.markdown) == ("Net number 7", True, True)
    assert len(seen[f"{site.root}/"].links) == PAGES + 2
    assert "some words" in seen[f"{site.root}/doc.txt"].text
    with fyke.Store.open(tmp_path / "s", mode="r") as store:
        assert {row.url for row in store.scan() if row.meta.status == 200} == set(seen)


def test_break_ends_it_cleanly_and_the_same_call_goes_on(site: Site, tmp_path: Path) -> None:
    first = []
    for each in fyke.pages([site.root + "/"], tmp_path / "s", **OPTIONS):
        first.append(each.url)
        if len(first) == 5:
            break
    second = [each.url for each in fyke.pages([site.root + "/"], tmp_path / "s", **OPTIONS)]
    with fyke.Store.open(tmp_path / "s", mode="r") as store:
        stored = {row.url for row in store.scan() if row.meta.status == 200}
    assert len(stored) == PAGES + 2
    assert not set(first) & set(second), "what is stored is not asked for again"
    assert {*first, *second} <= stored


def test_the_crawl_waits_for_whoever_is_slower(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "AT_HAND", 3)
    most = 0
    for taken, _ in enumerate(fyke.pages([site.root + "/"], tmp_path / "s", concurrency=2, **OPTIONS), 1):
        most = max(most, len(site.paths) - taken)
    assert most < PAGES // 2, "it did not run away"


def test_the_async_twin(site: Site, tmp_path: Path) -> None:
    async def main() -> int:
        return len([each async for each in fyke.pages_async([site.root + "/"], tmp_path / "s", **OPTIONS)])

    assert asyncio.run(main()) == PAGES + 2


def test_a_mistake_is_raised_where_the_pages_are_taken(tmp_path: Path) -> None:
    with pytest.raises(FykeError, match="max_page"):
        next(iter(fyke.pages(["http://a.example/"], tmp_path / "s", max_page=3)))
