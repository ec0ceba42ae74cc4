"""Error bounds of locality-sensitive hashing, and the bands that keep to wanted rates."""

from __future__ import annotations

from dataclasses import dataclass

from fyke.errors import UserError


def false_negative(p: float, k: int, groups: int) -> float:
    """P(FN) = (1 − p^K)^L: no one of L groups agrees on all K places, though places agree with probability p."""
    return float((1.0 - p**k) ** groups)


def false_positive(q: float, k: int, groups: int) -> float:
    """P(FP) = 1 − (1 − q^K)^L: some group agrees on all K places, though places agree with probability q only."""
    return float(1.0 - (1.0 - q**k) ** groups)


@dataclass(frozen=True, slots=True)
class Plan:
    """L groups (bands) of K places (rows) each."""

    k: int
    groups: int
    false_negative: float
    false_positive: float


def plan(p: float, q: float, k: int, groups: int) -> Plan:
    """Return the plan with its two rates."""
    return Plan(k, groups, false_negative(p, k, groups), false_positive(q, k, groups))


def suggest(p: float, q: float, bits: int, max_fn: float = 0.01, max_fp: float = 0.05) -> Plan:
    """Return the cheapest K and L with K·L ≤ bits that keep both rates; fewest groups first, since each is a table.

    Raises UserError that names what would help where no choice keeps them.
    """
    if not (0 < q < p <= 1):
        raise UserError(
            f"p = {p} and q = {q} are not 0 < q < p ≤ 1; p is the chance that a near-duplicate's bit agrees"
        )
    fitting = [
        made
        for k in range(1, bits + 1)
        for groups in range(1, bits // k + 1)
        if (made := plan(p, q, k, groups)).false_negative <= max_fn and made.false_positive <= max_fp
    ]
    if not fitting:
        best = min(
            (plan(p, q, k, bits // k) for k in range(1, bits + 1)),
            key=lambda made: max(made.false_negative / max_fn, made.false_positive / max_fp),
        )
        raise UserError(
            f"no K·L ≤ {bits} keeps P(FN) ≤ {max_fn} and P(FP) ≤ {max_fp}; nearest is K = {best.k}, L = {best.groups} "
            f"with {best.false_negative:.4g} and {best.false_positive:.4g}: allow more, or take more bits"
        )
    return min(fitting, key=lambda made: (made.groups, made.false_positive))


def bands(threshold: float, num_perm: int, max_fn: float = 1e-4) -> tuple[int, int]:
    """Return (bands, rows) for a MinHash signature: the longest rows that miss at most ``max_fn`` at the threshold.

    Longer rows mean fewer false candidates. At 0.8 and 192 places: 32 bands of 6, missing 6 in 100,000.
    """
    for rows in range(num_perm, 1, -1):
        count = num_perm // rows
        if false_negative(threshold, rows, count) <= max_fn:
            return count, rows
    return num_perm, 1
