"""The links of a page that came without an address, or whose links nobody follows: the same ones as a crawl finds."""

from __future__ import annotations

from collections.abc import Iterator

from fyke.errors import UrlError
from fyke.formats.encoding import decoded
from fyke.formats.html import Page, parse
from fyke.sites.links import LinkMemo, find_links
from fyke.url import Url
from fyke.values import Link

NOWHERE = Url("http://nowhere.invalid/")
"""Where a page is that came without an address: what is relative to it leads nowhere."""


def document_links(page: Page, url: Url | None) -> tuple[Link, ...]:
    """Return the links of a page at ``url``; of one without an address those that are absolute."""
    found = find_links(page, url or NOWHERE, LinkMemo(0)).links
    if url is not None:
        return tuple(found)
    return tuple(link for link in found if link.target.host != NOWHERE.host)


def written_links(body: bytes, content_type: str, url: Url) -> Iterator[str]:
    """Yield where the links of a page lead, those that are not to be followed too."""
    for written in parse(decoded(body, content_type).text).links().hrefs:
        try:
            yield url.join(written).href
        except UrlError:
            continue
