"""Documents: the bytes of any format as a ``Document`` whose ``text`` is the main text and ``whole`` all of it.

Converters know no furniture; pages do: the main text of HTML is found here. Runs in this process, whatever the format
is: what may hang, crash or eat memory goes to fyke.workers, which calls this in a process that can be killed.
"""

from __future__ import annotations

from dataclasses import replace

from fyke.clean.main import main_texts
from fyke.convert import LIMITS, Limits, Source, failed, is_isolated, prepare
from fyke.convert import convert_here as convert_any
from fyke.convert.html import document
from fyke.convert.registry import Format, Refused
from fyke.formats.encoding import decoded
from fyke.formats.html import parse
from fyke.formats.media_types import HTML, XHTML
from fyke.reading.links import document_links
from fyke.values import BLOCK_END, Document, Reason

MARKUP = frozenset({HTML, XHTML})
"""Types that are pages."""


def convert_here(source: Source) -> Document:
    """Convert in this process. Never raises for what the document is."""
    if source.media_type not in MARKUP or not 0 < len(source.data) <= source.limits.max_bytes:
        return convert_any(source)
    text = decoded(source.data, source.content_type or source.media_type)
    page, text = parse(text.utf8(source.data)), text._replace(text="")
    links = document_links(page, source.url)
    main = main_texts([page])[0]
    blocks = main.first_blocks if main.text else main.blocks
    whole = document(
        page, text, source.url, source.media_type, links=links, table=source.table, main=main.text, blocks=blocks
    )
    found = replace(whole, text=main.text or blocks.replace(BLOCK_END, "\n"))
    return found if found.whole.strip() else replace(found, failure=Reason.EMPTY, detail="no text")


__all__ = [
    "LIMITS", "MARKUP", "Format", "Limits", "Refused", "Source", "convert_here", "failed", "is_isolated", "prepare",
]  # fmt: skip
