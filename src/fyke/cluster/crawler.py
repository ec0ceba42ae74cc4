"""What a node runs for its tablets: the supervisor with its agents, in a process of its own, without Ray.

The process is started once, and has everything loaded when a run comes: its agents are forked from it, and work within
a tenth of a second. So tablets can change their owner often (docs/cluster.md, "Take-over"). It has no threads and opens
no RocksDB, which no fork would survive. It ends when the node's process is gone.

Agents contact hosts as long as the node has a lease, and while there are permits; both stand in a small mapped file,
which the node writes::

    until (float64)     the lease, in fyke.clock.boot_time, which all processes of a machine share
    granted (int64)     permits that these agents may take in all
    members (int64)     the number of the set of nodes, which grows with each that comes or goes
"""

from __future__ import annotations

import contextlib
import gc
import mmap
import multiprocessing
import os
import signal
import struct
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from multiprocessing.connection import Connection
from pathlib import Path

from fyke.assemble import compile_ahead
from fyke.clock import boot_time
from fyke.crawl.capture import Processor, warm
from fyke.crawl.run import status as statuses
from fyke.crawl.run.board import Board
from fyke.crawl.run.ending import End
from fyke.crawl.run.limit import Bounds
from fyke.crawl.run.processes import Run, crawl_in_processes
from fyke.crawl.run.runtime import log, logging_to
from fyke.crawl.run.status import Status
from fyke.errors import FykeError
from fyke.outfit import AgentMaker
from fyke.spawning import safe_path

_PATIENCE = 10.0
_FORMAT = struct.Struct("<dqq")


class LeaseFile:
    """The lease and the permits of a node, seen by its agents."""

    def __init__(self, path: Path) -> None:
        """Open it, and make it where it is not there: without a lease."""
        with path.open("a+b") as file:
            file.truncate(_FORMAT.size)
            self._map = mmap.mmap(file.fileno(), _FORMAT.size)

    def write(self, until: float, granted: int, members: int) -> None:
        """Let the agents contact hosts until then, and take so many permits."""
        _FORMAT.pack_into(self._map, 0, until, granted, members)

    def read(self) -> tuple[float, int]:
        """Until when, and how many."""
        until, granted, _ = _FORMAT.unpack_from(self._map)
        return until, granted

    @property
    def members(self) -> int:
        """The number of the set of nodes."""
        return int(_FORMAT.unpack_from(self._map)[2])


@cache
def _file(path: Path) -> LeaseFile:
    return LeaseFile(path)


def has_lease(path: Path) -> bool:
    """Whether the node has a lease (``Run.lease``)."""
    return boot_time() < _file(path).read()[0]


def members(path: Path) -> int:
    """The number of the set of nodes (``Run.members``)."""
    return _file(path).members


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


class Crawler:
    """A node's side of the process: one run after another."""

    def __init__(self, lease: Path) -> None:
        """Start it; it loads what agents need meanwhile."""
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, lease))
        with safe_path():
            self.process.start()
        theirs.close()

    def begin(self, run: Run) -> None:
        """Start the agents of a run. Raises ``OSError`` where the process is gone."""
        self._pipe.send(run)

    def ended(self) -> str | None:
        """Why the last run has ended, empty where it was told to; None while it goes on."""
        try:
            if self._pipe.poll():
                said: str = self._pipe.recv()
                return said
        except (OSError, EOFError):
            pass
        return None if self.process.is_alive() else f"their process ended with status {self.process.exitcode}"

    def kill(self) -> None:
        """End the process at once; its agents end when they see that."""
        self.process.kill()
        self.process.join()
        self._pipe.close()

    def close(self) -> None:
        """Have it end. REQUIRES: no run is under way."""
        self._pipe.close()
        self.process.join(_PATIENCE)
        if self.process.is_alive():
            self.kill()


def serve(pipe: Connection, lease: Path) -> None:
    """Crawl for the tablets of each run that comes, until told to stop: what the process of a crawler does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    compile_ahead("crawls")
    warm(Processor(""))
    gc.freeze()  # what is loaded stays where it is, shared with the agents
    with contextlib.suppress(EOFError, OSError):  # the node is gone
        while True:
            run: Run = pipe.recv()
            run = replace(run, limit=partial(Leased, lease), members=partial(members, lease))
            pipe.send(_crawl(replace(run, lease=partial(has_lease, lease))))


def _crawl(run: Run) -> str:
    """Crawl until the board says that it is over; return what has ended it else."""
    parent = os.getppid()

    def watch(status: Status) -> None:
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)

    with logging_to(run.store, run.plan.settings.log_format, run.verbose):
        try:
            statuses.clear(run.store)
            if crawl_in_processes(run, AgentMaker, watch) is End.NO_ROOM:
                return f"the disk under {run.store} is full; free it, or lower --min-free-disk"
        except (FykeError, OSError) as error:
            log.error("the node's agents end: %s", error)
            return str(error) or type(error).__name__
    return ""
