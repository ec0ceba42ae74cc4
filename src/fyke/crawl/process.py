"""What is made of a response: a row for the store, and the links to offer.

The rooms of the middle row meet here: a page is parsed once, and links, conversion and cleaning read that parse.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from fyke.formats.html import parse
from fyke.formats.http import Head, parse_head
from fyke.frontier.seen import Keys
from fyke.sites.links import LinkMemo, find_links
from fyke.store import Change, Page, RowMeta
from fyke.values import Drop, Exchange, Failed, Fetched, Link, Moved, Reason

_MARKUP = frozenset({"text/html", "application/xhtml+xml", ""})


@dataclass(frozen=True, slots=True)
class Processed:
    """A row to put, the links to offer, and what was dropped on the way."""

    change: Change
    links: tuple[Link, ...] = ()
    keys: Keys | None = None
    """Of the links in the seen-set, where they are known."""
    dropped: tuple[tuple[Drop, int], ...] = ()
    redirected: bool = False


class Processor:
    """Makes rows of responses; one for each agent, as it remembers what hrefs lead to."""

    def __init__(self, agent: str) -> None:
        """``agent`` is the product token that robots directives may address."""
        self._agent = agent
        self._memo = LinkMemo()

    def fetched(self, outcome: Fetched, depth: int) -> Processed:
        """A document came."""
        exchange = outcome.exchange
        head = parse_head(exchange.response_head)
        kind = head.media_type
        title = language = ""
        links: tuple[Link, ...] = ()
        keys: Keys | None = None
        dropped: tuple[tuple[Drop, int], ...] = ()
        if kind in _MARKUP and exchange.body:
            page = parse(exchange.body.decode("utf-8", "replace"))
            title, language = page.title, page.language
            found = find_links(
                page,
                outcome.url,
                self._memo,
                agent=self._agent,
                robots_tags=head.get_all("x-robots-tag"),
                refresh_header=head.get("refresh"),
            )
            links, keys, dropped = found.links, found.keys, found.dropped
        meta = _meta(exchange, head, depth, title=title, language=language)
        page_cell = Page(exchange.request_head, exchange.response_head, exchange.body)
        return Processed(Change(meta, page_cell, links=links), links, keys, dropped)

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


def refused(depth: int, now: float, why: Drop | Reason) -> Processed:
    """We may not fetch it: a row that says why, so that it is known and not asked for again."""
    return Processed(Change(RowMeta(fetched=now, depth=depth, error=why)))


def _meta(
    exchange: Exchange, head: Head, depth: int, *, title: str = "", language: str = "", error: str = ""
) -> RowMeta:
    return RowMeta(
        status=exchange.status,
        type=head.media_type,
        length=len(exchange.body),
        fetched=exchange.finished,
        title=title,
        language=language,
        depth=depth,
        error=error,
        truncated=exchange.truncated,
        digest=hashlib.sha1(exchange.body, usedforsecurity=False).digest() if exchange.body else b"",
        etag=head.get("etag"),
        last_modified=head.get("last-modified"),
        address=exchange.address,
    )
