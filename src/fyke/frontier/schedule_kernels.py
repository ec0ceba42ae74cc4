"""The queue of pages by due time, and the loops over many pages: a heap of (time, page) in arrays.

An entry whose time is not the page's ``due`` any more is dropped when it is popped, so that moving a page costs a push.
"""

from __future__ import annotations

from typing import Any

from fyke.bits.jit import kernel
from fyke.frontier.change_kernels import FEW, judge_page, observe, rate_of
from fyke.frontier.revisit_kernels import EARLY, NEVER, due_after, due_with_signals, look_again


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


@kernel
def take_due(
    times: Any, pages: Any, size: Any, due: Any, last: Any, rate: Any, weight: Any, signalled: Any, trust: Any,
    recall: Any, theta: Any, now: float, policy: int, gain: float, out: Any,
    judged: Any, facts: Any, counts: Any, sums: Any, host: Any, kind: Any, hosts: Any, kinds: Any, default: Any,
) -> int:  # fmt: skip
    """Pop what is to be looked at by ``now``; write the pages that are due to ``out``, put the others back.

    Each page taken raises the threshold ``theta[0]`` by the factor 1 + ``gain``, each put back is counted in
    ``theta[1]``. Returns how many were taken. ``facts`` and what follows are those of ``learn``: of a page that was
    seen little, its like may tell more than at its visit, or when it was ``judged`` at two thirds of its age.
    """
    found = 0
    while size[0] > 0 and times[0] <= now and found < len(out):
        time = times[0]
        page = pop(times, pages, size)
        if time != due[page]:
            continue
        t = now - last[page]
        if page < len(facts) and t >= 1.5 * judged[page] and facts[page, 2] < FEW:
            judged[page] = t
            groups = hosts[host[page]], kinds[kind[page]]
            rate[page] = rate_of(facts[page], counts[page], sums[page], rate[page], groups[0], groups[1], default)
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
def put_back(
    times: Any, pages: Any, size: Any, due: Any, last: Any, rate: Any, weight: Any, trust: Any, recall: Any,
    theta: Any, policy: int, judged: Any, which: Any,
) -> None:  # fmt: skip
    """Queue pages that were visited at ``last`` for their next look."""
    for i in range(len(which)):
        page = which[i]
        judged[page] = 0.0
        wait = due_after(policy, rate[page], EARLY * theta[0] / weight[page])
        if trust[page] * recall[page] > 0:
            wait = min(wait, 7.0)
        due[page] = last[page] + min(wait, 365.0)
        push(times, pages, size, due[page], page)


@kernel
def learn(
    which: Any, interval: Any, changed: Any, modified: Any, facts: Any, counts: Any, sums: Any, beliefs: Any,
    rate: Any, host: Any, kind: Any, hosts: Any, kinds: Any, default: Any,
) -> None:  # fmt: skip
    """Take in visits of the pages ``which``: their rates, and the priors of their hosts and types."""
    for i in range(len(which)):
        page = which[i]
        if interval[i] > 0:
            observe(facts[page], counts[page], sums[page], interval[i], changed[i], modified[i])
        groups = hosts[host[page]], kinds[kind[page]]
        rate[page] = judge_page(facts[page], counts[page], sums[page], beliefs[page], groups[0], groups[1], default)
