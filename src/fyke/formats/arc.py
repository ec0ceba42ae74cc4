"""ARC (versions 1 and 2) and WARC/0.9: the older formats whose records begin with one line that says all.

::

    ARC        URL IP-address Archive-date Content-type [… more fields in version 2 …] Archive-length
    WARC/0.9   warc/0.9 data-length record-type subject-uri creation-date record-id content-type   (then named fields)

Both become ``warc.Record``: an ARC document is a response (or a resource where no HTTP head stands), its file
head a warcinfo. ARC's length counts the block; 0.9's counts the whole record, its header included. Damage is passed
over by looking for the next line of the right shape.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fyke.formats.streams import Readable, inflated
from fyke.formats.warc import Record, Report, record_of

_MAX_LINE = 1 << 17
_CHUNK = 1 << 18
_SCHEME = rb"(?:https?|ftp|dns|filedesc|gopher|nntp|whois|warcinfo|metadata):"
_ARC_LINE = re.compile(rb"^(" + _SCHEME + rb"\S*) (\S{1,64}) (\d{8,17}) (\S*)((?: \S*){0,5}) (\d{1,18})\r?$")
_NEXT_ARC = re.compile(rb"\n(?=(?:https?|ftp|dns|filedesc):\S+ \S{1,64} \d{14} \S* (?:\S* ){0,5}\d{1,18}\r?\n)")
_OLD_LINE = re.compile(rb"^warc/0\.\d+ +(\d{1,18}) +(\S+) +(\S+) +(\d{8,17}) +(\S+) +(\S+)[^\n]*$", re.IGNORECASE)
_SINCE = {"ip-address": "WARC-IP-Address", "related-record-id": "WARC-Concurrent-To", "checksum": "WARC-Block-Digest"}
"""What WARC/0.9's named fields are called since."""
_NEXT_OLD = re.compile(rb"\n(?=warc/0\.\d+ +\d)", re.IGNORECASE)


def is_legacy(start: bytes) -> bool:
    """Whether a decompressed stream that begins so is an ARC or a WARC/0.9."""
    line = start.lstrip(b"\r\n").partition(b"\n")[0]
    return start.startswith(b"filedesc://") or bool(_ARC_LINE.match(line)) or bool(_OLD_LINE.match(line))


def read_legacy(stream: Readable, report: Report, cap: int) -> Iterator[Record]:
    """Yield the records of an ARC or WARC/0.9 stream; offsets are those of the decompressed stream."""
    source = _Buffer(stream, report)
    while True:
        source.skip_newlines()
        line = source.line()
        if not line:
            if source.more(1):
                report.note(source.offset, "record", "a line too long for a header")
                if source.find(_NEXT_ARC):
                    continue
            return
        offset = source.offset
        if match := _ARC_LINE.match(line.rstrip(b"\r\n")):
            source.take(len(line))
            yield _arc_record(match, source, offset, cap)
        elif match := _OLD_LINE.match(line.rstrip(b"\r\n")):
            yield _old_record(match, source, len(line), offset, cap)
        else:
            report.note(offset, "record", "no header line where one should stand")
            if not source.find(_NEXT_OLD if line[:5].lower() == b"warc/" else _NEXT_ARC):
                return


def _arc_record(match: re.Match[bytes], source: _Buffer, offset: int, cap: int) -> Record:
    uri, address, date, media_type = (match[n].decode("latin-1") for n in (1, 2, 3, 4))
    block, truncated = source.block(int(match[6]), cap, offset, uri)
    if uri.startswith("filedesc:"):
        kind = "warcinfo"
    else:
        kind = "response" if block[:5] == b"HTTP/" or uri.startswith("dns:") else "resource"
    headers = [("WARC-Type", kind), ("WARC-Target-URI", uri), ("WARC-Date", date), ("Content-Type", media_type)]
    if address not in ("0.0.0.0", "-"):  # noqa: S104 - ARC's word for "unknown"
        headers.append(("WARC-IP-Address", address))
    return record_of(tuple(headers), block, offset, truncated)


def _old_record(match: re.Match[bytes], source: _Buffer, first: int, offset: int, cap: int) -> Record:
    length = int(match[1])
    kind, uri, date, id_, media_type = (match[n].decode("latin-1") for n in (2, 3, 4, 5, 6))
    source.take(first)
    used = first
    headers = [("WARC-Type", kind), ("WARC-Target-URI", uri), ("WARC-Date", date)]
    headers += [("WARC-Record-ID", id_), ("Content-Type", media_type)]
    while line := source.line():
        source.take(len(line))
        used += len(line)
        if not line.strip():
            break
        name, colon, value = line.partition(b":")
        if colon and len(headers) < 100:
            headers.append((name.strip().decode("latin-1"), value.strip().decode("latin-1")))
    named = {
        "ip-address": "WARC-IP-Address",
        "related-record-id": "WARC-Concurrent-To",
        "checksum": "WARC-Block-Digest",
    }
    renamed = tuple((named.get(name.lower(), name), value) for name, value in headers)
    block, truncated = source.block(max(length - used, 0), cap, offset, uri)
    return record_of(renamed, block, offset, truncated)


class _Buffer:
    """A window over the decompressed stream that knows its offset and never raises."""

    def __init__(self, stream: Readable, report: Report) -> None:
        self._report = report
        self._data = b""
        self.offset = 0
        self._ended = False
        try:
            self._stream = inflated(stream)
        except OSError as error:
            report.note(0, "record", str(error))
            self._ended = True

    def more(self, size: int) -> bool:
        """Have ``size`` bytes at hand, if the stream has them."""
        parts = [self._data]
        have = len(self._data)
        while have < size and not self._ended:
            try:
                chunk = self._stream.read(_CHUNK)
            except OSError as error:
                self._report.note(self.offset + have, "record", str(error))
                chunk = b""
            self._ended = not chunk
            parts.append(chunk)
            have += len(chunk)
        if len(parts) > 1:
            self._data = b"".join(parts)
        return have >= size

    def take(self, size: int) -> bytes:
        self.more(size)
        data, self._data = self._data[:size], self._data[size:]
        self.offset += len(data)
        return data

    def line(self) -> bytes:
        """The next line with its end, still untaken; empty at the end or where none ends within the bound."""
        self.more(1024)
        end = self._data.find(b"\n")
        if end < 0:
            self.more(_MAX_LINE)
            end = self._data.find(b"\n", 0, _MAX_LINE)
        if end < 0 and self._ended and len(self._data) < _MAX_LINE:
            return self._data
        return self._data[: end + 1]

    def skip_newlines(self) -> None:
        while self.more(1) and self._data[:1] in (b"\n", b"\r"):
            stripped = self._data.lstrip(b"\r\n")
            self.offset += len(self._data) - len(stripped)
            self._data = stripped

    def block(self, length: int, cap: int, offset: int, uri: str) -> tuple[bytes, str]:
        """A block of ``length`` bytes under ``cap``, and why it is not whole."""
        block = self.take(min(length, cap))
        if len(block) < min(length, cap):
            self._report.note(offset, "cut", uri)
            return block, "cut"
        left = length - len(block)
        while left and (skipped := len(self.take(min(left, _CHUNK)))):
            left -= skipped
        return block, "cap" if length > cap else ""

    def find(self, pattern: re.Pattern[bytes]) -> bool:
        """Go behind the next newline that a header line follows."""
        while True:
            match = pattern.search(self._data)
            if match:
                self.take(match.end())
                return True
            self.take(max(len(self._data) - 4096, 0))
            if not self.more(len(self._data) + 1):
                return False
