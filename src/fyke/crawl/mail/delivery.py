"""Delivery: letters to an agent's own tablets, to other agents' tablets and to the index, and those that arrive.

One bundle at a time is under way to each destination. What cannot be delivered stays in the outbox and is tried again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence

from fyke.crawl.duplicates.examination import Examination
from fyke.crawl.mail.outbox import INDEX, Letter
from fyke.crawl.queue.queues import Queues
from fyke.interfaces import Clock

RETRY = 0.5
"""Seconds before an agent that does not answer is sent its mail again: it may be starting."""

Send = Callable[[int, list[Letter]], Awaitable[None]]
Begin = Callable[[Coroutine[None, None, None]], None]


class Delivery:
    """The mail of one agent. ``begin`` runs what takes time beside everything else."""

    def __init__(self, queues: Queues, examination: Examination, clock: Clock, send: Send | None, begin: Begin) -> None:
        """``send(tablet, letters)`` brings letters to the agent of a tablet that is not ours (``Agent``)."""
        self.received = 0
        """Letters of other agents that were taken in."""
        self._queues = queues
        self._examination = examination
        self._clock = clock
        self._send = send
        self._begin = begin
        self._under_way: set[int] = set()

    def deliver(self, now: float, eager: bool) -> None:
        """Bring letters to our own tablets, and begin to bring the others where they belong.

        Without ``eager`` notes on duplicates wait until they are many.
        """
        self._queues.deliver(now, urgent=not eager)
        if INDEX not in self._under_way and self._examination.ready(eager):
            self._under_way.add(INDEX)
            self._begin(self._examine())
        if self._send is not None:
            store = self._queues.store
            remote = [n for n in range(store.settings.tablets) if n not in store.owned and n not in self._under_way]
            for number, letters in self._queues.outbox.take(remote, urgent=not eager).items():
                self._under_way.add(number)
                self._begin(self._deliver_abroad(self._send, number, letters))

    async def finish(self, now: float) -> None:
        """Bring all letters to our own tablets, and the last questions to the index; others stay in the outbox."""
        outbox = self._queues.outbox
        with contextlib.suppress(OSError):  # without the index they stay there too
            while self._examination.ready(True):
                await self._examination.examine()
        while any(map(outbox.waiting, self._queues.store.owned)):  # what is applied may write letters
            if not self._queues.deliver(now):  # what must be durable first
                break

    async def _examine(self) -> None:
        try:
            await self._examination.examine()
        except OSError:  # it is starting anew; the questions stay in the outbox until it answers
            await self._clock.sleep(RETRY)
        finally:
            self._under_way.discard(INDEX)

    async def _deliver_abroad(self, send: Send, number: int, letters: list[Letter]) -> None:
        try:
            await send(number, letters)
        except OSError:  # its agent is starting anew; the letters stay in the outbox until it has them
            await self._clock.sleep(RETRY)
            self._queues.outbox.give_back(letters)
        else:
            self._queues.outbox.delivered(letters)
        finally:
            self._under_way.discard(number)

    async def receive(self, letters: list[Letter]) -> None:
        """Take letters of another agent in; they have taken effect, and are synced, when this returns."""
        self.received += len(letters)
        now = self._clock.now()
        numbers = list(dict.fromkeys(letter.destination for letter in letters))
        for number in numbers:
            self._queues.apply([letter for letter in letters if letter.destination == number], now)
        await asyncio.get_running_loop().run_in_executor(None, self._sync, numbers)

    def _sync(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._queues.store.tablet(number).sync()
