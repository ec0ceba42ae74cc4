"""What a crawl did: 64 bytes of each agent every few seconds, so that curves reach back (docs/dashboard.md).

::

    status/history-N    "fyke-history" ‖ 0x00 ‖ version (1) ‖ zeros, 64 bytes in all; then records of 64 bytes
    record              when, seconds since 1970 (f64) ‖ pages, bytes, queued, errors, memory (u64 each)
                        ‖ freshness, age in days, lag in seconds (f32 each; NaN: not measured) ‖ in flight (u32)

Little-endian. Counts are those of the agent's tablets since the store was made, so agents add up. A record of which all
but the time is zero says that the agents of a run are gone (``begin``). A file that is full loses records of its
older part: the past is kept in steps of a thousandth of its age. What follows the last whole record is no record.
"""

from __future__ import annotations

import contextlib
import math
import os
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fyke.crawl.run.status import AgentStatus

EVERY = 10.0
"""Seconds between two records; fewer at first, so that a short crawl has a curve, too."""
MOST = 16_000
"""Records of a file: a megabyte."""
_RECENT = 4_000
"""The last records, which are never thinned: eleven hours."""
_HEADER = struct.Struct("<12sBB50x")
_RECORD = struct.Struct("<dQQQQQfffI")
_MAGIC, _VERSION = b"fyke-history", 1
_SIZE = _RECORD.size


class Moment(NamedTuple):
    """An agent, or all of them, at a time."""

    when: float
    pages: int = 0
    bytes: int = 0
    queued: int = 0
    errors: int = 0
    memory: int = 0
    freshness: float = math.nan
    age: float = math.nan
    """Days."""
    lag: float = 0.0
    in_flight: int = 0


class History:
    """Writes the file of one agent."""

    def __init__(self, store: Path, agent: int) -> None:
        self._path = _path(store, agent)
        self._began = self._next = 0.0

    def note(self, report: AgentStatus) -> None:
        """Add a record if it is time for one. A disk that fails is told by whoever writes what matters."""
        self._began = self._began or report.when
        if report.when < self._next:
            return
        self._next = report.when + min(EVERY, max(1.0, (report.when - self._began) / 20))
        errors = sum(count for name, count in report.counters.items() if name.startswith("errors:"))
        fresh, age = (report.fresh.freshness, report.fresh.age) if report.fresh is not None else (math.nan, math.nan)
        moment = Moment(
            report.when, report.counters.get("pages", 0), report.counters.get("bytes", 0), report.queued, errors,
            _memory(), fresh, age, report.lag, report.in_flight,
        )  # fmt: skip
        with contextlib.suppress(OSError):
            _append(self._path, moment)


def begin(store: Path, now: float) -> None:
    """A run begins: the agents of the one before are gone."""
    for path in _paths(store):
        _append(path, Moment(now, freshness=0.0, age=0.0))


def read(store: Path) -> list[list[Moment]]:
    """Return the moments of each agent, in the order of time; a file that is no history is passed over."""
    return [moments for path in _paths(store) if (moments := _moments(path))]


def together(agents: Iterable[Iterable[Moment]], most: int = 400) -> list[Moment]:
    """Return the crawl as a whole over time, in at most ``most`` steps: the last moment of each agent in each, added.

    Freshness and age are means by pages. Pages, bytes and errors never fall: an agent that has just begun says
    nothing of what others hold.
    """
    records = sorted(((moment.when, agent, moment) for agent, each in enumerate(agents) for moment in each))
    if not records:
        return []
    first, last = records[0][0], records[-1][0]
    step = max((last - first) / most, 1.0)
    known: dict[int, Moment] = {}
    found: list[Moment] = []
    until = first + step
    for number, (when, agent, moment) in enumerate(records):
        known[agent] = moment
        is_last = number == len(records) - 1
        if is_last or records[number + 1][0] >= until:
            alive = [each for each in known.values() if any(each[1:6])]
            if alive:
                found.append(_sum(when, alive, found[-1] if found else None))
            while not is_last and until <= records[number + 1][0]:
                until += step
    return found


def _sum(when: float, moments: list[Moment], before: Moment | None) -> Moment:
    fresh = [each for each in moments if not math.isnan(each.freshness)]
    weight = sum(each.pages for each in fresh)
    floor = before or Moment(0.0)
    return Moment(
        when,
        max(sum(each.pages for each in moments), floor.pages),
        max(sum(each.bytes for each in moments), floor.bytes),
        sum(each.queued for each in moments),
        max(sum(each.errors for each in moments), floor.errors),
        sum(each.memory for each in moments),
        sum(each.pages * each.freshness for each in fresh) / weight if weight else math.nan,
        sum(each.pages * each.age for each in fresh) / weight if weight else math.nan,
        max(each.lag for each in moments),
        sum(each.in_flight for each in moments),
    )


def _path(store: Path, agent: int) -> Path:
    return store / "status" / f"history-{agent}"


def _paths(store: Path) -> list[Path]:
    return sorted(path for path in (store / "status").glob("history-*") if path.suffix != ".new")


def _append(path: Path, moment: Moment) -> None:
    """Add a record behind the last whole one. A foreign or damaged file is begun anew: it is only a picture."""
    path.parent.mkdir(exist_ok=True)
    with path.open("r+b" if path.exists() else "w+b") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        if file.read(_HEADER.size) != _header():
            file.seek(0)
            file.truncate()
            file.write(_header())
            size = _SIZE
        file.seek(size - size % _SIZE)
        file.write(_RECORD.pack(*moment))
        records = size // _SIZE
    if records >= MOST:
        _thin(path)


def _thin(path: Path) -> None:
    moments = _moments(path)
    old, recent = moments[:-_RECENT], moments[-_RECENT:]
    steps, end, last = MOST // 16, recent[-1].when, -math.inf
    kept = []
    for each in old:
        if each.when - last >= (end - each.when) / steps or not any(each[1:6]):
            kept.append(each)
            last = each.when
    kept = kept if len(kept) + len(recent) < MOST else old[::2]  # the clock was set back, or runs are very short
    fresh = path.with_name(path.name + ".new")
    fresh.write_bytes(_header() + b"".join(_RECORD.pack(*each) for each in (*kept, *recent)))
    fresh.replace(path)


def _moments(path: Path) -> list[Moment]:
    try:
        data = path.read_bytes()[: (MOST + 2) * _SIZE]
    except OSError:
        return []
    if data[:_SIZE] != _header():
        return []
    whole = len(data) - len(data) % _SIZE
    return [Moment(*fields) for fields in _RECORD.iter_unpack(data[_SIZE:whole]) if 0.0 < fields[0] < 1e11]


def _header() -> bytes:
    return _HEADER.pack(_MAGIC, 0, _VERSION)


def _memory() -> int:
    """Bytes that this process holds in memory; 0 where nobody tells."""
    try:
        with Path("/proc/self/statm").open("rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
