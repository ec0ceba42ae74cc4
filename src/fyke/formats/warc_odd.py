"""What fastwarc does not read: headers whose lines end with LF or with names in lower case, zeros behind the end."""

from __future__ import annotations

from isal import isal_zlib

from fyke.formats.streams import CHUNK, GZIP, Prefixed, Readable, Seekable, inflated
from fyke.formats.warc_record import Record, record_of

MAX_HEADER = 1 << 20
"""Bytes of a record's header fields; a longer one is damage."""
_ERROR: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # its stub says an instance


def is_odd(found: object) -> bool:
    """Whether fastwarc has misread a record's header: a field with a line in it, or a length that it did not see."""
    length: int = found.content_length  # type: ignore[attr-defined]
    headers = found.headers  # type: ignore[attr-defined]
    if not length and (headers.get("Content-Length") or "0").strip() != "0":
        return True
    return "\n" in (headers.get("WARC-Type") or "")


def read_odd(stream: Seekable, offset: int, prefix: bytes, plain: bool, cap: int) -> tuple[Record, int, int] | None:
    """Return the record at ``offset``, its declared length, and from where on the next may begin; None if damaged.

    ``prefix`` stands before every compressed member, of which the record is the first.
    """
    stream.seek(offset)
    window = Prefixed(prefix, stream, offset)
    try:
        source: Readable = window if plain else inflated(window)
        data = source.read(CHUNK)
        while (end := _header_end(data)) < 0 and len(data) < MAX_HEADER and (more := source.read(CHUNK)):
            data += more
        headers = _fields(data[: max(end, 0)])
        stated = next((value for name, value in headers if name.lower() == "content-length"), "")
        if end < 0 or not stated.isdecimal() or len(stated) > 18:
            return None
        length = int(stated)
        wanted, parts, size = end + min(length, cap), [data], len(data)
        while size < wanted and (more := source.read(min(CHUNK, wanted - size) if plain else CHUNK)):
            parts.append(more)
            size += len(more)
    except OSError:
        return None
    record = record_of(headers, b"".join(parts)[end:wanted], offset, "cap" if length > cap else "")
    return record, length, offset + end + length if plain else offset + 1


def _header_end(data: bytes) -> int:
    """Where the block begins behind the first empty line; -1 where none stands."""
    ends = [at + len(mark) for mark in (b"\r\n\r\n", b"\n\n") if (at := data.find(mark)) >= 0]
    return min(ends, default=-1)


def _fields(header: bytes) -> tuple[tuple[str, str], ...]:
    lines = header.decode("utf-8", "replace").splitlines()[1:]
    fields = (line.partition(":") for line in lines if ":" in line and line[:1] not in " \t")
    return tuple((name.strip(), value.strip()) for name, _, value in fields)


def is_padded(stream: Seekable, offset: int) -> bool:
    """Whether the gzip member at ``offset`` is whole, and nothing but zeros follows it, as on tapes."""
    end = member_end(stream, offset)
    if end < 0:
        return False
    stream.seek(end)
    while rest := stream.read(1 << 20):
        if rest.strip(b"\0"):
            return False
    return True


def member_end(stream: Seekable, offset: int) -> int:
    """Where the gzip member at ``offset`` ends; -1 where it is none, or not whole."""
    stream.seek(offset)
    unpacker, read = isal_zlib.decompressobj(31), 0
    try:
        while not unpacker.eof and (chunk := stream.read(CHUNK)):
            if not read and not chunk.startswith(GZIP):
                return -1
            read += len(chunk)
            while chunk and not unpacker.eof:
                unpacker.decompress(chunk, 1 << 20)
                chunk = unpacker.unconsumed_tail
    except _ERROR:
        return -1
    return offset + read - len(unpacker.unused_data) if unpacker.eof else -1
