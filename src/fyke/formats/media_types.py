"""Media types: their names in code, what the endings of file names claim, and which of them somebody wants."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterable
from functools import lru_cache

HTML, XHTML, XML, TEXT = "text/html", "application/xhtml+xml", "application/xml", "text/plain"
RSS, ATOM, RDF = "application/rss+xml", "application/atom+xml", "application/rdf+xml"
SVG, OPML, DOCBOOK = "image/svg+xml", "application/xml+opml", "application/docbook+xml"
FICTIONBOOK, JATS = "application/x-fictionbook+xml", "application/x-jats+xml"
CSV, TSV, JSON, JAVASCRIPT = "text/csv", "text/tab-separated-values", "application/json", "application/javascript"
MARKDOWN, LATEX, ORG, RST = "text/markdown", "application/x-latex", "text/org", "text/prs.fallenstein.rst"
NOTEBOOK = "application/x-ipynb+json"
PDF, RTF, EPUB, HTML_HELP = "application/pdf", "application/rtf", "application/epub+zip", "application/vnd.ms-htmlhelp"
EMAIL, MBOX = "message/rfc822", "application/mbox"
ZIP, TAR, GZIP = "application/zip", "application/x-tar", "application/gzip"
BZIP2, XZ, BINARY = "application/x-bzip2", "application/x-xz", "application/octet-stream"
_OFFICE = "application/vnd.openxmlformats-officedocument."
DOCX, XLSX = f"{_OFFICE}wordprocessingml.document", f"{_OFFICE}spreadsheetml.sheet"
PPTX = f"{_OFFICE}presentationml.presentation"
XLSB = "application/vnd.ms-excel.sheet.binary.macroEnabled.12"
DOC, XLS, PPT = "application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint"
MSG, ENCRYPTED_OFFICE = "application/vnd.ms-outlook", "application/x-ole-encrypted"
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument."
ODT, ODS, ODP = f"{_OPEN_DOCUMENT}text", f"{_OPEN_DOCUMENT}spreadsheet", f"{_OPEN_DOCUMENT}presentation"
PAGES, NUMBERS = "application/x-iwork-pages-sffpages", "application/x-iwork-numbers-sffnumbers"
KEYNOTE = "application/x-iwork-keynote-sffkey"

_ENDINGS = {
    HTML: "html htm shtml", XHTML: "xhtml xht", XML: "xml", TEXT: "txt text log", RSS: "rss", ATOM: "atom", SVG: "svg",
    OPML: "opml", DOCBOOK: "docbook dbk", FICTIONBOOK: "fb2", JATS: "jats nxml", CSV: "csv", TSV: "tsv", JSON: "json",
    MARKDOWN: "md markdown", LATEX: "tex latex", ORG: "org", RST: "rst", NOTEBOOK: "ipynb", PDF: "pdf", RTF: "rtf",
    EPUB: "epub", HTML_HELP: "chm", EMAIL: "eml", MBOX: "mbox", ZIP: "zip", TAR: "tar", GZIP: "gz tgz",
    DOCX: "docx", XLSX: "xlsx", PPTX: "pptx", XLSB: "xlsb", DOC: "doc", XLS: "xls", PPT: "ppt", MSG: "msg",
    ODT: "odt", ODS: "ods", ODP: "odp", PAGES: "pages", NUMBERS: "numbers", KEYNOTE: "key",
}  # fmt: skip
BY_ENDING = {ending: kind for kind, endings in _ENDINGS.items() for ending in endings.split()}
"""The ending of a name to the type it claims."""

_NAMED = re.compile(r"[a-z0-9.+-]+/(?:[a-z0-9.+-]+|\*)")


class TypeFilter:
    """Which types are wanted: single ones (``application/pdf``) and families (``text/*``); XHTML is HTML, too."""

    def __init__(self, words: Iterable[str]) -> None:
        """Each of ``words`` is a type, or several with commas between. Raises ``ValueError`` for what is none."""
        wanted = [name.strip().lower() for word in words for name in word.split(",")]
        for name in wanted:
            if not _NAMED.fullmatch(name):
                raise ValueError(f"types: {name!r} is no media type; write text/html,application/pdf or text/*")
        self._types = frozenset([*wanted, *([XHTML] if HTML in wanted else [])])
        self._families = tuple(name[:-1] for name in wanted if name.endswith("/*"))

    def wants(self, media_type: str) -> bool:
        """Return whether documents of that type are wanted."""
        return media_type in self._types or media_type.startswith(self._families)

    def endings(self) -> tuple[str, ...]:
        """Return the endings of names that claim a wanted type, with their dots."""
        claims = {**_known_endings(), **{f".{ending}": kind for ending, kind in BY_ENDING.items()}}
        return tuple(ending for ending, kind in claims.items() if self.wants(kind))


@lru_cache(maxsize=1)
def _known_endings() -> dict[str, str]:
    """Return what Python knows by itself; what the machine adds is left out, so that crawls do not depend on it."""
    return dict(mimetypes.MimeTypes(()).types_map[True])
