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


def main_text(html: str, text: str) -> str:
    """Return the main content of a page, or where nothing of it looks like content its whole ``text``."""
    return extract(html).text or text


@dataclass(slots=True)
class Material:
    """What there is of a document. It never changes, and its main text is made once, when it is first asked for."""

    body: bytes
    text: str
    """The converted text."""
    html: str = ""
    """The decoded page; empty where the document is no page."""
    truncated: bool = False
    _main: str | None = None

    def __len__(self) -> int:
        return len(self.body) + len(self.text) + len(self.html)

    def main_text(self) -> str:
        """Return the main content of a page; all of the text where nothing looks like content, and of other formats."""
        if self._main is None:
            self._main = main_text(self.html, self.text) if self.html else self.text
        return self._main

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


def main_text_of(row: Row) -> str:
    """Return the main text of a stored document."""
    return material_of(row).main_text()
