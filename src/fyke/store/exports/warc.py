"""WARC out: every capture of a store, none of its annotations, each payload once.

A capture is what a server answered: a page of the store, at the time when its exchange began. Its payload is written
where it stands first; later captures with the same payload are revisits that name that one. What was found out about a
document (title, language, links) is a metadata record beside its newest capture; records that an import kept come back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fyke.errors import SupersededError
from fyke.formats.http import parse_head
from fyke.formats.streams import Writable
from fyke.formats.warc_exchange import IDENTICAL_PAYLOAD, NOT_MODIFIED, Original
from fyke.formats.warc_record import sha1_text
from fyke.formats.warc_write import WarcWriter, Written, warc_fields
from fyke.store.bodies import is_digest
from fyke.store.cells import Page, Version
from fyke.store.codec import sha1
from fyke.store.exports.warc_files import Fields, WarcFiles, about, compression_of, index_of, new_id
from fyke.store.imports.columns import CONVERSION, METADATA, REFERS_TO, REQUEST, RESPONSE, unpack_reference
from fyke.store.row import Row
from fyke.store.spool import Payload, Payloads
from fyke.values import Exchange

__all__ = ["WarcOptions", "exchange_of", "index_of", "to_warc"]

MAX_OUTLINKS = 1000
"""Links that a metadata record lists."""


@dataclass(frozen=True, slots=True)
class WarcOptions:
    """How WARC is written."""

    max_size: int = 0
    """Bytes after which another file is begun: ``NAME-00000.warc.gz`` and so on. 0: one file."""
    fields: Fields = ()
    """What warcinfo says beside software and format."""


PLAIN = WarcOptions()


def to_warc(rows: Iterator[Row], path: Path, options: WarcOptions = PLAIN) -> int:
    """Write every capture of ``rows`` to ``path``, or to numbered files beside it; return how many."""
    payloads = Payloads(path.parent)
    try:
        with WarcFiles(_names(path, options.max_size), options.fields, max_size=options.max_size) as files:
            return sum(write_captures(lambda: files.writer, row, payloads) for row in rows)
    finally:
        payloads.close()


def stream_warc(
    rows: Iterator[Row],
    out: Writable,
    name: str,
    options: WarcOptions = PLAIN,
    observe: Callable[[Written], None] | None = None,
    folder: Path | None = None,
) -> int:
    """Write every capture of ``rows`` to a stream that is called ``name``; return how many."""
    writer = WarcWriter(out, new_id, compression=compression_of(name), observe=observe)
    writer.warcinfo(time.time(), about(options.fields), name)
    payloads = Payloads(folder)
    try:
        return sum(write_captures(lambda: writer, row, payloads) for row in rows)
    finally:
        payloads.close()


def _names(path: Path, max_size: int) -> Callable[[int], Path]:
    if not max_size:
        return lambda number: path
    base, dot, ending = path.name.rpartition(".warc")
    return lambda number: path.with_name(f"{base}-{number:05}{dot}{ending}")


@dataclass(frozen=True, slots=True)
class Capture:
    """One answer of a server."""

    row: Row
    """The version that tells of it."""
    date: float
    """When the exchange began."""
    columns: dict[str, bytes]
    """What was put with it: the records that an import kept."""


def captured_at(version: Version) -> float:
    """Return when the exchange began whose page the version has."""
    stamp, fetched = version.page / 1e6, version.meta.fetched
    return fetched if fetched > 0 and (fetched <= stamp or version.page == version.stamp) else stamp


def captures(row: Row) -> list[Capture]:
    """Return the captures of a row, the oldest first."""
    found: list[Capture] = []
    seen: set[int] = set()
    for each in row.history():
        version = each.version
        if version is None or not version.page:
            continue
        columns = {cell.column: cell.value for cell in each.cells_at(version.stamp)}
        if version.page != version.stamp and RESPONSE in columns:  # a revisit as earlier imports stored it
            found.append(Capture(each, version.stamp / 1e6, columns))
        elif version.page not in seen:  # an annotation tells of the page only where the page's own version is pruned
            found.append(Capture(each, captured_at(version), columns))
        seen.add(version.page)
    return found


def write_captures(writer: Callable[[], WarcWriter], row: Row, payloads: Payloads) -> int:
    """Write all captures of a row; return how many. ``writer`` is asked before each."""
    count = 0
    found = captures(row)
    for number, capture in enumerate(found):
        out = writer()
        try:
            written = _write(out, capture, payloads)
        except SupersededError:  # pruned since the row was read, by a writer beside us
            continue
        count += 1
        kept = capture.columns
        if METADATA in kept:
            out.metadata(written.url, written.date, kept[METADATA], written.id)
        elif number == len(found) - 1 and (said := _said(row)):
            out.metadata(written.url, written.date, said, written.id)
        for name, value in kept.items():
            if name.startswith(CONVERSION):
                out.conversion(written.url, written.date, name.removeprefix(CONVERSION), value, written.id)
    return count + _write_texts(writer, row)


def _write_texts(writer: Callable[[], WarcWriter], row: Row) -> int:
    """Write the texts that came without a page (WET); return how many."""
    count = 0
    for each in row.history():
        version = each.version
        if version is not None and not version.page and version.text == version.stamp:
            when = version.meta.fetched or each.stamp / 1e6
            block = (each.whole or "").encode("utf-8", "replace")
            writer().conversion(row.url, when, "text/plain", block, language=version.meta.language)
            count += 1
    return count


def _write(out: WarcWriter, capture: Capture, payloads: Payloads) -> Written:
    row = capture.row
    meta, page = row.meta, row.page
    assert page is not None
    digest = meta.digest if is_digest(meta.digest) else b""
    if RESPONSE in capture.columns and row.version is not None and row.version.page != row.stamp:
        page = Page(capture.columns.get(REQUEST, b""), capture.columns[RESPONSE], page.body)
        digest = sha1(page.body) if page.body else b""  # what its version states is the digest of nothing
    before = payloads.get(digest) if digest else None
    status = parse_head(page.response_head).status if page.response_head else meta.status
    original, stated = None, sha1_text(digest) if digest else ""
    if before is not None and page.response_head:
        profile = NOT_MODIFIED if status == 304 else IDENTICAL_PAYLOAD
        original = Original(profile, before.url, before.date, before.id, len(page.body))
    elif REFERS_TO in capture.columns:
        original, stated = unpack_reference(capture.columns[REFERS_TO])
    body = page.body if original is None else b""
    exchange = Exchange(
        page.request_head, page.response_head, body, status, capture.date, capture.date, meta.address,
        meta.truncated and original is None,
    )  # fmt: skip
    written = out.exchange(row.url, exchange, original=original, media_type=meta.type, docno=meta.docno, digest=stated)
    if body and digest and before is None:
        payloads.put(digest, Payload(written.url, written.date, written.id))
    return written


def _said(row: Row) -> bytes:
    """What was found out about a document, as the lines of a metadata record."""
    meta = row.meta
    fields: list[tuple[str, str]] = []
    if meta.title:
        fields.append(("title", meta.title))
    if meta.language:
        fields.append(("language", meta.language))
    fields += [("outlink", f"{href} L a/@href") for href in row.links.hrefs[:MAX_OUTLINKS]]
    return warc_fields(fields) if fields else b""


def exchange_of(row: Row, page: Page) -> Exchange:
    """A stored page as it went over the wire."""
    meta, when = row.meta, row.stamp / 1e6
    return Exchange(
        page.request_head, page.response_head, page.body, meta.status, when, when, meta.address, meta.truncated
    )
