"""The gate: passed before every contact, so that no host and no address meets us too soon or too often.

The frontier keeps the gaps of its own hosts. What it cannot see passes here as well: redirects of robots.txt to hosts
that another agent owns, and a thousand hosts on one address. The table of contacts (fyke.frontier.contacts) is in the
memory of this process, or in a file that all agents of the machine map. A host that must wait for its address is
told when to come, once: slots are handed out in turn, so nobody starves.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import xxhash

from fyke.frontier.contacts import ContactTable, address_key, table_bytes
from fyke.frontier.politeness import Politeness

_CONTACTS = 100_000
"""Hosts and addresses within their gaps at once: 4 MB."""


AT_ONCE = 8
"""Contacts of one address at once: a few hosts that stall do not block a content network."""
_RETRY = 1.0  # seconds until an address with so many contacts is looked at again
_LATE = 0.1
"""Of a gap: by so much an answer may be later than the quickest of its address to count as a request that came late."""
_ADDRESSES = 10_000  # whose quickest answers are remembered


class Gate:
    """Lets one contact of a host through at a time, and those of an address one after another."""

    def __init__(
        self,
        politeness: Politeness,
        hold: float,
        path: Path | None = None,
        address_of: Callable[[str], str | None] = lambda host: None,
        owner: int = 0,
        machines: Callable[[int], int] = lambda key: 1,
        lease: Callable[[], bool] = lambda: True,
    ) -> None:
        """``hold`` is how long a fetch can take at most; ``path`` the file that several agents share.

        ``address_of`` tells the address of a host, if it is known already; ``owner`` tells this agent from others;
        ``machines`` how many machines use an address (fyke.crawl.politeness.addresses), 0 where that is asked for;
        ``lease`` whether anybody may be contacted now: one of many machines loses its hosts where nobody hears of it.
        """
        self._lease = lease
        self._machines = machines
        self._politeness = politeness
        self._hold = hold
        self._address_of = address_of
        self._owner = owner
        self._promised: dict[str, float] = {}  # hosts that were told when to come
        self._open: dict[int, int] = {}  # contacts under way, by address
        self._entered: dict[str, int | None] = {}  # hosts that are contacted, and at which address
        self._sent: dict[str, float] = {}  # when their requests were sent
        self._quickest: dict[int, float] = {}  # the least seconds from a request to the end of its answer, by address
        size = table_bytes(_CONTACTS)
        self._file = None if path is None else path.open("a+b")
        if self._file is None:
            self._buffer: bytearray | mmap.mmap = bytearray(size)
        else:
            self._file.truncate(size)
            self._buffer = mmap.mmap(self._file.fileno(), size)
        self._table = ContactTable(memoryview(self._buffer), self._lock())

    def take_over(self, now: float) -> None:
        """Begin in the place of an agent that died, perhaps: what it held is free after the least gap."""
        self._table.disown(self._owner, now + self._politeness.delay)

    def close(self) -> None:
        """Let go of the file."""
        self._table.close()
        if isinstance(self._buffer, mmap.mmap):
            self._buffer.close()
        if self._file is not None:
            self._file.close()

    def enter(self, host: str, now: float) -> float:
        """Begin a contact of a host at its address and return 0, or return when to try again; ``leave`` ends it."""
        if not self._lease():
            return now + _RETRY
        own, address = _host_key(host), self._address_of(host)
        key = None if address is None else address_key(address)
        if key is not None:
            if busy := self._table.busy_until(own, now):  # before a slot of its address is used up
                return busy
            if wait := self._wait_for_address(host, key, now):
                return wait
        if busy := self._table.claim(own, now, self._hold, self._owner):
            return busy
        if key is not None:
            self._open[key] = self._open.get(key, 0) + 1
        self._entered[host] = key
        return 0.0

    def sent(self, host: str, now: float) -> None:
        """Say that a request of a contact is sent only now: the next one at its address counts from here."""
        key, gap = self._entered.get(host), self._address_gap(host)
        if key is not None and gap > 0:
            self._sent[host] = now
            self._table.late(key, now, gap * max(self._machines(key), 1))

    def leave(self, host: str, finished: float) -> None:
        """Say that the contact ended: the least gap of the host begins. REQUIRES: it was entered."""
        wanted = self._politeness.of(host) if self._politeness.hosts else self._politeness
        self._table.release(_host_key(host), finished + wanted.delay)
        key, sent = self._entered.pop(host, None), self._sent.pop(host, 0.0)
        if key is not None:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]
            if sent:
                self._heed_lateness(host, key, sent, finished)

    def _heed_lateness(self, host: str, key: int, sent: float, finished: float) -> None:
        """Let the gap of an address count from when its server may have seen the request, where that was a bit late.

        A busy server's clock says that the next one came early, else. What takes much longer than usual is a slow page.
        """
        if len(self._quickest) >= _ADDRESSES:
            self._quickest.clear()
        took, gap = finished - sent, self._address_gap(host)
        quickest = self._quickest[key] = min(took, self._quickest.get(key, took))
        if 0 < took - quickest <= _LATE * gap:
            self._table.late(key, finished - quickest, gap * max(self._machines(key), 1))

    def _address_gap(self, host: str) -> float:
        wanted = self._politeness.of(host) if self._politeness.hosts else self._politeness
        return min(wanted.address_delay, wanted.delay)

    def _wait_for_address(self, host: str, key: int, now: float) -> float:
        gap = self._address_gap(host)
        if gap <= 0:
            return 0.0
        machines = self._machines(key)
        if not machines:
            return now + _RETRY
        gap *= machines
        if self._open.get(key, 0) >= AT_ONCE:
            return now + _RETRY
        slot = self._promised.pop(host, None)
        if slot is None or slot < now - gap:  # who comes late queues up again
            slot = self._table.reserve(key, now, gap)
        if slot <= now:
            slot = self._table.start(key, now, gap, slot)
        if slot:
            self._promised[host] = slot
        return slot

    def _lock(self) -> contextlib.AbstractContextManager[None]:
        file = self._file
        return contextlib.nullcontext() if file is None else _FileLock(file.fileno())


class _FileLock(contextlib.AbstractContextManager[None]):
    """A lock between processes; it can be entered again and again."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __enter__(self) -> None:
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX)

    def __exit__(self, *reason: object) -> None:
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN)


@lru_cache(maxsize=4096)
def _host_key(host: str) -> int:
    return xxhash.xxh3_64_intdigest(host.encode(), 1) or 1
