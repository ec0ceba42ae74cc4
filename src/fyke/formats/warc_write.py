"""WARC/1.1 files: warcinfo, request, response, revisit, resource and metadata records with true digests.

Each record is a gzip member or zstd frame of its own, so that one seek reads one record. A response holds the head as
received and the decoded body; what the head said of codings and length is kept under X-Crawler- names
(``warc_exchange.stored_head``), as Common Crawl does. Record ids come from the caller, dates from the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import zstandard
from isal import igzip_lib

from fyke.formats.streams import Writable
from fyke.formats.warc_exchange import IDENTICAL_PAYLOAD, NOT_MODIFIED, Original, glance, spoken, stored_head
from fyke.formats.warc_record import format_date, sha1_base32
from fyke.values import Exchange

Compression = Literal["gzip", "zstd", ""]

GZIP_LEVEL = 2
"""isal's level 2: files 9 % larger than zlib's level 6 on real pages, in two thirds of the time (docs/warc.md)."""
ZSTD_LEVEL = 3

_REQUEST = "application/http; msgtype=request"
_RESPONSE = "application/http; msgtype=response"
_FIELDS = "application/warc-fields"


@dataclass(frozen=True, slots=True)
class Written:
    """A record that was written: what an index says of it."""

    kind: str
    id: str
    url: str
    date: float
    offset: int
    length: int
    """Bytes of its compressed member."""
    digest: str = ""
    """WARC-Payload-Digest, for records that have a payload."""
    media_type: str = ""
    """As the head states it; of a record without one, the block's."""
    status: int = 0


class WarcWriter:
    """Writes records to a binary stream, in order, each whole when its method returns."""

    def __init__(
        self,
        out: Writable,
        new_id: Callable[[], str],
        *,
        compression: Compression = "gzip",
        offset: int = 0,
        observe: Callable[[Written], None] | None = None,
    ) -> None:
        """``new_id`` returns a fresh URI (``urn:uuid:…``) at each call; ``offset`` is where ``out`` stands.

        ``observe`` is called with each response, revisit and resource that was written: an index hooks in here.
        """
        self._out = out
        self._new_id = new_id
        self._offset = offset
        self._observe = observe
        self._info = ""
        if compression == "gzip":
            self._compress: Callable[[bytes], bytes] = _gzip
        elif compression == "zstd":
            self._compress = zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True).compress
        else:
            self._compress = bytes

    @property
    def offset(self) -> int:
        """Where the next record will begin."""
        return self._offset

    def warcinfo(self, date: float, fields: Iterable[tuple[str, str]], filename: str = "") -> Written:
        """The head of a file: who wrote it, with what, under which rules. The records after it name it."""
        self._info = ""
        extra = f"WARC-Filename: {one_line(filename)}\r\n" if filename else ""
        written = self._write("warcinfo", "", date, warc_fields(fields), content_type=_FIELDS, extra=extra)
        self._info = f"WARC-Warcinfo-ID: <{written.id}>\r\n"
        return written

    def exchange(
        self,
        url: str,
        exchange: Exchange,
        *,
        original: Original | None = None,
        media_type: str = "",
        docno: str = "",
        metadata: Iterable[tuple[str, str]] | bytes = (),
        digest: str = "",
    ) -> Written:
        """A request (where its head is known), its response, and a metadata record if ``metadata`` is given.

        With ``original`` the response becomes a revisit: its head alone, for a payload that is unchanged or a
        duplicate; ``digest`` is the payload's, if the body is not at hand. Without any head the body is a resource.
        Returns where the response, revisit or resource stands.
        """
        own = self._new_id()
        date = exchange.started
        extra = f"WARC-IP-Address: {one_line(exchange.address)}\r\n" if exchange.address else ""
        if exchange.request_head:
            named = f"{extra}WARC-Concurrent-To: <{own}>\r\n"
            request = self._write("request", url, date, exchange.request_head, content_type=_REQUEST, extra=named)
            extra += f"WARC-Concurrent-To: <{request.id}>\r\n"
        if docno:
            extra += f"WARC-TREC-ID: {one_line(docno)}\r\n"
        digest = digest or (sha1_base32(exchange.body) if exchange.body or original is None else "")
        if digest:
            extra += f"WARC-Payload-Digest: {digest}\r\n"
        content_type = _RESPONSE
        head, protocol = spoken(exchange.response_head)
        if protocol:
            extra += f"WARC-Protocol: {protocol}\r\n"
        if original is not None:
            kind, block = "revisit", stored_head(head, original.length) if original.length >= 0 and head else head
            extra += _original(original, exchange.status)
        else:
            if exchange.truncated:
                extra += "WARC-Truncated: length\r\n"
            if head:
                kind, block = "response", stored_head(head, len(exchange.body)) + exchange.body
                if media_type:
                    extra += f"WARC-Identified-Payload-Type: {one_line(media_type)}\r\n"
            else:
                kind, block = "resource", exchange.body
                content_type = one_line(media_type) or "application/octet-stream"
        said = glance(head)[1] if head else content_type
        written = self._write(
            kind, url, date, block, content_type=content_type, extra=extra, id_=own,
            index=(digest, said, exchange.status if head else 0),
        )  # fmt: skip
        if self._observe is not None:
            self._observe(written)
        if metadata:
            self.metadata(url, date, metadata, concurrent_to=own)
        return written

    def resource(self, url: str, date: float, media_type: str, body: bytes) -> Written:
        """A document that came without HTTP: a local file, an ftp: transfer."""
        return self.exchange(url, Exchange(b"", b"", body, 0, date, date), media_type=media_type)

    def metadata(
        self, url: str, date: float, fields: Iterable[tuple[str, str]] | bytes, concurrent_to: str = ""
    ) -> Written:
        """What is known of a capture beside what went over the wire (``via``, ``title``, …): fields, or their block."""
        extra = f"WARC-Concurrent-To: <{concurrent_to}>\r\n" if concurrent_to else ""
        block = fields if isinstance(fields, bytes) else warc_fields(fields)
        return self._write("metadata", url, date, block, content_type=_FIELDS, extra=extra)

    def conversion(
        self, url: str, date: float, media_type: str, block: bytes, refers_to: str = "", language: str = ""
    ) -> Written:
        """Another form of a document: its text, as in a WET file, or a picture of it."""
        extra = f"WARC-Refers-To: <{refers_to}>\r\n" if refers_to else ""
        if language:
            extra += f"WARC-Identified-Content-Language: {one_line(language)}\r\n"
        return self._write("conversion", url, date, block, content_type=one_line(media_type), extra=extra)

    def _write(
        self,
        kind: str,
        url: str,
        date: float,
        block: bytes,
        *,
        content_type: str,
        extra: str,
        id_: str = "",
        index: tuple[str, str, int] = ("", "", 0),
    ) -> Written:
        """``extra`` is header lines with their ends, made of values that are one line each.

        ``index`` is what an index says of the record besides: digest, media type, status.
        """
        id_ = id_ or self._new_id()
        target = f"WARC-Target-URI: {one_line(url)}\r\n" if url else ""
        head = (
            f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <{id_}>\r\nWARC-Date: {format_date(date)}\r\n{target}"
            f"{self._info}{extra}WARC-Block-Digest: {sha1_base32(block)}\r\nContent-Type: {content_type}\r\n"
            f"Content-Length: {len(block)}\r\n\r\n"
        )
        member = self._compress(b"%b%b\r\n\r\n" % (head.encode(), block))
        self._out.write(member)
        offset = self._offset
        self._offset += len(member)
        # Of what is not compressed, indexers count the record without the empty lines behind it.
        length = len(member) if self._compress is not bytes else len(member) - 4
        return Written(kind, id_, url, date, offset, length, *index)


def _original(original: Original, status: int) -> str:
    """The header lines by which a revisit names what it repeats."""
    profile = original.profile or (NOT_MODIFIED if status == 304 else IDENTICAL_PAYLOAD)
    lines = f"WARC-Profile: {one_line(profile)}\r\n"
    if original.id:
        lines += f"WARC-Refers-To: <{one_line(original.id)}>\r\n"
    if original.uri:
        lines += f"WARC-Refers-To-Target-URI: {one_line(original.uri)}\r\n"
    if original.date:
        lines += f"WARC-Refers-To-Date: {format_date(original.date)}\r\n"
    return lines


def warc_fields(fields: Iterable[tuple[str, str]]) -> bytes:
    """Lines ``name: value``, the media type application/warc-fields."""
    return "".join(f"{one_line(name)}: {one_line(value)}\r\n" for name, value in fields).encode()


def one_line(text: str) -> str:
    """``text`` as it may stand in a header line: nothing of it can begin another line."""
    return text if text.isprintable() else " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _gzip(data: bytes) -> bytes:
    return igzip_lib.compress(data, GZIP_LEVEL, igzip_lib.COMP_GZIP)
