"""HTML files: bytes decoded, parsed, and turned into a ``Document``."""

from __future__ import annotations

from fyke.convert.html import document
from fyke.convert.registry import Source
from fyke.formats import html as pages
from fyke.formats.encoding import decoded
from fyke.values import Document


def convert(source: Source) -> Document:
    """Return the document of an HTML or XHTML file."""
    text = decoded(source.data, source.content_type or source.media_type)
    return document(pages.parse(text.text), text, source.url, source.media_type, table=source.table)
