"""``--warc-dir``: WARC files written while the crawl goes on, each exchange before anything that follows from it.

Files are called ``fyke-TIME-PROCESS-NUMBER.warc.gz``, and ``….open`` while they are written; what stands in the store
stands in one of them, whatever the moment of a kill -9. What a killed process left open is cut behind its last whole
record and given its name by the next run. Every record is a gzip member of its own.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
import zlib
from pathlib import Path

from fyke.errors import StorageError
from fyke.store.exports.warc_files import OPEN, Fields, WarcFiles
from fyke.values import Fetched, Outcome

MAX_SIZE = 1_000_000_000
"""Bytes after which another file is begun, as archivists are used to."""
_STEP = 1 << 20


class WarcDir:
    """Takes the exchanges of one agent."""

    def __init__(self, folder: Path, fields: Fields = ()) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"{folder} cannot be made ({error.strerror}); name another with --warc-dir") from None
        recover(folder)
        name = f"fyke-{time.strftime('%Y%m%d%H%M%S', time.gmtime())}-{os.getpid()}"
        self._files = WarcFiles(lambda number: folder / f"{name}-{number:05}.warc.gz", fields, max_size=MAX_SIZE)

    def add(self, outcome: Outcome) -> None:
        """Write what went over the wire, unless it is to be asked for again."""
        exchange = outcome.exchange
        if exchange is not None and not exchange.incomplete:
            self._files.writer.exchange(outcome.url.href, exchange)

    def convert(self, outcome: Fetched, media_type: str, body: bytes) -> None:
        """Write another form of a document whose exchange was added."""
        self._files.writer.conversion(outcome.url.href, outcome.exchange.started, media_type, body)

    def flush(self) -> None:
        """Let what was added survive kill -9."""
        self._files.flush()

    def close(self) -> None:
        """Give the last file its name and its index."""
        self._files.finish()


def recover(folder: Path) -> None:
    """Give the files that killed processes left open their names, cut behind the last whole record."""
    for path in sorted(folder.glob(f"fyke-*.warc.gz{OPEN}")):
        with contextlib.ExitStack() as stack:
            try:
                file = stack.enter_context(path.open("r+b"))
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue  # somebody writes it, or another agent was quicker
            if not path.exists():
                continue
            end = _last_member(path)
            if end:
                os.ftruncate(file.fileno(), end)
                path.rename(path.with_name(path.name.removesuffix(OPEN)))
            else:
                path.unlink()


def _last_member(path: Path) -> int:
    """Return where the last whole gzip member of a file ends."""
    end = read = 0
    member = zlib.decompressobj(31)
    with path.open("rb") as file:
        while data := file.read(_STEP):
            read += len(data)
            while data:
                try:
                    member.decompress(data)
                except zlib.error:
                    return end
                if not member.eof:
                    break
                data = member.unused_data
                end = read - len(data)
                member = zlib.decompressobj(31)
    return end
