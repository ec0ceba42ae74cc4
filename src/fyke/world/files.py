"""Pages in other formats than HTML: minimal valid files made with the standard library.

Archives carry a fixed date and nothing is deflated, so equal content is equal bytes whatever the compressor's
version.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from xml.sax.saxutils import escape

from fyke.world.content import Content

LINE = 88
"""Characters of a line of plain text or PDF."""
LINES_PER_PAGE = 50
_PDF_SPECIAL = re.compile(r"[\\()]")
_BACKSLASHED = r"\\\g<0>"
_STORED = 65_535
_EPOCH = (2023, 11, 14, 0, 0, 0)


def make_file(kind: str, content: Content, language: str, encoding: str = "utf-8") -> bytes:
    """``content`` as a file of ``kind`` (plan.FORMATS). Links are left out, their texts kept."""
    if kind == "txt":
        return ("\n\n".join(_lines(content)) + "\n").encode(encoding, "replace")
    if kind == "csv":
        rows = "".join(f'{k},"{line}"\r\n' for k, line in enumerate(_lines(content)))
        return rows.encode(encoding, "replace")
    return {"pdf": _pdf, "docx": _docx, "odt": _odt, "epub": _epub, "rtf": _rtf}[kind](content, language)


def gzipped(data: bytes) -> bytes:
    """``data`` as a gzip file of stored blocks (RFC 1951, 3.2.4)."""
    out = bytearray(b"\x1f\x8b\x08\0\0\0\0\0\0\xff")
    for at in range(0, max(len(data), 1), _STORED):
        block = data[at : at + _STORED]
        out += struct.pack("<BHH", at + _STORED >= len(data), len(block), len(block) ^ 0xFFFF) + block
    return bytes(out + struct.pack("<II", zlib.crc32(data), len(data)))


def _lines(content: Content) -> list[str]:
    return [line.replace("\t", " ") for line in content.main_text.split("\n")]


def _zip(members: list[tuple[str, str]], first: tuple[str, str] | None = None) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        if first:  # a media type must come first
            archive.writestr(zipfile.ZipInfo(first[0], _EPOCH), first[1])
        for name, text in members:
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), text)
    return out.getvalue()


_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'


def _docx(content: Content, language: str) -> bytes:
    w = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    lines = _lines(content)
    head = f'<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>{escape(lines[0])}</w:t></w:r></w:p>'
    body = "".join(f'<w:p><w:r><w:t xml:space="preserve">{escape(line)}</w:t></w:r></w:p>' for line in lines[1:])
    package = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    types = (
        f'{_XML}<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType='
        f'"application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType='
        f'"application/xml"/><Override PartName="/word/document.xml" ContentType="{main}"/></Types>'
    )
    relations = (
        f'{_XML}<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" Type="{office}" '
        'Target="word/document.xml"/></Relationships>'
    )
    document = f'{_XML}<w:document xmlns:w="{w}"><w:body>{head}{body}</w:body></w:document>'
    return _zip([("[Content_Types].xml", types), ("_rels/.rels", relations), ("word/document.xml", document)])


def _odt(content: Content, language: str) -> bytes:
    lines = _lines(content)
    oasis = "urn:oasis:names:tc:opendocument:xmlns"
    names = f'xmlns:office="{oasis}:office:1.0" xmlns:text="{oasis}:text:1.0"'
    body = "".join(f"<text:p>{escape(line)}</text:p>" for line in lines[1:])
    kind = "application/vnd.oasis.opendocument.text"
    manifest = (
        f'{_XML}<manifest:manifest xmlns:manifest="{oasis}:manifest:1.0"><manifest:file-entry manifest:full-path="/" '
        f'manifest:media-type="{kind}"/><manifest:file-entry manifest:full-path="content.xml" '
        'manifest:media-type="text/xml"/></manifest:manifest>'
    )
    text = (
        f'{_XML}<office:document-content {names} office:version="1.2"><office:body><office:text>'
        f'<text:h text:outline-level="1">{escape(lines[0])}</text:h>{body}'
        "</office:text></office:body></office:document-content>"
    )
    return _zip([("content.xml", text), ("META-INF/manifest.xml", manifest)], ("mimetype", kind))


def _epub(content: Content, language: str) -> bytes:
    lines = _lines(content)
    paragraphs = "".join(f"<p>{escape(line)}</p>" for line in lines[1:])
    page = (
        f'{_XML}<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="{language}"><head>'
        f"<title>{escape(lines[0])}</title></head><body><h1>{escape(lines[0])}</h1>{paragraphs}</body></html>"
    )
    container = (
        f'{_XML}<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile '
        'full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    book = (
        f'{_XML}<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">urn:world</dc:identifier>'
        f"<dc:title>{escape(lines[0])}</dc:title><dc:language>{language}</dc:language></metadata><manifest>"
        '<item id="page" href="page.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="page"/></spine></package>'
    )
    members = [("META-INF/container.xml", container), ("book.opf", book), ("page.xhtml", page)]
    return _zip(members, ("mimetype", "application/epub+zip"))


def _rtf(content: Content, language: str) -> bytes:
    def written(line: str) -> str:
        units = line.encode("utf-16-le")
        pairs = (int.from_bytes(units[k : k + 2], "little") for k in range(0, len(units), 2))
        return "".join(chr(u) if u < 128 else f"\\u{u - 65536 if u > 32767 else u}?" for u in pairs)

    lines = _lines(content)
    body = "".join(f"{written(line)}\\par\n" for line in lines[1:])
    return ("{\\rtf1\\ansi\\uc1\n{\\b " + written(lines[0]) + "}\\par\n" + body + "}").encode("ascii")


def _pdf(content: Content, language: str) -> bytes:
    lines: list[str] = []
    for paragraph in _lines(content):
        lines += _wrapped(paragraph)
    pages = [lines[k : k + LINES_PER_PAGE] for k in range(0, len(lines), LINES_PER_PAGE)]
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
    ]
    kids = []
    for page in pages:
        shown = "".join(f"({_PDF_SPECIAL.sub(_BACKSLASHED, line)}) Tj T*\n" for line in page)
        stream = f"BT /F1 10 Tf 14 TL 50 780 Td\n{shown}ET".encode("cp1252", "replace")
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>"
            % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(kids), b" ".join(kids))
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def _wrapped(paragraph: str) -> list[str]:
    lines, line = [], ""
    for word in paragraph.split(" "):
        if len(line) + len(word) >= LINE:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]
