"""Twice as much of what a site controls is about twice the work: calls of functions are counted, not seconds.

``tests/test_growth.py`` measures the processor time of what is compiled; this counts what Python does, exactly.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable
from typing import Any

import pytest
from isal import isal_zlib

from fyke.convert import convert_here, prepare
from fyke.fetch.transfer import _final_head
from fyke.formats import http, http_body
from fyke.reading.reading import read
from fyke.sites.feed import parse_feed
from fyke.sites.forms import forms
from fyke.sites.requisites import of_style
from fyke.sites.robots import Robots
from fyke.sites.sitemap import parse_sitemap
from fyke.sites.usage import TdmRules
from fyke.url import Url

HERE = Url.parse("http://a.test/")
HTML = http.parse_head(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
N = 400


def _read(data: bytes) -> object:
    found = read(data, HTML, HERE)
    return found.text, found.links, found.meta, found.signals


def _convert(kind: str) -> Callable[[bytes], object]:
    return lambda data: convert_here(prepare(data, kind, HERE))


def _robots(data: bytes) -> object:
    rules = Robots.parse(data)
    return [rules.allows("fyke", f"/{n}x") for n in range(5)]


CASES: dict[str, tuple[Callable[[bytes], object], Callable[[int], bytes]]] = {
    "attributes": (_read, lambda n: b"<p " + b" ".join(b"class%d=b" % i for i in range(n)) + b">x"),
    "attributes, listed": (_read, lambda n: b"".join(b"<p class=a%d id=b%d>x" % (i, i) for i in range(n))),
    "attributes, XML": (_convert("application/xml"), lambda n: b"<a>" + b"<b c='d' e='f'>x</b>" * n + b"</a>"),
    "nesting": (_read, lambda n: b"<div>" * n + b"x"),
    "nesting, lists": (_convert("text/html"), lambda n: b"<ul><li>x" * n),
    "entities": (_read, lambda n: b"<p>" + b"&amp;&#65;&notin;&x " * n),
    "links": (_read, lambda n: b"".join(b'<a href="/%d">x</a>' % i for i in range(n))),
    "metas": (_read, lambda n: b'<meta name=robots content="noindex">' * n),
    "frames": (_read, lambda n: b"".join(b'<iframe src="/%d"></iframe>' % i for i in range(n))),
    "linked data": (_read, lambda n: b'<script type="application/ld+json">{"@type":"Article"}</script>' * n),
    "forms": (lambda data: forms(data, "text/html", HERE), lambda n: b"<form><input name=x></form>" * n),
    "style": (lambda data: of_style(data.decode(), HERE), lambda n: b"".join(b"a{b:url(%d)}" % i for i in range(n))),
    "cookies": (http.parse_head, lambda n: b"HTTP/1.1 200 OK\r\n" + b"Set-Cookie: a=b; Path=/\r\n" * n + b"\r\n"),
    "head": (http.parse_head, lambda n: b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * n + b"\r\n"),
    "heads in a row": (
        lambda data: _final_head(data.splitlines(keepends=True)),
        lambda n: b"HTTP/1.1 100 Continue\r\n\r\n" * n + b"HTTP/1.1 200 OK\r\n\r\n",
    ),
    "chunks": (http_body.dechunk, lambda n: b"1\r\nx\r\n" * n + b"0\r\n\r\n"),
    "robots lines": (_robots, lambda n: b"User-agent: *\n" + b"".join(b"Disallow: /%d\n" % i for i in range(n))),
    "robots groups": (_robots, lambda n: b"".join(b"User-agent: a%d\nDisallow: /\n" % i for i in range(n))),
    "robots patterns": (_robots, lambda n: b"User-agent: *\n" + b"".join(b"Disallow: /%d*b\n" % i for i in range(n))),
    "sitemap": (parse_sitemap, lambda n: b"<urlset>" + b"<url><loc>http://a.test/x</loc></url>" * n + b"</urlset>"),
    "sitemap, index": (
        parse_sitemap,
        lambda n: b"<sitemapindex>" + b"<sitemap><loc>http://a.test/x</loc></sitemap>" * n + b"</sitemapindex>",
    ),
    "feed": (parse_feed, lambda n: b"<rss><channel>" + b"<item><link>http://a.test/</link></item>" * n),
    "tdmrep": (TdmRules.parse, lambda n: b"[" + b'{"location": "/a", "tdm-reservation": 1},' * n + b"{}]"),
    "mail": (_convert("message/rfc822"), lambda n: b"X: y\n" * n + b"\nbody"),
    "table": (_convert("text/csv"), lambda n: b"a,b\n" * n),
}


def calls(use: Callable[[bytes], object], data: bytes) -> int:
    """How many functions are called."""
    count = 0

    def step(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(step)
    try:
        use(data)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", CASES)
def test_twice_as_much_is_twice_the_work(name: str) -> None:
    use, make = CASES[name]
    use(make(N))  # imports, compiled patterns
    http.parse_head.cache_clear()
    once, twice, four = (calls(use, make(n)) for n in (N, 2 * N, 4 * N))
    assert four - twice <= 2.2 * max(twice - once, 20), (once, twice, four)


def test_members_of_gzip_are_fed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body of many members: what lies behind a member is not copied for each of them."""
    fed = 0
    make = isal_zlib.decompressobj

    class Counted:
        def __init__(self, bits: int) -> None:
            self._inner = make(bits)

        def decompress(self, data: bytes, room: int) -> bytes:
            nonlocal fed
            fed += len(data)
            return self._inner.decompress(data, room)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inner, name)

    monkeypatch.setattr(isal_zlib, "decompressobj", Counted)
    work = []
    for members in (1000, 2000, 4000):
        fed = 0
        assert len(http_body.gunzip(gzip.compress(b"x" * 30) * members).body) == 30 * members
        work.append(fed)
    assert work[2] <= 2.2 * work[1] <= 4.84 * work[0]
