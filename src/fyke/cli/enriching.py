"""What an import adds to a page: its text, title, language and links, as a crawl would have found them."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from fyke.convert import convert_here, is_isolated, prepare
from fyke.crawl.maintext import MARKUP
from fyke.crawl.process import read
from fyke.formats.http import parse_head
from fyke.sites.links import LinkMemo
from fyke.store import Change
from fyke.url import Url


class Enricher:
    """An ``importing.Enrich``; one for a whole import, as it remembers what hrefs lead to.

    Formats that need a process of their own (PDF, Office, …) are left as they are.
    """

    def __init__(self) -> None:
        self._memo = LinkMemo()
        self.texts = 0
        """Documents that have a text now."""

    def __call__(self, url: Url, change: Change) -> Change:
        """Return ``change`` with the text and links of its page; as it was where no text can be made of it."""
        page = change.page
        if page is None or not page.body:
            return change
        head = parse_head(page.response_head)
        source = prepare(page.body, head.get("content-type") or change.meta.type, url)
        if source.media_type in MARKUP:
            _, _, found, main, made = read(page.body, head, url, self._memo)
            change = replace(change, weights=main.weights, links=found.links)
        elif is_isolated(source):
            return change
        else:
            made = convert_here(source)
            change = replace(change, links=made.links)
        if made.failure is not None:
            return change
        self.texts += 1
        meta = msgspec.structs.replace(
            change.meta, title=made.title, language=made.language, encoding=made.encoding, document=made.meta
        )
        return replace(change, meta=meta, text=made.text)
