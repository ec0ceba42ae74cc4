"""The way of a URL: every reason for which a page is not in the store is told by the room that decided it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fyke.assemble import crawl
from fyke.cli.crawl_ import show_trace
from fyke.crawl.run import trace
from fyke.crawl.run.steps import Step, read
from fyke.crawl.run.supervisor import Quarantine
from fyke.store import Store
from fyke.url import Url
from fyke.values import Exchange, Fetched
from fyke.world.config import WorldConfig
from fyke.world.serve import Served, serve

WORLD = WorldConfig(seed=7, hosts=6, pages=90, formats=False, slow=False, flaky=False, changes=False)
LOST = "http://nobody-links.test/here"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve(WORLD) as served:
        yield served


Traced = tuple[dict[str, str], Path, dict[str, list[Step]]]


@pytest.fixture(scope="module")
def traced(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Traced:
    """URLs by what is to become of them, the store, and the steps of each URL."""
    world, folder = served.world, tmp_path_factory.mktemp("traced") / "store"
    expected = world.expected(world.seeds)
    pages = sorted(expected.pages)
    copy = next(u for u in pages if world.truth(u).copy_of in expected.pages and world.truth(u).jaccard == 1)
    plain = [u for u in pages if u.endswith(".html") and not world.truth(u).copy_of and u != world.truth(copy).copy_of]
    chosen = {
        "page": plain[0],
        "copy": copy,
        "original": world.truth(copy).copy_of,
        "robots": min(expected.disallowed),
        "moved": next(u for u in sorted(expected.others) if 300 < world.truth(u).status < 400),
        "gone": next(u for u in sorted(expected.others) if world.truth(u).status == 404),
        "excluded": plain[-1],
        "quarantined": plain[1],
        "trap": next(url for url in expected.traps if url.endswith("/deep/")) + "more/" * 3,
        "lost": LOST,
    }
    Store.open(folder).close()
    Quarantine(folder).blame([chosen["quarantined"]] * 2)
    crawl(
        world.seeds, folder, scope="any", delay=0.0, patience=1.0, agents=1, exclude=(re.escape(plain[-1]),),
        trace=tuple(chosen.values()), resolve=tuple(served.resolve()),
    )  # fmt: skip
    steps: dict[str, list[Step]] = {}
    for step in read(folder):
        steps.setdefault(step.url, []).append(step)
    return chosen, folder, steps


def told(traced: Traced, name: str) -> list[tuple[str, str]]:
    chosen, _, steps = traced
    return [(step.room, step.said) for step in steps.get(chosen[name], [])]


def test_a_page_goes_through_every_room(traced: Traced) -> None:
    rooms = [room for room, _ in told(traced, "page")]
    way = ["frontier/seen", "sites/scope", "sites/traps", "frontier", "sites/robots", "fetch", "formats/encoding"]
    way += ["sites/links", "clean", "convert", "reading", "crawl/capture", "store"]
    for before, after in pairwise(way):
        assert rooms.index(before) < len(rooms) - rooms[::-1].index(after), (before, after)
    steps = traced[2][traced[0]["page"]]
    assert all(step.seconds >= 0 for step in steps if step.room in ("fetch", "reading", "store"))
    assert [step.at for step in steps] == sorted(step.at for step in steps)


@pytest.mark.parametrize(
    ("name", "room", "said"),
    [
        ("robots", "sites/robots", "disallowed"),
        ("robots", "store", "no document: robots"),
        ("gone", "fetch", "status 404"),
        ("gone", "store", "no document: client-error"),
        ("excluded", "sites/scope", "dropped: exclude"),
        ("quarantined", "store", "no document: quarantined"),
        ("trap", "sites/traps", "dropped: repetition"),
        ("moved", "fetch", "moved to"),
    ],
)
def test_the_room_that_decided_says_so(traced: Traced, name: str, room: str, said: str) -> None:
    assert any(where == room and said in what for where, what in told(traced, name)), told(traced, name)


def test_the_later_of_two_copies_is_marked(traced: Traced) -> None:
    said = told(traced, "copy") + told(traced, "original")
    assert any(room == "dedupe" and "copy of" in what for room, what in said), said


def test_a_redirect_is_followed_to_its_target(traced: Traced, served: Served) -> None:
    chosen, _, steps = traced
    said = next(step.said for step in steps[chosen["moved"]] if step.room == "fetch")
    target = said.split("moved to ")[1].split(" ")[0]
    assert target in steps


def test_a_person_reads_what_became_of_it(traced: Traced, capsys: pytest.CaptureFixture[str]) -> None:
    chosen, folder, steps = traced
    assert LOST not in steps
    show_trace(folder, (chosen["robots"], LOST))
    said = capsys.readouterr().out
    assert "in the end: no document: robots" in said
    assert "no page that was crawled links to it" in said
    assert "in the end: it is not in the store" in said


def test_a_second_run_says_what_was_known(traced: Traced, served: Served) -> None:
    chosen, folder, _ = traced
    options: dict[str, Any] = {"scope": "any", "patience": 0.5, "agents": 1, "resolve": tuple(served.resolve())}
    crawl(served.world.seeds, folder, trace=(chosen["page"],), **options)
    assert read(folder)[0].said == "known from an earlier run: status 200"


def test_nofollow_is_told() -> None:
    body = b"<html><body><a rel=nofollow href='/secret.html'>x</a> <a href=/open.html>y</a></body></html>"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    outcome = Fetched(Url("http://a.test/"), Exchange(b"", head, body, 200, 0.0, 0.0))
    wanted = {"http://a.test/secret.html", "http://a.test/open.html", "http://a.test/absent.html"}
    assert list(trace._unfollowed(outcome, wanted, {"http://a.test/open.html"})) == ["http://a.test/secret.html"]


def test_what_is_no_url_is_refused(tmp_path: Path) -> None:
    from fyke.cli import app, run

    assert run(["crawl", "http://a.test/", "--store", str(tmp_path / "s"), "--trace", "nonsense"]) == 2
    assert CliRunner().invoke(app, ["crawl", "--help"]).output.count("--trace") == 1
