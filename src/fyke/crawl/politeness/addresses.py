"""How many machines use an address: a small table that the agents of a machine and its node share, in a mapped file.

The gap between two contacts of an address is multiplied by the number of machines that use it, so all of them together
are as polite as one. Agents note when they use an address; the node tells the head, and writes how many machines do.
An address that was not used of late waits for that answer before its first contact::

    65,536 slots: last used (float64, fyke.clock.boot_time), then 65,536 numbers of machines (uint8; 0: not known)

An address has the slot of its hash: two that share one are met more slowly than they need be, and never more quickly.
"""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fyke.clock import boot_time

SLOTS = 1 << 16
RECENT = 60.0
"""Seconds for which an address counts as used."""
_SIZE = SLOTS * 9


class AddressUse:
    """The table of a machine."""

    def __init__(self, path: Path) -> None:
        """Open it, and make it where it is not there."""
        with path.open("a+b") as file:
            file.truncate(_SIZE)
            self._map = mmap.mmap(file.fileno(), _SIZE)
        self._used: npt.NDArray[np.float64] = np.frombuffer(self._map, np.float64, SLOTS)
        self._machines: npt.NDArray[np.uint8] = np.frombuffer(self._map, np.uint8, SLOTS, SLOTS * 8)
        self._told: npt.NDArray[np.bool_] = np.zeros(SLOTS, np.bool_)

    def machines(self, key: int) -> int:
        """Note that an address is about to be contacted; return how many machines use it, 0 where nobody knows yet."""
        slot = key % SLOTS
        self._used[slot] = boot_time()
        return int(self._machines[slot])

    # ---- for the node

    def recent(self) -> bytes:
        """The slots of addresses that are used here, as bits; those that are not any more are not known again."""
        found = self._used > boot_time() - RECENT
        self._machines[~found] = 0
        return np.packbits(found).tobytes()

    def learn(self, told: bytes, counts: bytes) -> None:
        """Take the numbers of machines for what ``recent`` told.

        They count from the second answer on: by then the other machines have heard of this one.
        """
        mine = np.unpackbits(np.frombuffer(told, np.uint8)).astype(np.bool_)
        numbers = np.zeros(SLOTS, np.uint8)
        numbers[mine] = np.frombuffer(counts, np.uint8)
        known = mine & self._told
        self._machines[known] = numbers[known]
        self._told = mine


def count(tables: list[bytes]) -> npt.NDArray[np.uint8]:
    """How many of these tables have each slot."""
    total = np.zeros(SLOTS, np.int64)
    for table in tables:
        total += np.unpackbits(np.frombuffer(table, np.uint8))
    return np.minimum(total, 255).astype(np.uint8)


def counts_for(table: bytes, total: npt.NDArray[np.uint8]) -> bytes:
    """The counts of the slots that a table has, one byte each."""
    return total[np.unpackbits(np.frombuffer(table, np.uint8)).astype(np.bool_)].tobytes()
