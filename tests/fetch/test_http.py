"""The HTTP transport against servers that behave and servers that do not; all on loopback."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import socket
import ssl
import struct
import zlib
from pathlib import Path

import brotli
import pytest
import zstandard

from fyke.clock import SystemClock
from fyke.fetch.address import AddressPolicy
from fyke.fetch.dns import Resolution, Resolver
from fyke.fetch.http import FetchSettings, HttpTransport
from fyke.formats.http_body import CODINGS
from fyke.url import Url
from fyke.values import Coded, Failed, Fetched, Moved, Outcome, Reason, Request, Unchanged, Validators
from tests.fetch.servers import Handler, answer, certificate_of, raw_server

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Odd:  kept \r\n\r\nhello"
HOSTS = {"site.test": "127.0.0.1", "private.test": "10.0.0.1"}


def fetch_all(
    handler: Handler,
    *requests: tuple[str, str, Validators],
    settings: FetchSettings | None = None,
    veto: AddressPolicy | None = None,
    tls: ssl.SSLContext | None = None,
) -> list[Outcome]:
    async def main() -> list[Outcome]:
        async with raw_server(handler, tls) as port:
            clock = SystemClock()
            transport = HttpTransport(
                settings or FetchSettings(),
                Resolver(clock, HOSTS),
                veto or AddressPolicy(frozenset({"site.test"})),
                clock,
            )
            try:
                return [
                    await transport.fetch(Request(Url.parse(url.replace("PORT", str(port))), method, validators))
                    for url, method, validators in requests
                ]
            finally:
                await transport.close()

    return asyncio.run(main())


def fetch(handler: Handler, url: str = "http://site.test:PORT/x?y", method: str = "GET", **options: object) -> Outcome:
    return fetch_all(handler, (url, method, Validators()), **options)[0]  # type: ignore[arg-type]


def fetched(result: Outcome) -> Fetched:
    assert isinstance(result, Fetched), result
    return result


def failed(result: Outcome) -> Failed:
    assert isinstance(result, Failed), result
    return result


def test_heads_are_kept_byte_for_byte() -> None:
    heads: list[bytes] = []

    async def handler(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(head)
        writer.write(OK)

    validators = Validators('"tag"', "Mon, 25 Nov 1996 05:31:24 GMT")
    url = "http://site.test:PORT/x?y"
    results = fetch_all(handler, (url, "GET", Validators()), (url, "GET", validators), (url, "GET", Validators()))
    for head, result in zip(heads, results, strict=True):
        exchange = fetched(result).exchange
        assert exchange.request_head == head
        assert exchange.response_head == OK.removesuffix(b"hello")
        assert (exchange.body, exchange.status, exchange.address) == (b"hello", 200, "127.0.0.1")
        assert not exchange.truncated
    assert b'If-None-Match: "tag"\r\nIf-Modified-Since: Mon, 25 Nov 1996' in heads[1]
    assert b"If-" not in heads[2], "validators of one request do not leak into the next"
    assert b"Cookie" not in b"".join(heads)


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(b"hello" * 1000)),
        ("gzip", gzip.compress(b"hello" * 500) + gzip.compress(b"hello" * 500)),
        ("gzip", b"hello" * 1000),
        ("deflate", zlib.compress(b"hello" * 1000)),
        ("deflate", zlib.compress(b"hello" * 1000)[2:-4]),
        ("br", brotli.compress(b"hello" * 1000)),
        ("zstd", zstandard.compress(b"hello" * 1000)),
        ("gzip, br", brotli.compress(gzip.compress(b"hello" * 1000))),
        ("identity", b"hello" * 1000),
    ],
    ids=range(9),
)
def test_bodies_are_decoded(coding: str, body: bytes) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n"
    exchange = fetched(fetch(answer(head.encode() + body))).exchange
    assert exchange.body == b"hello" * 1000
    assert not exchange.truncated
    kept = coding in CODINGS and len(body) < len(exchange.body)
    assert exchange.coded == (Coded(coding, body) if kept else None), "only what decodes to this very body"


def test_what_is_longer_as_it_was_sent_is_kept_decoded() -> None:
    body = gzip.compress(b"hello" * 1000) + bytes(50_000)  # padding, of which a reader takes no notice
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
    exchange = fetched(fetch(answer(head.encode() + body))).exchange
    assert exchange.body == b"hello" * 1000
    assert exchange.coded is None


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "gzip, gzip"])
def test_a_bomb_costs_the_cap(coding: str) -> None:
    pack = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstandard.compress}
    body = bytes(30_000_000)
    for name in coding.split(", "):
        body = pack[name](body)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n"
    exchange = fetched(fetch(answer(head.encode() + body), settings=FetchSettings(max_body=100_000))).exchange
    assert exchange.body == bytes(100_000)
    assert exchange.truncated
    assert exchange.coded is None


def test_a_large_body_is_cut_at_the_cap_and_marked() -> None:
    async def handler(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        for _ in range(5000):  # 500 MB if anybody reads on
            writer.write(b"x" * 100_000)
            await writer.drain()

    exchange = fetched(fetch(handler, settings=FetchSettings(max_body=1_000_000))).exchange
    assert exchange.body == b"x" * 1_000_000
    assert exchange.truncated


def test_interim_answers_and_trailers_are_not_the_head() -> None:
    data = (
        b"HTTP/1.1 103 Early Hints\r\nLink: </s.css>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"5\r\nhello\r\n0\r\nX-Trailer: late\r\n\r\n"
    )
    exchange = fetched(fetch(answer(data))).exchange
    assert exchange.response_head == b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert exchange.body == b"hello"


def test_a_length_that_lies_keeps_what_came() -> None:
    short = fetched(fetch(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhello"))).exchange
    assert (short.body, short.truncated) == (b"hello", True)
    long = fetched(fetch(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello"))).exchange
    assert long.body == b"he"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"HTTP/1.1 301 M\r\nLocation: /new\r\nContent-Length: 0\r\n\r\n", Moved),
        (b"HTTP/1.1 304 N\r\n\r\n", Unchanged),
    ],
    ids=["301", "304"],
)
def test_redirects_and_304_are_values(data: bytes, kind: type) -> None:
    result = fetch(answer(data))
    assert isinstance(result, kind)
    if isinstance(result, Moved):
        assert result.target.path == "/new"
        assert result.permanent


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"HTTP/1.1 404 N\r\nContent-Length: 0\r\n\r\n", Reason.CLIENT_ERROR),
        (b"HTTP/1.1 410 G\r\nContent-Length: 0\r\n\r\n", Reason.GONE),
        (b"HTTP/1.1 500 E\r\nContent-Length: 0\r\n\r\n", Reason.SERVER_ERROR),
        (b"HTTP/1.1 302 M\r\nLocation: javascript:x\r\nContent-Length: 0\r\n\r\n", Reason.PROTOCOL),
        (b"<html>HTTP/0.9</html>", Reason.PROTOCOL),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 400_000 + b"\r\n\r\n", Reason.PROTOCOL),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000 + b"\r\n", Reason.PROTOCOL),
        (b"", Reason.RESET),
    ],
    ids=range(8),
)
def test_failures_have_reasons(data: bytes, reason: Reason) -> None:
    result = failed(fetch(answer(data)))
    assert result.reason in {reason, Reason.RESET} if data.startswith(b"HTTP/1.1 200") else result.reason is reason


def test_retry_after_is_understood() -> None:
    for value in ("120", "Fri, 31 Dec 2100 23:59:59 GMT"):
        result = failed(fetch(answer(f"HTTP/1.1 429 T\r\nRetry-After: {value}\r\nContent-Length: 0\r\n\r\n".encode())))
        assert result.reason is Reason.TOO_MANY_REQUESTS
        assert result.exchange is not None
        assert result.retry_at is not None
        assert 119 < result.retry_at - result.exchange.finished <= 7 * 86_400


def test_a_server_that_never_answers_and_one_that_drips_are_left() -> None:
    async def silent(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def drip(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while not reader.at_eof():
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.1)

    settings = FetchSettings(stall_timeout=1)
    assert failed(fetch(silent, settings=settings)).reason is Reason.TIMEOUT
    left = fetched(fetch(drip, settings=settings)).exchange  # what came is kept, and marked
    assert (left.incomplete, left.truncated, left.body.strip(b"x")) == (True, True, b"")
    assert fetched(fetch(drip, settings=FetchSettings(fetch_timeout=0.5))).exchange.incomplete


def test_a_reset_is_a_reset() -> None:
    async def reset(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sock: socket.socket = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    assert failed(fetch(reset)).reason is Reason.RESET


def test_nobody_listens() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]  # taken, so that nobody else listens there
        assert failed(fetch(answer(OK), f"http://site.test:{port}/")).reason is Reason.CONNECT


def test_private_addresses_need_a_seed_that_names_the_host() -> None:
    urls = ["http://private.test/", "http://127.0.0.1:PORT/", "http://[::ffff:127.0.0.1]:PORT/", "http://0x7f.1:PORT/"]
    for url in urls:
        assert failed(fetch(answer(OK), url)).reason is Reason.PRIVATE_ADDRESS
    for veto in (AddressPolicy(frozenset({"127.0.0.1"})), AddressPolicy(allow_private=True)):
        assert fetched(fetch(answer(OK), "http://127.0.0.1:PORT/", veto=veto)).exchange.body == b"hello"


def test_head_has_no_body() -> None:
    exchange = fetched(fetch(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 9590\r\n\r\n"), method="HEAD")).exchange
    assert exchange.request_head.startswith(b"HEAD /x?y HTTP/1.1\r\n")
    assert exchange.body == b""


def test_connections_are_kept_for_a_host() -> None:
    connections = 0

    async def handler(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while head:
            writer.write(OK)
            await writer.drain()
            head = await reader.readuntil(b"\r\n\r\n")

    results = fetch_all(handler, *[(f"http://site.test:PORT/{i}", "GET", Validators()) for i in range(20)])
    assert all(isinstance(r, Fetched) for r in results)
    assert connections == 1


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the test's certificate")
def test_tls_is_verified(tmp_path: Path) -> None:
    context, certificate = certificate_of(tmp_path, "site.test")
    url = "https://site.test:PORT/x"
    assert failed(fetch(answer(OK), url, tls=context)).reason is Reason.TLS
    trusting = FetchSettings(ca_file=str(certificate))
    assert fetched(fetch(answer(OK), url, tls=context, settings=trusting)).exchange.body == b"hello"


@pytest.mark.parametrize("etag", ['"caf\xe9"', '"\u20ac"', '"a\x01b"', '"' + "x" * 5000 + '"'])
def test_any_validator_is_sent_as_it_came_or_left_out(etag: str) -> None:
    async def echo(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(head) + head)

    sent = fetched(fetch_all(echo, ("http://site.test:PORT/", "GET", Validators(etag)))[0]).exchange.body
    fit = etag.isascii() or etag == '"caf\xe9"'
    expected = f"If-None-Match: {etag}\r\n".encode("latin-1") if fit and "\x01" not in etag else b""
    assert (expected in sent) if expected else b"If-None-Match" not in sent


def test_time_that_the_loop_lost_is_nobodys_slowness() -> None:
    import threading
    import time

    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(OK)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()

    async def main() -> Outcome:
        clock = SystemClock()
        settings = FetchSettings(connect_timeout=0.5, stall_timeout=0.5, fetch_timeout=0.5)
        transport = HttpTransport(settings, Resolver(clock, HOSTS), AddressPolicy({"site.test"}), clock)
        try:
            task = asyncio.create_task(transport.fetch(Request(Url.parse(f"http://site.test:{port}/"))))
            await asyncio.sleep(0.05)
            time.sleep(2)  # the loop is held while the answer comes
            return await task
        finally:
            await transport.close()

    exchange = fetched(asyncio.run(main())).exchange
    thread.join()
    listener.close()
    assert exchange.finished - exchange.started < 1.5, "two seconds passed, of which the server took none"


def test_the_second_address_is_tried_when_the_first_is_silent() -> None:
    async def main() -> tuple[Outcome, Resolver]:
        async with raw_server(_ok) as port:
            clock = SystemClock()
            resolver = Resolver(clock)
            resolver._keep("two.test", Resolution(("127.0.0.9", "127.0.0.1"), float("inf")))
            full = socket.socket()
            full.bind(("127.0.0.9", port))
            full.listen(0)
            waiting = [socket.socket() for _ in range(4)]
            for each in waiting:  # the queue of the listener is full: further connections are not answered
                each.setblocking(False)
                each.connect_ex(("127.0.0.9", port))
            transport = HttpTransport(FetchSettings(connect_timeout=0.5), resolver, AddressPolicy({"two.test"}), clock)
            try:
                return await transport.fetch(Request(Url.parse(f"http://two.test:{port}/"))), resolver
            finally:
                await transport.close()
                for each in [full, *waiting]:
                    each.close()

    result, resolver = asyncio.run(main())
    assert fetched(result).exchange.address == "127.0.0.1"
    assert resolver.address("two.test") == "127.0.0.1", "the address that does not answer is tried last from now on"


async def _ok(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(OK)


def test_a_named_host_stays_what_its_first_address_was() -> None:
    veto = AddressPolicy({"seed.test", "public.test"}, ports={("seed.test", 80)})
    assert veto.choose("public.test", 80, ["93.184.216.34"]) == ["93.184.216.34"]
    assert veto.choose("public.test", 80, ["10.0.0.1"]) == [], "rebinding"
    assert veto.choose("seed.test", 80, ["10.0.0.1", "10.0.0.2"]) == ["10.0.0.1", "10.0.0.2"]
    assert veto.choose("seed.test", 80, ["10.0.0.9"]) == []
    assert veto.choose("seed.test", 6379, ["10.0.0.1"]) == [], "another port of the private host"
    assert AddressPolicy({"meta.test"}).choose("meta.test", 80, ["169.254.169.254"]) == []
    assert AddressPolicy({"169.254.1.1"}).choose("169.254.1.1", 80, ["169.254.1.1"]) == ["169.254.1.1"]
    assert AddressPolicy({"cloud.test"}).choose("cloud.test", 80, ["168.63.129.16"]) == []
