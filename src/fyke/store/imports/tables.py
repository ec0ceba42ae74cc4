"""JSON lines and Parquet in: a row is a document, by columns whose names are known, or mapped by who imports them.

A row with a body (``html``, ``raw``) is read like a page that came; one with a text alone is that text. One without a
date is as old as the file. Its address is its URL, else its id, else the name of the file with the row's number.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from fyke.errors import UNREADABLE, UrlError, UserError
from fyke.formats.damage import Report
from fyke.formats.http import build_head
from fyke.formats.media_types import HTML
from fyke.formats.sniff import sniff
from fyke.formats.streams import inflated
from fyke.formats.warc_record import parse_date
from fyke.store.cells import LAST_STAMP, Change, Page, RowMeta
from fyke.store.codec import sha1
from fyke.store.imports.items import Item
from fyke.text.language import identify
from fyke.url import Url
from fyke.values import Meta, Signals

JSON_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".jsonl.zst", ".ndjson.zst")
PARQUET = ".parquet"
KNOWN: dict[str, tuple[str, ...]] = {
    "url": ("url", "uri", "link", "source_url", "WARC-Target-URI"),
    "text": ("text", "content", "body", "maintext"),
    "html": ("html", "raw_html", "raw_content"),
    "raw": ("raw",),
    "title": ("title", "headline"),
    "language": ("language", "lang"),
    "language_score": ("language_score",),
    "fetched": ("fetched", "fetch_time", "date", "timestamp", "crawl_date", "date_download"),
    "status": ("status", "fetch_status"),
    "type": ("type", "mime", "media_type", "content_type"),
    "author": ("author", "authors", "byline"),
    "published": ("published", "date_published", "publish_date"),
    "updated": ("updated", "date_modified"),
    "site": ("site", "site_name", "sitename"),
    "description": ("description", "abstract"),
    "keywords": ("keywords", "tags"),
    "licence": ("licence", "license"),
    "canonical": ("canonical",),
    "duplicate_of": ("duplicate_of",),
    "similarity": ("similarity",),
    "redirect": ("redirect", "fetch_redirect"),
    "error": ("error",),
    "robots": ("robots",),
    "id": ("id", "doc_id", "name", "path"),
}
"""What a document has, and how columns that hold it are called; the first that is there is taken."""
SAID = ("author", "published", "updated", "site", "description", "keywords", "licence", "canonical")
MAX_LINE = 32 << 20
"""A longer line of JSON is not read: with its parts it would take 300 MB of memory."""
_BATCH = 256
_SHAPES = 1000
"""Sets of names of fields that are remembered."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Mapped:
    """Which column holds what."""

    columns: Mapping[str, str]

    @classmethod
    def parse(cls, words: Iterable[str]) -> Mapped:
        """Read ``text=body``, ``url=link``. Raises ``UserError`` for what no document has."""
        columns: dict[str, str] = {}
        for word in words:
            name, equals, column = word.partition("=")
            if not equals or not column or name.strip() not in KNOWN:
                raise UserError(f"{word!r} maps nothing; write text=COLUMN, with one of {', '.join(KNOWN)}")
            columns[name.strip()] = column.strip()
        return cls(columns)

    def among(self, names: Iterable[str], path: Path) -> dict[str, str]:
        """Return the columns of a file by what they hold. Raises ``UserError`` where it has none that could be."""
        there = dict.fromkeys(names)
        for column in self.columns.values():
            if column not in there:
                raise UserError(f"{path} has no column {column!r}; it has {', '.join(there) or 'none'}")
        found = {field: next((name for name in candidates if name in there), "") for field, candidates in KNOWN.items()}
        found = {field: name for field, name in {**found, **self.columns}.items() if name}
        if not found.keys() & {"text", "html", "raw"}:
            raise UserError(
                f"{path} has no column with a text or a body; name one with --map text=COLUMN or html=COLUMN "
                f"(it has {', '.join(there) or 'none'})"
            )
        return found


def is_table(path: Path) -> bool:
    """Whether a file's name says that it is JSON lines or Parquet."""
    return path.name.endswith((*JSON_LINES, PARQUET))


def table_items(path: Path, mapped: Mapped, report: Report, progress: Callable[[int], None] | None) -> Iterator[Item]:
    """Yield the documents of a file. Raises ``UserError`` where its columns are not what they should be."""
    rows = _parquet(path, mapped, progress) if path.name.endswith(PARQUET) else _lines(path, mapped, report, progress)
    changed = path.stat().st_mtime
    for number, (row, columns) in enumerate(rows):
        report.records += 1
        given = {field: row.get(column) for field, column in columns.items()}
        try:
            yield _item(given, path, number, changed)
        except UrlError as error:
            report.note(number, "url", str(error))
        except (ValueError, TypeError, OverflowError) as error:
            report.note(number, "value", f"row {number}: {error}")


def _parquet(
    path: Path, mapped: Mapped, progress: Callable[[int], None] | None
) -> Iterator[tuple[Row, Mapping[str, str]]]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise UserError(f"{path} needs pyarrow; install it with: pip install 'fyke[parquet]'") from None
    try:
        with parquet.ParquetFile(path) as file:
            columns = mapped.among(file.schema_arrow.names, path)
            done = 0
            for batch in file.iter_batches(batch_size=_BATCH, columns=sorted(set(columns.values()))):
                yield from ((row, columns) for row in batch.to_pylist())
                done += batch.num_rows
                if progress is not None and file.metadata.num_rows:
                    progress(path.stat().st_size * done // file.metadata.num_rows)
    except (pyarrow.ArrowException, OSError) as error:
        raise UserError(f"{path} is not a Parquet file that can be read ({error}); write it anew") from None


def _lines(
    path: Path, mapped: Mapped, report: Report, progress: Callable[[int], None] | None
) -> Iterator[tuple[Row, Mapping[str, str]]]:
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    known: dict[tuple[str, ...], Mapping[str, str]] = {}  # by the names of a line's fields: most have the same
    with path.open("rb") as file:
        for number, line in enumerate(_cut(inflated(file), report)):
            if progress is not None and number % _BATCH == 0:
                progress(file.tell())
            try:
                row = decode(line)
            except UNREADABLE as error:
                report.note(number, "json", f"line {number + 1}: {error}")
                continue
            columns = known.get(names := tuple(row))
            if columns is None:
                try:
                    columns = mapped.among(names, path)
                except UserError as error:
                    if not known:
                        raise
                    report.note(number, "columns", f"line {number + 1}: {error}")
                    continue
                if len(known) < _SHAPES:
                    known[names] = columns
            yield row, columns
    if not known:
        raise UserError(f"{path} has no line that is a JSON object; give JSON lines, an object in each")


def _cut(stream: Any, report: Report) -> Iterator[bytes]:
    """Yield the lines of a stream; what is damaged ends it, and a line that is too long is left out: both are noted."""
    parts: list[bytes] = []  # of a line that is not whole yet
    number, held, is_long = 0, 0, False
    while True:
        try:
            chunk = stream.read(1 << 20)
        except OSError as error:
            report.note(number, "damaged", f"behind line {number}: {error}")
            chunk = b""
        if not chunk:
            break
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = b"" if is_long else b"".join([*parts, lines[0]])
            parts, held, is_long = [], 0, False
        for line in lines:
            number += 1
            if line.strip():
                yield line
        parts.append(rest)
        held += len(rest)
        if held > MAX_LINE:
            if not is_long:
                report.note(number, "length", f"line {number + 1} is longer than {MAX_LINE:,} bytes")
            parts, is_long = [], True
    if not is_long and b"".join(parts).strip():
        yield b"".join(parts)


def _item(row: Row, path: Path, number: int, changed: float) -> Item:
    url = _address(row, path, number)
    fetched = _when(row.get("fetched")) or (round(changed * 1e6) + number) / 1e6  # each row a time of its own
    text = row.get("text")
    text = text if isinstance(text, str) else None
    body, head, media_type = _body(row)
    language, score = _text(row, "language"), float(row.get("language_score") or 0.0)
    if text and not language and body is None:
        language, score = identify(text)
    told: dict[str, Any] = {name: _text(row, name) for name in SAID}
    said = Meta(**told, language_score=score)
    robots = row.get("robots")
    signals = Signals(tuple(str(each) for each in robots)) if isinstance(robots, list) else None
    data = body if body is not None else (text or "").encode("utf-8", "replace")
    meta = RowMeta(
        status=_status(row.get("status")), type=media_type, length=len(data), fetched=fetched,
        title=_text(row, "title"), language=language, duplicate_of=_text(row, "duplicate_of"),
        similarity=float(row.get("similarity") or 0.0), error=_text(row, "error"), digest=sha1(data) if data else b"",
        document=said if said != Meta() else None, signals=signals, redirect=_text(row, "redirect"),
    )  # fmt: skip
    if body is None:
        return Item(url, Change(meta, text=text or "", fresh=True), aside=True)
    return Item(url, Change(meta, Page(b"", head, body), text or None))


def _body(row: Row) -> tuple[bytes | None, bytes, str]:
    """The body of a row, a head that says what it is, and its type."""
    declared = _text(row, "type").partition(";")[0].strip().lower()
    if isinstance(markup := row.get("html"), str):
        return markup.encode("utf-8", "replace"), _head(f"{declared or HTML}; charset=utf-8"), declared or HTML
    raw = row.get("raw") if row.get("raw") is not None else row.get("html")
    if raw is None:
        return None, b"", declared or "text/plain"
    if isinstance(raw, str):
        try:
            raw = base64.b64decode(raw, validate=True)
        except (binascii.Error, ValueError):
            raise ValueError("raw is no base64; map markup with html=COLUMN") from None
    if not isinstance(raw, bytes):
        raise ValueError("raw is neither bytes nor base64")
    media_type = declared or sniff(raw, "", "")
    return raw, _head(media_type), media_type


def _head(content_type: str) -> bytes:
    return build_head(200, "OK", [("Content-Type", content_type)])


def _address(row: Row, path: Path, number: int) -> Url:
    if url := _text(row, "url"):
        return Url.parse(url)
    name = _text(row, "id") or f"{number + 1}"
    try:
        return Url.parse(name)
    except UrlError:
        return Url.parse(f"file:///{quote(path.name)}/{quote(name, safe='')}")


def _text(row: Row, field: str) -> str:
    value = row.get(field)
    if value is None:
        return ""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC).isoformat().replace("+00:00", "Z")
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _status(value: Any) -> int:
    """Raises ``ValueError`` for what is no status."""
    status = int(value or 200)
    if not 0 < status < 1000:
        raise ValueError(f"{status} is no status of HTTP")
    return status


def _when(value: object) -> float:
    """A date as tables have it: a timestamp, ISO 8601, fourteen digits, or seconds since 1970; 0 where it is none."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, int | float):
        return float(value) if 0 <= value <= LAST_STAMP / 1e6 else 0.0
    return max(0.0, parse_date(str(value or "").strip()))
