"""Sealed values: a name, a version and a check sum before zstd of MessagePack. Any bytes are safe to open.

::

    name ‖ 0x00 ‖ version (4, little-endian) ‖ XXH3-64 of what follows (8) ‖ zstd of MessagePack
"""

from __future__ import annotations

import struct
from typing import TypeVar

import msgspec
import xxhash
import zstandard

from fyke.errors import UNREADABLE

T = TypeVar("T")

_HEAD = struct.Struct("<IQ")


def seal(magic: bytes, version: int, value: msgspec.Struct, level: int) -> bytes:
    """Return ``value`` sealed; ``magic`` is the name with its 0, ``level`` zstd's."""
    body = zstandard.ZstdCompressor(level=level).compress(msgspec.msgpack.encode(value))
    return magic + _HEAD.pack(version, xxhash.xxh3_64_intdigest(body)) + body


def unseal(data: bytes, magic: bytes, version: int, kind: type[T], most: int) -> T:
    """Return the value of ``kind`` that was sealed, if it takes at most ``most`` bytes. Raises ``ValueError``."""
    if not data.startswith(magic) or len(data) < len(magic) + _HEAD.size:
        raise ValueError("it does not begin as one does")
    found, digest = _HEAD.unpack_from(data, len(magic))
    body = data[len(magic) + _HEAD.size :]
    if found != version:
        raise ValueError(f"it is of version {found}, this fyke reads version {version}")
    if xxhash.xxh3_64_intdigest(body) != digest:
        raise ValueError("its check sum differs")
    try:
        # zstd makes room for what the frame says, whatever limit it is given.
        if not 0 <= zstandard.frame_content_size(body) <= most:
            raise ValueError(f"it does not say that it fits {most:,} bytes")
        return msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(body), type=kind)
    except (zstandard.ZstdError, *UNREADABLE) as error:
        raise ValueError(str(error)) from None
