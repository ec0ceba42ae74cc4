"""One host in the frontier: its lanes on disk, its back queue and lease in memory, its pace."""

from __future__ import annotations

from collections import deque

from fyke.frontier.keys import VERSION, Entry, HostRecord
from fyke.frontier.leases import Lease
from fyke.frontier.politeness import FRESH, Pace


class Lane:
    """A host's FIFO of one priority: entries from ``low`` are on disk, those before ``head`` in memory or leased."""

    __slots__ = ("head", "low", "placed", "tail")

    def __init__(self, low: int = 0, tail: int = 0) -> None:
        self.low = self.head = low
        self.tail = tail
        self.placed = False  # in a front queue, or set aside by its host


class Host:
    """What the frontier holds of a host: a few numbers, and the next entries while it has a back queue."""

    __slots__ = ("aside", "back", "coming", "due", "lanes", "lease", "name", "pace", "parked", "queue")

    def __init__(self, name: str, priorities: int) -> None:
        self.name = name
        self.lanes: list[Lane | None] = [None] * priorities
        self.due = 0.0
        self.pace: Pace = FRESH
        self.back: deque[tuple[int, Entry]] | None = None
        self.queue = 0  # number of the back queue, a new one for each assignment
        self.coming = 0  # entries asked for and not yet supplied
        self.aside: tuple[int, ...] = ()  # priorities with more entries than the back queue has room for
        self.lease: Lease | None = None
        self.parked = False

    def lane(self, priority: int) -> Lane:
        """Return the lane of a priority, made when first used."""
        lane = self.lanes[priority - 1]
        if lane is None:
            lane = self.lanes[priority - 1] = Lane()
        return lane

    def record(self) -> HostRecord:
        """Return what a restart needs."""
        lanes = tuple((p, lane.low, lane.tail) for p, lane in enumerate(self.lanes, 1) if lane is not None)
        pace = self.pace
        return HostRecord(VERSION, self.name, lanes, self.due, pace.crawl_delay, pace.usual, pace.failures)
