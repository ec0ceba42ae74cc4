"""Documents: the bytes of any format as a ``Document`` whose ``text`` is the main text and ``whole`` all of it.

Converters know no furniture; pages do: the main text of HTML is found here. Runs in this process, whatever the format
is: what may hang, crash or eat memory goes to fyke.workers, which calls this in a process that can be killed.
"""

from __future__ import annotations

from dataclasses import replace

from fyke.clean.main import Main, main_text
from fyke.convert import LIMITS, Limits, Source, failed, is_isolated, prepare
from fyke.convert import convert_here as convert_any
from fyke.convert.html import document
from fyke.convert.registry import Format, Refused
from fyke.formats.encoding import decoded
from fyke.formats.html import Page, parse
from fyke.formats.media_types import HTML, XHTML
from fyke.reading.links import document_links
from fyke.values import Document, Reason

MARKUP = frozenset({HTML, XHTML})
"""Types that are pages."""


def convert_here(source: Source) -> Document:
    """Convert in this process. Never raises for what the document is."""
    if source.media_type not in MARKUP or not 0 < len(source.data) <= source.limits.max_bytes:
        return convert_any(source)
    text = decoded(source.data, source.content_type or source.media_type)
    page = parse(text.text)
    links = document_links(page, source.url)
    main = main_of(page)
    whole = document(
        page, text, source.url, source.media_type, links=links, table=source.table, main=main.text, blocks=main.blocks
    )
    found = replace(whole, text=main.text or whole.whole)
    return found if found.text.strip() else replace(found, failure=Reason.EMPTY, detail="no text")


def main_of(page: Page) -> Main:
    """Return the main content of a page.

    Nothing else that is known of its host takes part: copies must have the same main text wherever they stand.
    """
    return main_text(page)


__all__ = [
    "LIMITS", "MARKUP", "Format", "Limits", "Refused", "Source", "convert_here", "failed", "is_isolated", "main_of",
    "prepare",
]  # fmt: skip
