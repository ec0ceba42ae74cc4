"""``fyke sitemap`` and ``fyke feed``: files, sites and pages, explained."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fyke.cli import run
from tests.little_site import Answer, serving

SITEMAP = (
    b"<urlset><url><loc>http://a.example/1</loc><lastmod>2026-11-15</lastmod></url><url><loc>/2</loc></url></urlset>"
)
FEED = b"<rss><channel><title>News</title><ttl>60</ttl><item><title>One</title><link>/1</link></item></channel></rss>"
PLACES = {
    "/robots.txt": ("text/plain", b"Sitemap: {base}/maps/all.xml\n"),
    "/maps/all.xml": ("application/xml", SITEMAP),
    "/": ("text/html", b"<head><link rel=alternate type=application/rss+xml href=/feed></head><body>Hello</body>"),
    "/feed": ("application/rss+xml", FEED),
}


@pytest.fixture
def site() -> Iterator[str]:
    pages: dict[str, Answer] = {}
    with serving(pages) as found:
        for path, (kind, body) in PLACES.items():
            pages[path] = Answer(body.replace(b"{base}", found.root.encode()), kind)
        yield found.root


def _json(capfdbinary: pytest.CaptureFixture[bytes], *words: str) -> dict[str, object]:
    assert run([*words, "--json"]) == 0
    facts: dict[str, object] = json.loads(capfdbinary.readouterr().out)
    return facts


def test_sitemap_file(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "s.xml").write_bytes(SITEMAP)
    facts = _json(capfdbinary, "sitemap", str(tmp_path / "s.xml"))
    assert (facts["kind"], facts["count"], facts["faults"]) == ("urlset", 1, {"location": 1})


def test_sitemap_of_a_site_is_found_through_robots(site: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    facts = _json(capfdbinary, "sitemap", site)
    assert facts["count"] == 2
    assert facts["entries"][1]["location"] == site + "/2"  # type: ignore[index]
    assert run(["sitemap", site + "/maps/all.xml", "--limit", "1"]) == 0
    assert b"and 1 more" in capfdbinary.readouterr().out


def test_feed_of_a_page_is_found(site: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    facts = _json(capfdbinary, "feed", site + "/")
    assert (facts["kind"], facts["title"], facts["ttl"]) == ("rss", "News", 3600.0)
    assert facts["items"][0]["link"] == site + "/1"  # type: ignore[index]
    assert run(["feed", site + "/feed"]) == 0
    assert b"ttl 60 min" in capfdbinary.readouterr().out


def test_what_is_not_there_is_said(site: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["sitemap", site + "/nowhere.xml"]) == 1
    assert "status 404" in capfd.readouterr().err
    assert run(["feed", site + "/nowhere.xml"]) == 1
    assert run(["feed", str(tmp_path / "none")]) == 2
