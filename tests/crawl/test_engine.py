"""One agent crawls the world in virtual time; the world's ground truth says what is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from fyke.clock import VirtualClock
from fyke.convert import Source, convert_here
from fyke.crawl.agent import Agent
from fyke.crawl.arrival import AT_ONCE, Arrival, Arrivals
from fyke.crawl.capture import Processor
from fyke.crawl.context import FetchContext
from fyke.crawl.discovery.discovery import Discovery
from fyke.crawl.politeness.permissions import Permissions
from fyke.crawl.politeness.rules import Rules
from fyke.crawl.queue.later import REVISIT
from fyke.crawl.queue.queues import Queues
from fyke.crawl.run.options import SYNC_EVERY, AgentOptions
from fyke.crawl.run.settings import CrawlSettings
from fyke.crawl.run.tally import Tally
from fyke.frontier.frontier import Frontier
from fyke.frontier.keys import Entry
from fyke.frontier.politeness import Politeness
from fyke.frontier.priority import DefaultPrioritizer
from fyke.frontier.seen import SeenSet
from fyke.store import Settings, Store
from fyke.url import Url
from fyke.values import Document
from fyke.world.config import START, WorldConfig
from fyke.world.transport import WorldTransport, shortest_gaps
from fyke.world.world import World


async def convert(source: Source) -> Document:
    return convert_here(source)  # not in a thread, which virtual time does not see: every run is the same


def crawl(
    path: Path,
    world: World,
    clock: VirtualClock,
    *,
    tablets: int = 4,
    concurrency: int = 250,
    beat_every: float = SYNC_EVERY,
    **options: object,
) -> tuple[Tally, WorldTransport]:
    settings = CrawlSettings(scope="any", **options)  # type: ignore[arg-type]
    processor = Processor("fyke", convert)
    transport = WorldTransport(world, clock)
    seeds = [Url.parse(seed) for seed in world.seeds]

    async def main() -> Tally:
        with Store.open(path, settings=Settings(tablets=tablets)) as store:
            agent = Agent(
                store,
                Frontier(Politeness(delay=settings.delay)),
                FetchContext(transport, Permissions("fyke"), clock),
                Rules.of(settings, seeds),
                processor,
                discovery=Discovery(processor, sitemaps=settings.sitemaps),
                options=AgentOptions(concurrency, settings.patience, beat_every=beat_every),
            )
            return await agent.run(seeds)

    return clock.run(main()), transport


@pytest.fixture(scope="module")
def world() -> World:
    # Without other formats, whose engines have event loops of their own.
    return World(WorldConfig(hosts=12, pages=300, formats=False))


@pytest.mark.parametrize("sitemaps", [False, True])
def test_every_expected_page_is_stored_and_nothing_forbidden_is_fetched(
    tmp_path: Path, world: World, sitemaps: bool
) -> None:
    clock = VirtualClock(START)
    tally, transport = crawl(tmp_path / "s", world, clock, sitemaps=sitemaps)
    expected = world.expected(world.seeds, sitemaps=sitemaps)
    with Store.open(tmp_path / "s", "r") as store:
        stored = {row.url for row in store.scan() if row.meta.status == 200 and not row.meta.error}
    missing = expected.pages - stored
    assert not missing, sorted(missing)[:5]
    fetched = {f"http://{visit.host}{visit.target}" for visit in transport.log if visit.status == 200}
    forbidden = {url for url in fetched if url in expected.disallowed}
    assert not forbidden, sorted(forbidden)[:5]
    extra = {u for u in stored - expected.pages - expected.others - expected.traps if not u.endswith("/robots.txt")}
    assert len(extra) <= 300, f"traps are cut off, not {len(extra)}: {sorted(extra)[:5]}"
    assert len(transport.log) == len({(v.host, v.target) for v in transport.log}) + retried(transport), "nothing twice"
    assert min(shortest_gaps(transport.log).values()) >= 0.999
    assert tally.pages >= len(expected.pages)


def test_an_agent_whose_visits_are_all_under_way_waits_for_them(
    tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds, rest = 0, Agent._rest

    async def counted(agent: Agent) -> None:
        nonlocal rounds
        rounds += 1
        assert rounds < 20_000, "it goes round and round"
        await rest(agent)

    monkeypatch.setattr(Agent, "_rest", counted)
    tally, transport = crawl(tmp_path / "s", world, VirtualClock(START), concurrency=2)
    assert tally.pages >= len(world.expected(world.seeds).pages)
    assert rounds < 8 * len(transport.log)


def test_it_ends_once_nothing_is_left_and_not_with_its_next_sign_of_life(tmp_path: Path) -> None:
    clock = VirtualClock(START)
    _, transport = crawl(tmp_path / "s", World(WorldConfig(hosts=6, pages=60, formats=False)), clock, beat_every=1e6)
    assert clock.now() < transport.log[-1].started + 60


def test_a_few_arrivals_wait_for_others_and_many_do_not() -> None:
    clock, woken = VirtualClock(START), []
    polite, hasty = (Arrivals(clock, delay, lambda: woken.append(0)) for delay in (1.0, 0.0))
    assert polite.due(5) > START + 1e9, "there is none"
    arrival: Arrival = object()  # type: ignore[assignment]
    polite.add(arrival)
    hasty.add(arrival)
    assert polite.due(5) == pytest.approx(START + 0.1)
    assert polite.due(1) == 0, "nobody else will come"
    assert hasty.due(5) <= START, "its host may be contacted at once"
    for _ in range(AT_ONCE - 1):
        polite.add(arrival)
    assert polite.due(50) == 0
    assert len(woken) == 3, "by the first of each, and by the sixteenth"


def retried(transport: WorldTransport) -> int:
    """Requests beyond the first of a URL that are explained by failures, or by asking for robots.txt again."""
    seen: dict[tuple[str, str], int] = {}
    count = 0
    for visit in transport.log:
        key = (visit.host, visit.target)
        last = seen.get(key)
        if last is not None and (last in {0, 503, 500, 429} or visit.target == "/robots.txt"):
            count += 1
        seen[key] = visit.status
    return count


def test_urls_that_are_tried_again_later_count_as_waiting(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=Settings(tablets=2)) as store:
        first, second = (
            Queues(store, Frontier(Politeness(delay=1)), DefaultPrioritizer(), SeenSet(), lambda url, depth, now: None)
            for _ in range(2)
        )
        url = Url("http://h.test/x")
        batch = first.tablet(url).batch()
        first.postpone(batch, Entry(url.href, 1, 0, tries=1), 50.0)
        first.postpone(batch, Entry("http://h.test/y", 1, 0, kind=REVISIT), 50.0)
        first.tablet(url).write(batch)
        second.restore(0.0)
        assert (first.later.retries, second.later.retries) == (1, 1)
        second.wake(60.0)
        assert (second.later.retries, second.frontier.counts().queued) == (0, 1)
