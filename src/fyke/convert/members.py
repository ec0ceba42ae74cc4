"""Members of archives: zip, tar and compressed files opened in memory, each with limits on count, size and ratio.

The one module of the room that makes file objects, since the standard library's readers want them; they are bytes.
"""

from __future__ import annotations

import bz2
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO, NamedTuple

from fyke.convert.registry import Limits, Refused
from fyke.formats import media_types as kinds
from fyke.formats.encoding import decoded
from fyke.values import Reason

MAX_RATIO = 1_000
"""Bytes out per byte in: real text compresses a tenth as well, a bomb better."""


_CHUNK = 1 << 16
"""Bytes that are expanded at once: of a damaged file those before are not lost."""


_HEADER = struct.Struct("<6xHH8xL4xHH")
"""Of a zip archive's member: flags, method, packed size, sizes of its name and of what else stands before it."""
_SIZE_FOLLOWS = 8
"""The flag of a member whose size stands behind it."""


class Member(NamedTuple):
    """One file of an archive."""

    name: str
    data: bytes
    failure: Refused | None = None
    """Why it could not be read, or not to its end."""


def as_file(data: bytes) -> BinaryIO:
    """Return bytes as the file object that some readers want."""
    return io.BytesIO(data)


def open_zip(data: bytes) -> zipfile.ZipFile:
    """Return a reader of a zip archive; refuses what is none, or damaged."""
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, EOFError) as error:
        raise Refused(Reason.DAMAGED, f"zip: {error}") from None


def read_zip(archive: zipfile.ZipFile, name: str, limits: Limits) -> bytes:
    """Return one member of a zip archive; refuses an encrypted, damaged or exploding one."""
    try:
        info = archive.getinfo(name)
        if info.flag_bits & 1:
            raise Refused(Reason.ENCRYPTED, f"{name} in the archive has a password")
        limit = min(limits.max_text, max(info.compress_size, 1_000) * MAX_RATIO)
        with archive.open(info) as member:
            data = member.read(limit + 1)
    except (zipfile.BadZipFile, zlib.error, ValueError, OSError, NotImplementedError, EOFError, KeyError) as error:
        raise Refused(Reason.DAMAGED, f"{name} in the archive: {error}") from None
    if len(data) > limit:
        raise Refused(Reason.TOO_LARGE, f"{name} in the archive expands to more than {limit:,} bytes")
    return data


def replaced_zip(archive: zipfile.ZipFile, changed: dict[str, bytes], limits: Limits) -> bytes:
    """Return a zip archive with another content of some members; those that cannot be read are left out."""
    out = io.BytesIO()
    total = 0
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as new:
        for info in archive.infolist()[: limits.max_parts]:
            try:
                content = changed.get(info.filename)
                if content is None:
                    content = read_zip(archive, info.filename, limits)
            except Refused:
                continue
            total += len(content)
            if total > limits.max_text:
                raise Refused(Reason.TOO_LARGE, f"the document expands to more than {limits.max_text:,} bytes")
            new.writestr(info.filename, content)
    return out.getvalue()


def members(data: bytes, media_type: str, limits: Limits) -> Iterator[Member]:
    """Yield the files of an archive, or the one inside a compressed file, until a limit is reached.

    One that cannot be read comes with its ``failure``. Raises ``Refused`` where nothing more can be read.
    """
    total = 0
    for count, member in enumerate(
        _zip(data, limits) if media_type == kinds.ZIP else _packed(data, media_type, limits)
    ):
        total += len(member.data)
        if count >= limits.max_parts:
            raise Refused(Reason.TOO_LARGE, f"more than {limits.max_parts:,} files in the archive")
        if total > limits.max_text:
            raise Refused(Reason.TOO_LARGE, f"the archive expands to more than {limits.max_text:,} bytes")
        yield member


def _zip(data: bytes, limits: Limits) -> Iterator[Member]:
    try:
        opened = open_zip(data)
    except Refused:
        yield from _without_directory(data, limits)
        raise
    with opened as archive:
        for info in archive.infolist()[: limits.max_parts + 1]:
            if info.is_dir():
                continue
            try:
                yield Member(_name(info), read_zip(archive, info.filename, limits))
            except Refused as refused:
                yield Member(_name(info), b"", refused)


def _name(info: zipfile.ZipInfo) -> str:
    """Return a member's name; without the flag for UTF-8 it is in whatever its maker's system used."""
    if info.flag_bits & 0x800 or info.filename.isascii():
        return info.filename
    return decoded(info.filename.encode("cp437", "replace"), "text/plain").text


def _without_directory(data: bytes, limits: Limits) -> Iterator[Member]:
    """Yield the members of a zip archive that has lost its end, and so its directory, by their own headers."""
    at = 0
    while (at := data.find(b"PK\3\4", at)) >= 0 and at + _HEADER.size <= len(data):
        flags, method, size, name_size, extra_size = _HEADER.unpack_from(data, at)
        start = at + _HEADER.size + name_size + extra_size
        name = decoded(data[at + _HEADER.size : start - extra_size], "text/plain").text
        stop = len(data) if flags & _SIZE_FOLLOWS else min(start + size, len(data))
        body, at, is_whole = data[start:stop], stop, not flags & _SIZE_FOLLOWS and start + size <= len(data)
        if method == zipfile.ZIP_DEFLATED:
            body, at, is_whole = _inflated(data, start, stop, limits)
        refused = None if is_whole else Refused(Reason.DAMAGED, f"{name} in the archive is cut short")
        if flags & 1 or method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            body, refused = b"", Refused(Reason.UNSUPPORTED, f"{name} can not be read without the archive's directory")
        if name.strip("\0") and not name.endswith("/"):
            yield Member(name, body, refused)
        at = max(at, start)


def _inflated(data: bytes, start: int, stop: int, limits: Limits) -> tuple[bytes, int, bool]:
    """Return what is packed from ``start`` on, where that ends, and whether it is whole."""
    stream, parts = zlib.decompressobj(-15), []
    room = min(limits.max_text, max(stop - start, 1_000) * MAX_RATIO)
    at = start
    with suppress(zlib.error):
        while at < stop and room > 0 and not stream.eof:
            parts.append(stream.decompress(data[at : min(at + _CHUNK, stop)], room))
            at, room = min(at + _CHUNK, stop), room - len(parts[-1])
    return b"".join(parts), at - len(stream.unused_data), stream.eof


def _packed(data: bytes, media_type: str, limits: Limits) -> Iterator[Member]:
    if media_type != kinds.TAR:
        data, failure = _expanded(data, media_type, limits)
        if data[257:262] != b"ustar":
            yield Member("", data, failure)
            return
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for info in archive:
                handle = archive.extractfile(info) if info.isfile() else None
                if handle is not None:  # a sparse one claims what size it likes
                    yield Member(info.name, handle.read(limits.max_text + 1))
    except (tarfile.TarError, ValueError, OSError, EOFError) as error:
        raise Refused(Reason.DAMAGED, f"tar: {error}") from None


def _expanded(data: bytes, media_type: str, limits: Limits) -> tuple[bytes, Refused | None]:
    """Return what a compressed file holds, of all its streams (parallel compressors write one after the other).

    Of a damaged one it is what comes before the damage, and why there is no more.
    """
    limit = min(limits.max_text, len(data) * MAX_RATIO)
    magic, room = data[:2], limit + 1
    parts: list[bytes] = []
    failure: Refused | None = None
    while data.startswith(magic):
        stream: bz2.BZ2Decompressor | lzma.LZMADecompressor | zlib._Decompress
        if media_type == kinds.BZIP2:
            stream = bz2.BZ2Decompressor()
        elif media_type == kinds.XZ:
            stream = lzma.LZMADecompressor(memlimit=limits.memory // 4)
        else:
            stream = zlib.decompressobj(31)
        try:
            for at in range(0, len(data), _CHUNK):
                parts.append(stream.decompress(data[at : at + _CHUNK], room))
                room -= len(parts[-1])
                if room <= 0 or stream.eof:
                    break
        except (zlib.error, lzma.LZMAError, OSError, ValueError, EOFError) as error:
            failure = Refused(Reason.DAMAGED, f"compressed file: {error}")
            break
        if room <= 0:
            raise Refused(Reason.TOO_LARGE, f"the compressed file expands to more than {limit:,} bytes")
        if not stream.eof:
            failure = Refused(Reason.DAMAGED, "the compressed file is cut short")
            break
        rest = data[at + _CHUNK :]
        data = (stream.unused_data + rest).lstrip(b"\0")  # zeros pad a stream; else it is no part of the file
    if failure and not any(parts):
        raise failure
    return b"".join(parts), failure
