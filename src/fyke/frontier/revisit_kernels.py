"""Freshness in numbers: age, crawl values, when they pass a threshold, rates from visits, and the queue of due pages.

Changes are a Poisson process of rate λ a day, times are days, x = λt. With the copy t days old ::

    freshness  F(λ, t) = e^(−x)                          the chance that the copy is still right
    age        A(λ, t) = t − (1 − e^(−x))/λ              expected days since it ceased to be
    value      V(λ, t) = t·c(t) − ∫₀ᵗ c(s) ds            of a visit now, c = A or 1 − F: what it costs a day to wait
               age:       t²/2 + (t/λ)e^(−x) − (1 − e^(−x))/λ²  = h(x)/λ²,   h(x) = x²/2 + x·e^(−x) − (1 − e^(−x))
               freshness: 1/λ − (t + 1/λ)e^(−x)                 = f(x)/λ,    f(x) = 1 − (1 + x)e^(−x)

V grows with t. Where visits cost θ each, the best time for one is V = θ (renewal reward: then c(t) equals the mean
cost of a cycle), so one threshold for all pages spends a budget best (Cho and Garcia-Molina 2003; Olston and Pandey
2008; Azar et al. 2018). f ≤ 1: a page of λ > w/θ is never worth a visit for freshness; h has no bound. Below
``SMALL`` the series replace differences of nearly equal numbers.
"""

from __future__ import annotations

import math

import numpy as np

from fyke.bits.jit import kernel

UNIFORM, PROPORTIONAL, FRESHNESS, AGE = 0, 1, 2, 3
SMALL = 0.02
NEVER = 1e12
"""Days: later than anything."""
BINS = 14
"""Powers of four of a second: from one to eight years."""
MEMORY = 96.0
"""Visits after which old ones count half: rates drift."""
EARLY, LATE = 0.5, 0.9
"""A page is looked at again when its value passes this part of the threshold, so that the threshold may fall."""
PSEUDO = 10.0
"""Pages' worth of the wider group's evidence in a narrower one's prior."""


@kernel
def age(rate: float, t: float) -> float:
    """Return A(λ, t) in days."""
    x = rate * t
    if x < SMALL:
        return t * x * (0.5 - x * (1 / 6 - x * (1 / 24 - x / 120)))
    return t + math.expm1(-x) / rate


@kernel
def _h(x: float) -> float:
    if x < SMALL:
        return x * x * x * (1 / 3 - x * (1 / 8 - x * (1 / 30 - x / 144)))
    return x * x / 2 + x * math.exp(-x) + math.expm1(-x)


@kernel
def _f(x: float) -> float:
    if x < SMALL:
        return x * x * (1 / 2 - x * (1 / 3 - x * (1 / 8 - x / 30)))
    return -math.expm1(-x) - x * math.exp(-x)


@kernel
def value(policy: int, rate: float, t: float) -> float:
    """Return what a visit is worth now. REQUIRES: rate ≥ 0, t ≥ 0."""
    if policy == UNIFORM:
        return t
    if policy == PROPORTIONAL:
        return rate * t
    if rate <= 0:
        return 0.0
    x = rate * t
    return _f(x) / rate if policy == FRESHNESS else _h(x) / (rate * rate)


@kernel
def _solve_h(y: float) -> float:
    """Return x with h(x) = y. h is convex and h ≤ x³/3, x²/2: Newton comes from the right, and falls."""
    x = max((3 * y) ** (1 / 3), math.sqrt(2 * y))
    for _ in range(40):
        step = (_h(x) - y) / (-x * math.expm1(-x))
        x -= step
        if abs(step) <= 1e-10 * x:
            break
    return x


@kernel
def _solve_f(y: float) -> float:
    """Return x with f(x) = y < 1, by Newton inside a bracket."""
    low, high = 0.0, 2.0
    while _f(high) < y and high < 700:
        low, high = high, 2 * high
    x = min(max(math.sqrt(2 * y), low), high)
    for _ in range(80):
        error = _f(x) - y
        if error > 0:
            high = x
        else:
            low = x
        slope = x * math.exp(-x)
        nearer = x - error / slope if slope > 0 else low
        if not low < nearer < high:
            nearer = (low + high) / 2
        if abs(nearer - x) <= 1e-10 * x:
            return nearer
        x = nearer
    return x


@kernel
def due_after(policy: int, rate: float, threshold: float) -> float:
    """Return the t at which the value reaches ``threshold``; NEVER where it never does."""
    if policy == UNIFORM:
        return threshold
    if rate <= 0:
        return NEVER
    if policy == PROPORTIONAL:
        return min(threshold / rate, NEVER)
    if policy == FRESHNESS:
        y = threshold * rate
        return NEVER if y >= 1 else min(_solve_f(y) / rate, NEVER)
    return min(_solve_h(threshold * rate * rate) / rate, NEVER)


@kernel
def cost(policy: int, rate: float, t: float, since: float, trust: float) -> float:
    """Return what the copy costs a day now, where a signal of that ``trust`` said ``since`` days ago that it changed.

    ``since`` below 0: no signal. Age in days; or the chance that the copy is stale.
    """
    if policy == FRESHNESS:
        stale = -math.expm1(-rate * t)
        return stale if since < 0 else trust + (1 - trust) * stale
    old = age(rate, t)
    return old if since < 0 else max(old, trust * since + (1 - trust) * old)


@kernel
def tolerated(policy: int, rate: float, threshold: float, quality: float) -> float:
    """Return the cost at which a visit is due where signals of ``quality`` (trust × recall) come for the page.

    Without signals it is the cost when V = θ. With perfect ones a cycle waits 1/λ for the signal and d after it, and
    costs d²/2 + θ (age) or θ (freshness): the best mean cost g has g²/2 + g/λ = θ, or g = λθ.
    """
    alone = due_after(policy, rate, threshold)
    without = cost(policy, rate, alone, -1.0, 0.0) if alone < NEVER else (1.0 if policy == FRESHNESS else NEVER)
    if quality <= 0:
        return without
    if policy == FRESHNESS:
        told = min(rate * threshold, 1.0)
    else:
        told = 2 * threshold / (1 / rate + math.sqrt(1 / (rate * rate) + 2 * threshold))
    return quality * told + (1 - quality) * without


@kernel
def due_with_signals(
    policy: int, rate: float, threshold: float, signalled: float, trust: float, recall: float
) -> float:
    """Return the t at which a visit is due where the page's host gives signals; ``signalled`` is t of the last or −1.

    A change that no signal told is at λ(1 − trust × recall).
    """
    if rate <= 0:
        return NEVER
    quality = trust * recall
    wanted = tolerated(policy, rate, threshold, quality)
    quiet = rate * (1 - quality)
    low, high = 0.0, max(signalled, 1e-3)
    since = -1.0
    while high < NEVER:
        since = high - signalled if signalled >= 0 else -1.0
        if cost(policy, quiet, high, since, trust) >= wanted:
            break
        low, high = high, 2 * high
    if high >= NEVER:
        return NEVER
    for _ in range(40):
        middle = (low + high) / 2
        since = middle - signalled if 0 <= signalled <= middle else -1.0
        if cost(policy, quiet, middle, since, trust) >= wanted:
            high = middle
        else:
            low = middle
        if high - low <= 1e-6 * high:
            break
    return high


# ---- rates


@kernel
def bin_of(interval: float) -> int:
    """Return the bin of an interval in days."""
    seconds = interval * 86400.0
    return 0 if seconds <= 1 else min(int(math.log2(seconds) / 2), BINS - 1)


@kernel
def observe(facts, counts, sums, interval: float, changed: bool, modified: float) -> None:  # type: ignore[no-untyped-def]
    """Count a visit after ``interval`` days into ``facts`` (events, exposure, visits) and the bins of changes.

    ``modified``: how long ago the last change was, where that is known and believed, else −1. Then the change is an
    event that was seen, with the quiet since as exposure; else all that is known is that there was one in the interval.
    """
    if facts[2] >= MEMORY:
        for i in range(3):
            facts[i] *= 0.5
        for i in range(BINS):
            counts[i] *= 0.5
            sums[i] *= 0.5
    facts[2] += 1
    if not changed:
        facts[1] += interval
    elif modified >= 0:
        facts[0] += 1
        facts[1] += modified
    else:
        b = bin_of(interval)
        counts[b] += 1
        sums[b] += interval


@kernel
def estimate(shape: float, span: float, facts, counts, sums) -> tuple[float, float]:  # type: ignore[no-untyped-def]
    """Return (λ, a): the most likely rate in log λ under a Gamma(``shape``, ``span``) prior, and its precision.

    The root of  a₀ + events − (b₀ + exposure)λ + Σ cᵢ·φ(λtᵢ),  φ(x) = x/(e^x − 1): decreasing and convex in λ, so
    Newton from the left end of the bracket rises to it. Near the root the posterior is Gamma(a, a/λ).
    """
    known, exposed = shape + facts[0], span + facts[1]
    rate = known / exposed
    precision = known
    for _ in range(60):
        error, slope, precision = known - exposed * rate, -exposed, exposed * rate
        for i in range(BINS):
            if counts[i] > 0:
                t = sums[i] / counts[i]
                x = rate * t
                if x < 1e-4:
                    phi, falling = 1 - x / 2 + x * x / 12, -0.5 + x / 6
                elif x > 500:
                    phi, falling = 0.0, 0.0
                else:
                    e = math.expm1(x)
                    phi = x / e
                    falling = (e - x * (e + 1)) / (e * e)
                error += counts[i] * phi
                slope += counts[i] * t * falling
                precision -= counts[i] * x * falling
        step = -error / slope
        rate += step
        if abs(step) <= 1e-7 * rate:
            break
    return rate, precision


@kernel
def stillness(shape: float, span: float, share: float, facts, counts) -> float:  # type: ignore[no-untyped-def]
    """Return the chance that a page never changes, where ``share`` of its group's pages do not.

    One that was seen to change does. Of the others, P(no change in the exposure U) = (b/(b + U))^a if it can change.
    """
    if facts[0] > 0:
        return 0.0
    for i in range(BINS):
        if counts[i] > 0:
            return 0.0
    quiet = (span / (span + facts[1])) ** shape
    return share / (share + (1 - share) * quiet)


@kernel
def fit(n: float, total: float, logs: float) -> tuple[float, float]:
    """Return the Gamma (shape, span) of n rates with sum ``total`` and sum of logarithms ``logs``."""
    mean = total / n
    s = max(math.log(mean) - logs / n, 0.01)
    shape = (3 - s + math.sqrt((s - 3) * (s - 3) + 24 * s)) / (12 * s)
    shape = min(max(shape, 0.1), 50.0)
    return shape, shape / mean


@kernel
def blend(narrow, wide, default) -> tuple[float, float, float]:  # type: ignore[no-untyped-def]
    """Return (shape, span, share of still pages) for a page: its host's, with ``PSEUDO`` pages' worth of its type's.

    A type's own sums have as much of the default's in them.
    """
    mixed = np.empty(4)
    pages = PSEUDO / (default[0] + default[3])
    for i in range(4):
        mixed[i] = wide[i] + default[i] * pages
    pages = PSEUDO / (mixed[0] + mixed[3])
    for i in range(4):
        mixed[i] = narrow[i] + mixed[i] * pages
    shape, span = fit(mixed[0], mixed[1], mixed[2])
    return shape, span, mixed[3] / (mixed[0] + mixed[3])


@kernel
def count_in(group, sign: float, rate: float, precision: float, still: float) -> None:  # type: ignore[no-untyped-def]
    """Count a page in (``sign`` 1) or out (−1) of a group's sums: pages that change, rates, E log λ, still pages."""
    moving = sign * (1 - still)
    group[0] += moving
    group[1] += moving * rate
    group[2] += moving * (math.log(rate) - 0.5 / precision)
    group[3] += sign * still


@kernel
def judge_page(facts, counts, sums, belief, narrow, wide, default) -> float:  # type: ignore[no-untyped-def]
    """Estimate a page anew, and count it in its groups as it is now; return its rate.

    ``belief`` is (λ if it changes, precision, chance that it does not); precision 0: not counted yet.
    """
    shape, span, share = blend(narrow, wide, default)
    rate, precision = estimate(shape, span, facts, counts, sums)
    still = stillness(shape, span, share, facts, counts)
    if facts[2] > 0:
        if belief[1] > 0:
            count_in(narrow, -1.0, belief[0], belief[1], belief[2])
            count_in(wide, -1.0, belief[0], belief[1], belief[2])
        count_in(narrow, 1.0, rate, precision, still)
        count_in(wide, 1.0, rate, precision, still)
        belief[0], belief[1], belief[2] = rate, precision, still
    return rate * (1 - still)


# ---- the queue: a heap of (time, page); an entry whose time is not the page's ``due`` any more is dropped when popped


@kernel
def push(times, pages, size, time: float, page: int) -> None:  # type: ignore[no-untyped-def]
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
def pop(times, pages, size) -> int:  # type: ignore[no-untyped-def]
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
def look_again(policy: int, rate: float, weight: float, t: float, threshold: float) -> float:
    """Return 0 where a visit is due at age t, else the age at which to look again: no later than it is due.

    The threshold may fall by half before that is too late; nearer to it the look is nearer too.
    """
    now = weight * value(policy, rate, t)
    if now >= threshold * (1 - 1e-9):
        return 0.0
    part = EARLY if now < 0.45 * threshold else (LATE if now < 0.8 * threshold else 1.0)
    return max(due_after(policy, rate, part * threshold / weight), t * (1 + 1e-6))


@kernel
def take_due(times, pages, size, due, last, rate, weight, signalled, trust, recall, theta, now, policy, gain, out) -> int:  # type: ignore[no-untyped-def]  # fmt: skip
    """Pop what is to be looked at by ``now``; write the pages that are due to ``out``, put the others back.

    Each page taken raises the threshold ``theta[0]`` by the factor 1 + ``gain``. Returns how many there are.
    """
    found = 0
    while size[0] > 0 and times[0] <= now and found < len(out):
        time = times[0]
        page = pop(times, pages, size)
        if time != due[page]:
            continue
        t = now - last[page]
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
        elif again < NEVER:
            due[page] = last[page] + again
            push(times, pages, size, due[page], page)
        else:
            due[page] = last[page] + t * 2 + 1.0  # never, as the threshold stands: look again when it is twice as old
            push(times, pages, size, due[page], page)
    return found


@kernel
def put_back(times, pages, size, due, last, rate, weight, trust, recall, theta, policy, which) -> None:  # type: ignore[no-untyped-def]
    """Queue pages that were visited at ``last`` for their next look."""
    for i in range(len(which)):
        page = which[i]
        wait = due_after(policy, rate[page], EARLY * theta[0] / weight[page])
        if trust[page] * recall[page] > 0:
            wait = min(wait, 7.0)
        due[page] = last[page] + min(wait, 365.0)
        push(times, pages, size, due[page], page)


@kernel
def learn(which, interval, changed, modified, facts, counts, sums, beliefs, rate, host, kind, hosts, kinds, default) -> None:  # type: ignore[no-untyped-def]  # fmt: skip
    """Take in visits of the pages ``which``: their rates, and the priors of their hosts and types."""
    for i in range(len(which)):
        page = which[i]
        if interval[i] > 0:
            observe(facts[page], counts[page], sums[page], interval[i], changed[i], modified[i])
        groups = hosts[host[page]], kinds[kind[page]]
        rate[page] = judge_page(facts[page], counts[page], sums[page], beliefs[page], groups[0], groups[1], default)


def defaults(shape: float, mean: float, still: float) -> np.ndarray:  # type: ignore[type-arg]
    """Return the sums of a page's worth of a Gamma of that shape and mean, with ``still`` pages among them."""
    s = 0.5 / shape + 1 / (12 * shape * shape)
    return np.array([1 - still, (1 - still) * mean, (1 - still) * (math.log(mean) - s), still])
