"""When a page changes: a Poisson process as a pure function of the seed, the page and the time.

Gaps between changes are exponential with mean 1/λ, drawn by counter; version v of a page is what it shows
after its v-th change. P(no change in an interval t) = exp(-λt), which is what a revisit policy estimates.
"""

from __future__ import annotations

import math
from bisect import bisect_right

from fyke.world.chance import exponential, unit
from fyke.world.config import DAY, START

SLOWEST, FASTEST = 1 / 60, 8.0
"""Changes per day; rates are log-uniform between, so that a few pages make most of the changes."""

BORN_WITHIN, GONE_WITHIN = 20 * DAY, 40 * DAY
"""Mean time until a late page appears, or a mortal one goes."""


def rate_of(*page: int | str) -> float:
    """The rate of a changing page, in changes per day."""
    return math.exp(math.log(SLOWEST) + unit("rate", *page) * math.log(FASTEST / SLOWEST))


class Changes:
    """The times at which something changes, made as far as they are asked for."""

    __slots__ = ("_page", "_rate", "_times", "_until")

    def __init__(self, rate: float = 0.0, page: tuple[int | str, ...] = (), times: tuple[float, ...] = ()) -> None:
        """A process of ``rate`` per day for ``page``, or, at rate 0, the given times."""
        self._rate = rate
        self._page = page
        self._times = sorted(times)
        self._until = START if rate else math.inf

    def version(self, t: float) -> int:
        """How many changes there were up to and at ``t``."""
        while self._until <= t:
            gap = exponential(DAY / self._rate, "gap", *self._page, len(self._times))
            self._until += gap
            self._times.append(self._until)
        return bisect_right(self._times, t)

    def last(self, t: float, otherwise: float) -> float:
        """When the last change up to ``t`` was; ``otherwise`` where there was none."""
        version = self.version(t)
        return self._times[version - 1] if version else otherwise
