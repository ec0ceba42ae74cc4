"""Cookies, headers, logins: on a small internet whose servers check them, and see what goes to whom."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from fyke.store import Store
from fyke.url import Url
from tests.crawl.internet.net import Internet, Request, answer, page, run_inside

QUICK = ("--delay", "0.02", "--agents", "1", "--no-sitemaps", "--scope", "any")
CANARY = "canary-7f3a"
"""Every secret begins so: it may be nowhere."""


class Wiki:
    """A site behind a form; a session is good for ``lasts`` pages, then there is a login form, or a way to one."""

    def __init__(self, pages: int, lasts: int) -> None:
        self.pages, self.lasts = pages, lasts
        self.sessions: dict[str, int] = {}
        self.tokens: set[str] = set()
        self.logins = 0
        self.wrong: list[str] = []

    def form(self) -> str:
        token = f"csrf{len(self.tokens)}"
        self.tokens.add(token)
        return (
            f"<html><title>Login</title><form action='/enter' method=post><input type=hidden name=csrf value={token}>"
            "<input name=user><input type='password' name=pw><button>Go</button></form>"
        )

    def __call__(self, request: Request) -> bytes:
        path = request.target
        if path == "/robots.txt":
            return answer("", "404 Not Found")
        if path == "/login":
            return answer(self.form())
        if path == "/enter":
            sent = {name: values[0] for name, values in parse_qs(request.body).items()}
            if sent.pop("csrf", "") not in self.tokens or sent != {"user": "anna", "pw": f"{CANARY}-password"}:
                self.wrong.append(request.body)
                return answer(self.form())
            self.logins += 1
            sid = f"{CANARY}-session-{self.logins}"
            self.sessions[sid] = self.lasts
            return answer("", "303 See Other", "Location: /me", f"Set-Cookie: sid={sid}; Path=/; HttpOnly")
        if path == "/logout":
            self.sessions.clear()
            return answer("bye")
        sid = request.header("cookie").partition("sid=")[2].partition(";")[0]
        if self.sessions.get(sid, 0) <= 0:
            if len(self.sessions) % 2:
                return answer("", "302 Found", "Location: /login")
            return answer(self.form())
        if path == "/me":
            return answer("<p>Hello anna. <a href=/logout>Log out</a></p>")
        self.sessions[sid] -= 1
        name = path.strip("/")
        links = [f"/{i}" for i in range(1, self.pages)] if not name else ["/logout", "/account/delete", "/login", "/"]
        return page(f"wiki {name or 'home'}", [*links, "http://other.example/"])


def protected(accepts: Any, pages: int = 4) -> Any:
    """A site of which every page is for those whom ``accepts(request)`` lets in; it returns b"" or a refusal."""

    def handle(request: Request) -> bytes:
        if request.target == "/robots.txt":
            return answer("", "404 Not Found")
        if refusal := accepts(request):
            return bytes(refusal)
        links = [f"/{i}" for i in range(1, pages)] if request.target == "/" else []
        return page(f"{request.host} {request.target}", [*links, "http://other.example/"])

    return handle


def bearer(request: Request) -> bytes:
    return b"" if request.header("authorization") == f"Bearer {CANARY}-token" else answer("no", "401 Unauthorized")


def basic(request: Request) -> bytes:
    wanted = "Basic YW5uYTpjYW5hcnktN2YzYS1iYXNpYw=="  # anna:canary-7f3a-basic
    return b"" if request.header("authorization") == wanted else answer("no", "401 Unauthorized")


def digest(request: Request) -> bytes:
    said = dict(re.findall(r'(\w+)="?([^",]*)"?', request.header("authorization")))
    own = hashlib.md5(f"anna:here:{CANARY}-digest".encode()).hexdigest()
    asked = hashlib.md5(f"GET:{request.target}".encode()).hexdigest()
    parts = [own, said.get("nonce", ""), said.get("nc", ""), said.get("cnonce", ""), said.get("qop", ""), asked]
    if said.get("response") == hashlib.md5(":".join(parts).encode()).hexdigest():
        return b""
    challenge = 'WWW-Authenticate: Digest realm="here", nonce="n0", qop="auth", algorithm=MD5'
    return answer("no", "401 Unauthorized", challenge)


def shop(request: Request) -> bytes:
    """Sets a cookie on the first page, wants it on the others; tries to set one for everybody."""
    if request.target == "/":
        return b""
    return b"" if "basket=7" in request.header("cookie") else answer("cookies, please", "403 Forbidden")


def test_sessions_that_expire_lose_no_page_and_secrets_go_nowhere() -> None:
    found = run_inside(logins, pages=200, lasts=20)
    assert found["missing"] == [], found["summary"]
    assert found["login_pages"] == []
    assert found["logins"] >= 10
    assert found["wrong"] == []
    assert found["logged_out"] == 0, "links that end a session are not followed"
    assert found["leaked"] == [], "what is for one origin goes to no other"
    assert found["kept"] == [], "no file of the store holds a secret"
    assert set(found["private"]) == {"wiki.example", "basic.example", "digest.example", "bearer.example", "key.example"}
    assert found["exported"] == [], "what is behind a login is not exported unless one says so"
    assert found["exported_private"] > 200


async def logins(net: Internet, pages: int, lasts: int) -> Any:
    wiki = Wiki(pages, lasts)
    net.host("wiki.example", "93.184.1.1", wiki)
    for n, (name, accepts) in enumerate(
        [("basic", basic), ("digest", digest), ("bearer", bearer), ("shop", shop), ("key", key)], 2
    ):
        net.host(
            f"{name}.example", f"93.184.1.{n}", cookies(protected(accepts)) if name == "shop" else protected(accepts)
        )
    net.host("other.example", "93.184.1.9", protected(lambda request: b"", 1))
    (net.folder / "auth.toml").write_text(AUTH)
    (net.folder / "digest.txt").write_text(f"{CANARY}-digest\n")
    os.environ |= {
        "WIKI_USER": "anna",
        "WIKI_PW": f"{CANARY}-password",
        "TOKEN": f"{CANARY}-token",
        "API": f"{CANARY}-key",
    }
    await net.open()
    seeds = ["http://wiki.example/", "http://digest.example/", "http://bearer.example/", "http://shop.example/"]
    seeds += [f"http://anna:{CANARY}-basic@basic.example/", "http://key.example/"]
    crawl = await net.crawl(
        *seeds, *QUICK, "--auth", str(net.folder / "auth.toml"), "--trace", "http://wiki.example/7",
        "--warc-dir", str(net.folder / "warcs"),
    )  # fmt: skip
    wanted = {f"http://wiki.example/{i or ''}" for i in range(pages)}
    wanted |= {
        f"http://{name}.example/{i or ''}" for name in ("basic", "digest", "bearer", "shop", "key") for i in range(4)
    }
    rows = net.pages()
    private, login_pages = stored(net)
    await net.fyke("export", str(net.folder / "all.jsonl"), "--store", str(net.store))
    await net.fyke("export", str(net.folder / "private.jsonl"), "--store", str(net.store), "--private")
    lines = [json.loads(line) for line in (net.folder / "all.jsonl").read_text().splitlines()]
    return {
        "summary": [crawl.summary, crawl.stderr[-1500:]],
        "missing": sorted(wanted - rows),
        "login_pages": login_pages,
        "logins": wiki.logins,
        "wrong": wiki.wrong,
        "logged_out": sum(each.target in ("/logout", "/account/delete") for each in net.log),
        "leaked": leaked(net),
        "kept": kept(net),
        "private": sorted(private),
        "exported": sorted({Url(line["url"]).host for line in lines} & private),
        "exported_private": len((net.folder / "private.jsonl").read_text().splitlines()),
    }


def stored(net: Internet) -> tuple[set[str], list[str]]:
    """The hosts whose rows are private, and the pages that ask for a password."""
    with Store.open(net.store, "r") as store:
        rows = list(store.scan())
        private = {Url(row.url).host for row in rows if row.meta.private}
        return private, [row.url for row in rows if row.raw and b"password" in row.raw]


def key(request: Request) -> bytes:
    return b"" if request.header("x-api-key") == f"{CANARY}-key" else answer("no", "401 Unauthorized")


def cookies(handler: Any) -> Any:
    def handle(request: Request) -> bytes:
        reply: bytes = handler(request)
        if request.target == "/":
            set_ = ("basket=7; Path=/", "all=1; Domain=example", "x=1; Domain=other.example")
            lines = "".join(f"Set-Cookie: {each}\r\n" for each in set_)
            return reply.replace(b"\r\n", b"\r\n" + lines.encode(), 1)
        return reply

    return handle


AUTH = """
[[site]]
origin = "http://wiki.example"
kind = "form"
login = "http://wiki.example/login"
fields = { user = "env:WIKI_USER", password = "env:WIKI_PW" }
check = "http://wiki.example/me"
logged_in = "Log out"
avoid = ["/account"]

[[site]]
origin = "http://digest.example"
kind = "digest"
fields = { username = "env:WIKI_USER", password = "file:digest.txt" }

[[site]]
origin = "http://bearer.example"
kind = "bearer"
fields = { token = "env:TOKEN" }

[[site]]
origin = "http://key.example"
kind = "header"
fields = { X-Api-Key = "env:API" }
"""


def leaked(net: Internet) -> list[str]:
    """Requests that carried what is somebody else's."""
    found = []
    for each in net.log:
        for name in ("authorization", "cookie", "x-api-key"):
            value = each.header(name)
            own = {"wiki": "sid=", "shop": "basket=7", "basic": "Basic ", "digest": "Digest ", "bearer": "Bearer "}
            own["key"] = f"{CANARY}-key"
            if value and not value.startswith(own.get(each.host.partition(".")[0], "\0")):
                found.append(f"{each.url} {name}: {value}")
    return found


def kept(net: Internet) -> list[str]:
    """Files and cells that hold a secret."""
    from warcio.archiveiterator import ArchiveIterator

    from fyke.store import Store
    from fyke.store.cells import FAMILIES

    secret = CANARY.encode()
    found = [str(path) for path in net.store.rglob("*") if path.is_file() and secret in path.read_bytes()]
    with Store.open(net.store, "r") as store:
        for tablet in store.tablets():
            for family in FAMILIES:
                for cell, value in tablet.items(family):
                    plain = tablet.decode(value) if family in ("page", "text", "links") else value
                    if secret in plain:
                        found.append(f"{family} {cell!r}")
    for path in Path(net.folder / "warcs").glob("*.gz"):
        with path.open("rb") as file:
            records = [record.raw_stream.read() for record in ArchiveIterator(file, no_record_parse=True)]
        found += [str(path) for record in records if secret in record]
        assert records, path
    return found


def test_a_login_that_is_refused_says_so_and_holds_nobody_up() -> None:
    found = run_inside(refused)
    assert found["status"] == 0, "the other seed could be had"
    assert "login" in found["failed"]["http://wiki.example/"]
    assert found["others"] == 4
    assert found["tries"] == 1, "who is refused waits"


async def refused(net: Internet) -> Any:
    wiki = Wiki(5, 20)
    net.host("wiki.example", "93.184.1.1", wiki)
    net.host("shop.example", "93.184.1.5", protected(lambda request: b""))
    os.environ |= {"WIKI_USER": "anna", "WIKI_PW": "wrong", "TOKEN": "x", "API": "x"}
    (net.folder / "digest.txt").write_text("x")
    (net.folder / "auth.toml").write_text(AUTH)
    await net.open()
    crawl = await net.crawl(
        "http://wiki.example/", "http://shop.example/", *QUICK, "--auth", str(net.folder / "auth.toml")
    )
    return {
        "status": crawl.status,
        "failed": crawl.summary["failed_seeds"],
        "others": len([url for url in net.pages() if "shop" in url]),
        "tries": len(wiki.wrong),
    }
