"""A table of 64-bit keys with columns, in arrays: what is kept of millions of URLs without an object for each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fyke.topic import kernels

Keys = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]

_FIRST_BITS = 12
_MAX_LOAD = 0.7


class KeyTable:
    """Open addressing; a column is an array, new keys have 0 in each. REQUIRES of keys: uniform hashes, none 0."""

    def __init__(self, **columns: type[np.generic]) -> None:
        size = 1 << _FIRST_BITS
        self.keys: Keys = np.zeros(size, np.uint64)
        """By slot, 0 where there is none; its size is a power of two."""
        self.held = 0
        self.columns = {name: np.zeros(size, kind) for name, kind in columns.items()}
        """Arrays by slot; they are other arrays after ``slots`` has made room."""

    def __len__(self) -> int:
        return self.held

    def slots(self, keys: Keys) -> Ints:
        """Return the slot of each key; a key not met before gets one."""
        self.make_room(len(keys))
        slots = np.empty(len(keys), np.int64)
        self.held += kernels.find_slots(self.keys, keys, slots)
        return slots

    def make_room(self, count: int) -> None:
        """Have room for so many new keys."""
        while self.held + count > _MAX_LOAD * len(self.keys):
            self._grow()

    def items(self) -> tuple[Keys, Ints]:
        """Return all keys and their slots."""
        used = np.flatnonzero(self.keys)
        return self.keys[used], used

    def _grow(self) -> None:
        old, used = self.items()
        size = 2 * len(self.keys)
        self.keys = np.zeros(size, np.uint64)
        slots = np.empty(len(old), np.int64)
        kernels.find_slots(self.keys, old, slots)
        for name, values in self.columns.items():
            grown = np.zeros(size, values.dtype)
            grown[slots] = values[used]
            self.columns[name] = grown
