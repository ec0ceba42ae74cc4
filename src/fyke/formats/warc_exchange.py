"""Captures: requests, responses, revisits and metadata of a WARC joined into one ``Exchange`` each.

A request belongs to the response that it names in WARC-Concurrent-To, or that names it; metadata likewise (or by
WARC-Refers-To). Partners stand close together in every known writer's files, so a capture waits for them until
``WINDOW`` more captures have come, and no longer.

Heads are as the server sent them. Common Crawl and ``warc_write`` store bodies decoded and keep the original
Content-Encoding, Transfer-Encoding and Content-Length as X-Crawler-…; ``received_head`` undoes ``stored_head``.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from fyke.errors import UrlError
from fyke.formats.damage import Report
from fyke.formats.http import parse_head
from fyke.formats.http_body import MAX_BODY, decode_body
from fyke.formats.warc_record import Record, parse_date
from fyke.limits import note
from fyke.url import Url
from fyke.values import Exchange

WINDOW = 2
"""Captures that wait for their partners: writers put request and metadata beside their response, or the next."""

IDENTICAL_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"

_MAX_HEAD = 1 << 20
"""Bytes in which an HTTP head must end; without an end it is cut there."""
_CODING = rb"(?:Content-Encoding|Transfer-Encoding|Content-Length)[ \t]*:"
_CODED = re.compile(rb"(?im)^(?=(?:X-Crawler-)*" + _CODING + rb")")
_STORED = re.compile(rb"(?im)^X-Crawler-(?=(?:X-Crawler-)*" + _CODING + rb")")
_NAMES_CODING = re.compile(rb"(?im)^(?:(?:Content|Transfer)-Encoding[ \t]*:|(?:X-Crawler-)+" + _CODING + rb")")
_LENGTH_LINE = re.compile(rb"(?im)^Content-Length[ \t]*:[^\n]*\n")
_LATER_HTTP = re.compile(rb"HTTP/([23]) ")
_LENGTH = re.compile(rb"(?im)^Content-Length[ \t]*:[ \t]*(\d+)[ \t]*\r?$")


@dataclass(frozen=True, slots=True)
class Original:
    """What a revisit record points to instead of holding a body."""

    profile: str
    """The kind of revisit: ``IDENTICAL_PAYLOAD``, ``NOT_MODIFIED``, or another archive's URI."""
    uri: str = ""
    date: float = 0.0
    id: str = ""
    """WARC-Record-ID of the record that has the payload, without brackets."""
    length: int = -1
    """Bytes of the decoded payload, where they are known."""


@dataclass(frozen=True, slots=True)
class Capture:
    """One document as an archive holds it."""

    url: Url
    exchange: Exchange
    """A resource has empty heads and status 0."""
    media_type: str
    offset: int
    digest: str = ""
    """WARC-Payload-Digest as stated."""
    original: Original | None = None
    """Given for a revisit: the body is there, not here."""
    docno: str = ""
    """WARC-TREC-ID, as the ClueWeb collections number their pages."""
    metadata: bytes = b""
    """The block of its metadata record: lines ``name: value``."""
    kind: str = "response"
    """response, revisit, resource; where they were asked for, also conversion, and metadata without its capture."""
    language: str = ""
    """Of a conversion: WARC-Identified-Content-Language."""
    encoded: bytes = b""
    """The payload as the archive has it, where that is encoded: what its digest may be of."""


def stored_head(head: bytes, length: int) -> bytes:
    """Return a response head as it stands above a decoded body of ``length`` bytes.

    Unchanged where it already tells the truth; else codings and length get the prefix X-Crawler-, and a true
    Content-Length is added.
    """
    if not head.endswith((b"\n\r\n", b"\n\n")):
        head += b"\r\n" if head.endswith(b"\n") else b"\r\n\r\n"
    stated = _LENGTH.findall(head)
    if _NAMES_CODING.search(head) is None and (not stated or (len(stated) == 1 and stated[0] == b"%d" % length)):
        return head
    end = 2 if head.endswith(b"\r\n") else 1
    return b"%bContent-Length: %d\r\n%b" % (_CODED.sub(b"X-Crawler-", head[:-end]), length, head[-end:])


def spoken(head: bytes) -> tuple[bytes, str]:
    """Return a response head as replay tools read it, and what WARC-Protocol says of the one that was received.

    HTTP/2 and 3 have no status line of their own: what clients write for them becomes that of HTTP/1.1.
    """
    match = _LATER_HTTP.match(head)
    return (b"HTTP/1.1 " + head[match.end() :], f"h{match[1].decode()}") if match else (head, "")


def as_spoken(head: bytes, protocols: Iterable[str]) -> bytes:
    """Return a response head as it was before ``spoken``, by the record's WARC-Protocol."""
    later = next((name.strip()[1:] for name in protocols if name.strip() in ("h2", "h3")), "")
    return b"HTTP/" + later.encode() + head[8:] if later and head.startswith(b"HTTP/1.1 ") else head


def received_head(head: bytes) -> bytes:
    """Return a response head as the server sent it: the inverse of ``stored_head``."""
    if b"\nx-crawler-" not in head.lower():
        return head
    received, marks = _STORED.subn(b"", _LENGTH_LINE.sub(b"", head))
    return received if marks else head


@dataclass(slots=True)
class _Waiting:
    record: Record
    request: bytes = b""
    metadata: bytes = b""


class _Window:
    """The captures that may still find partners, oldest first, and the requests that came before their response."""

    def __init__(self) -> None:
        self.captures: OrderedDict[str, _Waiting] = OrderedDict()
        self.requests: OrderedDict[str, bytes] = OrderedDict()
        self.unnamed = 0

    def is_alone(self, record: Record) -> bool:
        """Whether a record is metadata of no capture that waits."""
        return record.kind == "metadata" and record.partner not in self.captures

    def add(self, record: Record) -> _Waiting | None:
        """Take a record in; return the capture that has waited long enough by now."""
        if record.kind in ("response", "revisit", "resource"):
            key = record.id
            if not key or key in self.captures:
                self.unnamed += 1
                key = f"{key} {self.unnamed}"
            request = self.requests.pop(record.id, b"")
            if self.requests and not request:
                request = self.requests.pop(record.partner, b"")
            self.captures[key] = _Waiting(record, request)
            if len(self.captures) > WINDOW:
                return self.captures.popitem(last=False)[1]
        elif record.kind == "request":
            partner = record.partner
            if partner in self.captures:
                self.captures[partner].request = record.block
                return None
            # Under both names: it may name the response, or the response may name it.
            for name in (partner, record.id):
                if name:
                    self.requests[name] = record.block[:_MAX_HEAD]
            while len(self.requests) > 4 * WINDOW:
                self.requests.popitem(last=False)
        elif record.kind == "metadata" and record.partner in self.captures:
            self.captures[record.partner].metadata = record.block
        return None


def read_captures(
    records: Iterable[Record], report: Report | None = None, *, max_body: int = MAX_BODY, conversions: bool = False
) -> Iterator[Capture]:
    """Join ``records`` (of ``warc.read_records``) into captures, in the order of their responses. Never raises.

    Skipped and counted: URLs that fyke cannot name (``url``; the dns: records of Heritrix among them). warcinfo and
    continuation records are passed over; so are conversions, and metadata whose capture is not beside them, unless
    ``conversions`` asks for them.
    """
    report = Report() if report is None else report
    window = _Window()
    for record in _joined(records, max_body):
        if conversions and record.uri and (record.kind == "conversion" or window.is_alone(record)):
            if (capture := _aside(record, report, max_body)) is not None:
                yield capture
            continue
        ripe = window.add(record)
        if ripe is not None and (capture := _capture(ripe, report, max_body)) is not None:
            yield capture
    for done in window.captures.values():
        if (capture := _capture(done, report, max_body)) is not None:
            yield capture


def _joined(records: Iterable[Record], cap: int) -> Iterator[Record]:
    """The records, with those that were written in segments in one piece, where their last segment stands."""
    begun: OrderedDict[str, list[Record]] = OrderedDict()
    for record in records:
        if not record.segment:
            yield record
        elif record.kind != "continuation":
            begun[record.id] = [record]
            if len(begun) > WINDOW:
                yield _whole(begun.popitem(last=False)[1], "cut")
        elif (parts := begun.get(record.get("WARC-Segment-Origin-ID"))) is not None:
            if sum(len(part.block) for part in parts) <= cap:
                parts.append(record)
            if record.get("WARC-Segment-Total-Length"):
                yield _whole(begun.pop(parts[0].id))
    for parts in begun.values():
        yield _whole(parts, "cut")


def _whole(parts: list[Record], truncated: str = "") -> Record:
    first = parts[0]
    return replace(first, block=b"".join([part.block for part in parts]), truncated=first.truncated or truncated)


def _aside(record: Record, report: Report, cap: int) -> Capture | None:
    """A conversion, or metadata that stands alone."""
    try:
        url = Url.parse(record.uri)
    except UrlError as error:
        report.note(record.offset, "url", str(error))
        return None
    media_type = record.content_type.partition(";")[0].strip().lower()
    metadata = record.block[:cap] if record.kind == "metadata" else b""
    body = b"" if metadata else record.block[:cap]
    exchange = Exchange(b"", b"", body, 0, record.date, record.date, truncated=bool(record.truncated))
    language = record.get("WARC-Identified-Content-Language").partition(",")[0].strip()
    return Capture(
        url, exchange, media_type, record.offset, record.digest, metadata=metadata, kind=record.kind, language=language
    )


def _capture(waiting: _Waiting, report: Report, cap: int) -> Capture | None:
    record = waiting.record
    try:
        url = Url.parse(record.uri)
    except UrlError as error:
        report.note(record.offset, "url", str(error))
        return None
    message = _message(record, report, cap)
    original = None
    if record.kind == "revisit":
        original = Original(
            record.get("WARC-Profile"),
            record.get("WARC-Refers-To-Target-URI").strip("<>"),
            parse_date(record.get("WARC-Refers-To-Date")),
            record.get("WARC-Refers-To").strip("<>"),
        )
    exchange = Exchange(
        waiting.request, message.head, message.body, message.status, record.date,
        record.date + _fetch_seconds(waiting.metadata), record.address, message.truncated,
    )  # fmt: skip
    media_type = message.media_type or record.get("WARC-Identified-Payload-Type")
    return Capture(
        url, exchange, media_type, record.offset, record.digest, original, record.docno, waiting.metadata, record.kind,
        encoded=message.encoded,
    )  # fmt: skip


class _Message(NamedTuple):
    """What a record's block holds: an HTTP message, or a body alone."""

    head: bytes
    body: bytes
    status: int
    media_type: str
    truncated: bool
    encoded: bytes = b""


def _message(record: Record, report: Report, cap: int) -> _Message:
    """Return the block as the server sent it, its body decoded; what breaks off or exceeds ``cap`` is counted."""
    truncated = bool(record.truncated)
    media_type = record.content_type.partition(";")[0].strip().lower()
    if record.kind == "resource" or not (media_type in ("application/http", "") or record.block[:5] == b"HTTP/"):
        return _Message(b"", record.block[:cap], 0, media_type, truncated)
    if record.kind != "revisit" and record.block[:5].upper() != b"HTTP/":  # HTTP/0.9: a body and nothing else
        return _Message(b"", record.block[:cap], 200, "", truncated)
    head, body = split_head(record.block)
    status, media_type, coded = glance(head)
    encoded = b""
    if coded and record.kind != "revisit":
        encoded = body
        decoded = decode_body(parse_head(head), body, cap)
        body, truncated = decoded.body, truncated or decoded.truncated
        if decoded.truncated and len(body) >= cap:
            report.note(record.offset, "length", f"body of {record.uri} larger than {cap:,} bytes")
        elif decoded.truncated:
            report.note(record.offset, "coding", f"{decoded.problem or 'the body'} of {record.uri} breaks off")
    elif len(body) > cap:
        body, truncated = body[:cap], True
    head = received_head(head)
    if head[:9] == b"HTTP/1.1 ":
        head = as_spoken(head, (value for name, value in record.headers if name.lower() == "warc-protocol"))
    return _Message(head, body, status, media_type, truncated, encoded)


def glance(head: bytes) -> tuple[int, str, bool]:
    """Status, media type, and whether codings are named, without parsing a head that has nothing unusual."""
    lower = head.lower()
    coded = b"\ncontent-encoding" in lower or b"\ntransfer-encoding" in lower
    at = lower.find(b"\ncontent-type:")
    if at >= 0 and b"\n " not in head and b"\n\t" not in head and head[:5] == b"HTTP/" and head[9:12].isdigit():
        value = lower[at + 14 : lower.find(b"\n", at + 14)]
        return int(head[9:12]), value.partition(b";")[0].strip().decode("latin-1"), coded
    parsed = parse_head(head)
    return parsed.status, parsed.media_type, coded


def split_head(block: bytes) -> tuple[bytes, bytes]:
    """Split an HTTP message behind the empty line of its head; all of it is head where there is none."""
    crlf = block.find(b"\r\n\r\n", 0, _MAX_HEAD)
    lf = block.find(b"\n\n", 0, _MAX_HEAD if crlf < 0 else crlf)
    mixed = block.find(b"\n\r\n", 0, _MAX_HEAD if crlf < 0 else crlf + 4)
    ends = [at + size for at, size in ((crlf, 4), (lf, 2), (mixed, 3)) if at >= 0]
    if not ends:
        if len(block) > _MAX_HEAD:
            note("warc-head")
        return block[:_MAX_HEAD], block[_MAX_HEAD:]
    end = min(ends)
    return block[:end], block[end:]


def _fetch_seconds(metadata: bytes) -> float:
    """Common Crawl's fetchTimeMs, in seconds; 0.0 where it is not stated."""
    match = re.search(rb"(?im)^fetchTimeMs:[ \t]*(\d{1,9}(?:\.\d{1,3})?)[ \t]*\r?$", metadata) if metadata else None
    return float(match[1]) / 1000 if match else 0.0
