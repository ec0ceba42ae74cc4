"""What a trace tells, as a file: ``trace.jsonl`` in the store, a ``Step`` a line (fyke.crawl.run.trace writes it)."""

from __future__ import annotations

from pathlib import Path

import msgspec

from fyke.errors import UNREADABLE, StorageError

FILE = "trace.jsonl"


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that happened to a watched URL."""

    at: float
    """Seconds since 1970."""
    url: str
    room: str
    said: str
    seconds: float = -1.0
    """What it took; negative where nothing was to be timed."""
    version: int = 1


def begin(store: Path) -> None:
    """Forget what earlier runs told."""
    (store / FILE).unlink(missing_ok=True)


def read(store: Path) -> list[Step]:
    """What was told, in order of time. Raises ``StorageError``."""
    path = store / FILE
    try:
        lines = path.read_bytes().splitlines() if path.exists() else []
        steps = [msgspec.json.decode(line, type=Step) for line in lines]
    except UNREADABLE as error:
        raise StorageError(f"{path} is not a trace ({error}); delete it") from None
    return sorted(steps, key=lambda step: step.at)
