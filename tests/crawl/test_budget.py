"""The budget of a continuous crawl: what revisits and new pages get of it, and how agents share its threshold."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fyke.clock import VirtualClock
from fyke.crawl.agent import Agent
from fyke.crawl.capture import Processor
from fyke.crawl.context import FetchContext
from fyke.crawl.mail.outbox import Letter
from fyke.crawl.politeness.permissions import Permissions
from fyke.crawl.politeness.rules import Rules
from fyke.crawl.revisit.budget import Budget, RevisitSettings
from fyke.crawl.revisit.revisits import Revisits
from fyke.crawl.run.board import Board
from fyke.crawl.run.options import AgentCallbacks, AgentOptions
from fyke.crawl.run.settings import CrawlSettings
from fyke.frontier.frontier import Frontier
from fyke.frontier.politeness import Politeness
from fyke.frontier.revisit import DAY, ChangeState
from fyke.store import Settings, Store
from fyke.url import Url
from fyke.world.config import START, WorldConfig
from fyke.world.transport import WorldTransport, shortest_gaps
from fyke.world.world import World


def test_a_backlog_puts_no_page_off_for_long() -> None:
    revisits = Revisits(RevisitSettings(budget=10.0))
    revisits.budget.pages = 100
    revisits.budget.outstanding = 99
    revisits.budget.passed(START, 10, 0)
    assert revisits.due(ChangeState(seen=START, rate=0.001)) <= START + 100 / 10


def test_the_share_is_kept_while_new_pages_wait() -> None:
    budget = Budget(RevisitSettings(share=0.25, budget=8.0))
    budget.pages = 100
    budget.passed(START, 10, 0)
    budget.passed(START + 1, 10, 50)
    assert budget.threshold.budget == pytest.approx(2.0 * DAY), "new pages ask for all they can get"
    budget.passed(START + 2, 10, 53)
    assert budget.threshold.budget == pytest.approx(5.0 * DAY), "they leave some of it"
    budget.passed(START + 3, 10, 53)
    assert budget.threshold.budget == pytest.approx(8.0 * DAY), "and what only waits takes nothing"
    granted = sum(budget.pace(START + 4 + i * 0.01) == 0.0 for i in range(1000))
    assert granted == pytest.approx(8 * 10 + 8, abs=2)


def test_agents_share_one_threshold(tmp_path: Path) -> None:
    board = Board(tmp_path / "board", 2)
    board.clear()
    assert board.threshold(0, 4.0) == pytest.approx(4.0)
    assert board.threshold(1, 1.0) == pytest.approx(2.0)
    board.work_on(0, "http://x/" + "y" * 9000)
    assert board.threshold(1, 1.0) == pytest.approx(2.0), "a long URL does not reach it"
    board.close()


def test_of_several_agents_one_that_rests_shows_it_soon(tmp_path: Path) -> None:
    """That all rest is seen by two beats of each: a second between them would be some seconds of waiting at the end."""
    world = World(WorldConfig(hosts=2, pages=20, formats=False, slow=False, flaky=False, traps=False))
    clock, urls = VirtualClock(START), [Url.parse(seed) for seed in world.seeds]
    transport, beats = WorldTransport(world, clock), list[float]()

    def beat(agent: Agent) -> bool:
        beats.append(clock.now() if agent.resting(clock.now()) else 0.0)
        return not all(beats[-3:]) or len(beats) < 3

    async def send(tablet: int, letters: list[Letter]) -> None:
        """Nobody else is there."""

    async def main() -> None:
        with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
            frontier, rules = Frontier(Politeness(delay=1.0)), Rules.of(CrawlSettings(scope="any"), urls)
            context, callbacks = FetchContext(transport, Permissions("fyke"), clock), AgentCallbacks(beat, send=send)
            await Agent(store, frontier, context, rules, Processor("fyke"), callbacks=callbacks).run(urls)

    clock.run(main())
    assert beats[-1] - beats[-3] < 1.0


def test_two_agents_keep_a_collection_fresh_together(tmp_path: Path) -> None:
    world = World(WorldConfig(hosts=10, pages=60, formats=False, languages=False, encodings=False, traps=False))
    clock, path, board = VirtualClock(START), tmp_path / "s", Board(tmp_path / "board", 2)
    transport, urls, processor = (
        WorldTransport(world, clock),
        [Url.parse(seed) for seed in world.seeds],
        Processor("fyke"),
    )
    board.clear()

    def beat(agent: Agent) -> bool:
        assert agent.revisits is not None
        threshold = agent.revisits.budget.threshold
        threshold.value = board.threshold(agents.index(agent), threshold.value)
        return clock.now() < START + 6 * DAY

    async def send(tablet: int, letters: list[Letter]) -> None:
        await agents[tablet].receive(letters)

    async def main(stores: list[Store]) -> None:
        agents.extend(
            Agent(
                store, Frontier(Politeness(delay=1.0)), FetchContext(transport, Permissions("fyke"), clock),
                Rules.of(CrawlSettings(scope="any"), urls), processor,
                options=AgentOptions(revisits=RevisitSettings(budget=60 / DAY), beat_every=1200.0),
                callbacks=AgentCallbacks(beat, send=send),
            )
            for store in stores
        )  # fmt: skip
        await asyncio.gather(*(agent.run(urls) for agent in agents))

    agents: list[Agent] = []
    Store.open(path, settings=Settings(tablets=2)).close()
    with Store.open(path, tablets=(0,)) as left, Store.open(path, tablets=(1,)) as right:
        clock.run(main([left, right]))
    first, second = (agent.revisits.budget.threshold.value for agent in agents if agent.revisits is not None)
    board.close()
    assert first == pytest.approx(second, rel=0.5), "one threshold, though their hosts differ"
    assert len(transport.log) <= 120 * 6 * 1.05
    assert sum(agent.tally.revisits for agent in agents) >= 0.4 * 120 * 6
    assert min(agent.tally.revisits for agent in agents) >= 60
    assert min(shortest_gaps(transport.log).values()) >= 0.999
