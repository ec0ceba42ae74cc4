"""What changed since a dataset was last written, for an indexer: documents to put and documents to delete.

A *cursor* names what was exported then: a file ``cursors/NAME`` in the store's folder that lists every row with a
fingerprint of what was known of it, in the order of keys. The next export walks through both at once, so that new,
changed and deleted documents are found exactly, whatever happened in between (imports of old captures, marks, prunings,
a split), in memory that does not grow. A row that is no longer chosen (it is gone, noindex, private) is deleted.

::

    cursors/20261116T233000-1f2e3d4c   zstd of: a line of JSON {"format": "fyke-cursor", "version": 1, "about": …,
                                       "parent": …}, then for each row: length of the key (2, little-endian), key,
                                       fingerprint (8)

What a fingerprint leaves out: when and from which address a page came, validators, how it changes; and the anchor texts
of others. A page that was asked for again and had not changed is no change.
"""

from __future__ import annotations

import io
import os
import re
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec
import xxhash
import zstandard

from fyke.errors import UNREADABLE, StorageError, UserError
from fyke.store.cells import Version
from fyke.store.exports.columns import Column, Derived, Record, document_id
from fyke.store.exports.dataset import Dataset, Progress
from fyke.store.store import Store
from fyke.url import Url

FOLDER = "cursors"
FORMAT, VERSION = "fyke-cursor", 1
KEPT = 100
"""Cursors that are kept; beyond, the oldest go."""
BEGINNINGS = ("", "0", "start", "none")
"""What a first export gives as its cursor."""
_STALE = 86_400.0
_NAME = re.compile(r"\d{8}T\d{6}-[0-9a-f]{8}")
_LENGTH = struct.Struct("<H")
_DIGEST = 8
_encode = msgspec.msgpack.Encoder().encode
_LEFT_OUT = {"fetched": 0.0, "etag": "", "last_modified": "", "address": "", "change": b"", "encoding": ""}


class _Header(msgspec.Struct, frozen=True):
    format: str
    version: int
    about: str
    parent: str


@dataclass(slots=True)
class Changes:
    """The changes of a store since ``since``: in a ``with``, iterate ``rows`` to its end, then ``commit``."""

    store: Store
    dataset: Dataset
    derived: Derived
    since: str
    upserts: int = 0
    deletes: int = 0
    _new: Path | None = None

    @property
    def columns(self) -> list[Column]:
        """``op`` (``upsert`` or ``delete``), then the dataset's; with id and url, whatever it has."""
        own = {column.name: column for column in self.dataset.columns}
        first = [Column("op", "string", lambda r: "upsert")]
        first += [Column("id", "string", lambda r: document_id(r.url))] if "id" not in own else []
        first += [Column("url", "string", lambda r: r.url)] if "url" not in own else []
        return [*first, *own.values()]

    def rows(self, progress: Progress | None = None) -> Iterator[list[Any]]:
        """Yield the changes as rows of ``columns``. Raises ``UserError`` for a cursor that is not this dataset's."""
        columns = self.columns
        self._new = self._folder() / f".{time.time_ns():x}-{os.getpid()}.new"
        with self._new.open("wb") as file, zstandard.ZstdCompressor(level=1).stream_writer(file) as out:
            parent = "" if self.since in BEGINNINGS else self.since
            out.write(msgspec.json.encode(_Header(FORMAT, VERSION, self._about(), parent)) + b"\n")
            source = self.dataset.source(self.store, self.derived)
            for row, key in self._walk(out, progress):
                if row is None:
                    self.deletes += 1
                    yield _deletion(columns, key)
                else:
                    self.upserts += 1
                    record = Record(row, source)
                    yield [column.value(record) for column in columns]

    def _walk(self, out: Any, progress: Progress | None) -> Iterator[tuple[Any, bytes]]:
        """Yield rows that are new or changed, None for those that are gone, and write down what is there."""
        old = self._old()
        known = next(old, None)
        where, signals = self.dataset.where, self.derived.signals
        for row in where.candidates(self.store, (), progress):
            while known is not None and known[0] < row.key:
                yield None, known[0]
                known = next(old, None)
            assert row.version is not None
            print_ = fingerprint(row.version)
            before = known[1] if known is not None and known[0] == row.key else b""
            if before != print_ and not where.is_shown(row, signals):
                continue  # where it was known, the loop above deletes it
            out.write(_LENGTH.pack(len(row.key)) + row.key + print_)
            if before:
                known = next(old, None)
            if before != print_:
                yield row, row.key
        while known is not None:
            yield None, known[0]
            known = next(old, None)

    def commit(self) -> str:
        """Keep the new cursor, and forget those before the one that was given; return its name."""
        assert self._new is not None
        digest = xxhash.xxh32_hexdigest(f"{self._new.name}{time.time_ns()}".encode())
        name = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{digest}"
        self._new.rename(self._folder() / name)
        self._new = None
        if self.since not in BEGINNINGS:  # who has this one has no use for its ancestors
            self._forget(self._header(self.since).parent)
        for left in self._folder().glob(".*.new"):  # of a run that was killed
            if time.time() - left.stat().st_mtime > _STALE:
                left.unlink(missing_ok=True)
        for surplus in sorted(path for path in self._folder().iterdir() if _NAME.fullmatch(path.name))[:-KEPT]:
            surplus.unlink(missing_ok=True)
        return name

    def __enter__(self) -> Changes:
        return self

    def __exit__(self, *reason: object) -> None:
        if self._new is not None:
            self._new.unlink(missing_ok=True)

    def _forget(self, name: str) -> None:
        while _NAME.fullmatch(name) and (self._folder() / name).is_file():
            parent = self._header(name).parent
            (self._folder() / name).unlink(missing_ok=True)
            name = parent

    def _folder(self) -> Path:
        folder = self.store.path / FOLDER
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StorageError(f"cannot make {folder}: {error.strerror}; a cursor is kept there") from None
        return folder

    def _about(self) -> str:
        """What this dataset is: a cursor serves the same one only."""
        what = (self.dataset.names, repr(self.dataset.where), self.dataset.text)
        return xxhash.xxh64_hexdigest(repr(what).encode())

    def _header(self, name: str) -> _Header:
        with self._opened(name) as file:
            return self._checked(file, name)

    def _opened(self, name: str) -> IO[bytes]:
        path = self.store.path / FOLDER / name
        if not _NAME.fullmatch(name) or not path.is_file():
            raise UserError(
                f"{name!r} is no cursor of {self.store.path}; give the one that the last export printed, "
                "or begin with --changes-since 0"
            )
        return io.BufferedReader(zstandard.open(path, "rb"), 1 << 16)

    def _checked(self, file: IO[bytes], name: str) -> _Header:
        try:
            header = msgspec.json.decode(file.readline(1 << 16), type=_Header)
        except (*UNREADABLE, zstandard.ZstdError):
            raise StorageError(f"the cursor {name} is damaged; begin again with --changes-since 0") from None
        if header.format != FORMAT or header.version > VERSION:
            raise StorageError(f"the cursor {name} is of another version of fyke; begin again with --changes-since 0")
        return header

    def _old(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield key and fingerprint of each row that was exported, in the order of keys."""
        if self.since in BEGINNINGS:
            return
        with self._opened(self.since) as file:
            if self._checked(file, self.since).about != self._about():
                raise UserError(
                    f"the cursor {self.since} is of an export with other columns, filters or text; "
                    "give the same ones, or begin again with --changes-since 0"
                )
            try:
                while head := file.read(_LENGTH.size):
                    size = _LENGTH.unpack(head)[0]
                    entry = file.read(size + _DIGEST)
                    if len(entry) != size + _DIGEST:
                        raise EOFError
                    yield entry[:size], entry[size:]
            except (zstandard.ZstdError, EOFError, struct.error):
                raise StorageError(f"the cursor {self.since} is damaged; begin again with --changes-since 0") from None


def fingerprint(version: Version) -> bytes:
    """Return what tells a changed document from an unchanged one."""
    meta = msgspec.structs.replace(version.meta, **_LEFT_OUT)
    try:
        packed = _encode((version.page, version.text, version.links, meta))
    except UnicodeEncodeError:
        packed = repr((version.page, version.text, version.links, meta)).encode("utf-8", "surrogatepass")
    return xxhash.xxh64_digest(packed)


def _deletion(columns: list[Column], key: bytes) -> list[Any]:
    url = Url.from_key(key).href
    plain = document_id(url)
    said = {"op": "delete", "url": url, "id": plain}
    return [said.get(column.name) for column in columns]
