"""The seen-set on disk: sorted runs, written in a thread once the table in memory is full, merged when there are many.

The files are of this process alone, and without names: a restart makes the seen-set anew from rows and queues.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import numpy as np

from fyke.frontier.seen import Keys, SeenSet, merge, sorted_run


class SeenRuns:
    """Keeps the memory of a seen-set bounded, beside the event loop."""

    def __init__(self, seen: SeenSet, folder: Path) -> None:
        self._seen = seen
        self._folder = folder
        self._work: asyncio.Future[Keys] | None = None
        self._merging: tuple[int, int] | None = None

    def relieve(self) -> None:
        """Take up what was written, and begin to write what there is too much of. Call it about once a second."""
        seen, work = self._seen, self._work
        if work is not None:
            if not work.done():
                return
            self._work = None
            if self._merging is None:
                seen.attach(work.result())
            else:
                seen.replace(self._merging, work.result())
        loop = asyncio.get_running_loop()
        self._merging = seen.merges()
        if seen.full:
            self._merging = None
            self._work = loop.run_in_executor(None, self._sort, seen.spill())
        elif self._merging is not None:
            one, two = (seen.runs[number] for number in self._merging)
            self._work = loop.run_in_executor(None, self._merge, one, two)

    async def finish(self) -> None:
        """Wait for what is being written."""
        if self._work is not None:
            await asyncio.wait([self._work])

    def _sort(self, table: Keys) -> Keys:
        return self._mapped(sorted_run(table))

    def _merge(self, one: Keys, two: Keys) -> Keys:
        return self._mapped(merge(one, two))

    def _mapped(self, run: Keys) -> Keys:
        with tempfile.TemporaryFile(dir=self._folder) as file:
            run.tofile(file)
            return np.memmap(file, np.uint64, "r")
