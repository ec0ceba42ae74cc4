"""The main text of a document: what duplicates are judged by, as furniture hides copies and makes strangers alike."""

from __future__ import annotations

from fyke.clean.extract import extract
from fyke.formats.encoding import decoded
from fyke.formats.http import parse_head
from fyke.store import Row
from fyke.workers.conversion import AT_ONCE

MARKUP = frozenset({"text/html", "application/xhtml+xml"})


def main_text(html: str, text: str) -> str:
    """Return the main content of a page, or where nothing of it looks like content its whole ``text``."""
    return extract(html).text or text


def main_text_of(row: Row) -> str:
    """Return the main text of a stored document, as the crawl that stored it had it."""
    page, text = row.page, row.text or ""
    if page is None or row.meta.type not in MARKUP or not page.body or len(page.body) > AT_ONCE:
        return text
    return main_text(decoded(page.body, parse_head(page.response_head).get("content-type")).text, text)
