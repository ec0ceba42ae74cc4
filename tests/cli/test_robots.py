"""``fyke robots``: a file and a site, explained."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fyke.cli import run
from tests.little_site import Answer, moved, serving

BODY = b"User-agent: *\nDisallow: /private/\nCrawl-delay: 2\nSitemap: http://mysite.com/sitemap.xml.gz\n"


@pytest.fixture
def site() -> Iterator[str]:
    text = Answer(BODY, "text/plain")
    with serving({"/robots.txt": moved("/hop"), "/hop": moved("/real.txt"), "/real.txt": text}) as found:
        yield f"{found.root}/any/page"


def test_file(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "robots.txt"
    path.write_bytes(BODY)
    assert run(["robots", str(path), "/private/x", "/private", "--json"]) == 0
    facts = json.loads(capfdbinary.readouterr().out)
    assert facts["urls"] == {"/private/x": False, "/private": True}
    assert facts["delay"] == 2
    assert facts["sitemaps"] == ["http://mysite.com/sitemap.xml.gz"]
    assert facts["group"] == "*"


def test_site(site: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["robots", site, "/private/x"]) == 0
    out = capfd.readouterr().out
    assert "status 200" in out
    assert "must not be fetched: /private/x" in out
    assert "sitemap: http://mysite.com/sitemap.xml.gz" in out


def test_a_site_that_does_not_answer_denies(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["robots", "http://127.0.0.1:1/", "/", "--json"]) == 0
    facts = json.loads(capfdbinary.readouterr().out)
    assert (facts["status"], facts["verdict"], facts["urls"]) == (0, "deny", {"/": False})


def test_why_a_site_does_not_answer_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["robots", "http://127.0.0.1:1/"]) == 0
    assert capfd.readouterr().out.startswith("no answer (connect: ")
    for command in ("sitemap", "feed", "forms"):
        assert run([command, "http://127.0.0.1:1/"]) == 1
        assert "no answer (connect: " in capfd.readouterr().err


def test_mistakes_are_one_sentence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["robots", str(tmp_path / "absent")]) == 2
    assert "cannot read" in capfd.readouterr().err
    assert run(["robots", "ftp://a.test/"]) == 2
    assert "not on the web" in capfd.readouterr().err
