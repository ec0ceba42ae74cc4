"""Steps: puts and deletions that are collected before they are written; those of a tick are written together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from fyke.store.hosts import Totals
from fyke.store.rocks import WriteBatch

Put = Callable[[str, bytes, bytes], None]
"""Puts a value: family, key, value."""


class Steps:
    """What will be written, in order, and what it adds to the totals of hosts and to counters."""

    __slots__ = ("_bytes", "counts", "late", "steps", "totals")

    def __init__(self) -> None:
        self.steps: list[tuple[bytes, Any, str]] = []
        """In order: (key, value, family), where a value of None deletes, and (start, (end,), family) a range."""
        self._bytes = 0
        self.late: dict[Hashable, Callable[[Put], None]] = {}
        """``at_write``."""
        self.totals: dict[bytes, Totals] = {}
        self.counts: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.steps) + len(self.late)

    def size(self) -> int:
        """Bytes collected so far."""
        return self._bytes

    def at_write(self, name: Hashable, make: Callable[[Put], None]) -> None:
        """Have ``make(put)`` called when this is written: once for each ``name`` of all batches of one write."""
        self.late[name] = make

    def put(self, family: str, key: bytes, value: bytes) -> None:
        """Put a value."""
        self.steps.append((key, value, family))
        self._bytes += len(key) + len(value)

    def delete(self, family: str, key: bytes) -> None:
        """Delete a key."""
        self.steps.append((key, None, family))

    def delete_range(self, family: str, start: bytes, end: bytes) -> None:
        """Delete ``start`` ≤ key < ``end``, at a cost that does not depend on how many there are."""
        self.steps.append((start, (end,), family))

    def count(self, name: str, amount: int = 1) -> None:
        """Add to one of the tablet's counters."""
        self.counts[name] = self.counts.get(name, 0) + amount


def merged(
    batches: Sequence[Steps], handles: Mapping[str, Any]
) -> tuple[WriteBatch, dict[bytes, Totals], dict[str, int]]:
    """Return the steps of batches in their order, with what each host and counter gains."""
    raw = WriteBatch(raw_mode=True)
    totals: dict[bytes, Totals] = {}
    counts: dict[str, int] = {}
    late: dict[Hashable, Callable[[Put], None]] = {}
    put, delete = raw.put, raw.delete
    for batch in batches:
        for key, value, family in batch.steps:
            if value is None:
                delete(key, handles[family])
            elif type(value) is tuple:
                raw.delete_range(key, value[0], handles[family])
            else:
                put(key, value, handles[family])
        late.update(batch.late)
        for prefix, change in batch.totals.items():
            totals[prefix] = totals[prefix] + change if prefix in totals else change
        for name, amount in batch.counts.items():
            counts[name] = counts.get(name, 0) + amount
    for make in late.values():
        make(lambda family, key, value: put(key, value, handles[family]))
    return raw, totals, counts
