"""The table of contacts: when an IP address (or host) may be contacted again, shared by all agents of a machine.

It lives in a buffer that the caller gives, shared memory for several processes: slots of 16 bytes, a 64-bit hash and a
time. Each agent owns its hosts, so only addresses are contended; ``claim`` and ``release`` run under the lock that the
caller gives (one for the table; held for under a microsecond's work, never over a fetch). A claim is itself a
time, so that of an agent that dies runs out by itself. A full neighbourhood counts as busy: never early.

Use: ``busy = table.claim(key, now, hold)``; if ``busy`` is 0 the address is ours until ``now + hold``, and after
the fetch ``table.release(key, finished + gap)``; else try again at ``busy``. Loopback has no key (None): no gap.
"""

from __future__ import annotations

import ipaddress
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

import xxhash

SLOT_BYTES = 16
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
    return None if parsed.is_loopback else xxhash.xxh3_64_intdigest(parsed.packed) or 1


class ContactTable:
    """Times by key. REQUIRES: ``buffer`` is zeroed when first used, and of ``table_bytes`` size."""

    def __init__(self, buffer: memoryview, lock: AbstractContextManager[Any]) -> None:
        slots = len(buffer) // SLOT_BYTES
        assert slots.bit_count() == 1, "make the buffer with table_bytes"
        self._keys = buffer[: slots * 8].cast("Q")
        self._times = buffer[slots * 8 : slots * SLOT_BYTES].cast("d")
        self._mask = slots - 1
        self._lock = lock

    def claim(self, key: int, now: float, hold: float) -> float:
        """Claim ``key`` until ``now + hold`` and return 0, or return when it will be free."""
        with self._lock:
            slot, busy = self._find(key, now)
            if busy:
                return busy
            self._keys[slot] = key
            self._times[slot] = now + hold
            return 0.0

    def release(self, key: int, free_at: float) -> None:
        """Say when a claimed key may be contacted again."""
        with self._lock:
            for slot in self._probe(key):
                if self._keys[slot] == key:
                    self._times[slot] = free_at
                    return

    def close(self) -> None:
        """Let go of the buffer, so that shared memory can be closed."""
        self._keys.release()
        self._times.release()

    def _probe(self, key: int) -> range | list[int]:
        start = key & self._mask
        if start + _PROBES <= self._mask + 1:
            return range(start, start + _PROBES)
        return [(start + step) & self._mask for step in range(_PROBES)]

    def _find(self, key: int, now: float) -> tuple[int, float]:
        """Return the slot for ``key`` and 0, or when it or, for want of a slot, a neighbour is free."""
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
