"""Putting a document by hand: any of its parts, as one transaction (``Store.put``)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TypedDict

import msgspec

from fyke.errors import UserError
from fyke.formats.http import parse_head
from fyke.store.batch import Batch
from fyke.store.cells import BY_HAND, LAST_STAMP, SEEN_MARK, Anchor, Change, Page, RowMeta, anchor_key
from fyke.store.codec import sha1
from fyke.store.tablet import Tablet
from fyke.url import Url
from fyke.values import Link

When = datetime | float | int


class Parts(TypedDict, total=False):
    """What may be given of a document; None is not given."""

    raw: bytes | None
    """The body as it came."""
    request_head: bytes
    response_head: bytes
    text: str | None
    title: str | None
    links: Iterable[Link | str | tuple[str, str]] | None
    anchors: Mapping[str, str] | None
    """The texts of links to it, by the URLs of the documents that they stand in."""
    columns: Mapping[str, bytes] | None
    meta: RowMeta | None
    fetched: When | None
    """The version's time; now where none is given."""


_NEW_VERSION = frozenset({"raw", "text", "title", "links", "columns", "meta"})
"""Parts that make a version; the others alone do not."""


def put(tablet: Tablet, url: Url, parts: Parts, sync: bool) -> None:
    """Put parts of a document into its tablet. Raises ``TypeError`` for what is none."""
    if unknown := parts.keys() - Parts.__annotations__.keys():
        raise TypeError(f"a document has no {', '.join(sorted(unknown))}; it has {', '.join(Parts.__annotations__)}")
    fetched, anchors = parts.get("fetched"), parts.get("anchors")
    stamp = time.time_ns() // 1000 if fetched is None else stamp_of(fetched)
    given = {name for name, value in parts.items() if value is not None and (name != "columns" or value)}
    with tablet.lock:
        batch = tablet.batch()
        batch.delete("queue", SEEN_MARK)
        if anchors:
            _put_anchors(tablet, batch, url.key, anchors, stamp)
        if given & _NEW_VERSION or not anchors:
            _put_version(tablet, batch, url, parts, stamp)
        tablet.write(batch, sync)


def _put_anchors(tablet: Tablet, batch: Batch, key: bytes, anchors: Mapping[str, str], stamp: int) -> None:
    group = stamp
    while tablet.get("anchor", anchor_key(key, BY_HAND, group)) is not None:
        group += 1
    sources = [Anchor(Url.parse(source).href, text, stamp / 1e6) for source, text in anchors.items()]
    batch.put_anchors(key, BY_HAND, group, sources)


def _put_version(tablet: Tablet, batch: Batch, url: Url, parts: Parts, stamp: int) -> None:
    current, raw, links = tablet.version(url.key), parts.get("raw"), parts.get("links")
    if parts.get("fetched") is None and current is not None:
        stamp = max(stamp, current.stamp + 1)
    known = parts.get("meta") or (current.meta if current is not None and raw is None else RowMeta())
    page = None if raw is None else Page(parts.get("request_head", b""), parts.get("response_head", b""), raw)
    change = Change(
        _described(known, page, parts.get("title"), stamp),
        page,
        parts.get("text"),
        None if links is None else [_link(url, link) for link in links],
        tuple((parts.get("columns") or {}).items()),
    )
    batch.put_row(url.key, change, stamp)


def stamp_of(when: When) -> int:
    """Return a time as µs since 1970; a datetime without a zone is UTC. Raises ``UserError`` outside 1970 … 9999."""
    if isinstance(when, datetime):
        when = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    stamp = round(when * 1e6)
    if not 0 < stamp <= LAST_STAMP:
        raise UserError(f"{when!r} is no time from 1970 to 9999; give a datetime or seconds since 1970")
    return stamp


def _link(base: Url, link: Link | str | tuple[str, str]) -> Link:
    if isinstance(link, Link):
        return link
    target, text = (link, "") if isinstance(link, str) else link
    return Link(base.join(target), text)


def _described(meta: RowMeta, page: Page | None, title: str | None, stamp: int) -> RowMeta:
    """Complete what the caller said of a version with what its page shows."""
    new: dict[str, object] = {"fetched": meta.fetched or stamp / 1e6}
    if title is not None:
        new["title"] = title
    if page is not None:
        new["length"] = len(page.body)
        new["digest"] = meta.digest or sha1(page.body)
        if page.response_head:
            head = parse_head(page.response_head)
            new["status"] = meta.status or head.status
            new["type"] = meta.type or head.media_type
    return msgspec.structs.replace(meta, **new)
