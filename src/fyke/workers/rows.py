"""What is made of stored rows when somebody asks: Markdown, the kinds of blocks, signals of use; ``fyke.Store``.

A document that needs a converter which may hang is converted in a worker. Rows of older versions of fyke, where nobody
looked for signals, are read again for them.
"""

from __future__ import annotations

from functools import lru_cache

from fyke import store as stores
from fyke.errors import UNREADABLE, UserError
from fyke.formats.http import parse_head
from fyke.formats.markdown import markdown
from fyke.reading.content import extract
from fyke.reading.conversion import MARKUP
from fyke.reading.stored import decoded_body, kinds_of, signals_of
from fyke.sites.robots import Robots
from fyke.sites.standing import Standing
from fyke.sites.usage import TdmRules, joined
from fyke.store import Row
from fyke.url import Url
from fyke.values import NO_SIGNALS, Signals
from fyke.workers.conversion import convert

AGENT = "fyke"
"""Who is meant by rules for one agent, where the store does not say who fetched."""
_SITES = 4096
"""Sites whose rules are kept at hand."""


class Derived:
    """A ``store.exports.columns.Derived`` over one store."""

    def __init__(self, store: stores.Store, agent: str = AGENT) -> None:
        self._store, self._agent = store, agent
        self._site = lru_cache(_SITES)(self._rules)

    def as_markdown(self, row: Row) -> str:
        """See ``markdown_of``."""
        return markdown_of(row)

    def kinds(self, row: Row) -> list[str]:
        """The kind of each block of a page."""
        return kinds_of(row)

    def signals(self, row: Row) -> Signals:
        """What the row says, with what its site says where that is known."""
        own = row.meta.signals
        if own is None:
            own = signals_of(row, self._agent)
        url = Url(row.url)
        robots, tdm = self._site(url.site)
        said = Signals((), robots.usage(self._agent, url)) if robots is not None else NO_SIGNALS
        return joined(joined(own, tdm.signals(url)), said)

    def _rules(self, site: str) -> tuple[Robots | None, TdmRules]:
        """The robots.txt and tdmrep.json of a site, as a crawl or an import has brought them."""
        url = Url.parse(f"{site}/")
        number = self._store.tablet_of(url)
        robots = None
        if number in self._store.owned and self._store.exists(number):
            kept = self._store.tablet(number).get("host", Standing.key(url))
            try:
                robots = Standing.decode(kept).rules() if kept is not None else None
            except UNREADABLE:
                robots = None
        body = self._body(url, "/robots.txt") if robots is None else b""
        robots = Robots.parse(body) if body else robots
        return robots, TdmRules.parse(self._body(url, "/.well-known/tdmrep.json"))

    def _body(self, url: Url, path: str) -> bytes:
        if url.scheme not in ("http", "https"):
            return b""
        try:
            row = self._store.get(url.join(path))
        except UserError:
            return b""
        return row.raw or b"" if row is not None and row.meta.status == 200 else b""


def markdown_of(row: Row) -> str:
    """Return the main content of a page, or the whole of another document, as Markdown; its text if it has no body."""
    page = row.page
    if page is None or not page.body:
        return row.text or ""
    if row.meta.type in MARKUP:
        return extract(decoded_body(row), url=row.url).markdown
    return markdown(convert(page.body, parse_head(page.response_head).get("content-type"), row.url).html)


class Store(stores.Store):
    """A collection of documents on disk, by URL, in every version. Use ``open``; it is a context manager."""

    def derived(self) -> Derived:
        """Return what makes the columns that the store does not hold."""
        return Derived(self)
