"""Whose fault it is: whether a site cannot be reached, or our own network.

Failures to resolve or connect belong to a site, which is closed for a while, not to its URLs. Some are *certain*:
somebody said that there is no such name, or refused the connection. Of the others (no answer) nobody knows whether they
are the site's or ours. They count against the site only while others answer; where many unrelated hosts fail and nobody
has answered since and for a while, it is our own outage: the crawl pauses, says so, asks one of them now and then, and
goes on when one answers.
"""

from __future__ import annotations

from collections import Counter

from fyke.url import registered_domain

HOSTS = 3
"""Unrelated hosts that fail, with nobody answering between, before we doubt ourselves."""
QUIET = 5.0
"""Seconds without any answer before we doubt ourselves: a thousand hosts that fall silent at once are no outage while
others answer, and must not hold these up."""
LATELY = 30.0
"""Seconds for which an answer of anybody speaks for our network."""
PROBE = 5.0
"""Seconds between two tries during an outage."""
LONGEST_OUTAGE = 3600.0
"""Seconds of an outage after which a crawl no longer waits for its end."""
FIRST_REST = 5.0
"""Seconds for which a site that cannot be reached is closed first; four times as long each further time."""
LONGEST_REST = 3600.0

UNREACHABLE = "unreachable"
"""Why a site is closed that did not answer while nobody did."""


class Network:
    """What the answers and failures of all hosts say of our own network."""

    def __init__(self) -> None:
        self.down_since = 0.0
        """Since when nobody can be reached; 0 while somebody can."""
        self._answered = 0.0
        self._failing: dict[str, float] = {}
        self._silence: Counter[str] = Counter()
        self._unnamed: Counter[str] = Counter()
        self._next_probe = 0.0

    def answered(self, now: float) -> bool:
        """Note that somebody answered; return whether that ends an outage."""
        was_down = bool(self.down_since)
        self._answered, self.down_since = now, 0.0
        if self._failing:
            self._failing.clear()
            self._silence.clear()
        return was_down

    def failed(self, host: str, now: float) -> None:
        """Note that nobody answered at a host."""
        self._failing.setdefault(registered_domain(host), now)
        self._silence[host] += 1
        if self.down_since or not self._answered or now < self._answered + QUIET:
            return
        if len(self._failing) >= HOSTS:
            self.down_since = min(self._failing.values())
            self._next_probe = now + PROBE

    def silence(self, host: str) -> int:
        """Return how often a host failed where nobody ever answered: a crawl without a network comes to an end."""
        return 0 if self._answered else self._silence[host]

    def unnamed(self, host: str) -> int:
        """Note that a host could not be resolved while no name could, and return how often that was so."""
        self._unnamed[host] += 1
        return self._unnamed[host]

    def named(self) -> bool:
        """Note that a name was resolved; return whether that ends a silence of the name servers."""
        was_silent = bool(self._unnamed)
        self._unnamed.clear()
        return was_silent

    def is_up(self, now: float) -> bool:
        """Whether a failure says something of its site: somebody else answered lately."""
        return not self.down_since and now - self._answered < LATELY

    def waits(self, now: float, busy: bool) -> float:
        """Return until when no visit should begin, 0 where one may; during an outage one at a time, now and then."""
        if not self.down_since:
            return 0.0
        if busy or now < self._next_probe:
            return max(self._next_probe, now + PROBE / 10)
        self._next_probe = now + PROBE
        return 0.0

    def expects_end(self, now: float) -> bool:
        """Whether there is an outage that may still pass."""
        return bool(self.down_since) and now - self.down_since < LONGEST_OUTAGE


def rest(failures: int) -> float:
    """Return for how long a site is closed after so many failures in a row to reach it."""
    return min(FIRST_REST * 4.0 ** max(failures - 1, 0), LONGEST_REST)
