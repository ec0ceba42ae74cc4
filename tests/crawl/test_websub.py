"""The subscriber over real sockets, against a hub that the test starts on loopback."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import socket
from pathlib import Path
from urllib.parse import parse_qs, urlencode

import pytest

from fyke import limits
from fyke.clock import SystemClock
from fyke.crawl.agent import Agent
from fyke.crawl.capture import Processor
from fyke.crawl.context import FetchContext
from fyke.crawl.discovery import push, subscriptions
from fyke.crawl.discovery.discovery import Discovery
from fyke.crawl.discovery.push import Pushed, Subscriber
from fyke.crawl.politeness.permissions import Permissions
from fyke.crawl.politeness.rules import Rules
from fyke.crawl.run.options import AgentOptions
from fyke.crawl.run.settings import CrawlSettings
from fyke.fetch.address import AddressPolicy
from fyke.fetch.dns import Resolver
from fyke.fetch.http import FetchSettings, HttpTransport
from fyke.frontier.frontier import Frontier
from fyke.frontier.politeness import Politeness
from fyke.sites.websub import Refusal, State, Subscription, Topic
from fyke.store import Store
from fyke.url import Url

TOPIC = "http://127.0.0.1/feed.xml"
FEED = b"<rss><channel><item><link>http://127.0.0.1/new</link></item></channel></rss>"


class Hub:
    """A hub in thirty lines: asks back with a challenge, and pushes with a signature, right or wrong as told."""

    def __init__(self) -> None:
        self.forms: list[dict[str, str]] = []
        self.echoed: list[bool] = []
        self.lease = "4000"
        self.lie_about_topic = False
        self.status = 202

    async def start(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/"

    async def stop(self) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(x.split(b":")[1]) for x in head.lower().split(b"\r\n") if x.startswith(b"content-length"))
        form = {name: values[0] for name, values in parse_qs((await reader.readexactly(length)).decode()).items()}
        self.forms.append(form)
        if self.status == 202:
            challenge = f"challenge-{len(self.forms)}"
            topic = form["hub.topic"] + ("/other" if self.lie_about_topic else "")
            said = {
                "hub.mode": "subscribe",
                "hub.topic": topic,
                "hub.challenge": challenge,
                "hub.lease_seconds": self.lease,
            }
            answer = await exchange(form["hub.callback"] + "?" + urlencode(said), b"GET")
            self.echoed.append(answer.startswith(b"HTTP/1.1 200") and answer.endswith(challenge.encode()))
        writer.write(f"HTTP/1.1 {self.status} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    async def push(self, body: bytes, method: str = "sha256", secret: str = "") -> bytes:
        form = self.forms[-1]
        digest = hmac.new((secret or form["hub.secret"]).encode(), body, getattr(hashlib, method)).hexdigest()
        headers = f"X-Hub-Signature: {method}={digest}\r\nContent-Length: {len(body)}\r\n".encode()
        return await exchange(form["hub.callback"], b"POST", headers, body)


async def exchange(url: str, method: bytes, headers: bytes = b"", body: bytes = b"") -> bytes:
    place = url.removeprefix("http://")
    authority, _, target = place.partition("/")
    host, _, port = authority.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(method + b" /" + target.encode() + b" HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n" + body)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


class Clock(SystemClock):
    """The system's time, moved on by hand."""

    ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead


class Scene:
    """A hub, a subscriber, and what was delivered and kept."""

    def __init__(self) -> None:
        self.hub = Hub()
        self.clock = Clock()
        self.delivered: list[Pushed] = []
        self.kept: dict[str, Subscription] = {}

    async def __aenter__(self) -> Scene:
        self.address = await self.hub.start()
        settings = FetchSettings()
        self.transport = HttpTransport(
            settings, Resolver(self.clock), AddressPolicy(frozenset({"127.0.0.1", "127.0.0.2"})), self.clock
        )
        # The callback must name the port before anybody listens there: it is bound here, so that nobody else gets it.
        self.bound = socket.socket()
        self.bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.bound.bind(("127.0.0.1", 0))
        self.port = self.bound.getsockname()[1]
        self.subscriber = self.make()
        await self.subscriber.start("127.0.0.1", self.port)
        return self

    def make(self) -> Subscriber:
        return Subscriber(
            f"http://127.0.0.1:{self.port}/hooks",
            self.transport.fetch,
            self.clock,
            self.delivered.append,
            lambda subscription: self.kept.__setitem__(subscription.topic, subscription),
            self.kept.values(),
        )

    async def __aexit__(self, *error: object) -> None:
        await self.subscriber.stop()
        await self.transport.close()
        await self.hub.stop()
        self.bound.close()

    async def subscribe(self) -> None:
        self.subscriber.follow(Topic(TOPIC, self.address))
        await self.subscriber.tick()


def test_subscribe_verify_push_renew() -> None:
    async def run() -> None:
        async with Scene() as scene:
            await scene.subscribe()
            assert scene.hub.echoed == [True]
            assert scene.subscriber.is_pushed(TOPIC)
            assert (await scene.hub.push(FEED)).startswith(b"HTTP/1.1 202")
            assert scene.delivered == [Pushed(TOPIC, FEED)]
            await scene.subscriber.tick()
            assert len(scene.hub.forms) == 1  # nothing is due
            scene.clock.ahead = 3300.0
            await scene.subscriber.tick()
            assert scene.hub.echoed == [True, True]  # renewed before the lease ends
            scene.clock.ahead = 5000.0
            assert scene.subscriber.is_pushed(TOPIC)
            scene.clock.ahead = 20_000.0
            assert not scene.subscriber.is_pushed(TOPIC)  # the hub has forgotten us: polling goes on

    asyncio.run(run())


def test_wrong_signatures_are_refused_and_counted() -> None:
    async def run() -> None:
        async with Scene() as scene:
            await scene.subscribe()
            assert (await scene.hub.push(FEED, secret="guess")).startswith(b"HTTP/1.1 202")
            callback = scene.hub.forms[0]["hub.callback"]
            await exchange(callback, b"POST", b"Content-Length: 6\r\n", b"<rss/>")
            await exchange(callback, b"POST", b"Content-Length: 99999999999\r\n", b"x")
            await exchange(callback + "x", b"POST", b"Content-Length: 0\r\n")
            assert scene.delivered == []
            assert scene.subscriber.refusals == {
                Refusal.SIGNATURE: 1,
                Refusal.UNSIGNED: 1,
                Refusal.TOO_LARGE: 1,
                Refusal.UNKNOWN: 1,
            }
            await scene.hub.push(FEED, "sha1")
            assert len(scene.delivered) == 1  # none of it did any harm

    asyncio.run(run())


def test_a_hub_that_asks_back_for_another_topic_gets_nothing() -> None:
    async def run() -> None:
        async with Scene() as scene:
            scene.hub.lie_about_topic = True
            await scene.subscribe()
            assert scene.hub.echoed == [False]
            assert scene.subscriber.refusals == {Refusal.TOPIC: 1}
            assert not scene.subscriber.is_pushed(TOPIC)
            await scene.hub.push(FEED)
            assert scene.subscriber.refusals[Refusal.INACTIVE] == 1
            assert scene.delivered == []

    asyncio.run(run())


def test_a_hub_that_fails_leaves_the_feed_to_polling() -> None:
    async def run() -> None:
        async with Scene() as scene:
            scene.hub.status = 500
            await scene.subscribe()
            assert not scene.subscriber.is_pushed(TOPIC)
            await scene.subscriber.tick()
            assert len(scene.hub.forms) == 1  # not asked again at once
            scene.hub.status = 202
            scene.clock.ahead = 90_000.0
            await scene.subscriber.tick()
            assert scene.subscriber.is_pushed(TOPIC)

    asyncio.run(run())


def test_subscriptions_survive_a_restart() -> None:
    async def run() -> None:
        async with Scene() as scene:
            await scene.subscribe()
            await scene.subscriber.stop()
            scene.subscriber = scene.make()
            await scene.subscriber.start("127.0.0.1", scene.port)
            assert scene.subscriber.is_pushed(TOPIC)
            chunked = hmac.new(scene.hub.forms[0]["hub.secret"].encode(), FEED, hashlib.sha512).hexdigest()
            headers = f"X-Hub-Signature: sha512={chunked}\r\nTransfer-Encoding: chunked\r\n".encode()
            body = b"5\r\n" + FEED[:5] + b"\r\n" + f"{len(FEED) - 5:x}".encode() + b"\r\n" + FEED[5:] + b"\r\n0\r\n\r\n"
            await exchange(scene.hub.forms[0]["hub.callback"], b"POST", headers, body)
            assert scene.delivered == [Pushed(TOPIC, FEED)]

    asyncio.run(run())


def test_whatever_else_speaks_to_the_port_does_no_harm() -> None:
    async def run() -> None:
        async with Scene() as scene:
            await scene.subscribe()
            base = f"http://127.0.0.1:{scene.port}"
            assert (await exchange(base + "/", b"DELETE")).startswith(b"HTTP/1.1 405")
            assert (await exchange(base + "/?hub.mode=subscribe", b"GET")).startswith(b"HTTP/1.1 404")
            callback = scene.hub.forms[0]["hub.callback"]
            assert await exchange(callback, b"POST", b"Transfer-Encoding: chunked\r\n", b"zz\r\n\r\n") == b""
            for length in (b"0" * 20 + b"700000000", b"700000000", b"-5", b"+5", b"1_0", b"\xb2"):  # one byte is sent
                said = await exchange(callback, b"POST", b"Content-Length: " + length + b"\r\n", b"x")
                assert said.startswith(b"HTTP/1.1 400"), length
            assert scene.subscriber.refusals[Refusal.TOO_LARGE] == 6
            reader, writer = await asyncio.open_connection("127.0.0.1", scene.port)
            writer.write(b"\x16\x03\x01" + b"x" * 40_000)
            with_nothing = await reader.read()
            writer.close()
            assert with_nothing == b""
            await scene.hub.push(FEED)
            assert len(scene.delivered) == 1

    limits.take()
    asyncio.run(run())
    assert limits.take() == {"push-bytes": 6, "push-head": 1}


def test_too_many_at_once_are_refused_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with Scene() as scene:
            waiting = [await asyncio.open_connection("127.0.0.1", scene.port) for _ in range(2)]
            while scene.subscriber._connections < 2:
                await asyncio.sleep(0)
            reader, writer = await asyncio.open_connection("127.0.0.1", scene.port)
            assert await reader.read() == b""
            writer.close()
            for _, writer in waiting:
                writer.close()

    limits.take()
    monkeypatch.setattr(push, "MAX_CONNECTIONS", 2)
    asyncio.run(run())
    assert limits.take() == {"push-connections": 1}


def test_too_many_topics_are_polled_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with Scene() as scene:
            for n in range(3):
                scene.subscriber.follow(Topic(f"http://a.test/{n}", scene.address))
            assert len(scene.kept) == 2

    limits.take()
    monkeypatch.setattr(push, "MAX_TOPICS", 2)
    asyncio.run(run())
    assert limits.take() == {"push-topics": 1}


class Site:
    """A site whose feed names a hub; what the hub pushes leads to a page that nothing else names."""

    def __init__(self, hub: str) -> None:
        self.hub = hub
        self.fetched: list[str] = []
        self.found = asyncio.Event()

    async def start(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.2", 0)
        self.base = f"http://127.0.0.2:{self._server.sockets[0].getsockname()[1]}"
        return self.base

    async def stop(self) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode()
        self.fetched.append(path)
        body = {
            "/": b'<html><head><link rel="alternate" type="application/rss+xml" href="/feed"></head></html>',
            "/feed": f'<rss><channel><link rel="hub" href="{self.hub}"/></channel></rss>'.encode(),
            "/new": b"<html><body>News</body></html>",
        }.get(path)
        kind = "application/rss+xml" if path == "/feed" else "text/html"
        head = f"HTTP/1.1 {200 if body else 404} x\r\nContent-Type: {kind}\r\nContent-Length: {len(body or b'')}\r\n"
        writer.write(head.encode() + b"Connection: close\r\n\r\n" + (body or b""))
        await writer.drain()
        writer.close()
        if path == "/new":
            self.found.set()


def test_a_crawl_subscribes_and_fetches_what_is_pushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "TICK", 0.02)

    async def run() -> None:
        async with Scene() as scene:  # for its hub and its transport; the subscriber is the crawl's own
            await scene.subscriber.stop()
            site = Site(scene.address)
            seed = Url.parse(await site.start() + "/")
            settings = CrawlSettings(delay=0.0, websub=scene.port, public_url=f"http://127.0.0.1:{scene.port}/hooks")
            processor = Processor("fyke")
            with Store.open(tmp_path / "s") as store:
                agent = Agent(
                    store,
                    Frontier(Politeness(delay=0.0)),
                    FetchContext(scene.transport, Permissions("fyke"), scene.clock),
                    Rules.of(settings, [seed]),
                    processor,
                    discovery=Discovery(processor, poll=True),
                    options=AgentOptions(patience=float("inf")),
                )
                async with subscriptions.serving(agent, settings, scene.clock):
                    running = asyncio.create_task(agent.run([seed]))
                    while scene.hub.echoed != [True]:
                        await asyncio.sleep(0.01)
                    assert "/new" not in site.fetched
                    assert agent.discovery.subscriber is not None
                    assert agent.discovery.subscriber.is_pushed(site.base + "/feed")
                    await scene.hub.push(FEED.replace(b"http://127.0.0.1/new", site.base.encode() + b"/new"))
                    await site.found.wait()
                    agent.stop()
                    await running
                assert store.get(site.base + "/new") is not None
                known = subscriptions.known(store)
                assert [(s.topic, s.state) for s in known] == [(site.base + "/feed", State.ACTIVE)]
            await site.stop()

    asyncio.run(run())
