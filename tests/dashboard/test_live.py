"""A real browser on a crawl that is running: the page lives, every page of it works, and the console stays silent."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

from fyke.crawl.run import status
from tests.dashboard.driving import driven
from tests.dashboard.hostile import URL, hostile_store
from tests.dashboard.serving import serving
from tests.little_site import page
from tests.little_site import serving as site

WAIT = """new Promise(done => {
  const look = () => (%s) ? done(true) : setTimeout(look, 50);
  look();
})"""


def test_a_browser_looks_at_a_crawl(tmp_path: Path) -> None:
    pages = {"/": page("Root", *(f"/{n}" for n in range(40)))} | {f"/{n}": page(f"Page {n}", "/") for n in range(40)}
    store = tmp_path / "s"
    with site(pages) as served_site, driven(tmp_path) as tab:
        words = [sys.executable, "-m", "fyke", "crawl", served_site.root + "/", "--store", str(store), "--delay", "1"]
        with subprocess.Popen([*words, "--agents", "1"], stderr=subprocess.DEVNULL) as crawl:
            try:
                while not store.exists() or not any(each.pages for each in status.read_whole(store)[0]):
                    assert crawl.poll() is None
                    time.sleep(0.1)
                with serving(store, "--control") as served:
                    tab.open(f"{served.origin}?t={served.token}")
                    assert tab.evaluate("location.search") == ""
                    tiles = tab.evaluate("document.getElementById('tiles').textContent")
                    assert tab.evaluate(WAIT % f"document.getElementById('tiles').textContent !== {tiles!r}")
                    assert "Running" in tab.evaluate("document.getElementById('state').textContent")
                    links = tab.evaluate("[...document.querySelectorAll('nav a')].map(a => a.href)")
                    for link in links:
                        tab.open(link)
                        assert tab.evaluate("document.querySelectorAll('h1').length") == 1
                    tab.open(served.origin + "search")
                    tab.evaluate("document.querySelector('th button').click()")
                    told = tab.evaluate(
                        "[...document.querySelectorAll('tbody tr')].map(row => row.cells[0].textContent.trim())"
                    )
                    assert told == sorted(told, reverse=True)
                    tab.open(served.origin + "doc?url=" + quote(served_site.root + "/"))
                    assert "/39" in tab.evaluate("document.body.innerText")
                    assert tab.evaluate("document.querySelectorAll('svg.slope polyline').length") == 1
                    tab.open(served.origin + "control")
                    tab.submit("form.inline button")
                    assert "Are you sure" in tab.evaluate("document.body.innerText")
                    assert tab.console == []
            finally:
                crawl.terminate()
    assert crawl.returncode in (0, 3)


def test_status_is_watched_until_the_crawl_ends(tmp_path: Path) -> None:
    store = tmp_path / "s"
    pages = {"/": page("Root", "/1", "/2")} | {f"/{n}": page(f"Page {n}") for n in (1, 2)}
    fyke = [sys.executable, "-m", "fyke"]
    with site(pages) as served_site:
        words = [*fyke, "crawl", served_site.root + "/", "--store", str(store), "--delay", "1", "--agents", "1", "-q"]
        with subprocess.Popen(words) as crawl:
            while not any(each.pages for each in status.read_whole(store)[0]):
                assert crawl.poll() is None
                time.sleep(0.1)
            watched = subprocess.run(
                [*fyke, "status", "--watch", "--json", "--store", str(store)], capture_output=True, check=True
            )
    told = [json.loads(line) for line in watched.stdout.splitlines()]
    assert [each["running"] for each in told] == [True] * (len(told) - 1) + [False]
    assert told[-1]["pages"] == 3
    for words in (["--watch"], []):  # a page of the terminal, of a crawl that has ended
        shown = subprocess.run([*fyke, "status", *words, "--store", str(store)], capture_output=True, check=True)
        assert b"pages" in shown.stdout


def test_a_browser_runs_no_script_of_a_hostile_store(tmp_path: Path) -> None:
    with serving(hostile_store(tmp_path / "s"), "--control") as served, driven(tmp_path) as tab:
        tab.open(f"{served.origin}?t={served.token}")
        assert tab.evaluate(WAIT % "document.querySelector('[data-seen]')"), "and after live sections were put in place"
        document = f"doc?url={quote(URL, safe='')}"
        for path in ("", "hosts", "errors", "search", "duplicates", document, f"raw?url={quote(URL, safe='')}"):
            tab.open(served.origin + path)
            inline = "document.querySelectorAll('script:not([src]), iframe, style, base, [onload], [onerror]').length"
            assert tab.evaluate(inline) == 0, path
            assert tab.evaluate("location.href") == served.origin + path
        assert tab.console == []
