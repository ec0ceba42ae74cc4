"""A continuous crawl of the changing world: sixty virtual days of the whole crawler, then real sockets for a minute.

python -m bench.continuous [--days 60] [--seconds 60] [--policy age-optimal --policy uniform]

Freshness and age are the truth: what the world shows beside the last copy that the crawler was given, over the second
half. The optimum is that of a solver that knows every rate and spends as many revisits on the same pages. "Policy
alone" is the same policy without a crawler, which learns the rates of the same pages as long and with as many visits:
two pages in five never change, and to learn that has its price. The last ratio is of the pages that do change, against
the optimum of the visits that they got.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from bench.measure import table
from fyke.clock import VirtualClock
from fyke.crawl.agent import Agent
from fyke.crawl.capture import Processor
from fyke.crawl.context import FetchContext
from fyke.crawl.politeness.permissions import Permissions
from fyke.crawl.politeness.rules import Rules
from fyke.crawl.revisit.budget import RevisitSettings
from fyke.crawl.run.options import AgentCallbacks, AgentOptions
from fyke.crawl.run.settings import CrawlSettings
from fyke.frontier.frontier import Frontier
from fyke.frontier.politeness import Politeness
from fyke.frontier.revisit import RevisitPolicy
from fyke.simulate.change import ChangingWorld, simulate_changes
from fyke.store import Settings, Store
from fyke.url import Url
from fyke.world.config import DAY, START, WorldConfig
from fyke.world.serve import serve
from fyke.world.transport import Visit, WorldTransport
from fyke.world.world import World

SAMPLES = 100
RUNS = 5
DAY_LASTS = 4.0
"""Seconds of a world's day over sockets."""


def truth(policy: str, world: World, visits: Iterable[Visit], days: float) -> list[object]:
    """Freshness and age (hours) over the second half, and what they might be; times are the world's."""
    copies: defaultdict[str, list[float]] = defaultdict(list)
    asked: defaultdict[str, int] = defaultdict(int)
    for visit in visits:
        url = world.bases[world.host(visit.host).number] + visit.target  # type: ignore[union-attr]
        if "?" in visit.target or world.version(url, visit.started) is None:
            continue
        asked[url] += START + days * DAY / 2 <= visit.started
        if visit.status == 200:
            copies[url].append(visit.started)
    fresh: list[bool] = []
    ages: defaultdict[str, list[float]] = defaultdict(list)
    for t in START + days * DAY * np.linspace(0.5, 1.0, SAMPLES):
        for url, times in copies.items():
            held = max((s for s in times if s <= t), default=None)
            if held is None or (now := world.version(url, t)) is None:
                continue
            fresh.append(now == world.version(url, held))
            ages[url].append(0.0 if fresh[-1] else (t - _first_change(world, url, held, t)) / 3600)
    every = _alike(world, list(ages))
    budget = sum(asked.values()) / (days / 2)
    least, even = (every.optimum(RevisitPolicy(name), budget)[1] * 24 for name in ("age-optimal", "uniform"))
    alone = [
        simulate_changes(every, every.schedule(RevisitPolicy(policy), budget, known=False), days, chance)
        for chance in map(np.random.default_rng, range(RUNS))
    ]
    changing = [url for url in ages if world.truth(url, START).rate > 0]
    best = _alike(world, changing).optimum(RevisitPolicy(), sum(asked[url] for url in changing) / (days / 2))[1] * 24
    return [
        *(len(ages), budget / len(ages), float(np.mean(fresh)), _mean(ages, ages), least, even),
        *(float(np.mean([curve.second_half()[1] for curve in alone])) * 24, _mean(ages, changing) / best),
    ]


def _alike(world: World, urls: list[str]) -> ChangingWorld:
    """The pages as they change, without a web around them."""
    hosts = {host: i for i, host in enumerate(dict.fromkeys(Url(url).host for url in urls))}
    numbers = np.array([hosts[Url(url).host] for url in urls])
    return ChangingWorld(np.array([world.truth(url, START).rate for url in urls]), numbers, np.zeros_like(numbers))


def _mean(ages: dict[str, list[float]], urls: Iterable[str]) -> float:
    return float(np.mean([age for url in urls for age in ages[url]]))


def _first_change(world: World, url: str, start: float, end: float) -> float:
    """When the page first changed between two times at which it differs."""
    version = world.version(url, start)
    while end - start > 60.0:
        middle = (start + end) / 2
        if world.version(url, middle) == version:
            start = middle
        else:
            end = middle
    return end


def virtual(policy: str, days: float, pages: int) -> list[object]:
    """The whole crawler, one agent, without sockets."""
    world = World(WorldConfig(hosts=12, pages=pages, formats=False))
    clock = VirtualClock(START)
    transport = WorldTransport(world, clock)
    seeds = [Url.parse(seed) for seed in world.seeds]
    settings = RevisitSettings(RevisitPolicy(policy), budget=1.5 * pages / DAY)

    async def main(folder: Path) -> None:
        with Store.open(folder / "store", settings=Settings(tablets=1)) as store:
            agent = Agent(
                store, Frontier(Politeness(delay=1.0)), FetchContext(transport, Permissions("fyke"), clock),
                Rules.of(CrawlSettings(scope="any"), seeds), Processor("fyke"),
                options=AgentOptions(revisits=settings, beat_every=3600.0),
                callbacks=AgentCallbacks(lambda agent: clock.now() < START + days * DAY),
            )  # fmt: skip
            await agent.run(seeds)

    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        clock.run(main(Path(folder)))
        cpu = time.process_time() - started
    return [policy, f"{days:.0f} virtual days", *truth(policy, world, transport.log, days), cpu]


def sockets(policy: str, seconds: float, pages: int) -> list[object]:
    """The same over loopback, a day of the world in ``DAY_LASTS`` seconds; CPU is the crawler's.

    Politeness leaves a host alone for ten times what a fetch took, so that a day cannot be much shorter.
    """
    from fyke.assemble import crawl

    speed = DAY / DAY_LASTS
    # Waiting cannot be made shorter like days: no host asks for a delay, is slow or goes away for a while.
    config = WorldConfig(hosts=24, pages=pages, formats=False, slow=False, flaky=False, traps=False, robots=False)
    with serve(config, speed=speed) as served, tempfile.TemporaryDirectory() as folder:
        world = served.world
        offset = served.time() - time.time() * speed
        threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
        done = crawl(
            world.seeds, Path(folder) / "store", scope="any", continuous=True, revisit_policy=policy, agents=1,
            request_rate=1.5 * pages / DAY_LASTS, delay=0.01, resolve=tuple(served.resolve()),
        )  # fmt: skip
        visits = [
            Visit(v.host, v.target, v.status, v.started * speed + offset, v.ended * speed + offset)
            for v in served.log()
        ]
    days = (max(v.started for v in visits) - START) / DAY
    return [policy, f"{seconds:.0f} s, {DAY_LASTS:.0f} s a day", *truth(policy, world, visits, days), done.cpu_seconds]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=float, default=60.0)
    parser.add_argument("--seconds", type=float, default=60.0, help="over sockets; 0 for none")
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--policy", action="append", choices=RevisitPolicy.NAMES)
    given = parser.parse_args()
    rows = []
    for policy in given.policy or ("age-optimal", "uniform"):
        if given.days:
            rows.append(virtual(policy, given.days, given.pages))
            print(*rows[-1], file=sys.stderr)
        if given.seconds:
            rows.append(sockets(policy, given.seconds, min(given.pages, 150)))
            print(*rows[-1], file=sys.stderr)
    head = ["policy", "time", "pages", "visits per page and day", "freshness", "age, hours", "least possible age"]
    head += ["uniform's in theory", "policy alone, learnt", "÷ least, changing pages", "CPU s"]
    print(table(head, rows))


if __name__ == "__main__":
    main()
