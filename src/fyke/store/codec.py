"""Codecs: how one cell is compressed, alone or with a dictionary, and the few compressors kept at hand.

A value begins with one byte that says how it is compressed, so old cells stay readable whatever the
settings become::

    0 plain      the bytes
    1 deflate    raw DEFLATE (RFC 1951)
    2 zstd       a zstd frame
    3 zstd       8 bytes: the dictionary's id; a zstd frame made with it

A dictionary's id is a hash of its bytes: the same one is never stored twice, in whichever tablet, and a cell
can move to another tablet if its dictionary goes before it.
"""

from __future__ import annotations

import hashlib
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Generic, TypeVar

import xxhash
import zstandard
from isal import isal_zlib

from fyke.errors import StorageError

PLAIN, DEFLATE, ZSTD, DICTIONARY = range(4)

T = TypeVar("T")

LEVEL = 3
"""zstd's: with a dictionary the higher ones win a few percent for twice the time."""

KEPT = 64 << 20
"""Bytes of dictionaries and tables kept ready for compression, and as many for decompression: digesting a dictionary
anew costs as much as compressing five to twenty pages."""

TABLES = 800 << 10
"""Bytes of a compressor beside its dictionary."""

_DEFLATE_ERROR: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # its stub says an instance

SMALL = 64
"""Bytes below which compression is not tried."""

MAX_CELL = 1 << 30
"""Largest value of one cell once decompressed: a damaged length must not ask for all memory."""


class Codec(StrEnum):
    """How the values of a family are written; all of them can be read at any time."""

    PLAIN = "plain"
    DEFLATE = "deflate"
    ZSTD = "zstd"
    DICTIONARY = "zstd-dictionary"
    """zstd with the dictionary of the host, or else of the content type, once there is one."""


def sha1(data: bytes) -> bytes:
    """The digest of a body, as WARC names payloads."""
    return hashlib.sha1(data, usedforsecurity=False).digest()


def dictionary_id(dictionary: bytes) -> bytes:
    """Return the eight bytes under which a dictionary is stored."""
    return xxhash.xxh3_64_digest(dictionary)


def dictionary_of(value: bytes) -> bytes:
    """Return the id of the dictionary that a value needs; empty where it needs none."""
    return value[1:9] if value[:1] == b"\3" else b""


def train(samples: Sequence[bytes], size: int, level: int) -> bytes | None:
    """Make a dictionary of at most ``size`` bytes; None where the samples are too few or too small for one.

    Segments of 4 KB chosen by 8-byte words: as good as what a search for the best parameters finds, in a
    tenth of its time.
    """
    try:
        return zstandard.train_dictionary(size, list(samples), k=4096, d=8, f=20, accel=5, level=level).as_bytes()
    except zstandard.ZstdError:
        return None


class Codecs:
    """Compressors and decompressors of one process, safe to share between threads."""

    def __init__(self, level: int = LEVEL) -> None:
        self._level = level
        self._lock = threading.Lock()
        self._plain_compress = zstandard.ZstdCompressor(level=level)
        self._plain_decompress = zstandard.ZstdDecompressor()
        self._compressors: _Recent[zstandard.ZstdCompressor] = _Recent()
        self._decompressors: _Recent[zstandard.ZstdDecompressor] = _Recent()

    def encode(
        self, codec: Codec, data: bytes, dictionary: bytes = b"", find: Callable[[bytes], bytes | None] | None = None
    ) -> bytes:
        """Compress ``data``; ``dictionary`` is the id of one that ``find`` returns the bytes of."""
        if codec is Codec.PLAIN or len(data) < SMALL:
            return b"\0" + data
        if codec is Codec.DEFLATE:
            packer = isal_zlib.compressobj(2, isal_zlib.DEFLATED, -15)
            return b"".join((b"\1", packer.compress(data), packer.flush()))
        with self._lock:
            if dictionary and find is not None and codec is Codec.DICTIONARY:
                return b"".join((b"\3", dictionary, self._compressor(dictionary, find).compress(data)))
            return b"\2" + self._plain_compress.compress(data)

    def decode(self, value: bytes, find: Callable[[bytes], bytes | None]) -> bytes:
        """Return what ``encode`` was given. Raises ``StorageError`` where the value is damaged."""
        kind = value[0] if value else -1
        try:
            if kind == DICTIONARY:
                return self._inflate(value[9:], value[1:9], find)
            if kind == ZSTD:
                return self._inflate(value[1:], b"", find)
            if kind == PLAIN:
                return value[1:]
            if kind == DEFLATE:
                return _inflate_raw(value[1:])
        except (zstandard.ZstdError, _DEFLATE_ERROR, zlib.error) as error:
            raise StorageError(f"a cell cannot be decompressed ({error}); run `fyke store check`") from None
        raise StorageError(f"a cell begins with the unknown codec {kind}; run `fyke store check`")

    def _inflate(self, frame: bytes, dictionary: bytes, find: Callable[[bytes], bytes | None]) -> bytes:
        if zstandard.frame_content_size(frame) > MAX_CELL:
            raise zstandard.ZstdError(f"it claims more than {MAX_CELL:,} bytes")
        with self._lock:
            decompressor = self._decompressor(dictionary, find) if dictionary else self._plain_decompress
            return decompressor.decompress(frame)

    def _compressor(self, identity: bytes, find: Callable[[bytes], bytes | None]) -> zstandard.ZstdCompressor:
        def make() -> tuple[zstandard.ZstdCompressor, int]:
            dictionary = zstandard.ZstdCompressionDict(_existing(identity, find))
            dictionary.precompute_compress(level=self._level)  # else every page digests it anew
            compressor = zstandard.ZstdCompressor(level=self._level, dict_data=dictionary, write_dict_id=False)
            return compressor, 2 * len(dictionary) + TABLES

        return self._compressors.get(identity, make)

    def _decompressor(self, identity: bytes, find: Callable[[bytes], bytes | None]) -> zstandard.ZstdDecompressor:
        def make() -> tuple[zstandard.ZstdDecompressor, int]:
            dictionary = zstandard.ZstdCompressionDict(_existing(identity, find))
            return zstandard.ZstdDecompressor(dict_data=dictionary), 2 * len(dictionary)

        return self._decompressors.get(identity, make)


class _Recent(Generic[T]):
    """The things that were used last, up to ``KEPT`` bytes of them."""

    def __init__(self) -> None:
        self._things: OrderedDict[bytes, tuple[T, int]] = OrderedDict()
        self._bytes = 0

    def get(self, identity: bytes, make: Callable[[], tuple[T, int]]) -> T:
        found = self._things.get(identity)
        if found is not None:
            self._things.move_to_end(identity)
            return found[0]
        thing, size = make()
        self._things[identity] = (thing, size)
        self._bytes += size
        while self._bytes > KEPT and len(self._things) > 1:
            self._bytes -= self._things.popitem(last=False)[1][1]
        return thing


def _existing(identity: bytes, find: Callable[[bytes], bytes | None]) -> bytes:
    dictionary = find(identity)
    if dictionary is None:
        raise StorageError(f"dictionary {identity.hex()} is missing; run `fyke store check`")
    return dictionary


def _inflate_raw(data: bytes) -> bytes:
    unpacker = isal_zlib.decompressobj(-15)
    out: bytes = unpacker.decompress(data, MAX_CELL)
    if not unpacker.eof:
        raise zlib.error("incomplete data")
    return out
