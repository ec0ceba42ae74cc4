"""Loops over the compressed graph: one pass in sequence for ranks, degrees and weak components, at random for searches.

Every pass returns −1, or the node whose list is damaged.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fyke.bits.jit import kernel, leaf
from fyke.bits.unionfind import join
from fyke.graph.kernels import read_next, read_successors


@kernel
def push_ranks(stream: Any, ranks: Any, received: Any, degrees: Any) -> Any:
    """Give each node's rank to its successors in equal shares; note outdegrees."""
    lists = np.empty((stream.window + 1, stream.room), np.int64)
    return _push_ranks(stream, ranks, received, degrees, lists, np.zeros(stream.window + 1, np.int64), lists[0].copy())


@leaf
def _push_ranks(stream: Any, ranks: Any, received: Any, degrees: Any, lists: Any, sizes: Any, extra: Any) -> Any:
    position = np.int64(0)
    for x in range(stream.nodes):
        position = read_next(stream, position, x, lists, sizes, extra)
        if position < 0:
            return x
        row = x % sizes.size
        degree = sizes[row]
        degrees[x] = degree
        if degree > 0:
            share = ranks[x] / degree
            for i in range(degree):
                received[lists[row, i]] += share
    return -1


@kernel
def hits_pass(stream: Any, hubs: Any, authorities: Any, forward: Any) -> Any:
    """Half an iteration: authorities from hubs (``forward``), or hubs from authorities."""
    lists = np.empty((stream.window + 1, stream.room), np.int64)
    sizes = np.zeros(stream.window + 1, np.int64)
    extra = np.empty(stream.room, np.int64)
    if forward:
        authorities[:] = 0.0
    position = np.int64(0)
    for x in range(stream.nodes):
        position = read_next(stream, position, x, lists, sizes, extra)
        if position < 0:
            return x
        row = x % sizes.size
        total = 0.0
        for i in range(sizes[row]):
            if forward:
                authorities[lists[row, i]] += hubs[x]
            else:
                total += authorities[lists[row, i]]
        if not forward:
            hubs[x] = total
    return -1


@kernel
def count_degrees(stream: Any, out_degrees: Any, in_degrees: Any, parents: Any) -> Any:
    """Count both degrees and join weak components."""
    lists = np.empty((stream.window + 1, stream.room), np.int64)
    sizes = np.zeros(stream.window + 1, np.int64)
    extra = np.empty(stream.room, np.int64)
    position = np.int64(0)
    for x in range(stream.nodes):
        position = read_next(stream, position, x, lists, sizes, extra)
        if position < 0:
            return x
        row = x % sizes.size
        out_degrees[x] = sizes[row]
        for i in range(sizes[row]):
            in_degrees[lists[row, i]] += 1
            join(parents, x, lists[row, i])
    return -1


@kernel
def breadth_first(stream: Any, order: Any, queued: Any, distances: Any) -> Any:
    """Search from ``order[:queued]``, whose distances are set; others are −1. Return (pages reached, −1 or node)."""
    lists = np.empty((2, stream.room), np.int64)
    extra = np.empty(stream.room, np.int64)
    chain = np.empty((stream.max_chain + 1, 3), np.int64)
    return _breadth_first(stream, order, queued, distances, lists, extra, chain)


@leaf
def _breadth_first(stream: Any, order: Any, queued: Any, distances: Any, lists: Any, extra: Any, chain: Any) -> Any:
    done = 0
    while done < queued:
        x = order[done]
        done += 1
        degree, row = read_successors(stream, x, lists, extra, chain)
        if degree < 0:
            return done, x
        for i in range(degree):
            successor = lists[row, i]
            if distances[successor] < 0:
                distances[successor] = distances[x] + 1
                order[queued] = successor
                queued += 1
    return done, np.int64(-1)


@kernel
def opic_pass(stream: Any, order: Any, cash: Any, history: Any) -> Any:
    """Visit nodes in ``order``: bank each one's cash, share it among its successors (among all where none)."""
    lists = np.empty((2, stream.room), np.int64)
    extra = np.empty(stream.room, np.int64)
    chain = np.empty((stream.max_chain + 1, 3), np.int64)
    spread = 0.0  # owed to every node alike by pages without links: the virtual page of the paper
    for x in order:
        degree, row = read_successors(stream, x, lists, extra, chain)
        if degree < 0:
            return x
        amount = cash[x] + spread
        history[x] += amount
        cash[x] = -spread
        if degree == 0:
            spread += amount / stream.nodes
        for i in range(degree):
            cash[lists[row, i]] += amount / degree
    for x in range(cash.size):
        cash[x] += spread
    return -1


@kernel
def strong_components(starts: Any, successors: Any, component: Any) -> Any:
    """Number strongly connected components (Tarjan, with an explicit stack); return how many."""
    nodes = component.size
    index = np.full(nodes, -1, np.int64)
    lowest = np.zeros(nodes, np.int64)
    stack, path, next_arc = np.empty(nodes, np.int64), np.empty(nodes, np.int64), starts[:-1].copy()
    height = found = clock = 0
    component[:] = -1
    for start in range(nodes):
        if index[start] >= 0:
            continue
        path[0] = start
        depth = 1
        while depth > 0:
            x = path[depth - 1]
            if index[x] < 0:
                index[x] = lowest[x] = clock
                clock += 1
                stack[height] = x
                height += 1
            descended = False
            while next_arc[x] < starts[x + 1]:
                y = successors[next_arc[x]]
                next_arc[x] += 1
                if index[y] < 0:
                    path[depth] = y
                    depth += 1
                    descended = True
                    break
                if component[y] < 0:
                    lowest[x] = min(lowest[x], index[y])
            if descended:
                continue
            depth -= 1
            if depth > 0:
                lowest[path[depth - 1]] = min(lowest[path[depth - 1]], lowest[x])
            if lowest[x] == index[x]:
                while True:
                    height -= 1
                    component[stack[height]] = found
                    if stack[height] == x:
                        break
                found += 1
    return found
