"""The view: agents of all machines as one crawl, for the ordinary commands; what is asked for there reaches nodes."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

import fyke
from fyke.cli import run
from fyke.cluster.copies import WorkingCopy, known_plan, make_depot
from fyke.cluster.head import Head
from fyke.cluster.messages import Job, Report
from fyke.cluster.registrar import Beat
from fyke.cluster.view import View
from fyke.crawl.politeness.addresses import SLOTS
from fyke.crawl.run import status as statuses
from fyke.crawl.run import steering
from fyke.crawl.run.plan import Plan
from fyke.crawl.run.settings import CrawlSettings
from fyke.crawl.run.status import AgentStatus
from fyke.store import Settings
from fyke.store.depot import Depot


def depot_of(folder: Path) -> Depot:
    return make_depot(str(folder / "depot"), Settings(tablets=2), Plan(("http://a.test/",), CrawlSettings()))


def agent(number: int, pages: int, when: float, asked: int = 0) -> AgentStatus:
    return AgentStatus(1, number, 999_999_999, when, when - 10, pages, counters={"pages": pages}, steering=asked)


def test_agents_of_all_machines_are_one_crawl(tmp_path: Path) -> None:
    view = View(tmp_path / "crawl", depot_of(tmp_path))
    view.show({"a": (agent(0, 5, 1000.0), agent(1, 6, 1000.0)), "b": (agent(0, 7, 5e9),)})
    found = statuses.total(statuses.read(view.path), time.time())
    assert (found.pages, found.agents) == (18, 3)
    assert found.running, "however the clocks of machines are set, and though their processes are not here"
    assert found.rate == pytest.approx(1.8)
    view.show({"a": (agent(0, 9, 1001.0),)})
    assert statuses.total(statuses.read(view.path), time.time()).pages == 9, "what is gone is not shown"


def test_what_is_asked_for_reaches_the_depot_and_the_nodes(tmp_path: Path) -> None:
    depot = depot_of(tmp_path)
    view = View(tmp_path / "crawl", depot)
    assert view.asked() is None
    view.show({"a": (agent(0, 5, 1000.0, 1 << 30),)})
    for words in (["pause"], ["add", "http://b.test/"], ["exclude", "/trap/"], ["slow", "a.test", "9"]):
        assert run(["control", *words, "--store", str(view.path), "-q"]) == 0
    asked = view.asked()
    assert asked is not None
    assert asked.paused
    assert (asked.add, asked.exclude, asked.slow) == (("http://b.test/",), ("/trap/",), {"a.test": 9.0})
    assert view.asked() is None, "it is told once"
    plan = known_plan(depot.url)
    assert plan is not None
    assert plan.seeds == ("http://a.test/", "http://b.test/"), "a later run has the seeds"

    async def steered() -> tuple[steering.Steering, str]:
        job = Job(plan, depot.url, depot.about)
        head = Head(job, lambda: {"1": "a"}, lambda machine, name: None)
        head._expected.add("a")
        await head.steer(asked)
        report = Report(Beat("a", 1, 1, version=fyke.__version__), addresses=bytes(SLOTS // 8))
        orders = await head.beat(report)
        await head.steer(steering.Steering(number=9, stop=True))
        return orders.steering, str((await head.beat(report)).ending)

    told, ending = asyncio.run(steered())
    assert told == asked
    assert ending == "True", "a stop ends the crawl"
    node = WorkingCopy(tmp_path / "node", depot)
    node.make()
    assert steering.read(node.path) == asked, "one that joins has it from the depot"
    steering.write(node.path, steering.Steering(number=1))
    assert steering.read(node.path) == asked, "and nothing older counts"
    again = View(tmp_path / "crawl", depot)
    later = again.asked()
    assert later is not None
    assert not later.paused, "a pause was for the run before"
    assert later.exclude == ("/trap/",)


def test_the_view_of_another_crawl_makes_room(tmp_path: Path) -> None:
    view = View(tmp_path / "crawl", depot_of(tmp_path))
    (view.path / "old").touch()
    View(tmp_path / "crawl", make_depot(str(tmp_path / "other"), Settings(tablets=3), Plan((), CrawlSettings())))
    assert not (view.path / "old").exists()
