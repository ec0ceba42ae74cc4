"""HTTP/2 by hand, for the hostile web: what a library would not send."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack("!I", len(payload))[1:] + bytes((kind, flags)) + struct.pack("!I", stream) + payload


SETTINGS, OK, TYPE = frame(4, 0, 0), b"\x88", b"\x5f\x09text/html"  # :status 200; content-type, a literal
FIELD = b"\x00\x08x-filler\x7f\x9e\x01" + b"v" * 285
"""A header line of some 300 bytes."""


def indexed(block: bytes) -> set[int]:
    """The numbers of HPACK's table that a block names whole: 4 is ``:path: /``."""
    found, at = set(), 0

    def integer(bits: int) -> int:
        nonlocal at
        value = block[at] & (1 << bits) - 1
        at += 1
        if value == (1 << bits) - 1:
            shift = 0
            while True:
                value += (block[at] & 127) << shift
                shift, at = shift + 7, at + 1
                if block[at - 1] < 128:
                    break
        return value

    while at < len(block):
        first = block[at]
        if first & 0x80:
            found.add(integer(7))
        elif first & 0xE0 == 0x20:
            integer(5)
        else:
            strings = 1 if integer(6 if first & 0x40 else 4) else 2
            for _ in range(strings):
                at += integer(7)
    return found


async def requests_h2(reader: asyncio.StreamReader) -> AsyncIterator[tuple[int, bool]]:
    """The streams that begin, and whether the path that they ask for is ``/``."""
    await reader.readexactly(24)
    while True:
        start = await reader.readexactly(9)
        payload = await reader.readexactly(int.from_bytes(start[:3], "big"))
        if start[3] == 1:
            block = payload[5 * (start[4] >> 5 & 1) :]  # without a priority
            yield int.from_bytes(start[5:9], "big"), 4 in indexed(block)
