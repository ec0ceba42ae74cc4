"""A tablet's RocksDB, which is made when it is first written to.

A store has a tablet for each core, and a crawl of one site writes to one or two of them. To make a RocksDB with all its
families takes 23 syncs of the disk and 20 ms of CPU: what nobody has written to is an empty folder, and reads as empty.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from fyke.store import rocks
from fyke.store.cells import FAMILIES, OWN

_LOOKS = 5
"""Times that a reader looks again at once; a writer changes its files some times a minute."""
_IN_MEMORY, _MUCH = "rocksdb.cur-size-active-mem-table", 2 << 20
"""What of a family is not in files yet, and the bytes of that from which on a file is worthwhile."""


class Database:
    """The column families of one RocksDB directory, for its writer (``open``) or beside it (``follow``)."""

    def __init__(self, path: Path, memory: rocks.Memory, db: Any = None) -> None:
        self.path = path
        self._memory = memory
        self._db = db
        self.follows = False
        """Whether somebody else writes it."""
        self.families: dict[str, Any] = dict.fromkeys((*FAMILIES, OWN), _NOTHING)
        self.handles: dict[str, Any] = {}
        """What a ``WriteBatch`` names families by."""
        if db is not None:
            self._name_families()

    @classmethod
    def open(cls, path: Path, memory: rocks.Memory) -> Database:
        """Open for writing; where there is none, ``make`` makes it. Raises ``StorageError``."""
        there = (path / "CURRENT").exists()
        return cls(path, memory, rocks.open_primary(path, memory) if there else None)

    @classmethod
    def follow(cls, path: Path, logs: Path, memory: rocks.Memory) -> Database:
        """Open beside its writer; ``logs`` is a directory of this reader alone. Raises ``StorageError``."""
        database = cls(path, memory, rocks.open_secondary(path, logs, memory))
        database.follows = True
        return database

    @property
    def is_made(self) -> bool:
        """Whether there is a RocksDB."""
        return self._db is not None

    def make(self) -> None:
        """Have it made, unless it is. Raises ``StorageError``."""
        if self._db is None:
            self._db = rocks.open_primary(self.path, self._memory)
            self._name_families()

    def _name_families(self) -> None:
        for family in (*FAMILIES, OWN):
            self.handles[family] = self._db.get_column_family_handle(family)
            self.families[family] = self._db.get_column_family(family)

    def items(
        self, family: str, start: bytes, end: bytes, once: bool = False
    ) -> Generator[tuple[bytes, bytes], None, None]:
        """Yield ``start`` ≤ key < ``end`` in order; an empty ``end`` is none. ``once``: ``rocks.until``."""
        column_family, options = self.families[family], rocks.until(end, once)
        item = None
        try:
            for item in column_family.items(from_key=start, read_opt=options):
                yield item
            # rocksdict's iteration ends at a damaged block as at the end: step there once more, and ask.
            final = column_family.iter(options)
            final.seek(start if item is None else item[0])
            if item is not None and final.valid():
                final.next()
            final.status()
        except Exception as error:
            raise rocks.explain(self.path, error) from None

    def few(self, family: str, start: bytes, end: bytes) -> list[tuple[bytes, bytes]]:
        """What ``items`` yields, for ranges of a few keys: a quarter of its cost where there are none."""
        found: list[tuple[bytes, bytes]] = []
        try:
            place = self.families[family].iter(rocks.until(end))
            place.seek(start)
            while place.valid():
                found.append((place.key(), place.value()))
                place.next()
            place.status()
        except Exception as error:
            raise rocks.explain(self.path, error) from None
        return found

    def write(self, raw: rocks.WriteBatch, sync: bool) -> None:
        """Write a batch. REQUIRES: it is made."""
        try:
            self._db.write(raw, rocks.SYNCED if sync else None)
        except Exception as error:
            raise rocks.explain(self.path, error) from None

    def sync(self) -> None:
        """Bring the log to the disk."""
        if self._db is not None:
            try:
                self._db.flush_wal(True)
            except Exception as error:
                raise rocks.explain(self.path, error) from None

    @property
    def sequence(self) -> int:
        """RocksDB's number of the last write that is done; 0 before the first."""
        return 0 if self._db is None else int(self._db.latest_sequence_number())

    def checkpoint(self, path: Path) -> None:
        """Make a copy at ``path``, which is new and on the same disk. REQUIRES: it is made."""
        rocks.checkpoint(self._db, path)

    def refresh(self) -> None:
        """Of a follower: see what the writer has written so far.

        RocksDB reads the list of files, and then the logs. What the writer moved from a log into a file in between is
        in neither of what was read: whoever finds that the list has grown looks again.
        """
        try:
            for _ in range(_LOOKS):
                before = self._listed()
                self._db.try_catch_up_with_primary()
                if self._listed() == before:
                    break
        except Exception as error:
            raise rocks.explain(self.path, error) from None

    def _listed(self) -> dict[str, int]:
        """The lists of files, and how long they are: they grow with every change."""
        found: dict[str, int] = {}
        for path in self.path.glob("MANIFEST-*"):
            with contextlib.suppress(FileNotFoundError):  # its writer begins another
                found[path.name] = path.stat().st_size
        return found

    def compact(self, rewrite: bool) -> None:
        """Merge all files of each family and drop what was deleted; ``rewrite`` also those that nothing overlaps."""
        if self._db is None:
            return
        try:
            for family in self.families.values():
                family.flush()
                family.compact_range(None, None, rocks.REWRITE if rewrite else rocks.COMPACT)
        except Exception as error:
            raise rocks.explain(self.path, error) from None

    def flush(self) -> None:
        """Move what was written from the log to files, so that the next one to open need not replay the log.

        A full disk may forbid that, and loses nothing: the log has it all.
        """
        if self._db is not None:
            for family in self.families.values():
                with contextlib.suppress(Exception):
                    family.flush()

    def ease(self) -> None:
        """Begin to move what is much in memory to files, and wait for nothing: for whoever has time now."""
        for family in self.families.values() if self._db is not None else ():
            if (family.property_int_value(_IN_MEMORY) or 0) > _MUCH:
                with contextlib.suppress(Exception):
                    family.flush(False)

    def close(self) -> None:
        """Flush and close. It is closed when nothing refers to it any more."""
        if self._db is not None:
            for family in (*self.families.values(), self._db):
                with contextlib.suppress(Exception):
                    family.close()
        self.handles.clear()
        self.families.clear()


class _Nothing:
    """A family before its first write, as rocksdict would show it, and an iteration over it."""

    @staticmethod
    def get(key: bytes | list[bytes]) -> list[None] | None:
        return [None] * len(key) if isinstance(key, list) else None

    @staticmethod
    def items(**_: object) -> Iterator[tuple[bytes, bytes]]:
        return iter(())

    def iter(self, _options: object) -> _Nothing:
        return self

    def seek(self, key: bytes) -> None:
        """There is nowhere to go."""

    @staticmethod
    def valid() -> bool:
        return False

    def status(self) -> None:
        """All is well."""


_NOTHING = _Nothing()
