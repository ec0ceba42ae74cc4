"""Codecs: how one cell is compressed, alone or with a dictionary, and the few compressors kept at hand.

A value begins with one byte that says how it is compressed, so old cells stay readable whatever the
settings become::

    0 plain      the bytes
    1 deflate    raw DEFLATE (RFC 1951)
    2 zstd       a zstd frame
    3 zstd       8 bytes: the dictionary's id; a zstd frame made with it
    4 as sent    1 byte: the place of its coding in CODINGS; 4, little-endian: the length of what stands before the body
                 plain; then that; then the body in the content coding in which a server sent it

A dictionary's id is a hash of its bytes: the same one is never stored twice, in whichever tablet, and a cell
can move to another tablet if its dictionary goes before it.
"""

from __future__ import annotations

import hashlib
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import xxhash
import zstandard
from isal import isal_zlib
from zstandard import frame_content_size

from fyke.errors import StorageError
from fyke.formats.http_body import CODINGS, undo
from fyke.values import Coded

PLAIN, DEFLATE, ZSTD, DICTIONARY, AS_SENT = range(5)

Find = Callable[[bytes], bytes | None]
"""Returns the bytes of the dictionary with an id."""

LEVEL = 3
"""zstd's with a dictionary: the higher ones win a few percent for twice the time."""

ALONE = 1
"""zstd's without a dictionary: 4 % larger than with level 3, in a half to a third of its time."""

QUICK = -3
"""zstd's for texts, which are made of the pages and can be made again: a third larger than with level 3, for half the
time to write and little more than half the time to read."""

KEPT = 40 << 20
"""Bytes of dictionaries and compressors kept ready in a process: forty small hosts, or sixteen with the largest."""

KEPT_TO_READ = 6 << 20
"""The same where nothing is written: a scan comes to one host after another."""

TABLES = ((192 << 10, 15), (640 << 10, 16), (1 << 62, 17))
"""Up to which size of dictionary its hash tables have 2**n entries. Smaller ones than zstd's own for small dictionaries
are quicker to set up for each page, and compress as well."""

PATIENCE = 32
"""Where more hosts are active than dictionaries can be kept, one page in so many may bring its own in. The others go
without: digesting a dictionary costs as much as compressing ten pages."""

HARDLY, SAVES, MAY_SAVE = 0.4, 0.6, 0.65
"""Pages of which so much is left without a dictionary get one only if it leaves so much of that (``is_worth``), and one
is trained for them only if pages as they are leave at most so much (``may_be_worth``)."""

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
    """A quick level, for texts."""
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


def as_sent(before: bytes, body: Coded) -> bytes:
    """Return the value of a page whose body stays as a server has compressed it. REQUIRES: it is one of CODINGS."""
    return b"".join(
        (bytes((AS_SENT, CODINGS.index(body.coding))), len(before).to_bytes(4, "little"), before, body.data)
    )


def _read_as_sent(value: bytes) -> bytes:
    begin = 6 + int.from_bytes(value[2:6], "little")
    if not 6 <= begin < len(value) or value[1] >= len(CODINGS):
        raise zlib.error("its head is wrong")
    body = undo(CODINGS[value[1]], data := value[begin:], MAX_CELL)
    if body.truncated or body.problem or body.body is data:
        raise zlib.error("incomplete data")
    return value[6:begin] + body.body


def train(samples: Sequence[bytes], size: int) -> bytes | None:
    """Make a dictionary of at most ``size`` bytes; None where the samples are too few or too small for one.

    Segments of 4 KB chosen by 8-byte words: as good as what a search for the best parameters finds, in a
    tenth of its time. The level is that at which the samples are compressed for the dictionary's entropy tables: the
    quickest makes as good ones.
    """
    try:
        return zstandard.train_dictionary(size, list(samples), k=4096, d=8, f=18, accel=10, level=-5).as_bytes()
    except zstandard.ZstdError:
        return None


def is_worth(dictionary: bytes, unseen: Sequence[bytes]) -> bool:
    """Tell whether pages that a dictionary was not made of are worth compressing with it.

    Where pages share more than words a dictionary saves a quarter to two thirds, in less time than none. Pages that
    hardly compress are full of short matches, each of which costs time: with a dictionary three times as much.
    """
    return _saves(zstandard.ZstdCompressionDict(dictionary), unseen, SAVES)


def may_be_worth(seen: Sequence[bytes], unseen: Sequence[bytes]) -> bool:
    """Tell whether training may make a dictionary that ``is_worth`` it: by some pages as they are in its place.

    They save nearly as much, and take a tenth of the time.
    """
    return _saves(zstandard.ZstdCompressionDict(b"".join(seen), zstandard.DICT_TYPE_RAWCONTENT), unseen, MAY_SAVE)


def _saves(dictionary: zstandard.ZstdCompressionDict, unseen: Sequence[bytes], most: float) -> bool:
    """Tell whether pages compress well by themselves, or to ``most`` of that with a dictionary."""
    alone = zstandard.ZstdCompressor(level=ALONE)
    size, without = sum(map(len, unseen)), sum(len(alone.compress(page)) for page in unseen)
    if without <= size * HARDLY:
        return True
    together = zstandard.ZstdCompressor(level=LEVEL, dict_data=dictionary)
    return sum(len(together.compress(page)) for page in unseen) <= without * most


class Codecs:
    """Compressors and decompressors of one process, safe to share between threads."""

    def __init__(self, level: int = LEVEL, *, reads: bool = False) -> None:
        """``reads``: nothing will be compressed."""
        self._level = level
        self._kept = KEPT_TO_READ if reads else KEPT
        self._lock = threading.Lock()
        self._compress = zstandard.ZstdCompressor(level=ALONE, write_content_size=True)
        self._compress_text = zstandard.ZstdCompressor(level=QUICK, write_content_size=True)
        self._decompress = zstandard.ZstdDecompressor().decompress
        self._ready: OrderedDict[bytes, _Ready] = OrderedDict()  # the last used is last
        self._bytes = 0
        self._since = PATIENCE

    def room(self) -> int:
        """Bytes that a new dictionary may have so that all those in use can be kept."""
        with self._lock:
            writing = sum(ready.compressor is not None for ready in self._ready.values())
        share = self._kept // (writing + 1)
        return max(min(largest, share - _table_bytes(log)) for largest, log in TABLES)

    def retire(self, identity: bytes) -> None:
        """Forget a dictionary that nothing will be compressed with again, so that its successors have its room."""
        with self._lock:
            ready = self._ready.pop(identity, None)
            if ready is not None:
                self._bytes -= ready.size

    def encode(self, codec: Codec, data: bytes, dictionary: bytes = b"", find: Find | None = None) -> bytes:
        """Compress ``data``; ``dictionary`` is the id of one that ``find`` returns the bytes of."""
        if codec is Codec.PLAIN or len(data) < SMALL:
            return b"\0" + data
        if codec is Codec.DEFLATE:
            packer = isal_zlib.compressobj(2, isal_zlib.DEFLATED, -15)
            return b"".join((b"\1", packer.compress(data), packer.flush()))
        with self._lock:
            if dictionary and find is not None and codec is Codec.DICTIONARY:
                compressor = self._compressor(dictionary, find)
                if compressor is not None:
                    return b"".join((b"\3", dictionary, compressor.compress(data)))
            return b"\2" + (self._compress_text if codec is Codec.ZSTD else self._compress).compress(data)

    def decode(self, value: bytes, find: Find) -> bytes:
        """Return what ``encode`` was given. Raises ``StorageError`` where the value is damaged."""
        kind = value[0] if value else -1
        try:
            if kind == ZSTD:
                return self._inflate(memoryview(value)[1:])  # a copy would cost a tenth of the decoding
            if kind == DICTIONARY:
                return self._inflate(memoryview(value)[9:], value[1:9], find)
            if kind == PLAIN:
                return value[1:]
            if kind == AS_SENT:
                return _read_as_sent(value)
            if kind == DEFLATE:
                return _inflate_raw(value[1:])
        except (zstandard.ZstdError, _DEFLATE_ERROR, zlib.error) as error:
            raise StorageError(f"a cell cannot be decompressed ({error}); run `fyke store check`") from None
        raise StorageError(f"a cell begins with the unknown codec {kind}; run `fyke store check`")

    def _inflate(self, frame: memoryview, dictionary: bytes = b"", find: Find | None = None) -> bytes:
        if frame_content_size(frame) > MAX_CELL:
            raise zstandard.ZstdError(f"it claims more than {MAX_CELL:,} bytes")
        with self._lock:
            if find is None:
                return self._decompress(frame)
            return self._get(dictionary, find).decompressor.decompress(frame)

    def _compressor(self, identity: bytes, find: Find) -> zstandard.ZstdCompressor | None:
        """The dictionary's compressor; None where it is not at hand and others have just been made room for."""
        self._since += 1
        ready = self._ready.get(identity)
        if ready is None or ready.compressor is None:
            if self._bytes >= self._kept * 7 // 8 and self._since < PATIENCE:
                return None
            self._since = 0
            ready = self._get(identity, find)
            log = next(log for largest, log in TABLES if len(ready.dictionary) <= largest)
            parameters = zstandard.ZstdCompressionParameters.from_level(
                self._level, hash_log=log, chain_log=log - 1, write_content_size=True, write_dict_id=False
            )
            ready.dictionary.precompute_compress(compression_params=parameters)  # else every page digests it anew
            ready.compressor = zstandard.ZstdCompressor(compression_params=parameters, dict_data=ready.dictionary)
            self._grow(ready, _table_bytes(log))
        else:
            self._ready.move_to_end(identity)
        return ready.compressor

    def _get(self, identity: bytes, find: Find) -> _Ready:
        ready = self._ready.get(identity)
        if ready is None:
            dictionary = zstandard.ZstdCompressionDict(_existing(identity, find))
            ready = self._ready[identity] = _Ready(dictionary, zstandard.ZstdDecompressor(dict_data=dictionary))
            self._grow(ready, 2 * len(dictionary) + _DECOMPRESSOR)  # zstd has a copy of its own
        else:
            self._ready.move_to_end(identity)
        return ready

    def _grow(self, ready: _Ready, size: int) -> None:
        ready.size += size
        self._bytes += size
        while self._bytes > self._kept and len(self._ready) > 1:
            self._bytes -= self._ready.popitem(last=False)[1].size


_DECOMPRESSOR = 40 << 10
"""Bytes of a decompressor beside its dictionary, as measured."""


def _table_bytes(log: int) -> int:
    """Bytes of a compressor beside its dictionary: the dictionary's hash tables, its own, and a block's buffers."""
    return (12 << log) + (512 << 10)


@dataclass(slots=True)
class _Ready:
    """A dictionary at hand: its tables are made when something is first compressed with it."""

    dictionary: zstandard.ZstdCompressionDict
    decompressor: zstandard.ZstdDecompressor
    compressor: zstandard.ZstdCompressor | None = None
    size: int = 0


def _existing(identity: bytes, find: Find) -> bytes:
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
