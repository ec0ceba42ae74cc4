"""Plain text and tables of text: paragraphs at empty lines, rows and cells as a table."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import replace
from html import escape
from itertools import islice

from fyke.convert.html import document
from fyke.convert.registry import Source
from fyke.formats import html as pages
from fyke.formats.encoding import decoded
from fyke.formats.media_types import JAVASCRIPT, JSON, TSV
from fyke.limits import note
from fyke.values import Document, Reason, Tags

MAX_TABLE = 4_000_000
"""Characters of a table whose cells are told apart: that takes some thirty times its size."""
MAX_ROWS = 200_000
"""Rows of a table that are read."""
MAX_LINES = 400_000
"""Of these: a cell may have several."""
MAX_UNENDED = 8
"""Rows with a quotation mark that nothing ends after which the rest is read anew."""
_SAMPLE = 8192
"""Characters of a table by which its delimiter is found."""

_PARAGRAPH = re.compile(r"\S(?:.*\S)?(?:\n[^\S\n]*\S(?:.*\S)?)*+")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""A line of a table: other separators of lines (U+2028, form feed) are part of a cell."""
_QUOTED = re.compile(r'"[^"]*"')
_LANGUAGES = {JSON: "json", JAVASCRIPT: "js", "text/css": "css"}
_CONTROLS = dict.fromkeys(set(range(32)) - {9, 10}, None)


def convert(source: Source) -> Document:
    """Return plain text as it is, each paragraph tagged; a program's text as code."""
    found = decoded(source.data, source.content_type or source.media_type)
    text = found.text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS).strip("\n")
    language = _LANGUAGES.get(source.media_type)
    spans = [match.span() for match in _PARAGRAPH.finditer(text)] if language is None else [(0, len(text))]
    if language is None:
        html = "\n".join(f"<p>{escape(text[start:end], quote=False)}</p>" for start, end in spans)
    else:
        html = f'<pre class="language-{language}">{escape(text, quote=False)}</pre>'
    return Document(
        html=html,
        text=text,
        tags=Tags.of(("p" if language is None else "pre", start, end) for start, end in spans),
        media_type=source.media_type,
        encoding=found.encoding,
        encoding_from=found.how,
        replaced=found.replaced,
    )


def convert_table(source: Source) -> Document:
    """Return comma- or tab-separated values as a table; a row that cannot be read is left out and named.

    A long one is kept as the text that it is.
    """
    found = decoded(source.data, source.content_type or source.media_type)
    if len(found.text) > MAX_TABLE:
        note("table-text")
        return convert(source)
    delimiter = "\t" if source.media_type == TSV else _delimiter(found.text[:_SAMPLE])
    usual = csv.field_size_limit(source.limits.max_text)  # of the whole process
    try:
        lines, bad = _rows(found.text, delimiter)
    finally:
        csv.field_size_limit(usual)
    page = pages.canonical(f"<html><head></head><body><table><tbody>{''.join(lines)}</tbody></table></body></html>")
    table = document(page, found, source.url, source.media_type, table=source.table)
    return replace(table, failure=Reason.DAMAGED, detail="; ".join(bad[:3])) if bad else table


def _canonical(cell: str) -> str:
    return escape(cell, quote=False).replace("\xa0", "&nbsp;")


def _rows(text: str, delimiter: str) -> tuple[list[str], list[str]]:
    """Return the rows as HTML, and what is wrong with those that cannot be read as they stand."""
    source = [found[0] for found in islice(_LINE.finditer(text), MAX_LINES)]
    rows, at = csv.reader(source, delimiter=delimiter), 0
    lines: list[str] = []
    bad: list[str] = []
    unended = 0
    for number in range(1, MAX_ROWS + 1):
        before = at + rows.line_num
        try:
            row = next(rows)
        except StopIteration:
            break
        except csv.Error as error:
            bad.append(f"row {number}: {error}")
            continue
        after = at + rows.line_num
        if after == len(source) > before + 1 and unended < MAX_UNENDED and _is_unended(source[before:]):
            bad.append(f"row {number}: a quotation mark that nothing ends")
            unended += 1
            row = next(csv.reader(source[before : before + 1], delimiter=delimiter, quoting=csv.QUOTE_NONE))
            at = before + 1
            rows = csv.reader(source[at:], delimiter=delimiter)
        if number == MAX_ROWS:
            note("table-rows")
        lines.append("<tr>" + "".join(f"<td>{_canonical(cell)}</td>" for cell in row) + "</tr>")
    return lines, bad


def _is_unended(lines: list[str]) -> bool:
    return sum(line.count('"') for line in lines) % 2 == 1


def _delimiter(sample: str) -> str:
    """Return what parts the cells: what stands equally often in the most lines, quoted text left aside."""
    lines = [_QUOTED.sub("", line) for line in sample.split("\n")[:50] if line.strip()]

    def merit(sign: str) -> tuple[int, int]:
        counts = Counter(count for line in lines if (count := line.count(sign)))
        return max(counts.values(), default=0), sum(count * lines_ for count, lines_ in counts.items())

    return max(",;\t|", key=merit)
