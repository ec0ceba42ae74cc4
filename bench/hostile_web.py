"""A hostile web on loopback for ``bench.hostile``: each case is a host, answered by a function of its own."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from bench.hostile_bodies import CHUNK
from bench.hostile_h2 import SETTINGS, frame, requests_h2

Answer = Callable[[str, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class Case:
    """A host of the hostile web."""

    answer: Answer
    """Given the target, answers a request other than that for robots.txt."""
    port: str = "http"
    """Which of the servers it is on: ``http``, ``h2``, or a TLS fault."""
    robots: bool = False
    """Whether robots.txt is answered by it as well."""
    body: Callable[[], bytes] | None = None
    """Made before it is asked for, where that takes long."""


def head(length: int | None, kind: str = "text/html", extra: str = "", status: str = "200 OK") -> bytes:
    size = "" if length is None else f"Content-Length: {length}\r\n"
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{extra}{size}Connection: close\r\n\r\n".encode()


def whole(body: Callable[[], bytes], kind: str = "text/html", encoding: str = "", robots: bool = False) -> Case:
    """Answers with a body that is made once."""
    extra = f"Content-Encoding: {encoding}\r\n" if encoding else ""
    once = cache(body)

    async def answer(target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if target != "/" and not robots:
            writer.write(head(0, status="404 Not Found"))
            return
        data = once()
        writer.write(head(len(data), kind, extra))
        for at in range(0, len(data), CHUNK):
            writer.write(data[at : at + CHUNK])
            await writer.drain()

    return Case(answer, robots=robots, body=once)


def endless(first: bytes, piece: bytes, pause: float = 0.0, times: int = 1 << 40) -> Answer:
    """Sends ``first``, then ``piece`` again and again for as long as somebody listens."""

    async def answer(target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        for _ in range(times):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)

    return answer


def moved(where: Callable[[str], str], extra: Callable[[str], str] = lambda target: "") -> Answer:
    async def answer(target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head(0, extra=f"Location: {where(target)}\r\n{extra(target)}", status="302 Found"))

    return answer


def made(page: Callable[[str], bytes], extra: str = "") -> Answer:
    """A page for every target."""

    async def answer(target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = page(target)
        writer.write(head(len(data), extra=extra) + data)

    return answer


async def silent(target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def reset(target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


def raw(data: bytes) -> Answer:
    return endless(data, b"", times=0)


def h2(first: Callable[[int], bytes], again: Callable[[int], bytes] = lambda stream: b"") -> Answer:
    """Sends the frames of ``first(stream)`` to a request, then ``again(stream)`` for as long as somebody listens."""

    async def answer(target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        stream = int(target)
        writer.write(first(stream))
        await writer.drain()
        while more := again(stream):
            writer.write(more)
            await writer.drain()
            await asyncio.sleep(0)

    return answer


class Web:
    """Serves cases from a thread: plain, over HTTP/2, and with each fault of TLS on a port of its own."""

    FAULTS = ("expired", "unknown", "cut", "garbage", "mute")

    def __init__(self, cases: dict[str, Case], folder: Path) -> None:
        self.ports: dict[str, int] = {}
        self.authority = folder / "trusted.pem"
        self._cases = cases
        self._folder = folder
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._main(),), daemon=True)
        certificates(folder, [f"{name}.test" for name in cases])
        self._thread.start()
        assert self._ready.wait(60)

    def url(self, name: str) -> str:
        port = self._cases[name].port
        return f"http{'' if port == 'http' else 's'}://{name}.test:{self.ports[port]}/"

    def prepare(self, name: str) -> None:
        """Make a case's body, so that nobody waits for it."""
        body = self._cases[name].body
        if body is not None:
            body()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()
        self._loop.close()

    async def _main(self) -> None:
        self._end = asyncio.Event()
        secure = self._context("ca", "h2")
        kinds: dict[str, tuple[Callable[..., Awaitable[None]], ssl.SSLContext | None]] = {
            "http": (self._serve, None),
            "h2": (self._serve_h2, secure),
            "expired": (self._serve, self._context("expired")),
            "unknown": (self._serve, self._context("unknown")),
            "cut": (self._cut, None),
            "garbage": (self._garbage, None),
            "mute": (self._mute, None),
        }
        servers = [await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls) for serve, tls in kinds.values()]
        self.ports = {kind: each.sockets[0].getsockname()[1] for kind, each in zip(kinds, servers, strict=True)}
        self._ready.set()
        await self._end.wait()
        for server in servers:
            server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _context(self, name: str, protocol: str = "http/1.1") -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._folder / f"{name}.pem", self._folder / "key.pem")
        context.set_alpn_protocols([protocol])
        context.sni_callback = lambda tls, wanted, _: setattr(tls, "wanted", str(wanted).removesuffix(".test"))
        return context

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            asked = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            target = asked.split(" ")[1]
            name = asked.lower().split("host: ")[1].split("\r\n")[0].split(":")[0].removesuffix(".test")
            case = self._cases[name]
            if target == "/robots.txt" and not case.robots:
                writer.write(head(0, status="404 Not Found"))
            else:
                await case.answer(target, reader, writer)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            pass
        finally:
            writer.close()

    async def _serve_h2(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name = writer.get_extra_info("ssl_object").wanted
        try:
            writer.write(SETTINGS)
            async for stream, is_page in requests_h2(reader):
                if is_page:
                    await self._cases[name].answer(str(stream), reader, writer)
                else:
                    writer.write(frame(1, 5, stream, b"\x8d"))  # :status 404
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            pass
        finally:
            writer.close()

    async def _cut(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.transport.abort()

    async def _garbage(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x16\x03\x03\xff\xff" + bytes(range(256)) * 400)
        writer.close()

    async def _mute(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.read()
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass
        finally:
            writer.close()


def certificates(folder: Path, names: list[str]) -> None:
    """One key; a certificate for ``names`` that is its own authority, one of nobody's, and one out of date."""
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "key.pem").write_bytes(private)
    day, now = timedelta(days=1), datetime.now(UTC)
    for file, title, end in (
        ("ca", "a web", now + day),
        ("unknown", "nobody", now + day),
        ("expired", "old", now - day),
    ):
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, title)])
        builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - 9 * day, end)
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(each) for each in names]), False)
        made_of = builder.add_extension(x509.BasicConstraints(True, None), True).sign(key, SHA256())
        (folder / f"{file}.pem").write_bytes(made_of.public_bytes(Encoding.PEM))
    trusted = (folder / "ca.pem").read_bytes() + (folder / "expired.pem").read_bytes()
    (folder / "trusted.pem").write_bytes(trusted)
