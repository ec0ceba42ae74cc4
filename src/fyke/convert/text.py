"""Plain text and tables of text: paragraphs at empty lines, rows and cells as a table."""

from __future__ import annotations

import csv
import re
from html import escape
from itertools import islice

from fyke.convert.html import document
from fyke.convert.registry import Source
from fyke.formats import html as pages
from fyke.formats.encoding import decoded
from fyke.values import Document, Tags

MAX_ROWS = 200_000
"""Rows of a table that are read."""
_SAMPLE = 8192
"""Characters of a table whose most frequent delimiter is the table's."""

_PARAGRAPH = re.compile(r"\S(?:.*\S)?(?:\n[^\S\n]*\S(?:.*\S)?)*+")
_CONTROLS = dict.fromkeys(set(range(32)) - {9, 10}, None)


def convert(source: Source) -> Document:
    """Return plain text as it is, each paragraph tagged."""
    found = decoded(source.data, source.content_type or source.media_type)
    text = found.text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS).strip("\n")
    spans = [match.span() for match in _PARAGRAPH.finditer(text)]
    return Document(
        html="\n".join(f"<p>{escape(text[start:end], quote=False)}</p>" for start, end in spans),
        text=text,
        tags=Tags.of(("p", start, end) for start, end in spans),
        media_type=source.media_type,
        encoding=found.encoding,
        encoding_from=found.how,
        replaced=found.replaced,
    )


def convert_table(source: Source) -> Document:
    """Return comma- or tab-separated values as a table."""
    found = decoded(source.data, source.content_type or source.media_type)
    csv.field_size_limit(source.limits.max_text)
    rows = csv.reader(
        found.text.splitlines(keepends=True),  # a quoted cell may go on in the next line
        delimiter=max(",;\t|", key=found.text[:_SAMPLE].count),
    )
    lines = [
        "<tr>" + "".join(f"<td>{escape(cell, quote=False)}</td>" for cell in row) + "</tr>"
        for row in islice(rows, MAX_ROWS)
    ]
    page = pages.parse(f"<table>{''.join(lines)}</table>")
    return document(page, found, source.url, source.media_type, table=source.table)
