"""Cookies and headers at the door: what is kept, what is sent to whom, and bombs."""

from __future__ import annotations

import asyncio
import json
import shutil
import ssl
from pathlib import Path

import pytest

from fyke.clock import SystemClock
from fyke.errors import UserError
from fyke.fetch.address import AddressPolicy
from fyke.fetch.dns import Resolver
from fyke.fetch.http import FetchSettings, HttpTransport
from fyke.fetch.sessions import Credentials, Sessions, basic, parse_header, read_cookies, redacted
from fyke.url import Url
from fyke.values import Request
from tests.fetch.servers import Handler, certificate_of, raw_server

MANY = [f"h{n}.many.example" for n in range(60)]
"""Of one domain; more than libcurl keeps TLS sessions of in one place."""
HOSTS = dict.fromkeys(
    ("a.example.org", "b.example.org", "example.net", "a.co.uk", "b.co.uk", "app.internal", *MANY), "127.0.0.1"
)
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the test's certificate")


def ask(
    handler: Handler, sessions: Sessions, *urls: str, tls: tuple[ssl.SSLContext, Path] | None = None
) -> list[bytes]:
    """Fetch URLs one after the other; return the heads of the responses as they are kept."""
    settings = FetchSettings(ca_file=str(tls[1]) if tls else "")

    async def main() -> list[bytes]:
        async with raw_server(handler, tls[0] if tls else None) as port:
            clock = SystemClock()
            transport = HttpTransport(settings, Resolver(clock, HOSTS), AddressPolicy((), True), clock, sessions)
            try:
                made = [Request(Url.parse(url.replace("PORT", str(port)))) for url in urls]
                found = [await transport.fetch(request) for request in made]
                return [b"".join((o.exchange.request_head, o.exchange.response_head)) for o in found if o.exchange]
            finally:
                await transport.close()

    return asyncio.run(main())


class Server:
    """Answers with some headers, and keeps what it was asked."""

    def __init__(self, *lines: str) -> None:
        self.heads: list[str] = []
        self._answer = "".join(
            ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", *(f"{line}\r\n" for line in lines), "\r\nhi"]
        )

    async def __call__(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append(head.decode())
        writer.write(self._answer.encode())

    def cookies(self) -> list[str]:
        lines = [[line for line in head.split("\r\n") if line.lower().startswith("cookie:")] for head in self.heads]
        return [line[0].partition(":")[2].strip() if line else "" for line in lines]


def test_cookies_go_back_to_whom_they_are() -> None:
    server = Server(
        "Set-Cookie: own=1; Path=/", "Set-Cookie: wide=2; Domain=example.org",
        "Set-Cookie: foreign=3; Domain=example.net",
        "Set-Cookie: suffix=4; Domain=co.uk",
        "Set-Cookie: deep=5; Path=/deep", "Set-Cookie: secure=6; Secure",
        "Set-Cookie: old=7; Max-Age=0",
    )  # fmt: skip
    urls = ["http://a.example.org:PORT/", "http://a.example.org:PORT/x", "http://b.example.org:PORT/"]
    ask(server, Sessions(), *urls, "http://example.net:PORT/")
    first, again, cousin, stranger = server.cookies()
    assert first == ""
    assert set(again.split("; ")) == {"own=1", "wide=2"}
    assert cousin == "wide=2"
    assert stranger == ""


@needs_openssl
def test_hosts_that_are_left_alone_need_not_prove_again_who_they_are(tmp_path: Path) -> None:
    resumed: list[bool] = []

    async def closing(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        resumed.append(writer.get_extra_info("ssl_object").session_reused)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")

    urls = [f"https://{host}:PORT/" for host in MANY]
    found = ask(closing, Sessions(), *urls, *urls, tls=certificate_of(tmp_path, "*.many.example"))
    assert len(found) == 2 * len(MANY)
    assert not any(resumed[: len(MANY)])
    assert all(resumed[len(MANY) :])


@needs_openssl
def test_cookies_of_a_domain_reach_its_other_hosts_over_tls(tmp_path: Path) -> None:
    server = Server("Set-Cookie: wide=2; Domain=many.example; Secure", "Connection: close")
    urls = [f"https://{host}:PORT/" for host in MANY[:10]]
    sessions = Sessions(cookies=["example.net\tFALSE\t/\tFALSE\t0\tgiven\t1"])
    ask(server, sessions, *urls, tls=certificate_of(tmp_path, "*.many.example"))
    assert server.cookies() == ["", *["wide=2"] * 9]
    assert [line.split("\t")[0] for line in sessions.anonymous()] == [".many.example"], "and what was given is private"


def test_each_domain_has_its_cookies_whoever_set_some_before() -> None:
    server = Server("Set-Cookie: own=1")
    names = ["a.example.org", "example.net", "a.co.uk", "example.net", "a.co.uk", "a.example.org", "b.example.org"]
    ask(server, Sessions(), *(f"http://{name}:PORT/" for name in names))
    assert server.cookies() == ["", "", "", "own=1", "own=1", "own=1", ""]


def test_no_cookie_for_all_of_a_public_suffix() -> None:
    server = Server("Set-Cookie: all=1; Domain=co.uk")
    ask(server, Sessions(), "http://a.co.uk:PORT/", "http://b.co.uk:PORT/")
    assert server.cookies() == ["", ""]


def test_a_cookie_bomb_is_bounded() -> None:
    server = Server(*(f"Set-Cookie: c{n}={'x' * 100}" for n in range(1000)), f"Set-Cookie: huge={'y' * 50_000}")
    url = "http://a.example.org:PORT/"
    assert ask(server, Sessions(), url, url)
    assert len(server.cookies()[-1]) < 20_000
    assert "huge" not in server.cookies()[-1]


def test_credentials_are_of_one_origin_and_are_not_kept() -> None:
    server = Server("Set-Cookie: sid=canary; HttpOnly")

    class Here(Sessions):
        def of(self, url: Url) -> Credentials | None:
            return basic("anna", "canary") if url.host == "a.example.org" else None

    sessions = Here(credentials={"http://a.example.org": basic("anna", "canary")})
    heads = ask(server, sessions, "http://a.example.org:PORT/", "http://example.net:PORT/")
    assert ["uthorization: Basic" in head for head in server.heads] == [True, False]
    assert b"Authorization: [secret]" in heads[0]
    assert b"YW5uYTpjYW5hcnk" not in heads[0]


@pytest.mark.parametrize(
    "text", ["X", "X\r\nY: 1", "X: a\r\nY: b", "X: a\nb", "Host: evil", "a b: c", ": x", "X: \x00", "Content-Length: 3"]
)
def test_headers_that_no_request_can_hold_are_refused(text: str) -> None:
    with pytest.raises(UserError):
        parse_header(text)


def test_response_heads_keep_names_alone() -> None:
    head = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=secret; Path=/\r\nset-cookie:b=secret\r\nX-Set-Cookie: c=kept\r\n\r\n"
    assert redacted(head).count(b"secret") == 2
    assert redacted(head).count(b"[secret]") == 2
    assert b"c=kept" in redacted(head)


def test_cookies_of_a_browser(tmp_path: Path) -> None:
    state = {
        "cookies": [{"name": "n", "value": "v", "domain": ".example.org", "path": "/", "expires": -1, "secure": False}]
    }
    (tmp_path / "state.json").write_text(json.dumps(state))
    (tmp_path / "cookies.txt").write_text(
        "# Netscape HTTP Cookie File\n#HttpOnly_.example.org\tTRUE\t/\tFALSE\t0\tn\tv\n\n"
    )
    for name in ("state.json", "cookies.txt"):
        server = Server()
        ask(
            server,
            Sessions(cookies=read_cookies(tmp_path / name)),
            "http://b.example.org:PORT/",
            "http://example.net:PORT/",
        )
        assert server.cookies() == ["n=v", ""]
    for wrong in ('{"cookies": 3}', "[1]", "{", "a b c", '[{"name": "a\\nb", "value": "", "domain": "x"}]'):
        (tmp_path / "wrong").write_text(wrong)
        with pytest.raises(UserError):
            read_cookies(tmp_path / "wrong")
