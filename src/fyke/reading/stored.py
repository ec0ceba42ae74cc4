"""The main text of a stored document, whoever stored it: duplicates, topics and revisits are judged by it."""

from __future__ import annotations

from collections.abc import Iterator

from fyke.clean.main import weighted_kinds
from fyke.formats.encoding import decode
from fyke.formats.html import parse
from fyke.formats.http import parse_head
from fyke.reading.conversion import MARKUP
from fyke.reading.reading import Material, Reader
from fyke.sites.links import read_directives
from fyke.sites.usage import read_signals
from fyke.store import Row, Store
from fyke.store.cells import PAGE, TEXT
from fyke.store.where import Where
from fyke.url import Url
from fyke.values import NO_SIGNALS, Signals


def text_of(row: Row) -> str:
    """Return the main text of a stored document; where the row has none, as a crawl would have had it."""
    if row.weights or row.meta.type not in MARKUP:
        return row.text or ""
    page = row.page
    if page is None or not page.body:
        return row.text or ""
    return Reader().page(page.body, parse_head(page.response_head), Url(row.url), row.meta.type).text


def documents_of(store: Store, raw: bool = False) -> Iterator[tuple[str, str | bytes]]:
    """Yield URL and main text, or with ``raw`` the body, of every document of a store that has one, by URL."""
    where = Where(keep_noindex=True, private=True, needs_text=not raw)
    for row in where.rows(store, (PAGE,) if raw else (TEXT,)):
        text = row.raw if raw else text_of(row)
        if text:
            yield row.url, text


def decoded_body(row: Row) -> str:
    """Return a row's body as text, as a browser would decode it."""
    page = row.page
    return "" if page is None else decode(page.body, parse_head(page.response_head).get("content-type"))[0]


def kinds_of(row: Row) -> list[str]:
    """Return the kind of each block of a stored page; none where it has no blocks, or is no page."""
    page = row.page
    if page is None or not page.body or row.meta.type not in MARKUP or not row.weights:
        return []
    return weighted_kinds(parse(decoded_body(row)), row.weights)


def signals_of(row: Row, agent: str) -> Signals:
    """Return what a stored document says of its use to ``agent``, as a crawl would have noted it."""
    page = row.page
    if page is None:
        return NO_SIGNALS
    head = parse_head(page.response_head)
    found = parse(decoded_body(row)) if row.meta.type in MARKUP and page.body else None
    metas, robots = (found.metas, found.robots(agent)) if found is not None else ([], [])
    return read_signals(read_directives(robots, head.get_all("x-robots-tag"), agent).said, head, metas)


def material_of(row: Row) -> Material:
    """Return what the crawl that stored a document had of it."""
    said = row.meta.document
    return Material(row.raw or b"", text_of(row), row.meta.truncated, said.canonical if said is not None else "")
