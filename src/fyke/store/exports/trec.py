"""TREC Web out: the newest page of every row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from fyke.formats.streams import compressed
from fyke.formats.trec import TrecDocument, text_document, web_document, write_trec
from fyke.store.cells import Page
from fyke.store.exports.warc import exchange_of
from fyke.store.imports.columns import MARKUP
from fyke.store.row import Row


def to_trec(rows: Iterator[Row], file: IO[bytes], compression: str) -> int:
    """Write the pages of ``rows`` to a stream; return how many."""
    count = 0
    with compressed(file, compression) as out:
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
