"""What a node runs for its tablets: today's supervisor with its agents, in a process of its own, without Ray.

It ends cleanly at SIGTERM, and when the node's process is gone. Agents contact hosts as long as the node has a lease,
and while there are permits; both stand in a small mapped file, which the node writes::

    until (float64)     the lease, in fyke.clock.boot_time, which all processes of a machine share
    granted (int64)     permits that these agents may take in all
"""

from __future__ import annotations

import mmap
import os
import signal
import struct
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from fyke.assemble import compile_ahead
from fyke.clock import boot_time
from fyke.crawl.run import status as statuses
from fyke.crawl.run.board import Board
from fyke.crawl.run.limit import Bounds
from fyke.crawl.run.processes import Run, crawl_apart
from fyke.crawl.run.runtime import log, logging_to
from fyke.crawl.run.status import Status
from fyke.errors import FykeError
from fyke.outfit import agent_maker

FAILED = 71
"""The exit status of a crawler that has said why it ends, in the file ``FAILURE`` of the store."""
FAILURE = "crawler.failure"
_FORMAT = struct.Struct("<dq")


class LeaseFile:
    """The lease and the permits of a node, seen by its agents."""

    def __init__(self, path: Path) -> None:
        """Open it, and make it where it is not there: without a lease."""
        with path.open("a+b") as file:
            file.truncate(_FORMAT.size)
            self._map = mmap.mmap(file.fileno(), _FORMAT.size)

    def write(self, until: float, granted: int) -> None:
        """Let the agents contact hosts until then, and take so many permits."""
        _FORMAT.pack_into(self._map, 0, until, granted)

    def read(self) -> tuple[float, int]:
        """Until when, and how many."""
        until, granted = _FORMAT.unpack_from(self._map)
        return until, granted


class Leased:
    """The permits of an agent (fyke.crawl.run.limit): none without a lease, and no more than the node was granted."""

    reached = False  # the head says when it is

    def __init__(self, path: Path, board: Board, left: Bounds) -> None:
        self._file, self._board = LeaseFile(path), board
        self.fetched: Callable[[], int] = lambda: 0

    def take(self) -> bool:
        """Take a permit for a visit; return whether there was one."""
        until, granted = self._file.read()
        return boot_time() < until and self._board.permits(1, Bounds(granted))

    def give_back(self) -> None:
        """Give back the permit of a visit that came to no document."""
        self._board.permits(-1, Bounds())

    def spend(self) -> None:
        """Note that a visit with a permit came to a document."""
        self._board.permits(0, Bounds(), 1)


def serve(run: Run, lease: Path) -> None:
    """Crawl for the tablets ``run.owned`` until told to stop: what the process of a crawler does."""
    parent = os.getppid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    (run.store / FAILURE).unlink(missing_ok=True)

    def watch(status: Status) -> None:
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)

    run = replace(run, limit=partial(Leased, lease))
    with logging_to(run.store, run.plan.settings.log_format, run.verbose):
        try:
            statuses.clear(run.store)
            compile_ahead("crawls")
            crawl_apart(run, agent_maker, watch)
        except (FykeError, OSError) as error:
            log.error("the node's agents end: %s", error)
            (run.store / FAILURE).write_text(str(error), encoding="utf-8")
            sys.exit(FAILED)
