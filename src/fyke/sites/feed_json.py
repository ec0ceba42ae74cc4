"""JSON Feed (jsonfeed.org 1 and 1.1), told as the same value as RSS and Atom."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from fyke.errors import UNREADABLE
from fyke.formats.tags import canonical
from fyke.limits import note

from fyke.sites.feed import (  # isort: skip
    MAX_ENCLOSURES, MAX_ITEMS, MAX_TITLE, Feed, FeedFault, FeedKind, Item, address, first_enclosures, from_html,
)  # fmt: skip


def read_json(data: bytes, url: str, faults: Counter[FeedFault]) -> Feed:
    """Return the feed that ``data`` holds; kind ``none`` where they are no JSON Feed. Never raises."""
    try:
        said = msgspec.json.decode(data)
    except UNREADABLE:
        faults[FeedFault.MALFORMED] += 1
        said = None
    if not isinstance(said, dict) or "jsonfeed.org" not in _text(said, "version"):
        faults[FeedFault.NO_FEED] += 1
        return Feed(FeedKind.NONE, faults=tuple(sorted(faults.items())))
    found = said.get("items")
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    if len(rows) > MAX_ITEMS:
        faults[FeedFault.TOO_MANY] += 1
        note("feed-items")
    items = tuple(_item(row, url) for row in rows[:MAX_ITEMS])
    if missing := sum(not item.link for item in items):
        faults[FeedFault.NO_LINK] += missing
    hubs = said.get("hubs")
    meta, title = canonical([*_authors(said), *((name, _text(said, name)) for name in ("title", "description"))])
    return Feed(
        FeedKind.JSON,
        title[:MAX_TITLE],
        address(_text(said, "home_page_url"), url),
        language=_text(said, "language"),
        meta=meta,
        items=items,
        self_url=address(_text(said, "feed_url"), url),
        hubs=tuple(address(_text(hub, "url"), url) for hub in hubs if isinstance(hub, dict) and _text(hub, "url"))
        if isinstance(hubs, list)
        else (),
        faults=tuple(sorted(faults.items())),
    )


def _item(row: dict[str, Any], url: str) -> Item:
    link = address(_text(row, "url") or _text(row, "external_url"), url)
    tags = row.get("tags")
    text = _text(row, "summary") or _text(row, "content_text") or from_html(_text(row, "content_html"))
    pairs = [
        *_authors(row),
        ("title", _text(row, "title")),
        ("published", _text(row, "date_published")),
        ("updated", _text(row, "date_modified")),
        ("summary", text),
        ("keywords", ", ".join(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ""),
    ]
    meta, title = canonical(pairs)
    found = row.get("attachments")
    attachments = found if isinstance(found, list) else []
    urls = [address(_text(each, "url"), url) for each in attachments[: MAX_ENCLOSURES + 1] if isinstance(each, dict)]
    identity = row.get("id")  # a number, in feeds that do not read the specification
    name = str(identity) if identity else link
    return Item(name, link, title[:MAX_TITLE], meta, _text(row, "language"), first_enclosures(urls))


def _authors(row: dict[str, Any]) -> list[tuple[str, str]]:
    found = row.get("authors")
    authors = found if isinstance(found, list) else [row.get("author")]
    names = [_text(author, "name") for author in authors if isinstance(author, dict)]
    return [("author", ", ".join(filter(None, names)))]


def _text(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    return value.strip() if isinstance(value, str) else ""
