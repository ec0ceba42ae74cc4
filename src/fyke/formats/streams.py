"""Compressed streams: gzip, zstd, Unix compress (.Z) or plain, told apart by their first bytes and read in order.

``inflated`` returns something with ``read(size)``. Members and frames that follow one another are one stream. What
is cut short ends early; what is damaged raises ``OSError`` where the damage is met.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import IO, Protocol

import numpy as np
import zstandard
from fastwarc.stream_io import GzipReader, ZstdReader
from isal import igzip

CHUNK = 1 << 16
GZIP = b"\x1f\x8b\x08"
ZSTD = b"\x28\xb5\x2f\xfd"
ZSTD_DICTIONARY = b"\x5d\x2a\x4d\x18"
"""A .warc.zst may begin with a skippable frame of this number that holds the dictionary of all the others."""
LZW = b"\x1f\x9d"


class Readable(Protocol):
    """The part of a binary stream that reading in order needs."""

    def read(self, size: int = -1, /) -> bytes:
        """At most ``size`` bytes; empty at the end."""
        ...


class Seekable(Readable, Protocol):
    """The part of a binary file that random access needs."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go to a position."""
        ...

    def tell(self) -> int:
        """The position."""
        ...

    def seekable(self) -> bool:
        """Whether ``seek`` works."""
        ...


class Writable(Protocol):
    """The part of a binary stream that writing needs."""

    def write(self, data: bytes, /) -> object:
        """Write all of ``data``."""
        ...


class Prefixed:
    """Bytes, then what a stream holds from ``at`` up to ``end``; ``tell`` counts so that ``at`` is true."""

    def __init__(self, prefix: bytes, stream: Readable, at: int, end: int | None = None) -> None:
        self._prefix = prefix
        self._stream = stream
        self._position = at - len(prefix)
        self._left = -1 if end is None else max(end - at, 0)

    def read(self, size: int = -1, /) -> bytes:
        """At most ``size`` bytes; empty at the end."""
        data = self._prefix if size < 0 else self._prefix[:size]
        self._prefix = self._prefix[len(data) :]
        if size < 0 or len(data) < size:
            want = size - len(data) if size >= 0 else -1
            if self._left >= 0:
                want = self._left if want < 0 else min(want, self._left)
            more = self._stream.read(want)
            self._left -= len(more) if self._left > 0 else 0
            data = data + more if data else more
        self._position += len(data)
        return data

    def tell(self) -> int:
        """The position; before ``at`` while in the bytes in front."""
        return self._position

    def seekable(self) -> bool:
        """False."""
        return False

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Raises ``OSError``."""
        raise OSError("a stream with bytes put back in front cannot seek")

    def close(self) -> None:
        """Leave the inner stream open: it is the caller's."""


class LzwReader:
    """What a .Z stream holds."""

    def __init__(self, stream: Readable) -> None:
        from fyke.formats import lzw_kernels as lzw  # here, as few streams need the compiler

        head = _exactly(stream, 3)
        if head[:2] != LZW or len(head) < 3 or not 10 <= head[2] & 31 <= 16:  # gzip cannot read `compress -b 9` either
            raise OSError("not a .Z stream, or one of an unknown width of code")
        self._stream = stream
        self._rest = b""
        self._ready = b""
        self._state = np.zeros(lzw.STATE, np.int64)
        self._state[lzw.WIDTH] = 9
        self._state[lzw.BLOCK_MODE] = head[2] >> 7
        self._state[lzw.FREE] = 257 if head[2] >> 7 else 256
        self._state[lzw.OLD] = -1
        self._state[lzw.MAX_WIDTH] = head[2] & 31
        self._prefix = np.zeros(1 << 16, np.int32)
        self._suffix = np.zeros(1 << 16, np.uint8)
        self._out = np.empty(8 * lzw.LONGEST, np.uint8)
        self._ended = False

    def read(self, size: int = -1, /) -> bytes:
        """At most ``size`` bytes. Raises ``OSError`` at a code that cannot be, after all that came before it."""
        parts = [self._ready]
        have = len(self._ready)
        while (size < 0 or have == 0) and not self._ended:
            parts.append(self._more())
            have += len(parts[-1])
        data = b"".join(parts)
        self._ready = data[size:] if size >= 0 else b""
        return data[:size] if size >= 0 else data

    def _more(self) -> bytes:
        from fyke.formats import lzw_kernels as lzw

        if self._state[lzw.CORRUPT]:
            raise OSError("the .Z stream is damaged: a code that was never defined")
        fresh = self._stream.read(CHUNK)
        data = np.frombuffer(self._rest + fresh, np.uint8)
        parts = []
        while True:
            written = int(lzw.lzw_decode(data, self._state, self._prefix, self._suffix, self._out))
            parts.append(self._out[:written].tobytes())
            used = min(int(self._state[lzw.POSITION]) >> 3, len(data))
            data = data[used:]
            self._state[lzw.POSITION] -= 8 * used
            if not written or self._state[lzw.CORRUPT]:
                break
        self._rest = data.tobytes()
        self._ended = not fresh
        return b"".join(parts)


def inflated(stream: Readable) -> Readable:
    """Return the decoded stream. Raises ``OSError`` only where a .Z header makes no sense."""
    start = _exactly(stream, 4)
    whole = Prefixed(start, stream, len(start))
    if start[:3] == GZIP:
        return GzipReader(whole)
    if start == ZSTD or _is_skippable(start):
        return ZstdReader(whole)
    if start[:2] == LZW:
        return LzwReader(whole)
    return whole


def _is_skippable(start: bytes) -> bool:
    return len(start) == 4 and start[0] & 0xF0 == 0x50 and start[1:] == ZSTD_DICTIONARY[1:]


def _exactly(stream: Readable, size: int) -> bytes:
    """``size`` bytes, fewer only at the end."""
    data = stream.read(size)
    while len(data) < size and (more := stream.read(size - len(data))):
        data += more
    return data


@contextlib.contextmanager
def compressed(file: IO[bytes], compression: str) -> Iterator[IO[bytes]]:
    """Yield where to write what ``file`` shall hold as one stream: ``gz``, ``zst`` or plain."""
    if compression == "gz":
        with igzip.open(file, "wb", compresslevel=2) as packed:  # type: ignore[no-untyped-call]
            yield packed
    elif compression == "zst":
        with zstandard.ZstdCompressor(level=3).stream_writer(file, closefd=False) as packed:
            yield packed
    else:
        yield file
