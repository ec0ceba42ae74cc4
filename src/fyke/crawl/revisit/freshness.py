"""How fresh the collection is: freshness and expected age, now, over time and per host.

Freshness is the mean chance that a copy is still right, age the mean of Age(λ, t) in days, with the rates that were
learnt. An agent gauges a sample of its pages each second for ``fyke status``, and adds a line to
``freshness.jsonl`` in the store now and then (docs/freshness.md); ``fyke freshness`` measures every row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import xxhash

from fyke.crawl.revisit.reading import Reading
from fyke.errors import UNREADABLE, StorageError
from fyke.frontier.revisit import DAY, ChangeState
from fyke.store import Row

FILE = "freshness.jsonl"
VERSION = 1
SAMPLE = 20_000
"""Pages that are gauged: a share of them is then known to within half a percent."""
EVERY = 600.0
"""Seconds between two lines of the file: 53,000 lines, 5 MB, a year."""

Floats = npt.NDArray[np.float64]


class Line(msgspec.Struct, frozen=True):
    """One line of ``freshness.jsonl``."""

    version: int
    agent: int
    when: float
    pages: int
    freshness: float
    age: float
    revisits: int
    """Since the agent started."""
    changed: int
    threshold: float


class FreshnessSample:
    """A sample of pages, chosen by the hash of their URLs, with what is known of each."""

    def __init__(self, sample: int = SAMPLE) -> None:
        self._slots: dict[int, int] = {}
        self._rate, self._seen = np.zeros(sample), np.zeros(sample)
        self._host = np.zeros(sample, np.int64)
        self._hosts: dict[str, int] = {}
        self._limit = 1 << 64  # hashes below are in the sample
        self._free = list(range(sample - 1, -1, -1))

    def note(self, href: str, host: str, state: ChangeState) -> None:
        """Take in a page as it is now known."""
        digest = xxhash.xxh3_64_intdigest(href.encode())
        if digest >= self._limit:
            return
        slot = self._slots.get(digest)
        if slot is None:
            while not self._free:
                self._thin()
            if digest >= self._limit:
                return
            slot = self._slots[digest] = self._free.pop()
        self._rate[slot], self._seen[slot] = state.rate, state.seen
        self._host[slot] = self._hosts.setdefault(host, len(self._hosts))

    def drop(self, href: str) -> None:
        """Forget a page."""
        slot = self._slots.pop(xxhash.xxh3_64_intdigest(href.encode()), None)
        if slot is not None:
            self._free.append(slot)

    def read(self, now: float) -> Reading:
        """Return how fresh the pages are; their number is an estimate where they do not fit."""
        slots = np.fromiter(self._slots.values(), np.int64, len(self._slots))
        fresh, age = measure(self._rate[slots], (now - self._seen[slots]) / DAY)
        if not len(slots):
            return Reading(0, 1.0, 0.0)
        return Reading(round(len(slots) * (1 << 64) / self._limit), float(fresh.mean()), float(age.mean()))

    def hosts(self, now: float, most: int = 20) -> dict[str, Reading]:
        """Return the same of the hosts with the most pages."""
        slots = np.fromiter(self._slots.values(), np.int64, len(self._slots))
        if not len(slots):
            return {}
        fresh, age = measure(self._rate[slots], (now - self._seen[slots]) / DAY)
        number = self._host[slots]
        counts = np.bincount(number)
        freshness, ages = np.bincount(number, fresh), np.bincount(number, age)
        names = list(self._hosts)
        scale = (1 << 64) / self._limit
        return {
            names[i]: Reading(round(counts[i] * scale), float(freshness[i] / counts[i]), float(ages[i] / counts[i]))
            for i in np.argsort(-counts, kind="stable")[:most].tolist()
            if counts[i]
        }

    def _thin(self) -> None:
        self._limit //= 2
        for digest in [digest for digest in self._slots if digest >= self._limit]:
            self._free.append(self._slots.pop(digest))


def measure(rate: Floats, days: Floats) -> tuple[Floats, Floats]:
    """Return freshness and age of copies of that age, each."""
    x = rate * np.maximum(days, 0.0)
    small = x < 0.01
    series = days * x * (0.5 - x / 6)
    exact = days + np.expm1(-x) / np.where(small, 1.0, rate)
    return np.exp(-x), np.where(small, series, exact)


@dataclass(frozen=True, slots=True)
class Collection:
    """How fresh a store is, by host."""

    whole: Reading
    hosts: dict[str, Reading]
    unknown: int
    """Documents of which no change history is kept: they were not crawled with ``--continuous``."""


def collection(rows: Iterable[Row], now: float) -> Collection:
    """Measure every document of a store."""
    rates: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    unknown = 0
    for row in rows:
        meta = row.meta
        if meta.error or not 200 <= meta.status < 300:
            continue
        state = ChangeState.decode(meta.change)
        if not state.seen:
            unknown += 1
            continue
        rates[row.url.split("/", 3)[2]].append((state.rate, (now - state.seen) / DAY))
    hosts = {host: _reading(pairs) for host, pairs in rates.items()}
    return Collection(_reading([pair for pairs in rates.values() for pair in pairs]), hosts, unknown)


def _reading(pairs: list[tuple[float, float]]) -> Reading:
    if not pairs:
        return Reading(0, 1.0, 0.0)
    pairs_ = np.array(pairs)
    fresh, age = measure(pairs_[:, 0], pairs_[:, 1])
    return Reading(len(pairs), float(fresh.mean()), float(age.mean()))


class Log:
    """Writes an agent's lines: each second at first, then a hundred for each turn of ten, at most every ten minutes."""

    def __init__(self, store: Path, agent: int) -> None:
        self._store, self._agent = store, agent
        self._began = self._next = 0.0

    def note(self, now: float, sample: FreshnessSample, revisits: int, changed: int, threshold: float) -> None:
        """Write a line if it is time for one."""
        self._began = self._began or now
        if now < self._next:
            return
        self._next = now + min(EVERY, max(1.0, (now - self._began) / 100))
        reading = sample.read(now)
        if reading.pages:
            line = (reading.pages, reading.freshness, reading.age, revisits, changed, threshold)
            append(self._store, Line(VERSION, self._agent, now, *line))


def append(store: Path, line: Line) -> None:
    """Add a line to a store's file."""
    with (store / FILE).open("ab") as file:
        file.write(msgspec.json.encode(line) + b"\n")


def read(store: Path) -> list[Line]:
    """Return the lines of a store's file in the order of time; a last one that is torn is left out."""
    try:
        lines = (store / FILE).read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    found = []
    for number, line in enumerate(lines):
        if line:
            try:
                found.append(msgspec.json.decode(line, type=Line))
            except UNREADABLE as error:
                if number == len(lines) - 1:
                    break
                raise StorageError(f"line {number + 1} of {store / FILE} is damaged ({error}); delete it") from None
    return sorted(found, key=lambda each: each.when)


def over_time(lines: list[Line]) -> tuple[Floats, Floats, Floats]:
    """Return times, freshness and age of the whole collection: agents' last readings, weighted by their pages."""
    last: dict[int, Line] = {}
    points = []
    for line in lines:
        last[line.agent] = line
        pages = sum(each.pages for each in last.values())
        if pages:
            fresh = sum(each.pages * each.freshness for each in last.values()) / pages
            points.append((line.when, fresh, sum(each.pages * each.age for each in last.values()) / pages))
    array = np.array(points).reshape(-1, 3)
    return array[:, 0], array[:, 1], array[:, 2]


def plot(path: Path, lines: list[Line]) -> None:
    """Draw freshness and age over the crawl. Raises ``OSError`` where the file cannot be written."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    when, fresh, age = over_time(lines)
    days = (when - when[0]) / DAY
    unit, scale = ("days", 1.0) if days[-1] >= 2 else ("seconds", DAY)
    figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(8, 6))
    above.plot(days * scale, fresh, linewidth=1)
    above.set_ylabel("freshness")
    above.set_ylim(0, 1.05)  # a line at 1 is seen
    below.plot(days * scale, age * scale, linewidth=1)
    below.set_ylabel(f"expected age, {unit}")
    below.set_ylim(bottom=0)
    below.set_xlabel(f"{unit} of the crawl")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
