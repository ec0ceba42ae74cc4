"""WARC out: every capture of a store, and its CDXJ index beside the file."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import fyke
from fyke.formats.cdxj import IndexLine, index_line, sorted_lines
from fyke.formats.warc_exchange import IDENTICAL_PAYLOAD, NOT_MODIFIED, Original
from fyke.formats.warc_record import sha1_text
from fyke.formats.warc_write import Compression, WarcWriter
from fyke.store.cells import EXACT, Page
from fyke.store.importing import REQUEST, RESPONSE
from fyke.store.row import Row
from fyke.values import Exchange


def index_of(path: Path) -> Path:
    """Where the CDXJ index of a WARC file is written."""
    return path.with_name(f"{path.name}.cdxj")


def to_warc(rows: Iterator[Row], path: Path, name: str) -> int:
    """Write every version of ``rows`` to ``path``, which will be called ``name``; return how many."""
    lines: list[IndexLine] = []
    count = 0
    with path.open("wb") as file:
        compression: Compression = "gzip" if name.endswith(".gz") else "zstd" if name.endswith(".zst") else ""
        writer = WarcWriter(
            file,
            lambda: f"urn:uuid:{uuid.uuid4()}",
            compression=compression,
            observe=lambda written: lines.append(index_line(written, name)),
        )
        about = [("software", f"fyke/{fyke.__version__}"), ("format", "WARC File Format 1.1")]
        writer.warcinfo(time.time(), about, name)
        for row in rows:
            for version in row.history():
                count += _capture(writer, version)
    index = b"".join(line if line.endswith(b"\n") else line + b"\n" for line in sorted_lines(lines))
    index_of(path).write_bytes(index)
    return count


def _capture(writer: WarcWriter, row: Row) -> int:
    version = row.version
    if version is None or not version.page:
        return 0
    meta, page = row.meta, row.page
    assert page is not None
    original = None
    if version.page != version.stamp:
        sent = {cell.column: cell.value for cell in row.cells_at(version.stamp)}
        page = Page(sent.get(REQUEST, b""), sent.get(RESPONSE, b""), b"")
        profile = NOT_MODIFIED if meta.status == 304 else IDENTICAL_PAYLOAD
        original = Original(profile, row.url, version.page / 1e6)
    elif meta.duplicate_of and (meta.duplicate_by == EXACT or not page.body):
        original = Original(IDENTICAL_PAYLOAD, meta.duplicate_of)
    writer.exchange(
        row.url,
        exchange_of(row, page),
        original=original,
        media_type=meta.type,
        docno=meta.docno,
        digest=sha1_text(meta.digest) if len(meta.digest) == 20 else "",
    )
    return 1


def exchange_of(row: Row, page: Page) -> Exchange:
    """A stored page as it went over the wire."""
    meta, when = row.meta, row.stamp / 1e6
    return Exchange(
        page.request_head, page.response_head, page.body, meta.status, when, when, meta.address, meta.truncated
    )
