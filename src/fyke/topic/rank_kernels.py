"""PageRank over what was crawled so far: records of links become numbered edges, and steps over these in sequence."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fyke.bits.jit import inlined, leaf
from fyke.topic.kernels import ZERO, find

HEAD = 5
"""Words of a record before its links: sequence, page, host, links to the own host, links to others."""
DEAD = -1
"""The page of an edge list that a later one of the same page has replaced."""
WAITING = -1
"""The outdegree of a page that is known and not fetched."""
PAGES, HOSTS = 0, 1


@inlined
def number_of(table: Any, numbers: Any, key: Any, counts: Any, which: Any, most: Any) -> Any:
    """Return the number of a key, the next one where it is new; −1 for key 0, and for a new one beyond ``most``.

    ``counts[which]`` is how many have numbers. They are kept plus 1, since 0 stands for none.
    """
    at = find(table, key)
    if table[at] == ZERO:
        if key == ZERO or counts[which] >= most:
            return np.int64(-1)
        table[at] = key
        counts[which] += 1
        numbers[at] = counts[which]
    return np.int64(numbers[at]) - 1


@inlined
def host_number(hosts: Any, numbers: Any, key: Any, counts: Any) -> Any:
    """Return the number of a host: every page has one, so a torn record's key 0 is one too."""
    return number_of(hosts, numbers, max(key, np.uint64(1)), counts, HOSTS, hosts.size)


@inlined
def end_of(words: Any, at: Any) -> Any:
    """Return where the record at ``at`` ends; −1 where it is not whole."""
    if at + HEAD > words.size:
        return -1
    own, others = words[at + 3], words[at + 4]
    if own > np.uint64(words.size) or others > np.uint64(words.size):
        return -1
    end = at + HEAD + np.int64(own) + 2 * np.int64(others)
    return end if end <= words.size else -1


@leaf
def whole_records(words: Any) -> Any:
    """Return (words of the whole records at the beginning, the sequence of the last one, 0 without any)."""
    at = np.int64(0)
    last = ZERO
    end = end_of(words, at)
    while end >= 0:
        last = words[at]
        at = end
        end = end_of(words, at)
    return at, last


class Numbers(NamedTuple):
    """Tables of the keys of pages and hosts, and their numbers."""

    pages: NDArray[np.uint64]
    page_numbers: NDArray[np.int32]
    hosts: NDArray[np.uint64]
    host_numbers: NDArray[np.int32]
    counts: NDArray[np.int64]
    """The PAGES and HOSTS numbered so far."""


class Edges(NamedTuple):
    """Of each page its outdegree, its host and where its edge list stands; the lists."""

    degrees: NDArray[np.int32]
    host_of: NDArray[np.int32]
    places: NDArray[np.int64]
    edges: NDArray[np.int32]


@leaf
def take_records(words: Any, numbers: Any, graph: Any, most: Any, used: Any) -> Any:
    """Number the pages of whole records and write their edges; return (words read, edges used).

    A record is HEAD words, its links to the own host, to others, and the hosts of these. An edge list is page, count,
    targets. Beyond ``most`` pages, what is new is left out.
    REQUIRES: room in both tables for every word, in ``edges`` for as many.
    """
    pages, page_numbers, hosts, host_numbers, counts = numbers
    degrees, host_of, places, edges = graph
    at = np.int64(0)
    end = end_of(words, at)
    met = counts[PAGES]
    while end >= 0:
        own, others = np.int64(words[at + 3]), np.int64(words[at + 4])
        host = host_number(hosts, host_numbers, words[at + 2], counts)
        page = number_of(pages, page_numbers, words[at + 1], counts, PAGES, most)
        if page >= 0:
            if page == met:
                met += 1
                host_of[page] = host
            elif degrees[page] != WAITING:
                edges[places[page]] = DEAD
            start = used
            used += 2
            for k in range(own + others):
                target = number_of(pages, page_numbers, words[at + HEAD + k], counts, PAGES, most)
                if target < 0:
                    continue
                if target == met:
                    met += 1
                    degrees[target] = WAITING
                    host_of[target] = host
                    if k >= own:
                        host_of[target] = host_number(hosts, host_numbers, words[at + HEAD + k + others], counts)
                edges[used] = target
                used += 1
            edges[start] = page
            edges[start + 1] = degrees[page] = used - start - 2
            places[page] = start
        at = end
        end = end_of(words, at)
    return at, used


@leaf
def step(
    edges: Any, degrees: Any, host_of: Any, linking: Any, owed: Any, damping: Any, ranks: Any, new: Any
) -> Any:  # fmt: skip
    """One step of PageRank from ``ranks`` to ``new``; return Σ|difference|.

    What the waiting pages of a host have is handed on by its fetched pages, in equal parts beside their own: pages of
    a host link alike. ``linking`` are the pages of each host with links; ``owed`` is scratch of that size.
    """
    owed[:] = 0.0
    lost = 0.0
    for x in range(ranks.size):
        new[x] = 0.0
        if degrees[x] == WAITING and linking[host_of[x]] > 0:
            owed[host_of[x]] += ranks[x]
        elif degrees[x] <= 0:
            lost += ranks[x]
    at = 0
    while at < edges.size:
        x, count = edges[at], edges[at + 1]
        at += 2
        if x != DEAD and count > 0:
            share = (ranks[x] + owed[host_of[x]] / linking[host_of[x]]) / count
            for k in range(at, at + count):
                new[edges[k]] += share
        at += count
    base = (damping * lost + 1.0 - damping) / ranks.size
    change = 0.0
    for x in range(ranks.size):
        new[x] = damping * new[x] + base
        change += abs(new[x] - ranks[x])
    return change


@leaf
def look_up(table: Any, values: Any, keys: Any, out: Any) -> None:
    """Write the value of each key that the table has; ``out`` stays as it is for others."""
    for k in range(keys.size):
        at = find(table, keys[k])
        if table[at] != ZERO:
            out[k] = values[at]
