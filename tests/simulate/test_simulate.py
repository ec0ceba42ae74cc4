from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import fyke
from fyke.archive.archive import Archive
from fyke.archive.preprocess import Preprocessing
from fyke.archive.run import Page
from fyke.collection import build as collection
from fyke.errors import StorageError, UserError
from fyke.frontier.priority import DefaultPrioritizer
from fyke.graph.build import write_graph
from fyke.graph.graph import Graph
from fyke.graph.properties import Parameters
from fyke.simulate import kernels, measures, policies
from fyke.simulate.policies import NAMES, BySignal
from fyke.simulate.run import simulate
from fyke.simulate.settings import Settings
from fyke.simulate.topic import from_examples, from_words
from fyke.values import Candidates
from tests.graph.test_graph import lists, web

PLAIN = Preprocessing("none", "none", 2)
COOKING = "flour butter oven bake sugar dough recipe"


def url(i: int) -> str:
    return f"http://host{i % 5}.test/page-{i:04}"


def pages(count: int = 200) -> list[Page]:
    """A web of two topics: a page's links mostly stay in its topic (Davison 2000)."""
    chance = np.random.default_rng(8)
    topics = ["engine wheel brake gear motor road clutch", COOKING]
    out = []
    for i in range(count):
        about = int(i % 3 == 0)
        words = " ".join(chance.choice(topics[about].split(), 30)) + " the page of a site"
        same = [j for j in range(count) if int(j % 3 == 0) == about]
        targets = {int(chance.choice(same)) for _ in range(4)} | {int(chance.integers(count))}
        out.append(Page(url(i), None if i == 77 else words, tuple(url(j) for j in sorted(targets))))
    return out


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    folder = tmp_path_factory.mktemp("collection")
    collection.build(pages(), folder, PLAIN)
    return Archive.open(folder)


def number(archive: Archive, i: int) -> int:
    found = collection.graph_of(archive).urls.find(url(i).encode())
    assert found is not None
    return found


def test_documents_are_nodes(archive: Archive) -> None:
    graph = collection.graph_of(archive)
    given = {page.url: page for page in pages()}
    for node, address in enumerate(graph.urls):
        page = given[address.decode()]
        targets = sorted(t for t in set(page.links) if t != page.url)
        assert [graph.urls[s].decode() for s in graph.successors(node)] == targets
        assert (archive[node] is None) == (page.text is None)


def model(adjacency: list[list[int]], seeds: list[int], score: object, newest: bool = False) -> list[int]:
    """The crawl as a textbook writes it: one page at a time, every waiting page scored anew at each step."""
    births = itertools.count()
    waiting = {s: (next(births), 0) for s in sorted(seeds)}
    inlinks = dict.fromkeys(range(len(adjacency)), 0)
    done: list[int] = []
    while waiting:
        sign = -1 if newest else 1
        best = min(waiting, key=lambda x: (-score(x, waiting[x][1], inlinks[x]), sign * waiting[x][0]))  # type: ignore[operator]
        _, depth = waiting.pop(best)
        done.append(best)
        for y in adjacency[best]:
            inlinks[y] += 1
            if y in waiting:
                waiting[y] = (waiting[y][0], min(waiting[y][1], depth + 1))
            elif y not in done:
                waiting[y] = (next(births), depth + 1)
    return done


def plain(graph: Graph) -> list[list[int]]:
    return [graph.successors(x).tolist() for x in range(graph.nodes)]


def test_orders_against_the_textbook(archive: Archive) -> None:
    graph = collection.graph_of(archive)
    adjacency, seeds = plain(graph), [3, 60, 150]
    rank = simulate(archive, "bfs").curve  # warm
    assert rank.pages[-1] > 0
    expected = {
        "bfs": model(adjacency, seeds, lambda x, depth, links: -depth),
        "dfs": model(adjacency, seeds, lambda x, depth, links: 0, newest=True),
        "backlinks": model(adjacency, seeds, lambda x, depth, links: links),
    }
    for name, order in expected.items():
        assert simulate(archive, name, graph=graph, seeds=seeds).order.tolist() == order, name


class DepthAndLinks:
    """A live crawler's prioritizer: shallow pages first, then well-linked ones."""

    def priority(self, candidates: Candidates) -> npt.NDArray[np.float64]:
        assert candidates.depth.dtype == np.int32
        assert candidates.parent_score.dtype == np.float32
        assert candidates.is_seed.dtype == np.bool_
        return candidates.inlinks / 1000.0 - candidates.depth


def test_any_prioritizer_of_the_live_crawler(archive: Archive) -> None:
    graph = collection.graph_of(archive)
    order = model(plain(graph), [3], lambda x, depth, links: links / 1000.0 - depth)
    assert simulate(archive, DepthAndLinks(), seeds=[3]).order.tolist() == order


def test_the_live_crawlers_own_prioritizer(archive: Archive) -> None:
    """The very object that the live frontier asks by default, against the textbook's loop over its formula."""
    graph = collection.graph_of(archive)

    def score(x: int, depth: int, links: int) -> float:
        return 1.0 if x == 3 else 0.45 / (1 + depth) + 0.25 * 0.5 + 0.2 * links / (links + 4)

    assert simulate(archive, DefaultPrioritizer(), seeds=[3]).order.tolist() == model(plain(graph), [3], score)


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_reaches_the_same_pages_and_repeats_itself(archive: Archive, name: str) -> None:
    topic = from_words(archive, COOKING)
    first = simulate(archive, name, topic=topic, seeds=[3])
    again = simulate(archive, name, topic=topic, seeds=[3])
    assert first.order.tolist() == again.order.tolist()
    assert first.settings == again.settings
    assert len(set(first.order.tolist())) == len(first.order)
    reached = model(plain(collection.graph_of(archive)), [3], lambda x, depth, links: 0)
    assert set(first.order.tolist()) == set(reached)
    assert first.waiting == 0


class SameFormula(BySignal):
    """Not the very class, so that it is asked page by page."""


@pytest.mark.parametrize("name", ["best-first", "opic"])
def test_the_compiled_crawl_is_the_crawl(archive: Archive, name: str) -> None:
    """A score that is the signal itself runs in a kernel from end to end: the order is that of the loop."""
    policy = policies.named(name, np.random.default_rng(0))
    asked = dataclasses.replace(policy, prioritizer=SameFormula())
    topic = from_words(archive, COOKING)
    for settings in (Settings(), Settings(failure_rate=0.2), Settings(budget=50)):
        quick = simulate(archive, policy, topic=topic, seeds=[3, 60], settings=settings)
        slow = simulate(archive, asked, topic=topic, seeds=[3, 60], settings=settings)
        assert quick.order.tolist() == slow.order.tolist()
        assert (quick.failed, quick.waiting) == (slow.failed, slow.waiting)
        assert len(quick.order) >= 40


def test_larger_sites_first_against_a_model(archive: Archive) -> None:
    graph = collection.graph_of(archive)
    _, hosts = collection.hosts_of(graph)
    adjacency = plain(graph)
    queues: dict[int, list[int]] = {h: [] for h in range(int(hosts.max()) + 1)}
    births, known = {3: 0}, {3}
    queues[hosts[3]].append(3)
    order = []
    while any(queues.values()):
        host = max((h for h in queues if queues[h]), key=lambda h: (len(queues[h]), -births[queues[h][0]]))
        page = queues[host].pop(0)
        order.append(page)
        for y in adjacency[page]:
            if y not in known:
                known.add(y)
                births[y] = len(births)
                queues[hosts[y]].append(y)
    assert simulate(archive, "larger-sites-first", seeds=[3]).order.tolist() == order


def test_focused_crawls_harvest_more(archive: Archive) -> None:
    examples = np.array([number(archive, i) for i in (0, 3, 6, 9, 12)])
    about = {number(archive, i) for i in range(0, 200, 3)}
    for kind in ("bayes", "svm"):
        topic = from_examples(archive, examples, kind, np.random.default_rng(1))
        found = set(np.flatnonzero(topic.score(archive, np.arange(len(archive))) > 0).tolist())
        assert len(found ^ about) <= 4, f"{kind} tells the topics apart"
        focused, broad = simulate(archive, ["best-first", "bfs"], budget=60, topic=topic, seeds=[3, int(examples[0])])
        assert focused.curve.harvest[-1] > 1.15 * broad.curve.harvest[-1]
        assert focused.curve.recall[-1] == pytest.approx(len(found & set(focused.order.tolist())) / len(found))


def test_omniscient_is_the_bound_and_opic_beats_random(archive: Archive) -> None:
    runs = {r.policy: r for r in simulate(archive, ["omniscient", "opic", "random"], seeds=[3])}
    middle = {name: r.curve.pagerank[len(r.curve.pages) // 3] for name, r in runs.items()}
    assert middle["omniscient"] >= max(middle.values())
    assert middle["omniscient"] > 1.1 * middle["random"]
    assert middle["opic"] > middle["random"]


def test_politeness_keeps_the_delay_in_virtual_time(archive: Archive) -> None:
    _, hosts = collection.hosts_of(collection.graph_of(archive))
    for in_flight in (1, 3):
        settings = Settings(delay=2.0, latency=0.25, bandwidth=1e6, in_flight=in_flight, budget=100)
        run = simulate(archive, "bfs", settings=settings, seeds=[3])
        assert len(run.order) == 100
        for host in range(int(hosts.max()) + 1):
            times = run.seconds[hosts[run.order] == host]
            assert (np.diff(times) >= 2.0 + 0.25 - 1e-9).all()
        assert run.seconds[-1] < 100 * 2.5, "hosts wait side by side"


def test_failures_are_counted_and_budget_holds(archive: Archive) -> None:
    run = simulate(archive, "bfs", settings=Settings(failure_rate=0.3, budget=50, seed=4), seeds=[3, 4, 5, 6])
    assert len(run.order) + run.failed == 50
    assert run.failed > 5
    assert simulate(archive, "bfs", budget=7).order.size == 7


def test_sub_archives_are_smaller_webs(archive: Archive, tmp_path: Path) -> None:
    sub = archive.sub(np.arange(0, 200, 2), tmp_path / "sub")
    run = simulate(sub, "bfs", seeds=[1])
    assert set(run.order.tolist()) <= set(range(0, 200, 2))
    assert run.order[0] == 2


def test_curves_plots_and_csv(archive: Archive, tmp_path: Path) -> None:
    runs = fyke.simulate(  # type: ignore[operator]  # the package is callable
        archive, ["bfs", "opic"], budget=50, topic=from_words(archive, COOKING)
    )
    measures.write_csv(tmp_path / "c.csv", runs)
    rows = (tmp_path / "c.csv").read_text().splitlines()
    assert rows[0] == ",".join(measures.COLUMNS)
    assert len(rows) == 1 + sum(len(r.curve.pages) for r in runs)
    measures.plot(tmp_path / "c.png", runs, focused=True)
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.kernel
def test_kendall_tau_against_all_pairs() -> None:
    chance = np.random.default_rng(3)
    values = chance.random(40)
    order = chance.permutation(40)
    concordant = sum(
        np.sign(values[order[i]] - values[order[j]]) for i in range(40) for j in range(i + 1, 40)
    )  # fetched earlier and of greater value
    assert measures.kendall_tau(order, values) == pytest.approx(concordant / (40 * 39 / 2))
    assert measures.kendall_tau(np.argsort(-values), values) == 1


@pytest.mark.kernel
def test_every_kernel_in_a_small_crawl(tmp_path: Path) -> None:
    collection.build(pages(50), tmp_path, PLAIN)
    archive = Archive.open(tmp_path)
    topic = from_examples(archive, np.array([0, 1, 2]), "svm", np.random.default_rng(0))
    with np.errstate(over="ignore"):  # hashes wrap around
        for name in ("bfs", "pagerank", "larger-sites-first", "online-best-first", "best-first", "opic"):
            assert simulate(archive, name, budget=20, topic=topic, seeds=[3]).order.size == 20
    heap = (np.empty(9), np.empty(9, np.int64), np.empty(9, np.int64))
    scores = np.array([2.0, 5.0, 1.0, 5.0])
    size = kernels.push(*heap, 0, scores, np.array([3, 2, 1, 0]), np.arange(4))
    out = np.empty(4, np.int64)
    state, current = np.full(4, kernels.WAITING, np.int8), scores.copy()
    current[0] = 9.0  # its entry is stale
    assert kernels.pop(*heap, size, state, current, out) == (3, 0)
    assert out[:3].tolist() == [3, 1, 2]


def test_wrong_input_is_named(archive: Archive, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no policy is called 'fastest'"):
        simulate(archive, "fastest")
    with pytest.raises(UserError, match="wants a topic"):
        simulate(archive, "best-first")
    with pytest.raises(UserError, match="none of the topic's words"):
        from_words(archive, "zyzzyva")
    with pytest.raises(UserError, match="no classifier"):
        from_examples(archive, np.array([1]), "forest", np.random.default_rng(0))
    with pytest.raises(UserError, match="failure_rate"):
        Settings(failure_rate=1.5)
    for name in ("delay", "latency", "bandwidth"):
        for wrong in (-1.0, float("nan")):
            with pytest.raises(UserError, match="time goes forwards"):
                dataclasses.replace(Settings(), **{name: wrong})  # type: ignore[arg-type]
    collection.build(pages(50), tmp_path / "c", PLAIN)
    write_graph(tmp_path / "c" / "graph", [lists(web(40))], Parameters())
    with pytest.raises(StorageError, match="50 documents but a graph of 40 nodes"):
        collection.graph_of(Archive.open(tmp_path / "c"))
