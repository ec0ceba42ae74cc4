"""A page as programs get it from ``fyke.fetch``: where it was found, what it says, and why there is nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fyke.formats.encoding import as_utf8
from fyke.formats.html import parse
from fyke.formats.lazy import lazy
from fyke.formats.markdown import markdown
from fyke.reading.content import LARGE, html_of, make_room
from fyke.reading.conversion import MARKUP
from fyke.values import Document, Link, Meta


@dataclass(frozen=True)
class Page:
    """A document of any format that was asked for. Never changes; ``html`` and ``markdown`` are made when asked for."""

    url: str
    """Where it was found in the end."""
    status: int = 0
    """The HTTP status; 0 where nobody answered, or nobody was asked."""
    error: str = ""
    """Why there is no document (``dns``, ``robots``, ``client-error``, …), or what is wrong with it (``encrypted``)."""
    detail: str = ""
    """The same in words."""
    type: str = ""
    """The media type that the bytes have."""
    title: str = ""
    language: str = ""
    text: str = ""
    """The main text of a page; of any other format all of it."""
    meta: Meta = Meta()  # noqa: RUF009 - frozen
    """Author, dates, site, and what else it says of itself."""
    links: Sequence[Link] = ()
    """Where it leads, as a crawl would follow it."""
    robots: tuple[str, ...] = ()
    """What it says of its use: ``noindex``, ``noarchive``, …"""
    raw: bytes = b""
    """The body, decoded from transfer and content encoding."""
    fetched: float = 0.0
    """When it was asked for; seconds since 1970."""
    truncated: bool = False
    """The body was longer than it may be, or was cut short."""
    requested: str = ""
    """The URL that was asked for."""
    redirects: tuple[str, ...] = ()
    """The addresses that led from ``requested`` to ``url``, without the latter."""
    content_type: str = ""
    """As the server wrote it."""
    document: Document | None = None
    """Of what is no HTML: the whole conversion."""

    @lazy
    def html(self) -> str:
        """The main content as a clean subset of HTML; of any other format all of it."""
        return self._html()

    @lazy
    def markdown(self) -> str:
        """The same as Markdown (CommonMark with GFM's tables)."""
        return markdown(self.__dict__.get("html") or self._html())

    def _html(self) -> str:
        if self.type in MARKUP and self.raw:
            if len(self.raw) > LARGE:
                make_room()
            return html_of(parse(as_utf8(self.raw, self.content_type or self.type).data), self.url)
        return self.document.html if self.document else ""
