"""Sniffing: the media type of bytes, from the bytes first, then the declaration, then the name (WHATWG in spirit).

Bytes that show what they are decide: a PDF called .docx and sent as text/html is a PDF. Among types that look
alike (text, XML, zip), the declaration and then the name choose, but only a type that the bytes allow.
"""

from __future__ import annotations

import re
import zlib
from functools import lru_cache

from fyke.formats.encoding import wide_encoding

from fyke.formats.media_types import (  # isort: skip
    ATOM, BINARY, BY_ENDING, BZIP2, DOC, DOCBOOK, DOCX, EMAIL, ENCRYPTED_OFFICE, EPUB, FICTIONBOOK, GZIP, HTML,
    HTML_HELP, JATS, JAVASCRIPT, JSON, KEYNOTE, LATEX, MARKDOWN, MBOX, MSG, NOTEBOOK, OPML, PDF, PPT, PPTX, RDF, RSS,
    RTF, SVG, TAR, TEXT, XHTML, XLS, XLSB, XLSX, XML, XZ, ZIP,
)  # fmt: skip

_MAGIC = (
    (b"%PDF-", PDF), (b"{\\rtf", RTF), (b"\x1f\x8b\x08", GZIP), (b"BZh", BZIP2), (b"\xfd7zXZ\0", XZ),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"), (b"(\xb5/\xfd", "application/zstd"),
    (b"Rar!\x1a\x07", "application/vnd.rar"), (b"ITSF", HTML_HELP), (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF8", "image/gif"), (b"\xff\xd8\xff", "image/jpeg"), (b"BM", "image/bmp"), (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"), (b"\0\0\x01\0", "image/x-icon"), (b"OggS", "application/ogg"), (b"ID3", "audio/mpeg"),
    (b"\x1aE\xdf\xa3", "video/webm"), (b"\x7fELF", "application/x-executable"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"), (b"%!PS", "application/postscript"), (b"wOF", "font/woff"),
    (b"\0asm", "application/wasm"), (b"MZ", "application/x-msdownload"),
)  # fmt: skip
_WORDLIKE = (b"BM", b"MZ", b"ID3", b"BZh")
"""Magic numbers with which a text may begin."""
# The standard's list: a page begins with one of these, then a space or ">".
_HTML_START = re.compile(
    rb"(?:<!doctype html|<html|<head|<script|<iframe|<h1|<div|<font|<table|<a|<style|<title|<b|<body|<br|<p|<meta|"
    rb"<link|<ul|<center|<frameset|<img|<h[2-6])[\s>/]|<!--",
    re.IGNORECASE,
)
_ROOTS = {
    "html": XHTML, "rss": RSS, "feed": ATOM, "rdf": RDF, "svg": SVG, "opml": OPML, "fictionbook": FICTIONBOOK,
}  # fmt: skip
_ROOT = re.compile(rb"<(?![?!])(?:[\w.-]+:)?([\w.-]+)")
_HEADER = re.compile(
    rb"(?:From|To|Subject|Date|Received|Return-Path|Message-ID|MIME-Version|Delivered-To|X-[\w-]+|Content-Type):[ \t]",
    re.IGNORECASE,
)
# A message first: it may have any of the others attached.
_OLE_STREAMS = (
    ("__properties_version1.0", MSG), ("EncryptedPackage", ENCRYPTED_OFFICE), ("WordDocument", DOC),
    ("PowerPoint Document", PPT), ("Workbook", XLS), ("Book", XLS),
)  # fmt: skip
_ZIP_MEMBERS = ((b"word/", DOCX), (b"ppt/", PPTX), (b"xl/workbook.bin", XLSB), (b"xl/", XLSX))
_DEFLATED = 8
_TYPE = re.compile(rb"application/[\w.+-]{1,80}?(?=PK[\x01-\x08]{2}|[^\w.+-]|$)")
_CONTROLS = bytes(set(range(32)) - {7, 8, 9, 10, 12, 13, 27})
_TEXTS = frozenset({LATEX, JSON, EMAIL, MBOX, NOTEBOOK, JAVASCRIPT})
"""Types that are text but are not called so."""
_START, _SEEN = 1024, 4096
"""Bytes by which a type is told, text or not; and of text by which it is told which."""
_ODD = 400
"""Bytes without a zero are no UTF-16 (encoding.wide_encoding looks at so many)."""
_TAIL = 65_536
"""Bytes at either end in which the names of a zip's members are looked for."""
_OLE_SEARCH = 64_000_000
"""How far the directory of an OLE file is looked for; beyond that its name decides."""


def sniff(data: bytes, declared: str = "", name: str = "") -> str:
    """Return the media type of ``data`` in lower case (as registered, for those with capitals).

    ``declared`` is a Content-Type; ``name`` a file name or the path of a URL.
    """
    declared, claimed = (
        _declaration(declared),
        BY_ENDING.get(name.rpartition(".")[2].lower(), "") if "." in name else "",
    )
    if _HTML_START.match(data) and b"\0" not in data[:_ODD] and data[257:262] != b"ustar" and data[4:8] != b"ftyp":
        return _markup_kind(data[:_SEEN], declared, claimed)
    start = data[:_START]
    for magic, kind in () if start.startswith(b"<") else _MAGIC:
        if start.startswith(magic) and not (magic in _WORDLIKE and _is_text(start)):
            return kind
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_kind(data, declared, claimed)
    if start.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return _ole_kind(data, claimed)
    if data[257:262] == b"ustar":
        return TAR
    if b"%PDF-" in start and not start.lstrip().startswith(b"<"):
        return PDF
    if start[4:8] == b"ftyp":
        return "video/mp4"
    return _text_kind(data, declared, claimed)


@lru_cache(maxsize=64)
def _declaration(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _markup_kind(body: bytes, declared: str, claimed: str) -> str:
    """Of what begins as XML or HTML, or is called XML."""
    if body.startswith(b"<?xml") or declared.endswith(("/xml", "+xml")) or claimed.endswith("xml"):
        return _xml_kind(body, declared, claimed)
    if declared == TEXT:
        return claimed or TEXT
    return claimed if claimed in {MARKDOWN, EMAIL, MBOX} else HTML


def _text_kind(data: bytes, declared: str, claimed: str) -> str:
    start = _ascii(data[:_SEEN])
    body = start.lstrip()
    if (
        body.startswith(b"<?xml")
        or declared.endswith(("/xml", "+xml"))
        or (claimed.endswith("xml") and body.startswith(b"<"))
        or _HTML_START.match(body)
    ):
        return _markup_kind(body, declared, claimed)
    if not _is_text(data[:_START]):
        return BINARY
    if body.startswith(b"From ") and b"\nFrom: " in data[:_TAIL]:
        return MBOX
    if _HEADER.match(body) and (
        EMAIL in (claimed, declared) or len(re.findall(rb"^[A-Z][\w-]+:[ \t]", start, re.MULTILINE)) >= 3
    ):
        return EMAIL
    if body.startswith((b"\\documentclass", b"\\documentstyle")):
        return LATEX
    if body[:1] in (b"{", b"[") and (declared == JSON or claimed in {JSON, NOTEBOOK}):
        return claimed or declared
    for said in (declared, claimed):
        if said.startswith("text/") or said in _TEXTS:
            return said
    root = _ROOT.match(body)
    if root and root[1].decode("ascii", "replace").lower() in _ROOTS:
        return _xml_kind(body, declared, claimed)
    return HTML if re.search(rb"<(?:html|body|p|div|a|table|br)[\s>]", start, re.IGNORECASE) else TEXT


def _xml_kind(body: bytes, declared: str, claimed: str) -> str:
    if declared == HTML and re.search(rb"<html[\s>]", body, re.IGNORECASE):
        return HTML
    root = _ROOT.search(re.sub(rb"<!--.*?(?:-->|\Z)", b"", body, flags=re.DOTALL))
    local = root[1].decode("ascii", "replace").lower() if root else ""
    if local in _ROOTS:
        return _ROOTS[local]
    if b"DocBook" in body or b"docbook.org" in body:
        return DOCBOOK
    if b"JATS" in body or b"//NLM//DTD" in body:
        return JATS
    if b"<?mso-application" in body or b"opendocument" in body:
        return claimed or XML
    return claimed if claimed.endswith("xml") and claimed not in {XHTML, HTML} else XML


def _zip_kind(data: bytes, declared: str, claimed: str) -> str:
    if data[30:38] == b"mimetype" and data[38:60].strip():
        size = int.from_bytes(data[22:26], "little") or int.from_bytes(data[18:22], "little") or 80
        said = data[38 : 38 + min(size, 100)].split(b"PK")[0].decode("ascii", "replace").strip().lower()
        if said.startswith("application/"):
            return said.removesuffix("-template")
    names = data[:_TAIL] + data[-_TAIL:]  # local headers in front, the directory at the end
    if b"content.xml" in names and b"META-INF/manifest.xml" in names:
        said = _mimetype(data) or (claimed if "opendocument" in claimed else "")
        if said.startswith("application/vnd.oasis.opendocument."):
            return said.removesuffix("-template")
    if b"[Content_Types].xml" in names or b"word/document.xml" in names:
        for member, kind in _ZIP_MEMBERS:
            if member in names:
                return kind
    if (
        b"Index/Document.iwa" in names
        or b"index.apxl" in names
        or (b"index.xml" in names and (b"buildVersionHistory" in names or b"index.xml" in names[:_TAIL]))
    ):
        for said in (claimed, declared):
            if "iwork" in said:
                return said
        if b"index.apxl" in names:
            return KEYNOTE
    if b"META-INF/container.xml" in names:
        return EPUB
    return ZIP


def _mimetype(data: bytes) -> str:
    """Return what the member called mimetype says, wherever it stands and however it is packed."""
    at = data.find(b"mimetype", 0, _OLE_SEARCH)
    while at >= 30 and data[at - 30 : at - 26] != b"PK\x03\x04":
        at = data.find(b"mimetype", at + 1, _OLE_SEARCH)
    if at < 30:
        return ""
    start = at + 8 + int.from_bytes(data[at - 2 : at], "little")
    content = data[start : start + (int.from_bytes(data[at - 12 : at - 8], "little") or 200)][:200]
    if int.from_bytes(data[at - 22 : at - 20], "little") == _DEFLATED:
        try:
            content = zlib.decompressobj(-15).decompress(content, 100)
        except zlib.error:
            return ""
    said = _TYPE.match(content)
    return said[0].decode().lower() if said else ""


def _ole_kind(data: bytes, claimed: str) -> str:
    for stream, kind in _OLE_STREAMS:
        if data.find(stream.encode("utf-16-le"), 0, _OLE_SEARCH) >= 0:
            return kind
    return claimed if claimed in {DOC, XLS, PPT, MSG} else BINARY


def _is_text(start: bytes) -> bool:
    """Whether bytes could be text: no control characters that text has not, unless they are UTF-16 or UTF-32."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\0\0\xfe\xff")):
        return True
    found = len(start) - len(start.translate(None, _CONTROLS))
    return found <= len(start) // 200 or bool(wide_encoding(start))


def _ascii(start: bytes) -> bytes:
    """Return the beginning as ASCII would show it: without a byte order mark, UTF-16 and UTF-32 folded."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or wide_encoding(start):
        return start.replace(b"\xff\xfe", b"").replace(b"\xfe\xff", b"").replace(b"\0", b"")
    return start.removeprefix(b"\xef\xbb\xbf")
