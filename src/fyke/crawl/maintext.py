"""What duplicates are judged by: the body, and the main text, as furniture hides copies and makes strangers alike."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from fyke.clean.extract import extract
from fyke.dedupe.exact import Digests, text_digest
from fyke.formats.encoding import decoded
from fyke.formats.http import parse_head
from fyke.store import Row
from fyke.workers.conversion import AT_ONCE

MARKUP = frozenset({"text/html", "application/xhtml+xml"})


@dataclass(frozen=True, slots=True)
class Material:
    """What there is of a document."""

    body: bytes
    text: str
    """The converted text."""
    html: str = ""
    """The decoded page; empty where the document is no page."""
    truncated: bool = False

    def __len__(self) -> int:
        return len(self.body) + len(self.text) + len(self.html)

    def main_text(self) -> str:
        """Return the main content of a page; all of the text where nothing looks like content, and of other formats."""
        return (extract(self.html).text if self.html else "") or self.text

    def digests(self, main: str) -> Digests:
        """Return the digests of the body and of the main text. A body that was cut off is no copy of another."""
        return Digests(b"" if self.truncated else hashlib.sha256(self.body).digest(), text_digest(main))


def material_of(row: Row) -> Material:
    """Return what the crawl that stored a document had of it."""
    page, text = row.page, row.text or ""
    if page is None:
        return Material(b"", text)
    html = ""
    if row.meta.type in MARKUP and 0 < len(page.body) <= AT_ONCE:
        html = decoded(page.body, parse_head(page.response_head).get("content-type")).text
    return Material(page.body, text, html, row.meta.truncated)
