"""The table of contacts: when an IP address or host may be contacted again, shared by all agents of a machine.

It lives in a buffer that the caller gives, shared memory for several processes: slots of 24 bytes, a 64-bit hash and
two times. Calls run under the lock that the caller gives (one for the table; held for under a microsecond's work,
never over a fetch), but for the end of a claim that stands. A full neighbourhood counts as busy: never early.

- An **address** hands out slots: ``reserve`` returns when its caller may come, each a gap after the one before, and
  ``start`` says that it has come, or when to come where others came late. Nobody holds an address, so that a
  host that stalls holds up no other.
- A **host** is claimed for one contact at a time: ``claim`` and ``release``. It is its owner's but for redirects of
  other sites' robots.txt. A claim is itself a time, so that of an agent that dies runs out by itself; who takes its
  place lets go of what it held (``disown``).

Loopback has no key (None): no gap. IPv6 addresses count by their /64, which is one customer's.
"""

from __future__ import annotations

import ipaddress
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

import numpy as np
import xxhash

SLOT_BYTES = 24
_PROBES = 32


def table_bytes(addresses: int) -> int:
    """Return the size of a buffer for about ``addresses`` addresses at once: half of the slots stay free."""
    return SLOT_BYTES << max(2 * addresses - 1, _PROBES).bit_length()


@lru_cache(maxsize=4096)
def address_key(address: str) -> int | None:
    """Return the key of an IP address; None for loopback and for what is no address."""
    try:
        parsed = ipaddress.ip_address(address.strip("[]"))
    except ValueError:
        return None
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    network = parsed.packed if parsed.version == 4 else parsed.packed[:8]
    return None if parsed.is_loopback else xxhash.xxh3_64_intdigest(network) or 1


class ContactTable:
    """Times by key. REQUIRES: ``buffer`` is zeroed when first used, and of ``table_bytes`` size."""

    def __init__(self, buffer: memoryview, lock: AbstractContextManager[Any]) -> None:
        slots = len(buffer) // SLOT_BYTES
        assert slots.bit_count() == 1, "make the buffer with table_bytes"
        self._keys = buffer[: slots * 8].cast("Q")
        self._times = buffer[slots * 8 : slots * 16].cast("d")
        self._starts = buffer[slots * 16 : slots * SLOT_BYTES].cast("d")
        self._mask = slots - 1
        self._lock = lock

    def reserve(self, key: int, now: float, gap: float) -> float:
        """Return when ``key`` may be contacted; the next one who asks comes ``gap`` seconds later."""
        with self._lock:
            slot, busy = self._find(key, now)
            if slot < 0:
                return busy + gap  # for want of room: ask again then
            when = max(now, self._times[slot]) if self._keys[slot] == key else now
            if self._keys[slot] != key:
                self._keys[slot], self._starts[slot] = key, 0.0
            self._times[slot] = when + gap
            return when

    def start(self, key: int, now: float, gap: float, slot: float) -> float:
        """Say that a contact begins now and return 0, or return when it may, where the last began too lately.

        ``slot`` is when it was to come.
        """
        with self._lock:
            place, _ = self._find(key, now)
            if place >= 0 and self._keys[place] == key:
                allowed = self._starts[place] + gap
                if allowed > now:
                    return allowed
                self._begin(place, now, gap, now - slot)
            return 0.0

    def busy_until(self, key: int, now: float) -> float:
        """Return when a key that is claimed will be free; 0 where it is."""
        with self._lock:
            return self._find(key, now)[1]

    def late(self, key: int, now: float, gap: float) -> None:
        """Say that a contact that was started begins in truth only now."""
        with self._lock:
            slot, _ = self._find(key, now)
            if slot >= 0 and self._keys[slot] == key and now > self._starts[slot]:
                self._begin(slot, now, gap, now - self._starts[slot])

    def _begin(self, slot: int, now: float, gap: float, late: float) -> None:
        """A contact begins ``late``: by as much come those who ask from now on, else they would overtake each other."""
        behind = self._times[slot] + (late if late < gap else 0.0)
        self._starts[slot], self._times[slot] = now, max(behind, now + gap)

    def claim(self, key: int, now: float, hold: float, owner: int = 0) -> float:
        """Claim ``key`` for ``owner`` until ``now + hold`` and return 0, or return when it will be free."""
        with self._lock:
            slot, busy = self._find(key, now)
            if busy:
                return busy
            self._keys[slot], self._starts[slot] = key, -1.0 - owner
            self._times[slot] = now + hold
            return 0.0

    def disown(self, owner: int, free_at: float) -> None:
        """Let everything that ``owner`` has claimed be free at ``free_at``: nobody contacts it any more."""
        with self._lock:
            for slot in np.flatnonzero(np.asarray(self._starts) == -1.0 - owner).tolist():
                self._times[slot] = min(self._times[slot], free_at)

    def release(self, key: int, free_at: float) -> None:
        """Say when a claimed key may be contacted again."""
        mine = key & self._mask
        if self._keys[mine] == key and self._times[mine] > free_at:  # while the claim stands nobody else writes there
            self._times[mine] = free_at
            return
        with self._lock:
            slot = self._find(key, free_at)[0]
            if slot >= 0 and self._keys[slot] == key:
                self._times[slot] = free_at

    def close(self) -> None:
        """Let go of the buffer, so that shared memory can be closed."""
        self._keys.release()
        self._times.release()
        self._starts.release()

    def _probe(self, key: int) -> range | list[int]:
        start = key & self._mask
        if start + _PROBES <= self._mask + 1:
            return range(start, start + _PROBES)
        return [(start + step) & self._mask for step in range(_PROBES)]

    def _find(self, key: int, now: float) -> tuple[int, float]:
        """Return the slot for ``key``, and when it is free if it is not; (-1, when a neighbour is) for want of one."""
        slot = key & self._mask
        if self._keys[slot] == key:  # as nearly always
            free_at = self._times[slot]
            return slot, free_at if free_at > now else 0.0
        chosen, earliest = -1, float("inf")
        for slot in self._probe(key):
            known, free_at = self._keys[slot], self._times[slot]
            if known == key:
                return slot, free_at if free_at > now else 0.0
            if known == 0:
                return (slot if chosen < 0 else chosen), 0.0
            if free_at <= now:
                chosen = slot if chosen < 0 else chosen
            else:
                earliest = min(earliest, free_at)
        return chosen, 0.0 if chosen >= 0 else earliest
