"""TREC Web in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from fyke.formats.damage import Report
from fyke.formats.trec import TrecDocument, read_trec, web_document
from fyke.store.cells import Change, Page
from fyke.store.imports.columns import MARKUP
from fyke.store.imports.items import Item, meta_of
from fyke.url import Url
from fyke.values import Exchange


def trec_items(file: BinaryIO, report: Report) -> Iterator[Item]:
    """Yield the documents of a TREC file."""
    for document in read_trec(file, report):
        url = document.identity()
        if url is None:
            report.note(document.offset, "url", document.url or "a document without URL and number")
            continue
        exchange = document.exchange()
        columns = () if _rebuilt(document, url, exchange) else ((MARKUP, document.markup),)
        meta = msgspec.structs.replace(
            meta_of(exchange, document.media_type, document.docno), fetched=max(document.date, 0.0)
        )
        yield Item(url, Change(meta, Page(b"", exchange.response_head, exchange.body), columns=columns))


def _rebuilt(document: TrecDocument, url: Url, exchange: Exchange) -> bool:
    """Whether an export would write this document's markup by itself."""
    return web_document(document.docno, url.href, exchange, document.media_type).markup == document.markup
