"""WARC and TREC: fyke's writing and reading in µs per page, beside fastwarc bare and warcio, on the same records."""

from __future__ import annotations

import gzip
import io
import itertools
import random
from collections.abc import Callable
from typing import Any

from fastwarc.stream_io import GzipWriter, ZstdWriter
from fastwarc.warc import ArchiveIterator as FastIterator
from fastwarc.warc import WarcRecord, WarcRecordType
from warcio.archiveiterator import ArchiveIterator as WarcioIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter as WarcioWriter

from bench.measure import SHARED, best_cpu, figure, table
from fyke.formats.cdxj import IndexLine, index_line, lookup, sorted_lines
from fyke.formats.trec import read_trec, web_document, write_trec
from fyke.formats.warc import read_record_at, read_records
from fyke.formats.warc_exchange import read_captures
from fyke.formats.warc_write import WarcWriter
from fyke.values import Exchange

COUNT = 400
LENGTH = 24_000
HEAD = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/html; charset=utf-8\r\nContent-Encoding: gzip\r\n\r\n"


def pages(count: int) -> list[bytes]:
    """Real pages from the public test data beside the project, or made ones where it is absent."""
    found = sorted((SHARED / "data" / "extract" / "wcxb-dev").rglob("*.html.gz"))[:count]
    if len(found) == count:
        return [gzip.decompress(path.read_bytes())[:LENGTH] for path in found]
    chance = random.Random(1)
    words = [f"w{chance.randrange(10**5)}" for _ in range(5000)]
    return [
        ("<p class='text'>" + " ".join(chance.choices(words, k=LENGTH // 7))).encode()[:LENGTH] for _ in range(count)
    ]


def new_ids() -> Callable[[], str]:
    numbers = itertools.count()
    return lambda: f"urn:uuid:00000000-0000-4000-8000-{next(numbers):012d}"


def fyke_write(bodies: list[bytes], compression: str) -> tuple[bytes, list[IndexLine]]:
    out = io.BytesIO()
    lines: list[IndexLine] = []
    writer = WarcWriter(
        out, new_ids(), compression=compression, observe=lambda w: lines.append(index_line(w, "a.warc"))  # type: ignore[arg-type]
    )  # fmt: skip
    for n, body in enumerate(bodies):
        exchange = Exchange(b"", HEAD, body, 200, 1.7e9 + n, 1.7e9 + n, "192.0.2.1")
        writer.exchange(f"http://h{n % 20}.example/{n}", exchange, media_type="text/html")
    return out.getvalue(), lines


def fastwarc_write(bodies: list[bytes], make: Callable[[io.BytesIO], GzipWriter | ZstdWriter]) -> bytes:
    out = io.BytesIO()
    stream = make(out)
    for n, body in enumerate(bodies):
        record = WarcRecord()
        record.init_headers(WarcRecordType.response)
        record.headers["WARC-Target-URI"] = f"http://h{n % 20}.example/{n}"
        record.headers["WARC-IP-Address"] = "192.0.2.1"
        record.is_http = True
        record.set_bytes_content(HEAD + body)
        record.write(stream, checksum_data=True)
        stream.finish()
    stream.flush()
    return out.getvalue()


def warcio_write(bodies: list[bytes]) -> bytes:
    out = io.BytesIO()
    writer = WarcioWriter(out, gzip=True)
    for n, body in enumerate(bodies):
        headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
        url = f"http://h{n % 20}.example/{n}"
        writer.write_record(writer.create_warc_record(url, "response", payload=io.BytesIO(body), http_headers=headers))
    return out.getvalue()


def fastwarc_read(data: bytes) -> int:
    return sum(len(r.reader.read()) for r in FastIterator(io.BytesIO(data), parse_http=True) if r.headers)


def warcio_read(data: bytes) -> int:
    return sum(len(r.content_stream().read()) for r in WarcioIterator(io.BytesIO(data)))


def main() -> None:
    bodies = pages(COUNT)
    packed, lines = fyke_write(bodies, "gzip")
    zipped, _ = fyke_write(bodies, "zstd")
    index = io.BytesIO(b"".join(sorted_lines(lines)))
    documents = [
        web_document(f"D-{n}", f"http://a.example/{n}", Exchange(b"", HEAD, body, 200, 1e9, 1e9, "192.0.2.1"))
        for n, body in enumerate(bodies)
    ]
    trec = io.BytesIO()
    for document in documents:
        write_trec(document, trec)

    def find_each() -> None:
        for line in lines:
            (found,) = lookup(index, line.url)
            read_record_at(io.BytesIO(packed), found.offset)

    runs: dict[str, tuple[Callable[[], object], str]] = {
        "write gzip: fyke, with CDXJ": (lambda: fyke_write(bodies, "gzip"), "wg"),
        "write gzip: fastwarc, level 6": (lambda: fastwarc_write(bodies, lambda o: GzipWriter(o, 6)), "wg"),
        "write gzip: fastwarc, level 1": (lambda: fastwarc_write(bodies, lambda o: GzipWriter(o, 1)), "wg"),
        "write gzip: warcio": (lambda: warcio_write(bodies), "wg"),
        "write zstd: fyke, with CDXJ": (lambda: fyke_write(bodies, "zstd"), "wz"),
        "write zstd: fastwarc": (lambda: fastwarc_write(bodies, ZstdWriter), "wz"),
        "read gzip: fyke, captures": (lambda: sum(1 for _ in captures(packed)), "rg"),
        "read gzip: fyke, records": (lambda: sum(1 for _ in read_records(io.BytesIO(packed))), "rg"),
        "read gzip: fastwarc": (lambda: fastwarc_read(packed), "rg"),
        "read gzip: warcio": (lambda: warcio_read(packed), "rg"),
        "read zstd: fyke, captures": (lambda: sum(1 for _ in captures(zipped)), "rz"),
        "read zstd: fastwarc": (lambda: fastwarc_read(zipped), "rz"),
        "one page by URL: CDXJ + gzip member": (find_each, "x"),
        "TREC write": (lambda: [write_trec(d, io.BytesIO()) for d in documents], "t"),
        "TREC read": (lambda: sum(1 for _ in read_trec(io.BytesIO(trec.getvalue()))), "t"),
    }
    first: dict[str, float] = {}
    rows = []
    for name, (work, group) in runs.items():
        cost = best_cpu(work, 3) / COUNT * 1e6
        rows.append([name, cost, cost / first.setdefault(group, cost)])
    costs: dict[str, Any] = {str(name): value for name, value, _ in rows}
    for group, own in (("write gzip", "fyke, with CDXJ"), ("read gzip", "fyke, captures")):
        peers = {n.split(": ")[1]: v for n, v in costs.items() if n.startswith(group) and "fyke" not in n}
        figure(f"WARC: {group}, a page", "µs", costs[f"{group}: {own}"], peers)
    print(f"{COUNT} pages of {sum(map(len, bodies)) // COUNT:,} bytes\n")
    print(table(["what", "µs per page", "× fyke's first"], rows))
    print()
    print(table(["file", "bytes per page"], sizes(bodies, {"fyke gzip": packed, "fyke zstd": zipped})))


def sizes(bodies: list[bytes], ours: dict[str, bytes]) -> list[list[object]]:
    """Bytes of a page in our files, and in those of others."""
    written = {
        **ours,
        "fastwarc gzip 6": fastwarc_write(bodies, lambda o: GzipWriter(o, 6)),
        "fastwarc gzip 1": fastwarc_write(bodies, lambda o: GzipWriter(o, 1)),
        "warcio gzip": warcio_write(bodies),
    }
    return [[name, len(data) // COUNT] for name, data in written.items()]


def captures(data: bytes):  # type: ignore[no-untyped-def]
    return read_captures(read_records(io.BytesIO(data)))


if __name__ == "__main__":
    main()
