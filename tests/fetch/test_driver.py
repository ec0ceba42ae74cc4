"""The curl driver: sockets of kept connections stay registered, whoever closes them and whoever gets their number."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from collections.abc import AsyncIterator

import pycurl
import pytest

from fyke.clock import SystemClock
from fyke.fetch.address import AddressPolicy
from fyke.fetch.dns import Resolver
from fyke.fetch.driver import Driver
from fyke.fetch.http import FetchSettings, HttpTransport
from fyke.url import Url
from fyke.values import Fetched, Request
from tests.fetch.servers import raw_server

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


@contextlib.asynccontextmanager
async def transport_to(hosts: int) -> AsyncIterator[HttpTransport]:
    clock = SystemClock()
    names = {f"site{n}.test": "127.0.0.1" for n in range(hosts)}
    transport = HttpTransport(FetchSettings(), Resolver(clock, names), AddressPolicy(allow_private=True), clock)
    try:
        yield transport
    finally:
        await transport.close()


def test_a_server_that_hangs_up_on_a_kept_connection_costs_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, connections = 0, 0
    read = Driver._read

    def counted(self: Driver) -> None:
        nonlocal looks
        looks += 1
        read(self)

    async def handler(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        writer.write(OK)
        await asyncio.sleep(0.05)  # and then hangs up

    async def main() -> None:
        async with raw_server(handler) as port, transport_to(1) as transport:
            request = Request(Url.parse(f"http://127.0.0.1:{port}/"))
            assert isinstance(await transport.fetch(request), Fetched)
            nonlocal looks
            looks = 0
            await asyncio.sleep(0.3)
            assert looks <= 3, "the loop goes round a socket that is closed"
            assert isinstance(await transport.fetch(request), Fetched)
        assert connections == 2

    monkeypatch.setattr(Driver, "_read", counted)
    asyncio.run(main())


def test_a_closed_socket_that_another_process_holds_costs_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a program that forks while it crawls: here a duplicate of the socket lives on."""
    looks, read = 0, Driver._read

    def counted(self: Driver) -> None:
        nonlocal looks
        looks += 1
        read(self)

    async def handler(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        await asyncio.sleep(0.1)  # and then hangs up

    async def main() -> None:
        async with raw_server(handler) as port, transport_to(2) as transport:
            first, second = (Request(Url.parse(f"http://site{n}.test:{port}/")) for n in range(2))
            assert isinstance(await transport.fetch(first), Fetched)
            driver = transport._driver
            assert driver is not None
            held = os.dup(max(driver._resting))
            try:
                driver._multi.setopt(pycurl.M_MAXCONNECTS, 1)
                assert isinstance(await transport.fetch(second), Fetched)  # the first connection is closed for it
                nonlocal looks
                looks = 0
                await asyncio.sleep(0.4)
                assert looks <= 6, "the loop goes round a socket that is closed"
                assert isinstance(await transport.fetch(first), Fetched)
            finally:
                os.close(held)

    monkeypatch.setattr(Driver, "_read", counted)
    asyncio.run(main())


def test_kept_and_closed_connections_in_any_order() -> None:
    """Numbers of sockets are given anew all the time; no answer is missed, and kept connections are used again."""
    chance, connections = random.Random(7), 0

    async def handler(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while True:
            closes = chance.random() < 0.3
            writer.write(OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") if closes else OK)
            await writer.drain()
            if closes or chance.random() < 0.2:  # without a word
                return
            await reader.readuntil(b"\r\n\r\n")

    async def main() -> None:
        async with raw_server(handler) as port, transport_to(8) as transport:

            async def visit(host: str) -> None:
                for turn in range(40):
                    request = Request(Url.parse(f"http://{host}:{port}/{turn}"))
                    outcome = await asyncio.wait_for(transport.fetch(request), 10)
                    assert isinstance(outcome, Fetched), outcome
                    await asyncio.sleep(chance.choice((0, 0, 0.001, 0.01)))

            await asyncio.gather(*(visit(f"site{n}.test") for n in range(8)))
        assert 8 < connections < 240

    asyncio.run(main())
