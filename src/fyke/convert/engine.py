"""Office formats, PDF and markup through xberg, with pypdfium2 and mammoth where it fails; runs in worker processes.

The engine gets bytes, never an address; OCR and its cache are off. Its HTML goes the way of every page
(convert/html), so tags, links and text come out alike. Empty output is a failure that says why.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from html import escape, unescape
from importlib.util import find_spec
from typing import Any

from fyke.convert import keynote, text, xml
from fyke.convert.formulas import with_formulas
from fyke.convert.html import document
from fyke.convert.members import as_file, open_zip, read_zip, replaced_zip
from fyke.convert.registry import Refused, Source
from fyke.convert.tidying import tidied
from fyke.formats import html as pages
from fyke.formats.encoding import decoded
from fyke.formats.media_types import BY_ENDING, KEYNOTE, LATEX, MARKDOWN, MSG, ORG, RST
from fyke.limits import note
from fyke.text.placeholders import is_placeholder
from fyke.values import Document, Reason

_SECRET = ("password", "encrypt", "decrypt", "protected")
_MAX_PAGES = 5_000
"""Pages of a PDF that PDFium is asked for: more than any book has."""
_WORD97_HEADER = b"\xec\xa5\xc1\x00"
_LIGHT = frozenset({LATEX, ORG, RST, MARKDOWN})
_HEAD_LINE = re.compile(r"\s*<p><strong>(title|author|date|language)</strong>: ([^\n]*?)</p>", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
_RTF_BYTE = re.compile(r"\\'([0-9a-fA-F]{2})")
"""A character of RTF that the engine leaves in titles."""
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8}){0,3}")
"""A language of people; notebooks tell one of programs."""
_WORD_BODY = re.compile(r"word/document\.xml")
_OPEN_BODY = re.compile(r"(?:[^/]+/)?content\.xml")
_OPEN_END = re.compile(rb"</(?:text:p|text:h|svg:title|svg:desc)>")
_OPEN_SPACES = re.compile(rb"<text:s(?=[ />])[^>]*>(?:</text:s>)?")
_ENCRYPTED_FLAG = 11
"""Where the header says so, in its lowest bit."""


def convert(source: Source) -> Document:
    """Return what the engine makes of a document."""
    markup, pairs, links = _extract(source.data, source.media_type)
    if source.media_type in _LIGHT:
        markup, pairs = _headed(markup, pairs)
    found = _finished(source, markup, pairs, links)
    said = dict(pairs)
    title = "" if is_placeholder(said.get("title", "")) else _RTF_BYTE.sub(_rtf_character, said["title"])
    language = said.get("content-language", "")
    return replace(
        found, title=title or found.title, language=language if _LANGUAGE.fullmatch(language) else found.language
    )


def _rtf_character(found: re.Match[str]) -> str:
    return bytes.fromhex(found[1]).decode("cp1252", "replace")


def _headed(markup: str, pairs: list[tuple[str, str]]) -> tuple[str, list[tuple[str, str]]]:
    """Return markup without the lines at its beginning that tell title, author and date, and these as source tags."""
    at = 0
    said = []
    while found := _HEAD_LINE.match(markup, at):
        said.append((found[1].lower(), unescape(_TAG.sub("", found[2])).strip()))
        at = found.end()
    return markup[at:], [*pairs, *said]


def convert_word97(source: Source) -> Document:
    """Return an old Word document, unless its header says that it is encrypted."""
    header = source.data.find(_WORD97_HEADER, 512)
    if header >= 0 and header % 512 == 0 and source.data[header + _ENCRYPTED_FLAG] & 1:
        raise Refused(Reason.ENCRYPTED, "a Word document with a password")
    return convert(source)


def convert_iwork(source: Source) -> Document:
    """Return a document of Apple's: slides by ``keynote``, else the engine's, or the XML inside one of before 2013."""
    ways = (keynote.convert, convert, _iwork09) if source.media_type == KEYNOTE else (convert, _iwork09)
    return _first_with_text(source, *ways)


def convert_pdf(source: Source) -> Document:
    """Return a PDF's text: the engine's, or where that has none, PDFium's page by page, where it is installed."""
    return _first_with_text(source, convert, *([_pdfium] if find_spec("pypdfium2") else []))


def convert_docx(source: Source) -> Document:
    """Return a Word document: the engine's, or mammoth's where that fails."""
    return _first_with_text(replace(source, data=_changed(source, _WORD_BODY, with_formulas)), convert, _mammoth)


def convert_open_text(source: Source) -> Document:
    """Return an OpenDocument text: the engine's, with the spaces that it drops.

    These are one behind each paragraph, since it joins those of frames, and those that are elements.
    """
    return convert(replace(source, data=_changed(source, _OPEN_BODY, _with_spaces)))


def _with_spaces(body: bytes) -> bytes:
    return _OPEN_END.sub(rb" \g<0>", _OPEN_SPACES.sub(b" ", body))


def _changed(source: Source, member: re.Pattern[str], change: Callable[[bytes], bytes]) -> bytes:
    """Return a zipped document with some members changed, or the document itself where that cannot be had."""
    try:
        with open_zip(source.data) as archive:
            bodies = {
                name: read_zip(archive, name, source.limits)
                for name in archive.namelist()[: source.limits.max_parts]
                if member.fullmatch(name)
            }
            changed = {name: change(body) for name, body in bodies.items()}
            return source.data if changed == bodies else replaced_zip(archive, changed, source.limits)
    except Refused:
        return source.data


def convert_markup(source: Source) -> Document:
    """Return text with light markup (Markdown, LaTeX, Org, reStructuredText): decoded by us, read by the engine."""
    return _first_with_text(source, _in_utf8, text.convert)


def _in_utf8(source: Source) -> Document:
    found = decoded(source.data, source.content_type or source.media_type)
    return convert(replace(source, data=found.text.encode("utf-8", "replace")))


def refuse_encrypted(source: Source) -> Document:
    """Office files that hold an encrypted package have no text to give."""
    raise Refused(Reason.ENCRYPTED, "an Office document with a password")


def _first_with_text(source: Source, *ways: Callable[[Source], Document]) -> Document:
    """Return the first document with text; where there is none, fail as the first way that knew a reason did."""
    failure: Refused | None = None
    for way in ways:
        try:
            found = way(source)
        except Refused as refused:
            # Any reason is better than "damaged", which a second reader may deny.
            failure = refused if failure is None or failure.reason is Reason.DAMAGED else failure
            continue
        if found.text.strip():
            return found
        failure = failure or Refused(Reason.EMPTY, "no text, perhaps pictures only")
    raise failure or Refused(Reason.EMPTY)


def _extract(data: bytes, media_type: str) -> tuple[str, list[tuple[str, str]], list[str]]:
    """Return the engine's HTML, its metadata as source tags, and link targets."""
    import xberg

    try:
        result = _runner().run(
            xberg.extract(xberg.ExtractInput(kind="bytes", bytes=data, mime_type=media_type), _config())
        )
    except Exception as error:  # the engine has a score of exception types, and grows more
        raise _told(str(error)) from None
    if not result.results:
        raise _told("; ".join(str(getattr(e, "message", e)) for e in result.errors or []))
    found = result.results[0]
    markup = [tidied(found.content or "", media_type)]
    for child in found.children or []:  # embedded files
        inner = getattr(getattr(child, "result", None), "content", None)
        if inner:
            name = str(getattr(child, "path", ""))
            inner = tidied(inner, BY_ENDING.get(name.rpartition(".")[2].lower(), ""))
            markup.append(f"<h2>{escape(name)}</h2>{inner}")
    return "".join(markup), list(_pairs(found.metadata, media_type)), [u.url for u in found.uris or [] if u.url]


@lru_cache(maxsize=1)
def _runner() -> asyncio.Runner:
    """The engine answers only to an event loop; one is kept for all calls of the process."""
    return asyncio.Runner()


@lru_cache(maxsize=1)
def _config() -> Any:
    import xberg

    return xberg.ExtractionConfig(
        use_cache=False,
        disable_ocr=True,
        output_format="html",
        enable_quality_processing=False,
        extraction_timeout_secs=None,
    )


def _pairs(metadata: Any, media_type: str) -> Iterator[tuple[str, str]]:
    for tag, value in (
        ("title", metadata.title or (metadata.subject if media_type == MSG else "")),
        ("author", ", ".join(metadata.authors or []) or metadata.created_by),
        ("published", metadata.created_at),
        ("updated", metadata.modified_at),
        ("keywords", ", ".join(metadata.keywords or [])),
        ("description", metadata.abstract_text or ("" if media_type == MSG else metadata.subject)),
        ("content-language", metadata.language),
    ):
        if value:
            yield tag, str(value)


def _finished(
    source: Source, markup: str, pairs: Sequence[tuple[str, str]] = (), links: Sequence[str] = ()
) -> Document:
    """Return the document of HTML that an engine made of ``source``, with what it told beside."""
    anchors = "".join(f'<a href="{escape(link)}"></a>' for link in links)
    if len(markup) > source.limits.max_text:
        raise Refused(Reason.TOO_LARGE, f"{len(markup):,} characters of text; the limit is {source.limits.max_text:,}")
    page = pages.parse(markup + anchors)
    return document(page, None, source.url, source.media_type, pairs=pairs, table=source.table)


def _told(message: str) -> Refused:
    """Return the reason that an engine's message tells."""
    low = message.lower()
    short = " ".join(message.split())[:200]
    if any(word in low for word in _SECRET):
        return Refused(Reason.ENCRYPTED, short)
    if "not supported" in low or ("unsupported" in low and "format" in low):
        return Refused(Reason.UNSUPPORTED, short)
    if "limit" in low or "exceed" in low:
        return Refused(Reason.TOO_LARGE, short)
    return Refused(Reason.DAMAGED, short)


def _pdfium(source: Source) -> Document:
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(source.data)
    except pypdfium2.PdfiumError as error:
        raise _told(str(error)) from None
    sheets = []
    try:
        if len(pdf) > _MAX_PAGES:
            note("pdf-pages")
        for number in range(min(len(pdf), _MAX_PAGES)):
            try:
                sheets.append(pdf[number].get_textpage().get_text_bounded())
            except pypdfium2.PdfiumError:  # this page is damaged; the next may not be
                continue
    finally:
        pdf.close()
    lines = "\n".join(sheets).replace("\r\n", "\n").split("\n")
    return _finished(source, "".join(f"<p>{escape(line)}</p>" for line in lines))


def _mammoth(source: Source) -> Document:
    import mammoth

    try:
        markup = mammoth.convert_to_html(as_file(source.data)).value
    except Exception as error:  # whatever zip and XML readers raise on damaged files
        raise _told(str(error)) from None
    return _finished(source, markup)


def _iwork09(source: Source) -> Document:
    with open_zip(source.data) as archive:
        for name in ("index.xml", "index.apxl"):
            if name in archive.namelist():
                data = read_zip(archive, name, source.limits)
                return xml.convert(replace(source, data=data, content_type="application/xml"))
    raise Refused(Reason.EMPTY, "no text that can be read")
