"""The loop closed: a policy object orders a live crawl of the world over sockets, and its simulation, alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import fyke
from fyke.archive.archive import Archive
from fyke.collection import build as collection
from fyke.collection.pages import Source
from fyke.errors import UserError
from fyke.frontier.priority import DefaultPrioritizer
from fyke.graph.build import Lists
from fyke.graph.graph import Graph
from fyke.interfaces import Prioritizer
from fyke.simulate.run import simulate
from fyke.simulate.settings import Settings
from fyke.store import Store
from fyke.values import Candidates
from fyke.world.config import WorldConfig
from fyke.world.serve import serve
from tests.simulate.test_simulate import PLAIN, pages

# One host, so that no clock decides, and nothing that ends otherwise than with a page.
ONE_HOST = WorldConfig(
    hosts=1, pages=200, formats=False, robots=False, slow=False, flaky=False, changes=False, errors=False,
    redirects=False, traps=False, copies=False,
)  # fmt: skip


class DeepestFirst:
    """The contrary of the default."""

    def priority(self, candidates: Candidates) -> npt.NDArray[np.float64]:
        return candidates.depth.astype(np.float64)


class AsOnThePage(Graph):
    """A web graph knows a page's links in the order of their numbers; this one, in the page's own."""

    def __init__(self, graph: Graph, links: list[npt.NDArray[np.int64]]) -> None:
        self.__dict__.update(graph.__dict__)
        self._links = links

    def lists(self, nodes: npt.NDArray[np.int64]) -> Lists:
        own = [self._links[node] for node in nodes.tolist()]
        return Lists(np.cumsum([0, *map(len, own)]).astype(np.int64), np.concatenate(own))


def as_on_the_page(archive: Archive, store: Path) -> AsOnThePage:
    graph = collection.graph_of(archive)
    links = [np.empty(0, np.int64)] * graph.nodes
    with Store.open(store, "r") as reader:
        for row in reader.scan(parts=("links",)):
            found = [graph.urls.find(link.target.href.encode()) for link in row.links]
            node = graph.urls.find(row.url.encode())
            assert node is not None
            links[node] = np.array(list(dict.fromkeys(n for n in found if n is not None)), np.int64)
    return AsOnThePage(graph, links)


def test_a_policy_visits_pages_in_the_same_order_live_and_simulated(tmp_path: Path) -> None:
    policies: list[Prioritizer] = [DefaultPrioritizer(), DeepestFirst()]
    orders = []
    with serve(ONE_HOST) as served:
        (seed,) = served.world.seeds
        for number, policy in enumerate(policies):
            served.log()
            store = tmp_path / f"store-{number}"
            options = {"delay": 0.0, "concurrency": 1, "agents": 1, "allow_private": True}
            fyke.crawl(
                [seed], store=store, prioritizer=policy, resolve=tuple(served.resolve()), sitemaps=False, **options
            )
            live = [f"http://{v.host}:{served.port}{v.target}" for v in served.log() if v.target != "/robots.txt"]
            collection.build(Source(store=store).pages(), tmp_path / f"c{number}", PLAIN)
            archive = Archive.open(tmp_path / f"c{number}")
            graph = as_on_the_page(archive, store)
            start = graph.urls.find(seed.encode())
            assert start is not None
            run = simulate(archive, policy, graph=graph, seeds=[start], settings=Settings(frontier="mercator"))
            assert [graph.urls[node].decode() for node in run.order] == live
            assert len(live) >= 150
            orders.append(live)
    assert orders[0] != orders[1], "the policy mattered"
    assert set(orders[0]) == set(orders[1])


@pytest.mark.parametrize("in_flight", [1, 8])
def test_the_live_frontier_reaches_every_page_politely(tmp_path: Path, in_flight: int) -> None:
    collection.build(pages(), tmp_path, PLAIN)
    archive = Archive.open(tmp_path)
    _, hosts = collection.hosts_of(collection.graph_of(archive))
    settings = Settings(frontier="mercator", delay=2.0, latency=0.25, in_flight=in_flight)
    run = simulate(archive, DefaultPrioritizer(), settings=settings, seeds=[3])
    assert set(run.order.tolist()) == set(simulate(archive, "bfs", seeds=[3]).order.tolist())
    assert run.waiting == 0
    for host in range(int(hosts.max()) + 1):
        assert (np.diff(run.seconds[hosts[run.order] == host]) >= 2.0 + 0.25 - 1e-9).all()
    with pytest.raises(UserError, match="mercator"):
        simulate(archive, "opic", settings=settings)
