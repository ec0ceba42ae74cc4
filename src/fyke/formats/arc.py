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

from fyke.formats.damage import Report, Window
from fyke.formats.streams import CHUNK, Readable
from fyke.formats.warc_record import Record, record_of
from fyke.limits import note

_MAX_LINE = 1 << 17
"""Bytes of a header line: a URL at its longest, and room for the rest."""
_MAX_FIELDS = 100
"""Named fields of a WARC/0.9 record that are kept."""
_LOOK_BACK = 4096
"""Bytes kept in view while a header line is looked for, which may begin in them."""
_SCHEME = rb"(?:https?|ftp|dns|filedesc|gopher|nntp|whois|warcinfo|metadata):"
_ARC_LINE = re.compile(
    rb"^(" + _SCHEME + rb"\S*(?: \S*)*?) ([0-9A-Fa-f.:-]{1,64}) (\d{8,17}) (\S*)((?: \S*){0,5}) (\d{1,18})\r?$"
)
"""URLs may hold spaces; an address does not look like a part of one."""
_NEXT_ARC = re.compile(rb"\n(?=(?:https?|ftp|dns|filedesc):\S+ \S{1,64} \d{14} \S* (?:\S* ){0,5}\d{1,18}\r?\n)")
_OLD_LINE = re.compile(rb"^warc/0\.\d+ +(\d{1,18}) +(\S+) +(\S+) +(\d{8,17}) +(\S+) +(\S+)[^\n]*$", re.IGNORECASE)
_NEXT_OLD = re.compile(rb"\n(?=warc/0\.\d+ +\d)", re.IGNORECASE)
_SINCE = {"ip-address": "WARC-IP-Address", "related-record-id": "WARC-Concurrent-To", "checksum": "WARC-Block-Digest"}
"""What WARC/0.9's named fields are called since."""


def is_legacy(start: bytes) -> bool:
    """Whether a decompressed stream that begins so is an ARC or a WARC/0.9."""
    line = start.lstrip(b"\r\n").partition(b"\n")[0]
    return start.startswith(b"filedesc://") or bool(_ARC_LINE.match(line)) or bool(_OLD_LINE.match(line))


def read_legacy(stream: Readable, report: Report, cap: int) -> Iterator[Record]:
    """Yield the records of an ARC or WARC/0.9 stream; offsets are those of the decompressed stream."""
    source = _Lines(stream, report)
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


def _arc_record(match: re.Match[bytes], source: _Lines, offset: int, cap: int) -> Record:
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


def _old_record(match: re.Match[bytes], source: _Lines, first: int, offset: int, cap: int) -> Record:
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
        if colon and len(headers) >= _MAX_FIELDS:
            note("arc-fields")
        elif colon:
            said = name.strip().decode("latin-1")
            headers.append((_SINCE.get(said.lower(), said), value.strip().decode("latin-1")))
    block, truncated = source.block(max(length - used, 0), cap, offset, uri)
    return record_of(tuple(headers), block, offset, truncated)


class _Lines(Window):
    """A stream of header lines and blocks."""

    def line(self) -> bytes:
        """The next line with its end, still untaken; empty at the end or where none ends within the bound."""
        self.more(1024)
        end = self.data.find(b"\n")
        if end < 0:
            self.more(_MAX_LINE)
            end = self.data.find(b"\n", 0, _MAX_LINE)
        if end < 0 and self._ended and len(self.data) < _MAX_LINE:
            return self.data
        return self.data[: end + 1]

    def skip_newlines(self) -> None:
        while self.more(1) and self.data[:1] in (b"\n", b"\r"):
            stripped = self.data.lstrip(b"\r\n")
            self.offset += len(self.data) - len(stripped)
            self.data = stripped

    def block(self, length: int, cap: int, offset: int, uri: str) -> tuple[bytes, str]:
        """A block of ``length`` bytes under ``cap``, and why it is not whole."""
        block = self.take(min(length, cap))
        if len(block) < min(length, cap):
            self._report.note(offset, "cut", uri)
            return block, "cut"
        left = length - len(block)
        while left and (skipped := len(self.take(min(left, CHUNK)))):
            left -= skipped
        return block, "cap" if length > cap else ""

    def find(self, pattern: re.Pattern[bytes]) -> bool:
        """Go behind the next newline that a header line follows."""
        while True:
            match = pattern.search(self.data)
            if match:
                self.take(match.end())
                return True
            self.take(max(len(self.data) - _LOOK_BACK, 0))
            if not self.grow():
                return False
