"""What is known of a site and kept over restarts: values whose fields are MessagePack arrays on disk."""

from __future__ import annotations

from typing import Self

import msgspec


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """A value that outlives its process. Fields are only ever added at the end, with a default."""

    def encode(self) -> bytes:
        """Return this as MessagePack; ``decode`` is the inverse."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Return what ``encode`` wrote."""
        return msgspec.msgpack.decode(data, type=cls)
