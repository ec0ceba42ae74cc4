"""What an import adds to a page: its text, title, language and links, as a crawl would have found them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from fyke.formats.http import Head, parse_head
from fyke.reading.conversion import Source, convert_here
from fyke.reading.reading import Reader, Reading
from fyke.store import Change, Page
from fyke.url import Url
from fyke.values import Document


class Enricher:
    """A ``store.importing.Enrich``; one for a whole import, as it remembers what hrefs lead to.

    ``convert`` reads what is no page; formats that need a process of their own (PDF, Office, …) need one that has it.
    """

    def __init__(self, convert: Callable[[Source], Document] = convert_here) -> None:
        self._reader = Reader(convert=convert)
        self.texts = 0
        """Documents that have a text now."""

    def take(self) -> int:
        """Return how many documents have a text now, and begin to count anew."""
        texts, self.texts = self.texts, 0
        return texts

    def __call__(self, pages: Sequence[tuple[Url, Change]]) -> list[Change]:
        """Return the changes with the text and links of their pages; as they were where no text can be made of it."""
        given = [
            (at, url, change.page, change.meta.type)
            for at, (url, change) in enumerate(pages)
            if change.page is not None and change.page.body
        ]
        read = self._reader.read_many([(page.body, _head(page, media_type), url) for _, url, page, media_type in given])
        made = dict(zip((at for at, _, _, _ in given), read, strict=True))
        return [self._with(change, made.get(at)) for at, (_, change) in enumerate(pages)]

    def _with(self, change: Change, reading: Reading | None) -> Change:
        if reading is None:
            return change
        self.texts += reading.document.failure is None
        return with_reading(change, reading)


def with_reading(change: Change, reading: Reading) -> Change:
    """Return a change with what reading its page has found: no text and title where that failed."""
    made = reading.document
    meta = replace(change.meta, signals=reading.signals)
    change = replace(change, meta=meta, weights=reading.weights, links=reading.links)
    if made.failure is not None:
        return change
    meta = replace(meta, title=made.title, language=made.language, encoding=made.encoding, document=made.meta)
    return replace(change, meta=meta, text=reading.blocks)


def _head(page: Page, media_type: str) -> Head:
    head = parse_head(page.response_head)
    return head if head.get("content-type") else Head(head.status, (*head.headers, ("Content-Type", media_type)))
