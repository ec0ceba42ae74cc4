"""Visits whose answer has come, until they are taken; and what an outcome means to the host that gave it."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import msgspec

from fyke.frontier.leases import Lease
from fyke.frontier.politeness import Contact
from fyke.interfaces import Clock
from fyke.values import Failed, Outcome, Reason, Request

AT_ONCE = 16
"""Visits that are taken in one tick: enough that kernels and caches are warm, few enough that the loop breathes."""
BYTES_AT_ONCE = 320_000
"""Of their bodies, after which a tick takes no further one: some 5 ms of reading."""
GATHER = 0.1
"""Seconds that a few wait for others, as the tick of one page costs as much as a page more; and a thirty-second of the
hosts' delay at most. No host is contacted later for that, as its gap began when it had answered; but for each page that
is read at once, those that become due meanwhile are."""
MAX_TRIES = 3
"""Fetches of a URL whose host does not answer, before it is given up."""
PASSING = frozenset(
    {Reason.DNS, Reason.CONNECT, Reason.TIMEOUT, Reason.RESET, Reason.SERVER_ERROR, Reason.TOO_MANY_REQUESTS}
)
"""Failures that may pass."""
_SILENT = frozenset({Reason.TIMEOUT, Reason.RESET})
_OVERLOAD = frozenset({429, 502, 503, 504})


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """A visit whose answer has come."""

    lease: Lease
    request: Request
    outcome: Outcome
    is_answer: bool = True
    """Somebody was asked; else the site was given up before."""


class Arrivals:
    """Those that wait to be taken. ``wake()`` is called for the first, and once they are many."""

    def __init__(self, clock: Clock, delay: float, wake: Callable[[], None]) -> None:
        self._clock, self._gather, self._wake = clock, min(GATHER, delay / 32), wake
        self.waiting: list[Arrival] = []
        self._first = 0.0

    def add(self, arrival: Arrival) -> None:
        """Note that an answer has come."""
        if not self.waiting:
            self._first = self._clock.now()
        self.waiting.append(arrival)
        if len(self.waiting) in (1, AT_ONCE):
            self._wake()

    def due(self, under_way: int) -> float:
        """When they are to be taken, where so many visits are under way, these included; 0 where that is now."""
        if not self.waiting:
            return inf
        return self._first + self._gather if len(self.waiting) < min(AT_ONCE, under_way) else 0.0


def contact_of(outcome: Outcome, started: float, finished: float) -> Contact:
    """What politeness must know of an outcome."""
    exchange = outcome.exchange
    if exchange is not None:
        started, finished = exchange.started, exchange.finished
    reason = outcome.reason if isinstance(outcome, Failed) else None
    retry_at = outcome.retry_at if isinstance(outcome, Failed) and outcome.retry_at else 0.0
    overloaded = exchange is not None and exchange.status in _OVERLOAD
    silent = reason in _SILENT or (exchange is not None and exchange.incomplete)
    return Contact(finished, finished - (started or finished), overloaded, silent, retry_at)
