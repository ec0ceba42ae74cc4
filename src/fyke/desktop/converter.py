"""The process beside this one that converts what is dangerous or large; it is ended while there is nothing to do."""

from __future__ import annotations

import os
import time

from fyke.formats.media_types import BY_ENDING
from fyke.reading.conversion import Source, convert_here, is_isolated
from fyke.values import Document
from fyke.workers.conversion import needs_worker
from fyke.workers.pool import Pool

IDLE_WORKER = 60.0
"""Seconds after which the process that converts is ended: it holds more memory than all the rest."""


class Converter:
    """Converts what is dangerous or large in one process beside this one: never two heavy conversions at once."""

    def __init__(self) -> None:
        self._pool: Pool | None = None
        self._used = 0.0

    def __call__(self, source: Source) -> Document:
        """Return the document of a source."""
        if not needs_worker(source):
            return convert_here(source)
        if self._pool is None:
            self._pool = Pool(1)
        try:
            return self._pool.convert(source)
        finally:
            self._used = time.monotonic()

    def wake(self, path: str) -> None:
        """Have the process started by the time that a file is read, if it is one that needs it."""
        kind = claimed_type(path)
        if self._pool is None and kind and is_isolated(Source(b"", kind)):
            self._pool, self._used = Pool(1), time.monotonic()
            self._pool.submit(Source(b"x", kind))

    def rest(self) -> None:
        """End the process if it was not needed for a while."""
        if time.monotonic() - self._used > IDLE_WORKER:
            self.close()

    def close(self) -> None:
        """End the process."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None


def claimed_type(path: str) -> str:
    """Return the type that a name claims; nothing where it claims none."""
    return BY_ENDING.get(os.path.splitext(path)[1].lower().lstrip("."), "")
