"""Host statistics and counters: what a tablet knows of its hosts, exact across kill -9.

Each batch carries the new totals of the hosts and counters that it changes, so they are right whenever its rows
are there. Records in use stay in memory; the rest is read when it is next touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from fyke.errors import UNREADABLE, StorageError
from fyke.store.cells import OWN, after
from fyke.store.codec import dictionary_id

KEPT = 20_000
"""Host records kept in memory, a few hundred bytes each."""

HOST_RECORD, TYPE_RECORD, COUNTER_RECORD, DICTIONARY_RECORD = b"h", b"t", b"c", b"d"
"""The first byte of a key of the own family; then the host's prefix, the content type, the name or the id."""
WAITING_RECORD = b"u"
"""Then the key of a page: a revisit that waits for its payload (fyke.store.imports.revisits)."""


class Totals(msgspec.Struct, array_like=True):
    """What is stored of one host: rows, page cells, their bytes before and after compression, the dictionary in use.

    Of a content type, only the dictionary.
    """

    rows: int = 0
    pages: int = 0
    size: int = 0
    stored: int = 0
    dictionary: bytes = b""
    tried: int = 0
    """Pages there were when a dictionary was last trained or found useless."""

    def __add__(self, change: Totals) -> Totals:
        rows, pages = self.rows + change.rows, self.pages + change.pages
        return Totals(rows, pages, self.size + change.size, self.stored + change.stored)


@dataclass(frozen=True, slots=True)
class HostStats:
    """The statistics of one host, as a report shows them."""

    name: str
    rows: int
    pages: int
    size: int
    stored: int
    dictionary: str
    """Id of the dictionary in use; empty where there is none."""

    @property
    def ratio(self) -> float:
        """How many times smaller the pages became; 0 where there are none."""
        return self.size / self.stored if self.stored else 0.0


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Totals).decode


def decode_totals(data: bytes) -> Totals:
    """Read a record of totals. Raises ``StorageError`` for anything else."""
    try:
        return _decode(data)
    except UNREADABLE as error:
        raise StorageError(f"the totals of a host are damaged ({error}); run `fyke store check`") from None


class Ledger:
    """The records of one tablet's own family. REQUIRES: its writer's lock is held for anything that changes."""

    def __init__(self, families: Mapping[str, Any]) -> None:
        self._families = families
        self._totals: dict[bytes, Totals] = {}
        self._counters: dict[str, int] = {}

    def host(self, prefix: bytes) -> Totals:
        """The totals of the host whose rows begin with ``prefix``."""
        return self._get(HOST_RECORD + prefix)

    def media_type(self, media_type: str) -> Totals:
        """The record of a content type."""
        return self._get(TYPE_RECORD + media_type.encode())

    def counter(self, name: str) -> int:
        """The counter's value, 0 where it was never counted."""
        value = self._counters.get(name)
        if value is None:
            stored = self._families[OWN].get(COUNTER_RECORD + name.encode())
            value = int.from_bytes(stored, "big", signed=True) if stored else 0
            self._counters[name] = value
        return value

    def add(self, batch: Any, handle: Any, prefix: bytes, change: Totals) -> None:
        """Add ``change`` to a host's totals and put the new ones into ``batch``."""
        key = HOST_RECORD + prefix
        totals = self._get(key)
        totals.rows += change.rows
        totals.pages += change.pages
        totals.size += change.size
        totals.stored += change.stored
        batch.put(key, _encode(totals), handle)

    def set_dictionary(self, batch: Any, handle: Any, group: bytes | str, identity: bytes) -> bytes:
        """Name the dictionary of a host's prefix or of a content type from now on; return the one that goes.

        ``b""`` names none: what there was stays, and so nothing goes.
        """
        key = TYPE_RECORD + group.encode() if isinstance(group, str) else HOST_RECORD + group
        totals = self._get(key)
        former = b""
        if identity and identity != totals.dictionary:
            former, totals.dictionary = totals.dictionary, identity
        totals.tried = max(totals.pages, 1)
        batch.put(key, _encode(totals), handle)
        return former

    def count(self, batch: Any, handle: Any, name: str, amount: int) -> None:
        """Add to a counter and put the new value into ``batch``."""
        value = self._counters[name] = self.counter(name) + amount
        batch.put(COUNTER_RECORD + name.encode(), value.to_bytes(8, "big", signed=True), handle)

    def forget(self) -> None:
        """Drop what is in memory: after a failed write the disk alone is right."""
        self._totals.clear()
        self._counters.clear()

    def dictionary(self, identity: bytes) -> bytes | None:
        """The bytes of a dictionary."""
        found: bytes | None = self._families[OWN].get(DICTIONARY_RECORD + identity)
        return found

    def put_dictionary(self, batch: Any, handle: Any, dictionary: bytes) -> bytes:
        """Put a dictionary into ``batch``; return its id."""
        identity = dictionary_id(dictionary)
        batch.put(DICTIONARY_RECORD + identity, dictionary, handle)
        return identity

    def hosts(self) -> Iterator[HostStats]:
        """Statistics of every host, in the order of row keys."""
        for key, totals in self._records(HOST_RECORD):
            yield _stats(key[3:-1].decode(), totals)

    def types(self) -> Iterator[tuple[str, bytes]]:
        """Every content type that has a dictionary, with its id."""
        for key, totals in self._records(TYPE_RECORD):
            yield key[1:].decode(), totals.dictionary

    def counters(self) -> dict[str, int]:
        """Every counter."""
        return {
            key[1:].decode(): int.from_bytes(value, "big", signed=True) for key, value in self._scan(COUNTER_RECORD)
        }

    def dictionaries(self) -> Iterator[tuple[bytes, bytes]]:
        """Every dictionary: id and bytes."""
        for key, value in self._scan(DICTIONARY_RECORD):
            yield key[1:], value

    def _records(self, kind: bytes) -> Iterator[tuple[bytes, Totals]]:
        for key, value in self._scan(kind):
            yield key, decode_totals(value)

    def _scan(self, kind: bytes) -> Iterator[tuple[bytes, bytes]]:
        end = after(kind)
        for key, value in self._families[OWN].items(from_key=kind):
            if key >= end:
                return
            yield key, value

    def _get(self, key: bytes) -> Totals:
        totals = self._totals.get(key)
        if totals is None:
            stored = self._families[OWN].get(key)
            totals = decode_totals(stored) if stored else Totals()
            if len(self._totals) >= KEPT:
                self._totals.pop(next(iter(self._totals)))
            self._totals[key] = totals
        return totals


def _stats(name: str, totals: Totals) -> HostStats:
    return HostStats(name, totals.rows, totals.pages, totals.size, totals.stored, totals.dictionary.hex())
