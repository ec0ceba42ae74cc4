"""Damage: a report of what could not be read and where, and a window over a stream that goes on as far as it can."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from fyke.formats.streams import CHUNK, Readable, inflated

MAX_NAMED = 1000
"""Places of damage that a report names; the rest it only counts."""


@dataclass(frozen=True, slots=True)
class Damage:
    """A place where something could not be read as it should."""

    offset: int
    reason: str
    """record, length, cut, digest, coding, url, too-damaged, foreign, docno."""
    detail: str = ""


@dataclass(slots=True)
class Report:
    """What an iterator met; it fills this while it is read."""

    records: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    """Damage by reason."""
    damages: list[Damage] = field(default_factory=list)
    """The first ``MAX_NAMED`` of them."""

    def note(self, offset: int, reason: str, detail: str = "") -> None:
        """Count a damage and name its place."""
        self.counts[reason] += 1
        if len(self.damages) < MAX_NAMED:
            self.damages.append(Damage(offset, reason, detail))


class Window:
    """What is read of a decompressed stream and not yet taken. Never raises: damage is noted, and ends the stream."""

    def __init__(self, stream: Readable, report: Report) -> None:
        self.data = b""
        self.offset = 0
        """Of ``data`` in the decompressed stream."""
        self._report = report
        self._ended = False
        try:
            self._stream = inflated(stream)
        except OSError as error:
            report.note(0, "record", str(error))
            self._ended = True

    def more(self, size: int) -> bool:
        """Have ``size`` bytes at hand, if the stream has them."""
        parts = [self.data]
        have = len(self.data)
        while have < size and not self._ended:
            try:
                chunk = self._stream.read(CHUNK)
            except OSError as error:
                self._report.note(self.offset + have, "record", str(error))
                chunk = b""
            self._ended = not chunk
            parts.append(chunk)
            have += len(chunk)
        if len(parts) > 1:
            self.data = b"".join(parts)
        return have >= size

    def grow(self) -> bool:
        """Read on; False at the end."""
        return self.more(len(self.data) + 1)

    def take(self, size: int) -> bytes:
        """Take ``size`` bytes, fewer only at the end."""
        self.more(size)
        taken, self.data = self.data[:size], self.data[size:]
        self.offset += len(taken)
        return taken
