"""A visit whose answer has come, and what an outcome means to the host that gave it."""

from __future__ import annotations

from dataclasses import dataclass

from fyke.frontier.leases import Lease
from fyke.frontier.politeness import Contact
from fyke.values import Failed, Outcome, Reason, Request

MAX_TRIES = 3
"""Fetches of a URL whose host does not answer, before it is given up."""
PASSING = frozenset(
    {Reason.DNS, Reason.CONNECT, Reason.TIMEOUT, Reason.RESET, Reason.SERVER_ERROR, Reason.TOO_MANY_REQUESTS}
)
"""Failures that may pass."""
_SILENT = frozenset({Reason.TIMEOUT, Reason.RESET})
_OVERLOAD = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Arrival:
    """A visit whose answer has come."""

    lease: Lease
    request: Request
    outcome: Outcome
    is_answer: bool = True
    """Somebody was asked; else the site was given up before."""


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
