"""Bodies on the wire: chunked transfer coding and gzip, deflate, br and zstd content codings, undone under a cap.

Tolerant, as archives are: a header that promises a coding which the bytes do not have (already decoded by whoever wrote
the archive) leaves them as they are; a coding that breaks off keeps what came before the break.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import brotli
import zstandard
from isal import isal_zlib

from fyke.formats.http import Head
from fyke.limits import note

MAX_BODY = 100_000_000
"""Bytes of one decoded body. Pages have kilobytes; a gzip bomb grows a thousandfold and stops here."""

_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[^\r\n]{0,4096}\r?\n")
_STEP = 1 << 20
"""Bytes decoded at once."""
_FIRST_PIECE = 65_536
"""Bytes of a body that are fed to its decoder first: most bodies are that small, and one stream."""
_NEXT_PIECE = 512
"""Bytes of a further stream of the same body that are fed first."""
_MAX_CODINGS = 8
"""Codings one upon the other that are undone: nobody stacks more, and each costs a pass."""


CODINGS = ("gzip", "br", "zstd")
"""Codings in which a store keeps bodies. Each says where it ends; deflate is two things by one name."""


class Decoded(NamedTuple):
    """A body without its codings."""

    body: bytes
    truncated: bool = False
    """The cap cut it, or the coding ended before its end."""
    problem: str = ""
    """The coding that broke; empty where all went well."""


def decode_body(head: Head, data: bytes, cap: int = MAX_BODY) -> Decoded:
    """Undo the codings that ``head`` names, in the reverse of the order in which they were applied. Never raises."""
    return _undo(_tokens(head, "content-encoding") + _tokens(head, "transfer-encoding"), data, cap)


def decode_content(head: Head, data: bytes, cap: int = MAX_BODY) -> Decoded:
    """Undo the content codings alone: the HTTP client has undone the transfer coding."""
    return _undo(_tokens(head, "content-encoding"), data, cap)


def content_coding(head: Head) -> str:
    """The content coding of a body that has just one, which is one of CODINGS; else empty."""
    found = _tokens(head, "content-encoding")
    return found[0] if len(found) == 1 and found[0] in CODINGS else ""


def undo(coding: str, data: bytes, cap: int = MAX_BODY) -> Decoded:
    """Undo one of CODINGS. Never raises."""
    return _undo([coding], data, cap)


def _undo(codings: list[str], data: bytes, cap: int) -> Decoded:
    truncated = False
    if len(codings) > _MAX_CODINGS:
        note("codings")
    for coding in reversed(codings[-_MAX_CODINGS:]):
        decode = _DECODERS.get(coding)
        if decode is None:
            continue
        step = decode(data, cap)
        truncated |= step.truncated
        data = step.body
        if step.problem:
            return Decoded(data, truncated, step.problem)
    if len(data) >= cap and (truncated or len(data) > cap) and cap == MAX_BODY:
        note("body-files")
    return Decoded(data[:cap], True) if len(data) > cap else Decoded(data, truncated)


def _tokens(head: Head, name: str) -> list[str]:
    return [token.strip().lower() for value in head.get_all(name) for token in value.split(",")]


def dechunk(data: bytes, cap: int = MAX_BODY) -> Decoded:
    """Undo chunked transfer coding; bytes that do not begin with a chunk's size are returned as they are."""
    match = _CHUNK_SIZE.match(data)
    if match is None:
        return Decoded(data)
    parts: list[bytes] = []
    total = 0
    while match is not None:
        size = int(match[1], 16)
        if size == 0:
            return Decoded(b"".join(parts))
        begin = match.end()
        part = data[begin : begin + min(size, cap - total)]
        if not parts and len(part) < size and begin + size > len(data) + 2:
            # The first "size" points far beyond the end: either cut inside the first chunk, or a body that begins
            # with something like a number.
            return Decoded(part if size < cap else data[:cap], True, "chunked")
        parts.append(part)
        total += len(part)
        if len(part) < size:
            return Decoded(b"".join(parts), True)
        end = begin + size
        end += 2 if data[end : end + 2] == b"\r\n" else data[end : end + 1] == b"\n"
        match = _CHUNK_SIZE.match(data, end)
    return Decoded(b"".join(parts), True, "chunked")


def gunzip(data: bytes, cap: int = MAX_BODY) -> Decoded:
    """Undo gzip, several members too; bytes that are none are returned as they are."""
    if data[:2] != b"\x1f\x8b":
        return Decoded(data)
    parts: list[bytes] = []
    room, at = cap, 0
    while data[at : at + 2] == b"\x1f\x8b" and room > 0:  # what follows the last member is padding
        member = _inflate(data, room, 31, at)
        parts.append(member.body)
        room -= len(member.body)
        if member.truncated:
            return Decoded(b"".join(parts), True, member.problem)
        at = member.end
    return Decoded(b"".join(parts), truncated=data[at : at + 2] == b"\x1f\x8b")


def _deflate(data: bytes, cap: int) -> Decoded:
    zlib = len(data) > 1 and data[0] & 15 == 8 and (data[0] << 8 | data[1]) % 31 == 0
    result = _inflate(data, cap, 15 if zlib else -15)
    if not result.body and result.problem:
        return Decoded(data)
    return Decoded(result.body, result.truncated, result.problem)


class _Inflated(NamedTuple):
    body: bytes
    end: int
    """Where the stream ends in what was given."""
    truncated: bool
    problem: str


def _inflate(data: bytes, room: int, wbits: int, at: int = 0, piece: int = 0) -> _Inflated:
    """Inflate the stream that begins at ``at``, fed by ``piece`` bytes at first.

    Further streams of a body are fed in pieces that double, since the decoder copies what lies behind a stream's end:
    of a body of a hundred thousand members, all that follows would be copied for each.
    """
    decoder = isal_zlib.decompressobj(wbits)
    parts: list[bytes] = []
    piece = first = piece or (_NEXT_PIECE if at else _FIRST_PIECE)
    problem, feed, begin = "", b"", at
    try:
        # In steps, so that a break loses no more than the step in which it stands.
        while room > 0 and not decoder.eof and (feed or at < len(data)):
            if not feed:
                feed = data[at : at + piece]
                at += len(feed)
                piece = min(2 * piece, _STEP)
            part = decoder.decompress(feed, min(room, _STEP))
            parts.append(part)
            room -= len(part)
            feed = decoder.unconsumed_tail
    except isal_zlib.error:  # type: ignore[misc]  # its stub hides the class
        if first > _NEXT_PIECE and not parts:  # again, for what stands before the break
            return _inflate(data, room, wbits, begin, _NEXT_PIECE)
        problem = "deflate"
    end = at - len(decoder.unused_data)
    return _Inflated(b"".join(parts), end, bool(problem) or not decoder.eof, problem)


def _brotli(data: bytes, cap: int) -> Decoded:
    decoder = brotli.Decompressor()
    parts: list[bytes] = []
    total = 0
    try:
        feed = data
        while total < cap and not decoder.is_finished():
            part = decoder.process(feed, output_buffer_limit=min(_STEP, cap - total))
            feed = b""
            if not part and decoder.can_accept_more_data():
                break
            parts.append(part)
            total += len(part)
    except brotli.error:
        return Decoded(b"".join(parts)[:cap], True, "br") if total else Decoded(data)
    return Decoded(b"".join(parts)[:cap], not decoder.is_finished())


def _zstd(data: bytes, cap: int) -> Decoded:
    if data[:4] != b"\x28\xb5\x2f\xfd":
        return Decoded(data)
    parts: list[bytes] = []
    room = cap + 1
    try:
        # A window of 8 MiB is what RFC 8878 asks of everyone; more is a way to make us allocate.
        reader = zstandard.ZstdDecompressor(max_window_size=1 << 23).stream_reader(data, read_across_frames=True)
        while room > 0 and (part := reader.read(min(room, _STEP))):
            parts.append(part)
            room -= len(part)
    except zstandard.ZstdError:
        return Decoded(b"".join(parts)[:cap], True, "zstd")
    return Decoded(b"".join(parts)[:cap], room == 0 or not _zstd_is_whole(data))


def _zstd_is_whole(data: bytes) -> bool:
    """Whether the last frame ends (the library does not say): a walk over the headers of its blocks (RFC 8878, 3.1)."""
    at = 0
    while data[at : at + 4] == b"\x28\xb5\x2f\xfd":
        try:
            checksum = zstandard.get_frame_parameters(data[at : at + 18]).has_checksum
            at += zstandard.frame_header_size(data[at : at + 18])
        except zstandard.ZstdError:
            return False
        last = 0
        while not last:
            if at + 3 > len(data):
                return False
            header = int.from_bytes(data[at : at + 3], "little")
            last, kind, size = header & 1, header >> 1 & 3, header >> 3
            at += 3 + (1 if kind == 1 else size)
        at += 4 if checksum else 0
    return at <= len(data)


_DECODERS: dict[str, Callable[[bytes, int], Decoded]] = {
    "chunked": dechunk,
    "gzip": gunzip,
    "x-gzip": gunzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
