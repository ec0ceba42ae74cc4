"""Formats: which converter takes which media type. A third party adds one by an entry point in ``fyke.converters``.

A converter is a function ``Source → Document``. It may raise: ``Refused`` with a reason, or whatever its library
raises, which is told as ``damaged``. One that may hang, crash or eat memory is ``isolated``: a worker runs it.

::

    # in the third party's package: [project.entry-points."fyke.converters"]  dvi = "fyke_dvi:FORMAT"
    FORMAT = Format("DVI", ("application/x-dvi",), "fyke_dvi:convert")
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import entry_points
from typing import cast

from fyke.formats import media_types as kinds
from fyke.formats.tags import TABLE, Table
from fyke.url import Url
from fyke.values import Document, Reason


class Refused(Exception):  # noqa: N818 - it is no error of ours
    """A document cannot be converted, for a reason that is counted. Raised by converters, told by ``convert``."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(detail or reason.value)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Limits:
    """What one conversion may cost."""

    max_bytes: int = 100_000_000
    """Input. A larger document is refused at the door: it would need more than the memory below."""
    max_text: int = 50_000_000
    """Characters of output, HTML and text each; what an archive may expand to."""
    max_parts: int = 1_000
    """Members, messages or attachments of one container."""
    max_depth: int = 3
    """Containers within containers."""
    seconds: float = 20.0
    """Processor time in a worker, of all its threads, after which it is killed: a busy machine fails no document. One
    that waits instead has six times as long (``workers.pool.WAITING``)."""
    memory: int = 1_000_000_000
    """Bytes of a worker's address space beyond what it has at its start."""


LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Source:
    """What is to be converted."""

    data: bytes
    media_type: str
    content_type: str = ""
    """The declaration, with its charset."""
    url: Url | None = None
    name: str = ""
    limits: Limits = LIMITS
    table: Table = TABLE
    depth: int = 0
    """How many containers it is in."""
    nested: Callable[[Source], Document] | None = field(default=None, compare=False)
    """How a container converts what it holds."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format and its converter, ``module:function``, loaded when first needed."""

    name: str
    media_types: tuple[str, ...]
    converter: str
    isolated: bool = True

    def load(self) -> Callable[[Source], Document]:
        """Return the converter."""
        module, _, function = self.converter.partition(":")
        return cast(Callable[[Source], Document], getattr(importlib.import_module(module), function))


_ENGINE = "fyke.convert.engine:convert"
_XML = (kinds.DOCBOOK, kinds.OPML, kinds.FICTIONBOOK, kinds.JATS, kinds.SVG)

FORMATS = (
    Format("HTML", (kinds.HTML, kinds.XHTML), "fyke.convert.html:convert", isolated=False),
    Format("XML", (kinds.XML, "text/xml", *_XML), "fyke.convert.xml:convert", isolated=False),
    Format("feed", (kinds.RSS, kinds.ATOM, kinds.RDF), "fyke.convert.xml:convert", isolated=False),
    Format("text", (kinds.TEXT, kinds.JAVASCRIPT, "text/css"), "fyke.convert.text:convert", isolated=False),
    Format("table of text", (kinds.CSV, kinds.TSV), "fyke.convert.text:convert_table", isolated=False),
    Format("JSON", (kinds.JSON,), "fyke.convert.text:convert", isolated=False),
    Format("PDF", (kinds.PDF,), "fyke.convert.engine:convert_pdf"),
    Format("Word", (kinds.DOCX,), "fyke.convert.engine:convert_docx"),
    Format("Word 97", (kinds.DOC,), "fyke.convert.engine:convert_word97"),
    Format("Office 97", (kinds.XLS, kinds.PPT, kinds.MSG), _ENGINE),
    Format("Office", (kinds.XLSX, kinds.PPTX, kinds.XLSB), _ENGINE),
    Format("encrypted Office", (kinds.ENCRYPTED_OFFICE,), "fyke.convert.engine:refuse_encrypted", isolated=False),
    Format("OpenDocument text", (kinds.ODT,), "fyke.convert.engine:convert_open_text"),
    Format("OpenDocument", (kinds.ODS, kinds.ODP), _ENGINE),
    Format("RTF", (kinds.RTF, "text/rtf"), _ENGINE),
    Format("markup", (kinds.MARKDOWN, kinds.LATEX, kinds.ORG, kinds.RST), "fyke.convert.engine:convert_markup"),
    Format("notebook", (kinds.NOTEBOOK,), _ENGINE),
    Format("iWork", (kinds.PAGES, kinds.NUMBERS, kinds.KEYNOTE), "fyke.convert.engine:convert_iwork"),
    Format("EPUB", (kinds.EPUB,), "fyke.convert.epub:convert"),
    Format("mail", (kinds.EMAIL,), "fyke.convert.mail:convert"),
    Format("mailbox", (kinds.MBOX,), "fyke.convert.mail:convert_mailbox"),
    Format("archive", (kinds.ZIP, kinds.TAR, kinds.GZIP, kinds.BZIP2, kinds.XZ), "fyke.convert.archive:convert"),
)  # fmt: skip


@lru_cache(maxsize=1)
def formats() -> dict[str, Format]:
    """Return media type → format; what entry points add comes before ours."""
    known = [*FORMATS, *(point.load() for point in entry_points(group="fyke.converters"))]
    return {media_type: found for found in known for media_type in found.media_types}


def find(media_type: str) -> Format | None:
    """Return the format of a media type; any other text is text, any other XML is XML."""
    found = formats().get(media_type)
    if found is None and media_type.endswith("+xml"):
        return formats()[kinds.XML]
    if found is None and media_type.startswith("text/"):
        return formats()[kinds.TEXT]
    return found
