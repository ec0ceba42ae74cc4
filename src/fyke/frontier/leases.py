"""What the frontier answers: a lease of a URL, a wish for entries from disk, or what it waits for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fyke.frontier.keys import Entry, host_of, queue_key


@dataclass(frozen=True, slots=True)
class Lease:
    """A URL handed out; its host is nobody else's until ``done``."""

    site: str
    entry: Entry
    sequence: int

    @property
    def host(self) -> str:
        """The host of the site."""
        return host_of(self.site)

    @property
    def key(self) -> bytes:
        """The queue key to delete once the URL is done."""
        return queue_key(self.site, self.entry.priority, self.sequence)


@dataclass(frozen=True, slots=True)
class Refill:
    """A wish: the entries of a lane from ``start`` on, ``count`` sequences of them."""

    site: str
    priority: int
    start: int
    count: int
    queue: int
    """Which back queue it is for; one that has been given up meanwhile takes no more."""

    @property
    def host(self) -> str:
        """The host of the site."""
        return host_of(self.site)

    @property
    def key(self) -> bytes:
        """Where to begin reading."""
        return queue_key(self.site, self.priority, self.start)

    @property
    def end(self) -> bytes:
        """Where to end: before this key."""
        return queue_key(self.site, self.priority, self.start + self.count)


class Why(StrEnum):
    """What an idle frontier waits for."""

    DELAY = "delay"
    """The gap between two contacts of ``host``."""
    BACKOFF = "backoff"
    """``host`` asked us to stay away, or does not answer."""
    CLOSED = "closed"
    """A site of ``host`` cannot be had now: its robots.txt does not come, or nobody listens."""
    OUTAGE = "outage"
    """Our own network, which seems to be down."""
    IN_FLIGHT = "in-flight"
    """Fetches that are under way."""
    REFILL = "refill"
    """The engine, to read entries."""
    LATER = "later"
    """An entry for later (``note_later``)."""
    BUDGET = "budget"
    """The requests of a continuous crawl's budget."""
    RESUMING = "resuming"
    """The agent, to take up what an earlier run left."""
    LIMIT = "limit"
    """As many pages as are wanted are fetched, or under way."""
    PAUSED = "paused"
    """Whoever paused the crawl."""
    EMPTY = "empty"
    """Nothing: there is nothing queued."""


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing can be leased now."""

    until: float
    """When something may be; infinity where that does not depend on time."""
    why: Why
    host: str = ""
    detail: str = ""
    """Of a site that is closed: why."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How much is where."""

    queued: int
    """Entries on disk, the leased ones included."""
    leased: int
    hosts: int
    back_queues: int
    parked: int
