"""What an import adds to a page: its text, title, language and links, as a crawl would have found them."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from fyke.formats.http import Head, parse_head
from fyke.reading.conversion import convert_here, is_isolated
from fyke.reading.reading import Reader, Reading
from fyke.store import Change
from fyke.url import Url


class Enricher:
    """A ``store.importing.Enrich``; one for a whole import, as it remembers what hrefs lead to.

    Formats that need a process of their own (PDF, Office, …) are left as they are.
    """

    def __init__(self) -> None:
        self._reader = Reader()
        self.texts = 0
        """Documents that have a text now."""

    def __call__(self, url: Url, change: Change) -> Change:
        """Return ``change`` with the text and links of its page; as it was where no text can be made of it."""
        page = change.page
        if page is None or not page.body:
            return change
        head = parse_head(page.response_head)
        if not head.get("content-type"):
            head = Head(head.status, (*head.headers, ("Content-Type", change.meta.type)))
        begun = self._reader.begin(page.body, head, url)
        if not isinstance(begun, Reading):
            if is_isolated(begun):
                return change
            begun = self._reader.converted(begun, convert_here(begun), head)
        made = begun.document
        meta = msgspec.structs.replace(change.meta, signals=begun.signals)
        change = replace(change, meta=meta, weights=begun.weights, links=begun.links)
        if made.failure is not None:
            return change
        self.texts += 1
        meta = msgspec.structs.replace(
            meta, title=made.title, language=made.language, encoding=made.encoding, document=made.meta
        )
        return replace(change, meta=meta, text=begun.blocks)
