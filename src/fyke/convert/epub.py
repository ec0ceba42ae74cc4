"""EPUB: zipped XHTML, read in the order of its spine, with the package's metadata."""

from __future__ import annotations

from dataclasses import replace
from posixpath import dirname, join, normpath
from urllib.parse import unquote
from zipfile import ZipFile

from fyke.convert.html import document
from fyke.convert.members import open_zip, read_zip
from fyke.convert.registry import Refused, Source
from fyke.formats import html as pages
from fyke.formats.encoding import decoded
from fyke.formats.xml import Start, events
from fyke.limits import note
from fyke.text.language import primary
from fyke.values import Document, Reason

_MAX_CHAPTERS = 2_000
"""Files of a book that are read: a Bible has 1,200."""


def convert(source: Source) -> Document:
    """Return a book as one document, chapter after chapter."""
    with open_zip(source.data) as archive:
        names = set(archive.namelist())
        if "META-INF/encryption.xml" in names and "META-INF/rights.xml" in names:
            raise Refused(Reason.ENCRYPTED, "a book with rights management")
        package = _package(archive, source)
        chapters, pairs = _spine(read_zip(archive, package, source.limits))
        markup, total = [], 0
        bad: list[Refused] = []
        if len(chapters) > _MAX_CHAPTERS:
            note("chapters")
        for href in chapters[:_MAX_CHAPTERS]:
            name = normpath(join(dirname(package), unquote(href.partition("#")[0])))
            if name not in names:
                bad.append(Refused(Reason.DAMAGED, f"{name} is not in the archive"))
                continue
            try:
                chapter = decoded(read_zip(archive, name, source.limits), "application/xhtml+xml")
            except Refused as refused:
                bad.append(refused)
                continue
            total += len(chapter.text)
            if total > source.limits.max_text:
                raise Refused(Reason.TOO_LARGE, f"the book has more than {source.limits.max_text:,} characters")
            markup.append(pages.parse(chapter.text).markup.decode())
    if bad and not markup:
        raise bad[0]
    found = document(
        pages.parse("".join(markup)), None, source.url, source.media_type, links=(), pairs=pairs, table=source.table
    )
    named = dict(reversed(pairs))  # the first of each name
    return replace(
        found,
        title=" ".join(named.get("dc:title", "").split()) or found.title,
        language=primary(named.get("dc:language", "")) or found.language,
        failure=bad[0].reason if bad else None,
        detail="; ".join(refused.detail for refused in bad[:3]),
    )


def _package(archive: ZipFile, source: Source) -> str:
    """Return the name of the file that describes the book."""
    container = read_zip(archive, "META-INF/container.xml", source.limits)
    for event in events(container):
        if isinstance(event, Start) and event.name.rpartition(":")[2] == "rootfile":
            return event.attributes.get("full-path", "")
    raise Refused(Reason.DAMAGED, "the book names no package")


def _spine(package: bytes) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the chapters' addresses in reading order, and the metadata as source tags."""
    items: dict[str, str] = {}
    order: list[str] = []
    pairs: list[tuple[str, str]] = []
    current = ""
    for event in events(package):
        if isinstance(event, Start):
            current = event.name
            local = current.rpartition(":")[2]
            if local == "item":
                items[event.attributes.get("id", "")] = event.attributes.get("href", "")
            elif local == "itemref":
                order.append(event.attributes.get("idref", ""))
        elif isinstance(event, str) and event.strip() and current.startswith("dc:"):
            pairs.append((current, event))
    return [items[key] for key in order if items.get(key)], pairs
