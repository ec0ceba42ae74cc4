"""What is made of a response: read (fyke.reading), it is a row for the store, and the links to offer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec
import numpy as np
from msgspec.structs import replace

from fyke.footprint import give_back
from fyke.formats.http import NO_HEAD, Head, parse_head
from fyke.formats.media_types import HTML, TypeFilter
from fyke.formats.sniff import sniff
from fyke.frontier.seen import Keys
from fyke.reading.conversion import MARKUP, Source, convert_here
from fyke.reading.page import Page as ReadPage
from fyke.reading.reading import Material, Reader, Reading
from fyke.sites.links import MAX_LINKS, LinkMemo, PageLinks
from fyke.store import Change, Page, RowMeta
from fyke.store.codec import sha1
from fyke.url import Url
from fyke.values import Document, Drop, Exchange, Failed, Fetched, Link, Links, Meta, Moved, Reason, Signals
from fyke.workers.conversion import AT_ONCE

_NO_DOCUMENT = Document("", "")
_NOTHING_SAID = Meta()


class Processed(msgspec.Struct, frozen=True, gc=False):
    """A row to put, the links to offer, and what was dropped on the way."""

    change: Change
    links: Sequence[Link] = ()
    keys: Keys | None = None
    """Of the links in the seen-set, where they are known."""
    dropped: tuple[tuple[Drop, int], ...] = ()
    redirected: bool = False
    main: str = ""
    """The main text of a document."""
    document: Document | None = None
    """The conversion of what is no page."""
    material: Material | None = None
    """Of a document, by which its copies are known."""
    counts: tuple[tuple[str, int], ...] = ()
    """What else is counted of it."""

    def counted(self) -> list[tuple[str, int]]:
        """What a tablet counts of it, by the names of its counters."""
        return [*((f"dropped:{why}", count) for why, count in self.dropped), *self.counts]


class Processor:
    """Makes rows of responses; one for each agent, as it remembers what hrefs lead to."""

    def __init__(
        self,
        agent: str,
        convert: Callable[[Source], Awaitable[Document]] | None = None,
        types: TypeFilter | None = None,
        selectors: Mapping[str, str] | None = None,
    ) -> None:
        """``agent`` is the product token that robots directives may address.

        ``convert`` runs what is not HTML, where it can be killed; without it conversion happens here. Of a document
        that is none of ``types``, links are all that is kept (``_unwanted``). ``selectors`` are CSS: where the
        content of single hosts is.
        """
        self._agent, self._types, self._selectors = agent, types, selectors
        self._convert = convert or _convert_here
        self._one_at_a_time = asyncio.Lock()
        self.key_by(0)

    def key_by(self, secret: int) -> None:
        """Make the keys of links from now on as the seen-set of a store with that secret has them."""
        self._secret = secret
        self._reader = Reader(self._agent, memo=LinkMemo(seed=secret), selectors=self._selectors)

    @staticmethod
    def page_type(outcome: Fetched) -> str:
        """Return the type of a page that ``read_many`` takes; empty for another document, and for a large one."""
        exchange = outcome.exchange
        if len(exchange.body) > AT_ONCE:
            return ""
        kind = sniff(exchange.body, parse_head(exchange.response_head).get("content-type"), outcome.url.path)
        return kind if kind in MARKUP else ""

    def read_many(self, pages: Sequence[tuple[Fetched, int, str]]) -> list[Processed]:
        """Read pages, each with its depth and its ``page_type``, in one call of each kernel."""
        given = [(each.exchange.body, parse_head(each.exchange.response_head), each.url) for each, _, _ in pages]
        readings = self._reader.pages(given, [kind for _, _, kind in pages])
        made = [_processed(each, depth, reading) for (each, depth, _), reading in zip(pages, readings, strict=True)]
        return made if self._types is None else [self._wanted(each) for each in made]

    async def fetched(self, outcome: Fetched, depth: int) -> Processed:
        """A document of any kind and size came. Large ones are read beside the loop by the same code, one at a time."""
        exchange = outcome.exchange
        head = parse_head(exchange.response_head)
        if len(exchange.body) > AT_ONCE:
            # What is remembered of hrefs is not shared with other threads.
            beside = Reader(self._agent, memo=LinkMemo(seed=self._secret), selectors=self._selectors)
            async with self._one_at_a_time:
                give_back()
                begun = await asyncio.to_thread(beside.begin, exchange.body, head, outcome.url)
        else:
            begun = self._reader.begin(exchange.body, head, outcome.url)
        if isinstance(begun, Reading):
            return self._wanted(_processed(outcome, depth, begun))
        if self._types is not None and not self._types.wants(begun.media_type):
            return _unwanted(replace(_meta(exchange, depth), type=begun.media_type))
        made = await self._convert(begun)
        processed = _processed(outcome, depth, self._reader.converted(begun, made, head))
        return self._wanted(replace(processed, document=made))

    async def rendered(self, outcome: Fetched, server_said: Processed, html: bytes) -> Processed:
        """A page as a browser showed it: text and links are those of ``html``, the rest is as the server said."""
        server = parse_head(outcome.exchange.response_head)
        kept = tuple(each for each in server.headers if each[0].lower() != "content-type")
        head = Head(server.status, (*kept, ("Content-Type", "text/html; charset=utf-8")))
        if len(html) > AT_ONCE:
            beside = Reader(self._agent, memo=LinkMemo(seed=self._secret))
            async with self._one_at_a_time:
                give_back()
                reading = await asyncio.to_thread(beside.page, html, head, outcome.url, HTML)
        else:
            reading = self._reader.page(html, head, outcome.url, HTML)
        said = server_said.change.meta
        made = _processed(outcome, said.depth, reading)
        meta = replace(made.change.meta, type=said.type, encoding=said.encoding)
        exchange = outcome.exchange
        material = Material(exchange.body, reading.text, exchange.truncated, reading.meta.canonical)
        return self._wanted(replace(made, change=replace(made.change, meta=meta), material=material))

    def listed(self, outcome: Fetched, depth: int, media_type: str, links: tuple[Link, ...]) -> Processed:
        """A sitemap: a row with its bytes and its links, which are offered by whoever read them."""
        document = Document("", "", media_type=media_type)
        found = PageLinks(Links.of(links[:MAX_LINKS]), np.empty(0, np.uint64))
        reading = Reading(outcome.url, outcome.exchange.body, document, found)
        return self._wanted(replace(_processed(outcome, depth, reading), links=()))

    def _wanted(self, processed: Processed) -> Processed:
        meta, types = processed.change.meta, self._types
        return processed if types is None or types.wants(meta.type) else _unwanted(meta, processed)

    @staticmethod
    def requisite(outcome: Fetched, depth: int) -> Processed:
        """What a page needs to be shown: a row with its bytes."""
        exchange = outcome.exchange
        meta = replace(_meta(exchange, depth), requisite=True)
        return Processed(Change(meta, _page(exchange)))

    def moved(self, outcome: Moved, depth: int) -> Processed:
        """The document is elsewhere: a row that says where, and a link to there."""
        exchange = outcome.exchange
        link = Link(outcome.target, "", "redirect")
        meta = replace(_meta(exchange, depth), redirect=outcome.target.href)
        return Processed(Change(meta, _page(exchange), links=(link,)), (link,), redirected=True)

    def failed(self, outcome: Failed, depth: int, now: float) -> Processed:
        """Nothing usable came: a row that says why."""
        exchange = outcome.exchange
        if exchange is None:
            return Processed(Change(RowMeta(fetched=now, depth=depth, error=outcome.reason)))
        meta = _meta(exchange, depth, error=outcome.reason)
        return Processed(Change(meta, _page(exchange)))


def warm(processor: Processor) -> None:
    """Load the kernels that a page needs, or compile them the first time, before anybody waits for a page."""
    url = Url("http://warm.invalid/")
    body = b"<html><title>t</title><body><p>Some <b>text</b> and a <a href=/x>link</a>.</p></body></html>"
    exchange = Exchange(b"", b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", body, 200, 0.0, 0.0)
    processor.read_many([(Fetched(url, exchange), 0, HTML)])
    give_back()


def refused(depth: int, now: float, why: Drop | Reason) -> Processed:
    """We may not fetch it: a row that says why, so that it is known and not asked for again."""
    return Processed(Change(RowMeta(fetched=now, depth=depth, error=why)))


def page_of(href: str, processed: Processed) -> ReadPage:
    """Return a document as programs get it."""
    meta, cell = processed.change.meta, processed.change.page
    head = parse_head(cell.response_head) if cell is not None else NO_HEAD
    return ReadPage(
        href,
        meta.status,
        type=meta.type,
        title=meta.title,
        language=meta.language,
        text=processed.main,
        meta=meta.document or Meta(),
        links=processed.links,
        raw=cell.body if cell is not None else b"",
        fetched=meta.fetched,
        truncated=meta.truncated,
        requested=href,
        content_type=head.get("content-type"),
        document=processed.document,
    )


def _unwanted(meta: RowMeta, processed: Processed | None = None) -> Processed:
    """A document that came, and whose type is not kept: its row is that of a URL which was refused, with its links."""
    row = RowMeta(fetched=meta.fetched, depth=meta.depth, type=meta.type, error=Drop.TYPE, private=meta.private)
    row = replace(row, etag=meta.etag, last_modified=meta.last_modified)
    if processed is None:
        return Processed(Change(row))
    return replace(processed, change=Change(row, links=processed.change.links), material=None)


def _processed(outcome: Fetched, depth: int, reading: Reading) -> Processed:
    exchange, found = outcome.exchange, reading.found
    meta = _meta(exchange, depth, reading.document, signals=reading.signals)
    page = _page(exchange)
    change = Change(meta, page, text=reading.blocks or None, links=found.links, weights=reading.weights)
    material = reading.material(exchange.truncated) if exchange.body else None
    return Processed(change, found.links, found.keys, found.dropped, main=reading.text, material=material)


async def _convert_here(source: Source) -> Document:
    return await asyncio.to_thread(convert_here, source)  # some engines have an event loop of their own


def _page(exchange: Exchange) -> Page:
    return Page(exchange.request_head, exchange.response_head, exchange.body, exchange.coded)


def _meta(
    exchange: Exchange, depth: int, made: Document = _NO_DOCUMENT, error: str = "", signals: Signals | None = None
) -> RowMeta:
    head = parse_head(exchange.response_head)
    return RowMeta(
        status=exchange.status,
        type=made.media_type or head.media_type,
        length=len(exchange.body),
        fetched=exchange.started or exchange.finished,
        title=made.title,
        language=made.language,
        depth=depth,
        error=error or made.failure or "",
        truncated=exchange.truncated,
        encoding=made.encoding,
        digest=sha1(exchange.body) if exchange.body else b"",
        etag=head.get("etag"),
        last_modified=head.get("last-modified"),
        address=exchange.address,
        document=made.meta if made.meta != _NOTHING_SAID else None,
        private=exchange.private,
        tls=exchange.tls,
        signals=signals,
    )
