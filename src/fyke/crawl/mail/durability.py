"""Durability: what an agent has written is synced, or shipped to a depot, beside its loop; then letters may leave."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fyke.crawl.mail.outbox import Outbox
from fyke.store import Store

PATIENCE = 5.0
"""Seconds that one wait for a depot takes at most; what it has not got by then is waited for again."""
FINAL_PATIENCE = 60.0
"""The same at the end: then what the depot has not got is left to the next run."""

Durable = Callable[[float, bool], bool]
"""``durable(patience, at_once)`` makes all that is written durable elsewhere, and returns whether it is."""


class Durability:
    """Of one agent. In a thread: a slow disk, or a depot, must not hold up the fetches."""

    def __init__(self, store: Store, outbox: Outbox, durable: Durable | None) -> None:
        """Without ``durable`` the store is synced."""
        self._store, self._outbox, self._durable = store, outbox, durable
        self._under_way: asyncio.Future[bool] | None = None
        self._reached: Callable[[], None] = lambda: None  # to be called once what is under way is durable

    @property
    def is_under_way(self) -> bool:
        """Whether something is just being made durable."""
        return self._under_way is not None and not self._under_way.done()

    def begin(self, at_once: bool) -> None:
        """Make durable what is written by now, unless that is under way. Raises what a disk said the last time."""
        if self.is_under_way:
            return
        if self._under_way is None or self._under_way.result():
            self._reached()
            self._reached = self._outbox.syncing()
        self._under_way = asyncio.get_running_loop().run_in_executor(None, self._make, PATIENCE, at_once)

    async def end(self) -> None:
        """Wait for what is under way; its error is the loop's to raise."""
        if self._under_way is not None:
            await asyncio.gather(self._under_way, return_exceptions=True)

    async def settle(self) -> bool:
        """Have all that was written made durable; return whether it is."""
        reached = self._outbox.syncing()
        durable = await asyncio.get_running_loop().run_in_executor(None, self._make, FINAL_PATIENCE, True)
        if durable:
            reached()
        return durable

    def _make(self, patience: float, at_once: bool) -> bool:
        if self._durable is not None:
            return self._durable(patience, at_once)
        self._store.sync()
        return True
