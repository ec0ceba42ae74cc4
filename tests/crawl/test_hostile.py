"""A hostile server stops nothing and costs bounded time and memory; whatever it does has a reason that is counted."""

from __future__ import annotations

import asyncio
import gzip
import resource
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fyke.assemble import crawl
from fyke.crawl.run.summary import Summary
from fyke.store import Store

MILLION = 1_000_000
NESTED = b"<html><body>" + b"<div>" * 200_000 + b'<a href="/deep">deep</a>'
MANY = b"".join(b'<a href="/many/%d">x</a>' % i for i in range(100_000))


class Hostile:
    """Serves traps, each on a host of its own, from a thread."""

    PAGES = (
        ("long", "/"), ("bomb", "/"), ("forever", "/0"), ("inside", "/"), ("many", "/"), ("nested", "/"),
        ("headers", "/"), ("junk", "/"), ("fine", "/"),
    )  # fmt: skip
    """What is answered, at once."""
    HELD_UP = (("silent", "/"), ("drip", "/"), ("reset", "/"), ("down", "/"))
    """What is not, and is tried again later."""

    def __init__(self) -> None:
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait()

    def crawl(self, pages: tuple[tuple[str, str], ...], store: Path, **options: Any) -> Summary:
        # Every host is named by a seed, since loopback is private; 10.0.0.1 is not.
        seeds = [f"http://{name}.test:{self.port}{path}" for name, path in pages]
        resolve = tuple(f"{name}.test:127.0.0.1" for name, _ in pages)
        return crawl(seeds, store, scope="any", delay=0.0, agents=1, resolve=resolve, allow_private=False, **options)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    def _run(self) -> None:
        self._loop.run_until_complete(self._main())
        self._loop.close()

    async def _main(self) -> None:
        self._end = asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._end.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            target = head.split(" ")[1]
            host = head.lower().split("host: ")[1].split("\r\n")[0].split(":")[0].removesuffix(".test")
            if target == "/robots.txt" and host != "down":
                writer.write(_answer(b"", "404 Not Found"))
            else:
                await self._page(host, target, reader, writer)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _page(self, host: str, target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if host == "silent":
            await reader.read()
        elif host == "drip":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
            while not reader.at_eof():
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.2)
        elif host == "reset":
            writer.transport.abort()
        elif host == "long":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99999\r\n\r\n<p>short")
        elif host == "bomb":
            body = gzip.compress(bytes(50 * MILLION))
            writer.write(_answer(body, extra="Content-Encoding: gzip\r\n"))
        elif host == "forever":
            writer.write(_answer(b"", "302 Found", f"Location: /{int(target[1:]) + 1}\r\n"))
        elif host == "inside":
            writer.write(_answer(b"", "302 Found", "Location: http://10.0.0.1/secret\r\n"))
        elif host == "headers":
            writer.write(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200_000 + b"\r\n")
        elif host == "junk":
            writer.write(b"\x00\xff" * 1000)
        elif host == "down":
            writer.write(_answer(b"", "503 Service Unavailable"))
        else:
            page = {"many": MANY, "nested": NESTED, "fine": b"<title>fine</title>"}[host] if target == "/" else b"leaf"
            writer.write(_answer(page))


def _answer(body: bytes, status: str = "200 OK", extra: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\n{extra}Content-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.fixture
def hostile() -> Iterator[Hostile]:
    server = Hostile()
    yield server
    server.close()


def test_a_hostile_web_is_survived(hostile: Hostile, tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    summary = hostile.crawl(Hostile.PAGES, tmp_path / "s", max_host_pages=60, max_body=5 * MILLION)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    with Store.open(tmp_path / "s", "r") as store:
        rows = {row.url: row.meta for row in store.scan(parts=())}
    at = {name: rows.get(f"http://{name}.test:{hostile.port}{path}") for name, path in Hostile.PAGES}
    assert grown < 400, f"{grown:.0f} MB"
    assert at["fine"] is not None
    assert at["fine"].title == "fine"
    assert at["bomb"] is not None
    assert (at["bomb"].length, at["bomb"].truncated) == (5 * MILLION, True)
    assert at["long"] is not None
    assert at["long"].truncated, "asked for again, and cut short each time"
    assert rows["http://10.0.0.1/secret"].error == "private-address"
    assert f"http://nested.test:{hostile.port}/deep" in rows
    assert summary.dropped["redirects"] == 1
    many = sum(url.startswith(f"http://many.test:{hostile.port}/") for url in rows)
    assert 50 < many <= 60, (at["many"] and at["many"].error, summary)
    assert summary.dropped["host-pages"] > 1000
    for name in ("junk", "headers"):
        meta = at[name]
        assert meta is not None
        assert meta.error in {"protocol", "reset"}


def test_who_does_not_answer_holds_up_nobody(hostile: Hostile, tmp_path: Path) -> None:
    """Without patience for a second try the crawl ends, whatever each of them does."""
    summary = hostile.crawl(Hostile.HELD_UP, tmp_path / "s", patience=0.0, stall_timeout=1.0, fetch_timeout=2.0)
    assert summary.ended == "done"
    assert summary.deferred == summary.queued > 0
    assert summary.status == 1
    assert "not asked for yet" not in summary.failed_seeds.values()
    assert summary.pages == 0
    with Store.open(tmp_path / "s", "r") as store:
        errors = {row.url: row.meta.error for row in store.scan(parts=()) if row.version}
    assert set(errors.values()) <= {"timeout", "reset"}
    assert f"http://down.test:{hostile.port}/" not in errors, "robots.txt answers 503: nothing may be fetched"
