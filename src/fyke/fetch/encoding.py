"""Content-Encoding: gzip, deflate, br and zstd undone under a size cap; a bomb costs the cap and no more."""

from __future__ import annotations

from dataclasses import dataclass

import brotli
import zstandard
from isal import isal_zlib

ACCEPT = "gzip, deflate, br, zstd"
"""What we ask for; what we get is undone whatever it is called."""

_STEP = 65_536


@dataclass(frozen=True, slots=True)
class Decoded:
    """A body as far as it could be decoded."""

    body: bytes
    truncated: bool = False
    """The cap was reached, or the data ended early."""
    damaged: bool = False
    """The data are not what the header says; ``body`` is what came before the damage, or the raw bytes."""


def decode(data: bytes, encodings: str, cap: int) -> Decoded:
    """Undo the Content-Encoding ``encodings`` (as in the header, last applied last). Never raises.

    At most ``cap`` bytes come out. More than three layers are refused as damage: nobody sends them honestly.
    """
    names = [name.strip().lower() for name in encodings.split(",") if name.strip()]
    names = [name for name in names if name != "identity"]
    if len(names) > 3:
        return Decoded(data[:cap], damaged=True)
    result = Decoded(data[:cap], truncated=len(data) > cap)
    for name in reversed(names):
        layer = _undo(result.body if result.truncated else data, name, cap)
        data = layer.body
        result = Decoded(data, result.truncated or layer.truncated, result.damaged or layer.damaged)
    return result


def _undo(data: bytes, name: str, cap: int) -> Decoded:
    if not data:
        return Decoded(b"")
    if name in {"gzip", "x-gzip"}:
        if not data.startswith(b"\x1f\x8b"):
            return Decoded(data[:cap])  # already decoded on the way, or never encoded: servers do both
        return _inflate(data, isal_zlib.MAX_WBITS | 16, cap)
    if name == "deflate":
        # The standard says zlib; many servers send raw deflate.
        is_zlib = len(data) > 1 and data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
        return _inflate(data, isal_zlib.MAX_WBITS if is_zlib else -isal_zlib.MAX_WBITS, cap)
    if name == "br":
        return _unbrotli(data, cap)
    if name == "zstd":
        return _unzstd(data, cap)
    return Decoded(data[:cap], damaged=True)


def _inflate(data: bytes, wbits: int, cap: int) -> Decoded:
    """Inflate every member of a gzip or deflate stream."""
    parts: list[bytes] = []
    size = 0
    while data:
        stream = isal_zlib.decompressobj(wbits)
        try:
            part = stream.decompress(data, cap - size + 1)
        except isal_zlib.IsalError:  # type: ignore[misc]  # isal's stub hides that it is an exception
            return Decoded(b"".join(parts) if parts else data[:cap], damaged=True)
        parts.append(part)
        size += len(part)
        if size > cap:
            return Decoded(b"".join(parts)[:cap], truncated=True)
        if not stream.eof:
            return Decoded(b"".join(parts), truncated=True)
        data = stream.unused_data
        if not data.startswith(b"\x1f\x8b"):  # padding or junk after the last member
            break
    return Decoded(b"".join(parts))


def _unbrotli(data: bytes, cap: int) -> Decoded:
    stream = brotli.Decompressor()
    parts: list[bytes] = []
    size = 0
    piece = data
    try:
        while True:
            part = stream.process(piece, output_buffer_limit=_STEP)
            parts.append(part)
            size += len(part)
            if size > cap:
                return Decoded(b"".join(parts)[:cap], truncated=True)
            if stream.is_finished():
                return Decoded(b"".join(parts))
            if not part and stream.can_accept_more_data():
                return Decoded(b"".join(parts), truncated=True)
            piece = b""
    except brotli.error:
        return Decoded(b"".join(parts), damaged=True)


def _unzstd(data: bytes, cap: int) -> Decoded:
    parts: list[bytes] = []
    size = 0
    # A window over 8 MiB is refused by browsers too (RFC 9659): it bounds memory.
    reader = zstandard.ZstdDecompressor(max_window_size=8 << 20).stream_reader(data, read_across_frames=True)
    try:
        while part := reader.read(min(_STEP, cap - size + 1)):
            parts.append(part)
            size += len(part)
            if size > cap:
                return Decoded(b"".join(parts)[:cap], truncated=True)
    except zstandard.ZstdError:
        return Decoded(b"".join(parts), damaged=True)
    return Decoded(b"".join(parts))
