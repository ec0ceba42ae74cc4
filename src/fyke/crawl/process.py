"""What is made of a response: a row for the store, and the links to offer.

The rooms of the middle row meet here: a page is parsed once, and links, conversion and cleaning read that parse.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from fyke.clean.main import Main
from fyke.convert import Source, convert_here, prepare
from fyke.convert.html import document
from fyke.crawl.maintext import MARKUP, Material, main_of
from fyke.formats.encoding import Decoded, decoded
from fyke.formats.html import Page as HtmlPage
from fyke.formats.html import parse
from fyke.formats.http import Head, parse_head
from fyke.formats.sniff import sniff
from fyke.frontier.seen import Keys
from fyke.sites.links import MAX_LINKS, LinkMemo, PageLinks, find_links, read_directives
from fyke.store import Change, Page, RowMeta
from fyke.store.codec import sha1
from fyke.url import Url
from fyke.values import BLOCK_END, Document, Drop, Exchange, Failed, Fetched, Link, Meta, Moved, Reason
from fyke.workers.conversion import AT_ONCE

_NO_MAIN = Main("", "", b"", "")


@dataclass(frozen=True, slots=True)
class Processed:
    """A row to put, the links to offer, and what was dropped on the way."""

    change: Change
    links: Sequence[Link] = ()
    keys: Keys | None = None
    """Of the links in the seen-set, where they are known."""
    dropped: tuple[tuple[Drop, int], ...] = ()
    redirected: bool = False
    main: str = ""
    """The main text of a document."""
    material: Material | None = None
    """Of a document, by which its copies are known."""


class Processor:
    """Makes rows of responses; one for each agent, as it remembers what hrefs lead to."""

    def __init__(self, agent: str, convert: Callable[[Source], Awaitable[Document]] | None = None) -> None:
        """``agent`` is the product token that robots directives may address.

        ``convert`` runs what is not HTML, where it can be killed; without it conversion happens here.
        """
        self._agent = agent
        self._convert = convert or _convert_here
        self._memo = LinkMemo()

    async def fetched(self, outcome: Fetched, depth: int) -> Processed:
        """A document came."""
        exchange = outcome.exchange
        head = parse_head(exchange.response_head)
        declared = head.get("content-type")
        kind = sniff(exchange.body, declared, outcome.url.path)
        if kind in MARKUP and len(exchange.body) <= AT_ONCE:
            return self.page(outcome, depth)
        source = prepare(exchange.body, declared, outcome.url)
        made = await self._convert(source)
        nofollow = read_directives((), head.get_all("x-robots-tag"), self._agent).nofollow
        links = () if nofollow else made.links[:MAX_LINKS]
        why, surplus = Drop.NOFOLLOW if nofollow else Drop.TOO_MANY_LINKS, len(made.links) - len(links)
        return _processed(outcome, head, depth, made, links, dropped=((why, surplus),) if surplus else ())

    def page(self, outcome: Fetched, depth: int) -> Processed:
        """HTML: parsed once, for links and for text."""
        head = parse_head(outcome.exchange.response_head)
        _, _, found, main, made = read(outcome.exchange.body, head, outcome.url, self._memo, self._agent)
        return _processed(outcome, head, depth, made, found.links, found.keys, found.dropped, main)

    def listed(self, outcome: Fetched, depth: int, media_type: str, links: tuple[Link, ...]) -> Processed:
        """A sitemap: a row with its bytes and its links, which are offered by whoever read them."""
        head = parse_head(outcome.exchange.response_head)
        made = _processed(outcome, head, depth, Document("", "", media_type=media_type), links[:MAX_LINKS])
        return replace(made, links=())

    def moved(self, outcome: Moved, depth: int) -> Processed:
        """The document is elsewhere: a row that says where, and a link to there."""
        exchange = outcome.exchange
        link = Link(outcome.target, "", "redirect")
        meta = _meta(exchange, parse_head(exchange.response_head), depth)
        page_cell = Page(exchange.request_head, exchange.response_head, exchange.body)
        return Processed(Change(meta, page_cell, links=(link,)), (link,), redirected=True)

    def failed(self, outcome: Failed, depth: int, now: float) -> Processed:
        """Nothing usable came: a row that says why."""
        exchange = outcome.exchange
        if exchange is None:
            return Processed(Change(RowMeta(fetched=now, depth=depth, error=outcome.reason)))
        meta = _meta(exchange, parse_head(exchange.response_head), depth, error=outcome.reason)
        return Processed(Change(meta, Page(exchange.request_head, exchange.response_head, exchange.body)))


class Reading(NamedTuple):
    """A page, read: what each room makes of it, in their order."""

    text: Decoded
    page: HtmlPage
    found: PageLinks
    main: Main
    document: Document
    """With its text alone, by blocks (BLOCK_END): no HTML, no tags, no links."""


def read(body: bytes, head: Head, url: Url, memo: LinkMemo, agent: str = "") -> Reading:
    """Read the HTML page at ``url``: decoded and parsed once for conversion, links and cleaning."""
    return Reading._make(read_by_room(body, head, url, memo, agent))


def read_by_room(body: bytes, head: Head, url: Url, memo: LinkMemo, agent: str = "") -> Iterator[Any]:
    """Yield what each room makes of a page, the fields of ``Reading``, when it is made."""
    yield (text := decoded(body, head.get("content-type")))
    yield (page := parse(text.text))
    tags, refresh = head.get_all("x-robots-tag"), head.get("refresh")
    yield find_links(page, url, memo, agent=agent, robots_tags=tags, refresh_header=refresh)
    yield (main := main_of(body, text))
    yield document(page, text, url, links=(), text=main.blocks)


def warm(processor: Processor) -> None:
    """Load the kernels that a page needs, or compile them the first time, before anybody waits for a page."""
    url = Url("http://warm.invalid/")
    body = b"<html><title>t</title><body><p>Some <b>text</b> and a <a href=/x>link</a>.</p></body></html>"
    exchange = Exchange(b"", b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", body, 200, 0.0, 0.0)
    processor.page(Fetched(url, exchange), 0)


def refused(depth: int, now: float, why: Drop | Reason) -> Processed:
    """We may not fetch it: a row that says why, so that it is known and not asked for again."""
    return Processed(Change(RowMeta(fetched=now, depth=depth, error=why)))


def _processed(
    outcome: Fetched,
    head: Head,
    depth: int,
    made: Document,
    links: Sequence[Link],
    keys: Keys | None = None,
    dropped: tuple[tuple[Drop, int], ...] = (),
    main: Main = _NO_MAIN,
) -> Processed:
    exchange = outcome.exchange
    meta = _meta(exchange, head, depth, made)
    page = Page(exchange.request_head, exchange.response_head, exchange.body)
    change = Change(meta, page, text=made.text or None, links=links, weights=main.weights)
    words = main.text or made.text.replace(BLOCK_END, "\n")
    material = Material(exchange.body, words, exchange.truncated) if exchange.body else None
    return Processed(change, links, keys, dropped, main=words, material=material)


async def _convert_here(source: Source) -> Document:
    return await asyncio.to_thread(convert_here, source)  # some engines have an event loop of their own


def _meta(exchange: Exchange, head: Head, depth: int, made: Document | None = None, error: str = "") -> RowMeta:
    return RowMeta(
        status=exchange.status,
        type=made.media_type if made is not None and made.media_type else head.media_type,
        length=len(exchange.body),
        fetched=exchange.finished,
        title=made.title if made is not None else "",
        language=made.language if made is not None else "",
        depth=depth,
        error=error or (made.failure or "" if made is not None else ""),
        truncated=exchange.truncated,
        encoding=made.encoding if made is not None else "",
        digest=sha1(exchange.body) if exchange.body else b"",
        etag=head.get("etag"),
        last_modified=head.get("last-modified"),
        address=exchange.address,
        document=made.meta if made is not None and made.meta != Meta() else None,
    )
