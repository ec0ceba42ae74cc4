"""Sparse columns in which imports keep what no page, text or link holds, and exports find it again."""

from __future__ import annotations

import msgspec

from fyke.errors import UNREADABLE, StorageError
from fyke.formats.warc_exchange import Original

MARKUP = "trec:markup"
"""What a TREC file says before a body, where it cannot be made anew."""
REQUEST, RESPONSE = "http:request", "http:response"
"""The heads of a revisit, as stores of format 3 have them: now they are its page's."""
METADATA = "warc:metadata"
"""The block of a metadata record."""
CONVERSION = "warc:conversion:"
"""And the media type: the block of a conversion record that is no plain text."""
REFERS_TO = "warc:refers-to"
"""Of a revisit whose payload is not in the store: what it refers to, and the digest that it states."""

_encode = msgspec.msgpack.encode
_decode = msgspec.msgpack.Decoder(tuple[str, str, float, str, str]).decode


def pack_reference(original: Original, digest: str) -> bytes:
    """Write what a revisit refers to, and the digest that it states."""
    return _encode((original.profile, original.uri, original.date, original.id, digest))


def unpack_reference(data: bytes) -> tuple[Original, str]:
    """Read what ``pack_reference`` wrote. Raises ``StorageError`` for anything else."""
    try:
        profile, uri, date, id_, digest = _decode(data)
    except UNREADABLE as error:
        raise StorageError(f"what a revisit refers to is damaged ({error}); run `fyke store check`") from None
    return Original(profile, uri, date, id_), digest
