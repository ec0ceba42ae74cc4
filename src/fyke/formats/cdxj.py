"""CDXJ: the sorted index of a WARC, and random access to one record by it.

One line for each capture, ``SURT timestamp {JSON}``, sorted as bytes::

    com,example)/fish.html 19970101013149 {"url": "http://www.example.com/fish.html", "mime": "text/html",
        "status": "200", "digest": "sha1:…", "length": "512", "offset": "1024", "filename": "fish.warc.gz"}

(one line in the file). All values are strings, as the field writes them. The key is that of fyke.formats.surt, so that
captures of one page and pages of one host are neighbours.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from fyke.errors import UNREADABLE
from fyke.formats.http import parse_head
from fyke.formats.streams import Seekable
from fyke.formats.surt import surt
from fyke.formats.warc_exchange import split_head
from fyke.formats.warc_record import Record, sha1_base32, timestamp
from fyke.formats.warc_write import Written
from fyke.limits import note

_MAX_LINE = 1 << 17
"""Bytes of a line: a URL at its longest, twice, and the rest."""
_STEP = 1 << 13
"""Bytes read at once: some twenty lines."""


@dataclass(frozen=True, slots=True)
class IndexLine:
    """One capture in an index."""

    key: str
    timestamp: str
    """Fourteen digits, UTC."""
    url: str
    mime: str
    status: str
    """Three digits, or ``-`` for a record without HTTP."""
    digest: str
    length: int
    """Bytes of the compressed member."""
    offset: int
    filename: str

    def encode(self) -> bytes:
        """The line, with its end: byte for byte as cdxj-indexer writes it, which leaves out what is not known."""
        said = [f'"url": {json.dumps(self.url)}']
        if self.mime not in ("", "unk", "-"):
            said.append(f'"mime": {json.dumps(self.mime)}')
        if self.status != "-":
            said.append(f'"status": "{self.status}"')
        if self.digest != "-":
            said.append(f'"digest": {json.dumps(self.digest)}')
        said.append(f'"length": "{self.length}", "offset": "{self.offset}", "filename": {json.dumps(self.filename)}')
        return f"{self.key} {self.timestamp} {{{', '.join(said)}}}\n".encode()


def index_line(written: Written, filename: str) -> IndexLine:
    """The line of a record that was just written (``WarcWriter``'s ``observe``)."""
    return IndexLine(
        surt(written.url),
        timestamp(written.date),
        written.url,
        "warc/revisit" if written.kind == "revisit" else written.media_type or "unk",
        str(written.status) if written.status else "-",
        written.digest or "-",
        written.length,
        written.offset,
        filename,
    )


def index_records(
    records: Iterable[Record], filename: str, size: int, *, compressed: bool = True
) -> Iterator[IndexLine]:
    """Yield the lines of an existing file of ``size`` bytes, in the file's order.

    REQUIRES: ``records`` come from ``warc.read_records`` over that file. Where several stand in one compressed member,
    only its first could be reached, so the others are left out.
    """
    held: Record | None = None
    behind = 0 if compressed else 4  # the empty lines behind a record are counted by nobody
    for record in records:
        reached = held is not None and record.offset > held.offset
        if held is not None and reached and (line := _line_of(held, filename, record.offset - behind)):
            yield line
        held = record
    if held is not None and held.offset < size and (line := _line_of(held, filename, size - behind)):
        yield line


def _line_of(record: Record, filename: str, end: int) -> IndexLine | None:
    if record.kind not in ("response", "revisit", "resource") or not record.uri:
        return None
    status, mime = 0, record.content_type.partition(";")[0].strip().lower()
    body = record.block
    if record.kind != "resource" and body[:5] == b"HTTP/":
        raw, body = split_head(body)
        head = parse_head(raw)
        status, mime = head.status, head.media_type
    digest = record.digest or ("" if record.kind == "revisit" else sha1_base32(body))
    size = end - record.offset
    written = Written(record.kind, record.id, record.uri, record.date, record.offset, size, digest, mime, status)
    return index_line(written, filename)


def sorted_lines(lines: Iterable[IndexLine]) -> list[bytes]:
    """The encoded lines in the order of an index: about 300 bytes of memory for each."""
    return sorted(line.encode() for line in lines)


def parse_line(line: bytes) -> IndexLine | None:
    """Read a line; None where it is none. Lines of other indexers that lack a field get ``-`` or 0. Never raises."""
    key, _, rest = line.partition(b" ")
    when, _, data = rest.partition(b" ")
    try:
        fields = msgspec.json.decode(data)
        if not isinstance(fields, dict) or not when.isdigit():
            return None
        text = {name: str(fields.get(name, "-")) for name in ("url", "mime", "status", "digest", "filename")}
        return IndexLine(
            key.decode(),
            when.decode(),
            text["url"],
            text["mime"],
            text["status"],
            text["digest"],
            int(fields.get("length", 0)),
            int(fields.get("offset", 0)),
            text["filename"],
        )
    except (*UNREADABLE, TypeError):
        return None


def lookup(index: Seekable, url: str) -> Iterator[IndexLine]:
    """Yield the captures of ``url`` from a sorted index, oldest first, by binary search over its bytes."""
    wanted = surt(url).encode() + b" "
    index.seek(0, 2)
    low, high = 0, index.tell()
    # The first line that is not below ``wanted`` begins in (low, high], or at 0.
    while high - low > _STEP:
        middle = (low + high) // 2
        begin, line = _line_behind(index, middle)
        if line and line < wanted:
            low = begin
        else:
            high = middle
    index.seek(low)
    rest, long = b"", False  # ``long``: in a line that is no line
    while chunk := index.read(_STEP):
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop()
        if long and lines:
            del lines[0]
            long = False
        if len(rest) > _MAX_LINE or long:
            note("cdxj-line")
            rest, long = b"", True
        for line in lines:
            if line.startswith(wanted):
                if (found := parse_line(line)) is not None:
                    yield found
            elif line > wanted:
                return
    if not long and rest.startswith(wanted) and (found := parse_line(rest)) is not None:
        yield found


def _line_behind(index: Seekable, position: int) -> tuple[int, bytes]:
    """The first line that begins behind ``position``, and where; empty at the end."""
    index.seek(position)
    data = b""
    while data.count(b"\n") < 2 and len(data) < 2 * _MAX_LINE and (chunk := index.read(_STEP)):
        data += chunk
    skipped = data.find(b"\n") + 1
    end = data.find(b"\n", skipped)
    return position + skipped, (data[skipped : end if end >= 0 else len(data)] if skipped else b"")
