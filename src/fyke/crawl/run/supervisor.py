"""The supervisor: starts an agent for each core, starts those anew that die or hang, and knows when all are done.

All is done by facts: every agent rests (nothing under way, its outboxes empty, nothing due within the patience) and has
received nothing since its beat before. A letter under way is in its sender's outbox, so then there is none.
A page that an agent works on as it dies is suspect, as people and machines kill agents too; where it happens a second
time, the page is quarantined. An agent that says why it cannot go on (``FAILED``: a disk, the user's mistake) is not
started anew.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

import msgspec

from fyke.crawl.run.board import Board, Heartbeat
from fyke.errors import UNREADABLE, DiskFullError, FykeError, StorageError

HANG = 60.0
"""Seconds without a sign of life after which an agent is ended and started anew."""
MAX_DEATHS = 10
"""Deaths of one agent after which the crawl gives up: something other than a page is wrong."""
FAILED = 70
"""The exit status of an agent that has said why it ends, in the file ``FAILURE`` of the run's folder."""
FULL = 71
"""The same, where the disk is full."""
FAILURE = "failure"
_POLL, _CLOSE = 0.02, 0.01  # seconds between looks at the agents; between those once all seem to be done


@dataclass(frozen=True, slots=True)
class Death:
    """An agent's end that nobody asked for."""

    agent: int
    status: int | None
    urls: tuple[str, ...]
    """What it was working on."""


class Quarantine:
    """URLs that killed an agent twice. ``quarantine.jsonl`` of the store has a line for each death that they met.

    Such a line is a JSON string; a list of one string says that the URL has since been read, and is no suspect.
    """

    def __init__(self, store: Path) -> None:
        self._path = store / "quarantine.jsonl"

    def read(self) -> frozenset[str]:
        """The URLs that are not to be met again."""
        return frozenset(href for href, deaths in self._deaths().items() if deaths > 1)

    def suspects(self) -> frozenset[str]:
        """The URLs that were being worked on at one death: whoever meets them works on nothing else meanwhile."""
        return frozenset(href for href, deaths in self._deaths().items() if deaths == 1)

    def blame(self, hrefs: Iterable[str]) -> None:
        """Note what was being worked on at a death."""
        lines = b"".join(msgspec.json.encode(href) + b"\n" for href in hrefs)
        if lines:
            with self._path.open("ab") as file:
                file.write(lines)

    def acquit(self, href: str) -> None:
        """Note that a suspect was read, and harmed nobody."""
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode([href]) + b"\n")

    def _deaths(self) -> Counter[str]:
        deaths: Counter[str] = Counter()
        for line in self._path.read_bytes().splitlines() if self._path.exists() else ():
            try:
                told = msgspec.json.decode(line, type=str | tuple[str])
            except UNREADABLE:  # cut off by a crash
                continue
            if isinstance(told, str):
                deaths[told] += 1
            else:
                del deaths[told[0]]
        return deaths


class Suspect:
    """The pages that a crawl of one process works on: what its end left there is blamed by the next run."""

    def __init__(self, store: Path) -> None:
        self._board = Board(store / "board", 1)
        self._quarantine = Quarantine(store)

    def judge(self) -> None:
        """Look at what an earlier run left. REQUIRES: the store is ours."""
        self._quarantine.blame(self._board.working_on(0))
        self.work_on(())

    def work_on(self, hrefs: Iterable[str]) -> None:
        """Note what is being worked on."""
        self._board.work_on(0, hrefs)

    def close(self) -> None:
        """The run has ended by itself."""
        self.work_on(())
        self._board.close()


class HelperProcess:
    """A helper process of the crawl that is started anew when it dies."""

    def __init__(self, start: Callable[[], BaseProcess], name: str) -> None:
        self._start = start
        self._name = name
        self._deaths = 0
        self._process = start()

    def keep(self) -> None:
        """Start it anew if it has died. Raises ``FykeError`` where it keeps dying."""
        if self._process.is_alive():
            return
        self._deaths += 1
        if self._deaths > MAX_DEATHS:
            raise FykeError(f"{self._name} died {self._deaths} times; see the log in the store")
        self._process = self._start()

    def end(self) -> None:
        """Ask it to end, and see it end."""
        self._process.terminate()
        self._process.join(HANG)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def supervise(
    board: Board,
    start: Callable[[int], BaseProcess],
    quarantine: Quarantine,
    on_poll: Callable[[], bool],
    on_death: Callable[[Death], None],
    *,
    alone: bool = True,
) -> None:
    """Run agents until all are done, or ``on_poll`` returns False, and see them end.

    ``start(n)`` starts agent n; those that are not ``alone`` in their crawl are done when others say so. Raises
    ``FykeError`` where an agent keeps dying.
    """
    agents = {number: start(number) for number in range(board.agents)}
    deaths = dict.fromkeys(agents, 0)
    began = dict.fromkeys(agents, time.time())
    before: list[Heartbeat] = []
    try:
        while any(process.is_alive() for process in agents.values()):
            time.sleep(_CLOSE if before else _POLL)
            if not on_poll():
                board.stop()
            before = _stop_when_done(board, before) if alone else []
            for number, process in agents.items():
                _end_if_hung(board, number, process, began[number])
                if process.is_alive() or process.exitcode == 0:
                    continue
                if process.exitcode in (FAILED, FULL):
                    said = (board.path.parent / FAILURE).read_text(encoding="utf-8")
                    raise DiskFullError(said) if process.exitcode == FULL else StorageError(said)
                death = Death(number, process.exitcode, board.working_on(number))
                deaths[number] += 1
                on_death(death)
                if deaths[number] > MAX_DEATHS:
                    raise FykeError(f"agent {number} died {deaths[number]} times; see the log in the store")
                quarantine.blame(death.urls)
                board.work_on(number, ())
                before = []
                began[number] = time.time()
                if not board.stopping:
                    agents[number] = start(number)
    finally:
        board.stop()
        for process in agents.values():
            process.join(HANG)
            if process.is_alive():
                process.kill()
                process.join()


def _stop_when_done(board: Board, before: list[Heartbeat]) -> list[Heartbeat]:
    """Ask the agents to stop once all is done; return the signs for the next comparison."""
    signs = [board.sign(number) for number in range(board.agents)]
    if not all(sign.idle_until > 0 for sign in signs):
        return []
    if before and all(a.beat < b.beat and _same(a, b) for a, b in zip(before, signs, strict=True)):
        board.stop()
    # Compare with signs that are a beat older, not with the same ones read again.
    return before if before and any(a.beat == b.beat for a, b in zip(before, signs, strict=True)) else signs


def _same(one: Heartbeat, other: Heartbeat) -> bool:
    return (one.received, one.pages) == (other.received, other.pages)


def _end_if_hung(board: Board, number: int, process: BaseProcess, began: float) -> None:
    beat = max(board.sign(number).beat, began)
    if process.is_alive() and time.time() - beat > HANG:
        process.kill()
        process.join()
