"""``fyke fetch`` and ``fyke.fetch``: one page now, by the rules of a crawl."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import fyke
from fyke import fetching
from fyke.cli import run
from fyke.clock import VirtualClock
from fyke.crawl.run.settings import CrawlSettings
from fyke.errors import UserError
from fyke.fetching import Fetcher, Memory
from fyke.url import Url
from fyke.values import Exchange, Failed, Fetched, Outcome, Reason, Request
from tests.json_schemas import schema_of
from tests.little_site import Answer, moved, page, serving

ARTICLE = page("A kettle of fish", "/next", text="Fish swim in the sea, and a kettle holds them. " * 20)
PAGES = {
    "/robots.txt": Answer(b"User-agent: *\nDisallow: /private/\n", "text/plain"),
    "/": ARTICLE,
    "/old": moved("/older"),
    "/older": moved("/"),
    "/round": moved("/round?again"),
    "/round?again": moved("/round"),
    "/inside": moved("http://127.0.0.2:8081/secret"),
    "/table.csv": Answer(b"name,size\ntrout,40\n", "text/csv"),
    "/picture.png": Answer(b"\x89PNG\r\n\x1a\n" + bytes(64), "image/png"),
}


@pytest.fixture(autouse=True)
def _forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test has asked for is not remembered by the next."""
    monkeypatch.setattr(fetching.Fetcher.__init__, "__defaults__", (Memory(),))


def test_a_page_is_markdown_on_stdout(capfd: pytest.CaptureFixture[str]) -> None:
    with serving(PAGES) as site:
        assert run(["fetch", f"{site.root}/old", "--delay", "0"]) == 0
        assert site.paths == ["/robots.txt", "/old", "/older", "/"], "robots.txt first, and once"
    out = capfd.readouterr().out
    assert out.startswith("# A kettle of fish\n")
    assert "<h1>" not in out


def test_other_forms_and_formats(capfd: pytest.CaptureFixture[str]) -> None:
    with serving(PAGES) as site:
        assert run(["fetch", f"{site.root}/", f"{site.root}/table.csv", "--delay", "0", "--to", "html"]) == 0
        out = capfd.readouterr().out
        assert out.index("<h1>A kettle of fish</h1>") < out.index("<td>trout</td>"), "in the order asked for"
        assert run(["fetch", f"{site.root}/", "--delay", "0", "--to", "text"]) == 0
        assert "#" not in capfd.readouterr().out


def test_json_has_the_facts(capfd: pytest.CaptureFixture[str]) -> None:
    with serving(PAGES) as site:
        assert run(["fetch", f"{site.root}/old", f"{site.root}/nothing", "--delay", "0", "--json"]) == 1
        root = site.root
    found, missing = map(json.loads, capfd.readouterr().out.splitlines())
    for each in (found, missing):
        jsonschema.validate(each, schema_of("fetch"))
    assert (found["url"], found["requested"], found["redirects"]) == (
        f"{root}/",
        f"{root}/old",
        [f"{root}/old", f"{root}/older"],
    )
    assert (found["status"], found["type"], found["title"], found["language"]) == (
        200,
        "text/html",
        "A kettle of fish",
        "en",
    )
    assert [link["url"] for link in found["links"]] == [f"{root}/next"]
    assert (missing["status"], missing["error"]) == (404, "client-error")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/private/x", "robots: its robots.txt does not allow it to fyke"),
        ("/nothing", "client-error: status 404"),
        ("/round", "redirects: more than 10 redirects in a row"),
        ("/inside", "private-address"),
        ("/picture.png", "unsupported"),
    ],
)
def test_what_did_not_come_is_told_with_its_reason(path: str, why: str, capfd: pytest.CaptureFixture[str]) -> None:
    with serving(PAGES) as site:
        assert run(["fetch", site.root + path, "--delay", "0"]) == 1
        assert path != "/private/x" or site.paths == ["/robots.txt"]
    said = capfd.readouterr()
    assert why in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    "words", [["ftp://example.org/"], ["http://example.org:22/"], ["nonsense"], ["https://e.org/", "--to", "x"]]
)
def test_wrong_words_are_status_2(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["fetch", *words]) == 2
    assert capfd.readouterr().err


def test_nobody_there(capfd: pytest.CaptureFixture[str]) -> None:
    with serving({}) as site:
        pass
    assert run(["fetch", f"{site.root}/", "--delay", "0"]) == 1
    assert "connect" in capfd.readouterr().err


def test_from_python() -> None:
    with serving(PAGES) as site:
        found = fyke.fetch(f"{site.root}/", delay=0)
        assert (found.url, found.status, found.error) == (f"{site.root}/", 200, "")
        assert found.markdown.startswith("# A kettle of fish")
        assert "Fish swim" in found.text
        assert [link.target.href for link in found.links] == [f"{site.root}/next"]
        assert found.meta is not None
        assert fyke.fetch(f"{site.root}/private/x", delay=0).error == "robots"
        assert site.paths.count("/robots.txt") == 1, "a process remembers what it was told"
    with pytest.raises(UserError, match="'max_pages' is no setting of one fetch"):
        fyke.fetch("https://example.org/", max_pages=3)


def test_seeds_come_from_a_file_too(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serving(PAGES) as site:
        (tmp_path / "urls").write_text(f"# mine\n{site.root}/table.csv\n")
        assert run(["fetch", f"@{tmp_path / 'urls'}", "--delay", "0"]) == 0
    assert "| trout | 40 |" in capfd.readouterr().out


class Recorded:
    """A transport that notes when it was asked."""

    def __init__(self, clock: VirtualClock, robots: bytes) -> None:
        self._clock, self._robots = clock, robots
        self.asked: list[tuple[float, str]] = []

    async def fetch(self, request: Request) -> Outcome:
        now = self._clock.now()
        self.asked.append((now, request.url.path))
        if request.url.path == "/busy":
            return Failed(request.url, Reason.TOO_MANY_REQUESTS, exchange=exchange(now, 429, b""), retry_at=now + 30)
        body = self._robots if request.url.path == "/robots.txt" else ARTICLE.body
        return Fetched(request.url, exchange(now, 200, body))


def exchange(now: float, status: int, body: bytes) -> Exchange:
    return Exchange(b"", b"HTTP/1.1 %d OK\r\nContent-Type: text/html\r\n\r\n" % status, body, status, now, now)


@pytest.mark.parametrize(("robots", "gap"), [(b"", 1.0), (b"User-agent: fyke\nCrawl-delay: 7\n", 7.0)])
def test_the_gap_of_a_host_is_kept_over_calls(robots: bytes, gap: float) -> None:
    clock = VirtualClock()
    transport, memory, waits = Recorded(clock, robots), Memory(), []

    async def calls() -> None:
        for path in ("/a", "/b", "/busy", "/c"):
            fetcher = Fetcher(transport, CrawlSettings(), clock, memory)
            fetcher.waiting = lambda host, seconds: waits.append(seconds)
            await fetcher.follow(Url.parse("http://one.test" + path))

    clock.run(calls())
    times: list[Any] = [when for when, _ in transport.asked]
    assert [path for _, path in transport.asked] == ["/robots.txt", "/a", "/b", "/busy", "/c"]
    assert [later - sooner for sooner, later in pairwise(times)] == [gap, gap, gap, 30.0]
    assert waits == [gap, gap, gap, 30.0]


def test_headers_and_credentials_go_along() -> None:
    with serving(PAGES) as site:
        found = fyke.fetch(site.root.replace("//", "//me:secret@") + "/", delay=0, header=["X-Mine: yes"])
        sent = site.headers("/")
    assert (found.error, sent["x-mine"]) == ("", "yes")
    assert sent["authorization"].startswith("Basic ")
    assert "secret" not in found.url + found.requested
