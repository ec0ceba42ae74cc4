"""What an import adds to a page: its text, title, language and links, as a crawl would have found them."""

from __future__ import annotations

import msgspec

from fyke.convert import convert_here, is_isolated, prepare
from fyke.convert.html import document
from fyke.formats.encoding import decoded
from fyke.formats.html import parse
from fyke.formats.http import parse_head
from fyke.formats.sniff import HTML, XHTML
from fyke.sites.links import LinkMemo, find_links
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
        if source.media_type in (HTML, XHTML):
            text = decoded(page.body, source.content_type or source.media_type)
            parsed = parse(text.text)
            found = find_links(
                parsed,
                url,
                self._memo,
                robots_tags=head.get_all("x-robots-tag"),
                refresh_header=head.get("refresh"),
            )
            made = document(parsed, text, url, source.media_type, links=found.links)
        elif is_isolated(source):
            return change
        else:
            made = convert_here(source)
        if made.failure is not None:
            return change
        self.texts += 1
        meta = msgspec.structs.replace(
            change.meta, title=made.title, language=made.language, encoding=made.encoding, document=made.meta
        )
        return Change(meta, page, made.text, made.links, change.columns)
