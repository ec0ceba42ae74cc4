"""WARC files: one iterator over the records of any WARC, ARC or WARC/0.9, however compressed and wherever it broke.

fastwarc finds and parses the records; this module bounds them and goes on where fastwarc stops. Every record that can
be read is yielded once, in order; what cannot is counted and named in a ``Report`` (offset and reason).

After damage in a seekable stream the next record is looked for by the container's magic number (gzip member, zstd frame
or the line ``WARC/1.x``). The record *before* the break is read again up to that place, because a wrong
Content-Length shows only when no record follows it. A block's own bytes are never searched for records while the
structure holds, so a page that contains a WARC cannot plant records.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO, cast

from fastwarc.warc import ArchiveIterator

from fyke.formats.arc import is_legacy, read_legacy
from fyke.formats.damage import Report
from fyke.formats.http_body import MAX_BODY
from fyke.formats.streams import CHUNK, GZIP, ZSTD, ZSTD_DICTIONARY, Prefixed, Readable, Seekable, inflated
from fyke.formats.warc_odd import MAX_HEADER, is_odd, is_padded, member_end, read_odd
from fyke.formats.warc_record import Record, block_matches, record_of
from fyke.limits import note

MAX_RECORD = MAX_BODY
"""Bytes of one decoded block; the excess is skipped and the record marked as truncated."""

_REREAD_ALLOWANCE = 1 << 30
"""Bytes read twice for wrong lengths, beyond four times the file: one that lies in every record ends there."""

_MAX_DICTIONARY = 32 << 20
"""Bytes of a zstd dictionary: those of archives have some hundred thousand."""
_UNKNOWN = 1 << 62
"""A declared length that is no number: longer than any block."""


def read_records(
    stream: Seekable, report: Report | None = None, *, max_record: int = MAX_RECORD, verify: bool = False
) -> Iterator[Record]:
    """Yield the records of a WARC, ARC or WARC/0.9 stream from its present position. Never raises on its content.

    With ``verify`` a block that does not match its WARC-Block-Digest is counted (``digest``) and still yielded.
    """
    report = Report() if report is None else report
    seekable = stream.seekable()
    start = stream.tell() if seekable else 0
    first = stream.read(CHUNK)
    if seekable:
        stream.seek(start)
    if is_legacy(_preview(first)):
        source: Readable = stream if seekable else Prefixed(first, stream, len(first))
        records = read_legacy(source, report, max_record)
    elif seekable:
        records = _Walk(stream, first, start, report, max_record).records()
    else:
        records = _walk_once(Prefixed(first, stream, len(first)), report, max_record)
    for record in records:
        report.records += 1
        if record.truncated == "cap":
            report.note(record.offset, "length", f"block larger than {max_record:,} bytes")
        if verify and not block_matches(record):
            report.note(record.offset, "digest", record.uri)
        yield record


def _preview(first: bytes) -> bytes:
    """The first bytes of what ``first`` holds when decompressed."""
    if not first.startswith((b"WARC/", b"warc/", b"filedesc:")):
        try:
            return inflated(Prefixed(first, _Nothing(), len(first))).read(200)
        except OSError:
            return b""
    return first[:200]


class _Nothing:
    def read(self, size: int = -1, /) -> bytes:
        return b""


def _walk_once(stream: Prefixed, report: Report, cap: int) -> Iterator[Record]:
    """The records of a stream that cannot seek, up to the first damage."""
    walk = _iterate(stream)
    last = 0
    try:
        for found in walk:
            last = found.stream_pos
            record, declared = _take(found, cap)
            yield _cut(record, report) if len(record.block) < min(declared, cap) else record
    except OSError as error:
        report.note(last, "record", f"{error}; nothing after it was read, since the stream cannot seek")


def _iterate(stream: Seekable) -> ArchiveIterator:
    return ArchiveIterator(cast(BinaryIO, stream), parse_http=False, max_header_len=MAX_HEADER)


def _take(found: object, cap: int, shift: int = 0) -> tuple[Record, int]:
    """Return fastwarc's record as a value, ``shift`` further on, and its declared length."""
    declared: int = found.content_length  # type: ignore[attr-defined]
    block = found.reader.read(min(cap, declared)) if declared else b""  # type: ignore[attr-defined]
    while len(block) < declared and len(block) < cap:
        more = found.reader.read(min(declared, cap) - len(block))  # type: ignore[attr-defined]
        if not more:
            break
        block += more
    if not declared and (stated := found.headers.get("Content-Length")) != "0":  # type: ignore[attr-defined]
        declared = int(stated) if stated and stated.isdecimal() and len(stated) < 400 else _UNKNOWN
    capped = "cap" if len(block) >= cap and declared > cap else ""
    offset = found.stream_pos + shift  # type: ignore[attr-defined]
    return record_of(found.headers.items(), block, offset, capped), declared  # type: ignore[attr-defined]


def _cut(record: Record, report: Report) -> Record:
    report.note(record.offset, "cut", record.uri)
    return replace(record, truncated="cut")


class _Walk:
    """The records of a seekable stream, one behind fastwarc, going on behind what is damaged."""

    def __init__(self, stream: Seekable, first: bytes, start: int, report: Report, cap: int) -> None:
        self.stream = stream
        self.report = report
        self.cap = cap
        self.at = start
        self.shift = 0
        self.prefix = _dictionary_frame(first, stream, start)
        if first.startswith(GZIP):
            self.magic = re.compile(re.escape(GZIP))
        elif first.startswith(ZSTD) or self.prefix:
            self.magic = re.compile(re.escape(ZSTD))
        else:
            self.magic = re.compile(rb"WARC/\d\.\d+\r?\n[A-Za-z-]+:")
        self.gzip = first.startswith(GZIP)
        self.plain = not first.startswith((GZIP, ZSTD)) and not self.prefix
        stream.seek(0, 2)
        self.allowance = 4 * (stream.tell() - start) + _REREAD_ALLOWANCE
        stream.seek(start)

    def records(self) -> Iterator[Record]:
        """Yield each record once the next is known to follow it."""
        held: Record | None = None
        declared = 0
        walk = _iterate(self.stream)
        while True:
            found = None
            try:
                found = next(walk)
                self.at = found.stream_pos + self.shift
                fresh, length, walk = self._take(found, walk)
            except StopIteration:
                if held is None or len(held.block) >= min(declared, self.cap):
                    break
                problem = "ends inside"
            except OSError as error:
                problem = str(error)
            else:
                if held is not None:
                    yield held
                held, declared = fresh, length
                continue
            if held is not None and found is not None:
                yield held  # whole: a record follows it, and that one is broken
                held = None
            after = self._next_record(self.at + 1)
            if held is not None and after is None and is_padded(self.stream, held.offset):
                break
            if held is None:
                self.report.note(self.at, "record", problem)
            else:
                yield self._mend(held, declared, after, problem)
                held = None
            if after is None:
                return
            if self.allowance < 0:
                self.report.note(after, "too-damaged", "the rest of the file was not read")
                return
            self.at = after
            walk, self.shift = _resume(self.stream, after, self.prefix)
        yield from self._last(held)

    def _last(self, held: Record | None) -> Iterator[Record]:
        """Yield the last record; note where the file breaks off in a gzip member, which fastwarc takes for the end."""
        if self.gzip:
            start = self.at if held is None else held.offset
            self.stream.seek(start)
            begins = self.stream.read(3) == GZIP  # else several records share a member, and fastwarc read it all
            end = member_end(self.stream, start)
            self.stream.seek(0, 2)
            if begins and (end < 0 or (end < self.stream.tell() and not is_padded(self.stream, start))):
                self.report.note(max(start, end), "cut", "the file ends inside a compressed record")
        if held is not None:
            yield held

    def _take(self, found: object, walk: ArchiveIterator) -> tuple[Record, int, ArchiveIterator]:
        """Return a record, its declared length, and what goes on behind it."""
        odd = read_odd(self.stream, self.at, self.prefix, self.plain, self.cap) if is_odd(found) else None
        if odd is None:
            return *_take(found, self.cap, self.shift), walk
        record, declared, end = odd
        after = self._next_record(end)
        self.stream.seek(0, 2)
        walk, self.shift = _resume(self.stream, self.stream.tell() if after is None else after, self.prefix)
        return record, declared, walk

    def _mend(self, held: Record, declared: int, after: int | None, problem: str) -> Record:
        """Return ``held`` with the block it really has, if its length was wrong, and name the damage."""
        if after is None and len(held.block) < min(declared, self.cap):
            return _cut(held, self.report)
        header, block = self._whole_block(held.offset, after)
        self.allowance -= len(held.block) + len(block)
        if block[declared : declared + 4] == b"\r\n\r\n" or not block or len(held.block) >= self.cap:
            self.report.note(self._end_of(held.offset, header + declared + 4), "record", problem)
            return held
        block = block.removesuffix(b"\r\n\r\n")[: self.cap]
        self.report.note(held.offset, "length", f"Content-Length {declared}, found {len(block)}: {held.uri}")
        return replace(held, block=block)

    def _end_of(self, offset: int, length: int) -> int:
        """Where the record at ``offset``, of ``length`` bytes when decompressed, ends in the file."""
        if self.plain:
            return offset + length
        self.stream.seek(offset + 1)
        match = self.magic.search(self.stream.read(1 << 20))
        return offset + 1 + match.start() if match else offset

    def _whole_block(self, offset: int, end: int | None) -> tuple[int, bytes]:
        """The header's length of the record at ``offset``, and everything from there to ``end``, under the cap."""
        self.stream.seek(offset)
        window = Prefixed(self.prefix, self.stream, offset, end)
        parts: list[bytes] = []
        size = 0
        try:
            source: Readable = window if self.plain else inflated(window)
            while size < self.cap + MAX_HEADER and (part := source.read(CHUNK)):
                parts.append(part)
                size += len(part)
        except OSError:
            pass  # what was decoded before the break is what there is
        data = b"".join(parts)
        head = data.find(b"\r\n\r\n") + 4
        return (head, data[head:]) if head > 3 else (0, b"")

    def _next_record(self, offset: int) -> int | None:
        """Where the next record begins that looks like one, at or behind ``offset``."""
        self.stream.seek(max(offset - 1, 0))
        base, window = max(offset - 1, 0), b""
        while True:
            chunk = self.stream.read(1 << 20)
            window += chunk
            for match in self.magic.finditer(window):
                where = base + match.start()
                if where >= offset and (self.plain or self._begins_record(where)):
                    return where
            if not chunk:
                return None
            keep = min(len(window), 128)
            base += len(window) - keep
            window = window[-keep:]
            self.stream.seek(base + keep)

    def _begins_record(self, offset: int) -> bool:
        self.stream.seek(offset)
        try:
            return inflated(Prefixed(self.prefix, self.stream, offset)).read(5) == b"WARC/"
        except OSError:
            return False


def _resume(stream: Seekable, offset: int, prefix: bytes) -> tuple[ArchiveIterator, int]:
    """Read on at ``offset``; the second value is what the positions of the records found lack."""
    stream.seek(offset)
    if not prefix:
        return _iterate(stream), 0
    # fastwarc takes a dictionary from the beginning of a stream only, so this one begins with it, at 0.
    return _iterate(Prefixed(prefix, stream, len(prefix))), offset - len(prefix)


def _dictionary_frame(first: bytes, stream: Seekable, start: int) -> bytes:
    """The skippable frame with the file's zstd dictionary; empty where there is none."""
    if not first.startswith(ZSTD_DICTIONARY) or len(first) < 8:
        return b""
    size = 8 + int.from_bytes(first[4:8], "little")
    if size > _MAX_DICTIONARY:
        note("warc-dictionary")
        return b""
    stream.seek(start)
    frame = stream.read(size)
    stream.seek(start)
    return frame


def read_record_at(stream: Seekable, offset: int, *, max_record: int = MAX_RECORD) -> Record | None:
    """Return the record whose member begins at ``offset``; None where none does. Reads no further than it.

    A .warc.zst with a dictionary is read with the dictionary at its beginning.
    """
    stream.seek(0)
    prefix = _dictionary_frame(stream.read(8), stream, 0)
    try:
        walk, shift = _resume(stream, offset, prefix)
        record, declared = _take(next(walk), max_record, shift)
    except (OSError, StopIteration):
        return None
    return replace(record, truncated="cut") if len(record.block) < min(declared, max_record) else record
