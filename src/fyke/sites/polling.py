"""When to ask a feed again: by how often it posts, and no sooner than it allows.

Posts come at a rate λ, so between two polls that are I apart λI items wait I/2 on average: λI²/2 item-seconds of
waiting. Polls of many feeds are best spent where every poll ends the same amount of waiting θ, hence

    I = √(2θ/λ)

(minimise Σ λᵢIᵢ/2 for a given Σ 1/Iᵢ). θ is the one knob: what a poll costs, in item-seconds. Nobody has to know
the other feeds. λ is learnt with a Gamma prior: from the dates of the items at the first poll, from the new items at
each later one; old evidence fades, so that a feed that falls asleep is asked ever more rarely.

A feed's own wishes bound I from below: ttl, sy:updatePeriod, Cache-Control's max-age. Hours and days that it says to
skip are skipped. The rest can keep us away for no more than a day. Time is an argument; a clock that jumps costs no
more than one early or one late poll.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from fyke.sites.feed import Rhythm
from fyke.sites.kept import Kept

HOUR, DAY = 3600.0, 86_400.0
SHORTEST = 300.0
"""Seconds between two polls at least, however often a feed posts."""
LONGEST = DAY
"""Seconds between two polls at most: what a sleeping feed costs, and what a feed's wishes can ask for."""
POLL_COST = 75.0
"""θ in item-seconds: a feed with an item a day is polled every hour, one with an item an hour every 12 minutes."""
MEMORY = 21 * DAY
"""Seconds of evidence that count: weekly rhythms are averaged, last year is forgotten."""
_PRIOR_ITEMS, _PRIOR_TIME = 0.5, DAY / 4  # an unknown feed posts twice a day, until it is known better
_WEEK = 168


@dataclass(frozen=True, slots=True)
class PollSettings:
    """How eager polling is."""

    cost: float = POLL_COST
    shortest: float = SHORTEST
    longest: float = LONGEST


class Posting(Kept, frozen=True):
    """What is known of a feed's posting: fading counts, kept with the feed."""

    items: float = 0.0
    """Items that came during ``time``."""
    time: float = 0.0
    """Seconds watched."""
    polled: float = 0.0
    """When it was last polled; 0 for never."""
    failures: int = 0
    """Polls in a row without an answer."""

    @property
    def rate(self) -> float:
        """Items per second to be expected."""
        return (self.items + _PRIOR_ITEMS) / (self.time + _PRIOR_TIME)

    def after(self, now: float, new: int, dates: Iterable[float] = ()) -> Posting:
        """What is known after a poll at ``now`` that brought ``new`` items.

        At the first poll the items' ``dates`` tell the past instead; dates to come and missing ones (0) say nothing.
        """
        if not self.polled:
            past = sorted(date for date in dates if max(0.0, now - MEMORY) < date <= now)
            # The oldest item only opens the watch: had it not been there, the feed would have begun at the next.
            return Posting(float(max(len(past) - 1, 0)), now - past[0] if past else 0.0, now)
        elapsed = max(now - self.polled, 0.0)
        kept = MEMORY / (MEMORY + elapsed)
        return Posting(self.items * kept + new, self.time * kept + elapsed, now)

    def failed(self, now: float) -> Posting:
        """What is known after a poll at ``now`` without an answer."""
        return msgspec.structs.replace(self, polled=now, failures=min(self.failures + 1, 16))


def next_poll(
    posting: Posting,
    rhythm: Rhythm,
    now: float,
    *,
    max_age: float = 0.0,
    pushed: bool = False,
    settings: PollSettings = PollSettings(),  # noqa: B008 - frozen
) -> float:
    """Return when to poll next: after ``now``, within ``longest`` and what the feed says to skip (a week at most).

    ``max_age`` is Cache-Control's, ``pushed`` says that a hub tells us of new items, so that polling only backs it up.
    """
    interval = (2.0 * settings.cost / posting.rate) ** 0.5
    interval = max(interval, rhythm.ttl, rhythm.period, max_age, settings.shortest)
    interval *= 2.0**posting.failures
    due = now + (settings.longest if pushed else min(interval, settings.longest))
    return _past_skipped(due, rhythm)


def _past_skipped(due: float, rhythm: Rhythm) -> float:
    """The first moment from ``due`` on that the feed does not say to skip; ``due`` where it says to skip all."""
    later = due
    for _ in range(_WEEK + 1 if rhythm.skip_hours or rhythm.skip_days else 0):
        moment = datetime.fromtimestamp(later, UTC)
        if moment.hour not in rhythm.skip_hours and moment.weekday() not in rhythm.skip_days:
            return later
        later = (later // HOUR + 1) * HOUR
    return due
