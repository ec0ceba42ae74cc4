"""How long to leave a host alone: its delay, what the last fetch cost it, and what it asked for.

The gap is counted from the end of a fetch to the start of the next::

    base   = max(configured minimum, Crawl-delay)
    delay  = max(base, factor × duration of the last fetch)             where base > 0
           × how much slower than usual the host has become, up to 4    where base > 0
    on 429, 502, 503 and 504, and where the host is silent for the second time in a row, the n-th time:
    delay ≥ max(base, 1 s) × 2ⁿ, at most an hour;   with Retry-After: that, and at least base
    afterwards each success takes one step of the back-off away: delay ≥ base × 2ⁿ

One silent URL (a timeout, a reset) says nothing of its host while others answer, and how long it took is no measure of
it.

With a delay of 0 (one's own server) nothing but the back-off remains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

MAX_CRAWL_DELAY = 86_400.0
"""A site that asks for more than a day between two pages is visited once a day."""
MAX_BACKOFF = 3_600.0
MAX_FACTOR_DELAY = 60.0
"""A page that took longer than six seconds says something of the page, not of the whole host."""
SLOW = 0.5
"""Growth of a latency below this, in seconds, is noise."""
MAX_GROWTH = 4.0
_MAX_STEPS = 16  # 2^16 s is beyond MAX_BACKOFF
_MEMORY = 0.8  # weight of the past in the usual duration


@dataclass(frozen=True, slots=True)
class Politeness:
    """What the user wants."""

    delay: float = 1.0
    """Minimum gap per host in seconds: common practice, and what sites without a robots.txt expect."""
    factor: float = 10.0
    """Mercator's: the gap is ten times what the last fetch took, so that we are a tenth of a host's load."""
    address_delay: float = 0.2
    """Minimum gap per IP address, whatever the hosts on it: five requests a second for a shared server."""
    hosts: Mapping[str, float] = field(default_factory=dict)
    """Hosts with a minimum gap of their own."""

    def of(self, host: str) -> Politeness:
        """Return what the user wants for one host."""
        return replace(self, delay=self.hosts[host], hosts={}) if host in self.hosts else self


class Contact(NamedTuple):
    """What a host was asked for last, robots.txt included."""

    finished: float
    duration: float
    """From sending the request to the end of the answer; waiting on our side does not count."""
    overloaded: bool = False
    """429, 502, 503, 504: the host wants less of us."""
    silent: bool = False
    """A timeout or a reset."""
    retry_at: float = 0.0
    """From Retry-After."""


class Pace(NamedTuple):
    """What is remembered of a host."""

    crawl_delay: float = 0.0
    usual: float = 0.0
    """Moving average of fetch durations; 0 before the first."""
    failures: int = 0
    """Steps of back-off."""
    silent: bool = False
    """It did not answer the last time."""


FRESH = Pace()


def base_delay(pace: Pace, wanted: Politeness) -> float:
    """Return the gap that configuration and site ask for, before anything is known of its health."""
    return max(wanted.delay, min(pace.crawl_delay, MAX_CRAWL_DELAY))


class Rest(NamedTuple):
    """For how long a host is left alone after a contact."""

    pace: Pace
    """What to remember of it."""
    due: float
    """When it may be contacted again."""
    asked: float
    """Until when the host itself wants to be left alone, as far as it said or showed; the rest is our own caution."""


def after(pace: Pace, contact: Contact, wanted: Politeness) -> Rest:
    """Return what to remember of a host after a contact, and when it may be contacted again."""
    base = base_delay(pace, wanted)
    delay = base
    if base > 0 and not contact.silent:
        delay = max(base, min(wanted.factor * contact.duration, MAX_FACTOR_DELAY))
        if pace.usual and contact.duration > SLOW:
            delay *= min(max(contact.duration / pace.usual, 1.0), MAX_GROWTH)
    failures, usual = pace.failures, pace.usual
    asked = contact.finished + pace.crawl_delay if pace.crawl_delay > wanted.delay else 0.0
    if contact.overloaded or (contact.silent and pace.silent):
        failures = min(failures + 1, _MAX_STEPS)
        backed_off = max(delay, min(max(base, 1.0) * 2.0**failures, max(MAX_BACKOFF, base)))
        delay = base if contact.retry_at else backed_off  # what the server asks decides
        asked = contact.retry_at or contact.finished + delay
    elif not contact.silent:
        failures = max(failures - 1, 0)
        if failures:
            delay = max(delay, min(base * 2.0**failures, max(MAX_BACKOFF, base)))
            asked = contact.finished + delay
        usual = _MEMORY * usual + (1 - _MEMORY) * contact.duration if usual else contact.duration
    due = max(contact.finished + delay, contact.retry_at)
    return Rest(Pace(pace.crawl_delay, usual, failures, contact.silent), due, max(asked, contact.retry_at))
