"""Focused crawls of the served world: over sockets they find what simulation finds; kill -9 loses nothing learnt."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import fyke
from fyke.archive.archive import Archive
from fyke.collection.build import build, graph_of, hosts_of
from fyke.collection.pages import Source
from fyke.crawl.mail.outbox import Outbox
from fyke.crawl.order.cash import Accounts
from fyke.crawl.order.reserve import Reserve
from fyke.crawl.order.topic import Focus
from fyke.frontier.frontier import Frontier
from fyke.frontier.politeness import Politeness
from fyke.simulate.engine import VirtualCrawl
from fyke.simulate.focused import evidence_of_store
from fyke.simulate.policies import named
from fyke.simulate.web import Timing, Web
from fyke.store import Store
from fyke.topic.model import PageModel, PageText
from fyke.topic.topic import Topic
from fyke.topic.train import train
from fyke.world.config import WorldConfig
from fyke.world.serve import Served, serve

TOPIC = "cooking"
CONFIG = WorldConfig(
    hosts=12, pages=420, formats=False, traps=False, flaky=False, slow=False, mirrors=False, errors=False,
    redirects=False, robots=False, changes=False, copies=False,
)  # fmt: skip
# One at a time where order counts: what a simulation knows when it chooses.
OPTIONS = {"scope": "any", "agents": 1, "allow_private": True, "sitemaps": False, "delay": 0.0}


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve(CONFIG) as world:
        yield world


@pytest.fixture(scope="module")
def model(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Path:
    world = served.world
    truths = [world.truth(url) for host in world.hosts for url in list(world.pages(host.name))[::3]]
    told = [(PageText(t.main_text, t.title, t.url, t.language, t.media_type), t.topic == TOPIC) for t in truths]
    relevant, others = ([page for page, yes in told if yes is about and page.text] for about in (True, False))
    trained = train(Topic(TOPIC, relevant=("world",)), relevant[:25], others[:120], np.random.default_rng(0))
    file = tmp_path_factory.mktemp("model") / "cooking.model"
    file.write_bytes(trained.model.encode())
    return file


def relevant_in(store: Path, served: Served) -> tuple[int, int]:
    """Relevant pages of a store by the world's truth, and all its pages."""
    with Store.open(store, "r") as reader:
        urls = [row.url for row in reader.scan() if row.meta.status == 200]
    return sum(served.world.truth(url).topic == TOPIC for url in urls), len(urls)


def test_over_sockets_a_focused_crawl_harvests_what_its_simulation_does(
    tmp_path: Path, served: Served, model: Path
) -> None:
    seeds, resolve = served.world.seeds, tuple(served.resolve())
    fyke.crawl(seeds, tmp_path / "all", resolve=resolve, **OPTIONS)
    build(Source(store=tmp_path / "all").pages(), tmp_path / "c")
    graph = graph_of(Archive.open(tmp_path / "c"))
    evidence = evidence_of_store(graph, tmp_path / "all", PageModel.decode(model.read_bytes(), "model"))
    urls = [url.decode() for url in graph.urls]
    start = np.array([urls.index(seed) for seed in seeds])
    web = Web(
        graph, start, np.ones(graph.nodes), evidence.relevance.astype(np.float32), hosts_of(graph)[1],
        clues=evidence.clues, focus=evidence.focus,
    )  # fmt: skip
    budget = graph.nodes // 5
    harvest = {}
    for policy in ("bfs", "online-best-first"):
        virtual = VirtualCrawl(web, named(policy, np.random.default_rng(0)), 1, Timing())
        virtual.run(budget)
        harvest[policy] = sum(served.world.truth(urls[x]).topic == TOPIC for x in virtual.order)
    summary = fyke.crawl(seeds, tmp_path / "s", topic=str(model), max_pages=budget, resolve=resolve, **OPTIONS)
    found, pages = relevant_in(tmp_path / "s", served)
    assert pages == summary.pages == budget
    assert found > 2 * harvest["bfs"]
    assert found == pytest.approx(harvest["online-best-first"], rel=0.15)
    assert summary.relevant == pytest.approx(found, rel=0.1)  # the classifier is not perfect


CRAWL = """
import json, sys, fyke
seeds, options = json.loads(sys.argv[1])
fyke.crawl(seeds, progress=lambda status: print(status.pages, flush=True), **options)
"""


def crawl_and_kill(seeds: list[str], options: dict[str, object]) -> int:
    """Crawl in a process of its own, and kill it with -9 once new pages have come; return how many there were."""
    process = subprocess.Popen(
        [sys.executable, "-c", CRAWL, json.dumps([seeds, options])], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    before = None
    for line in process.stdout:
        before = int(line) if before is None else before
        if int(line) > before:
            break
    else:
        raise AssertionError("the crawl ended before it could be killed")
    process.kill()
    process.wait()
    process.stdout.close()
    return int(line)


def test_kill_and_resume_keep_the_link_model(tmp_path: Path, served: Served, model: Path) -> None:
    options = {
        **OPTIONS, "store": str(tmp_path / "s"), "topic": str(model), "resolve": served.resolve(), "delay": 0.2
    }  # fmt: skip
    pages = [crawl_and_kill(list(served.world.seeds), options) for _ in range(2)]
    assert pages[0] < pages[1]
    with Store.open(tmp_path / "s") as store:
        learned = []
        for _ in range(2):
            reserve = Reserve(store, Frontier(Politeness()), lambda batch, host: None, 16)
            focus = Focus(store, PageModel.decode(model.read_bytes(), "model"), reserve)
            focus.restore()
            learned.append(focus.links)
        rows = [row for row in store.scan() if row.meta.relevance >= 0]
    assert learned[0].learnt == sum(row.meta.depth > 0 for row in rows) >= pages[1] - len(served.world.seeds)
    assert np.abs(learned[0].weights[: 1 << 18]).sum() > 0
    assert learned[0].weights.tolist() == learned[1].weights.tolist()


def test_kill_and_resume_keep_the_cash(tmp_path: Path, served: Served) -> None:
    options = {
        **OPTIONS, "store": str(tmp_path / "s"), "order": "quality", "resolve": served.resolve(), "delay": 0.2
    }  # fmt: skip
    seeds = list(served.world.seeds)
    for _ in range(2):
        crawl_and_kill(seeds, options)
        with Store.open(tmp_path / "s") as store:
            assert Accounts(store).total + in_the_mail(store) == pytest.approx(len(seeds), abs=1e-9)


def in_the_mail(store: Store) -> float:
    """Cash in letters that have not taken effect."""
    post = Outbox(store)
    letters = [letter for taken in post.take(store.owned).values() for letter in post.new(taken)]
    return sum(offer.cash for letter in letters for offer in letter.offers)
