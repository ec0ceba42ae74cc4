"""Clocks: the system's, and a virtual one that moves only when every task sleeps.

Code that waits takes a ``Clock`` (fyke.interfaces) and nothing else. Under ``VirtualClock.run`` the event
loop's own timers are virtual too, so ``asyncio.sleep`` and ``asyncio.timeout`` agree with the clock:
whenever no task can go on and no socket is ready, time jumps to the next timer.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

T = TypeVar("T")


_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""The clock that no correction moves and that goes on while the machine is suspended."""


_gettime = time.clock_gettime


def boot_time() -> float:
    """Return seconds since the machine started, those in which it was suspended included."""
    return _gettime(_BOOT)


_STEP = 1.0
"""Seconds by which the machine's time must have been set forward to be followed: less is noise of the reading."""


def _offset() -> float:
    """Seconds from boot time to the machine's time, or less: whoever is put aside between the readings sees less."""
    wall = time.time()
    return wall - boot_time()


class SystemClock:
    """The machine's own time, at the pace of a clock that no correction moves.

    Where that time is set back, this goes on from where it was; where it is set forward by a second or more, this
    follows. It never runs ahead by as much as its process was put aside between two readings: a gap that is kept by it
    would be too short by that.
    """

    def __init__(self) -> None:
        self._offset = max(_offset() for _ in range(5))
        self._next_look = 0.0

    def now(self) -> float:
        """Seconds since 1970-01-01T00:00:00Z."""
        boot = _gettime(_BOOT)
        if boot >= self._next_look:
            self._next_look = boot + _STEP
            offset = _offset()
            if offset >= self._offset + _STEP:
                self._offset = max(offset, _offset())
        return boot + self._offset

    async def sleep(self, seconds: float) -> None:
        """Wait; other tasks go on."""
        await asyncio.sleep(seconds)


class LoopLag:
    """How much time an event loop has lost: held by a long step, starved by a busy machine, or suspended with it.

    What a server took is what passed less what was lost meanwhile (``lost`` now less ``lost`` then). Measured by a
    timer of ``TICK`` seconds, so short holds are seen in part; who holds the loop on purpose tells (``hold``).
    ``on_tick(late)`` is called at each: a deadline is judged where ``late`` is small only, since after a hold the
    answer may lie in the socket unread.
    """

    TICK = 0.02
    _NOISE = 0.005

    def __init__(self, on_tick: Callable[[float], None] = lambda late: None) -> None:
        self._lost = 0.0
        self._on_tick = on_tick
        self._due = 0.0
        self._told = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def lost(self) -> float:
        """Seconds so far, and what the timer is late by now: after a hold, sockets are read before timers run."""
        late = _gettime(_BOOT) - self._due - self._told if self._timer is not None else 0.0
        return self._lost + late if late > self._NOISE else self._lost

    def start(self) -> None:
        """Begin to measure the running loop, unless that is done already."""
        if self._timer is None:
            self._wait()

    def stop(self) -> None:
        """Measure no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def hold(self, seconds: float) -> None:
        """Say that the loop was held for so long."""
        self._lost += seconds
        self._told += seconds

    def _wait(self) -> None:
        self._told = 0.0
        self._due = boot_time() + self.TICK
        self._timer = asyncio.get_running_loop().call_later(self.TICK, self._tick)

    def _tick(self) -> None:
        late = boot_time() - self._due
        if late - self._told > self._NOISE:
            self._lost += late - self._told
        self._wait()
        self._on_tick(late)


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
