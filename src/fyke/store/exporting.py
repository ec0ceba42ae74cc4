"""Export: a store as WARC (every version), TREC Web, JSON lines or Parquet (the newest versions), by the file's ending.

The file appears when it is whole: it is written under another name beside it and renamed. WARC gets its CDXJ index.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec
import zstandard
from isal import igzip

import fyke
from fyke.errors import StorageError, UserError
from fyke.formats.cdxj import IndexLine, index_line, sorted_lines
from fyke.formats.trec import TrecDocument, text_document, web_document, write_trec
from fyke.formats.warc_exchange import IDENTICAL_PAYLOAD, NOT_MODIFIED, Original
from fyke.formats.warc_record import sha1_text
from fyke.formats.warc_write import Compression, WarcWriter
from fyke.outputs import replacing
from fyke.store.cells import EXACT, PAGE, TEXT, Page
from fyke.store.importing import MARKUP, REQUEST, RESPONSE
from fyke.store.row import Row
from fyke.values import Exchange

ENDINGS = (".warc", ".warc.gz", ".warc.zst", ".trec", ".trec.gz", ".trec.zst", ".jsonl", ".jsonl.gz", ".jsonl.zst",
           ".parquet")  # fmt: skip
PARQUET_ROWS = 2000
"""Rows of a group: what the writer holds in memory."""


class Flat(msgspec.Struct, frozen=True):
    """A document as JSON lines and Parquet have it."""

    url: str
    fetched: str
    """ISO 8601 in UTC."""
    status: int
    type: str
    title: str
    text: str
    language: str
    length: int
    digest: str
    """SHA-1 of the body, as WARC writes it."""
    duplicate_of: str


def export(rows: Iterable[Row], path: Path, progress: Callable[[int], None] | None = None) -> int:
    """Write ``rows`` to ``path``; return how many documents. Raises ``UserError`` for an unknown ending."""
    writers: dict[str, Callable[[Iterator[Row], Path, str], int]] = {
        "warc": _to_warc, "trec": _to_trec, "jsonl": _to_jsonl, "parquet": _to_parquet}  # fmt: skip
    ending = next((e for e in sorted(ENDINGS, key=len, reverse=True) if path.name.endswith(e)), None)
    if ending is None:
        raise UserError(f"{path.name} has no known ending; use one of {', '.join(ENDINGS)}")
    _, kind, *compression = ending.split(".")
    index = index_of(path)
    if kind == "warc" and index.exists() and not path.exists():
        raise UserError(f"{index} is there, but {path.name} is not; move it, or name another file")
    try:
        with replacing(path) as new:
            try:
                count = writers[kind](_told(rows, progress), new, path.name if kind == "warc" else "".join(compression))
                if kind == "warc":
                    index_of(new).rename(index)
            finally:
                index_of(new).unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}; free space or give another path") from None
    return count


def index_of(path: Path) -> Path:
    """Where the CDXJ index of a WARC file is written."""
    return path.with_name(f"{path.name}.cdxj")


def parts_needed(path: Path) -> tuple[str, ...]:
    """Which parts of the rows an export to ``path`` reads."""
    return (PAGE,) if ".warc" in path.name or ".trec" in path.name else (TEXT,)


def _told(rows: Iterable[Row], progress: Callable[[int], None] | None) -> Iterator[Row]:
    for number, row in enumerate(rows):
        if progress is not None and number % 64 == 0:
            progress(number)
        yield row


@contextlib.contextmanager
def _compressed(path: Path, compression: str) -> Iterator[IO[bytes]]:
    with path.open("wb") as file:
        if compression == "gz":
            with igzip.open(file, "wb", compresslevel=2) as packed:  # type: ignore[no-untyped-call]
                yield packed
        elif compression == "zst":
            with zstandard.ZstdCompressor(level=3).stream_writer(file, closefd=False) as packed:
                yield packed
        else:
            yield file


# ---- WARC


def _to_warc(rows: Iterator[Row], path: Path, name: str) -> int:
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


# ---- TREC


def _to_trec(rows: Iterator[Row], path: Path, compression: str) -> int:
    count = 0
    with _compressed(path, compression) as out:
        for row in rows:
            if row.page is not None:
                count += 1
                write_trec(_trec(row, row.page, count), out)
    return count


def _trec(row: Row, page: Page, number: int) -> TrecDocument:
    docno = row.meta.docno or f"FYKE-{number:09}"
    markup = next((cell.value for cell in row.cells_at(row.stamp) if cell.column == MARKUP), None)
    if markup is not None:
        return TrecDocument(docno, page.body, markup)
    if row.url.startswith("file:///trec/"):
        return text_document(docno, page.body)
    return web_document(docno, row.url, exchange_of(row, page), row.meta.type)


# ---- JSON lines and Parquet


def flat(row: Row) -> Flat:
    """A row as JSON lines and Parquet have it."""
    meta = row.meta
    return Flat(
        row.url,
        row.fetched.isoformat().replace("+00:00", "Z"),
        meta.status,
        meta.type,
        meta.title,
        (row.text or "").encode("utf-8", "replace").decode(),
        meta.language,
        meta.length,
        sha1_text(meta.digest) if len(meta.digest) == 20 else "",
        meta.duplicate_of,
    )


def _to_jsonl(rows: Iterator[Row], path: Path, compression: str) -> int:
    encode = msgspec.json.Encoder().encode
    count = 0
    with _compressed(path, compression) as out:
        for count, row in enumerate(rows, 1):  # noqa: B007 - the last one is the result
            out.write(encode(flat(row)) + b"\n")
    return count


def _to_parquet(rows: Iterator[Row], path: Path, compression: str) -> int:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise UserError("Parquet needs pyarrow; install it with: pip install 'fyke[parquet]'") from None
    names = Flat.__struct_fields__
    integers = {"status", "length"}
    schema = arrow.schema([(name, arrow.int64() if name in integers else arrow.string()) for name in names])
    count = 0
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        while group := [flat(row) for row, _ in zip(rows, range(PARQUET_ROWS), strict=False)]:
            columns: dict[str, list[Any]] = {name: [getattr(record, name) for record in group] for name in names}
            writer.write_table(arrow.table(columns, schema=schema))
            count += len(group)
    return count
