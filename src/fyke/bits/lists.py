"""Lists of (stream, number): what is to be written, its cost under given codes, and the writing.

A format that mixes several codes describes a record as two parallel arrays; cost, choice of codes and output
are then the same for every format (archives of summaries, web graphs).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fyke.bits.codes import len_code, write_code
from fyke.bits.jit import inlined, kernel, leaf
from fyke.bits.stream import read_bits, write_bits

SMALL = 1024
"""Numbers whose lengths are tabulated."""


@inlined
def put(streams: Any, values: Any, at: Any, stream: Any, value: Any) -> Any:
    """Append a number to a list of ``at``; return its new length."""
    streams[at] = stream
    values[at] = value
    return at + 1


@kernel
def len_table(codes: Any) -> Any:
    """Return the length of every small number in every stream."""
    small = np.empty((codes.kinds.size, SMALL), np.int32)
    for stream in range(codes.kinds.size):
        for value in range(SMALL):
            small[stream, value] = len_code(value, codes.kinds[stream], codes.parameters[stream])
    return small


@leaf
def cost_of(streams: Any, values: Any, size: Any, codes: Any, small: Any, limit: Any) -> Any:
    """Return the bits of a list of numbers, or something beyond ``limit`` as soon as they exceed it."""
    bits = 0
    for i in range(size):
        stream, value = streams[i], values[i]
        bits += (
            small[stream, value] if value < SMALL else len_code(value, codes.kinds[stream], codes.parameters[stream])
        )
        if bits > limit:
            break
    return bits


@leaf
def total_bits(streams: Any, values: Any, size: Any, codes: Any, bits_of: Any) -> Any:
    """Add up the bits of a list of numbers, in all and by stream (into ``bits_of``)."""
    total = 0
    for i in range(size):
        stream = streams[i]
        bits = len_code(values[i], codes.kinds[stream], codes.parameters[stream])
        bits_of[stream] += bits
        total += bits
    return total


@leaf
def write_list(words: Any, position: Any, streams: Any, values: Any, start: Any, end: Any, codes: Any) -> Any:
    """Write numbers ``start`` … ``end``; return the next position."""
    for i in range(start, end):
        stream = streams[i]
        position = write_code(words, position, values[i], codes.kinds[stream], codes.parameters[stream])
    return position


@leaf
def write_lists(words: Any, position: Any, streams: Any, values: Any, ends: Any, codes: Any, positions: Any) -> Any:
    """Write list after list, noting the position after each; return the last."""
    start = 0
    for x in range(ends.size):
        position = write_list(words, position, streams, values, start, ends[x], codes)
        positions[x] = position
        start = ends[x]
    return position


@leaf
def pack(words: Any, values: Any, width: Any) -> None:
    """Write values of ``width`` bits each from the beginning."""
    position = 0
    for i in range(values.size):
        position = write_bits(words, position, values[i], width)


@leaf
def unpack(words: Any, width: Any, values: Any) -> None:
    """Read values of ``width`` bits each from the beginning."""
    position = 0
    for i in range(values.size):
        value, position = read_bits(words, position, width)
        values[i] = value
