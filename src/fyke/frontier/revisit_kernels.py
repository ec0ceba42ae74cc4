"""Freshness in numbers: age, crawl values, and when they pass a threshold.

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

from fyke.bits.jit import kernel

UNIFORM, PROPORTIONAL, FRESHNESS, AGE = 0, 1, 2, 3
SMALL = 0.02
NEVER = 1e12
"""Days: later than anything."""
EARLY = 0.6
"""A page is first looked at when its value passes this part of the threshold, which may have fallen meanwhile."""
NEAR = 0.97
"""From this part of the threshold on a page is due: the threshold trembles, and a third look would gain nothing."""


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
    x: float = max((3 * y) ** (1 / 3), math.sqrt(2 * y))
    for _ in range(40):
        step = (_h(x) - y) / (-x * math.expm1(-x))
        x -= step
        if abs(step) <= 1e-6 * x:  # the next would be its square
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


@kernel
def look_again(policy: int, rate: float, weight: float, t: float, threshold: float) -> float:
    """Return 0 where a visit is due at age t, else the age at which to look again: no later than it is due.

    The first look allows for a threshold that falls by two fifths; the second is at what it then is.
    """
    now = weight * value(policy, rate, t)
    if now >= NEAR * threshold:
        return 0.0
    part = EARLY if now < 0.9 * EARLY * threshold else 1.0
    return max(due_after(policy, rate, part * threshold / weight), t * (1 + 1e-6))
