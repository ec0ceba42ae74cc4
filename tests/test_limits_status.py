"""What a crawl left out because of a limit is told by ``fyke status``."""

from __future__ import annotations

import time
from pathlib import Path

import pycurl
import pytest

from fyke import limits
from fyke.assemble import crawl
from fyke.convert import prepare
from fyke.crawl.run import status
from fyke.fetch import sessions
from fyke.url import Url
from fyke.workers.pool import Pool
from tests.little_site import Answer, serving


def test_limits_are_told_by_status(tmp_path: Path) -> None:
    limits.take()
    pages = {"/": Answer(b"<p>words " * 500), "/robots.txt": Answer(b"User-agent: *\n" + b"Disallow: /x\n" * 50_000)}
    with serving(pages) as site:
        crawl([site.root + "/"], tmp_path / "s", delay=0.0, agents=1, max_body=600_000, sitemaps=False)
        crawl([site.root + "/"], tmp_path / "t", delay=0.0, agents=1, max_body=1_000, sitemaps=False)
    told = [status.total(status.read(tmp_path / name), time.time()).limits for name in ("s", "t")]
    assert told[0].get("robots-bytes")
    assert told[1].get("body")


def test_what_a_converter_met_comes_with_its_answer() -> None:
    limits.take()
    with Pool(1) as pool:
        pool.convert(prepare(b"a,b\n" * 200_010, "text/csv"))
    assert limits.take().get("table-rows")


def test_the_jar_is_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    limits.take()
    monkeypatch.setattr(sessions, "MAX_COOKIES", 10)
    monkeypatch.setattr(sessions, "_LOOK_EVERY", 1)
    jar, curl = sessions.Sessions(), pycurl.Curl()
    share = jar.attach(curl, Url("http://a.test/"), None)
    for n in range(20):
        curl.setopt(pycurl.COOKIELIST, f"Set-Cookie: c{n}=v; domain=a.test; path=/")
    jar.met_cookies(curl, share)
    assert len(jar.anonymous()) <= 10
    assert not curl.getinfo(pycurl.INFO_COOKIELIST)
    assert limits.take() == {"cookies": 1}
    curl.close()
