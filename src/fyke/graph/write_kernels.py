"""Lists of successors in the BV form: each against its best reference, as numbers by stream (graph/kernels.py)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fyke.bits.codes import nat
from fyke.bits.coding import Codes
from fyke.bits.jit import kernel, leaf
from fyke.bits.lists import cost_of, put
from fyke.graph.kernels import BLOCK, BLOCK_COUNT, INTERVAL, OUTDEGREE, REFERENCE, RESIDUAL


class Form(NamedTuple):
    """How a graph is written."""

    codes: Codes
    small: NDArray[np.int64]
    """Lengths of small numbers by code (``bits.lists.len_table``)."""
    window: int
    max_chain: int
    """Below 0: no limit."""
    min_interval: int


@leaf
def describe(
    x: Any, r: Any, own: Any, ref: Any, window: Any, min_interval: Any, extra: Any, streams: Any, values: Any
) -> Any:
    """List the numbers of node x with successors ``own`` against ``ref``, r nodes earlier (0: none)."""
    at = put(streams, values, 0, OUTDEGREE, own.size)
    if own.size == 0:
        return at
    if window > 0:
        at = put(streams, values, at, REFERENCE, r)
    left = own.size
    if r > 0:
        at, left = _describe_blocks(own, ref, extra, streams, values, at)
    else:
        for i in range(own.size):
            extra[i] = own[i]
    if left > 0 and min_interval > 0:
        at, left = _describe_intervals(x, extra, left, min_interval, streams, values, at)
    for i in range(left):
        at = put(streams, values, at, RESIDUAL, nat(extra[0] - x) if i == 0 else extra[i] - extra[i - 1] - 1)
    return at


@leaf
def _describe_blocks(own: Any, ref: Any, extra: Any, streams: Any, values: Any, at: Any) -> Any:
    """List the copied and skipped blocks; put the other successors into ``extra``. Return (length, how many)."""
    number = at
    at = put(streams, values, at, BLOCK_COUNT, 0)
    i = j = run = others = 0
    copying = True
    while i < own.size and j < ref.size:
        if own[i] < ref[j]:
            extra[others] = own[i]
            others += 1
            i += 1
            continue
        if (own[i] == ref[j]) != copying:
            at = put(streams, values, at, BLOCK, run - (values[number] > 0))
            values[number] += 1
            copying = not copying
            run = 0
        i += copying
        j += 1
        run += 1
    if copying and j < ref.size:
        at = put(streams, values, at, BLOCK, run - (values[number] > 0))
        values[number] += 1
    while i < own.size:
        extra[others] = own[i]
        others += 1
        i += 1
    return at, others


@leaf
def _describe_intervals(x: Any, extra: Any, size: Any, shortest: Any, streams: Any, values: Any, at: Any) -> Any:
    """List the intervals among ``extra[:size]`` and leave the others in it. Return (length, how many)."""
    number = at
    at = put(streams, values, at, INTERVAL, 0)
    others = i = 0
    end = np.int64(0)
    while i < size:
        length = 1
        while i + length < size and extra[i + length] == extra[i] + length:
            length += 1
        if length >= shortest:
            at = put(streams, values, at, INTERVAL, nat(extra[i] - x) if values[number] == 0 else extra[i] - end - 1)
            at = put(streams, values, at, INTERVAL, length - shortest)
            end = extra[i] + length
            values[number] += 1
        else:
            for t in range(length):
                extra[others] = extra[i + t]
                others += 1
        i += length
    return at, others


@kernel
def describe_all(
    form: Any, first: Any, context: Any, starts: Any, successors: Any, chains: Any, references: Any, streams: Any,
    values: Any, ends: Any,
) -> Any:  # fmt: skip
    """List the numbers of the nodes after ``context``, each against its best reference; return how many.

    ``first`` is the number of the first node of the context. O(window · arcs).
    """
    codes, small, window, max_chain, min_interval = form
    room = 1
    for i in range(starts.size - 1):
        room = max(room, starts[i + 1] - starts[i])
    extra = np.empty(room, np.int64)
    trial_streams, trial_values = np.empty(3 * room + 8, np.int64), np.empty(3 * room + 8, np.int64)
    at = 0
    for i in range(context, starts.size - 1):
        own = successors[starts[i] : starts[i + 1]]
        x = first + i
        best = describe(x, 0, own, own, window, min_interval, extra, streams[at:], values[at:])
        cost = cost_of(streams[at:], values[at:], best, codes, small, 1 << 60)
        references[i] = chains[i] = 0
        for r in range(1, min(window, i) + 1 if own.size > 0 else 1):
            ref = successors[starts[i - r] : starts[i - r + 1]]
            if ref.size == 0 or (max_chain >= 0 and chains[i - r] >= max_chain):
                continue
            size = describe(x, r, own, ref, window, min_interval, extra, trial_streams, trial_values)
            trial = cost_of(trial_streams, trial_values, size, codes, small, cost)
            if trial < cost:
                cost = trial
                best = size
                streams[at : at + size] = trial_streams[:size]
                values[at : at + size] = trial_values[:size]
                references[i] = r
                chains[i] = chains[i - r] + 1
        at += best
        ends[i] = at
    return at
