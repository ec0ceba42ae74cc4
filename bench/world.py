"""Requests/s of a served world on one core, and pages made per second: what later benches stand on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import cast

import psutil

from bench.measure import best_cpu, figure, table
from fyke.world import World, WorldConfig
from fyke.world.config import START
from fyke.world.serve import Served, serve

CONFIG = WorldConfig(slow=False, flaky=False)
CONNECTIONS = 32
ROUNDS = 10


class Client(asyncio.Protocol):
    """One keep-alive connection that asks for one thing after another and reads by Content-Length."""

    def __init__(self, requests: Sequence[bytes], done: asyncio.Future[int]) -> None:
        self._requests = iter(requests)
        self._done = done
        self._buffer = b""
        self._missing = -1
        self._bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(next(self._requests))

    def data_received(self, data: bytes) -> None:
        self._bytes += len(data)
        if self._missing < 0:
            self._buffer += data
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            at = self._buffer.find(b"Content-Length: ")
            length = int(self._buffer[at + 16 : self._buffer.find(b"\r", at)]) if 0 <= at < end else 0
            self._missing = end + 4 + length - len(self._buffer)
            self._buffer = b""
        else:
            self._missing -= len(data)
        if self._missing == 0:
            self._missing = -1
            following = next(self._requests, None)
            if following is None:
                self._transport.close()
                self._done.set_result(self._bytes)
            else:
                self._transport.write(following)


async def hammer(port: int, requests: list[bytes]) -> int:
    loop = asyncio.get_running_loop()
    futures: list[asyncio.Future[int]] = []
    for k in range(CONNECTIONS):
        futures.append(loop.create_future())
        await loop.create_connection(lambda k=k: Client(requests[k::CONNECTIONS], futures[k]), "127.0.0.1", port)  # type: ignore[misc]
    return sum(await asyncio.gather(*futures))


def served_row(name: str, served: Served, requests: list[bytes]) -> list[object]:
    process = psutil.Process(served.process)
    before, started = sum(process.cpu_times()[:2]), time.perf_counter()
    size = asyncio.run(hammer(served.port, requests))
    wall, cpu = time.perf_counter() - started, sum(process.cpu_times()[:2]) - before
    served.log()
    return [name, f"{len(requests) / cpu:,.0f}", f"{len(requests) / wall:,.0f}", f"{size / len(requests) / 1000:.1f}"]


def serving() -> None:
    rows = []
    with serve(CONFIG) as served:
        served.set_time(START)
        urls = sorted(served.world.expected(served.world.seeds).pages)

        def asked(more: str) -> list[bytes]:
            parts = [u.split("/", 3) for u in urls]
            return [f"GET /{p[3]} HTTP/1.1\r\nHost: {p[2]}\r\n{more}\r\n".encode() for p in parts]

        rows.append(served_row("each page once", served, asked("")))
        best = [served_row("again, kept", served, asked("") * ROUNDS) for _ in range(3)]
        rows.append(max(best, key=lambda row: float(str(row[1]).replace(",", ""))))
        served_row("", served, asked("Accept-Encoding: gzip\r\n"))
        rows.append(served_row("again, gzip", served, asked("Accept-Encoding: gzip\r\n") * ROUNDS))
    figure("requests served, kept pages", "per CPU s", float(str(rows[1][1]).replace(",", "")))
    print(table(["served", "requests per CPU second of the server", "requests/s by the clock", "KB each"], rows))


def making() -> None:
    urls = [u.split("/", 3) for host in World(CONFIG).hosts for u in World(CONFIG).pages(host.name)][:3000]

    def pages() -> None:
        world = World(CONFIG)
        for part in urls:
            world.answer(part[2], "/" + part[3], START)

    def truths() -> None:
        world = World(CONFIG)
        for part in urls:
            world.truth("/".join(part), START)

    rows: list[list[object]] = [
        [name, f"{len(urls) / best_cpu(work, 3):,.0f}"]
        for name, work in (("pages made, nothing kept", pages), ("truths told", truths))
    ]
    started = time.process_time()
    large = World(WorldConfig(hosts=200, pages=100_000, slow=False, flaky=False))
    found = len(large.expected(large.seeds).pages)
    rows.append(
        [f"pages of expected() over 100,000 ({found:,} found)", f"{found / (time.process_time() - started):,.0f}"]
    )
    print("\n" + table(["what", "per CPU second"], rows))


def main() -> None:
    serving()
    making()


if __name__ == "__main__":
    main()
