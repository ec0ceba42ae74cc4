"""The queue of pages by due time, and the loops over many pages: a heap of (time, page) in arrays.

An entry whose time is not the page's ``due`` any more is dropped when it is popped, so that moving a page costs a push.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fyke.bits.jit import kernel
from fyke.frontier.change_kernels import FEW, judge_page, observe, rate_of
from fyke.frontier.revisit_kernels import EARLY, NEVER, due_after, due_with_signals, look_again

Floats = NDArray[np.float64]


@kernel
def push(times: Any, pages: Any, size: Any, time: float, page: int) -> None:
    """Add an entry. REQUIRES: there is room."""
    i = size[0]
    size[0] = i + 1
    while i > 0:
        parent = (i - 1) >> 2
        if times[parent] <= time:
            break
        times[i], pages[i] = times[parent], pages[parent]
        i = parent
    times[i], pages[i] = time, page


@kernel
def pop(times: Any, pages: Any, size: Any) -> int:
    """Remove the first entry and return its page. REQUIRES: there is one."""
    first = pages[0]
    n = size[0] - 1
    size[0] = n
    time, page = times[n], pages[n]
    i = 0
    while True:
        child = 4 * i + 1
        if child >= n:
            break
        least = child
        for c in range(child + 1, min(child + 4, n)):
            if times[c] < times[least]:
                least = c
        if times[least] >= time:
            break
        times[i], pages[i] = times[least], pages[least]
        i = least
    times[i], pages[i] = time, page
    return int(first)


class Heap(NamedTuple):
    """Entries (time, page) and, in ``size[0]``, how many they are."""

    times: Floats
    pages: NDArray[np.int64]
    size: NDArray[np.int64]


class Looks(NamedTuple):
    """What a look reads of each page: columns of one table, so that a page is one line of the cache."""

    rate: Floats
    weight: Floats
    last: Floats
    due: Floats
    signalled: Floats
    trust: Floats
    recall: Floats
    judged: Floats


class Learnt(NamedTuple):
    """What visits taught of each page, its host and its kind (change_kernels); no rows where rates are known."""

    facts: Floats
    counts: NDArray[np.float32]
    sums: NDArray[np.float32]
    beliefs: Floats
    host: NDArray[np.int64]
    kind: NDArray[np.int64]
    hosts: Floats
    kinds: Floats
    default: Floats


@kernel
def take_due(heap: Any, looks: Any, learnt: Any, theta: Any, now: float, policy: int, gain: float, out: Any) -> int:
    """Pop what is to be looked at by ``now``; write the pages that are due to ``out``, put the others back.

    Each page taken raises the threshold ``theta[0]`` by the factor 1 + ``gain``, each put back is counted in
    ``theta[1]``. Returns how many were taken. Of a page that was seen little its like may tell more than at its visit,
    or when it was ``judged`` at two thirds of its age. O(log n) a page.
    """
    times, pages, size = heap
    rate, weight, last, due, signalled, trust, recall, judged = looks
    facts, counts, sums = learnt.facts, learnt.counts, learnt.sums
    found = 0
    while size[0] > 0 and times[0] <= now and found < len(out):
        time = times[0]
        page = pop(times, pages, size)
        if time != due[page]:
            continue
        t = now - last[page]
        if page < len(facts) and t >= 1.5 * judged[page] and facts[page, 2] < FEW:
            judged[page] = t
            host, kind = learnt.hosts[learnt.host[page]], learnt.kinds[learnt.kind[page]]
            rate[page] = rate_of(facts[page], counts[page], sums[page], rate[page], host, kind, learnt.default)
        if signalled[page] >= 0 or trust[page] * recall[page] > 0:
            at = signalled[page] - last[page] if signalled[page] >= 0 else -1.0
            when = due_with_signals(policy, rate[page], theta[0] / weight[page], at, trust[page], recall[page])
            again = 0.0 if when <= t else max(when if when < 1.2 * t else t + EARLY * (when - t), t * (1 + 1e-6))
        else:
            again = look_again(policy, rate[page], weight[page], t, theta[0])
        if again == 0.0:
            out[found] = page
            found += 1
            theta[0] *= 1 + gain
            continue
        theta[1] += 1
        if again >= NEVER:
            again = t * 2 + 1.0  # never, as the threshold stands: look again when it is twice as old
        due[page] = last[page] + again
        push(times, pages, size, due[page], page)
    return found


@kernel
def put_back(heap: Any, looks: Any, theta: Any, policy: int, which: Any) -> None:
    """Queue pages that were visited at ``last`` for their next look."""
    for i in range(len(which)):
        page = which[i]
        looks.judged[page] = 0.0
        wait = due_after(policy, looks.rate[page], EARLY * theta[0] / looks.weight[page])
        if looks.trust[page] * looks.recall[page] > 0:
            wait = min(wait, 7.0)
        looks.due[page] = looks.last[page] + min(wait, 365.0)
        push(heap.times, heap.pages, heap.size, looks.due[page], page)


@kernel
def learn(which: Any, interval: Any, changed: Any, modified: Any, rate: Any, learnt: Any) -> None:
    """Take in visits of the pages ``which``: their rates, and the priors of their hosts and types."""
    facts, counts, sums = learnt.facts, learnt.counts, learnt.sums
    for i in range(len(which)):
        page = which[i]
        if interval[i] > 0:
            observe(facts[page], counts[page], sums[page], interval[i], changed[i], modified[i])
        host, kind = learnt.hosts[learnt.host[page]], learnt.kinds[learnt.kind[page]]
        rate[page] = judge_page(facts[page], counts[page], sums[page], learnt.beliefs[page], host, kind, learnt.default)
