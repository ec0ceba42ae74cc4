"""TREC Web and TRECTEXT: many documents in one file between ``<DOC>`` and ``</DOC>``, read and written as streams.

::

    <DOC>
    <DOCNO>WTX001-B01-10</DOCNO>
    <DOCHDR>
    http://www.example.com/test.html 204.244.59.33 19970101013145 text/html 440
    HTTP/1.0 200 OK
    Content-type: text/html
    </DOCHDR>
    <HTML> … </HTML>
    </DOC>

The lengths of the headers are often wrong (in the textbook's own example), so ``</DOC>`` alone ends a document. What
stands before the body is kept byte for byte, so that reading and writing gives the same file. TRECTEXT has no DOCHDR:
the body is all that follows DOCNO. Streams may be plain, .gz, .zst or .Z (``streams.inflated``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fyke.errors import UrlError
from fyke.formats.damage import Report, Window
from fyke.formats.http import parse_head
from fyke.formats.streams import Readable, Writable
from fyke.formats.warc_record import parse_date, timestamp
from fyke.limits import note
from fyke.url import Url
from fyke.values import Exchange

MAX_DOCUMENT = 100 * 1_000_000
"""Bytes of one document; the excess is skipped and the document marked as truncated."""

_BEGIN = re.compile(rb"<DOC>", re.IGNORECASE)
_END = re.compile(rb"</DOC>", re.IGNORECASE)
_NEWLINES = re.compile(rb"[\r\n]*")
_DOCNO = re.compile(rb"<DOCNO>([^<]{0,4096})</DOCNO>[ \t]*\r?\n?", re.IGNORECASE)
_DOCHDR = re.compile(rb"<DOCHDR>[ \t]*\r?\n?(.*?)</DOCHDR>[ \t]*\r?\n?", re.IGNORECASE | re.DOTALL)
_RESERVED = re.compile(r"[%/?#\\\s]")
_DOCHDR_END = re.compile(rb"</DOCHDR>", re.IGNORECASE)
_MAX_MARKUP = 1 << 20
"""Bytes in which DOCNO and DOCHDR are looked for, each."""
_LOOK_BACK = 8
"""Bytes kept in view while a tag is looked for, which may begin in them."""


@dataclass(frozen=True, slots=True)
class TrecDocument:
    """One document; ``markup + body + tail`` is its part of the file."""

    docno: str
    body: bytes
    markup: bytes
    """From ``<DOC>`` to the end of DOCHDR (of DOCNO in TRECTEXT), byte for byte."""
    tail: bytes = b"</DOC>\n"
    url: str = ""
    """As DOCHDR says; empty in TRECTEXT."""
    address: str = ""
    date: float = 0.0
    media_type: str = ""
    length: int = 0
    """What DOCHDR says of the length: often wrong."""
    head: bytes = b""
    """The HTTP status and header lines of DOCHDR, as they stand."""
    offset: int = 0
    """Where it begins in the decompressed stream."""
    truncated: bool = False

    def identity(self) -> Url | None:
        """The URL under which a store keeps it: its own, else ``file:///trec/DOCNO``; None where it has neither."""
        if not self.url and not self.docno:
            return None
        try:
            return Url.parse(self.url or "file:///trec/" + _RESERVED.sub(lambda m: f"%{ord(m[0]):02X}", self.docno))
        except UrlError:
            return None

    def exchange(self) -> Exchange:
        """As it went over the wire, as far as the collection tells."""
        head = self.head + (b"\r\n" if self.head.endswith(b"\r\n") else b"\n") if self.head else b""
        return Exchange(
            b"", head, self.body, parse_head(head).status, self.date, self.date, self.address, self.truncated
        )


def read_trec(
    stream: Readable, report: Report | None = None, *, max_document: int = MAX_DOCUMENT
) -> Iterator[TrecDocument]:
    """Yield the documents of a stream, compressed or not, in bounded memory. Never raises on its content.

    Counted in ``report``: ``cut`` (no ``</DOC>``), ``length`` (over the cap), ``record`` (compressed data damaged: read
    up to there), ``foreign`` (text outside documents, or no document at all), ``docno`` (no number; still yielded).
    """
    report = Report() if report is None else report
    for offset, data, tail, whole in _split(stream, report, max_document):
        document = _parse(offset, data, tail, not whole)
        report.records += 1
        if not document.docno:
            report.note(offset, "docno", "a document without DOCNO")
        yield document
    if not report.records:
        report.note(0, "foreign", "no <DOC> in the whole stream")


def _split(stream: Readable, report: Report, cap: int) -> Iterator[tuple[int, bytes, bytes, bool]]:
    """Yield (offset, bytes up to ``</DOC>``, ``</DOC>`` and newlines, whether it is whole) of each document."""
    window = _Documents(stream, report)
    while True:
        outside = window.skip_to(_BEGIN)
        if outside:
            report.note(window.offset, "foreign", f"{outside:,} bytes outside documents")
        if not window.data:
            return
        offset = window.offset
        data, end = window.take_to(_END, cap)
        if not end:
            report.note(offset, "cut", "no </DOC>")
            yield offset, data, b"</DOC>\n", False
            return
        window.more(16)
        newlines = _NEWLINES.match(window.data)
        tail = end + window.take(newlines.end() if newlines else 0)
        if len(data) > cap:
            report.note(offset, "length", f"document larger than {cap:,} bytes")
        yield offset, data[:cap], tail, len(data) <= cap


class _Documents(Window):
    """A stream of texts between tags."""

    def skip_to(self, pattern: re.Pattern[bytes]) -> int:
        """Go to the next match, or the end; return how many bytes other than white space were passed."""
        passed = 0
        while (match := pattern.search(self.data)) is None:
            passed += len(self.take(max(len(self.data) - _LOOK_BACK, 0)).split())
            if not self.grow():
                return passed + len(self.take(len(self.data)).split())
        return passed + len(self.take(match.start()).split())

    def take_to(self, pattern: re.Pattern[bytes], cap: int) -> tuple[bytes, bytes]:
        """Return what stands before the next match (at most ``cap`` + 1 bytes), and the match; empty without one."""
        parts: list[bytes] = []
        kept = 0
        while (match := pattern.search(self.data)) is None:
            piece = self.take(max(len(self.data) - _LOOK_BACK, 0))
            parts.append(piece[: cap + 1 - kept])
            kept += len(parts[-1])
            if not self.grow():
                parts.append(self.take(len(self.data))[: cap + 1 - kept])
                return b"".join(parts), b""
        parts.append(self.take(match.start())[: cap + 1 - kept])
        return b"".join(parts), self.take(len(match[0]))


def _parse(offset: int, data: bytes, tail: bytes, truncated: bool) -> TrecDocument:
    number = _DOCNO.search(data, 0, _MAX_MARKUP)
    docno = number[1].decode("latin-1").strip() if number else ""
    begin = number.end() if number else len(b"<DOC>")
    header = _DOCHDR.search(data, begin, begin + _MAX_MARKUP)
    if header is None:
        if _DOCHDR_END.search(data, begin + _MAX_MARKUP):
            note("trec-markup")
        return TrecDocument(docno, data[begin:], data[:begin], tail, offset=offset, truncated=truncated)
    first, _, head = header[1].partition(b"\n")
    fields = first.decode("latin-1").split()
    url, address, date, media_type, length = [*fields[:5], *([""] * 5)][:5]
    return TrecDocument(
        docno=docno,
        body=data[header.end() :],
        markup=data[: header.end()],
        tail=tail,
        url=url,
        address=address,
        date=parse_date(date) if date.isdigit() else 0.0,
        media_type=media_type,
        length=int(length) if length.isdecimal() and len(length) < 19 else 0,
        head=head,
        offset=offset,
        truncated=truncated,
    )


def web_document(
    docno: str, url: str, exchange: Exchange, media_type: str = "", length: int | None = None
) -> TrecDocument:
    """Make a TREC Web document. ``length`` is what DOCHDR shall say; where it is None, that of head and body."""
    head = exchange.response_head.rstrip(b"\r\n").replace(b"\r\n", b"\n") + b"\n" if exchange.response_head else b""
    media_type = media_type or parse_head(exchange.response_head).media_type or "-"
    length = len(head) + len(exchange.body) if length is None else length
    first = f"{_word(url)} {_word(exchange.address)} {timestamp(exchange.started)} {_word(media_type)} {length}\n"
    markup = (
        b"<DOC>\n<DOCNO>%b</DOCNO>\n<DOCHDR>\n" % docno.replace("<", "").encode("latin-1", "replace")
        + first.encode("latin-1", "replace")
        + _DOCHDR_END.sub(b"</DOCHDR >", head)
        + b"</DOCHDR>\n"
    )
    return TrecDocument(
        docno=docno,
        body=exchange.body,
        markup=markup,
        tail=b"</DOC>\n",
        url=url,
        address=exchange.address,
        date=exchange.started,
        media_type=media_type,
        length=length,
        head=head,
        offset=0,
        truncated=exchange.truncated,
    )


def text_document(docno: str, text: bytes) -> TrecDocument:
    """Make a TRECTEXT document of plain text."""
    number = docno.replace("<", "").encode("latin-1", "replace")
    return TrecDocument(docno, b"<TEXT>\n%b\n</TEXT>\n" % text, b"<DOC>\n<DOCNO>%b</DOCNO>\n" % number)


def write_trec(document: TrecDocument, out: Writable) -> int:
    """Write a document; return how many bytes.

    A ``</DOC>`` inside is written as ``</DOC >``, since the format has no escape.
    """
    inside = document.markup + document.body
    data = _END.sub(b"</DOC >", inside) + document.tail
    out.write(data)
    return len(data)


def _word(text: str) -> str:
    return "".join(text.split()) or "-"
