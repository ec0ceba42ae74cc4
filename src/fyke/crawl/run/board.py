"""The board: a mapped file where agents and their supervisor see each other, a page of 4 KiB for each agent.

::

    page 0   supervisor: stop (8 bytes), permits taken (8), documents that came of them (8), their bytes (8)
    page n   agent n − 1: beat, idle until (float64), letters received, pages (int64),
             then the URLs that are being worked on (length, 2 bytes; UTF-8, a line each); at its end the
             threshold of revisits (float64)

A number is written by one process alone, permits excepted, which are counted under the file's lock. Nothing here is
needed after a crash but the URLs: one of them may have caused it.
"""

from __future__ import annotations

import fcntl
import math
import mmap
import struct
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from fyke.crawl.run.limit import Bounds

_PAGE = 4096
_NUMBERS = struct.Struct("<ddqq")
_URL = _NUMBERS.size + 2
_PERMITS = struct.Struct("<qqqq")
_THRESHOLD = struct.Struct("<d")
ROOM = _PAGE - _URL - _THRESHOLD.size
"""Bytes of URLs that an agent can work on at once."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What an agent shows of itself."""

    beat: float = 0.0
    idle_until: float = 0.0
    """When it will next have something to do; 0 while it has."""
    received: int = 0
    """Letters of other agents that it has taken in since it started."""
    pages: int = 0


def board_bytes(agents: int) -> int:
    """The size of a board's file."""
    return _PAGE * (agents + 1)


class Board:
    """The board of a crawl of ``agents`` agents. The supervisor makes it, the agents open it."""

    def __init__(self, path: Path, agents: int) -> None:
        self.path = path
        self.agents = agents
        size = board_bytes(agents)
        self._file = path.open("r+b" if path.exists() and path.stat().st_size == size else "w+b")
        self._file.truncate(size)
        self._map = mmap.mmap(self._file.fileno(), size)

    def close(self) -> None:
        """Let go of the file."""
        self._map.close()
        self._file.close()

    def clear(self) -> None:
        """Begin anew: no stop, no permits, no signs; the URLs stay until they are read."""
        self._map[0:_PAGE] = bytes(_PAGE)
        for agent in range(self.agents):
            self.show(agent, Heartbeat())

    def show(self, agent: int, sign: Heartbeat) -> None:
        """Write an agent's sign."""
        _NUMBERS.pack_into(self._map, _PAGE * (agent + 1), sign.beat, sign.idle_until, sign.received, sign.pages)

    def sign(self, agent: int) -> Heartbeat:
        """Read an agent's sign."""
        return Heartbeat(*_NUMBERS.unpack_from(self._map, _PAGE * (agent + 1)))

    def work_on(self, agent: int, hrefs: Iterable[str]) -> None:
        """Note what is being worked on, as far as there is room (``ROOM`` bytes)."""
        text = "\n".join(hrefs).encode()[:ROOM]
        start = _PAGE * (agent + 1) + _URL - 2
        self._map[start : start + 2 + len(text)] = len(text).to_bytes(2, "little") + text

    def working_on(self, agent: int) -> tuple[str, ...]:
        """What an agent was working on when it last said."""
        start = _PAGE * (agent + 1) + _URL - 2
        size = int.from_bytes(self._map[start : start + 2], "little")
        return tuple(self._map[start + 2 : start + 2 + size].decode("utf-8", "replace").split())

    def threshold(self, agent: int, value: float) -> float:
        """Show an agent's threshold of revisits; return the geometric mean of all that are shown."""
        ends = [_PAGE * (number + 2) - _THRESHOLD.size for number in range(self.agents)]
        _THRESHOLD.pack_into(self._map, ends[agent], value)
        shown = [found for end in ends if (found := _THRESHOLD.unpack_from(self._map, end)[0]) > 0]
        return math.exp(math.fsum(map(math.log, shown)) / len(shown)) if shown else value

    def stop(self) -> None:
        """Ask every agent to stop."""
        self._map[0:8] = (1).to_bytes(8, "little")

    @property
    def stopping(self) -> bool:
        """Whether the agents are to stop."""
        return self._map[0] != 0

    def permits(self, taken: int, bounds: Bounds, spent: int = 0, size: int = 0) -> bool:
        """Take (below 0: give back) a permit, and note documents and their bytes; return whether it was there."""
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            stop, before, documents, bytes_ = _PERMITS.unpack_from(self._map, 0)
            granted: bool = taken <= 0 or (before + taken <= bounds.documents and not self._over(bounds))
            _PERMITS.pack_into(
                self._map, 0, stop, before + taken if granted else before, documents + spent, bytes_ + size
            )
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)
        return granted

    @property
    def used(self) -> tuple[int, int]:
        """Permits that are taken, and documents that have come of them."""
        _, taken, documents, _ = _PERMITS.unpack_from(self._map, 0)
        return taken, documents

    def reached(self, bounds: Bounds) -> bool:
        """Whether the agents have come to what they may come to."""
        return bool(_PERMITS.unpack_from(self._map, 0)[2] >= bounds.documents) or self._over(bounds)

    def _over(self, bounds: Bounds) -> bool:
        return bool(_PERMITS.unpack_from(self._map, 0)[3] >= bounds.bytes) or time.time() >= bounds.until


class SharedLimit:
    """The permits of all agents of a board (fyke.crawl.run.limit)."""

    def __init__(self, board: Board, bounds: Bounds) -> None:
        self._board, self._bounds, self._told = board, bounds, 0
        self.fetched: Callable[[], int] = lambda: 0
        """How many bytes have come to this agent; whoever makes it sets this."""

    def take(self) -> bool:
        """Take a permit for a visit; return whether there was one."""
        return self._board.permits(1, self._bounds)

    def give_back(self) -> None:
        """Give back the permit of a visit that came to no document."""
        self._board.permits(-1, self._bounds)

    def spend(self) -> None:
        """Note that a visit with a permit came to a document."""
        before, self._told = self._told, self.fetched()
        self._board.permits(0, self._bounds, 1, self._told - before)

    @property
    def reached(self) -> bool:
        """Whether as many documents or bytes have come as are wanted, or the time is over; then all agents stop."""
        reached = self._board.reached(self._bounds)
        if reached:
            self._board.stop()
        return reached
