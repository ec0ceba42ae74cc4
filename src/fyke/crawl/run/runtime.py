"""What surrounds the agents of a process: the event loop, the log in the store, signals that ask to stop."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import uvloop

T = TypeVar("T")
log = logging.getLogger("fyke")

_YOUNG = 50_000
"""Objects between two looks for young cycles: those of some hundred pages."""


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on uvloop.

    What is there before it lives as long as the run, so the collector of cycles need not look at it again and again;
    and it looks for young cycles less often, as a page makes hundreds of objects and next to no cycle.
    """
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_YOUNG, *thresholds[1:])
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(main)
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


@contextmanager
def logging_to(store: Path) -> Iterator[None]:
    """Write what happens to ``fyke.log`` in the store."""
    handler = logging.FileHandler(store / "fyke.log")
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(message)s"))
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        handler.close()


class Signals:
    """Ctrl-C and SIGTERM call ``handler`` instead of raising; a second Ctrl-C raises. A context manager."""

    def __init__(self, handler: Callable[[int], object]) -> None:
        self._handler = handler
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                self._before[number] = signal.signal(number, self._handle)
            except ValueError:  # not the main thread: whoever owns it decides
                return

    def _handle(self, number: int, frame: object) -> None:
        signal.signal(number, self._before[number])
        self._handler(number)

    def __exit__(self, *reason: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
