"""A tablet: the rows of a range of hosts, with the crawl's queue, hosts, seen-set and outbox, as one RocksDB.

A tablet has one writer (a process that opened it with ``Tablet.open``) and any number of readers
(``Tablet.follow``: RocksDB secondaries, which see what was written when they last called ``refresh``).
Reading never blocks writing. A row is read by its version record, which names immutable cells, so what
is read is one version and never a mixture; a version that was pruned between the two reads is read anew.
A tablet that nobody has written to has no RocksDB yet: its first write makes it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

from fyke.errors import StorageError, SupersededError, UserError
from fyke.store import rocks
from fyke.store.batch import Batch
from fyke.store.bodies import BODY_RECORD
from fyke.store.cells import (
    ANCHOR,
    COLUMN,
    META,
    OWN,
    PAST,
    Anchor,
    Cell,
    Change,
    Version,
    after,
    cell_key,
    host_prefix,
    split_column_key,
    unpack_anchors,
    unpack_version,
)
from fyke.store.codec import MAX_CELL, Codec, Codecs
from fyke.store.database import Database
from fyke.store.hosts import Ledger
from fyke.store.row import PARTS, Row
from fyke.store.steps import merged
from fyke.store.training import Trainer

_TRIES = 8


class Tablet:
    """One RocksDB directory. ``codecs`` says how each of ``page``, ``text`` and ``links`` is compressed."""

    def __init__(
        self, path: Path, db: Database, shared: Codecs, codecs: dict[str, Codec], keep_versions: int = 0
    ) -> None:
        self.path = path
        self.keep_versions = keep_versions
        self.lock = threading.RLock()
        """Held while a row is read, changed and written: two changes of a row cannot interleave."""
        self.trainer: Trainer | None = None
        self.body_of: Callable[[str, bytes], bytes] = lambda href, digest: b""
        """Finds the bodies of other tablets' documents (``Table.body_of``); the store knows them."""
        self.bequeath: Callable[[list[tuple[bytes, bytes, int]]], object] = len
        """Gives bodies that are about to go to other pages that need them (``bodies.bequeath``), as the store does."""
        self._db = db
        self._codecs = codecs
        self._shared = shared
        self._families = db.families
        self.handles = db.handles
        self.ledger = Ledger(db.families)
        self._first: list[Batch] = []  # what is written first of all, while nothing was written yet; else empty
        self._meta_get = self._families[META].get
        self._iterations: weakref.WeakSet[Generator[Any, None, None]] = weakref.WeakSet()

    @classmethod
    def open(
        cls, path: Path, memory: rocks.Memory, shared: Codecs, codecs: dict[str, Codec], keep_versions: int = 0
    ) -> Tablet:
        """Open or create a tablet as its only writer. Raises ``StorageError`` where somebody else writes it."""
        tablet = cls(path, Database.open(path, memory), shared, codecs, keep_versions)
        if Codec.DICTIONARY in codecs.values():
            tablet.trainer = Trainer(tablet)
        if tablet.get(OWN, BODY_RECORD) is None and not any(True for _ in tablet.items(META)):
            batch = tablet.batch()
            batch.put(OWN, BODY_RECORD, b"")  # of an empty tablet every page is listed
            if tablet._db.is_made:
                tablet.write(batch)
            else:
                tablet._first.append(batch)
        return tablet

    @classmethod
    def follow(cls, path: Path, logs: Path, memory: rocks.Memory, shared: Codecs) -> Tablet:
        """Open a tablet to read beside its writer; ``logs`` is a directory of this reader alone."""
        return cls(path, Database.follow(path, logs, memory), shared, {})

    @property
    def was_written(self) -> bool:
        """Whether anything was ever written to the tablet."""
        return not self._first

    # ---- writing

    def batch(self) -> Batch:
        """Return an empty batch for this tablet."""
        return Batch(self)

    def write(self, batch: Batch, sync: bool = False) -> None:
        """Write all of ``batch`` or nothing. On return it survives kill -9, and with ``sync`` a power cut too.

        A batch is written once. Raises ``StorageError`` where the disk is full or fails.
        """
        self.write_all((batch,), sync)

    def write_all(self, batches: Sequence[Batch], sync: bool = False) -> None:
        """Write batches that are complete, in their order, as one (``write``)."""
        if self._first:
            if not any(len(batch) or batch.totals or batch.counts for batch in batches):
                return
            self.begin()
        raw, totals, counts = merged(batches, self.handles)
        with self.lock:
            own, ledger = self.handles[OWN], self.ledger
            for prefix, change in totals.items():
                ledger.add(raw, own, prefix, change)
            for name, amount in counts.items():
                ledger.count(raw, own, name, amount)
            self._write(raw, sync)
        if self.trainer is not None:
            self.trainer.consider(totals)

    def write_first(self, batch: Batch) -> None:
        """Write ``batch``; to a tablet that nobody has written to, durably before the first that is written to it.

        For what says nothing about an empty tablet, and would make sixteen of them where one is needed.
        """
        with self.lock:
            if self._first:
                self._first.append(batch)
            else:
                self.write(batch)

    def begin(self) -> None:
        """Have the tablet be there, as with its first write; at once where it is."""
        with self.lock:
            if first := self._first:
                self._db.make()
                self._meta_get = self._families[META].get
                self._first = []
                try:
                    self.write_all(first, sync=True)
                except StorageError:
                    self._first = first
                    raise

    def put(self, row: bytes, change: Change, stamp: int, sync: bool = False) -> int:
        """Put one version of a row; return its stamp (``Batch.put_row``)."""
        with self.lock:
            batch = self.batch()
            stamp = batch.put_row(row, change, stamp)
            self.write(batch, sync)
        return stamp

    def put_anchors(self, row: bytes, source_tablet: int, group: int, anchors: Sequence[Anchor]) -> None:
        """Put one group of anchor texts (``Batch.put_anchors``)."""
        batch = self.batch()
        batch.put_anchors(row, source_tablet, group, anchors)
        self.write(batch)

    def delete(self, row: bytes) -> None:
        """Delete a row with its history, its anchors and its columns."""
        with self.lock:
            batch = self.batch()
            batch.delete_row(row)
            self.write(batch)

    def put_dictionary(self, group: bytes | str, dictionary: bytes | None) -> None:
        """Store a dictionary and use it for a host (the prefix of its rows) or a content type from now on.

        None notes that training was tried in vain.
        """
        with self.lock:
            self.begin()
            raw, own = rocks.WriteBatch(raw_mode=True), self.handles[OWN]
            # One batch: the dictionary is there whenever its name is, and before any cell that needs it.
            identity = b"" if dictionary is None else self.ledger.put_dictionary(raw, own, dictionary)
            former = self.ledger.set_dictionary(raw, own, group, identity)
            self._write(raw, sync=True)
            self._shared.retire(former)

    def _write(self, raw: rocks.WriteBatch, sync: bool) -> None:
        try:
            self._db.write(raw, sync)
        except StorageError:
            self.ledger.forget()
            raise

    def sync(self) -> None:
        """Bring the log to the disk: what was written before survives a power cut. About once a second is right."""
        self._db.sync()
        rocks.HEAP.trim()

    @property
    def sequence(self) -> int:
        """RocksDB's number of the last write that is done: it grows with each, and is the tablet's age in writes."""
        return self._db.sequence

    def checkpoint(self, path: Path) -> None:
        """Make a copy of the tablet at ``path``, which is new and on the same disk, as it is now."""
        self.begin()
        self._db.checkpoint(path)

    def encode(self, family: str, row: bytes, media_type: str, data: bytes) -> bytes:
        """Compress a value of ``family`` as the settings say, with the host's dictionary or else the type's."""
        if len(data) > MAX_CELL:
            raise UserError(f"a {family} of {len(data):,} bytes is too large to store; the largest has {MAX_CELL:,}")
        codec = self._codecs.get(family, Codec.ZSTD)
        identity = b""
        if codec is Codec.DICTIONARY:
            host = self.ledger.host(host_prefix(row))
            identity = host.dictionary
            if not identity and media_type and not host.tried:
                identity = self.ledger.media_type(media_type).dictionary
        return self._shared.encode(codec, data, identity, self.ledger.dictionary)

    def decode(self, value: bytes) -> bytes:
        """Decompress a value of any family that ``encode`` made."""
        return self._shared.decode(value, self.ledger.dictionary)

    def dictionary_room(self) -> int:
        """Bytes that a new dictionary may have so that all those in use can be kept at hand."""
        return self._shared.room()

    def sampled(self, row: bytes, stamp: int, media_type: str) -> None:
        """Note that a page was put: it may help to train its type's dictionary."""
        if self.trainer is not None:
            self.trainer.sampled(row, stamp, media_type)

    # ---- reading keys

    def get(self, family: str, key: bytes) -> bytes | None:
        """Return the value of a key of any family."""
        try:
            value: bytes | None = self._families[family].get(key)
        except Exception as error:
            raise rocks.explain(self.path, error) from None
        return value

    def multi_get(self, family: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of many keys of a family, in their order; faster than one by one."""
        try:
            values: list[bytes | None] = self._families[family].get(list(keys))
        except Exception as error:
            raise rocks.explain(self.path, error) from None
        return values

    def items(self, family: str, start: bytes = b"", end: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Yield ``start`` ≤ key < ``end`` in order, as of the first ``next``; an empty ``end`` is none.

        For a queue, ``start`` is its low-water mark: passing deleted keys costs as much as passing live ones.
        """
        generator = self._db.items(family, start, end)
        self._iterations.add(generator)
        return generator

    def few(self, family: str, start: bytes, end: bytes) -> list[tuple[bytes, bytes]]:
        """What ``items`` yields, for ranges of a few keys: a quarter of its cost where there are none."""
        return self._db.few(family, start, end)

    # ---- reading rows

    def version(self, row: bytes) -> Version | None:
        """Return the row's current version, None where it has none."""
        try:
            value = self._meta_get(row)
        except Exception as error:
            raise rocks.explain(self.path, error) from None
        return None if value is None else self._version(row, value)

    def version_at(self, row: bytes, stamp: int) -> Version | None:
        """Return the version that was current at ``stamp``."""
        current = self.version(row)
        if current is None or current.stamp <= stamp:
            return current
        for _, value in self.items(PAST, cell_key(row, stamp), row + b"\1"):
            return self._version(row, value)
        return None

    def versions(self, row: bytes) -> list[Version]:
        """Return all versions of the row, the current one first."""
        current = self.version(row)  # before the past: what is superseded meanwhile shows up there
        if current is None:
            return []
        past = [self._version(row, value) for _, value in self.few(PAST, row + b"\0", row + b"\1")]
        return [current, *(version for version in past if version.stamp < current.stamp)]

    def read(self, row: bytes, at: int | None = None, parts: Sequence[str] = PARTS) -> Row | None:
        """Return the row as it is, or as it was at the stamp ``at``: one version, with the ``parts`` asked for."""
        for _ in range(_TRIES):
            version = self.version(row) if at is None else self.version_at(row, at)
            if version is None:
                return None
            try:
                return Row(self, row, version, {part: self._cell(row, version, part) for part in parts})
            except _PrunedError:
                continue
        raise StorageError(f"a cell of {row[2:]!r} in {self.path} is missing; run `fyke store check`")

    def multi_read(self, rows: Sequence[bytes], parts: Sequence[str] = PARTS) -> list[Row | None]:
        """Return many rows, in their order; faster than one by one."""
        values = self.multi_get(META, rows)
        versions = [None if v is None else self._version(row, v) for row, v in zip(rows, values, strict=True)]
        cells: list[dict[str, bytes | None]] = [dict.fromkeys(parts) for _ in rows]
        for part in parts:
            wanted = [i for i, version in enumerate(versions) if version is not None and getattr(version, part)]
            keys = [cell_key(rows[i], getattr(versions[i], part)) for i in wanted]
            for i, value in zip(wanted, self.multi_get(part, keys) if keys else (), strict=True):
                cells[i][part] = value
        found: list[Row | None] = []
        for row, version, values_ in zip(rows, versions, cells, strict=True):
            if version is None:
                found.append(None)
            elif any(values_[part] is None and getattr(version, part) for part in parts):
                found.append(self.read(row, parts=parts))
            else:
                found.append(Row(self, row, version, values_))
        return found

    def scan(self, start: bytes = b"", end: bytes = b"", parts: Sequence[str] = PARTS) -> Iterator[Row]:
        """Yield the rows ``start`` ≤ row < ``end`` in order, as of the first ``next``, with the ``parts`` asked for.

        The cells are read in the order of the keys, beside the versions, so a scan costs no seek per row.
        """
        generator = self._scan(start, end, parts)
        self._iterations.add(generator)
        return generator

    def _scan(self, start: bytes, end: bytes, parts: Sequence[str]) -> Generator[Row, None, None]:
        items = self._db.items
        versions = items(META, start, end, once=True)
        first = next(versions, None)  # fixes what is seen of the versions before what is seen of the cells
        followers = [(part, attrgetter(part), rocks.follow(items(part, start, end, once=True))) for part in parts]
        for _, _, follower in followers:
            next(follower)
        for row, value in () if first is None else chain((first,), versions):
            version = self._version(row, value)
            cells: dict[str, bytes | None] = {}
            for part, stamp_of, follower in followers:
                stamp = stamp_of(version)
                if stamp:
                    cells[part] = cell = follower.send(cell_key(row, stamp))
                    if cell is None:
                        break  # pruned meanwhile
            else:
                yield Row(self, row, version, cells)
                continue
            found = self.read(row, parts=parts)
            if found is not None:
                yield found

    def cell(self, row: bytes, version: Version, part: str) -> bytes:
        """Return the compressed value of one part that ``version`` names. Raises ``StorageError`` if it is gone."""
        try:
            value = self._cell(row, version, part)
        except _PrunedError:
            value = None
        if value is None:
            raise SupersededError(f"the {part} of {row[2:]!r} was superseded while it was read; get the row again")
        return value

    def anchors(self, row: bytes) -> list[Anchor]:
        """Return the anchor texts that point at the row, the newest of each source, in the order of sources.

        Neither the page nor its version is read.
        """
        newest: dict[str, Anchor] = {}
        for _, value in self.few(ANCHOR, row + b"\0", row + b"\1"):
            for anchor in unpack_anchors(value):
                known = newest.get(anchor.source)
                if known is None or anchor.when >= known.when:
                    newest[anchor.source] = anchor
        return [newest[source] for source in sorted(newest)]

    def cells(self, row: bytes, column: str = "", at: int | None = None, versions: int = 1) -> list[Cell]:
        """Return the sparse columns of a row (or one of them): of each the newest ``versions`` cells up to ``at``."""
        prefix = b"%b\0%b" % (row, column.encode() + b"\0" if column else b"")
        found: list[Cell] = []
        seen: dict[str, int] = {}
        for key, value in self.items(COLUMN, prefix, after(prefix)):
            name, stamp = split_column_key(row, key)
            if (at is None or stamp <= at) and seen.get(name, 0) < versions:
                seen[name] = seen.get(name, 0) + 1
                found.append(Cell(name, stamp, value))
        return found

    def _version(self, row: bytes, value: bytes) -> Version:
        try:
            return unpack_version(value)
        except StorageError as error:
            raise StorageError(f"the version record of {row[2:]!r} in {self.path} cannot be read: {error}") from None

    def _cell(self, row: bytes, version: Version, part: str) -> bytes | None:
        stamp = getattr(version, part)
        if not stamp:
            return None
        value = self.get(part, cell_key(row, stamp))
        if value is None:
            raise _PrunedError
        return value

    # ---- living

    def refresh(self) -> None:
        """Of a follower: see what the writer has written so far."""
        self._db.refresh()

    def compact(self, rewrite: bool = False) -> None:
        """Merge all files of each family and drop what was deleted; ``rewrite`` also those that nothing overlaps."""
        self._db.compact(rewrite)

    def close(self) -> None:
        """Finish trainings, bring the log to the disk and end iterations that are still open."""
        if self.trainer is not None:
            self.trainer.finish()
            self.trainer = None
        for generator in list(self._iterations):
            generator.close()
        self._meta_get = _closed
        self._db.close()


def _closed(key: bytes) -> None:
    raise StorageError("the store is closed; open it again")


class _PrunedError(Exception):
    """A cell that its version names is gone: the version was superseded and pruned meanwhile."""
