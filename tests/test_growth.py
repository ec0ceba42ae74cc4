"""What a site controls costs time that grows with its size: twice the input, at most about twice the time.

Processor time of this very thread, the least of several runs, over inputs of some ten kilobytes, and with a factor of
nine for two doublings: a square would be sixteen.
"""

# ruff: noqa: E501 - tables of cases

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from fyke.convert import convert_here, prepare
from fyke.convert.dates import dates_in
from fyke.convert.formulas import with_formulas
from fyke.convert.tidying import tidied
from fyke.formats import html, http, media_types
from fyke.formats.encoding import decode
from fyke.formats.http_body import dechunk, gunzip
from fyke.formats.markdown import markdown
from fyke.formats.surt import surt
from fyke.reading.content import extract
from fyke.reading.reading import read
from fyke.sites import requisites, scripted
from fyke.sites.feed import parse_feed
from fyke.sites.forms import forms
from fyke.sites.robots import Robots
from fyke.sites.sitemap import parse_sitemap
from fyke.url import Url

SIZES = (15_000, 60_000)
LEAST = 0.02
"""Seconds below which nothing is measured."""
URL = Url.parse("http://a.test/x/")
_WORD = "http://schemas.openxmlformats.org/officeDocument/2006/math{}"


def _reading(data: bytes) -> object:
    found = read(data, http.parse_head(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"), URL)
    return found.text, found.links, found.meta, found.signals


def _head(data: bytes) -> object:
    page = html.parse(data)
    return page.title, page.links(), page.metas, page.relations, page.refresh


def _robots(data: bytes) -> object:
    rules = Robots.parse(data)
    return [rules.allows("fyke", "http://a.test/" + "a" * n) for n in (1, 500, 2000)]


def _markdown(data: bytes) -> object:
    return markdown(convert_here(prepare(data, "text/html", URL)).html)


def _as_markdown(data: bytes) -> object:
    return markdown(data.decode())


def _xml(data: bytes) -> object:
    return convert_here(prepare(data, "application/xml", URL))


def _scripted(data: bytes) -> object:
    return scripted.signs_of(data, 0, 0), scripted.embedded(data)


def _gzip(data: bytes) -> object:
    import gzip

    return gunzip(gzip.compress(b"x") * (len(data) // 21), 10_000_000)


def _pages(text: str, around: str = "{}") -> Callable[[int], bytes]:
    return lambda size: around.format(text * (size // len(text))).encode()


HTML: dict[str, Callable[[int], bytes]] = {
    "attributes": lambda size: b"<p " + b" ".join(b"a%d=b" % i for i in range(size // 8)) + b">x",
    "the same attribute": _pages(" a=b", "<p{}>x"),
    "an attribute's value": _pages("x", '<p title="{}">y'),
    "an attribute without end": _pages("x", '<p title="{}'),
    "nesting": _pages("<div>"),
    "nested inline": _pages("<b><i>", "<p>{}x"),
    "misnested": _pages("<b><p></b>"),
    "lists": _pages("<ul><li>x"),
    "quotes": _pages("<blockquote><p>x"),
    "tables": _pages("<table><tr><td>x"),
    "cells": _pages("<td>x", "<table><tr>{}"),
    "spans": _pages("<tr><td colspan=1000 rowspan=1000>x", "<table>{}"),
    "headings": _pages("<h1>x"),
    "entities": _pages("&amp;&#65;&notin;&x", "<p>{}"),
    "entities without end": _pages("&#1111111111", "<p>{}"),
    "comments": _pages("<!-- x"),
    "declarations": _pages("<![CDATA["),
    "scripts": _pages("<script>x"),
    "titles": _pages("<title>x"),
    "links": lambda size: b"".join(b'<a href="/%d">x</a>' % i for i in range(size // 20)),
    "the same link": _pages('<a href="/x">y</a>'),
    "bases": _pages('<base href="//x/">'),
    "metas": _pages('<meta name=robots content="noindex, nofollow">'),
    "refreshes": _pages('<meta http-equiv=refresh content="0; url=x">'),
    "relations": _pages('<link rel="canonical alternate" href="/x">'),
    "linked data": _pages('<script type="application/ld+json">{"@type": "Article"}</script>'),
    "deep linked data": lambda size: b'<script type="application/ld+json">' + b'{"a":[' * (size // 6) + b"</script>",
    "items": _pages("<div itemscope itemprop=a>x"),
    "times": _pages("<time>2020-01-01"),
    "bylines": _pages('<p class="author byline">By A B</p>'),
    "raw text in a script": _pages("<plaintext><xmp>", "<script>{}"),
    "formulas in a script": _pages("<math>", "<script>{}"),
    "scripts of formulas in a style": _pages('<script type="math/tex">', "<style>{}"),
    "annotations in a script": _pages('<annotation encoding="tex">', "<math><mtext><script>{}</script></mtext></math>"),
    "comments in linked data": _pages("<!--x{{", '<script type="application/ld+json">{}'),
    "spaces in linked data": _pages(" ", '<script type="application/ld+json">{{{}x'),
    "spaces between linked data": _pages(" ", '<script type="application/ld+json">{{}}{}x'),
    "form feeds in linked data": _pages("\f", '<script type="application/ld+json">{}x'),
    "forms": _pages("<form><input name=x>"),
    "selects": _pages("<select><option>x"),
    "formulas": _pages("<math><mfrac><mi>x</mi>"),
    "preformatted": _pages("x\n  ", "<pre>{}"),
    "backticks": _pages("`", "<p><code>{}"),
    "stars": _pages("*_[", "<p>{}"),
    "one word": _pages("x", "<p>{}"),
    "spaces": _pages(" \n\t", "<p>a{}b"),
    "zeros": _pages("\0"),
    "less-thans": _pages("<"),
    "frames": _pages("<frameset><frame src=x>"),
    "svg": _pages("<svg><g>"),
}  # fmt: skip
OTHERS: dict[str, tuple[Callable[[bytes], object], Callable[[int], bytes]]] = {
    "robots lines": (_robots, _pages("User-agent: *\nDisallow: /a\n")),
    "robots agents": (_robots, lambda size: b"".join(b"User-agent: a%d\n" % i for i in range(size // 16)) + b"Disallow: /"),
    "robots stars": (_robots, _pages("a*", "User-agent: *\nDisallow: /{}")),
    "robots patterns": (_robots, _pages("Disallow: /*a*a*a*a*b$\n", "User-agent: *\n{}")),
    "sitemap": (parse_sitemap, _pages("<url><loc>http://a.test/x</loc></url>", "<urlset>{}</urlset>")),
    "sitemap, nested": (parse_sitemap, _pages("<url>", "<urlset>{}")),
    "sitemap, attributes": (parse_sitemap, lambda size: b"<urlset><url " + b" ".join(b"a%d='b'" % i for i in range(size // 9)) + b"/>"),
    "sitemap as text": (parse_sitemap, _pages("http://a.test/x\n")),
    "feed": (parse_feed, _pages("<item><link>http://a.test/x</link><category>c</category></item>", "<rss><channel>{}")),
    "feed, nested": (parse_feed, _pages("<item>", "<rss><channel>{}")),
    "feed, attributes": (parse_feed, lambda size: b"<rss><channel><item " + b" ".join(b"a%d='b'" % i for i in range(size // 9)) + b"/>"),
    "feed, bases": (parse_feed, _pages("<entry xml:base='/x/'>", "<feed xmlns='http://www.w3.org/2005/Atom'>{}")),
    "feed, entities": (parse_feed, _pages("&amp;&x;", "<rss><channel><title>{}")),
    "JSON feed": (parse_feed, lambda size: b'{"version": "https://jsonfeed.org/version/1", "items": [' + b'{"id": "1"},' * (size // 12) + b"{}]}"),
    "XML": (_xml, _pages("<a b='c'>x")),
    "XML, siblings": (_xml, _pages("<a b='c'>x</a>", "<d>{}</d>")),
    "head lines": (http.parse_head, _pages("X: y\r\n", "HTTP/1.1 200 OK\r\n{}\r\n")),
    "link header": (lambda data: http.header_links([data.decode()]), _pages("<x>; rel=a, ")),
    "link header, quotes": (lambda data: http.header_links([data.decode()]), _pages('<x>; rel="a', "{}")),
    "cookies": (http.parse_head, _pages("Set-Cookie: a=b; Path=/; Max-Age=1\r\n", "HTTP/1.1 200 OK\r\n{}\r\n")),
    "chunks": (lambda data: dechunk(data, 10_000_000), _pages("1\r\nx\r\n")),
    "gzip members": (_gzip, _pages("x")),
    "encoding": (decode, _pages("<meta charset=x>")),
    "encoding, bytes": (decode, lambda size: bytes(range(128, 256)) * (size // 128)),
    "style": (lambda data: requisites.of_style(data.decode(), URL), _pages("url(")),
    "style, imports": (lambda data: requisites.of_style(data.decode(), URL), _pages("@import '")),
    "script": (lambda data: requisites.of_script(data.decode(), URL, URL), _pages('"/a.js')),
    "dates": (lambda data: list(dates_in(data.decode())), _pages("2020-01-")),
    "dates, months": (lambda data: list(dates_in(data.decode())), _pages("March 2020 ")),
    "forms": (lambda data: forms(data, "text/html", URL), _pages("<form><input name=x>")),
    "empty cells": (lambda data: tidied(data.decode(), media_types.XLSX), _pages("<td></td>", "<tr>{}<td>x</td></tr>")),
    "Word's formulas": (with_formulas, _pages("<m:oMath>", _WORD)),
    "Word's formulas between paragraphs": (with_formulas, _pages("</w:p><m:oMathPara>", _WORD)),
    "scripts without end": (_scripted, _pages("<script")),
    "noscripts": (_scripted, _pages("<noscript>")),
    "noscripts without end": (_scripted, _pages("<noscript")),
    "less-thans in a noscript": (_scripted, _pages("<", "<noscript>{}</noscript>")),
    "comments in a mount": (_scripted, _pages("<!---->", "<div id=root>{}x")),
    "apps": (_scripted, _pages("<my-app ")),
    "asking for scripts": (_scripted, _pages("aktivier")),
    "spaces in a class": (extract, _pages(" ", "<p>some words</p><p class={}x>By Somebody</p>")),
    "spaces in a width": (lambda data: extract(data, method="layout"), _pages(" ", "<p>some words</p><p width={}x>more</p>")),
    "Markdown of comments without end": (_as_markdown, _pages("<!--")),
    "Markdown of declarations without end": (_as_markdown, _pages("<!")),
    "Markdown of tags without end": (_as_markdown, _pages("<a ")),
    "text": (lambda data: convert_here(prepare(data, "text/plain")), _pages("x\n")),
    "CSV": (lambda data: convert_here(prepare(data, "text/csv")), _pages('a,"b\n')),
    "mail": (lambda data: convert_here(prepare(data, "message/rfc822")), _pages("X: y\n")),
    "mail, parts": (lambda data: convert_here(prepare(data, "message/rfc822")), _pages("--x\n\ny\n", "Content-Type: multipart/mixed; boundary=x\n\n{}")),
    "mail, a header": (lambda data: convert_here(prepare(data, "message/rfc822")), _pages("<b>", "Content-Type: text/plain; x={}\n\nx")),
    "address": (lambda data: surt("http://a.test/" + data.decode()[:32_000]), _pages("(a)/x.aspx")),
}  # fmt: skip
READERS: dict[str, Callable[[bytes], object]] = {"reading": _reading, "markdown": _markdown, "head": _head}


def seconds(use: Callable[[bytes], object], data: bytes) -> float:
    best = 1e9
    for _ in range(3):
        began = time.thread_time()
        use(data)
        best = min(best, time.thread_time() - began)
        if best < 9 * LEAST:
            break
    return best


def grows(use: Callable[[bytes], object], make: Callable[[int], bytes]) -> str:
    """What is wrong with how the time grows; nothing where it is about linear."""
    use(make(1000))
    most = seconds(use, make(SIZES[1]))
    if most < 9 * LEAST:  # too little to tell a square from a line, and to hurt
        return ""
    took = [seconds(use, make(SIZES[0])), most]
    if took[1] > 9 * took[0]:
        again = [min(old, seconds(use, make(size))) for old, size in zip(took, SIZES, strict=True)]
        if again[1] > 9 * again[0]:
            return f"{[round(each, 3) for each in again]} s for {SIZES}"
    return ""


@pytest.mark.parametrize("reader", READERS)
def test_pages_of_one_kind(reader: str) -> None:
    found = {name: wrong for name, make in HTML.items() if (wrong := grows(READERS[reader], make))}
    assert found == {}


def test_everything_else() -> None:
    found = {name: wrong for name, (use, make) in OTHERS.items() if (wrong := grows(use, make))}
    assert found == {}
