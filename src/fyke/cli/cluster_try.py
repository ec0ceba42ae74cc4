"""The story of `fyke cluster try`: machines on loopback, a crawl of the synthetic web, one of them killed in the midst.

What the others found is held against the truth of that web, and the server's log against the gaps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

from fyke.assemble import compile_ahead
from fyke.cluster.crawl import crawl, job_of
from fyke.cluster.head import Overview
from fyke.cluster.loopback import Loopback
from fyke.cluster.machine import connected
from fyke.crawl.run.settings import CrawlSettings
from fyke.scratch import Scratch
from fyke.store import Store
from fyke.store.depot import Depot
from fyke.store.fetching import fetch
from fyke.world.config import WorldConfig
from fyke.world.serve import Served, serve
from fyke.world.transport import shortest_gaps

WORLD = WorldConfig(hosts=15, pages=240, slow=False, flaky=False, traps=False)
DELAY = 0.05
"""Seconds between contacts of a host: polite in kind, short in time."""
LEASE = 4.0
"""Seconds, for 10: the story is short."""
KILL_AT = 60
"""Pages after which a machine is killed."""


class Story:
    """Tells it with ``say``; ``tell`` returns the facts."""

    def __init__(self, number: int, kill: bool, say: Callable[[str], None]) -> None:
        self._number, self._kill, self._say = number, kill, say
        self._began = time.time()
        self._killed = self._taken_over = 0.0
        self._pages = 0
        self._told = 0.0

    def tell(self) -> dict[str, object]:
        """Live through it."""
        compile_ahead("crawls")  # once, and not by each of the machines
        with Scratch("try") as folder, Loopback(folder) as self._machines:
            self._start(1)
            with ThreadPoolExecutor(self._number) as pool:
                list(pool.map(self._start, range(2, self._number + 1)))
            with serve(WORLD) as served, connected(self._machines.machines[1]) as actors:
                return self._crawl(folder, served, actors)

    def _start(self, place: int) -> None:
        address = self._machines.start(place).address
        self._line(f"machine {address} is up{' as the head' if place == 1 else ''}")

    def _line(self, said: str) -> None:
        self._say(f"{time.time() - self._began:5.1f} s  {said}")

    def _crawl(self, folder: Path, served: Served, actors: ModuleType) -> dict[str, object]:
        depot = str(folder / "depot")
        settings = CrawlSettings(
            scope="any", delay=DELAY, patience=1.0, agents=1, resolve=tuple(served.resolve()), depot=depot
        )
        self._line(f"a web of {len(served.world.hosts)} hosts is served on loopback; the crawl begins")
        served.log()
        summary = crawl(job_of(served.world.seeds, settings, tablets=4 * self._number, lease=LEASE), actors, self._show)
        self._line(f"the crawl has ended by itself: {summary.pages:,} pages")
        fetch(Depot.open(depot), folder / "store")
        with Store.open(folder / "store", "r") as store:
            rows = [row for row in store.scan(parts=()) if row.meta.status == 200 and not row.meta.error]
            stored = {row.url for row in rows}
            doubled = sum(len(row.versions) > 1 for row in rows)
        expected = served.world.expected(served.world.seeds)
        gaps = shortest_gaps(served.log())
        early = sum(gap < DELAY - 0.001 for gap in gaps.values())
        found = len(expected.pages & stored)
        self._line(
            f"{found:,} of {len(expected.pages):,} expected pages are in the depot, {doubled} of them twice; "
            f"{len(stored & expected.disallowed)} that robots.txt forbids; {early} of {len(gaps)} hosts met early"
        )
        took = round(self._taken_over - self._killed, 1) if self._taken_over else None
        return {
            "machines": self._number,
            "expected": len(expected.pages),
            "found": found,
            "doubled": doubled,
            "early": early,
            "take_over_seconds": took,
            "seconds": round(time.time() - self._began, 1),
            "complete": found == len(expected.pages) and not doubled and (took is not None or not self._kill),
        }

    def _show(self, overview: Overview) -> None:
        for event in overview.events:
            self._line(event.what)
        if time.time() - self._told > 3:
            self._told = time.time()
            shares = ", ".join(f"{name}: {told['tablets']} tablets" for name, told in sorted(overview.nodes.items()))
            self._line(f"{overview.status.pages:,} pages, {overview.status.queued:,} queued; {shares or 'starting'}")
        if self._kill and not self._killed and overview.status.pages >= KILL_AT:
            self._machines.kill(self._number)
            self._killed, self._pages = time.time(), overview.status.pages
            self._line(f"machine 127.0.1.{self._number} is killed (kill -9 of every process of it)")
        elif self._killed and not self._taken_over and self._is_whole(overview):
            self._taken_over = time.time()
            self._line(
                f"the others are at work on its tablets, {self._taken_over - self._killed:.1f} s after its death"
            )

    def _is_whole(self, overview: Overview) -> bool:
        alive = [told for name, told in overview.nodes.items() if name != f"127.0.1.{self._number}"]
        return (
            len(alive) == len(overview.nodes)
            and not overview.free
            and all(told["ready"] and told["agents"] for told in alive)
        )
