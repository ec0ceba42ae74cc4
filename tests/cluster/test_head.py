"""The head: whom it refuses, who takes its place, and when a machine whose node has left gets another."""

from __future__ import annotations

import asyncio
import itertools
import time
from pathlib import Path
from typing import Any

import fyke
from fyke.cluster import head as heads
from fyke.cluster.copies import make_depot
from fyke.cluster.head import Head, new_term
from fyke.cluster.messages import Job, Report
from fyke.cluster.registrar import Beat
from fyke.crawl.politeness.addresses import SLOTS
from fyke.crawl.run.ending import End
from fyke.crawl.run.plan import Plan
from fyke.crawl.run.settings import CrawlSettings
from fyke.store import Settings
from fyke.store.depot import Depot


def depot_of(folder: Path) -> Depot:
    return make_depot(str(folder / "depot"), Settings(tablets=2), Plan(("http://a.test/",), CrawlSettings()))


def test_a_node_with_another_clock_or_fyke_is_refused_with_a_sentence(tmp_path: Path) -> None:
    depot = depot_of(tmp_path)

    async def refused(version: str, clock: float) -> tuple[str, list[str]]:
        head = Head(Job(Plan((), CrawlSettings()), depot.url, depot.about), dict, lambda machine, name: None)
        head._expected.add("a")
        orders = await head.beat(Report(Beat("a", 1, 1, version=version), addresses=bytes(SLOTS // 8), clock=clock))
        return orders.refused, [event.what for event in (await head.overview()).events]

    assert asyncio.run(refused(fyke.__version__, time.time() + 20)) == ("", [])
    said, events = asyncio.run(refused(fyke.__version__, time.time() - 3600))
    assert "behind the head's; set it" in said
    assert said in events[0], "whoever crawls is told, too"
    assert "runs fyke 9.9" in asyncio.run(refused("9.9", time.time()))[0]


def test_of_two_heads_with_one_depot_the_older_ends(tmp_path: Path) -> None:
    depot = depot_of(tmp_path)

    async def main() -> tuple[End | None, End | None, list[str]]:
        job = Job(Plan((), CrawlSettings()), depot.url, depot.about)
        first = Head(job, dict, lambda machine, name: None)
        before = await first._replaced()
        second = Head(job, dict, lambda machine, name: None)
        assert await second._replaced() is None
        report = Report(Beat("a", 1, 1, version=fyke.__version__), addresses=bytes(SLOTS // 8))
        second._expected.add("a")
        waits = (await second.beat(report)).answer
        assert waits is not None
        assert waits.waiting, "nobody has said that the leases of the first are over"
        return before, await first._replaced(), [event.what for event in (await first.overview()).events]

    before, after, events = asyncio.run(main())
    assert before is None
    assert after is End.INTERRUPTED
    assert "another head has begun" in events[0]
    assert new_term(depot) == -3, "a term is nobody else's"


def test_a_machine_that_cannot_work_is_asked_less_and_less_often(tmp_path: Path, monkeypatch: Any) -> None:
    depot, now, made = depot_of(tmp_path), [1000.0], list[float]()

    class Leaves:
        """An actor whose node leaves at once."""

        class run:  # noqa: N801 - an actor's method
            """What Ray calls."""

            @staticmethod
            async def remote() -> str:
                """End."""
                return "its disk is full"

    def make(machine: str, name: str) -> Leaves:
        made.append(now[0])
        return Leaves()

    async def main() -> None:
        head = Head(Job(Plan((), CrawlSettings()), depot.url, depot.about), lambda: {"m": "a"}, make)
        for _ in range(300):
            now[0] += 1.0
            head._make_nodes({"m": "a"})
            while head._tasks:
                await asyncio.gather(*head._tasks)

    monkeypatch.setattr(heads, "boot_time", lambda: now[0])
    asyncio.run(main())
    gaps = [later - earlier for earlier, later in itertools.pairwise(made)]
    assert len(gaps) == 2
    assert gaps[1] > 3 * gaps[0] >= 3 * heads.AGAIN
