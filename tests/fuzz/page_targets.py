"""Parsers of what sites send: pages, robots.txt, sitemaps, feeds, heads, styles, documents of all formats."""

# ruff: noqa: E501 - samples stand as they are

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from fyke.convert import LIMITS, convert_here, prepare
from fyke.convert.dates import date_in_url, dates_in, read_date
from fyke.errors import FykeError
from fyke.fetch.sessions import read_cookies
from fyke.formats import html, http, mbox, tags
from fyke.formats.encoding import decode
from fyke.formats.http_body import decode_body
from fyke.formats.markdown import markdown
from fyke.formats.sniff import sniff
from fyke.formats.surt import surt
from fyke.reading.content import extract
from fyke.reading.reading import read
from fyke.sites import requisites
from fyke.sites.feed import parse_feed
from fyke.sites.forms import forms
from fyke.sites.robots import Robots
from fyke.sites.sitemap import parse_sitemap
from fyke.sites.usage import TdmRules, read_signals
from fyke.sites.websub import discover, verify
from fyke.store.snippets import snippet
from fyke.text.language import identify
from fyke.text.words import words
from fyke.url import Url
from fyke.values import Exchange
from fyke.workers.pool import Pool
from fyke.world.content import Block, Content
from tests.fuzz.mutate import Files
from tests.fuzz.target import PARSER, Target, bytes_target

URL = Url.parse("http://a.test/dir/page.html?q=1")
PAGE = b"""<!DOCTYPE html><html lang="en"><head><meta charset=utf-8><title>A &amp; b &eacute;</title><base href="/x/">
<meta name="robots" content="noindex, max-snippet:3"><meta http-equiv=refresh content="5; url=next.html">
<link rel="canonical" href="/c"><link rel=alternate type="application/rss+xml" href=feed.xml title=F>
<meta property="article:published_time" content="2020-01-02T03:04:05Z"><meta name=author content="A. Author">
<script type="application/ld+json">{"@context": "https://schema.org", "@type": "NewsArticle", "headline": "H",
"author": [{"@type": "Person", "name": "N"}], "datePublished": "2021-03-04"}</script>
<style>p { background: url(a.png) }</style></head><body><nav><a href="/1">one</a> <a href='2' rel=nofollow>two</a></nav>
<article><h1>Heading</h1><p>Some words of a paragraph that is long enough to be content, with <a href="http://b.test/">a
link</a>, <b>bold</b> and <code>code</code>.</p><ul><li>one<li>two<ol><li>three</ol></ul><table><tr><th>a<td rowspan=2>b
<tr><td>c</table><pre>x = 1\n  y</pre><blockquote>said</blockquote><img src=i.png alt=pic srcset="a.png 1x, b.png 2x">
<math><mi>x</mi><mo>=</mo><mfrac><mn>1</mn><mn>2</mn></mfrac></math><p>March 3, 2019</p></article><div itemscope
itemtype="https://schema.org/Person"><span itemprop=name>N</span></div><form action=/go method=post><input name=a value=1>
<input type=hidden name=b></form><!-- comment --><footer>&copy; 2020 C</footer></body></html>"""
TAGS = (
    b"<a href='x'>", b"<div", b">", b"</div>", b"<!--", b"-->", b"<![CDATA[", b"]]>", b"&#", b"&#x110000;", b"&amp", b"&notin;",
    b"<script>", b"</script", b"<style>", b"<table><tr><td>", b"<p>", b"<b>", b"</b>", b"\0", b"\xff\xfe", b"\xe2\x80\xae",
    b" a=b", b' c="', b"'", b"<svg><math>", b"<template>", b"<select><option>", b"<plaintext>", b"<textarea>", b"<title>",
    b"<base href=//x>", b"<meta charset=utf-16>", b"<li>", b"<ul>", b"<h1>", b"<pre>\n", b"<td colspan=9999 rowspan=9999>",
    b"<br>", b"text words ", b"\r\n", b"\xf0\x9f\x98\x80", b"<form><input name=x>", b"<a href=javascript:alert(1)>",
    b'<script type="application/ld+json">{"a":', b"<div itemscope itemprop=x>", b"2020-01-01 ", b"<blockquote>", b"<img alt=",
)  # fmt: skip


def _use_html(data: bytes) -> None:
    page = html.parse(decode(data)[0])
    links = page.links()
    _ = page.title, page.base, page.language, page.metas, page.relations, page.canonical, page.feeds, page.refresh
    _ = page.markup, page.robots("fyke"), page.linked_items, list(page.times), links


def _use_reading(data: bytes) -> None:
    head = http.parse_head(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Robots-Tag: noindex\r\n\r\n")
    found = read(data, head, URL)
    _ = found.text, found.links, found.title, found.language, found.meta, found.signals, found.digests, found.sketch


def _use_extract(data: bytes) -> None:
    """One method a page, by what it is: each has its two seconds."""
    method = ("auto", "plateau", "slices", "dom", "layout")[sum(data[:100]) % 5]
    found = extract(data, method=method, url=URL.href)
    _ = found.text, found.markdown, found.html, found.date, found.author


def _use_converted(data: bytes) -> None:
    found = convert_here(prepare(data, "text/html", URL))
    markdown(found.html)


def _use_robots(data: bytes) -> None:
    rules = Robots.parse(data)
    for path in ("/", "/a/b?c=d", "/%2F%zz", "/" + "a" * 3000):
        rules.allows("fyke", "http://a.test" + path), rules.usage("fyke", "http://a.test" + path)
    _ = rules.delay("fyke"), rules.sitemaps, Robots.decode(rules.encode())


def _use_feed(data: bytes) -> None:
    feed = parse_feed(data)
    discover((), feed, URL.href)


def _use_head(data: bytes) -> None:
    head = http.parse_head(data)
    _ = head.status, head.media_type, http.header_links(head.get_all("link")), read_signals((), head)
    exchange = Exchange(b"", data, b"body", head.status, 1.0, 2.0, "192.0.2.1")
    http.outcome(URL, exchange), http.retry_after(exchange)
    _ = http.http_date(head.get("date")), http.http_date(data.decode("latin-1"))


def _use_body(data: bytes) -> None:
    for codings in ("gzip", "deflate", "br", "zstd", "gzip, br", "x-unknown"):
        head = http.parse_head(f"HTTP/1.1 200 OK\r\nContent-Encoding: {codings}\r\n\r\n".encode())
        decode_body(head, data, 1_000_000)
    decode_body(http.parse_head(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), data, 1_000_000)


def _bodies() -> list[bytes]:
    import brotli
    import zstandard

    page = PAGE * 3
    chunked = b"5\r\nabcde\r\n6;x=y\r\nfghijk\r\n0\r\nTrailer: x\r\n\r\n"
    members = gzip.compress(page) + gzip.compress(b"two")
    return [members, brotli.compress(page), zstandard.ZstdCompressor().compress(page), chunked]


def _use_cookies(folder: Path, files: Files) -> None:
    for line in read_cookies(folder / "cookies"):
        assert "\n" not in line


def _use_url(data: bytes) -> None:
    text = data.decode("utf-8", "replace")[:20_000]
    try:
        url = Url.parse(text)
        _ = url.key, Url.from_key(url.key), url.duplicate_key, url.domain, url.port, url.target
        assert "\n" not in url.href
        assert " " not in url.href
    except FykeError:
        pass
    with suppress(FykeError):
        URL.join(text)
    surt(text)


def _use_dates(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    list(dates_in(text)), list(dates_in(text, american=True))
    _ = read_date(text), date_in_url(text[:2000]), tags.date(text), tags.moment(text)


def _use_requisites(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    requisites.of_style(text, URL), requisites.of_script(text, URL, URL)
    requisites.of_page(html.parse(data), URL, http.parse_head(b"HTTP/1.1 200 OK\r\n\r\n"))


def _use_text(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    words(text), identify(text), snippet(text, "some words")
    sniff(data, "text/html", "x.html"), sniff(data)


def _use_rules(data: bytes) -> None:
    TdmRules.parse(data).signals(URL)
    verify(None, data.decode("utf-8", "replace"), 1.0)


# ---- documents of other formats, in this very process: what may crash is the worker's, but not without need


def _small_zip(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return out.getvalue()


def _small_tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in ("a.txt", "b.html"):
            member = tarfile.TarInfo(name)
            member.size = len(PAGE)
            archive.addfile(member, io.BytesIO(PAGE))
    return out.getvalue()


def _containers() -> list[bytes]:
    return [
        _small_zip({"a.txt": b"some words", "b.html": PAGE, "deep.zip": _small_zip({"c.txt": b"deep"})}),
        gzip.compress(_small_tar()),
        _small_tar(),
        gzip.compress(PAGE),
        _epub(),
    ]


def _epub() -> bytes:
    content = (
        b'<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>T'
        b'</dc:title></metadata><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>'
        b'<spine><itemref idref="a"/></spine></package>'
    )
    container = (
        b'<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="c.opf" '
        b'media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    return _small_zip(
        {"mimetype": b"application/epub+zip", "META-INF/container.xml": container, "c.opf": content, "a.xhtml": PAGE}
    )


MAIL = (
    b"From: =?utf-8?q?A=20B?= <a@b.test>\r\nTo: c@d.test\r\nSubject: =?utf-8?b?w6k=?=\r\nDate: Mon, 1 Jan 2020 00:00:00 +0000\r\n"
    b'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="x"\r\n\r\n--x\r\nContent-Type: text/plain; charset=utf-8\r\n'
    b"Content-Transfer-Encoding: quoted-printable\r\n\r\nHello =C3=A9\r\n> quote\r\n--x\r\nContent-Type: text/html\r\n\r\n<p>hi\r\n"
    b'--x\r\nContent-Disposition: attachment; filename="a.txt"\r\nContent-Transfer-Encoding: base64\r\n\r\nYWJj\r\n--x--\r\n'
)  # fmt: skip
MBOX = (
    b"From a@b.test Mon Jan  1 00:00:00 2020\n"
    + MAIL.replace(b"\r\n", b"\n")
    + b"\n>From x\n\nFrom c Mon\nSubject: s\n\nx\n"
)
XML = (
    b'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY x "y">]><d xmlns:p="u"><title a="1">T</title><p:sec>words &x; &lt;</p:sec>'
    b"<![CDATA[raw]]><?pi x?></d>"
)
MATH = b"<math><mrow><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><mtable><mtr><mtd>1</mtd></mtr></mtable></mrow></math>"
CSV = b'a,b\n1,"two, three"\n4;5\n"x ""y"" z",\t\n'


def _here(name: str, media_type: str) -> Callable[[bytes], None]:
    def use(data: bytes) -> None:
        convert_here(prepare(data, media_type, URL, name=name, limits=LIMITS))

    return use


def _engine_samples() -> list[bytes]:
    from fyke.world.files import make_file

    content = Content("Title", (Block("p", "Some words of a paragraph."), Block("h2", "More")))
    return [make_file(kind, content, "en") for kind in ("pdf", "docx", "odt", "rtf", "epub")]


class Workers:
    """Documents that go to a worker: whatever becomes of it, the caller gets a document."""

    def __init__(self) -> None:
        self._pool: Pool | None = None

    def use(self, data: bytes) -> None:
        """Convert in a worker, in 1.5 s at most."""
        if self._pool is None:
            self._pool = Pool(size=1)
        source = prepare(data, limits=replace(LIMITS, seconds=1.5))
        self._pool.convert(source)


ROBOTS = (
    b"User-agent: *\nDisallow: /private/*.html$\nAllow: /\nCrawl-delay: 2.5\nContent-Usage: train-ai=n\n\n"
    b"User-agent: fyke\nUser-agent: other\nDisallow: /%7Ea\nSitemap: http://a.test/sitemap.xml\n# x\n"
)
SITEMAP = (
    b'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
    b'xmlns:xhtml="http://www.w3.org/1999/xhtml"><url><loc>http://a.test/1</loc><lastmod>2020-01-01</lastmod><priority>0.5'
    b'</priority><changefreq>daily</changefreq><xhtml:link rel="alternate" hreflang="de" href="http://a.test/de"/></url>'
    b"<url><loc>/2</loc></url></urlset>"
)
INDEX = b"<sitemapindex><sitemap><loc>http://a.test/s1.xml.gz</loc><lastmod>2020</lastmod></sitemap></sitemapindex>"
RSS = (
    b'<rss version="2.0" xmlns:dc="d" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>T</title><ttl>60</ttl><skipHours>'
    b'<hour>3</hour></skipHours><atom:link rel="hub" href="http://hub.test/"/><item><title>I</title><link>http://a.test/1</link>'
    b"<guid>x</guid><pubDate>Mon, 06 Jan 2020 00:00:00 GMT</pubDate></item></channel></rss>"
)
ATOM = (
    b'<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/x/"><title>T</title><entry><title type="html">&lt;b></title>'
    b'<link href="1"/><updated>2020-01-01T00:00:00Z</updated></entry></feed>'
)
JSON_FEED = (
    b'{"version": "https://jsonfeed.org/version/1.1", "title": "T", "items": [{"id": "1", "url": "http://a.test/1"}]}'
)
HEAD = (
    b"HTTP/1.1 200 OK\r\nDate: Mon, 06 Jan 2020 00:00:00 GMT\r\nContent-Type: text/html; charset=utf-8\r\nLocation: /x\r\n"
    b'Link: <http://a.test/>; rel="canonical", </f>; rel=hub\r\nRetry-After: 120\r\nETag: "x"\r\nRefresh: 0; url=/y\r\n\r\n'
)
COOKIES = (
    b"# Netscape HTTP Cookie File\n.a.test\tTRUE\t/\tFALSE\t1900000000\tname\tvalue\n"
    b"#HttpOnly_a.test\tFALSE\t/x\tTRUE\t0\tn\tv\n"
)
STATE = b'{"cookies": [{"name": "n", "value": "v", "domain": ".a.test", "path": "/", "expires": -1}], "origins": []}'
STYLE = (
    b"@import 'a.css'; @font-face { src: url(f.woff2) format('woff2') } p { background: url(\"a\\2e png\") } /* x */"
)
URLS = [
    b"http://user@a.test:80/x/../y?q=1#f", b"HTTPS://\xc3\xa9.test/%7e%zz", b"http://[::1]:8080/", b"//b.test/x", b"mailto:x",
    b"http://0x7f.1/", b"http://a.test/" + b"a/" * 200, b"file:///etc/passwd",
]  # fmt: skip
DATES = b"Published on March 3, 2019 at 10:05 PM; 2020-01-02T03:04:05+02:00; 03/04/2021; 12. J\xc3\xa4nner 2018; \xe5\xb9\xb4 2020"
TDM = b'[{"location": "/a/*", "tdm-reservation": 1, "tdm-policy": "http://a.test/p"}, {"location": "/"}]'
XML_PIECES = (
    b"<a>", b"</a>", b"<a b='c'>", b"<![CDATA[", b"]]>", b"<!--", b"<?x", b"&x;", b"&#0;", b"<!DOCTYPE a [<!ENTITY x '&y;&y;'>]>",
    b"<url><loc>http://a.test/</loc></url>", b"<item><link>x</link></item>", b" x='", b"\0", b"\xff", b"<entry>", b"<sitemap>",
    b"2020-01-01", b'<?xml version="1.0" encoding="utf-16"?>', b"\xfe\xff", b"xmlns:p='u'", b"<p:q ", b"\n",
)  # fmt: skip
LINES = (
    b"User-agent: *\n", b"Disallow: /", b"*", b"$", b"%2F", b"%", b"\r", b"\n", b"Crawl-delay: 1e400\n", b"Allow:\n", b"\xef\xbb\xbf",
    b"Sitemap: ", b"#", b":", b"\0", b"\xff\xfe", b"a" * 50, b"Content-Usage: a=n,b=y\n", b" ", b"HTTP/1.1 ", b"Link: <", b">; rel=",
    b'"', b"\\", b",", b";", b"=", b"\t", b"Content-Type: ", b"Set-Cookie: a=b\r\n", b"Mon, 06 Jan 2020 00:00:00 GMT", b"999999999999",
)  # fmt: skip
WORDS = (
    b"2020-", b"01-01", b"T03:04", b"+99:99", b"March ", b"99", b"/", b".", b":", b" ", b"a" * 40, b"http://", b"[", b"]", b"%", b"@",
    b"\xc3\xa9", b"\xe4\xb8\xad\xe6\x96\x87", b"\0", b"\xed\xa0\x80", b"url(", b")", b"\\", b"'", b'"', b"/*", b"*/", b"@import ", b"{", b"}",
    b"\n", b"(", b"<", b"0x", b"1e999", b"PM", b"#", b"?", b"&", b"=", b"..", b"xn--",
)  # fmt: skip
JSON_PIECES = (
    b"{",
    b"}",
    b"[",
    b"]",
    b'"a":',
    b'"x"',
    b",",
    b"1e999",
    b"-0",
    b"null",
    b"\\ud800",
    b'"\\u0000"',
    b"9" * 30,
    b" ",
    b"\xff",
)
BINARY = (b"\0" * 8, b"\xff" * 8, b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"\x1f\x8b\x08\0", b"BZh9", b"%PDF-1.7\n", b"1 0 obj\n",
          b"<<", b">>", b"stream\n", b"endstream", b"{\\rtf1", b"\\b ", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"xref\n", b"From ", b"--x\r\n",
          b"Content-Type: multipart/mixed; boundary=x\r\n\r\n", b"=?utf-8?b?", b"a" * 100, b"<a>", b"ustar\0")  # fmt: skip
_ALL = TAGS + XML_PIECES

PAGES = [
    bytes_target("HTML tokeniser", PARSER, lambda: [PAGE], _use_html, pieces=TAGS),
    bytes_target("reading", PARSER, lambda: [PAGE], _use_reading, pieces=TAGS),
    bytes_target("extract", PARSER, lambda: [PAGE], _use_extract, pieces=TAGS),
    bytes_target("convert, Markdown", PARSER, lambda: [PAGE, MATH], _use_converted, pieces=_ALL),
    bytes_target("robots.txt", PARSER, lambda: [ROBOTS], _use_robots, pieces=LINES),
    bytes_target("sitemap", PARSER, lambda: [SITEMAP, INDEX, gzip.compress(SITEMAP)], parse_sitemap, pieces=XML_PIECES),
    bytes_target("feed", PARSER, lambda: [RSS, ATOM, JSON_FEED], _use_feed, pieces=XML_PIECES + JSON_PIECES),
    bytes_target("encoding", PARSER, lambda: [PAGE, "é日本".encode("utf-16"), "日本語".encode("shift_jis")], decode, pieces=TAGS),
    bytes_target("HTTP head", PARSER, lambda: [HEAD], _use_head, pieces=LINES),
    bytes_target("HTTP body", PARSER, _bodies, _use_body, pieces=BINARY),
    Target("cookies", PARSER, lambda _: [{"cookies": COOKIES}, {"cookies": STATE}], _use_cookies, pieces=LINES + JSON_PIECES,
           on_disk=True),
    bytes_target("URL, SURT", PARSER, lambda: URLS, _use_url, pieces=WORDS),
    bytes_target("dates", PARSER, lambda: [DATES], _use_dates, pieces=WORDS),
    bytes_target("requisites", PARSER, lambda: [STYLE, PAGE], _use_requisites, pieces=TAGS + WORDS),
    bytes_target("forms", PARSER, lambda: [PAGE], lambda data: forms(data, "text/html", URL), pieces=TAGS),
    bytes_target("words, language", PARSER, lambda: [PAGE, DATES], _use_text, pieces=TAGS + WORDS),
    bytes_target("tdmrep, WebSub", PARSER, lambda: [TDM, b"hub.mode=subscribe&hub.topic=x&hub.challenge=c"], _use_rules,
                 pieces=JSON_PIECES + WORDS),
    bytes_target("XML", PARSER, lambda: [XML, RSS], _here("x.xml", "application/xml"), pieces=XML_PIECES),
    bytes_target("text, CSV, JSON", PARSER, lambda: [CSV, TDM, DATES], _here("x.csv", "text/csv"), pieces=WORDS + JSON_PIECES),
    bytes_target("mail", PARSER, lambda: [MAIL], _here("x.eml", "message/rfc822"), pieces=BINARY + LINES),
    bytes_target("mailbox", PARSER, lambda: [MBOX], lambda data: list(mbox.messages(data)), pieces=BINARY),
    bytes_target("archives, EPUB", PARSER, _containers, lambda data: convert_here(prepare(data)), pieces=BINARY),
    bytes_target("engine, in workers", PARSER, _engine_samples, Workers().use, pieces=BINARY),
]  # fmt: skip
