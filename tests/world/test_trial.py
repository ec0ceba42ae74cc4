"""The benchmark of crawlers: what the judge sees in a log, and fyke itself before it."""

from __future__ import annotations

import json

import pytest

from fyke.cli import run
from fyke.errors import UserError
from fyke.world import World, WorldConfig
from fyke.world.judge import judge
from fyke.world.peers import version_of
from fyke.world.transport import Visit
from fyke.world.truth import RobotsKind
from tests import json_schemas

WORLD = World(WorldConfig(seed=3, hosts=25, pages=250))
EXPECTED = WORLD.expected(WORLD.seeds)


def visit(url: str, at: float, status: int = 200, took: float = 0.1) -> Visit:
    _, _, host, path = url.split("/", 3)
    return Visit(host.split(":")[0], "/" + path, status, at, at + took)


def a_host(**wanted: object) -> str:
    """The base of the first host of that kind."""
    hosts = zip(WORLD.hosts, WORLD.bases, strict=True)
    return next(base for host, base in hosts if all(getattr(host, name) == value for name, value in wanted.items()))


def test_a_correct_crawl_is_without_fault() -> None:
    verdict = judge(WORLD, EXPECTED, [visit(url, 10.0 * n) for n, url in enumerate(sorted(EXPECTED.pages))], 0.5)
    assert (verdict.pages, verdict.expected, verdict.flaky) == (len(EXPECTED.pages), len(EXPECTED.pages), 1.0)
    faults = ("forbidden", "broken", "closed", "early", "early_delay", "trapped", "again")
    assert [getattr(verdict, name) for name in faults] == [0] * 7


def test_each_fault_is_seen_and_told_apart() -> None:
    broken, closed = a_host(robots=RobotsKind.BROKEN), a_host(robots=RobotsKind.CLOSED)
    page = min(EXPECTED.pages)
    delayed = min(url for url in EXPECTED.pages if url.startswith(a_host(crawl_delay=0.5)))
    forbidden = min(url for url in EXPECTED.disallowed if not url.startswith((broken, closed)))
    door = min(EXPECTED.traps)
    inside = next(link for link in WORLD.truth(door).links if WORLD.truth(link).trap and link not in EXPECTED.traps)
    visits = [
        visit(f"{broken}/robots.txt", 0, 503), visit(f"{broken}/", 50), visit(f"{closed}/", 50), visit(forbidden, 100),
        visit(page, 200), visit(page, 200.05), visit(delayed, 300), visit(delayed, 300.2), visit(delayed, 300.44, 503),
        visit(door, 400), visit(inside, 500),
    ]  # fmt: skip
    verdict = judge(WORLD, EXPECTED, visits, 0.2)
    assert (verdict.broken, verdict.closed, verdict.forbidden, verdict.trapped) == (1, 1, 1, 1)
    assert (verdict.early, verdict.early_delay) == (1, 2)
    assert (verdict.pages, verdict.again, verdict.requests) == (2, 2, len(visits))


def test_fyke_before_the_judge(capfd: pytest.CaptureFixture[str]) -> None:
    words = "world bench --peer fyke --hosts 3 --pages 30 --no-slow --no-flaky --no-traps --delay 0.01 --json -q"
    assert run(words.split()) == 0
    said = capfd.readouterr().out
    assert json_schemas.faults("world-bench", said) == []
    found = json.loads(said)
    for half in ("whole", "killed"):
        assert found[half]["pages"] == found[half]["expected"] > 10
        assert found[half]["forbidden"] == found[half]["early"] == 0
    assert not found["stopped"]


def test_a_peer_that_is_not_there_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="pip install scrapy"):
        version_of("scrapy", "/bin/false")
    monkeypatch.setenv("NODE_PATH", "")
    with pytest.raises(UserError, match="npm install --prefix peers @spider-rs"):
        version_of("spider", "")
