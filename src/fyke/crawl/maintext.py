"""The main text of a document: what duplicates are judged by, as furniture hides copies and makes strangers alike."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from fyke.clean.main import Main
from fyke.clean.main import main_text as find_main
from fyke.dedupe.exact import Digests, text_digest
from fyke.formats.encoding import Decoded, decoded
from fyke.formats.http import parse_head
from fyke.store import Row
from fyke.workers.conversion import AT_ONCE

MARKUP = frozenset({"text/html", "application/xhtml+xml"})
_BOM = b"\xef\xbb\xbf"


def main_of(body: bytes, text: Decoded) -> Main:
    """Return the main content of a page whose ``body`` was decoded to ``text``.

    Nothing else that is known of its host takes part: copies must have the same main text wherever they stand.
    """
    plain = text.encoding == "UTF-8" and not text.replaced and not body.startswith(_BOM)
    return find_main(body if plain else text.text)


def main_text(html: str, text: str) -> str:
    """Return the main content of a page, or where nothing of it looks like content its whole ``text``."""
    return find_main(html).text or text


def main_text_of(row: Row) -> str:
    """Return the main text of a stored document; where the row has none, as a crawl would have had it."""
    if row.weights or row.meta.type not in MARKUP:
        return row.main
    page, text = row.page, row.text or ""
    if page is None or not page.body or len(page.body) > AT_ONCE:
        return text
    return main_text(decoded(page.body, parse_head(page.response_head).get("content-type")).text, text)


@dataclass(frozen=True, slots=True)
class Material:
    """What duplicates are judged by."""

    body: bytes
    main: str
    """The main text; of a document without one, all of its text."""
    truncated: bool = False

    def __len__(self) -> int:
        return len(self.body) + len(self.main)

    def digests(self) -> Digests:
        """Return the digests of the body and of the main text. A body that was cut off is no copy of another."""
        return Digests(b"" if self.truncated else hashlib.sha256(self.body).digest(), text_digest(self.main))


def material_of(row: Row) -> Material:
    """Return what the crawl that stored a document had of it."""
    return Material(row.raw or b"", main_text_of(row), row.meta.truncated)
