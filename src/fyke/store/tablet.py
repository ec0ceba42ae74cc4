"""A tablet: the rows of a range of hosts, with the crawl's queue, hosts, seen-set and outbox, as one RocksDB.

A tablet has one writer (a process that opened it with ``Tablet.open``) and any number of readers
(``Tablet.follow``: RocksDB secondaries, which see what was written when they last called ``refresh``).
Reading (store/reading.py) never blocks writing.
A tablet that nobody has written to has no RocksDB yet: its first write makes it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from fyke.errors import StorageError, UserError
from fyke.store import rocks
from fyke.store.batch import Batch
from fyke.store.bodies import BODY_RECORD
from fyke.store.cells import (
    META,
    OWN,
    PAGE,
    Anchor,
    Change,
    Page,
    host_prefix,
    pack_heads,
)
from fyke.store.codec import MAX_CELL, Codec, Codecs, as_sent
from fyke.store.database import Database
from fyke.store.hosts import Ledger
from fyke.store.reading import RowReader
from fyke.store.steps import merged
from fyke.store.training import Trainer


class Tablet(RowReader):
    """One RocksDB directory. ``codecs`` says how each of ``page``, ``text`` and ``links`` is compressed."""

    def __init__(
        self, path: Path, db: Database, shared: Codecs, codecs: dict[str, Codec], keep_versions: int = 0
    ) -> None:
        super().__init__(path, db)
        self.keep_versions = keep_versions
        self.lock = threading.RLock()
        """Held while a row is read, changed and written: two changes of a row cannot interleave."""
        self.trainer: Trainer | None = None
        self.body_of: Callable[[str, bytes], bytes] = lambda href, digest: b""
        """Finds the bodies of other tablets' documents (``Table.body_of``); the store knows them."""
        self.bequeath: Callable[[list[tuple[bytes, bytes, int]]], object] = len
        """Gives bodies that are about to go to other pages that need them (``bodies.bequeath``), as the store does."""
        self._codecs = codecs
        self._shared = shared
        self.handles = db.handles
        self.ledger = Ledger(db.families)
        self._first: list[Batch] = []  # what is written first of all, while nothing was written yet; else empty

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

        For what says nothing about an empty tablet, and would make all of them where one is needed.
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

    def flush(self) -> None:
        """Move what was written to files, as closing does; of several tablets at once in threads of their own."""
        self._db.flush()

    def ease(self) -> None:
        """Begin to move what is much in memory to files, so that closing has less to do; waits for nothing."""
        self._db.ease()

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
        identity = self._dictionary(row, media_type) if codec is Codec.DICTIONARY else b""
        if not identity and family != PAGE and codec is Codec.DICTIONARY:
            codec = Codec.ZSTD  # what is made of pages can be made again: the quick level, as for texts
        return self._shared.encode(codec, data, identity, self.ledger.dictionary)

    def encode_page(self, row: bytes, media_type: str, page: Page) -> tuple[bytes, int]:
        """Compress a page; return its cell and size. Where no dictionary helps, the server's compression will do."""
        coded, heads = page.coded, pack_heads(page)
        size = len(heads) + len(page.body)
        if coded is not None and size <= MAX_CELL and not self._compresses(row, media_type):
            return as_sent(heads, coded), size
        return self.encode(PAGE, row, media_type, heads + page.body), size

    def _compresses(self, row: bytes, media_type: str) -> bool:
        """Whether pages are compressed by us: with a dictionary, or as the settings say."""
        return self._codecs.get(PAGE) is not Codec.DICTIONARY or self._dictionary(row, media_type) != b""

    def _dictionary(self, row: bytes, media_type: str) -> bytes:
        """The id of the dictionary of a row's host, or else of its type; empty where there is none."""
        host = self.ledger.host(host_prefix(row))
        if host.dictionary or host.tried or not media_type:
            return host.dictionary
        return self.ledger.media_type(media_type).dictionary

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
        self.stop_reading()
        self._db.close()
