"""The gate: asked before every contact, so that no host and no address meets two agents at once or too soon.

The frontier keeps the gaps of its own hosts. What it cannot see passes here as well: redirects of robots.txt to hosts
that another agent owns, and a thousand hosts on one address. The table of contacts (fyke.frontier.contacts) is in the
memory of this process, or in a file that all agents of the machine map.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
from collections.abc import Callable
from pathlib import Path

import xxhash

from fyke.frontier.contacts import ContactTable, address_key, table_bytes
from fyke.frontier.politeness import Politeness

_CONTACTS = 100_000
"""Hosts and addresses within their gaps at once: 4 MB."""


class Gate:
    """Lets one contact of a host, and of an address, through at a time, with the least gap between them."""

    def __init__(
        self,
        politeness: Politeness,
        hold: float,
        path: Path | None = None,
        address_of: Callable[[str], str | None] = lambda host: None,
    ) -> None:
        """``hold`` is how long a fetch can take at most; ``path`` the file that several agents share.

        ``address_of`` tells the address of a host, if it is known already.
        """
        self._politeness = politeness
        self._hold = hold
        self._address_of = address_of
        size = table_bytes(_CONTACTS)
        self._file = None if path is None else path.open("a+b")
        if self._file is None:
            self._buffer: bytearray | mmap.mmap = bytearray(size)
        else:
            self._file.truncate(size)
            self._buffer = mmap.mmap(self._file.fileno(), size)
        self._table = ContactTable(memoryview(self._buffer), self._lock())

    def close(self) -> None:
        """Let go of the file."""
        self._table.close()
        if isinstance(self._buffer, mmap.mmap):
            self._buffer.close()
        if self._file is not None:
            self._file.close()

    def enter(self, host: str, now: float) -> float:
        """Claim a host and its address for a contact and return 0, or return when to try again."""
        key = _host_key(host)
        busy = self._table.claim(key, now, self._hold)
        if busy:
            return busy
        address = self._address(host)
        if address is not None:
            busy = self._table.claim(address, now, self._hold)
            if busy:
                self._table.release(key, now)
                return busy
        return 0.0

    def leave(self, host: str, finished: float) -> None:
        """Say that the contact ended: the least gaps begin."""
        self._table.release(_host_key(host), finished + self._politeness.delay)
        address = self._address(host)
        if address is not None:
            self._table.release(address, finished + min(self._politeness.address_delay, self._politeness.delay))

    def _address(self, host: str) -> int | None:
        address = self._address_of(host)
        return None if address is None else address_key(address)

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


def _host_key(host: str) -> int:
    return xxhash.xxh3_64_intdigest(host.encode(), 1) or 1
