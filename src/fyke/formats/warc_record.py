"""WARC records as values: the header fields that everybody asks for, their dates, and their digests."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

ENDINGS = (".warc", ".warc.gz", ".warc.zst", ".arc", ".arc.gz")
"""How files of records are called."""


@dataclass(frozen=True, slots=True)
class Record:
    """One WARC record. Its header fields stand in ``headers``; the ones that everybody asks for have names."""

    kind: str
    """warcinfo, request, response, revisit, resource, metadata, conversion or continuation."""
    id: str
    uri: str
    date: float
    block: bytes
    headers: tuple[tuple[str, str], ...]
    offset: int
    """Where its compressed member, or itself, begins in the file."""
    content_type: str = ""
    address: str = ""
    partner: str = ""
    """WARC-Concurrent-To, or WARC-Refers-To without it."""
    digest: str = ""
    """WARC-Payload-Digest."""
    docno: str = ""
    """WARC-TREC-ID."""
    truncated: str = ""
    """Why the block is not whole: WARC-Truncated's word, ``cap`` (ours) or ``cut`` (the file ends inside)."""
    segment: str = ""
    """WARC-Segment-Number."""

    def get(self, name: str) -> str:
        """The first header field of that name, in any case; empty where there is none."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), "")


_FIELDS = (
    "WARC-Type", "WARC-Record-ID", "WARC-Target-URI", "WARC-Date", "WARC-Truncated", "Content-Type", "WARC-IP-Address",
    "WARC-Concurrent-To", "WARC-Payload-Digest", "WARC-TREC-ID", "WARC-Refers-To", "WARC-Segment-Number",
)  # fmt: skip
_PLACES = {name: place for place, name in enumerate(_FIELDS)} | {"Content-Length": -1, "WARC-Block-Digest": -1}
_LOWER_PLACES = {name.lower(): place for name, place in _PLACES.items()}


def record_of(headers: tuple[tuple[str, str], ...], block: bytes, offset: int, truncated: str = "") -> Record:
    """Make a record of its header fields and its block. The first field of a name counts."""
    found = [""] * len(_FIELDS)
    for name, value in headers:
        place = _PLACES.get(name)  # nearly everybody writes them so
        if place is None:
            place = _LOWER_PLACES.get(name.lower(), -1)
        if place >= 0 and not found[place]:
            found[place] = value
    kind, id_, uri, date, stated, content_type, address, concurrent, digest, docno, refers, segment = found
    if uri[:1] == "<":  # as wget and WARC/1.0's examples write it
        uri = uri[1:].removesuffix(">")
    return Record(
        kind=kind,
        id=id_,
        uri=uri,
        date=parse_date(date),
        block=block,
        headers=headers,
        offset=offset,
        content_type=content_type,
        address=address,
        partner=concurrent or refers,
        digest=digest,
        docno=docno,
        truncated=truncated or stated,
        segment=segment,
    )


def parse_date(text: str) -> float:
    """Seconds since 1970 of a WARC-Date or of fourteen digits; 0.0 where it is neither."""
    try:
        if text.isdigit():
            return datetime.strptime(text[:14].ljust(14, "0"), "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
        parsed = datetime.fromisoformat(text)
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0


@lru_cache(maxsize=64)  # the records of a capture share theirs
def format_date(seconds: float) -> str:
    """WARC-Date of a time: to the second where it has no fraction, else with microseconds (WARC/1.1).

    A time that no calendar has becomes 1970, the unknown.
    """
    try:
        return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat() + "Z"
    except (ValueError, OverflowError, OSError):
        return "1970-01-01T00:00:00Z"


def timestamp(seconds: float) -> str:
    """Fourteen digits of a time in UTC, as ARC, CDX and TREC write it."""
    text = format_date(seconds)
    return text[0:4] + text[5:7] + text[8:10] + text[11:13] + text[14:16] + text[17:19]


def sha1_base32(data: bytes) -> str:
    """The digest as the field writes it: ``sha1:`` and 32 letters."""
    return sha1_text(hashlib.sha1(data, usedforsecurity=False).digest())


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAIRS = [one + two for one in _LETTERS for two in _LETTERS]


def sha1_text(digest: bytes) -> str:
    """The same of a digest that is known; the standard library's base 32 takes five times as long."""
    number = int.from_bytes(digest, "big")
    return "sha1:" + "".join([_PAIRS[number >> shift & 1023] for shift in range(150, -1, -10)])


def block_matches(record: Record) -> bool:
    """Whether the block has the SHA-1 that its record states; True where it states none that we know."""
    stated = record.get("WARC-Block-Digest")
    return not stated.lower().startswith("sha1:") or sha1_base32(record.block)[5:] == stated[5:].upper()
