"""Entries for later: URLs that are to be queued again when their time has come, on disk in the order of their times.

Of each tablet only a lower bound of its first time is in memory. An entry is a retry, which is a waiting URL like any
other, or a revisit.
"""

from __future__ import annotations

from collections.abc import Callable

from fyke.frontier.keys import Entry, later_due, later_from, later_key, later_range
from fyke.store import Batch, Tablet

REVISIT = "again"
"""The kind of an entry that is a revisit (fyke.crawl.revisit.revisits)."""
AT_ONCE = 1000
"""Entries of a tablet that are taken in one step, so that no step is long."""
_NEVER = float("inf")


class Later:
    """The entries for later of an agent's tablets."""

    def __init__(self, note: Callable[[float], None]) -> None:
        """``note(time)`` is told when the first of all is due, whenever that changes."""
        self.first = _NEVER
        """No entry is due before."""
        self.retries = 0
        """Entries that failed before."""
        self._firsts: dict[int, float] = {}
        """For each tablet, a lower bound of when its first entry is due: nothing stands before it."""
        self._note = note

    def restore(self, number: int, tablet: Tablet) -> None:
        """Take up what an earlier run left in a tablet."""
        for key, value in tablet.items("queue", *_everything()):
            self._firsts.setdefault(number, later_due(key))
            self.retries += _is_retry(Entry.decode(value))
        self._settle()

    def put(self, batch: Batch, number: int, entry: Entry, due: float) -> None:
        """Write an entry of tablet ``number``, which ``batch`` is of."""
        batch.put("queue", later_key(due, entry.url), entry.encode())
        self.retries += _is_retry(entry)
        self._firsts[number] = min(self._firsts.get(number, due), due)
        if due < self.first:
            self._settle()

    def due(self, now: float) -> list[int]:
        """Return the tablets that may have an entry whose time has come."""
        return [number for number, due in self._firsts.items() if due <= now]

    def take(self, batch: Batch, number: int, tablet: Tablet, now: float) -> list[Entry]:
        """Return the first entries whose time has come; ``batch`` deletes them."""
        first, end, last = later_from(self._firsts.pop(number)), later_range(now)[1], _everything()[1]
        taken: list[Entry] = []
        for key, value in tablet.items("queue", first, last):
            if key >= end or len(taken) == AT_ONCE:
                self._firsts[number] = later_due(key)
                break
            entry = Entry.decode(value)
            self.retries -= _is_retry(entry)
            taken.append(entry)
            batch.delete("queue", key)
        self._settle()
        return taken

    def _settle(self) -> None:
        self.first = min(self._firsts.values(), default=_NEVER)
        self._note(self.first)


def _is_retry(entry: Entry) -> bool:
    return bool(entry.tries) and entry.kind != REVISIT


def _everything() -> tuple[bytes, bytes]:
    first, _ = later_range(0.0)
    return first, bytes((first[0] + 1,))
