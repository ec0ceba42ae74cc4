"""``--render``: scripted pages in a crawl, under the rules of every other contact."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from fyke.assemble import crawl
from fyke.browser import process
from fyke.cli import run
from fyke.crawl.discovery.rendering import RENDERED
from fyke.crawl.run import steps
from fyke.crawl.run.summary import Summary
from fyke.errors import UserError
from fyke.store import Store
from fyke.store.exporting import export
from fyke.store.importing import import_file
from fyke.url import Url
from fyke.world.config import START, WorldConfig
from fyke.world.serve import serve
from tests.browser.showing import alive, command_line, descendants, program
from tests.little_site import Answer, Site, page, serving

PAGES = 8
SHELL = b"<!doctype html><title>loading</title><div id=app></div><script src=/app.js></script>"
APP = b"""fetch('/api' + location.pathname + '.json').then(r => r.json()).then(d => {
  document.title = d.title;
  app.innerHTML = `<h1>${d.title}</h1><p>${d.text}</p>` + d.links.map(l => `<a href="${l}">${l}</a>`).join(' ') })"""
WORDS = "A fyke is a long bag net that is kept open by hoops, and fish that swim in do not find out. " * 8


def scripted(pages: int = PAGES, static: int = 20) -> dict[str, Answer]:
    """A site whose pages lead from one to the next, by script alone; and one static corner."""
    site = {"/robots.txt": Answer(b"User-agent: *\nDisallow: /secret/", "text/plain")}
    site["/app.js"] = Answer(APP, "text/javascript")
    for number in range(pages):
        links = [f"/p/{number + 1}", "/static/0"]
        said = {"title": f"Net {number}", "text": f"{WORDS} Page {number}.", "links": links}
        site[f"/p/{number}"] = Answer(SHELL)
        site[f"/api/p/{number}.json"] = Answer(json.dumps(said).encode(), "application/json")
    for number in range(static):
        corner = page(f"Static {number}", f"/static/{number + 1}", text=f"{WORDS} Static {number}.")
        site[f"/static/{number}"] = Answer(corner.body + b"<script src=/analytics.js></script>")
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


def test_gaps_are_kept_with_all_that_pages_load(tmp_path: Path) -> None:
    program()
    config = WorldConfig(
        hosts=25, pages=175, scripted=True, languages=False, formats=False, changes=False, flaky=False, slow=False,
        traps=False, mirrors=False,
    )  # fmt: skip
    delay = 0.05
    with serve(config) as served:
        world = served.world
        served.set_time(START)
        crawl(
            world.seeds, tmp_path / "s", agents=1, sitemaps=False, delay=delay, render="auto", render_scroll=8,
            resolve=served.resolve(), allow_private=True, patience=2.0,
        )  # fmt: skip
        log = served.log()
    found = wanted = static = rendered = by_data = 0
    with Store.open(tmp_path / "s", "r") as opened:
        for url in world.expected(world.seeds, START).pages:
            host, row = world.host(Url(url).host), opened.get(url)
            assert host is not None
            if host.scripted:
                wanted += 1
                found += row is not None and world.truth(url, START).title in row.title
                by_data += row is not None and row.columns.get("render", b"").startswith(b"not rendered")
            else:
                static += 1
                rendered += row is not None and "render" in row.columns
    assert {host.scripted for host in world.hosts} == {"", "root", "module", "data", "component", "list"}
    assert wanted >= 30
    assert found >= 0.95 * wanted
    assert rendered <= 0.02 * static
    assert by_data >= 1
    visits = sorted(log, key=lambda visit: (visit.host, visit.started))
    gaps = [after.started - before.ended for before, after in pairwise(visits) if before.host == after.host]
    assert any("/_data/" in visit.target for visit in log)
    assert min(gaps) >= delay


def test_what_scripts_do_to_the_browser_is_a_reason_and_the_page_is_kept(tmp_path: Path) -> None:
    program()
    site = scripted(2, static=1) | {
        "/p/0": Answer(SHELL + b"<a href=/endless>1</a><a href=/bomb>2</a><a href=/elsewhere>3</a><a href=/p/1>4</a>"),
        "/endless": Answer(b"<p>An endless page.<script>while (true) {}</script>"),
        "/bomb": Answer(b"<p>A bomb.<script>const a = []; while (1) a.push(new Array(1e6).fill({}))</script>"),
        "/elsewhere": Answer(b"<p>It moved.<script>location.href = '/there'</script>"),
        "/there": page("There", text=WORDS),
    }
    with serving(site) as started:
        summary = crawled(started, tmp_path / "s", "always", render_timeout=8.0, trace=(f"{started.root}/endless",))
        root = started.root
    # On a slow machine the bomb's time is over before its memory is.
    assert summary.errors["render-timeout"] + summary.errors.get("render-crash", 0) == 2
    assert sum(summary.errors.values()) == 4
    with Store.open(tmp_path / "s", "r") as opened:
        for path, words in (("/endless", "An endless page."), ("/bomb", "A bomb."), ("/elsewhere", "It moved.")):
            row = opened.get(root + path)
            assert row is not None
            assert row.text == words
            assert row.raw == site[path].body
            assert not row.meta.error
        row = opened.get(root + "/p/1")
        assert row is not None
        assert "Page 1." in (row.text or "")
        assert opened.get(root + "/there") is not None
    said = [step.said for step in steps.read(tmp_path / "s") if step.room == "browser"]
    assert said[0] == "to be rendered: all are"
    assert "render-timeout" in said[1]


def test_without_a_browser_the_crawl_goes_on_and_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(process, "PROGRAMS", ("no-such-browser",))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", "/no/such/folder")
    with serving(scripted()) as site:
        assert crawled(site, tmp_path / "s").pages == 1
        assert capsys.readouterr().err.count("the crawl goes on without") == 1
        with pytest.raises(UserError, match="chromium-headless-shell"):
            crawled(site, tmp_path / "t", "always")


def test_a_rendered_page_is_a_conversion_in_warc_and_comes_back(tmp_path: Path) -> None:
    program()
    with serving(scripted(2)) as site:
        crawled(site, tmp_path / "s", keep_subresources=True, warc_dir=str(tmp_path / "w"))
        url = f"{site.root}/p/1"
    with Store.open(tmp_path / "s", "r") as opened:
        export(opened.scan(), tmp_path / "out.warc.gz")
        data = opened.get(f"{site.root}/api/p/1.json")
        assert data is not None
        assert data.meta.requisite
    for path in (tmp_path / "out.warc.gz", *(tmp_path / "w").glob("*.warc.gz")):
        with path.open("rb") as file:
            records = [
                (
                    each.rec_type,
                    each.rec_headers.get_header("WARC-Target-URI"),
                    each.rec_headers.get_header("Content-Type"),
                )
                for each in ArchiveIterator(file)
            ]
        assert ("conversion", url, "text/html") in records
        assert any(kind == "response" and target.endswith("/api/p/1.json") for kind, target, _ in records if target)
    with Store.open(tmp_path / "t") as opened:
        import_file(opened, tmp_path / "out.warc.gz")
        row = opened.get(url)
        assert row is not None
        assert b"<h1>Net 1</h1>" in row.columns[RENDERED]


@pytest.mark.parametrize("agents", [1, 2])
def test_killed_and_resumed_nothing_is_lost_and_no_browser_is_left(agents: int, tmp_path: Path) -> None:
    program()
    store, hosts, pages = tmp_path / "s", [f"{name}.test" for name in "abcd"], 2
    with serving(scripted(pages, static=1)) as site:
        roots = [site.root.replace("127.0.0.1", host) for host in hosts]
        words = ["crawl", *(f"{root}/p/0" for root in roots), "--store", store, "--render", "auto", "--delay", "0.2"]
        words += ["--agents", agents, "--no-sitemaps", "--allow-private"]
        words += [word for host in hosts for word in ("--resolve", f"{host}:127.0.0.1")]
        command = [sys.executable, "-m", "fyke", *map(str, words)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as crawling:
            until(lambda: sum(path.startswith("/api/") for path in site.paths) >= 3)
            started = descendants(crawling.pid)
            assert any(b"headless" in command_line(each) for each in started)
            crawling.send_signal(signal.SIGKILL)
            crawling.wait()
        until(lambda: not any(map(alive, started)))
        assert run(["resume", "--store", str(store)]) == 0
        with Store.open(store, "r") as opened:
            for root in roots:
                for number in range(pages):
                    row = opened.get(f"{root}/p/{number}")
                    assert row is not None
                    assert f"Page {number}." in (row.text or "")


def until(true: Callable[[], bool]) -> None:
    """Wait for something that happens."""
    deadline = time.monotonic() + 120
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)
