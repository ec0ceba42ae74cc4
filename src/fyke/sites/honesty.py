"""How far a host's word on changes can be believed: lastmod of its sitemaps, dates of its feeds, its Last-Modified.

A site says that a page changed; the next visit tells whether it did. Four counts of such visits per host and source
make two chances, which is all that a revisit policy needs of a noisy signal (Busa-Fekete et al., 2025):

    precision   P(changed | said so)        how much a signal is worth
    recall      P(said so | changed)        how much silence is worth

Both begin at one half and learn by Bayes; counts fade, so that a host that becomes honest, or stops being so, is
noticed within some hundred visits. Some lies need no visit: a time to come, and a whole file stamped with the time at
which it was made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

MEMORY = 200.0
"""Visits that count: beyond them, old ones fade as new ones come."""
AHEAD = 86_400.0
"""Seconds by which a time may lie ahead: a date without a zone is up to a day early."""
STAMPED_WITHIN = 86_400.0
"""A file is stamped if most of it has one lastmod that is not older than this."""
_ENOUGH = 10  # entries below which nothing can be said of a file
_PRIOR = 1.0  # of each count: as if every case had been seen once


@dataclass(frozen=True, slots=True)
class Signal:
    """That a page is said to have changed: evidence for a revisit policy."""

    time: float
    """When it is said to have changed, in seconds since 1970."""
    precision: float
    """P(it changed | it is said to have): 0 … 1."""
    recall: float
    """P(it is said | it changed): 0 … 1."""


class Honesty(msgspec.Struct, frozen=True, array_like=True):
    """What came of a host's signals, as fading counts of visits."""

    told: float = 0.0
    """Said to have changed, and did."""
    cried: float = 0.0
    """Said to have changed, and did not."""
    hidden: float = 0.0
    """Not said to have changed, and did."""
    quiet: float = 0.0
    """Neither said nor changed."""

    @property
    def precision(self) -> float:
        """P(changed | said so), after what was seen."""
        return (self.told + _PRIOR) / (self.told + self.cried + 2 * _PRIOR)

    @property
    def recall(self) -> float:
        """P(said so | changed), after what was seen."""
        return (self.told + _PRIOR) / (self.told + self.hidden + 2 * _PRIOR)

    def after(self, *, said: bool, changed: bool) -> Honesty:
        """What is known after a visit to a page of which the host had (not) ``said`` that it changed."""
        total = self.told + self.cried + self.hidden + self.quiet
        kept = min(1.0, (MEMORY - 1.0) / total) if total else 1.0
        return Honesty(
            self.told * kept + (said and changed),
            self.cried * kept + (said and not changed),
            self.hidden * kept + (changed and not said),
            self.quiet * kept + (not changed and not said),
        )

    def signal(self, modified: float, visited: float, now: float) -> Signal | None:
        """The signal in a ``modified`` time told of a page that was last ``visited``; None where there is none in it.

        A time to come is no signal, nor one before the last visit. How much it is worth is in it.
        """
        if modified <= visited or modified > now + AHEAD:
            return None
        return Signal(min(modified, now), self.precision, self.recall)

    def encode(self) -> bytes:
        """Return this as MessagePack; ``decode`` is the inverse."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def decode(cls, data: bytes) -> Honesty:
        """Return what ``encode`` wrote."""
        return msgspec.msgpack.decode(data, type=cls)


def is_stamped(modified: Sequence[float], now: float) -> bool:
    """Whether the times of a file are only the time at which it was made: most are one, and that is new.

    A site of which more than half changed in the very same second, less than a day ago, did not: it was published anew.
    """
    known = [time for time in modified if time]
    if len(known) < _ENOUGH:
        return False
    most, count = Counter(known).most_common(1)[0]
    return 2 * count > len(known) and most > now - STAMPED_WITHIN
