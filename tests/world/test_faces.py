"""Both faces of a world give the same bytes, and a crawl through either finds exactly what is expected."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import http.client
import os
import socket
from collections import deque
from collections.abc import Iterator

import lxml.html
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.clock import SystemClock, VirtualClock
from fyke.fetch.address import AddressPolicy
from fyke.fetch.dns import Resolver
from fyke.fetch.http import FetchSettings, HttpTransport
from fyke.url import Url
from fyke.values import Failed, Fetched, Moved, Outcome, Reason, Request, Unchanged, Validators
from fyke.world import World, WorldConfig
from fyke.world.config import START
from fyke.world.serve import Served, serve
from fyke.world.transport import Visit, WorldTransport, early_visits, response_head, shortest_gaps
from tests.world.conftest import SMALL


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve(SMALL) as running:
        running.set_time(START + 1000.0)
        yield running


def over_the_wire(served: Served, request: Request, more: str = "") -> tuple[bytes, bytes]:
    """Head and body exactly as the server sends them."""
    lines = [f"{request.method} {request.url.target} HTTP/1.1", f"Host: {request.url.authority}"]
    lines += [f"If-None-Match: {request.validators.etag}"] if request.validators.etag else []
    lines += [f"If-Modified-Since: {request.validators.last_modified}"] if request.validators.last_modified else []
    with socket.create_connection(("127.0.0.1", served.port)) as connection:
        connection.sendall(
            "\r\n".join([*lines, "Connection: close", more, "", ""]).replace("\r\n\r\n\r\n", "\r\n\r\n").encode()
        )
        data = b""
        with contextlib.suppress(ConnectionResetError):
            while chunk := connection.recv(65536):
                data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    return head + b"\r\n\r\n", body


def fetch(world: World, request: Request, t: float = START + 1000.0) -> Outcome:
    clock = VirtualClock(t)
    return clock.run(WorldTransport(world, clock).fetch(request))


def test_both_faces_send_the_same_bytes(served: Served) -> None:
    world = served.world
    kinds = set()
    urls = [u for h in world.hosts if not h.latency for u in [*world.pages(h.name)][:: h.pages // 4]]
    urls += [b + x for b in world.bases[:3] for x in ("/robots.txt", "/sitemap.xml", "/feed.xml", "/moved/2", "/x")]
    for url in urls:
        for method in ("GET", "HEAD"):
            request = Request(Url.parse(url), method)
            outcome = fetch(world, request)
            head, body = over_the_wire(served, request)
            kinds.add(type(outcome))
            if isinstance(outcome, Failed) and outcome.reason is Reason.RESET:
                assert (head, body) == (b"\r\n\r\n", b"")
                continue
            assert outcome.exchange is not None
            assert head == outcome.exchange.response_head, url
            assert body == outcome.exchange.body, url
    assert kinds == {Fetched, Moved, Failed}


def test_the_crawlers_own_transport_and_the_world_without_sockets_agree(served: Served) -> None:
    """Fetching over real sockets, gzip and all, has the outcomes that the world gives directly."""
    world = served.world
    urls = [u for h in world.hosts if not h.latency for u in [*world.pages(h.name)][:: h.pages // 5]]
    urls += [b + x for b in world.bases[:3] for x in ("/moved/3", "/moved/4", "/loop/a-0", "/x", "/sitemap.xml")]
    requests = [Request(Url.parse(url)) for url in urls]

    async def over_sockets() -> list[Outcome]:
        clock = SystemClock()
        names = {h.name: "127.0.0.1" for h in world.hosts}
        transport = HttpTransport(FetchSettings(), Resolver(clock, names), AddressPolicy(allow_private=True), clock)
        try:
            return await asyncio.gather(*map(transport.fetch, requests))
        finally:
            await transport.close()

    for request, real in zip(requests, asyncio.run(over_sockets()), strict=True):
        direct = fetch(world, request)
        assert type(real) is type(direct), request
        assert getattr(real, "reason", None) == getattr(direct, "reason", None)
        assert getattr(real, "target", None) == getattr(direct, "target", None)
        if real.exchange and direct.exchange:
            assert (real.exchange.status, real.exchange.body) == (direct.exchange.status, direct.exchange.body)


def test_conditional_get_is_the_same_on_both_faces(served: Served) -> None:
    url = Url.parse(served.world.seeds[0])
    first = fetch(served.world, Request(url))
    assert isinstance(first, Fetched)
    fields = dict(line.split(": ", 1) for line in first.exchange.response_head.decode().split("\r\n")[1:] if line)
    for validators in (Validators(etag=fields["ETag"]), Validators(last_modified=fields["Last-Modified"])):
        request = Request(url, validators=validators)
        again = fetch(served.world, request)
        assert isinstance(again, Unchanged)
        assert over_the_wire(served, request) == (again.exchange.response_head, b"")
    assert isinstance(fetch(served.world, Request(url, validators=Validators(etag='"other"'))), Fetched)


def test_gzip_is_sent_to_those_who_accept_it(served: Served) -> None:
    request = Request(Url.parse(served.world.seeds[1]))
    head, body = over_the_wire(served, request, "Accept-Encoding: gzip")
    plain = over_the_wire(served, request)[1]
    assert b"Content-Encoding: gzip" in head
    assert len(body) < len(plain) / 2
    assert gzip.decompress(body) == plain


def test_connections_are_kept_and_pipelined(served: Served) -> None:
    asked = b"".join(f"GET / HTTP/1.1\r\nHost: {h.name}\r\n\r\n".encode() for h in served.world.hosts[:3])
    with socket.create_connection(("127.0.0.1", served.port)) as connection:
        connection.sendall(asked[:20])
        connection.sendall(asked[20:] + b"NONSENSE\r\n\r\n")
        data = b""
        while chunk := connection.recv(65536):
            data += chunk
    assert data.count(b"HTTP/1.1 200 OK") == 3
    assert data.count(b"HTTP/1.1 400 ") == 1


@pytest.mark.parametrize("head", [b"GET / HTTP/1.1\r\nHost: nobody.test\r\n\r\n", b"GET /\r\n\r\n", b"x" * 40_000])
def test_bad_requests_get_an_answer(served: Served, head: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served.port)) as connection:
        connection.sendall(head)
        assert connection.recv(100).startswith((b"HTTP/1.1 421", b"HTTP/1.1 400"))


def test_the_log_tells_every_request_with_its_times(served: Served) -> None:
    served.log()
    slow = next(h for h in served.world.hosts if h.latency)
    connection = http.client.HTTPConnection("127.0.0.1", served.port)
    for host in (slow, served.world.hosts[0]):
        connection.request("GET", "/robots.txt", headers={"Host": host.name})
        connection.getresponse().read()
    connection.close()
    first, second = served.log()
    assert (first.host, first.target, first.status) == (slow.name, "/robots.txt", 200)
    assert first.ended - first.started > slow.latency / 2 - 0.001
    assert first.ended <= second.started <= second.ended
    assert served.log() == []


def test_shortest_gaps_run_from_the_end_of_a_visit_to_the_start_of_the_next() -> None:
    times = [("a", 0.0, 2.0), ("b", 1.0, 1.5), ("a", 2.5, 2.6), ("c", 3.0, 9.0), ("c", 4.0, 5.0), ("a", 3.6, 4.0)]
    visits = [Visit(host, "/", 200, started, ended) for host, started, ended in times]
    assert shortest_gaps(visits) == {"a": 0.5, "c": -5.0}
    assert early_visits(visits, 0.9) == [visits[2], visits[4]]
    assert early_visits(visits, 0.5) == [visits[4]]


def test_the_server_ends_with_its_block_and_says_when_it_cannot_start() -> None:
    config = WorldConfig(hosts=2, pages=20)
    with serve(config) as running:
        assert running.resolve()[0].endswith(":127.0.0.1")
        assert running.time() >= START
        with pytest.raises(Exception, match=str(running.port)), serve(config, running.port):
            pass
    with pytest.raises(ProcessLookupError):
        os.kill(running.process, 0)


def test_slow_hosts_pass_virtual_time_only(world: World) -> None:
    slow = next(h for h in world.hosts if h.latency)
    clock = VirtualClock()
    transport = WorldTransport(world, clock)
    outcome = clock.run(transport.fetch(Request(Url.parse(world.bases[slow.number] + "/"))))
    assert isinstance(outcome, Fetched)
    assert outcome.exchange.finished - outcome.exchange.started == pytest.approx(clock.elapsed)
    assert clock.elapsed >= slow.latency / 2
    assert len(transport.log) == 1


WORLD = World(SMALL)


@given(st.integers(0, 24), st.text(max_size=80), st.text(max_size=20), st.text(max_size=20))
def test_whatever_is_asked_gets_an_answer(number: int, target: str, etag: str, since: str) -> None:
    world = WORLD
    for asked in ("/" + target, target, f"/calendar/{target}", f"/?sid={target}", f"/moved/{target}"):
        answer = world.answer(world.hosts[number].name, asked, START, etag, since)
        assert response_head(answer).startswith(b"HTTP/1.1 ")


def test_a_host_of_another_world_is_not_found(world: World) -> None:
    outcome = fetch(world, Request(Url.parse("http://example.org/")))
    assert isinstance(outcome, Failed)
    assert outcome.reason is Reason.DNS


def crawl(world: World, seeds: list[str]) -> tuple[set[str], set[str], set[str]]:
    """A plain breadth-first crawler that believes the ground truth about robots.txt, traps and encodings only."""
    clock = VirtualClock()
    transport = WorldTransport(world, clock)
    pages: set[str] = set()
    others: set[str] = set()
    refused: set[str] = set()

    async def go() -> None:
        queue, seen = deque(seeds), set(seeds)
        while queue:
            url = queue.popleft()
            truth = world.truth(url)
            if not truth.allowed or truth.trap:
                refused.add(url)
                continue
            outcome = await transport.fetch(Request(Url.parse(url)))
            while isinstance(outcome, Failed) and outcome.reason in (Reason.RESET, Reason.SERVER_ERROR):
                await clock.sleep(10)
                outcome = await transport.fetch(Request(Url.parse(url)))
            found: list[Url] = []
            if isinstance(outcome, Moved):
                found = [outcome.target]
            elif isinstance(outcome, Fetched) and b"html" in outcome.exchange.response_head:
                root = lxml.html.document_fromstring(outcome.exchange.body.decode(truth.encoding or "utf-8"))
                anchors = [a for a in root.iter("a") if "nofollow" not in a.get("rel", "")]
                found = [outcome.url.join(a.get("href")) for a in anchors]
            (pages if isinstance(outcome, Fetched) and not truth.soft_error else others).add(url)
            for link in found:
                if link.href not in seen:
                    seen.add(link.href)
                    queue.append(link.href)

    clock.run(go())
    return pages, others, refused


def test_a_crawl_finds_exactly_what_is_expected() -> None:
    world = World(WorldConfig(seed=6, hosts=25, pages=900, changes=False))
    seeds = world.seeds[:3]
    pages, others, refused = crawl(world, seeds)
    expected = world.expected(seeds)
    assert pages == expected.pages
    assert others == expected.others
    assert refused == expected.traps | expected.disallowed
    assert len(pages) > 500


def test_sitemaps_reach_what_no_link_does() -> None:
    world = World(WorldConfig(seed=6, hosts=25, pages=1800))
    linked, mapped = world.expected(world.seeds), world.expected(world.seeds, sitemaps=True)
    assert linked.pages < mapped.pages


@pytest.mark.parametrize(("hosts", "pages"), [(1, 6), (1, 4000), (2, 12), (3, 700)])
def test_worlds_of_any_size_hang_together(hosts: int, pages: int) -> None:
    """Every page is reachable but those that are linked from nowhere, not there yet, or closed."""
    world = World(WorldConfig(hosts=hosts, pages=pages, robots=False))
    found = world.expected(world.seeds).pages
    missing = [t for u in world.pages(world.hosts[0].name) if u not in found and (t := world.truth(u)).status == 200]
    assert len(missing) <= pages / 16 + 1
    assert not any(t.url.endswith("/") for t in missing)
