"""What surrounds the agents of a process: the event loop, the log in the store, signals that ask to stop."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import re
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from fyke.values import Failed, Moved, Outcome, Request

T = TypeVar("T")
Start = Callable[[Request, Callable[[Outcome], None]], object]
log = logging.getLogger("fyke")

_UNSAFE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
MAX_LOG = 50_000_000
"""Bytes of fyke.log; then it becomes fyke.log.1, in the place of the one before."""
_YOUNG = 50_000
"""Objects between two looks for young cycles: those of some hundred pages."""


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on an event loop of its own.

    What is there before it lives as long as the run, so the collector of cycles need not look at it again and again;
    and it looks for young cycles less often, as a page makes hundreds of objects and next to no cycle.
    """
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_YOUNG, *thresholds[1:])
    try:
        with asyncio.Runner() as runner:
            return runner.run(main)
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


class _Text(logging.Formatter):
    """A line for a person; what a terminal or a reader of lines would obey is shown as Python writes it."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(process)d %(levelname)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - of logging
        return _UNSAFE.sub(lambda found: repr(found[0])[1:-1], super().formatMessage(record))


class _Json(logging.Formatter):
    """One JSON object a line: time, process, level, message, and the facts that a record brings."""

    def format(self, record: logging.LogRecord) -> str:
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z"),
            "process": record.process,
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(told).decode()


class _Rotated(WatchedFileHandler):
    """A log that several processes write: who finds it too long puts it aside, and the others follow."""

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        try:
            if self.stream is not None and self.stream.tell() > MAX_LOG:
                path = Path(self.baseFilename)
                if os.path.samestat(os.fstat(self.stream.fileno()), path.stat()):
                    path.replace(f"{path}.1")
        except OSError:
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """A log on a full disk has gaps; a terminal full of tracebacks helps nobody."""
        if not isinstance(sys.exception(), OSError):
            super().handleError(record)


@contextmanager
def logging_to(store: Path, form: str = "text", verbose: bool = False) -> Iterator[None]:
    """Write what happens to ``fyke.log`` in the store, as ``text`` or ``json``; ``verbose``: more, and to stderr."""
    handlers: list[logging.Handler] = [_Rotated(store / "fyke.log")]
    before = log.level
    if verbose:
        handlers.append(logging.StreamHandler(sys.stderr))
        log.setLevel(logging.INFO)
    for handler in handlers:
        handler.setFormatter(_Json() if form == "json" else _Text())
        log.addHandler(handler)
    try:
        yield
    finally:
        log.setLevel(before)
        for handler in handlers:
            log.removeHandler(handler)
            handler.close()


def telling(start: Start) -> Start:
    """Return ``start``, a ``context.FetchContext.start``, such that each fetch is logged when it has ended."""

    def begin(request: Request, done: Callable[[Outcome], None]) -> object:
        def told(outcome: Outcome) -> None:
            _tell(request, outcome)
            done(outcome)

        return start(request, told)

    return begin


def _tell(request: Request, outcome: Outcome) -> None:
    exchange = outcome.exchange
    facts: dict[str, object] = {"url": request.url.href}
    said = []
    if exchange is not None:
        seconds = round(exchange.finished - exchange.started, 3)
        facts |= {"status": exchange.status, "bytes": len(exchange.body), "seconds": seconds}
        said.append(f"{exchange.status}, {len(exchange.body):,} bytes, {seconds:g} s")
    if isinstance(outcome, Moved):
        facts["redirect"] = outcome.target.href
        said.append(f"to {outcome.target.href}")
    elif isinstance(outcome, Failed):
        facts |= {"error": str(outcome.reason), "detail": outcome.detail}
        said.append(": ".join(filter(None, (outcome.reason, outcome.detail))))
    log.info("%s %s: %s", request.method, request.url.href, ", ".join(said), extra={"facts": facts})


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
