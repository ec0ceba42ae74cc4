"""``--render``: scripted pages in a crawl, under the rules of every other contact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fyke.assemble import Summary, crawl
from fyke.cli import run
from fyke.store import Store
from tests.browser.showing import program
from tests.little_site import Answer, Site, page, serving

PAGES = 8
SHELL = b"<!doctype html><title>loading</title><div id=app></div><script src=/app.js></script>"
APP = b"""fetch('/api' + location.pathname + '.json').then(r => r.json()).then(d => {
  document.title = d.title;
  app.innerHTML = `<h1>${d.title}</h1><p>${d.text}</p>` + d.links.map(l => `<a href="${l}">${l}</a>`).join(' ') })"""
WORDS = "A fyke is a long bag net that is kept open by hoops, and fish that swim in do not find out. " * 8


def scripted(pages: int = PAGES) -> dict[str, Answer]:
    """A site whose pages lead from one to the next, by script alone; and one static corner."""
    site = {"/robots.txt": Answer(b"User-agent: *\nDisallow: /secret/", "text/plain")}
    site["/app.js"] = Answer(APP, "text/javascript")
    for number in range(pages):
        links = [f"/p/{number + 1}", "/static/0"]
        said = {"title": f"Net {number}", "text": f"{WORDS} Page {number}.", "links": links}
        site[f"/p/{number}"] = Answer(SHELL)
        site[f"/api/p/{number}.json"] = Answer(json.dumps(said).encode(), "application/json")
    for number in range(20):
        static = page(f"Static {number}", f"/static/{number + 1}", text=f"{WORDS} Static {number}.")
        site[f"/static/{number}"] = Answer(static.body + b"<script src=/analytics.js></script>")
    return site


def crawled(site: Site, store: Path, render: str = "auto", **more: Any) -> Summary:
    return crawl([f"{site.root}/p/0"], store, agents=1, sitemaps=False, delay=0.0, render=render, **more)


def test_a_scripted_site_is_found_and_its_static_pages_are_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program()
    with serving(scripted()) as site:
        crawled(site, tmp_path / "s")
        root = site.root
    with Store.open(tmp_path / "s", "r") as opened:
        for number in range(PAGES):
            row = opened.get(f"{root}/p/{number}")
            assert row is not None
            assert f"Page {number}." in (row.text or "")
            assert row.title == f"Net {number}"
            assert row.raw == SHELL
            assert [link.target.path for link in row.links] == [f"/p/{number + 1}", "/static/0"]
        assert opened.get(f"{root}/static/19") is not None
        assert sum("render" in row.columns for row in opened.scan()) == PAGES
    # The script is had once, the data of each page once, and nothing of what changes no text.
    assert site.paths.count("/app.js") == 1
    assert site.paths.count("/api/p/3.json") == 1
    assert "/analytics.js" not in site.paths
    capsys.readouterr()
    assert run(["get", f"{root}/p/1", "--store", str(tmp_path / "s"), "--show", "rendered"]) == 0
    assert "<h1>Net 1</h1>" in capsys.readouterr().out
    assert run(["get", f"{root}/p/1", "--store", str(tmp_path / "s"), "--show", "meta"]) == 0
    assert "an empty place that a script fills" in capsys.readouterr().out
    assert run(["get", f"{root}/static/1", "--store", str(tmp_path / "s"), "--show", "rendered"]) == 1


def test_without_rendering_nothing_is_found(tmp_path: Path) -> None:
    with serving(scripted()) as site:
        crawled(site, tmp_path / "s", render="never")
    assert [path for path in site.paths if path.startswith(("/p/", "/app"))] == ["/p/0"]
