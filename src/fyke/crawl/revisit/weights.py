"""How much a page matters to those who read the collection: patterns of addresses, and what its own site says.

The weight multiplies what a visit is worth: of two pages that change equally often, the one with four times the weight
is kept fresh at the expense of the other, as the optimum says (fyke.frontier.revisit). 1 is the usual one.
"""

from __future__ import annotations

from collections.abc import Iterable

from fyke.patterns import Pattern
from fyke.sites.scope import MAX_LENGTH

LEAST, MOST = 0.01, 100.0
_SITEMAP_DEFAULT = 0.5
"""The priority of a page that a sitemap gives none."""


def parse_weight(text: str) -> tuple[Pattern, float]:
    """Return pattern and weight of ``PATTERN=WEIGHT``. Raises ``ValueError`` that says what is wrong."""
    pattern, equals, number = text.rpartition("=")
    try:
        weight = float(number)
        compiled = Pattern(pattern)
    except ValueError as error:
        raise ValueError(f"weights: {text!r} is not PATTERN=WEIGHT, like /news/=4 ({error})") from None
    if not equals or not pattern or not LEAST <= weight <= MOST:
        raise ValueError(f"weights: {text!r} is not PATTERN=WEIGHT with a weight from {LEAST} to {MOST:g}")
    return compiled, weight


class Weights:
    """The weights of a crawl."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        """``patterns`` are ``PATTERN=WEIGHT``; the first that is found in an address counts."""
        self._patterns = [parse_weight(text) for text in patterns]

    def of(self, href: str, priority: float = -1.0) -> float:
        """The weight of a page to which its sitemap gives ``priority`` (below 0 where none does)."""
        weight = priority / _SITEMAP_DEFAULT if priority > 0 else 1.0
        if self._patterns and len(href) <= MAX_LENGTH:
            weight *= next((each for pattern, each in self._patterns if pattern.search(href)), 1.0)
        return min(max(weight, LEAST), MOST)
