"""Members of a ZIP file as streams: those that are stored without compression can be read from any place."""

from __future__ import annotations

import struct
import zipfile
from typing import IO, BinaryIO

from fyke.formats.streams import Seekable

_LOCAL = struct.Struct("<4s22xHH")


class Slice:
    """A part of a file as a file. Reading moves the file's own position: one reader at a time."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file, self._start, self._size, self._at = file, start, size, 0

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """The position."""
        return self._at

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go to a position."""
        self._at = max(0, offset + (0, self._at, self._size)[whence])
        return self._at

    def read(self, size: int = -1, /) -> bytes:
        """At most ``size`` bytes; empty at the end."""
        left = max(0, self._size - self._at)
        self._file.seek(self._start + self._at)
        data = self._file.read(left if size < 0 else min(size, left))
        self._at += len(data)
        return data


def member_window(file: BinaryIO, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Seekable:
    """Return a member as a stream: seekable where it is stored as it is. Raises what ``zipfile`` raises."""
    if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
        return _Forward(archive.open(member))
    file.seek(member.header_offset)
    head = file.read(_LOCAL.size)
    if len(head) < _LOCAL.size or head[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile(f"{member.filename} is not where the directory says")
    _, name, extra = _LOCAL.unpack(head)
    return Slice(file, member.header_offset + _LOCAL.size + name + extra, member.file_size)


class _Forward:
    """A compressed member, read in order: going back in it would begin anew each time."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def read(self, size: int = -1, /) -> bytes:
        """At most ``size`` bytes; empty at the end."""
        return self._stream.read(size)

    def tell(self) -> int:
        """The position."""
        return self._stream.tell()

    def seekable(self) -> bool:
        """False."""
        return False

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Raises ``OSError``."""
        raise OSError("a compressed member cannot seek")
