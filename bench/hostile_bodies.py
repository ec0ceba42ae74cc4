"""Bodies of the hostile web: bombs in every encoding, pages and documents without an end."""

# ruff: noqa: E501 - documents as they are

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache

import brotli
import zstandard

MILLION = 1_000_000
BODY = 1_000 * MILLION
"""Bytes of what a bomb expands to, and of a body that is just long."""
CHUNK = MILLION


def _pieces(total: int = BODY, text: bytes = b"") -> Iterator[bytes]:
    piece = (text * (CHUNK // len(text) + 1))[:CHUNK] if text else bytes(CHUNK)
    return (piece for _ in range(total // CHUNK))


@cache
def gzip_bomb() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(piece) for piece in _pieces()) + packer.flush()


@cache
def deflate_bomb() -> bytes:
    packer = zlib.compressobj(9)
    return b"".join(packer.compress(piece) for piece in _pieces()) + packer.flush()


@cache
def members() -> bytes:
    return gzip.compress(b"<p>one member and its words " * 4) * 100_000


@cache
def member_bomb() -> bytes:
    return gzip.compress(bytes(10 * MILLION), 9) * 100


@cache
def brotli_bomb() -> bytes:
    packer = brotli.Compressor(quality=5)
    return bytes(b"".join(packer.process(piece) for piece in _pieces()) + packer.finish())


@cache
def zstd_bomb() -> bytes:
    packer = zstandard.ZstdCompressor(level=3).compressobj()
    return b"".join(packer.compress(piece) for piece in _pieces()) + packer.flush()


@cache
def zstd_window() -> bytes:
    options = zstandard.ZstdCompressionParameters.from_level(3, window_log=27)
    packer = zstandard.ZstdCompressor(compression_params=options).compressobj()
    return b"".join(packer.compress(piece) for piece in _pieces(200 * MILLION)) + packer.flush()


@cache
def twice() -> bytes:
    return gzip.compress(gzip_bomb(), 9)


@cache
def html_bomb() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(piece) for piece in _pieces(text=b"<p>a <b>word</b> of it ")) + packer.flush()


def repeated(text: str, before: str = "", after: str = "", size: int = 20 * MILLION) -> Callable[[], bytes]:
    def body() -> bytes:
        return (before + text * (size // len(text)) + after).encode()

    return body


def many_links(size: int = 20 * MILLION) -> bytes:
    return b"".join(b'<a href="/%d">x</a>' % i for i in range(size // 24))


def many_attributes() -> bytes:
    return b"<p " + b" ".join(b"a%d=b" % i for i in range(1_200_000)) + b">x"


def entities_xml() -> bytes:
    doctype = b'<!DOCTYPE a [<!ENTITY x0 "lol">' + b"".join(
        b'<!ENTITY x%d "%s">' % (i, b"&x%d;" % (i - 1) * 10) for i in range(1, 12)
    )
    return b'<?xml version="1.0"?>' + doctype + b"]><a>&x11;</a>"


@cache
def pdf_pages() -> bytes:
    """A PDF of many pages, each a long text."""
    text = b"BT /F1 12 Tf 72 720 Td " + b"(some words of a page) Tj 0 -1 Td " * 2000 + b"ET"
    return pdf([text] * 400)


@cache
def pdf_bomb() -> bytes:
    """A PDF whose stream expands to a gigabyte."""
    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(piece) for piece in _pieces(text=b"(a) Tj ")) + packer.flush()
    return pdf([data], b"/Filter /FlateDecode ")


def pdf(streams: list[bytes], extra: bytes = b"") -> bytes:
    kids = b" ".join(b"%d 0 R" % (4 + 2 * i) for i in range(len(streams)))
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(streams), kids)]
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for i, stream in enumerate(streams):
        box = b"/MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>"
        objects.append(b"<< /Type /Page /Parent 2 0 R %s /Contents %d 0 R >>" % (box, 5 + 2 * i))
        objects.append(b"<< %s/Length %d >>\nstream\n%s\nendstream" % (extra, len(stream), stream))
    out, offsets = io.BytesIO(), []
    out.write(b"%PDF-1.4\n")
    for i, each in enumerate(objects):
        offsets.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (i + 1, each))
    at = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % offset for offset in offsets))
    out.write(b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, at))
    return out.getvalue()


def zipped(*parts: tuple[str, bytes, bytes, int]) -> bytes:
    """A zip of (name, before, repeated, size)."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as pack:
        for name, before, text, size in parts:
            with pack.open(name, "w", force_zip64=True) as member:
                member.write(before)
                for piece in _pieces(max(size, CHUNK), text):
                    member.write(piece)
    return out.getvalue()


_TYPES = b"""<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override
PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>"""
_RELS = b"""<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship
Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>"""
_WORD = b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
_PARAGRAPH = b"<w:p><w:r><w:t>some words of a paragraph</w:t></w:r></w:p>"


def docx(size: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as pack:
        pack.writestr("[Content_Types].xml", _TYPES)
        pack.writestr("_rels/.rels", _RELS)
        with pack.open("word/document.xml", "w", force_zip64=True) as member:
            member.write(_WORD)
            for _ in range(size // CHUNK):
                member.write(_PARAGRAPH * (CHUNK // len(_PARAGRAPH)))
            member.write(b"</w:body></w:document>")
    return out.getvalue()


@cache
def docx_bomb() -> bytes:
    return docx(BODY)


@cache
def docx_large() -> bytes:
    return docx(60 * MILLION)


@cache
def zip_bomb() -> bytes:
    return zipped(("a.txt", b"", b"words of a text ", BODY))


@cache
def zip_many() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as pack:
        for i in range(50_000):
            pack.writestr(f"{i}.txt", "some words")
    return out.getvalue()


@cache
def zip_nested() -> bytes:
    data = zip_bomb()
    for i in range(8):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as pack:
            pack.writestr(f"{i}.zip", data)
        data = out.getvalue()
    return data
