"""WARC, ARC, WET and WACZ in: captures as versions with their heads, revisits as pages that name their body.

What a record says beside its payload is kept: metadata and conversions in columns, the request with its page. A text
that comes as a conversion (WET) is the text of the version of the same time, or a document of its own.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath
from typing import BinaryIO

from fyke.formats.damage import Report
from fyke.formats.streams import Seekable
from fyke.formats.warc import read_records
from fyke.formats.warc_exchange import Capture, read_captures
from fyke.formats.warc_record import Record, sha1_text
from fyke.formats.zips import member_window
from fyke.limits import note
from fyke.store.cells import Change, Page, RowMeta
from fyke.store.codec import sha1
from fyke.store.imports.columns import CONVERSION, METADATA, pack_reference
from fyke.store.imports.items import Item, meta_of, sha1_of

Aliased = Callable[[str, str, float], None]
"""Is told of a payload whose archive states another digest than that of the decoded body: digest, URL, time."""

_NOT_TYPES = re.compile(r"[^\x21-\x7e]+")
"""What no media type has, and the name of no column."""
MAX_KEPT = 1 << 20
"""Bytes of a metadata or conversion record that are kept in a column."""


def warc_items(file: Seekable, report: Report, aliased: Aliased) -> Iterator[Item]:
    """Yield what the records of a WARC or ARC file say."""
    return record_items(read_records(file, report), report, aliased)


def record_items(records: Iterable[Record], report: Report, aliased: Aliased) -> Iterator[Item]:
    """Yield what records say, wherever they are from."""
    for capture in read_captures(records, report, conversions=True):
        item = _item(capture)
        stated = capture.digest
        if item.change.page is not None and stated and not item.reference:
            digest = item.change.meta.digest
            if not digest or sha1_text(digest) != stated:
                if _is_wrong(capture):
                    report.note(capture.offset, "digest", capture.url.href)
                aliased(stated.lower(), capture.url.href, capture.exchange.started)
        yield item


def _is_wrong(capture: Capture) -> bool:
    """Whether a payload has another SHA-1 than its record states, taken as it is archived and decoded.

    Archives differ in which of them they mean; of what is chunked, some mean a third form, so that is not judged.
    """
    exchange = capture.exchange
    stated = sha1_of(capture.digest)
    if not stated or exchange.truncated or (capture.encoded and b"chunked" in exchange.response_head.lower()):
        return False
    return stated not in (sha1(exchange.body), sha1(capture.encoded))


def _item(capture: Capture) -> Item:
    exchange = capture.exchange
    meta = meta_of(exchange, capture.media_type, capture.docno, capture.url)
    columns: tuple[tuple[str, bytes], ...] = ()
    if capture.metadata:
        columns = ((METADATA, _cut(capture.metadata)),)
    if capture.kind == "metadata":
        return Item(capture.url, Change(RowMeta(fetched=exchange.started), columns=columns), aside=True)
    if capture.kind == "conversion":
        return _conversion(capture)
    page = Page(exchange.request_head, exchange.response_head, exchange.body)
    if capture.original is None:
        return Item(capture.url, Change(meta, page, columns=columns))
    reference = pack_reference(capture.original, capture.digest)
    return Item(capture.url, Change(meta, page, columns=columns), reference)


def _cut(block: bytes) -> bytes:
    if len(block) > MAX_KEPT:
        note("warc-metadata")
    return block[:MAX_KEPT]


def _conversion(capture: Capture) -> Item:
    when, media_type, block = capture.exchange.started, capture.media_type, capture.exchange.body
    if media_type != "text/plain":
        columns = ((CONVERSION + _NOT_TYPES.sub("", media_type)[:100], _cut(block)),)
        return Item(capture.url, Change(RowMeta(fetched=when), columns=columns), aside=True)
    # Archives convert what was had: a text without its page is that of a page that came.
    meta = RowMeta(200, media_type, len(block), when, language=capture.language, digest=sha1(block) if block else b"")
    return Item(capture.url, Change(meta, text=block.decode("utf-8", "replace"), fresh=True), aside=True)


def wacz_items(file: BinaryIO, report: Report, aliased: Aliased) -> Iterator[Item]:
    """Yield what the WARC files of a WACZ say. Raises ``OSError`` where it is no ZIP file."""
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise OSError(f"{error}") from None
    with archive:
        for member in archive.infolist():
            path = PurePosixPath(member.filename)
            if path.parts[:1] != ("archive",) or ".warc" not in path.name:
                continue
            try:
                yield from warc_items(member_window(file, archive, member), report, aliased)
            except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
                report.note(member.header_offset, "record", f"{member.filename}: {error}")


def is_zip(start: bytes) -> bool:
    """Whether a file that begins so is a ZIP file, as a WACZ is."""
    return start[:4] == b"PK\x03\x04"
