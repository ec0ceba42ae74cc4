"""What the engine's HTML needs before it is a page's: tables parted, markers and internals gone, numbers as typed."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape, unescape

from fyke.formats import media_types as kinds

FORMULA_BEGIN, FORMULA_END = "\ue000", "\ue001"
"""What stands around a formula in TeX on its way through the engine: characters that nobody else may use."""

_ATTACHMENTS = re.compile(r"<p>Attachments:</p>.*\Z", re.DOTALL)
_MARKERS = re.compile(r"\[cmt:\d+\]|\s?\[\^\d{1,4}\]")
_FORMULA = re.compile(f"{FORMULA_BEGIN}([^{FORMULA_BEGIN}{FORMULA_END}]*){FORMULA_END}")
_DISPLAYED = re.compile(r'<span data-math-style="\w+">([^<]*)</span>')
_FRACTION = re.compile(r"(?<![\w.+-])-?\d{1,17}\.\d{12,}(?:[eE][-+]?\d{1,3})?(?![\w.])")
_ROW = re.compile(r"<tr>(.*?)</tr>\s*", re.DOTALL)
_CELL = re.compile(r"<t[dh]>\s*</t[dh]>\s*")
_EMPTY_CELLS = re.compile(r"(?:<t[dh]>\s*</t[dh]>\s*)+")
_TABBED = re.compile(r"<p>([^<]*\t[^<]*)</p>")
_PARAGRAPH = re.compile(r"<(p|h\d|li)>([^<]*)</\1>\s*")
_INTERNAL = re.compile(
    r"[^\s/]*[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-\S*"  # ids
    r"|\S[^\n]*\.(?:jpe?g|png|gif|tiff?|pdf|mov|m4v|plist|iwa|sfc\w+)(?:/\S*)?"  # files
    r"|\w+(?:/[\w .-]+)+|[a-z_]+_[a-z0-9_-]+|[A-Za-z]+[A-Z][A-Za-z]*-?\d*|[\w*`\"$&]*[*`\"$&@^~][\w*`\"$&]*"
    r"|.{1,2}|(?:Master)?Slide(?:-\d+)?|Document|Transition|Additional Content|none|Metadata"
)
"""What programs write for themselves: ids, names of files, paths, names of classes."""


def tidied(markup: str, media_type: str) -> str:
    """Return the engine's HTML of a document as it should be."""
    for tidy in _TIDIES.get(media_type, ()):
        markup = tidy(markup)
    return markup


def _without_markers(markup: str) -> str:
    return _MARKERS.sub("", markup) if "[cmt:" in markup or "[^" in markup else markup


def _with_formulas(markup: str) -> str:
    markup = _FORMULA.sub(r'<code class="language-math">\1</code>', markup)
    return _DISPLAYED.sub(r'<code class="language-math">\1</code>', markup)


def _without_attachments(markup: str) -> str:
    return _ATTACHMENTS.sub("", markup)


def _sheet(markup: str) -> str:
    """Numbers with the digits that they have (a double has fifteen), rows to their last cell, none that is empty."""
    return _ROW.sub(_row, _numbers(markup))


def _numbers(markup: str) -> str:
    return _FRACTION.sub(lambda found: f"{float(found[0]):.15g}", markup)


def _row(found: re.Match[str]) -> str:
    if not _CELL.sub("", found[1]).strip():
        return ""
    cells = _EMPTY_CELLS.sub(lambda run: "" if run.end() == len(run.string) else run[0], found[1])
    return f"<tr>{cells}</tr>"


def _tables_of_tabs(markup: str) -> str:
    """Make tables of paragraphs whose cells are parted by tabs and whose rows by two."""
    return _TABBED.sub(_table, markup)


def _table(found: re.Match[str]) -> str:
    rows = [row.split("\t") for row in found[1].strip("\t\n ").split("\t\t")]
    if len(rows) < 2 or len(rows[0]) < 2 or any(len(row) != len(rows[0]) for row in rows):
        return found[0]
    lines = ("<tr>" + "".join(f"<td>{cell.strip()}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{''.join(lines)}</table>"


def _without_internals(markup: str) -> str:
    return _PARAGRAPH.sub(lambda found: "" if _INTERNAL.fullmatch(unescape(found[2]).strip()) else found[0], markup)


def formula(tex: str) -> str:
    """Return a formula as the engine is to be given it."""
    return f"{FORMULA_BEGIN}{escape(tex, quote=False)}{FORMULA_END}"


_SHEETS = (_sheet,)
_TIDIES: dict[str, tuple[Callable[[str], str], ...]] = {
    kinds.DOCX: (_without_markers, _with_formulas),
    kinds.ODT: (_without_markers, _with_formulas),
    kinds.DOC: (_without_markers, _tables_of_tabs),
    kinds.PPTX: (_numbers,),
    kinds.MSG: (_without_attachments,),
    kinds.KEYNOTE: (_without_internals,),
    kinds.NUMBERS: (_without_internals,),
    kinds.PAGES: (_without_internals,),
    **dict.fromkeys((kinds.XLSX, kinds.XLS, kinds.XLSB, kinds.ODS), _SHEETS),
}
