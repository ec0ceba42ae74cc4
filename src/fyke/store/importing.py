"""Import: WARC, ARC and TREC files into a store, in batches, with what could not be read counted and named.

A capture becomes a version at its own date. A revisit becomes a version that names the page of the version before it
(an unchanged page), or the page of the document that it repeats, if that is in the store; its heads are kept as the
columns ``http:request`` and ``http:response``. What a TREC file says before a body is kept as the column
``trec:markup`` where it cannot be made anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import msgspec

from fyke.errors import UserError
from fyke.formats.damage import Report
from fyke.formats.http import parse_head
from fyke.formats.streams import inflated
from fyke.formats.trec import TrecDocument, read_trec, web_document
from fyke.formats.warc import read_records
from fyke.formats.warc_exchange import Capture, read_captures
from fyke.store.batch import Batch
from fyke.store.cells import SEEN_MARK, Change, Page, RowMeta
from fyke.store.codec import sha1
from fyke.store.store import Store
from fyke.url import Url
from fyke.values import Exchange

MARKUP, REQUEST, RESPONSE = "trec:markup", "http:request", "http:response"

ROWS, BYTES = 64, 4 << 20
"""A batch is written when it has so many rows or bytes: larger ones cost memory and win nothing."""

_SNIFF = 1 << 16
_ETAG = re.compile(rb"(?im)^etag[ \t]*:[ \t]*([^\r\n]*)")
_LAST_MODIFIED = re.compile(rb"(?im)^last-modified[ \t]*:[ \t]*([^\r\n]*)")
_TREC = re.compile(rb"(?:\xef\xbb\xbf)?\s*<DOC>", re.IGNORECASE)
"""TREC is what begins with a document: a page inside a WARC may hold one, too."""

Enrich = Callable[[Url, Change], Change]
"""What an import may add to a page before it is stored: text, title, links."""


@dataclass(slots=True)
class Imported:
    """What an import did, and what it met."""

    rows: int = 0
    body_bytes: int = 0
    revisits: int = 0
    report: Report = field(default_factory=Report)


def import_file(
    store: Store, path: Path, enrich: Enrich | None = None, progress: Callable[[int], None] | None = None
) -> Imported:
    """Put every document of a file into ``store``; ``progress`` is told the place in the file. Raises ``UserError``."""
    try:
        with path.open("rb") as file:
            start = inflated(file).read(_SNIFF)
            file.seek(0)
            done = Imported()
            if _TREC.match(start):
                changes: Iterable[tuple[Url, Change, int]] = _trec_changes(file, done)
            else:
                changes = _warc_changes(store, file, done)
            _put_all(store, _watched(changes, file, progress), done, enrich)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}; give a WARC, ARC or TREC file") from None
    if not done.report.records:
        raise UserError(f"{path} is neither WARC, ARC nor TREC; give a file of one of those formats")
    return done


def _watched(
    changes: Iterable[tuple[Url, Change, int]], file: BinaryIO, progress: Callable[[int], None] | None
) -> Iterator[tuple[Url, Change, int]]:
    for number, change in enumerate(changes):
        if progress is not None and number % ROWS == 0:
            progress(file.tell())
        yield change


def _put_all(store: Store, changes: Iterable[tuple[Url, Change, int]], done: Imported, enrich: Enrich | None) -> None:
    batches: dict[int, Batch] = {}
    for url, change, stamp in changes:
        key = url.key
        number = store.tablet_of(key)
        batch = batches.get(number)
        if batch is None:
            batch = batches[number] = store.writable(number).batch()
            batch.delete("queue", SEEN_MARK)
        batch.put_row(key, enrich(url, change) if enrich is not None else change, stamp)
        done.rows += 1
        if batch.rows >= ROWS or batch.size() >= BYTES:
            store.writable(number).write(batches.pop(number))
    for number, batch in batches.items():
        store.writable(number).write(batch)
    store.sync()


def _warc_changes(store: Store, file: BinaryIO, done: Imported) -> Iterator[tuple[Url, Change, int]]:
    for capture in read_captures(read_records(file, done.report), done.report):
        exchange = capture.exchange
        meta = _meta(exchange, capture.media_type, capture.docno)
        done.body_bytes += len(exchange.body)
        page: Page | None = Page(exchange.request_head, exchange.response_head, exchange.body)
        columns: tuple[tuple[str, bytes], ...] = ()
        if capture.original is not None:
            done.revisits += 1
            page, meta = _revisited(store, capture, meta)
            columns = ((REQUEST, exchange.request_head), (RESPONSE, exchange.response_head))
        yield capture.url, Change(meta, page, columns=columns), _stamp(exchange.started)


def _revisited(store: Store, capture: Capture, meta: RowMeta) -> tuple[Page | None, RowMeta]:
    """The page of a revisit (None: that of the version before) and its meta."""
    original = capture.original
    assert original is not None
    exchange = capture.exchange
    if not original.uri or original.uri == capture.url.href:
        return None, meta
    meta = msgspec.structs.replace(meta, duplicate_of=original.uri)
    try:
        repeated = store.get(original.uri)
    except UserError:
        repeated = None
    body = repeated.raw if repeated is not None else None
    if body is None:
        return Page(exchange.request_head, exchange.response_head, b""), meta
    meta = msgspec.structs.replace(meta, length=len(body), digest=sha1(body))
    return Page(exchange.request_head, exchange.response_head, body), meta


def _trec_changes(file: BinaryIO, done: Imported) -> Iterator[tuple[Url, Change, int]]:
    for document in read_trec(file, done.report):
        url = document.identity()
        if url is None:
            done.report.note(document.offset, "url", document.url or "a document without URL and number")
            continue
        exchange = document.exchange()
        done.body_bytes += len(exchange.body)
        columns = () if _rebuilt(document, url, exchange) else ((MARKUP, document.markup),)
        meta = _meta(exchange, document.media_type, document.docno)
        yield (
            url,
            Change(meta, Page(b"", exchange.response_head, exchange.body), columns=columns),
            _stamp(document.date),
        )


def _rebuilt(document: TrecDocument, url: Url, exchange: Exchange) -> bool:
    """Whether an export would write this document's markup by itself."""
    return web_document(document.docno, url.href, exchange, document.media_type).markup == document.markup


def _meta(exchange: Exchange, media_type: str, docno: str) -> RowMeta:
    head = exchange.response_head
    return RowMeta(
        status=exchange.status,
        type=media_type or parse_head(head).media_type,
        length=len(exchange.body),
        fetched=exchange.started,
        truncated=exchange.truncated,
        digest=sha1(exchange.body),
        etag=_first(_ETAG, head),
        last_modified=_first(_LAST_MODIFIED, head),
        address=exchange.address,
        docno=docno,
    )


def _first(line: re.Pattern[bytes], head: bytes) -> str:
    found = line.search(head)
    return found[1].decode("latin-1") if found else ""


def _stamp(when: float) -> int:
    """A file may not say when; the version then stands at the beginning of time."""
    return max(1, round(when * 1e6))
