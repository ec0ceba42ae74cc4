"""The main text of a stored document, whoever stored it: duplicates, topics and revisits are judged by it."""

from __future__ import annotations

from fyke.formats.http import parse_head
from fyke.reading.conversion import MARKUP
from fyke.reading.reading import Material, Reader
from fyke.store import Row
from fyke.url import Url


def text_of(row: Row) -> str:
    """Return the main text of a stored document; where the row has none, as a crawl would have had it."""
    if row.weights or row.meta.type not in MARKUP:
        return row.text or ""
    page = row.page
    if page is None or not page.body:
        return row.text or ""
    return Reader().page(page.body, parse_head(page.response_head), Url(row.url), row.meta.type).text


def material_of(row: Row) -> Material:
    """Return what the crawl that stored a document had of it."""
    said = row.meta.document
    return Material(row.raw or b"", text_of(row), row.meta.truncated, said.canonical if said is not None else "")
