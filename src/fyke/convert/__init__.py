"""Conversion: bytes of any format to a ``Document`` of tagged text. Takes bytes, returns values, touches nothing.

``prepare`` sniffs; ``convert_here`` finds the format's converter (registry) and runs it in this very process, whatever
it is: what may hang, crash or eat memory goes to fyke.workers, which calls this in a process that can be killed.
Nothing raises for what a document is: its ``failure`` says what went wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from fyke.convert.registry import LIMITS, Limits, Refused, Source, find
from fyke.formats import media_types as kinds
from fyke.formats.sniff import sniff
from fyke.formats.tags import TABLE, Table
from fyke.text.placeholders import is_placeholder
from fyke.url import Url
from fyke.values import Document, Reason

__all__ = ["LIMITS", "Limits", "Source", "convert_here", "failed", "is_isolated", "prepare"]


_HEADINGS = frozenset({"h1", "h2", "h3"})
_SHEETS = frozenset({kinds.XLSX, kinds.XLS, kinds.XLSB, kinds.ODS, kinds.NUMBERS, kinds.ZIP, kinds.TAR, kinds.MBOX})
"""Formats whose headings are names of sheets, files or messages."""
_MAX_TAGS, _MAX_HEADINGS = 2_000, 20
"""How many tags are looked at for a title, and how many headings of them."""
_MAX_TITLE = 300


def prepare(
    data: bytes,
    media_type: str | None = None,
    url: Url | None = None,
    *,
    name: str = "",
    limits: Limits = LIMITS,
    table: Table = TABLE,
) -> Source:
    """Return what is to be converted, its type sniffed. ``media_type`` is what was declared, parameters and all."""
    kind = sniff(data, media_type or "", name or (url.path if url else ""))
    return Source(data, kind, media_type or "", url, name, limits, table)


def is_isolated(source: Source) -> bool:
    """Whether a source's format must run in a process that can be killed."""
    found = find(source.media_type)
    return found is not None and found.isolated


def convert_here(source: Source) -> Document:
    """Convert in this process. Never raises for what the document is."""
    source = replace(source, nested=convert_here)
    limits = source.limits
    if not source.data:
        return failed(source, Reason.EMPTY, "no bytes")
    if len(source.data) > limits.max_bytes:
        return failed(source, Reason.TOO_LARGE, f"more than {limits.max_bytes:,} bytes")
    found = find(source.media_type)
    if found is None:
        return failed(source, Reason.UNSUPPORTED, f"no converter for {source.media_type}")
    try:
        document = found.load()(source)
    except Refused as refused:
        return failed(source, refused.reason, refused.detail)
    except MemoryError:
        return failed(source, Reason.TOO_LARGE, "not enough memory")
    except Exception as error:  # the door: whatever a reader raises on hostile bytes is the bytes' fault
        return failed(source, Reason.DAMAGED, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
    document = _named(document)
    if document.failure is None and not document.text.strip():
        return replace(document, failure=Reason.EMPTY, detail="no text")
    return document


def _named(document: Document) -> Document:
    """Return a document without a title or author that says nothing; its title is then its first heading."""
    title, meta = document.title, document.meta
    if is_placeholder(title):
        title = (
            ""
            if document.media_type in _SHEETS
            else next((said for said in _headings(document) if not is_placeholder(said)), "")
        )
    if meta.author and is_placeholder(meta.author, author=True):
        meta = replace(meta, author="")
    return document if title == document.title and meta is document.meta else replace(document, title=title, meta=meta)


def _headings(document: Document) -> Iterator[str]:
    """Yield the first headings of a document, those of the highest level first."""
    text = document.whole
    found = [tag for tag in islice(document.tags, _MAX_TAGS) if tag.name in _HEADINGS]
    for tag in sorted(found[:_MAX_HEADINGS], key=lambda tag: tag.name):
        said = " ".join(text[tag.start : tag.end].split())
        if said and len(said) <= _MAX_TITLE:
            yield said


def failed(source: Source, reason: Reason, detail: str) -> Document:
    """Return the document of a source that gave none."""
    return Document("", "", media_type=source.media_type, failure=reason, detail=detail, name=source.name)
