"""A small site whose pages need much to be shown, on loopback: styles that import styles, fonts, sets of pictures, a
script that loads one, odd addresses, another host. The server notes what it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from tests.little_site import listening

GIF = bytes.fromhex(
    "47494638396101000100800000ffffff00000021f90401000000002c00000000010001000002024401003b"
)  # fmt: skip
PAGE = """<!doctype html><html lang=en><head><title>Pictured</title>
<link rel=stylesheet href="/css/main.css?v=1&amp;w=2">
<link rel="shortcut icon" href="/favicon.gif">
<link rel=preload as=image href="/img/preload.gif">
</head><body background="/img/wall.gif">
<h1>Nets and traps</h1>
<p>A fyke is a hooped bag net; it keeps the fish alive, chamber after chamber, until it is raised.</p>
<a href="/img/large.gif"><img id=first src="/img/large.gif" alt="large"></a>
<img srcset="/img/one.gif 1x, /img/two.gif 2x" src="/img/zero.gif">
<picture><source srcset="//CDN/img/p.gif" media="(min-width: 1px)"><img src="img/fallback.gif"></picture>
<div style="background-image: url('/img/inline.gif')">inline</div>
<img src="/img/a%20b(1)'.gif?x=1&amp;y=%2F+z"><img src="/img/ü.gif">
<img src="/img/q.gif?sid=0123456789abcdef0123456789abcdef">
<img src="/img/moved.gif"><img id=late alt="late"><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">
<script src="/js/app.js"></script><script>document.getElementById("first").dataset.more = "/img/more.gif";
new Image().src = "//CDN/img/inline-script.gif";</script>
<a href="/second.html">second</a> <a href="http://CDN/page.html">elsewhere</a>
</body></html>"""
SECOND = """<!doctype html><title>Second</title><base href="/deep/"><link rel=stylesheet href="own.css">
<p>Another page, with words of its own about eels and weirs.</p><img src="/private/secret.gif"><img src=gone.gif>"""
STYLE = """@charset "utf-8"; @import "sub/more.css"; /* url(/img/commented.gif) */
@font-face { font-family: net; src: url(//CDN/font/net.woff2) format("woff2"), url("/font/net.woff") format("woff") }
body { background: url( /img/body.gif ); font-family: net } h1::before { content: url("/img/before.gif") }"""
FILES: dict[tuple[str, str], tuple[str, str | bytes]] = {
    ("www.test", "/robots.txt"): ("text/plain", "User-agent: *\nDisallow: /private/\n"),
    ("www.test", "/"): ("text/html; charset=utf-8", PAGE),
    ("www.test", "/second.html"): ("text/html; charset=utf-8", SECOND),
    ("www.test", "/css/main.css?v=1&w=2"): ("text/css", STYLE),
    ("www.test", "/css/sub/more.css"): ("text/css", "@import url('../third.css') screen; p { background: url(x.gif) }"),
    ("www.test", "/css/third.css"): ("text/css", "li { list-style-image: url(/img/third.gif) } ul { }"),
    ("www.test", "/deep/own.css"): ("text/css", "p { cursor: pointer }"),
    ("www.test", "/js/app.js"): ("text/javascript", "document.getElementById('late').src = 'img/late.gif';"),
    ("www.test", "/font/net.woff"): ("font/woff", b"no font"),
    ("cdn.test", "/font/net.woff2"): ("font/woff2", b"no font"),
    ("cdn.test", "/page.html"): ("text/html", "<p>Another site's page, which is not wanted."),
    ("www.test", "/private/secret.gif"): ("image/gif", GIF),
    **{("cdn.test", f"/img/{name}.gif"): ("image/gif", GIF) for name in ("p", "inline-script", "real")},
    **{
        ("www.test", name): ("image/gif", GIF + name.encode())
        for name in (
            "/favicon.gif", "/img/preload.gif", "/img/wall.gif", "/img/large.gif", "/img/zero.gif", "/img/one.gif",
            "/img/two.gif", "/img/fallback.gif", "/img/inline.gif", "/img/a%20b(1)'.gif?x=1&y=%2F+z", "/img/%C3%BC.gif",
            "/img/q.gif?sid=0123456789abcdef0123456789abcdef", "/img/late.gif", "/img/more.gif", "/img/body.gif",
            "/img/before.gif", "/img/third.gif", "/css/sub/x.gif",
        )
    },
}  # fmt: skip
NEEDED = frozenset(
    place
    for place in FILES
    if place[1] not in ("/robots.txt", "/", "/second.html", "/page.html", "/private/secret.gif", "/deep/own.css")
) | {("www.test", "/img/moved.gif")}
"""What the first page needs, the redirect included."""


@dataclass
class Pictured:
    """The site: where it listens, and what it was asked for."""

    port: int
    log: list[tuple[str, str]] = field(default_factory=list)

    @property
    def seed(self) -> str:
        return f"http://www.test:{self.port}/"

    @property
    def resolve(self) -> tuple[str, ...]:
        return ("www.test:127.0.0.1", "cdn.test:127.0.0.1")

    def url(self, place: tuple[str, str]) -> str:
        return f"http://{place[0]}:{self.port}{place[1]}"

    def body(self, place: tuple[str, str]) -> bytes:
        body = FILES.get(place, ("", b""))[1]
        return body.replace("CDN", f"cdn.test:{self.port}").encode() if isinstance(body, str) else body


@contextmanager
def pictured() -> Iterator[Pictured]:
    """Serve the site."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            place = (self.headers["Host"].partition(":")[0], self.path)
            site.log.append(place)
            kind, data = FILES.get(place, ("text/plain", b""))[0], site.body(place)
            self.send_response(302 if place[1] == "/img/moved.gif" else 200 if place in FILES else 404)
            if place[1] == "/img/moved.gif":
                self.send_header("Location", f"http://cdn.test:{site.port}/img/real.gif")
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *words: object) -> None:
            pass

    with listening(Handler) as port:
        site = Pictured(port)
        yield site
