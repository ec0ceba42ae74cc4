"""How often a page changes: the most likely Poisson rate from visits that tell little, and priors from its like.

A visit after an interval t tells that nothing changed (likelihood e^(−λt)), that something did (1 − e^(−λt)), or, where
the date of the last change is believed, that the page was quiet for u since (λe^(−λu)). The first and the last need
only sums; the changes are counted in bins of intervals, each bin with its mean. The prior is a Gamma with a share of
pages that never change, fitted to the pages of the host and of the media type (expectation maximisation, a page at a
time). Rates are per day, times are days.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from fyke.bits.jit import kernel

BINS = 14
"""Powers of four of a second: from one to eight years."""
MEMORY = 96.0
"""Visits after which old ones count half: rates drift."""
PSEUDO = 10.0
"""Pages' worth of the wider group's evidence in a narrower one's prior."""

FEW = 8.0
"""Visits below which the prior weighs much on a page's rate, so that it is estimated anew when the page is judged."""


@kernel
def bin_of(interval: float) -> int:
    """Return the bin of an interval in days."""
    seconds = interval * 86400.0
    return 0 if seconds <= 1 else min(int(math.log2(seconds) / 2), BINS - 1)


@kernel
def observe(facts: Any, counts: Any, sums: Any, interval: float, changed: bool, modified: float) -> None:
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
def estimate(shape: float, span: float, facts: Any, counts: Any, sums: Any, guess: float) -> tuple[float, float]:
    """Return (λ, a): the most likely rate in log λ under a Gamma(``shape``, ``span``) prior, and its precision.

    The root of  a₀ + events − (b₀ + exposure)λ + Σ cᵢ·φ(λtᵢ),  φ(x) = x/(e^x − 1): decreasing and convex in λ, so
    Newton rises to it from any ``guess`` to its left, and comes there in one step from the right. Near the root the
    posterior is Gamma(a, a/λ). Errors are squared with each step: after one of 10⁻⁴ nothing is left of them.
    """
    known, exposed = shape + facts[0], span + facts[1]
    least = known / exposed
    rate = max(guess, least)
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
        rate = max(rate + step, least)
        if abs(step) <= 1e-4 * rate:
            break
    return rate, precision


@kernel
def stillness(shape: float, span: float, share: float, facts: Any, counts: Any) -> float:
    """Return the chance that a page never changes, where ``share`` of its group's pages do not.

    One that was seen to change does. Of the others, P(no change in the exposure U) = (b/(b + U))^a if it can change.
    """
    if facts[0] > 0:
        return 0.0
    for i in range(BINS):
        if counts[i] > 0:
            return 0.0
    quiet: float = (span / (span + facts[1])) ** shape
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
def blend(narrow: Any, wide: Any, default: Any) -> tuple[float, float, float]:
    """Return (shape, span, share of still pages) for a page: its host's, with ``PSEUDO`` pages' worth of its type's.

    A type's own sums have as much of the default's in them.
    """
    a = PSEUDO / (default[0] + default[3])
    moving, total, logs, still = (
        wide[0] + default[0] * a, wide[1] + default[1] * a, wide[2] + default[2] * a, wide[3] + default[3] * a,
    )  # fmt: skip
    a = PSEUDO / (moving + still)
    moving, total, logs, still = (
        narrow[0] + moving * a, narrow[1] + total * a, narrow[2] + logs * a, narrow[3] + still * a,
    )  # fmt: skip
    shape, span = fit(moving, total, logs)
    return shape, span, still / (moving + still)


@kernel
def count_in(group: Any, sign: float, rate: float, precision: float, still: float) -> None:
    """Count a page in (``sign`` 1) or out (−1) of a group's sums: pages that change, rates, E log λ, still pages."""
    moving = sign * (1 - still)
    group[0] += moving
    group[1] += moving * rate
    group[2] += moving * (math.log(rate) - 0.5 / precision)
    group[3] += sign * still


@kernel
def judge_page(facts: Any, counts: Any, sums: Any, belief: Any, narrow: Any, wide: Any, default: Any) -> float:
    """Estimate a page anew, and count it in its groups as it is now; return its rate.

    ``belief`` is (λ if it changes, precision, chance that it does not); precision 0: not counted yet.
    """
    shape, span, share = blend(narrow, wide, default)
    rate, precision = estimate(shape, span, facts, counts, sums, belief[0])
    still = stillness(shape, span, share, facts, counts)
    if facts[2] > 0:
        if belief[1] > 0:
            count_in(narrow, -1.0, belief[0], belief[1], belief[2])
            count_in(wide, -1.0, belief[0], belief[1], belief[2])
        count_in(narrow, 1.0, rate, precision, still)
        count_in(wide, 1.0, rate, precision, still)
        belief[0], belief[1], belief[2] = rate, precision, still
    return rate * (1 - still)


@kernel
def rate_of(facts: Any, counts: Any, sums: Any, guess: float, narrow: Any, wide: Any, default: Any) -> float:
    """Return the rate of a page by what its groups are known for now; nothing is counted."""
    shape, span, share = blend(narrow, wide, default)
    rate, _ = estimate(shape, span, facts, counts, sums, guess)
    return rate * (1 - stillness(shape, span, share, facts, counts))


def defaults(shape: float, mean: float, still: float) -> npt.NDArray[np.float64]:
    """Return the sums of a page's worth of a Gamma of that shape and mean, with ``still`` pages among them."""
    s = 0.5 / shape + 1 / (12 * shape * shape)
    return np.array([1 - still, (1 - still) * mean, (1 - still) * (math.log(mean) - s), still])
