"""What the tests of WARC share: a writer into memory with counted ids, exchanges, and hand-made records."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

from fyke.formats.damage import Report
from fyke.formats.warc import read_records
from fyke.formats.warc_exchange import Capture, read_captures
from fyke.formats.warc_record import Record
from fyke.formats.warc_write import Compression, WarcWriter, Written
from fyke.values import Exchange

WHEN = 852_081_105.25
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


def ids() -> Callable[[], str]:
    numbers: Iterator[int] = iter(range(1, 10**9))
    return lambda: f"urn:uuid:00000000-0000-4000-8000-{next(numbers):012d}"


def page(n: int, head: bytes = HEAD, body: bytes | None = None) -> Exchange:
    body = b"<p>fish number %d</p>" % n * 5 if body is None else body
    request = b"GET /%d HTTP/1.1\r\nHost: a.example\r\n\r\n" % n
    return Exchange(request, head, body, 200, WHEN + n, WHEN + n, "192.0.2.7")


def warc_of(count: int, compression: Compression = "gzip") -> tuple[bytes, list[Written]]:
    """A file of ``count`` captures."""
    out = io.BytesIO()
    seen: list[Written] = []
    writer = WarcWriter(out, ids(), compression=compression, observe=seen.append)
    writer.warcinfo(WHEN, [("software", "fyke")], "a.warc")
    for n in range(count):
        writer.exchange(f"http://a.example/{n}", page(n), media_type="text/html")
    return out.getvalue(), seen


def records_of(data: bytes, report: Report | None = None) -> list[Record]:
    return list(read_records(io.BytesIO(data), report))


def captures_of(data: bytes, report: Report | None = None) -> list[Capture]:
    return list(read_captures(read_records(io.BytesIO(data), report), report))


def raw_record(n: int, length: int | None = None, version: bytes = b"WARC/1.0", block: bytes | None = None) -> bytes:
    """A response record whose Content-Length may lie."""
    block = HEAD + b"<p>page %d</p>" % n if block is None else block
    return (
        version + b"\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:%d>\r\nWARC-Target-URI: http://a.example/%d\r\n"
        b"WARC-Date: 2020-01-01T00:00:00Z\r\nContent-Type: application/http; msgtype=response\r\n"
        b"Content-Length: %d\r\n\r\n" % (n, n, len(block) if length is None else length)
    ) + block + b"\r\n\r\n"  # fmt: skip
