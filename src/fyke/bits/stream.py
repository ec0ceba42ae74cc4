"""Bit streams: bits from the most significant of each 64-bit word on, in an array of words.

A stream is a ``uint64`` array; a position is a bit number, bit 0 being the highest of word 0. Reading past the
end gives zeros and never leaves the array, so a damaged stream yields wrong values but no wrong memory.
REQUIRES of a writer: the words are zero from the position on, and there is room.

Two byte forms: big-endian (``from_bytes``, ``to_bytes``), in which bit 0 is the highest bit of byte 0, as WebGraph
and most formats have it; and the words as they lie in memory on a little-endian machine, which can be mapped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fyke.bits.jit import inlined, kernel

Words = NDArray[np.uint64]

PADDING = 2
"""Words of zeros after the last one in use: ``peek`` reads two words at once."""


@inlined
def peek(words: Any, position: Any) -> Any:
    """Return the 64 bits from ``position`` on. REQUIRES: at least two words."""
    i = position >> 6
    if i + 2 > words.size:
        i = words.size - 2
        return np.uint64(0) if position >= words.size << 6 else words[i + 1] << np.uint64(position & 63)
    shift = np.uint64(position & 63)
    return (words[i] << shift) | ((words[i + 1] >> np.uint64(1)) >> (np.uint64(63) - shift))


@inlined
def read_bits(words: Any, position: Any, width: Any) -> Any:
    """Return (value, next position) of ``width`` bits, 0 ≤ width ≤ 63."""
    return np.int64((peek(words, position) >> np.uint64(1)) >> np.uint64(63 - width)), position + width


@inlined
def write_bits(words: Any, position: Any, value: Any, width: Any) -> Any:
    """Write the ``width`` low bits of ``value``, 0 ≤ width ≤ 64; the others must be zero. Return the next position."""
    if width > 0:
        i = position >> 6
        room = 64 - (position & 63)
        bits = np.uint64(value)
        if width <= room:
            words[i] |= bits << np.uint64(room - width)
        else:
            over = width - room
            words[i] |= bits >> np.uint64(over)
            words[i + 1] |= bits << np.uint64(64 - over)
    return position + width


@kernel
def copy_bits(source: Any, start: Any, count: Any, target: Any, position: Any) -> Any:
    """Append ``count`` bits of ``source`` from ``start`` on to ``target``; return the next position."""
    while count > 0:
        step = min(count, 32)
        value, start = read_bits(source, start, step)
        position = write_bits(target, position, value, step)
        count -= step
    return position


def from_bytes(data: bytes | memoryview) -> Words:
    """Return the words of a big-endian byte string, padded with zeros."""
    padded = np.zeros((len(data) + 7) // 8 + PADDING, dtype=">u8")
    padded.view(np.uint8)[: len(data)] = np.frombuffer(data, dtype=np.uint8)
    return padded.astype(np.uint64)


def to_bytes(words: Words, bits: int) -> bytes:
    """Return the first ``bits`` bits as big-endian bytes, the last one filled up with zeros."""
    return words[: (bits + 63) // 64].astype(">u8").tobytes()[: (bits + 7) // 8]


def words_for(bits: int) -> int:
    """Return how many words hold ``bits`` bits and the padding that readers want."""
    return (bits + 63) // 64 + PADDING


def room_for(bits: int) -> Words:
    """Return zeroed words for ``bits`` bits, padding included."""
    return np.zeros(words_for(bits), np.uint64)
