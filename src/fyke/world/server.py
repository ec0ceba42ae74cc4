"""A world on loopback: an HTTP/1.1 server that chooses the host by the Host header.

Keep-alive, pipelining, HEAD, POST of forms, gzip, conditional GET; one process, one thread, bodies kept. World time
runs from the world's start at ``speed`` world seconds a second. The host ``control.invalid`` is the server's own: its
``/log`` tells every request since the last ask, ``/time?T`` sets the world's time and stops it there.

    python -m fyke.world.server SETTINGS     (JSON: the world's settings, port, speed)

prints one line with its port, serves until its standard input ends, and ends by itself with its parent.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections import OrderedDict, deque
from dataclasses import replace
from typing import cast

import msgspec

from fyke.world.config import START, WorldConfig
from fyke.world.http import Answer, Fault, make_answer
from fyke.world.transport import ADDRESS, LOG_LENGTH, Visit, response_head
from fyke.world.world import World

CONTROL = "control.invalid"
MAX_HEAD = 16_384
"""Bytes of a request's head, several times what crawlers send, and of what is posted; more is 400."""
SHORTEST_GZIPPED = 256
KEPT_GZIPPED = 4096
"""Gzipped bodies kept."""


class Settings(msgspec.Struct, frozen=True):
    """What a server process is told."""

    world: WorldConfig
    port: int = 0
    """0: any that is free."""
    speed: float = 1.0


class Service:
    """What all connections share: the world, its time, the log."""

    def __init__(self, world: World, speed: float) -> None:
        self._world = world
        self._started = time.monotonic()
        self._speed = speed
        self._fixed: float | None = None
        self.log: deque[Visit] = deque(maxlen=LOG_LENGTH)
        self._gzipped: OrderedDict[int, tuple[bytes, bytes]] = OrderedDict()

    def now(self) -> float:
        """The world's time."""
        if self._fixed is not None:
            return self._fixed
        return START + (time.monotonic() - self._started) * self._speed

    def answer(self, host: str, target: str, etag: str, since: str, form: bytes | None = None) -> Answer:
        """What the world says, or the server itself under its control name."""
        if host != CONTROL:
            return self._world.answer(host, target, self.now(), etag, since, form)
        path, _, query = target.partition("?")
        if path == "/time" and query.replace(".", "", 1).isdecimal():
            self._fixed = float(query)
        if path != "/log":
            return make_answer(200, "text/plain", repr(self.now()).encode(), START)
        visits = list(self.log)
        self.log.clear()
        return make_answer(200, "application/json", msgspec.json.encode(visits), START)

    def wire(self, answer: Answer, gzip: bool, head_only: bool) -> bytes:
        """The bytes of an answer."""
        body, headers = answer.body, answer.headers
        if gzip and answer.status == 200 and len(body) >= SHORTEST_GZIPPED:
            body = self._compressed(body)
            headers = (*headers, ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))
        head = response_head(Answer(answer.status, headers, body))
        return head if head_only or answer.status == 304 else head + body

    def _compressed(self, body: bytes) -> bytes:
        """Kept by identity: the world hands out the same object while a page stands."""
        kept = self._gzipped.get(id(body))
        if kept is None or kept[0] is not body:
            from isal import igzip

            kept = self._gzipped[id(body)] = body, igzip.compress(body, 1)
            if len(self._gzipped) > KEPT_GZIPPED:
                self._gzipped.popitem(last=False)
        return kept[1]


class Connection(asyncio.Protocol):
    """One connection; requests are answered in order."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._buffer = b""
        self._busy = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to answer."""
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Answer no more."""
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """Answer every request that is complete."""
        self._buffer += data
        self._go_on()

    def _go_on(self) -> None:
        while not self._busy and self._transport is not None:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > MAX_HEAD:
                    self._refuse()
                return
            line, *rest = self._buffer[:end].decode("latin-1").split("\r\n")
            fields = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in rest)}
            length = fields.get("content-length", "0")
            if not length.isdecimal() or int(length) > MAX_HEAD:
                self._refuse()
                return
            last = end + 4 + int(length)
            if len(self._buffer) < last:
                return
            posted, self._buffer = self._buffer[end + 4 : last], self._buffer[last:]
            self._request(line.split(" "), fields, posted)

    def _request(self, words: list[str], fields: dict[str, str], posted: bytes) -> None:
        started = time.time()
        if len(words) != 3 or words[0] not in ("GET", "HEAD", "POST") or not words[2].startswith("HTTP/1."):
            self._refuse()
            return
        method, posts = words[0], words[0] == "POST"
        target, host = words[1], fields.get("host", "")
        if target.startswith("http://"):  # a proxy's way of asking
            host, _, target = target[7:].partition("/")
            target = "/" + target
        host = host.partition(":")[0].lower()
        etag, since = fields.get("if-none-match", ""), fields.get("if-modified-since", "")
        answer = self._service.answer(host, target, etag, since, posted if posts else None)
        keep = fields.get("connection", "").lower() != "close" and words[2] == "HTTP/1.1"
        data = self._service.wire(answer, "gzip" in fields.get("accept-encoding", ""), method == "HEAD")
        visit = Visit(host, target, answer.status, started, 0.0, method)
        if answer.latency:
            self._busy = True
            loop = asyncio.get_running_loop()
            loop.call_later(answer.latency, self._send, visit, answer, data, keep)
        else:
            self._send(visit, answer, data, keep)

    def _send(self, visit: Visit, answer: Answer, data: bytes, keep: bool) -> None:
        reset = answer.fault is Fault.RESET
        if visit.host != CONTROL:
            self._service.log.append(replace(visit, status=0 if reset else visit.status, ended=time.time()))
        if self._transport is not None:
            if reset:
                self._transport.abort()
                return
            self._transport.write(data)
            if not keep:
                self._transport.close()
                return
        if self._busy:
            self._busy = False
            self._go_on()

    def _refuse(self) -> None:
        assert self._transport is not None
        body = b"this server speaks GET, HEAD and POST of HTTP/1.1\n"
        head = f"HTTP/1.1 400 Bad Request\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        self._transport.write(head.encode() + body)
        self._transport.close()


async def _serve(settings: Settings) -> None:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((ADDRESS, settings.port))
    except OSError:
        sys.exit(1)  # the parent, which reads no port, says what it means
    port: int = listening.getsockname()[1]
    service = Service(World(settings.world, port), settings.speed)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(service), sock=listening, backlog=1024)
    ended = asyncio.Event()

    class _Parent(asyncio.Protocol):
        def connection_lost(self, exc: Exception | None) -> None:
            ended.set()

    await loop.connect_read_pipe(_Parent, sys.stdin)
    print(port, flush=True)
    async with server:
        await ended.wait()


def main() -> None:
    """Serve as the first argument says, until standard input ends."""
    asyncio.run(_serve(msgspec.json.decode(sys.argv[1], type=Settings)))


if __name__ == "__main__":
    main()
