"""What the frontier holds of a site and of its host: lanes on disk, the back queue and lease in memory, the pace.

The **site** (scheme, host, port) is what is queued, permitted and what fails; the **host** is what is left in peace:
one contact at a time, with a gap between, whatever its sites.
"""

from __future__ import annotations

from collections import deque

from fyke.frontier.keys import VERSION, Entry, SiteRecord
from fyke.frontier.leases import Idle, Lease, Why
from fyke.frontier.politeness import FRESH, Pace

GIVE_UP = 3
"""Failures in a row to reach a site, after which its URLs are given up for a while."""


class Lane:
    """A site's FIFO of one priority: entries from ``low`` are on disk, those before ``head`` in memory or leased."""

    __slots__ = ("head", "low", "placed", "tail")

    def __init__(self, low: int = 0, tail: int = 0) -> None:
        self.low = self.head = low
        self.tail = tail
        self.placed = False  # in a front queue, or set aside by its site


class Host:
    """When a host may be contacted, and which of its sites wait for a contact of another to end."""

    __slots__ = ("asked", "due", "lease", "name", "pace", "sites", "waiting")

    def __init__(self, name: str) -> None:
        self.name = name
        self.due = 0.0
        self.asked = 0.0  # how much of that the host itself wants
        self.pace: Pace = FRESH
        self.lease: Lease | None = None
        self.waiting: list[Site] = []
        self.sites: list[Site] = []


class Site:
    """What the frontier holds of a site: a few numbers, and the next entries while it has a back queue."""

    __slots__ = (
        "aside", "back", "coming", "failures", "host", "lanes", "lease", "name", "parked", "queue", "until", "why",
    )  # fmt: skip

    def __init__(self, name: str, host: Host, priorities: int) -> None:
        self.name = name
        self.host = host
        self.lanes: list[Lane | None] = [None] * priorities
        self.until = 0.0  # it is closed until then, for ``why``
        self.why = ""
        self.failures = 0  # in a row, to connect
        self.back: deque[tuple[int, Entry]] | None = None
        self.queue = 0  # number of the back queue, a new one for each assignment
        self.coming = 0  # entries asked for and not yet supplied
        self.aside: tuple[int, ...] = ()  # priorities with more entries than the back queue has room for
        self.lease: Lease | None = None
        self.parked = False
        host.sites.append(self)

    @property
    def is_dead(self) -> bool:
        """Whether it could not be reached so often that its URLs are given up."""
        return self.failures >= GIVE_UP

    @property
    def due(self) -> float:
        """When it may be contacted next; at once where nobody is contacted for it."""
        return 0.0 if self.failures >= GIVE_UP else max(self.until, self.host.due)

    @property
    def queued(self) -> int:
        """Entries on disk, the leased one included."""
        return sum(lane.tail - lane.low for lane in self.lanes if lane is not None)

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing of it is in memory or under way: its record tells all."""
        return self.back is None and self.lease is None and not self.parked

    def waits_for(self, until: float) -> Idle:
        """Why it waits ``until`` then: it is closed, its host asks for peace, or it is our own gap."""
        if self.until >= until:
            return Idle(until, Why.CLOSED, self.host.name, self.why)
        return Idle(until, Why.BACKOFF if self.host.asked >= until else Why.DELAY, self.host.name)

    def lane(self, priority: int) -> Lane:
        """Return the lane of a priority, made when first used."""
        lane = self.lanes[priority - 1]
        if lane is None:
            lane = self.lanes[priority - 1] = Lane()
        return lane

    def record(self) -> SiteRecord:
        """Return what a restart needs."""
        lanes = tuple([(p, lane.low, lane.tail) for p, lane in enumerate(self.lanes, 1) if lane is not None])
        host = self.host
        return SiteRecord(
            VERSION, self.name, lanes, host.due, host.pace.crawl_delay, host.pace.usual, host.pace.failures,
            self.until, self.failures, self.why,
        )  # fmt: skip
