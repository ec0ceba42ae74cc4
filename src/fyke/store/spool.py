"""What an export must remember, on disk: sorted lines, and which payloads were written; memory does not grow with it.

Both live in files without a name, which go with the process however it ends.
"""

from __future__ import annotations

import heapq
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

RUN = 8 << 20
"""Bytes of lines that are sorted at once: some 25,000 lines of an index."""
_CACHE_KB = 16_384


class SortedLines:
    """Lines put in any order and read in the order of their bytes: sorted runs on disk, then merged."""

    def __init__(self, folder: Path | None = None) -> None:
        """``folder`` has room for all lines; the system's temporary directory where it is not given."""
        self._folder = folder
        self._held: list[bytes] = []
        self._size = 0
        self._runs: list[IO[bytes]] = []

    def add(self, line: bytes) -> None:
        """Take a line that ends with a newline and holds no other."""
        self._held.append(line)
        self._size += len(line) + 40
        if self._size > RUN:
            run: IO[bytes] = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed by ``close``
            self._runs.append(run)
            self._held.sort()
            run.writelines(self._held)
            run.seek(0)
            self._held, self._size = [], 0

    def __iter__(self) -> Iterator[bytes]:
        """Yield all lines. REQUIRES: it is called once, and nothing is added afterwards."""
        self._held.sort()
        return heapq.merge(*self._runs, self._held)

    def close(self) -> None:
        """Forget everything."""
        for run in self._runs:
            run.close()
        self._runs, self._held = [], []


class Payload(NamedTuple):
    """Where a payload was written."""

    url: str
    date: float
    id: str


class Payloads:
    """Which payloads were written, by digest."""

    def __init__(self, folder: Path | None = None) -> None:
        """``folder`` has room for about 150 bytes a payload; the system's temporary directory where it is not given."""
        name = ""
        if folder is not None:
            handle, name = tempfile.mkstemp(dir=folder, prefix=".fyke-payloads-")
            os.close(handle)
        try:
            self._db = sqlite3.connect(name, isolation_level=None)
            self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._db.execute("PRAGMA journal_mode=OFF")
            self._db.execute("PRAGMA synchronous=OFF")
            self._db.execute(f"PRAGMA cache_size=-{_CACHE_KB}")
            self._db.execute("CREATE TABLE payloads (digest BLOB PRIMARY KEY, url, date, id) WITHOUT ROWID")
            self._db.execute("BEGIN")
        finally:
            if name:
                Path(name).unlink()

    def get(self, digest: bytes) -> Payload | None:
        """Return where the payload was first written; None where it was not."""
        found = self._db.execute("SELECT url, date, id FROM payloads WHERE digest = ?", (digest,)).fetchone()
        return None if found is None else Payload(*found)

    def put(self, digest: bytes, payload: Payload) -> None:
        """Note that a payload is written now."""
        self._db.execute("INSERT OR IGNORE INTO payloads VALUES (?, ?, ?, ?)", (digest, *payload))

    def close(self) -> None:
        """Forget everything."""
        self._db.close()
