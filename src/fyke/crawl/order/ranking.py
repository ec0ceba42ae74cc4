"""PageRank of the graph crawled so far, computed anew as it grows, beside the crawl and out of core.

Every visit appends its links to the edge file of its tablet. When the files have grown by a quarter since the last
ranks, whichever agent gets the lock reads those of all tablets, in a thread that takes a tenth of a core at most, and
publishes the ranks in one file, which all agents map. Both outlive the crawl; what a crash cut off is noted again from
the movements of cash (fyke.crawl.order.cash) that are later than the last whole record. In ``STORE/ranks/``, numbers in
little-endian words of 8 bytes unless said otherwise::

    NNNN.edges    "fyke-edges" ‖ 0 ‖ 0 ‖ version (4), then records: sequence of the movement ‖ page ‖ host ‖
                  links to the own host: n ‖ to others: m ‖ n keys ‖ m keys ‖ m hosts
    ranks         "fyke-ranks" ‖ 0 ‖ 0 ‖ version (4) ‖ XXH3-64 of what follows ‖ words of edges covered ‖ pages known ‖
                  sizes of the two tables ‖ keys of pages ‖ keys of hosts ‖ ranks (f32) ‖ authority (f32), by slot
"""

from __future__ import annotations

import fcntl
import os
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

import numpy as np
import numpy.typing as npt
import xxhash

from fyke.crawl.order.cash import Movement
from fyke.topic.rank import Numbering, Words, is_open_table, look_up, whole_records

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]

GROWTH = 1.25
"""Of the edge files, between two computations: each link is ranked five times over, however long the crawl."""
LEAST = 1024
"""Words before the first computation, and between two: some fifty pages."""
SHARE = 0.1
"""Of a core, at most, for the thread that computes."""
CHUNK = 1 << 16
"""Words that are read at once: more than any record has."""
VERSION = 1
_EDGES, _RANKS = (name + b"\0\0" + VERSION.to_bytes(4, "little") for name in (b"fyke-edges", b"fyke-ranks"))
_HEAD = struct.Struct("<QQQQQ")
_MOST_HELD = 1024  # parts of records: some hundred kilobytes


class EdgeFile:
    """The links of a tablet's pages, appended as the pages come."""

    def __init__(self, file: Path) -> None:
        """Open a file, or make it; what is not whole at its end is cut off."""
        self._held: list[bytes] = []
        self._file = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        words = _mapped(file)
        whole, self.last = (0, 0) if words is None else whole_records(words)
        if words is None:
            os.ftruncate(self._file, 0)
            os.write(self._file, _EDGES)
        else:
            os.ftruncate(self._file, len(_EDGES) + 8 * whole)

    def append(self, sequence: int, visit: Movement) -> None:
        """Note a visit, unless it is noted already."""
        if sequence <= self.last:
            return
        self.last = sequence
        keys = np.frombuffer(visit.keys if visit.honest else b"", "<u8")
        own = np.frombuffer(visit.own_site if visit.honest else b"", "u1") != 0
        hosts = visit.hosts if visit.honest and len(visit.hosts) == 8 * int((~own).sum()) else b""
        others = keys[~own] if hosts else keys[:0]
        head = np.array([sequence, visit.page, visit.host or 1, own.sum(), len(others)], "<u8")
        self._held += (head.tobytes(), keys[own].tobytes(), others.tobytes(), hosts)
        if len(self._held) > _MOST_HELD:
            self.flush()

    def flush(self) -> None:
        """Write what is held."""
        if self._held:
            os.write(self._file, b"".join(self._held))
            self._held.clear()

    def close(self) -> None:
        """Write what is held, and let go of the file."""
        self.flush()
        os.close(self._file)


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """A published file, mapped."""

    covered: int = 0
    known: int = 0
    pages: Words | None = None
    hosts: Words | None = None
    ranks: Singles | None = None
    authorities: Singles | None = None

    @property
    def mean(self) -> float:
        """The rank of an ordinary page; 0 where nothing is known."""
        return 1 / self.known if self.known else 0.0

    def rank(self, keys: Words) -> Floats:
        """The rank of pages; that of an ordinary one where it is not known."""
        if self.pages is None or self.ranks is None:
            return np.empty(0)
        return look_up(self.pages, self.ranks, keys, self.mean)

    def authority(self, hosts: Words) -> Floats:
        """The mean rank of the pages of hosts."""
        if self.hosts is None or self.authorities is None:
            return np.empty(0)
        return look_up(self.hosts, self.authorities, hosts, self.mean)

    @classmethod
    def read(cls, file: Path) -> Ranks:
        """Map a file; what cannot be read is as if it were not there, and computed anew."""
        try:
            data = np.memmap(file, np.uint8, "r")
        except (OSError, ValueError):
            return cls()
        start = len(_RANKS) + _HEAD.size
        if len(data) < start or data[: len(_RANKS)].tobytes() != _RANKS:
            return cls()
        digest, covered, known, pages, hosts = _HEAD.unpack(data[len(_RANKS) : start].tobytes())
        digested = xxhash.xxh3_64_intdigest(data[len(_RANKS) + 8 :].data)
        if len(data) != start + 12 * (pages + hosts) or digested != digest:
            return cls()
        words, singles = data[start : start + 8 * (pages + hosts)].view("<u8"), data[start + 8 * (pages + hosts) :]
        values = singles.view("<f4")
        if not (is_open_table(words[:pages]) and is_open_table(words[pages:]) and np.isfinite(values).all()):
            return cls()
        return cls(covered, known, words[:pages], words[pages:], values[:pages], values[pages:])


class Ranking:
    """An agent's part in it: it notes the visits of its tablets, and has the ranks of all."""

    def __init__(self, store: Path, tablets: Sequence[int], *, beside: bool = True) -> None:
        """Without ``beside``, ranks are computed in ``step`` itself: for tests, where every run is alike."""
        self._folder, self._beside = store / "ranks", beside
        self._folder.mkdir(exist_ok=True)
        self._edges = {number: EdgeFile(self._folder / f"{number:04}.edges") for number in tablets}
        self._stop = Event()
        self._thread: Thread | None = None
        self._stamp = (0, 0)
        self.ranks = Ranks()
        self._look()

    def note(self, number: int, sequence: int, visit: Movement) -> None:
        """A page of a tablet was visited."""
        self._edges[number].append(sequence, visit)

    def flush(self) -> None:
        """Write what was noted. REQUIRED before the movements of cash are forgotten."""
        for edges in self._edges.values():
            edges.flush()

    def step(self) -> None:
        """Take new ranks up, and have them computed where that is due."""
        self.flush()
        if self._thread is not None and self._thread.is_alive():
            return
        self._look()
        words = sum(file.stat().st_size - len(_EDGES) for file in self._folder.glob("*.edges")) // 8
        if words - self.ranks.covered > max(LEAST, (GROWTH - 1) * self.ranks.covered):
            if self._beside:
                self._thread = Thread(target=self._compute, name="fyke-ranks", daemon=True)
                self._thread.start()
            else:
                compute(self._folder)
                self._look()

    def close(self) -> None:
        """End what is under way."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        for edges in self._edges.values():
            edges.close()
        self._edges.clear()

    def _look(self) -> None:
        try:
            status = (self._folder / "ranks").stat()
        except FileNotFoundError:
            return
        if self._stamp != (status.st_ino, status.st_mtime_ns):
            self._stamp = (status.st_ino, status.st_mtime_ns)
            self.ranks = Ranks.read(self._folder / "ranks")

    def _compute(self) -> None:
        spent = time.thread_time()

        def rest() -> bool:
            nonlocal spent
            now = time.thread_time()
            pause, spent = (now - spent) * (1 / SHARE - 1), now
            return self._stop.wait(pause)

        compute(self._folder, rest)


def compute(folder: Path, rest: Callable[[], bool] = lambda: False) -> bool:
    """Compute the ranks of all edge files in ``folder`` and publish them; return whether that was done.

    ``rest`` is called between steps; where it returns True the computation is given up. So it is where another
    process is at it.
    """
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        files = [words for file in sorted(folder.glob("*.edges")) if (words := _mapped(file)) is not None]
        total = sum(map(len, files))
        if not total:
            return False
        scratch = folder / "scratch"
        edges = np.memmap(scratch, np.int32, "w+", shape=(total,))
        scratch.unlink()  # it goes with the map
        numbering = Numbering(edges)
        for words in files:
            at = 0
            while read := numbering.take(words[at : at + CHUNK]):
                at += read
                if rest():
                    return False
        known = numbering.known()
        if (ranks := known.ranks(rest)) is None:
            return False
        _publish(folder, numbering, total, ranks, known.authority(ranks))
        return True


def _publish(folder: Path, numbering: Numbering, covered: int, ranks: Floats, authority: Floats) -> None:
    tables = (numbering.pages, numbering.hosts)
    parts = [table.keys.astype("<u8").tobytes() for table in tables]
    for table, values in zip(tables, (ranks, authority), strict=True):
        by_slot = np.zeros(len(table.keys), "<f4")
        used = table.columns["number"] > 0
        by_slot[used] = values[table.columns["number"][used] - 1]
        parts.append(by_slot.tobytes())
    numbers = (covered, len(ranks), *(len(table.keys) for table in tables))
    digest = xxhash.xxh3_64(_HEAD.pack(0, *numbers)[8:])
    for part in parts:
        digest.update(part)
    fresh = folder / "ranks.new"
    with fresh.open("wb") as stream:
        stream.write(_RANKS + _HEAD.pack(digest.intdigest(), *numbers))
        stream.writelines(parts)
    fresh.replace(folder / "ranks")


def _mapped(file: Path) -> Words | None:
    """The records of an edge file; None where it has no beginning."""
    with file.open("rb") as stream:
        if stream.read(len(_EDGES)) != _EDGES:
            return None
    count = (file.stat().st_size - len(_EDGES)) // 8
    return np.memmap(file, "<u8", "r", len(_EDGES), (count,)) if count else np.empty(0, np.uint64)
