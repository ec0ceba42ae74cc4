"""The virtual frontier's loops: a heap of waiting pages, the discovery of links, and Kendall's τ.

A page is UNKNOWN, then WAITING (discovered), then DONE. The heap holds (score, birth, page), highest score first,
ties by birth; an entry whose score is no longer the page's, or whose page is DONE, is stale and dropped when met.
Where scores never change a page has one entry, and ``current`` and ``mark`` are empty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fyke.bits.jit import inlined, kernel, leaf
from fyke.graph.graph import read_successors

UNKNOWN, WAITING, DONE = 0, 1, 2


class Heap(NamedTuple):
    """Entries, as many as the caller says."""

    scores: NDArray[np.float64]
    births: NDArray[np.int32]
    pages: NDArray[np.int32]


class Pages(NamedTuple):
    """What is known of each page."""

    state: NDArray[np.int8]
    depth: NDArray[np.int32]
    inlinks: NDArray[np.int32]
    signal: NDArray[np.float32]
    births: NDArray[np.int32]


@inlined
def _before(scores: Any, births: Any, a: Any, b: Any) -> Any:
    return scores[a] > scores[b] or (scores[a] == scores[b] and births[a] < births[b])


@inlined
def _add(scores: Any, births: Any, pages: Any, size: Any, score: Any, birth: Any, page: Any) -> None:
    """Add an entry to a heap of ``size``. REQUIRES: there is room."""
    at = size
    while at > 0:
        up = (at - 1) >> 1
        if scores[up] > score or (scores[up] == score and births[up] <= birth):
            break
        scores[at], births[at], pages[at] = scores[up], births[up], pages[up]
        at = up
    scores[at], births[at], pages[at] = score, birth, page


@leaf
def push(scores: Any, births: Any, pages: Any, size: Any, new_scores: Any, new_births: Any, new_pages: Any) -> Any:
    """Add entries to the heap; return its new size. REQUIRES: there is room."""
    for k in range(new_pages.size):
        _add(scores, births, pages, size, new_scores[k], new_births[k], new_pages[k])
        size += 1
    return size


@leaf
def pop(scores: Any, births: Any, pages: Any, size: Any, state: Any, current: Any, out: Any) -> Any:
    """Take up to ``out.size`` live pages off the heap, which become DONE; return (how many, new size)."""
    taken = 0
    while taken < out.size and size > 0:
        page, score = pages[0], scores[0]
        size -= 1
        last_score, last_birth, last_page = scores[size], births[size], pages[size]
        at = 0
        while 2 * at + 1 < size:
            child = 2 * at + 1
            if child + 1 < size and _before(scores, births, child + 1, child):
                child += 1
            if last_score > scores[child] or (last_score == scores[child] and last_birth <= births[child]):
                break
            scores[at], births[at], pages[at] = scores[child], births[child], pages[child]
            at = child
        scores[at], births[at], pages[at] = last_score, last_birth, last_page
        if state[page] == WAITING and (current.size == 0 or current[page] == score):
            state[page] = DONE
            out[taken] = page
            taken += 1
    return taken, size


@inlined
def _meet(x: Any, y: Any, given: Any, add: Any, pages: Any, born: Any) -> Any:
    """Note a link from x to y, which is not DONE, and what it gives; return (whether y is new, births so far)."""
    state, depth, inlinks, signal, births = pages
    inlinks[y] += 1
    new = state[y] == UNKNOWN
    if new:
        state[y] = WAITING
        depth[y] = depth[x] + 1
        births[y] = born
        born += 1
    elif depth[x] + 1 < depth[y]:
        depth[y] = depth[x] + 1
    if add:
        signal[y] += given
    elif given > signal[y] or new:
        signal[y] = given
    return new, born


@leaf
def discover(
    fetched: Any, starts: Any, successors: Any, pages: Any, born: Any, given: Any, add: Any, touched: Any, mark: Any,
    stamp: Any,
) -> Any:  # fmt: skip
    """Follow the links of fetched pages; return (pages touched, births so far).

    Page x gives ``given[x]`` to each page it links to: added up where ``add``, else the greatest counts. Touched are
    new pages and, where scores change (``mark`` is not empty), waiting ones that gained a link; each once (``stamp``).
    """
    changing = mark.size > 0
    count = 0
    for i in range(fetched.size):
        x = fetched[i]
        for j in range(starts[i], starts[i + 1]):
            y = successors[j]
            if pages.state[y] == DONE:
                continue
            new, born = _meet(x, y, given[i], add, pages, born)
            if new or (changing and mark[y] != stamp):
                if changing:
                    mark[y] = stamp
                touched[count] = y
                count += 1
    return count, born


@kernel
def follow_signal(
    stream: Any, heap: Any, size: Any, pages: Any, born: Any, current: Any, relevance: Any, failing: Any, order: Any
) -> Any:
    """Crawl one page at a time by the highest signal: pop, fetch and discover without leaving the kernel.

    A page gives its relevance, of which the greatest counts, or (``relevance`` empty) its signal in equal shares, added
    up. Return (pages tried, pages fetched, heap size, births): all of ``order`` are fetched, nothing waits, the heap
    wants to grow, or (−1) a list is damaged.
    """
    state, signal = pages.state, pages.signal
    scores, births, numbers = heap
    lists = np.empty((2, stream.room), np.int64)
    extra = np.empty(stream.room, np.int64)
    chain = np.empty((stream.max_chain + 1, 3), np.int64)
    out = np.empty(1, np.int64)
    tried = fetched = 0
    while tried < order.size and size + stream.room <= scores.size:
        taken, size = pop(scores, births, numbers, size, state, current, out)
        if taken == 0:
            break
        x = out[0]
        tried += 1
        if failing.size > 0 and failing[x]:
            continue
        order[fetched] = x
        fetched += 1
        degree, row = read_successors(stream, x, lists, extra, chain)
        if degree < 0:
            return -1, x, size, born
        given = relevance[x] if relevance.size > 0 else np.float32(signal[x] / max(degree, 1))
        for j in range(degree):
            y = lists[row, j]
            if state[y] == DONE:
                continue
            _, born = _meet(x, y, given, relevance.size == 0, pages, born)
            score = np.float64(signal[y])
            if score != current[y]:
                current[y] = score
                _add(scores, births, numbers, size, score, pages.births[y], y)
                size += 1
    return tried, fetched, size, born


@kernel
def raise_signals(targets: Any, found: Any, signal: Any, row: Any, rows: Any) -> Any:
    """Raise each target's signal to what was found, and note the link that did; return which links did at last."""
    better = np.zeros(targets.size, np.bool_)
    for k in range(targets.size):
        y = targets[k]
        if found[k] > signal[y] or row[y] < 0:
            signal[y] = found[k]
            row[y] = rows[k]
            better[k] = True
    return better


@leaf
def change_sites(hosts: Any, first: Any, last: Any, waiting: Any, following: Any, left: Any, came: Any) -> None:
    """Take each page of ``left`` off the front of its site's queue; put each of ``came`` at the end."""
    for i in range(left.size):
        host = hosts[left[i]]
        first[host] = following[left[i]]
        waiting[host] -= 1
        if waiting[host] == 0:
            first[host] = last[host] = -1
    for i in range(came.size):
        page = came[i]
        host = hosts[page]
        if waiting[host] == 0:
            first[host] = page
        else:
            following[last[host]] = page
        last[host] = page
        waiting[host] += 1


@kernel
def discordant(order: Any) -> Any:
    """Return the number of pairs i < j with order[i] > order[j], by merge sort."""
    values = order.copy()
    spare = np.empty_like(values)
    count = 0
    width = 1
    while width < values.size:
        for left in range(0, values.size, 2 * width):
            middle, right = min(left + width, values.size), min(left + 2 * width, values.size)
            i, j = left, middle
            for k in range(left, right):
                if j >= right or (i < middle and values[i] <= values[j]):
                    spare[k] = values[i]
                    i += 1
                else:
                    spare[k] = values[j]
                    count += middle - i
                    j += 1
        values, spare = spare, values
        width *= 2
    return count
