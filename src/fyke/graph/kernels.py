"""The BV form of a list of successors, read in sequence or at random; graph/write_kernels.py writes it.

A node x with successors S is, each number by the code of its stream::

    OUTDEGREE |S|                                    nothing more where it is 0
    REFERENCE r                                      absent where the window is 0; r > 0: parts of x−r's list are copied
      BLOCK_COUNT b   BLOCK b₀, b₁−1, b₂−1, …        r > 0: runs copied and skipped by turns, the last one implied
    INTERVAL n                                       where successors remain and intervals are in use: runs of at
      INTERVAL ν(l₀−x), len₀−min, l₁−end₀−1, …       least min consecutive numbers, left end and length by turns
    RESIDUAL ν(s₀−x), s₁−s₀−1, …                     all that remain

Readers stay within their arrays on any bits: a list that does not fit is reported as damage (−1).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fyke.bits.codes import integer
from fyke.bits.coding import Codes, read, take
from fyke.bits.eliasfano import select
from fyke.bits.jit import inlined, kernel, leaf
from fyke.bits.stream import Words

MAX_GAP = 1 << 40
"""No gap of a graph is larger: sums of damaged ones stay far from the end of 64 bits."""
STREAMS = ("outdegrees", "references", "block_count", "blocks", "intervals", "residuals")
OUTDEGREE, REFERENCE, BLOCK_COUNT, BLOCK, INTERVAL, RESIDUAL = range(6)


class Stream(NamedTuple):
    """A graph as kernels take it."""

    words: Words
    codes: Codes
    nodes: int
    window: int
    min_interval: int
    """0: no intervals."""
    room: int
    """The largest outdegree."""
    max_chain: int
    low: Words
    high: Words
    ones: NDArray[np.int64]
    low_width: int


@inlined
def merge_into(out: Any, size: Any, more: Any, count: Any) -> None:
    """Merge the sorted ``more[:count]`` into the sorted ``out[:size]``, from the end."""
    i = size - 1
    j = count - 1
    while j >= 0:
        if i >= 0 and out[i] > more[j]:
            out[i + j + 1] = out[i]
            i -= 1
        else:
            out[i + j + 1] = more[j]
            j -= 1


@inlined
def _copy_blocks(stream: Any, position: Any, buffer: Any, left: Any, ref: Any, out: Any) -> Any:
    """Copy what the blocks say of ``ref``; return (how many, cursor)."""
    words, codes, ref_size = stream.words, stream.codes, ref.size
    blocks, position, buffer, left = take(words, position, buffer, left, codes, BLOCK_COUNT)
    size = j = i = 0
    while i <= blocks and j < ref_size:
        run = ref_size - j
        if i < blocks:
            block, position, buffer, left = take(words, position, buffer, left, codes, BLOCK)
            run = min(run, block + (i > 0))
        if i & 1 == 0:
            run = min(run, out.size - size)
            for t in range(run):
                out[size + t] = ref[j + t]
            size += run
        j += run
        i += 1
    # Blocks after the end of the reference copy nothing, but stand in the stream of a damaged or odd writer.
    while i < blocks and i < ref_size + 2:
        _, position, buffer, left = take(words, position, buffer, left, codes, BLOCK)
        i += 1
    return size, position, buffer, left


@inlined
def read_node(
    stream: Any, position: Any, buffer: Any, left: Any, x: Any, degree: Any, copying: Any, ref: Any, out: Any,
    extra: Any,
) -> Any:  # fmt: skip
    """Read what follows the reference of node x into ``out``; return the cursor, at position −1 for damage."""
    words, codes, min_interval = stream.words, stream.codes, stream.min_interval
    size = np.int64(0)
    if copying:
        size, position, buffer, left = _copy_blocks(stream, position, buffer, left, ref, out)
    rest = degree - size
    if rest > 0 and min_interval > 0:
        intervals, position, buffer, left = take(words, position, buffer, left, codes, INTERVAL)
        end = np.int64(0)
        count = np.int64(0)
        for i in range(intervals):
            start, position, buffer, left = take(words, position, buffer, left, codes, INTERVAL)
            length, position, buffer, left = take(words, position, buffer, left, codes, INTERVAL)
            start = min(start, MAX_GAP)
            start = integer(start) + x if i == 0 else start + end + 1
            if length > rest - count - min_interval:
                return np.int64(-1), buffer, left
            length += min_interval
            for t in range(length):
                extra[count + t] = start + t
            count += length
            end = start + length
        if count > 0:
            merge_into(out, size, extra, count)
            size += count
            rest -= count
    if rest > 0:
        # Residuals go straight to their place where nothing else is there.
        target = out if size == 0 else extra
        gap, position, buffer, left = take(words, position, buffer, left, codes, RESIDUAL)
        last = x + integer(min(gap, MAX_GAP))
        target[0] = last
        for i in range(1, rest):
            gap, position, buffer, left = take(words, position, buffer, left, codes, RESIDUAL)
            last += min(gap, MAX_GAP) + 1
            target[i] = last
        if size > 0:
            merge_into(out, size, extra, rest)
    if rest < 0:
        position = np.int64(-1)
    return position, buffer, left


@leaf
def read_next(stream: Any, position: Any, x: Any, lists: Any, sizes: Any, extra: Any) -> Any:
    """Read node x in sequence; return the next position, or −1 for damage.

    The list is ``lists[x % rows, :sizes[x % rows]]``; REQUIRES: rows > window, and the nodes before x are there.
    """
    rows = sizes.size
    row = x % rows
    words, codes = stream.words, stream.codes
    degree, position, buffer, left = take(words, position, np.uint64(0), np.int64(0), codes, OUTDEGREE)
    if degree > stream.room:
        return np.int64(-1)
    sizes[row] = degree
    if degree == 0:
        return position
    reference = np.int64(0)
    if stream.window > 0:
        reference, position, buffer, left = take(words, position, buffer, left, codes, REFERENCE)
        if reference > min(stream.window, x):
            return np.int64(-1)
    ref = (x - reference) % rows
    position, _, _ = read_node(
        stream, position, buffer, left, x, degree, reference > 0, lists[ref][: sizes[ref]], lists[row], extra
    )
    if lists[row, 0] < 0 or lists[row, degree - 1] >= stream.nodes:
        return np.int64(-1)
    return position


@leaf
def read_successors(stream: Any, x: Any, lists: Any, extra: Any, chain: Any) -> Any:
    """Read node x at random into a row of ``lists`` (two rows); return (outdegree or −1 for damage, row).

    ``chain`` is room for (node, position after the reference, outdegree) of each list on the chain.
    """
    words, codes = stream.words, stream.codes
    depth = 0
    node = x
    while True:
        position = select(stream.low, stream.high, stream.ones, stream.low_width, node)
        degree, position, buffer, left = take(words, position, np.uint64(0), np.int64(0), codes, OUTDEGREE)
        reference = np.int64(0)
        if degree > 0 and stream.window > 0:
            reference, position, _, _ = take(words, position, buffer, left, codes, REFERENCE)
        if degree > stream.room or reference > min(stream.window, node) or depth == chain.shape[0]:
            return np.int64(-1), 0
        chain[depth, 0] = node
        chain[depth, 1] = position
        chain[depth, 2] = degree
        depth += 1
        if reference == 0:
            break
        node -= reference
    row = 0
    size = np.int64(0)
    for i in range(depth - 1, -1, -1):
        row = 1 - row
        degree = chain[i, 2]
        if degree > 0:
            after, _, _ = read_node(
                stream, chain[i, 1], np.uint64(0), np.int64(0), chain[i, 0], degree, i < depth - 1,
                lists[1 - row][:size], lists[row], extra,
            )  # fmt: skip
            if after < 0:
                return np.int64(-1), row
        size = degree
    if size > 0 and (lists[row, 0] < 0 or lists[row, size - 1] >= stream.nodes):
        size = np.int64(-1)
    return size, row


@kernel
def largest_outdegree(stream: Any) -> Any:
    """Return the largest outdegree, by the offsets."""
    largest = np.int64(0)
    for x in range(stream.nodes):
        position = select(stream.low, stream.high, stream.ones, stream.low_width, x)
        degree, _ = read(stream.words, position, stream.codes, OUTDEGREE)
        largest = max(largest, degree)
    return largest


@leaf
def read_all(stream: Any, starts: Any, successors: Any, offsets: Any, extra: Any) -> Any:
    """Read the whole graph in sequence; return −1, or the damaged node.

    ``offsets`` gets n + 1 bit positions; ``extra`` is room for the largest list.
    """
    words, codes = stream.words, stream.codes
    position = at = left = np.int64(0)
    buffer = np.uint64(0)
    for x in range(stream.nodes):
        offsets[x] = position
        starts[x] = at
        degree, position, buffer, left = take(words, position, buffer, left, codes, OUTDEGREE)
        if degree > min(successors.size - at, extra.size) or position > words.size << 6:
            return x
        if degree == 0:
            continue
        reference = np.int64(0)
        if stream.window > 0:
            reference, position, buffer, left = take(words, position, buffer, left, codes, REFERENCE)
            if reference > min(stream.window, x):
                return x
        begin = starts[x - reference]
        end = starts[x - reference + 1] if reference > 0 else begin
        position, buffer, left = read_node(
            stream, position, buffer, left, x, degree, reference > 0, successors[begin:end],
            successors[at : at + degree], extra,
        )  # fmt: skip
        if position < 0 or successors[at] < 0 or successors[at + degree - 1] >= stream.nodes:
            return x
        at += degree
        starts[x + 1] = at
    offsets[stream.nodes] = position
    starts[stream.nodes] = at
    return -1


@kernel
def read_nodes(stream: Any, nodes: Any, first: Any, starts: Any, successors: Any) -> Any:
    """Read the successors of ``nodes`` from number ``first`` on, while they fit.

    Return how many of ``nodes`` are done, or −1 − the number of the damaged one. REQUIRES: starts[first] is set.
    """
    lists = np.empty((2, stream.room), np.int64)
    extra = np.empty(stream.room, np.int64)
    chain = np.empty((stream.max_chain + 1, 3), np.int64)
    at = starts[first]
    for i in range(first, nodes.size):
        if at + stream.room > successors.size:
            return i
        degree, row = read_successors(stream, nodes[i], lists, extra, chain)
        if degree < 0:
            return -1 - i
        for t in range(degree):
            successors[at + t] = lists[row, t]
        at += degree
        starts[i + 1] = at
    return nodes.size
