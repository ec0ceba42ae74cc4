"""A store with documents, and with everything that is none; and its export as users type it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fyke.cli import run
from fyke.formats.http import parse_head
from fyke.reading.reading import Reader
from fyke.store import Change, Page, RowMeta, Settings, Store
from fyke.url import Url

ONE = Settings(tablets=1)
HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
PAGE = """<html lang=en><head><title>Of %s</title><meta name=author content="Ann Author">
<meta property="article:published_time" content="2021-03-04T05:06:07+01:00">%s</head><body>
<nav><a href=/>Home</a> <a href=/about>About us</a></nav><article><h1>Of %s</h1>
<p>The fisherman of the village went out on the lake before the sun had risen, and came back with an empty net.</p>
<p>So he mended it, and on the next morning there were more fish in it than he had ever seen before in his life.</p>
</article><footer>Imprint and privacy</footer></body></html>"""
WHEN = 1_600_000_000


def put_page(store: Store, url: str, head: str = "", *, when: float = WHEN, looked: bool = True, **meta: Any) -> None:
    """Put a page as a crawl does; ``looked``: it notes the signals, as earlier versions did not."""
    name = Url.parse(url).path.strip("/") or "home"
    body = (PAGE % (name, head, name)).encode()
    read = Reader("fyke").read(body, parse_head(HTML), Url.parse(url))
    meta = {"signals": read.signals if looked else None, **meta}
    about = RowMeta(status=200, type="text/html", length=len(body), fetched=when, title=read.title,
                    language=read.language, document=read.meta, **meta)  # fmt: skip
    change = Change(about, Page(b"", HTML, body), read.blocks, read.links, weights=read.weights)
    store.writable(store.tablet_of(url)).put(Url.parse(url).key, change, int(when * 1e6))


def put_other(store: Store, url: str, status: int, body: bytes = b"", text: str | None = None, **meta: Any) -> None:
    change = Change(RowMeta(status=status, length=len(body), **meta), Page(b"", b"", body), text)
    store.writable(store.tablet_of(url)).put(Url.parse(url).key, change, int(WHEN * 1e6))


def fill(path: Path) -> Path:
    """A store with three documents that everybody would call so, and everything that is none."""
    with Store.open(path, settings=ONE) as opened:
        put_page(opened, "http://a.test/one")
        put_page(opened, "http://a.test/two", duplicate_of="http://a.test/one", similarity=0.9, duplicate_by="jaccard")
        put_page(opened, "http://b.test/three", when=WHEN + 1000)
        put_page(opened, "http://a.test/hidden", '<meta name=robots content="noindex, noai">')
        put_page(opened, "http://a.test/old-hidden", '<meta name=robots content="noindex">', looked=False)
        put_page(opened, "http://a.test/mine", private=True)
        put_other(opened, "http://a.test/gone", 404, b"not here", "not here", error="client-error")
        put_other(opened, "http://a.test/moved", 301, b"", None, redirect="http://a.test/one")
        put_other(opened, "http://a.test/refused", 0, b"", None, error="robots")
        put_other(opened, "http://a.test/robots.txt", 200, b"User-agent: *", "User-agent: *", type="text/plain")
        sitemap = b'<?xml version="1.0"?><urlset xmlns="x"><url><loc>http://a.test/one</loc></url></urlset>'
        put_other(opened, "http://a.test/map.xml", 200, sitemap, "http://a.test/one", type="application/xml")
        put_other(opened, "http://a.test/empty", 200, b"<p>", " \n", type="text/html")
        put_other(opened, "http://a.test/picture", 200, b"GIF89a", None, type="image/gif")
        opened.put("http://b.test/three", anchors={"http://a.test/one": "the third"})
    return path


def export(store: Path, out: Path | str, *words: str) -> int:
    return run(["export", str(out), "--store", str(store), *words])
