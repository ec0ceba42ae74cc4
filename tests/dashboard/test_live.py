"""A real browser on a crawl that is running: the page lives, every page of it works, and the console stays silent."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

from fyke.crawl.run import status
from fyke.world.config import WorldConfig
from fyke.world.serve import serve
from tests.dashboard.driving import Tab, driven
from tests.dashboard.hostile import URL, hostile_store
from tests.dashboard.serving import serving
from tests.little_site import page
from tests.little_site import serving as site

WAIT = """new Promise(done => {
  const look = () => (%s) ? done(true) : setTimeout(look, 50);
  look();
})"""


LINKS = "[...document.querySelectorAll('%s')].map(a => new URL(a.getAttribute('href'), location).href)"


def look_at_all(tab: Tab, origin: str) -> set[str]:
    """Open every page that the navigation names, and one of each kind that they lead to; return the kinds."""
    waiting = list(tab.evaluate(LINKS % "nav a"))
    kinds: set[str] = set()
    for address in waiting:  # it grows
        kind = urlsplit(address).path
        if kind in kinds or not address.startswith(origin) or kind == "/similar":
            continue
        kinds.add(kind)
        tab.open(address)
        if kind != "/raw":
            assert tab.evaluate("document.querySelectorAll('h1').length") == 1, address
        waiting += tab.evaluate(LINKS % "main a")
    return kinds


def test_a_browser_looks_at_a_crawl_of_the_world_and_at_its_store(tmp_path: Path) -> None:
    store = tmp_path / "s"
    with serve(WorldConfig(hosts=4, pages=60, slow=False, flaky=True)) as world, driven() as tab:
        world.write(tmp_path / "w")
        words = [sys.executable, "-m", "fyke", "crawl", f"@{tmp_path / 'w' / 'seeds.txt'}", "--store", str(store)]
        words += ["--config", str(tmp_path / "w" / "crawl.toml"), "--delay", "1", "--agents", "1", "--continuous"]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as crawl:
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
                    seen = look_at_all(tab, served.origin)
                    assert seen >= {"/", "/hosts", "/queue", "/errors", "/search", "/duplicates", "/control", "/doc"}
                    tab.open(served.origin + "control")
                    tab.submit("form.inline button")
                    assert "Are you sure" in tab.evaluate("document.body.innerText")
                    assert tab.console == []
            finally:
                crawl.terminate()
        assert crawl.returncode in (0, 3)
        with serving(store) as served:  # nobody runs any more
            tab.open(f"{served.origin}?t={served.token}")
            assert "Not running" in tab.evaluate("document.getElementById('state').textContent")
            assert look_at_all(tab, served.origin) >= {"/", "/hosts", "/host", "/queue", "/search", "/doc"}
            tab.open(served.origin + "search")
            tab.evaluate("document.querySelector('th button').click()")
            cells = "[...document.querySelectorAll('tbody tr')].map(row => row.cells[0].textContent.trim())"
            told = tab.evaluate(cells)
            assert told == sorted(told, reverse=True)
            assert tab.console == []


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
    with serving(hostile_store(tmp_path / "s"), "--control") as served, driven() as tab:
        tab.open(f"{served.origin}?t={served.token}")
        assert tab.evaluate(WAIT % "document.querySelector('[data-seen]')"), "and after live sections were put in place"
        document = f"doc?url={quote(URL, safe='')}"
        for path in ("", "hosts", "errors", "search", "duplicates", document, f"raw?url={quote(URL, safe='')}"):
            tab.open(served.origin + path)
            inline = "document.querySelectorAll('script:not([src]), iframe, style, base, [onload], [onerror]').length"
            assert tab.evaluate(inline) == 0, path
            assert tab.evaluate("location.href") == served.origin + path
        assert tab.console == []
