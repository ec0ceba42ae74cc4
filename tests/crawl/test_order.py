"""Crawls with an order of their own, in virtual time: topics against simulation; cash and lessons over crashes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from fyke.clock import VirtualClock
from fyke.crawl.agent import Agent
from fyke.crawl.capture import Processed, Processor
from fyke.crawl.context import FetchContext
from fyke.crawl.order.cash import Accounts
from fyke.crawl.order.order import Order
from fyke.crawl.order.quality import ByQuality
from fyke.crawl.order.reserve import LEVELS, Reserve, level_of
from fyke.crawl.order.topic import Focus
from fyke.crawl.politeness.permissions import Permissions
from fyke.crawl.politeness.rules import Rules
from fyke.crawl.queue.seen_chunks import SeenChunks
from fyke.crawl.run.limit import Bounds, Limit, Unlimited
from fyke.crawl.run.options import AgentOptions
from fyke.crawl.run.settings import CrawlSettings
from fyke.frontier.frontier import Frontier
from fyke.frontier.keys import Entry
from fyke.frontier.politeness import Politeness
from fyke.frontier.seen import url_keys
from fyke.store import Batch, Settings, Store
from fyke.topic.model import PageModel, PageText
from fyke.topic.topic import Topic
from fyke.topic.train import train
from fyke.url import Url
from fyke.world.config import START, WorldConfig
from fyke.world.transport import WorldTransport
from fyke.world.world import World

TOPIC = "cooking"


@pytest.fixture(scope="module")
def world() -> World:
    return World(
        WorldConfig(
            hosts=12, pages=420, formats=False, traps=False, flaky=False, slow=False, mirrors=False, errors=False
        )
    )


@pytest.fixture(scope="module")
def model(world: World) -> PageModel:
    pages = [world.truth(url) for host in world.hosts for url in list(world.pages(host.name))[::3]]
    told = [PageText(t.main_text, t.title, t.url, t.language, t.media_type) for t in pages if t.main_text]
    about = [t.topic == TOPIC for t in pages if t.main_text]
    relevant = [page for page, yes in zip(told, about, strict=True) if yes][:25]
    others = [page for page, yes in zip(told, about, strict=True) if not yes][:120]
    return train(Topic(TOPIC, relevant=("world",)), relevant, others, np.random.default_rng(0)).model


def crawl(
    path: Path,
    world: World,
    order: Callable[[Store, Reserve], Order] | None,
    pages: int = 0,
    concurrency: int = 16,
    look: Callable[[Agent], None] = lambda agent: None,
    seeds: Sequence[str] = (),
    later: float = 0.0,
) -> list[str]:
    """Crawl so many pages, beginning so much later; return their URLs in the order in which they came."""
    clock = VirtualClock(START + later)
    transport = WorldTransport(world, clock)
    urls = [Url.parse(seed) for seed in seeds or world.seeds]
    settings = CrawlSettings(scope="any", delay=0.0)

    async def main() -> None:
        with Store.open(path, settings=Settings(tablets=4)) as store:
            agent = Agent(
                store, Frontier(Politeness(delay=0.0)),
                FetchContext(
                    transport, Permissions("fyke"), clock, limit=Limit(Bounds(pages)) if pages else Unlimited()
                ),
                Rules.of(settings, urls), Processor("fyke"),
                options=AgentOptions(
                    concurrency, patience=5.0,
                    order=None if order is None else lambda reserve: order(store, reserve),
                ),
            )  # fmt: skip
            await agent.run(urls)
            look(agent)

    clock.run(main())
    return [f"http://{v.host}{v.target}" for v in transport.log if v.status == 200 and v.target != "/robots.txt"]


@pytest.fixture(scope="module")
def everything(world: World, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A plain crawl of the world: its store, and what it fetched."""
    path = tmp_path_factory.mktemp("all") / "s"
    return path, crawl(path, world, None)


def test_a_live_focused_crawl_harvests_what_its_simulation_does(
    tmp_path: Path, world: World, model: PageModel, everything: tuple[Path, list[str]]
) -> None:
    from fyke.archive.archive import Archive
    from fyke.collection.build import build, graph_of, hosts_of
    from fyke.collection.pages import Source
    from fyke.simulate.engine import VirtualCrawl
    from fyke.simulate.focused import evidence_of_store
    from fyke.simulate.policies import named
    from fyke.simulate.web import Timing, Web

    build(Source(store=everything[0]).pages(), tmp_path / "c")
    graph = graph_of(Archive.open(tmp_path / "c"))
    evidence = evidence_of_store(graph, everything[0], model)
    urls = [graph.urls[x].decode() for x in range(graph.nodes)]
    seeds = np.array([urls.index(seed) for seed in world.seeds if seed in urls])
    budget = len(everything[1]) // 5
    web = Web(
        graph,
        seeds,
        np.ones(graph.nodes),
        evidence.relevance.astype(np.float32),
        hosts_of(graph)[1],
        clues=evidence.clues,
        focus=evidence.focus,
    )
    harvest = {}
    for policy in ("bfs", "online-best-first"):
        virtual = VirtualCrawl(web, named(policy, np.random.default_rng(0)), 1, Timing())
        virtual.run(budget)
        harvest[policy] = sum(world.truth(urls[x]).topic == TOPIC for x in virtual.order)
    live = crawl(tmp_path / "s", world, lambda store, reserve: Focus(store, model, reserve), pages=budget)
    found = sum(world.truth(url).topic == TOPIC for url in live)
    assert found > 2 * harvest["bfs"]
    assert found == pytest.approx(harvest["online-best-first"], rel=0.15)
    with Store.open(tmp_path / "s", "r") as store:
        rows = [row for row in store.scan() if row.meta.relevance >= 0]
        counted = sum(tablet.ledger.counter("relevant") for tablet in store.tablets())
    assert len(rows) >= budget * 0.8  # the rest were redirects and failures
    assert counted == sum(row.meta.relevance >= 0.5 for row in rows)


@pytest.mark.parametrize("kind", ["topic", "quality"])
def test_an_order_leaves_nothing_out(
    tmp_path: Path, world: World, model: PageModel, kind: str, everything: tuple[Path, list[str]]
) -> None:
    """Without a limit, the same pages come in another order, each once."""

    def order(store: Store, reserve: Reserve) -> Order:
        return Focus(store, model, reserve) if kind == "topic" else ByQuality(store, reserve)

    came = crawl(tmp_path / "s", world, order)
    assert set(came) == set(everything[1])
    assert len(came) == len(set(came))


def test_a_topic_that_nobody_links_to(
    tmp_path: Path, world: World, everything: tuple[Path, list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    """The crawl goes on breadth first, finds all there is, and says so."""
    model = PageModel(Topic("zyzzyva", words=("zyzzyva",), explore=0.0))
    with caplog.at_level("WARNING", logger="fyke"):
        came = crawl(tmp_path / "s", world, lambda store, reserve: Focus(store, model, reserve))
    assert set(came) == set(everything[1])
    assert [r.getMessage() for r in caplog.records if "none of the first 100 pages" in r.getMessage()]
    with Store.open(tmp_path / "s", "r") as store:
        depths = {row.url: row.meta.depth for row in store.scan()}
    order = [depths[url] for url in came]
    half = len(order) // 2
    assert sum(order[:half]) / half < 0.8 * sum(order[half:]) / (len(order) - half)


def test_anchors_of_links_reach_the_classifier(tmp_path: Path, world: World) -> None:
    """Pages that only the texts of links to them name."""

    class Noting(Focus):
        def read(self, batch: Batch, entry: Entry, processed: Processed, anchors: str = "") -> Processed:
            shown[entry.href] = anchors
            return super().read(batch, entry, processed, anchors)

    shown: dict[str, str] = {}
    model = PageModel(Topic("menus", words=("zyzzyva",)))
    crawl(tmp_path / "s", world, lambda store, reserve: Noting(store, model, reserve), pages=80)
    linked = [anchors for url, anchors in shown.items() if url not in world.seeds]
    assert sum(map(bool, linked)) > 0.8 * len(linked)
    assert model.probability(PageText("about", anchors="zyzzyva")) > model.probability(PageText("about"))


def test_lessons_survive_a_crash(tmp_path: Path, world: World, model: PageModel) -> None:
    """What was learnt is learnt again from checkpoint and lessons, to the bit; nothing is fetched twice."""

    def order(store: Store, reserve: Reserve) -> Focus:
        focus = Focus(store, model, reserve)
        made.append(focus)
        focus.checkpoint = lambda *, force=False: None if force else Focus.checkpoint(focus)  # type: ignore[method-assign]
        return focus

    made: list[Focus] = []
    first = crawl(tmp_path / "s", world, order, pages=120)  # ends without a last checkpoint, as a crash does
    second = crawl(tmp_path / "s", world, order, pages=60, later=3600.0)
    assert made[0].links.learnt > 50
    restored = Focus(store := Store.open(tmp_path / "s"), model, made[1].reserve)
    restored.restore()
    store.close()
    assert restored.links.learnt == made[1].links.learnt > made[0].links.learnt
    assert restored.links.weights.tolist() == made[1].links.weights.tolist()
    assert not set(first) & set(second)


def test_cash_is_conserved_over_crashes_and_tablets(tmp_path: Path, world: World) -> None:
    def order(store: Store, reserve: Reserve) -> ByQuality:
        quality = ByQuality(store, reserve)
        made.append(quality)
        quality.checkpoint = lambda *, force=False: None if force else ByQuality.checkpoint(quality)  # type: ignore[method-assign]
        return quality

    made: list[ByQuality] = []
    totals: list[float] = []

    def look(agent: Agent) -> None:
        totals.append(agent.queues.order.accounts.total)  # type: ignore[union-attr]

    for pages in (60, 60, 60):
        crawl(tmp_path / "s", world, order, pages=pages, look=look)
    assert totals == pytest.approx([len(world.seeds)] * 3)
    with Store.open(tmp_path / "s") as store:
        again = Accounts(store)
        for number in store.owned:
            assert again.of(number).encode() == made[-1].accounts.of(number).encode()
        again.checkpoint(force=True)
        assert Accounts(store).total == pytest.approx(len(world.seeds))


def test_levels() -> None:
    assert level_of(np.array([1.0, 0.99, 0.5, 0.0, -1.0, 2.0])).tolist() == [1, 1, 17, LEVELS, LEVELS, 1]


@pytest.mark.parametrize("kind", ["breadth", "quality"])
def test_nobody_knows_the_keys_of_what_is_seen(tmp_path: Path, world: World, kind: str) -> None:
    """They depend on a secret of the store, by which a resumed crawl knows them again."""
    order = None if kind == "breadth" else ByQuality
    came = crawl(tmp_path / "s", world, order, pages=60)
    with Store.open(tmp_path / "s", "r") as store:
        secret = store.secret
        chunks = [keys for tablet in store.tablets() for keys in SeenChunks(tablet, secret).read() or ()]
    if kind == "breadth":  # by quality, the rows and what waits are what is seen
        known = set(np.concatenate(chunks).tolist())
        assert set(url_keys(came, secret).tolist()) <= known
        assert not known & set(url_keys(came).tolist())
    with Store.open(tmp_path / "t") as other:
        assert other.secret not in {0, secret}
    more = crawl(tmp_path / "s", world, order, later=60.0)
    assert not set(more) & set(came)
    with Store.open(tmp_path / "s", "r") as store:
        assert store.secret == secret
