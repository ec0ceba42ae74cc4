"""Which rows of a store somebody wants: by what they are, where they are from, and what they say of their use.

Where nothing is said, rows are *documents*: status 200 (or put by hand, without any) and text; no robots.txt and no
sitemap, which list pages and are none; nothing that was fetched so that a page can be shown (an image); nothing that
says noindex; nothing that was had with a user's credentials.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

from fyke.errors import UserError
from fyke.store.row import Row
from fyke.url import Url
from fyke.values import NO_SIGNALS, Signals

if TYPE_CHECKING:
    from fyke.store.store import Store

_STATUS = re.compile(r"[1-5](?:\d\d|xx)", re.IGNORECASE)
_SITEMAP = re.compile(rb"<(?:[\w.-]{1,64}:)?(?:urlset|sitemapindex)[\s>/]", re.IGNORECASE)
_WINDOW = 1000
"""Bytes in which the root of a sitemap is looked for."""


@dataclass(frozen=True, slots=True)
class Where:
    """A choice of rows; what is empty or None chooses all."""

    status: tuple[str, ...] = ()
    """``200``, ``404``, ``4xx``: then these, with text or not, in place of documents."""
    type: tuple[str, ...] = ()
    """Media types; ``text/`` or ``text/*`` for all that begin so."""
    language: tuple[str, ...] = ()
    since: float | None = None
    """Fetched at this time (seconds since 1970) or later."""
    until: float | None = None
    """Fetched before."""
    host: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()
    duplicates: bool = True
    """Copies too, marked as such."""
    everything: bool = False
    """Redirects, errors, what has no text, noindex: every row but private ones."""
    keep_noindex: bool = False
    private: bool = False
    """Rows that were had with a user's credentials, too."""
    needs_text: bool = True
    """A document has text; else a body will do."""

    def __post_init__(self) -> None:
        for status in self.status:
            if not _STATUS.fullmatch(status):
                raise UserError(f"{status!r} is no status; write 200, 404 or 4xx")

    @classmethod
    def of(cls, given: Where | Mapping[str, Any] | None) -> Where:
        """Return ``given`` as a choice; a mapping has fields by name, one value or several. Raises ``UserError``."""
        if isinstance(given, Where):
            return given
        known = {field.name: field for field in fields(cls)}
        chosen: dict[str, Any] = {}
        for name, value in dict(given or {}).items():
            if name not in known:
                raise UserError(f"{name!r} chooses no rows; use {', '.join(known)}")
            chosen[name] = value
            if isinstance(known[name].default, tuple):
                several = [value] if isinstance(value, str | int) else value
                chosen[name] = tuple(str(each) for each in several)
            elif isinstance(value, datetime):
                chosen[name] = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
        return cls(**chosen)

    def rows(
        self,
        store: Store,
        parts: Sequence[str],
        signals: Callable[[Row], Signals] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Iterator[Row]:
        """Yield the rows of ``store`` that are chosen, by key, with ``parts`` read along the way.

        ``signals`` tells those of rows that nobody looked at.
        """
        for row in self.candidates(store, parts, progress):
            if self.is_shown(row, signals):
                yield row

    def candidates(
        self, store: Store, parts: Sequence[str] = (), progress: Callable[[int], None] | None = None
    ) -> Iterator[Row]:
        """Yield, by key, the rows that are chosen as far as their version records tell."""
        for number, row in enumerate(self._scanned(store, parts)):
            if progress is not None and number % 64 == 0:
                progress(number)
            if self._wanted(row):
                yield row

    def _scanned(self, store: Store, parts: Sequence[str]) -> Iterable[Row]:
        if not self.host and not self.prefix:
            return store.scan(parts=parts)
        keys = {Url.parse(prefix).key: prefix for prefix in self.prefix}
        outer = [keys[key] for key in sorted(keys) if not any(key != o and key.startswith(o) for o in keys)]
        urls = sorted({Url.parse(f"http://{host}/") for host in self.host}, key=lambda url: url.key)
        hosts = [url.host for url in urls]
        if not outer:
            return chain.from_iterable(store.scan(host=host, parts=parts) for host in hosts)
        wanted = [prefix for prefix in outer if not hosts or Url.parse(prefix).host in hosts]
        return chain.from_iterable(store.scan(prefix=prefix, parts=parts) for prefix in wanted)

    def _wanted(self, row: Row) -> bool:
        """What the version record tells."""
        meta, version = row.meta, row.version
        if version is None or (meta.private and not self.private) or (meta.duplicate_of and not self.duplicates):
            return False
        if self.type and not any(is_type(meta.type, wanted) for wanted in self.type):
            return False
        if self.language and meta.language not in self.language:
            return False
        if (self.since is not None and row.stamp < self.since * 1e6) or (
            self.until is not None and row.stamp >= self.until * 1e6
        ):
            return False
        if self.status:
            return any(is_status(meta.status, wanted) for wanted in self.status)
        if self.everything:
            return True
        has_content = version.text if self.needs_text else version.page
        return bool(has_content) and not meta.requisite and (meta.status == 200 or (not meta.status and not meta.error))

    def is_shown(self, row: Row, signals: Callable[[Row], Signals] | None) -> bool:
        """Whether a candidate is a document, and may be shown; its text and body tell."""
        if self.everything:
            return True
        if not self.status and not is_document(row, self.needs_text):
            return False
        if self.keep_noindex:
            return True
        said = row.meta.signals
        if said is None:
            said = signals(row) if signals is not None else NO_SIGNALS
        return not said.noindex


def is_document(row: Row, needs_text: bool = True) -> bool:
    """Whether a row that has a body or text is a document, and no list of documents."""
    if Url(row.url).path == "/robots.txt":
        return False
    if needs_text and not (row.whole or "").strip():
        return False
    return not (row.meta.type.endswith(("/xml", "+xml")) and _SITEMAP.search((row.raw or b"")[:_WINDOW]))


def is_type(media_type: str, wanted: str) -> bool:
    """Whether a media type is the one that is wanted: ``text/html``, or one of ``text/*``."""
    wanted = wanted.lower().removesuffix("*")
    return media_type.startswith(wanted) if wanted.endswith("/") else media_type == wanted


def is_status(status: int, wanted: str) -> bool:
    """Whether a status is the one that is wanted: ``404``, or one of ``4xx``."""
    return str(status) == wanted or (wanted[1:].lower() == "xx" and str(status)[:1] == wanted[0])
