"""What a lastmod can be worth before anybody looks: no time to come, and no file stamped with its own making.

A sitemap says when pages changed. Some lies need no visit to be seen; the rest is evidence of a change whose worth a
revisit policy learns from what its visits find.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from fyke.sites.sitemap import Entry

AHEAD = 86_400.0
"""Seconds by which a time may lie ahead: a date without a zone is up to a day early."""
STAMPED_WITHIN = 86_400.0
"""A file is stamped if most of it has one lastmod that is not older than this."""
_ENOUGH = 10  # entries below which nothing can be said of a file


def is_stamped(modified: Sequence[float], now: float) -> bool:
    """Whether the times of a file are only the time at which it was made: most are one, and that is new.

    A site of which more than half changed in the very same second, less than a day ago, did not: it was published anew.
    """
    known = [time for time in modified if time]
    if len(known) < _ENOUGH:
        return False
    most, count = Counter(known).most_common(1)[0]
    return 2 * count > len(known) and most > now - STAMPED_WITHIN


def signals(entries: Iterable[Entry], now: float) -> Iterator[tuple[str, float]]:
    """Yield (location, when it is said to have changed) of the entries whose lastmod may be true.

    Nothing comes of a stamped file; a time up to a day ahead is now, and one further ahead is no signal.
    """
    entries = list(entries)
    times = [entry.modified for entry in entries]
    if is_stamped(times, now):
        return
    for entry, time in zip(entries, times, strict=True):
        if 0.0 < time <= now + AHEAD:
            yield entry.location, min(time, now)
