"""A soak: memory, descriptors, threads and temporary files of a crawl that goes on and on, at ten points.

``python -m bench.soak [--virtual 3600] [--seconds 600] [--write]``: an hour of virtual time (a whole agent in this
process, all kinds of pages, revisits, sitemaps, feeds; the clock is virtual, the store real), then ten minutes of real
time (``fyke crawl --continuous`` over sockets against a world whose pages change, with a proper TMPDIR of its own).
What grows is the difference of the last point to the third: before, caches fill. ``--write`` puts the tables into
docs/security.md.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench.hostile import tree
from bench.measure import figure, table
from fyke.clock import VirtualClock
from fyke.crawl.revisit.budget import RevisitSettings
from fyke.crawl.run import status
from fyke.errors import StorageError
from fyke.values import Outcome, Request
from fyke.world.config import DAY, START, WorldConfig
from fyke.world.serve import serve
from fyke.world.transport import WorldTransport
from fyke.world.world import World
from tests.crawl import continuous

POINTS = 10
SETTLED = 2
"""The point from which on nothing should grow."""
PAGE = Path(__file__).parent.parent / "docs" / "security.md"
Point = tuple[float, int, float, int, int, int]
"""Minutes, fetches, MB, descriptors, threads, temporary files."""
HEAD = ["minute", "fetches", "anonymous MB", "descriptors", "threads", "temporary files"]


def look(processes: Sequence[int], minute: float, fetches: int, folder: Path) -> Point:
    """A point of the table; what is gone meanwhile is not counted."""
    memory = descriptors = threads = 0
    for process in processes:
        try:
            lines = Path(f"/proc/{process}/status").read_text().splitlines()
            facts = {
                line.partition(":")[0]: line.split()[1] for line in lines if line.startswith(("RssAnon", "Threads"))
            }
            memory += int(facts.get("RssAnon", 0))
            threads += int(facts.get("Threads", 0))
            descriptors += len(list(Path(f"/proc/{process}/fd").iterdir()))
        except OSError:
            continue
    files = sum(len(names) for _, _, names in os.walk(folder))
    return round(minute, 1), fetches, round(memory / 1024), descriptors, threads, files


class Watched:
    """A world that is looked at from time to time of its clock."""

    def __init__(self, inner: WorldTransport, clock: VirtualClock, seconds: float, folder: Path) -> None:
        self._inner, self._clock, self._folder = inner, clock, folder
        self._every, self._next = seconds / POINTS, clock.now() + seconds / POINTS
        self._began = clock.now()
        self.fetches = 0
        self.points: list[Point] = []

    async def fetch(self, request: Request) -> Outcome:
        self.fetches += 1
        while self._clock.now() >= self._next and len(self.points) < POINTS:
            gc.collect()
            self.points.append(look([os.getpid()], (self._next - self._began) / 60, self.fetches, self._folder))
            self._next += self._every
        return await self._inner.fetch(request)


def virtual(seconds: float, pages: int) -> list[Point]:
    """An hour of virtual time, in this process."""
    world, clock = World(WorldConfig(hosts=25, pages=pages)), VirtualClock(START)
    with tempfile.TemporaryDirectory(prefix="fyke-soak-") as name:
        folder = Path(name)
        (folder / "tmp").mkdir()
        tempfile.tempdir = str(folder / "tmp")
        try:
            watched = Watched(WorldTransport(world, clock), clock, seconds, folder / "tmp")
            settings = RevisitSettings()
            continuous.crawl(
                folder / "store", watched, list(world.seeds), clock, 1.05 * seconds / DAY, settings, sitemaps=True
            )
        finally:
            tempfile.tempdir = None
    return watched.points


def real(seconds: float, pages: int, rate: float) -> list[Point]:
    """Ten minutes of real time, over sockets, at so many requests a second at most."""
    points: list[Point] = []
    config = WorldConfig(hosts=25, pages=pages)
    with serve(config, speed=600.0) as served, tempfile.TemporaryDirectory(prefix="fyke-soak-") as name:
        folder = Path(name)
        (folder / "tmp").mkdir()
        served.write(folder / "world")
        words = [
            sys.executable,
            "-m",
            "fyke",
            "crawl",
            f"@{folder / 'world' / 'seeds.txt'}",
            "--quiet",
            "--agents",
            "1",
        ]
        words += ["--config", str(folder / "world" / "crawl.toml"), "--store", str(folder / "store"), "--continuous"]
        environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
        with subprocess.Popen([*words, "--request-rate", str(rate)], env=environment) as crawl:
            began = time.monotonic()
            ended = threading.Event()
            for point in range(1, POINTS + 1):
                ended.wait(began + point * seconds / POINTS - time.monotonic())
                minute = (time.monotonic() - began) / 60
                points.append(look(tree(crawl.pid), minute, _fetches(folder / "store"), folder / "tmp"))
                print(points[-1], flush=True)
            crawl.send_signal(signal.SIGINT)
            crawl.wait(120)
        left = sum(len(names) for _, _, names in os.walk(folder / "tmp"))
        print(f"temporary files after the end: {left}")
    return points


def _fetches(store: Path) -> int:
    try:
        counters = [report.counters for report in status.read(store)]
    except (StorageError, OSError):
        return 0
    return sum(
        count
        for each in counters
        for name, count in each.items()
        if name in {"pages", "moved"} or name.startswith(("errors:", "revisits:"))
    )


def write(title: str, rows: Sequence[Point]) -> None:
    """Put a table between its marks in the page."""
    begin, end = f"<!-- soak {title}: begin (python -m bench.soak --write) -->", f"<!-- soak {title}: end -->"
    before, _, rest = PAGE.read_text().partition(begin)
    PAGE.write_text(f"{before}{begin}\n{table(HEAD, rows)}\n{end}{rest.partition(end)[2]}")


def main() -> None:
    """Soak; print or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--virtual", type=float, default=3600.0, help="seconds of virtual time; 0 for none")
    parser.add_argument("--seconds", type=float, default=600.0, help="seconds of real time; 0 for none")
    parser.add_argument("--pages", type=int, default=1500)
    parser.add_argument("--rate", type=float, default=20.0, help="requests a second at most, in real time")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    for title, seconds, run in (
        ("virtual", options.virtual, virtual),
        ("real", options.seconds, partial(real, rate=options.rate)),
    ):
        if not seconds:
            continue
        points = run(seconds, options.pages)
        print(title, table(HEAD, points), sep="\n")
        growth = points[-1][2] / points[SETTLED][2] - 1
        print(f"memory of the last point beside the third: {growth:+.1%}")
        figure(f"soak, {title}: anonymous memory, the last point beside the third", "share", growth)
        if options.write:
            write(title, points)


if __name__ == "__main__":
    main()
