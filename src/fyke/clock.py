"""Clocks: the system's, and a virtual one that moves only when every task sleeps.

Code that waits takes a ``Clock`` (fyke.interfaces) and nothing else. Under ``VirtualClock.run`` the event
loop's own timers are virtual too, so ``asyncio.sleep`` and ``asyncio.timeout`` agree with the clock:
whenever no task can go on and no socket is ready, time jumps to the next timer.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

T = TypeVar("T")


class SystemClock:
    """The machine's own time."""

    def now(self) -> float:
        """Seconds since 1970-01-01T00:00:00Z."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait; other tasks go on."""
        await asyncio.sleep(seconds)


class VirtualClock:
    """Time that passes only by waiting: sixty days go by as fast as the tasks can be run.

    ``run`` drives a coroutine on a loop of its own. Sockets may be used inside: time stands still while
    one is ready. A thread that the loop waits for is not seen, so time may pass it by.
    """

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._start = start
        self.elapsed = 0.0  # apart from the start, so that small steps are not lost beside it

    def now(self) -> float:
        """Seconds since 1970-01-01T00:00:00Z, as this clock pretends."""
        return self._start + self.elapsed

    async def sleep(self, seconds: float) -> None:
        """Wait; the time passes once every other task of the loop sleeps too."""
        await asyncio.sleep(seconds)

    def advance(self, seconds: float) -> None:
        """Let time pass, for code without a loop. REQUIRES: ``seconds`` ≥ 0."""
        assert seconds >= 0
        self.elapsed += seconds

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run ``main`` to its end with this clock as the loop's time; return its result."""
        with asyncio.Runner(loop_factory=lambda: _VirtualLoop(self)) as runner:
            return runner.run(main)


class _VirtualSelector(selectors.BaseSelector):
    """A selector whose waiting is the passing of virtual time."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._real = selectors.DefaultSelector()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(0 if timeout is not None else None)
        if not ready and timeout:
            self._clock.advance(max(timeout, 0.0))
        return ready

    def register(self, fileobj: FileDescriptorLike, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: FileDescriptorLike, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def get_map(self) -> Any:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()


class _VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose ``time`` is a virtual clock's."""

    def __init__(self, clock: VirtualClock) -> None:
        self._virtual = clock
        super().__init__(_VirtualSelector(clock))
        # Timers closer than this are one: it must exceed the rounding of years in seconds.
        self._clock_resolution = 1e-6

    def time(self) -> float:
        return self._virtual.elapsed
