"""The agents of a node while they have one list of tablets: begun, talked to, stopped."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from fyke.clock import boot_time
from fyke.cluster.crawler import Crawler
from fyke.cluster.office import Bundles, Inbox
from fyke.crawl.run.board import Board, Heartbeat, board_bytes
from fyke.crawl.run.processes import NOTE, Run
from fyke.store.lineage import Committed

_END_PATIENCE = 120.0
_POLL = 0.02


class Shift:
    """The agents of a node while they have one list of tablets."""

    def __init__(self, run: Run, crawler: Crawler, committed: Committed, count: int) -> None:
        """``count`` is that of all tablets."""
        self.run = run
        self._crawler, self._committed, self._count = crawler, committed, count
        self._board: Board | None = None
        self._inbox: Inbox | None = None
        # The folder of a run that was killed, which the next one removes.
        self._left = Path(self._note().read_text(encoding="utf-8")) if self._note().exists() else None
        self.began = boot_time()
        self.over: str | None = None
        """Why the agents have ended, empty where they were told to; None while they work."""
        crawler.begin(run)

    def _note(self) -> Path:
        return self.run.store / NOTE

    def board(self) -> Board | None:
        """The agents' board, once it is there."""
        if self._board is None:
            with contextlib.suppress(OSError):
                folder = Path(self._note().read_text(encoding="utf-8"))
                if folder != self._left and (folder / "board").stat().st_size == board_bytes(self.run.agents):
                    self._board = Board(folder / "board", self.run.agents)
                    self._inbox = Inbox(folder, lambda tablet: self.run.agent_of(tablet, self._count), self._committed)
        return self._board

    def signs(self) -> list[Heartbeat]:
        """What the agents show of themselves; none where they have not begun."""
        board = self.board()
        return [board.sign(agent) for agent in range(board.agents)] if board is not None else []

    async def take(self, bundles: Bundles) -> list[bytes]:
        """Deliver mail of other machines."""
        if self.board() is None or self._inbox is None:
            return [b""] * len(bundles)
        return await self._inbox.take(bundles)

    def has_ended(self) -> bool:
        """Whether the agents have ended."""
        if self.over is None:
            self.over = self._crawler.ended()
        return self.over is not None

    async def look_up(self, sketches: bytes) -> bytes:
        """Ask the index of near copies."""
        return await self._inbox.ask(sketches) if self.board() is not None and self._inbox is not None else b""

    async def end(self) -> tuple[int, int]:
        """Stop the agents cleanly; return the permits that they took, and the documents that came of them."""
        deadline = boot_time() + _END_PATIENCE
        while not self.has_ended() and boot_time() < deadline:
            if (board := self.board()) is not None:
                board.stop()
            await asyncio.sleep(_POLL)
        if not self.has_ended():
            await asyncio.to_thread(self._crawler.kill)
        used = self._board.used if self._board is not None else (0, 0)
        if self._inbox is not None:
            self._inbox.close()
        if self._board is not None:
            self._board.close()
        self._committed.close()
        return used
