"""``--forms``: a real crawl finds what is behind forms, sends nothing that it must not, and goes on after kill -9."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fyke.assemble import crawl
from fyke.cli import run as fyke_command
from fyke.crawl.run.steps import read
from fyke.crawl.run.summary import Summary
from fyke.store import Store
from fyke.values import Drop
from fyke.world.catalogue import CANARIES, SHAPES, Catalogue
from fyke.world.config import WorldConfig
from fyke.world.serve import Served, serve
from fyke.world.transport import Visit
from tests.little_site import Answer, moved, page, serving
from tests.sites.catalogues import probes

LEAST, BUDGET = 0.9, 200
NO_RECORDS: dict[str, Any] = {"exclude": ("/item/",)}
"""What answers link to tells what was found; the records themselves need not be fetched."""


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve(WorldConfig(hosts=1, pages=6, catalogues=len(SHAPES))) as served:
        yield served


def shaped(served: Served, name: str) -> Catalogue:
    served.log()
    return next(each for each in served.world.catalogues if each.shape.name == name)


def run(served: Served, sites: list[Catalogue], store: Path, **options: Any) -> Summary:
    seeds = [f"{site.base}/" for site in sites]
    how = {"delay": 0.0, "agents": 1, "allow_private": True, "sitemaps": False, "forms": "get", **options}
    return crawl(seeds, store, resolve=tuple(served.resolve()), **how)


def linked(store: Path, site: Catalogue) -> float:
    """The share of the records that answers in the store link to."""
    with Store.open(store, "r") as reader:
        found = {link.target.href for row in reader.scan(host=site.name) for link in row.links or ()}
    return len(found & site.urls) / len(site.urls)


def searches(log: list[Visit]) -> list[str]:
    return [visit.target for visit in log if visit.target.startswith("/search")]


def check_nothing_was_done(log: list[Visit]) -> None:
    assert [visit for visit in log if visit.target.partition("?")[0] in CANARIES] == []
    assert [visit for visit in log if visit.method != "GET"] == []


@pytest.mark.parametrize("agents", [1, 2])
def test_most_records_are_fetched_and_nothing_else_is_done(served: Served, agents: int, tmp_path: Path) -> None:
    sites = [shaped(served, name) for name in ("selects", "words-50", "posted")]
    summary = run(served, sites, tmp_path / "s", agents=agents)
    log = served.log()
    check_nothing_was_done(log)
    for site in sites[:2]:
        own = [visit for visit in log if visit.host == site.name]
        fetched = {site.base + visit.target for visit in own} & site.urls
        assert len(fetched) >= LEAST * len(site.urls)
        assert len(searches(own)) <= BUDGET
        assert max(Counter(visit.target for visit in own).values()) == 1
    with Store.open(tmp_path / "s", "r") as store:
        rows = [row for row in store.scan(parts=("text",)) if "/search?" in row.url]
    assert len(rows) == len(searches(log)) == summary.forms["requests"]
    assert all(row.meta.status == 200 and not row.meta.error for row in rows)
    refused = sum(count for why, count in summary.forms.items() if why not in ("tried", "requests", "results"))
    assert (summary.forms["tried"], refused) == (2, 3 * len(CANARIES) + 1)
    assert (summary.forms["robots"], summary.forms["method"]) == (3, 1)
    assert (summary.queued, summary.status) == (0, 0)


def test_an_order_asks_forms_too(served: Served, tmp_path: Path) -> None:
    site = shaped(served, "both-50")
    run(served, [site], tmp_path / "s", order="quality", **NO_RECORDS)
    log = served.log()
    check_nothing_was_done(log)
    assert linked(tmp_path / "s", site) >= LEAST
    assert len(searches(log)) <= BUDGET


def test_off_is_off_and_limits_hold(served: Served, tmp_path: Path) -> None:
    site = shaped(served, "words")
    summary = run(served, [site], tmp_path / "off", forms="off")
    assert summary.forms == {}
    assert sorted(visit.target for visit in served.log()) == ["/", "/about", "/robots.txt"]
    summary = run(served, [site], tmp_path / "pages", max_pages=30)
    assert (summary.pages, summary.ended) == (30, "limit")
    first = searches(served.log())
    assert 0 < len(first) < 30
    run(served, [site], tmp_path / "pages", max_pages=60)
    assert not set(first) & set(searches(served.log()))  # it goes on where it stopped


def test_kill_9_loses_no_form(served: Served, tmp_path: Path) -> None:
    site, store = shaped(served, "words-50"), tmp_path / "s"
    words = [sys.executable, "-m", "fyke", "crawl", f"{site.base}/", "--forms", "get", "--exclude", "/item/"]
    words += ["--agents", "1", "--delay", "0.05", "--store", str(store), "--resolve", f"{site.name}:127.0.0.1"]
    log: list[Visit] = []
    for line in (words, [sys.executable, "-m", "fyke", "resume", "--store", str(store)]):
        process = subprocess.Popen(line, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wanted = len(searches(log)) + 25
        while len(searches(log)) < wanted:
            assert process.poll() is None
            log += served.log()
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    summary = run(served, [site], store, **NO_RECORDS)
    log += served.log()
    check_nothing_was_done(log)
    asked = Counter(searches(log))
    assert sum(asked.values()) - len(asked) <= 2  # what was on its way when it was killed, each time
    assert len(asked) <= BUDGET
    assert summary.forms["requests"] == len(asked)
    assert linked(store, site) >= LEAST


def test_a_form_is_posted_if_told_so_alone(served: Served, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    site, store = shaped(served, "posted"), tmp_path / "s"
    run(served, [site], store, forms="post", max_pages=4, **NO_RECORDS)
    log = served.log()
    assert "POST" in {visit.method for visit in log}
    assert not {visit.target for visit in log} & set(CANARIES)
    # The next run may not, and what it finds queued is not sent.
    summary = run(served, [site], store, **NO_RECORDS)
    check_nothing_was_done(served.log())
    assert summary.errors.get(Drop.POST, 0) <= 1
    run(served, [site], tmp_path / "post", forms="post", **NO_RECORDS)
    log = served.log()
    assert linked(tmp_path / "post", site) >= LEAST
    assert len(searches(log)) <= BUDGET
    with Store.open(tmp_path / "post", "r") as reader:
        posted = [row for row in reader.scan(host=site.name) if "__wb_method=POST&" in row.url]
    assert len(posted) == sum(visit.method == "POST" for visit in log)
    assert fyke_command(["crawl", f"{site.base}/", "--forms", "post", "--store", str(tmp_path / "no")]) == 2
    assert "--yes" in capfd.readouterr().err


def test_no_form_is_sent_under_a_login(served: Served, tmp_path: Path) -> None:
    site = shaped(served, "words")
    seed = f"{site.base}/".replace("://", "://anna:secret@")
    how: dict[str, Any] = {"delay": 0.0, "agents": 1, "allow_private": True, "sitemaps": False, "forms": "get"}
    summary = crawl([seed], tmp_path / "s", resolve=tuple(served.resolve()), **how)
    assert summary.pages == 2
    assert summary.forms["private"] == 2  # the search, and the one that robots.txt forbids
    assert searches(served.log()) == []


def test_the_way_of_a_form_is_told(served: Served, tmp_path: Path) -> None:
    site = shaped(served, "words-10")
    (machine,) = probes(site)
    first = machine.next()
    assert first is not None
    watched = (f"{site.base}/", first.href)
    run(served, [site], tmp_path / "s", form_requests=1, trace=watched, **NO_RECORDS)
    assert len(searches(served.log())) == 1
    told = [(step.url, step.said) for step in read(tmp_path / "s") if step.room == "sites/forms"]
    assert (watched[0], f"the form {site.base}/search: safe") in told
    assert (watched[0], f"the form {site.base}/login: not sent (login)") in told
    said = [said for url, said in told if url == first.href]
    assert said == [
        f"asked for by the form {site.base}/search, for 10.0 new results",
        f"an answer of the form {site.base}/search: 10 new results, 10 so far",
        f"the form {site.base}/search is done: budget spent, 1 requests",
    ]


def test_answers_may_be_elsewhere(tmp_path: Path) -> None:
    """A search that leads to a list of its own, one that fails, and one that is another host's."""
    home = Answer(b"<p>eel eel eel weir weir hoop</p><form action=/find><input name=q></form><a href=/x>x</a>")
    lists = {
        "/find?q=eel": moved("/list/eel"),
        "/list/eel": page("Eels", "/item/1", "/item/2", text="bream bream"),
        "/find?q=weir": moved("http://elsewhere.test/"),
        "/find?q=hoop": Answer(b"no", "text/plain", 500),
    }
    with serving({"/": home, **lists}) as site:
        summary = crawl([f"{site.root}/"], tmp_path / "s", delay=0.0, agents=1, sitemaps=False, forms="get", patience=0)
    asked = [path for path in site.paths if path.startswith(("/find", "/list"))]
    assert asked[:2] == ["/find?q=eel", "/list/eel"]
    assert {"/find?q=weir", "/find?q=hoop"} <= set(asked)
    assert summary.forms["results"] == 2
    assert summary.forms["tried"] == 1
