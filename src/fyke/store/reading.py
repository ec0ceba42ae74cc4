"""Reading a tablet: keys of its families, and rows of their versions and cells.

A row is read by its version record, which names immutable cells, so what is read is one version and never a mixture; a
version that was pruned between the two reads is read anew.
"""

from __future__ import annotations

import weakref
from collections.abc import Generator, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fyke.errors import StorageError, SupersededError
from fyke.store import rocks
from fyke.store.cells import (
    ANCHOR,
    COLUMN,
    META,
    PAST,
    Anchor,
    Cell,
    Version,
    after,
    cell_key,
    split_column_key,
    unpack_anchors,
    unpack_version,
)
from fyke.store.database import Database
from fyke.store.row import PARTS, Row

if TYPE_CHECKING:
    from fyke.store.table import Table

_TRIES = 8


class RowReader:
    """The part of a tablet that reads."""

    def __init__(self, path: Path, db: Database) -> None:
        self.path = path
        self._db = db
        self._families = db.families
        self._meta_get = self._families[META].get
        self._iterations: weakref.WeakSet[Generator[Any, None, None]] = weakref.WeakSet()

    def stop_reading(self) -> None:
        """End iterations that are still open; nothing can be read afterwards."""
        for generator in list(self._iterations):
            generator.close()
        self._meta_get = _closed

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
                return self._row(row, version, {part: self._cell(row, version, part) for part in parts})
            except _PrunedError:
                if self._db.follows:  # it may have seen the files of one family, and not yet those of another
                    self._db.refresh()
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
                found.append(self._row(row, version, values_))
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
                yield self._row(row, version, cells)
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

    def _row(self, row: bytes, version: Version, cells: dict[str, bytes | None]) -> Row:
        return Row(cast("Table", self), row, version, cells)


def _closed(key: bytes) -> None:
    raise StorageError("the store is closed; open it again")


class _PrunedError(Exception):
    """A cell that its version names is gone: the version was superseded and pruned meanwhile."""
