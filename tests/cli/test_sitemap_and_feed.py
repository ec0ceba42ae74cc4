"""``fyke sitemap`` and ``fyke feed``: files, sites and pages, explained."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from fyke.cli import run

SITEMAP = (
    b"<urlset><url><loc>http://a.example/1</loc><lastmod>2026-11-15</lastmod></url><url><loc>/2</loc></url></urlset>"
)
FEED = b"<rss><channel><title>News</title><ttl>60</ttl><item><title>One</title><link>/1</link></item></channel></rss>"
PLACES = {
    "/robots.txt": b"Sitemap: {base}/maps/all.xml\n",
    "/maps/all.xml": SITEMAP,
    "/": b"<html><head><link rel=alternate type=application/rss+xml href=/feed></head><body>Hello</body></html>",
    "/feed": FEED,
}


@pytest.fixture
def site() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = PLACES.get(self.path, b"").replace(b"{base}", base.encode())
            self.send_response(200 if body else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        base = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield base
        server.shutdown()
        thread.join()


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
