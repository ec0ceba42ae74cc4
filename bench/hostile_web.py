"""A hostile web on loopback for ``bench.hostile``: each case is a host, answered by a function of its own."""

# ruff: noqa: E501 - documents as they are

from __future__ import annotations

import asyncio
import gzip
import io
import ssl
import struct
import threading
import zipfile
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import brotli
import zstandard
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

MILLION = 1_000_000
BODY = 1_000 * MILLION
"""Bytes of what a bomb expands to, and of a body that is just long."""
CHUNK = MILLION
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


# ---- bodies


def _pieces(total: int = BODY, text: bytes = b"") -> Iterator[bytes]:
    piece = (text * (CHUNK // len(text) + 1))[:CHUNK] if text else bytes(CHUNK)
    return (piece for _ in range(total // CHUNK))


@cache
def gzip_bomb() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(piece) for piece in _pieces()) + packer.flush()


@cache
def deflate_bomb() -> bytes:
    packer = zlib.compressobj(9)
    return b"".join(packer.compress(piece) for piece in _pieces()) + packer.flush()


@cache
def members() -> bytes:
    return gzip.compress(b"<p>one member and its words " * 4) * 100_000


@cache
def member_bomb() -> bytes:
    return gzip.compress(bytes(10 * MILLION), 9) * 100


@cache
def brotli_bomb() -> bytes:
    packer = brotli.Compressor(quality=5)
    return bytes(b"".join(packer.process(piece) for piece in _pieces()) + packer.finish())


@cache
def zstd_bomb() -> bytes:
    packer = zstandard.ZstdCompressor(level=3).compressobj()
    return b"".join(packer.compress(piece) for piece in _pieces()) + packer.flush()


@cache
def zstd_window() -> bytes:
    options = zstandard.ZstdCompressionParameters.from_level(3, window_log=27)
    packer = zstandard.ZstdCompressor(compression_params=options).compressobj()
    return b"".join(packer.compress(piece) for piece in _pieces(200 * MILLION)) + packer.flush()


@cache
def twice() -> bytes:
    return gzip.compress(gzip_bomb(), 9)


@cache
def html_bomb() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(piece) for piece in _pieces(text=b"<p>a <b>word</b> of it ")) + packer.flush()


def repeated(text: str, before: str = "", after: str = "", size: int = 20 * MILLION) -> Callable[[], bytes]:
    def body() -> bytes:
        return (before + text * (size // len(text)) + after).encode()

    return body


def many_links(size: int = 20 * MILLION) -> bytes:
    return b"".join(b'<a href="/%d">x</a>' % i for i in range(size // 24))


def many_attributes() -> bytes:
    return b"<p " + b" ".join(b"a%d=b" % i for i in range(1_200_000)) + b">x"


def entities_xml() -> bytes:
    doctype = b'<!DOCTYPE a [<!ENTITY x0 "lol">' + b"".join(
        b'<!ENTITY x%d "%s">' % (i, b"&x%d;" % (i - 1) * 10) for i in range(1, 12)
    )
    return b'<?xml version="1.0"?>' + doctype + b"]><a>&x11;</a>"


@cache
def pdf_pages() -> bytes:
    """A PDF of many pages, each a long text."""
    text = b"BT /F1 12 Tf 72 720 Td " + b"(some words of a page) Tj 0 -1 Td " * 2000 + b"ET"
    return _pdf([text] * 400)


@cache
def pdf_bomb() -> bytes:
    """A PDF whose stream expands to a gigabyte."""
    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(piece) for piece in _pieces(text=b"(a) Tj ")) + packer.flush()
    return _pdf([data], b"/Filter /FlateDecode ")


def _pdf(streams: list[bytes], extra: bytes = b"") -> bytes:
    kids = b" ".join(b"%d 0 R" % (4 + 2 * i) for i in range(len(streams)))
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(streams), kids)]
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for i, stream in enumerate(streams):
        box = b"/MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>"
        objects.append(b"<< /Type /Page /Parent 2 0 R %s /Contents %d 0 R >>" % (box, 5 + 2 * i))
        objects.append(b"<< %s/Length %d >>\nstream\n%s\nendstream" % (extra, len(stream), stream))
    out, offsets = io.BytesIO(), []
    out.write(b"%PDF-1.4\n")
    for i, each in enumerate(objects):
        offsets.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (i + 1, each))
    at = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % offset for offset in offsets))
    out.write(b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, at))
    return out.getvalue()


def zipped(*parts: tuple[str, bytes, bytes, int]) -> bytes:
    """A zip of (name, before, repeated, size)."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as pack:
        for name, before, text, size in parts:
            with pack.open(name, "w", force_zip64=True) as member:
                member.write(before)
                for piece in _pieces(max(size, CHUNK), text):
                    member.write(piece)
    return out.getvalue()


_TYPES = b"""<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override
PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>"""
_RELS = b"""<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship
Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>"""
_WORD = b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
_PARAGRAPH = b"<w:p><w:r><w:t>some words of a paragraph</w:t></w:r></w:p>"


def docx(size: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as pack:
        pack.writestr("[Content_Types].xml", _TYPES)
        pack.writestr("_rels/.rels", _RELS)
        with pack.open("word/document.xml", "w", force_zip64=True) as member:
            member.write(_WORD)
            for _ in range(size // CHUNK):
                member.write(_PARAGRAPH * (CHUNK // len(_PARAGRAPH)))
            member.write(b"</w:body></w:document>")
    return out.getvalue()


@cache
def docx_bomb() -> bytes:
    return docx(BODY)


@cache
def docx_large() -> bytes:
    return docx(60 * MILLION)


@cache
def zip_bomb() -> bytes:
    return zipped(("a.txt", b"", b"words of a text ", BODY))


@cache
def zip_many() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as pack:
        for i in range(50_000):
            pack.writestr(f"{i}.txt", "some words")
    return out.getvalue()


@cache
def zip_nested() -> bytes:
    data = zip_bomb()
    for i in range(8):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as pack:
            pack.writestr(f"{i}.zip", data)
        data = out.getvalue()
    return data


# ---- HTTP/2, by hand: what a library would not send


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack("!I", len(payload))[1:] + bytes((kind, flags)) + struct.pack("!I", stream) + payload


SETTINGS, OK, TYPE = frame(4, 0, 0), b"\x88", b"\x5f\x09text/html"  # :status 200; content-type, a literal
FIELD = b"\x00\x08x-filler\x7f\x9e\x01" + b"v" * 285
"""A header line of some 300 bytes."""


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


def indexed(block: bytes) -> set[int]:
    """The numbers of HPACK's table that a block names whole: 4 is ``:path: /``."""
    found, at = set(), 0

    def integer(bits: int) -> int:
        nonlocal at
        value = block[at] & (1 << bits) - 1
        at += 1
        if value == (1 << bits) - 1:
            shift = 0
            while True:
                value += (block[at] & 127) << shift
                shift, at = shift + 7, at + 1
                if block[at - 1] < 128:
                    break
        return value

    while at < len(block):
        first = block[at]
        if first & 0x80:
            found.add(integer(7))
        elif first & 0xE0 == 0x20:
            integer(5)
        else:
            strings = 1 if integer(6 if first & 0x40 else 4) else 2
            for _ in range(strings):
                at += integer(7)
    return found


async def requests_h2(reader: asyncio.StreamReader) -> AsyncIterator[tuple[int, bool]]:
    """The streams that begin, and whether the path that they ask for is ``/``."""
    await reader.readexactly(24)
    while True:
        start = await reader.readexactly(9)
        payload = await reader.readexactly(int.from_bytes(start[:3], "big"))
        if start[3] == 1:
            block = payload[5 * (start[4] >> 5 & 1) :]  # without a priority
            yield int.from_bytes(start[5:9], "big"), 4 in indexed(block)


# ---- the servers


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
