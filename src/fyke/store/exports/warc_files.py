"""WARC files in a row: one after another up to a size, each whole under its name when it is done, with its index.

A file that is being written is called ``NAME.open``; who finds one after a crash reads it up to its last whole record
(``fyke import`` does). The index, ``NAME.cdxj``, comes after the file. A crawl and an export write through this.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

import fyke
from fyke.errors import StorageError, UserError
from fyke.formats.cdxj import index_line
from fyke.formats.warc_write import Compression, WarcWriter, Written
from fyke.store.spool import SortedLines

OPEN = ".open"
CONFORMS_TO = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
Fields = Sequence[tuple[str, str]]


def about(fields: Fields = ()) -> Fields:
    """Return what a warcinfo record says: of the software and the format, then ``fields`` (operator, robots, …)."""
    said = [("software", f"fyke/{fyke.__version__}"), ("format", "WARC File Format 1.1"), ("conformsTo", CONFORMS_TO)]
    return [*said, *fields]


def new_id() -> str:
    """Return a fresh WARC-Record-ID."""
    return uuid.uuid4().urn


def compression_of(name: str) -> Compression:
    """How a file of that name is compressed."""
    return "gzip" if name.endswith(".gz") else "zstd" if name.endswith(".zst") else ""


def index_of(path: Path) -> Path:
    """Where the CDXJ index of a WARC file is written."""
    return path.with_name(f"{path.name}.cdxj")


class WarcFiles:
    """Writes records to files named by ``name_of(0)``, ``name_of(1)``, … A context manager."""

    def __init__(self, name_of: Callable[[int], Path], fields: Fields = (), *, max_size: int = 0) -> None:
        """``fields`` are said by each warcinfo record beside software and format.

        A file that has ``max_size`` bytes is followed by the next; 0 never.
        """
        self._name_of = name_of
        self._fields = fields
        self._max_size = max_size
        self._number = -1
        self._file: IO[bytes] | None = None
        self._writer: WarcWriter | None = None
        self._lines: SortedLines | None = None
        self.done: list[Path] = []
        """The files that are whole."""

    @property
    def writer(self) -> WarcWriter:
        """Where the next capture goes: ask for it anew for each."""
        if self._writer is not None and self._max_size and self._writer.offset >= self._max_size:
            self.finish()
        return self._writer or self._begin()

    def _begin(self) -> WarcWriter:
        self._number += 1
        path = self._name_of(self._number)
        if (index := index_of(path)).exists() and not path.exists():  # somebody else's, under a name that nobody gave
            raise UserError(f"{index} is there, but {path.name} is not; move it, or name another file")
        handle = os.open(path.with_name(path.name + OPEN), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        file = self._file = os.fdopen(handle, "wb")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            self._file = None
            raise StorageError(f"{path} is being written by another process; wait for it, or name another") from None
        os.ftruncate(handle, 0)
        lines = self._lines = SortedLines(path.parent)
        name = path.name

        def observe(written: Written) -> None:
            lines.add(index_line(written, name).encode())

        self._writer = WarcWriter(file, new_id, compression=compression_of(name), observe=observe)
        self._writer.warcinfo(time.time(), about(self._fields), name)
        return self._writer

    def flush(self) -> None:
        """Hand what was written to the system: it survives the end of this process."""
        if self._file is not None:
            self._file.flush()

    def sync(self) -> None:
        """Bring what was written to the disk."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())

    def finish(self) -> None:
        """Give the file its name, and its index."""
        if self._file is None or self._lines is None:
            return
        path = self._name_of(self._number)
        self.sync()
        index = index_of(path)
        half = index.with_name(index.name + OPEN)
        with half.open("wb") as file:
            file.writelines(self._lines)
        index.unlink(missing_ok=True)  # it is of another file from now on
        path.with_name(path.name + OPEN).rename(path)
        half.rename(index)
        self.done.append(path)
        self._forget()

    def abandon(self) -> None:
        """Remove the file that is being written."""
        if self._file is not None:
            path = self._name_of(self._number)
            for half in (path, index_of(path)):
                half.with_name(half.name + OPEN).unlink(missing_ok=True)
            self._forget()

    def _forget(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):  # a full disk refuses what is still held, and was told already
                self._file.close()
        if self._lines is not None:
            self._lines.close()
        self._file = self._writer = self._lines = None

    def __enter__(self) -> WarcFiles:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            _ = self.writer  # a file without a capture is a file, too
            self.finish()
        else:
            self.abandon()
