"""Which page first: focused crawls and quality orders on the world and on real pages, beside plain policies.

The world's topics are known, so harvest and recall are counted by truth. Pages pass through the crawler's own
processor: the classifiers see what a live crawl sees. Plain best-first is a naive Bayes classifier (scikit-learn's)
over words, a link being worth its page: ACHE's baseline. The budget is a quarter of the pages: its first fifth is less
than what there is of any topic, so that nobody runs out of relevant pages.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from bench.measure import best_cpu, figure, table
from fyke.crawl.capture import Processor
from fyke.crawl.order.cash import visit_of
from fyke.crawl.order.ranking import EdgeFile, compute
from fyke.frontier.seen import url_keys
from fyke.graph.build import Lists, write_graph
from fyke.graph.graph import Graph, write_urls
from fyke.graph.properties import Parameters
from fyke.graph.rank import pagerank
from fyke.simulate import measures
from fyke.simulate.engine import VirtualCrawl
from fyke.simulate.focused import clues_of_pages
from fyke.simulate.policies import named
from fyke.simulate.web import Timing, Web
from fyke.topic.features import link_contexts, link_features
from fyke.topic.links import LinkModel, Page
from fyke.topic.model import PageText
from fyke.topic.topic import Topic
from fyke.topic.train import train
from fyke.url import Url
from fyke.values import Exchange, Fetched
from fyke.world.config import START, WorldConfig
from fyke.world.world import World

EXAMPLES, OTHERS = 20, 200
HTML = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
BUDGET = 0.25
SHARES = (0.05, 0.1, 0.2, 0.3)
# Where the documents about a subject stand in the sites: told by their authors' folders, not by words of the text.
REAL_TOPICS = {
    "concurrency": (
        r"/cpp/(thread|atomic)|/c/(thread|atomic)|boost[^/]*-doc.*/(thread|atomic|boost_asio|fiber|coroutine2?|lockfree"
        r"|interprocess)[/.]|/java/util/concurrent/|/library/(_?thread|asyncio|multiprocessing|concurrent|queue|sched"
        r"|subprocess|select)|/(Control-Concurrent|Control-Monad-STM|GHC-Conc|Control-Parallel)|/(locking|RCU)/"
        r"|classwx_?(thread|mutex|critical|semaphore|condition)|/reference/(threads|sync|channel|semaphore|futures|places)"
    ),
    "databases": r"postgresql-doc|sqlite3-doc|/mnesia|/library/(sqlite3|dbm)|/java\.sql/|/javax?/sql/",
}
HEAD = [
    *("topic", "seeds", "share", "precision/recall", "bfs", "backlinks", "plain best-first", "best-first"),
    *("online-best-first", "omniscient", "of bfs", "of plain", "recall at 30 %"),
]
TOPICS = ("cooking", "sailing", "medicine")


@dataclass(frozen=True, slots=True)
class Crawled:
    """A page as the crawler sees it."""

    page: PageText
    links: tuple[tuple[str, str, str], ...]
    topic: str = ""


def world_pages(hosts: int, pages: int) -> list[Crawled]:
    """Every page of a world that a crawl from one of its home pages may meet."""
    web = World(
        WorldConfig(
            hosts=hosts,
            pages=pages,
            formats=False,
            traps=False,
            flaky=False,
            slow=False,
            mirrors=False,
            redirects=False,
        )
    )
    processor = Processor("")
    found = []
    for href in sorted(web.expected(web.seeds).pages):
        url = Url(href)
        answer = web.answer(url.host, url.target, START)
        head = "HTTP/1.1 200 OK\r\n" + "".join(f"{name}: {value}\r\n" for name, value in answer.headers) + "\r\n"
        found.append(crawled(processor, url, answer.body, head, web.truth(href).topic))
    return found


def crawled(processor: Processor, url: Url, body: bytes, head: str, topic: str = "") -> Crawled:
    exchange = Exchange(b"", head.encode(), body, 200, START, START)
    made = processor.read_many([(Fetched(url, exchange), 0, "text/html")])[0]
    text, meta = made.change.text or "", made.change.meta
    main = made.main or text
    around = link_contexts(text, [link.text for link in made.links])
    links = tuple((link.text, link.target.href, near) for link, near in zip(made.links, around, strict=True))
    return Crawled(PageText(main, meta.title, url.href, meta.language, meta.type), links, topic)


def real_pages(roots: Path, most: int) -> list[Crawled]:
    """Pages of a folder of HTML documentation, one host a folder, at most so many of each; sorted by URL."""
    processor, found = Processor(""), []
    for root in sorted(p for p in roots.iterdir() if p.is_dir()):
        files = sorted(root.rglob("*.html"))
        for file in files[:: max(1, -(-len(files) // most))]:
            if file.is_file():
                url = Url.parse(f"http://{root.name.lower()}.test/{quote(str(file.relative_to(root)))}")
                found.append(crawled(processor, url, file.read_bytes(), HTML))
    return sorted({each.page.url: each for each in found}.values(), key=lambda each: each.page.url.encode())


def graph_of(pages: Sequence[Crawled], folder: Path) -> Graph:
    """The graph of pages; REQUIRES: they are sorted by URL."""
    number = {each.page.url: k for k, each in enumerate(pages)}
    lists = [
        sorted({number[link[1]] for link in each.links if link[1] in number} - {k}) for k, each in enumerate(pages)
    ]
    starts = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    write_graph(
        folder / "graph", [Lists(starts, np.array([y for each in lists for y in each], np.int64))], Parameters()
    )
    write_urls(folder / "graph.urls", list(number))
    return Graph.open(folder / "graph")


@dataclass(frozen=True, slots=True, eq=False)
class Set:
    """A collection: pages, graph, and what all its crawls share."""

    pages: list[Crawled]
    graph: Graph
    rank: NDArray[np.float64]
    hosts: NDArray[np.int32]


def make_set(pages: list[Crawled], folder: Path) -> Set:
    graph = graph_of(pages, folder)
    names: dict[str, int] = {}
    hosts = np.array([names.setdefault(Url(each.page.url).host, len(names)) for each in pages], np.int32)
    return Set(pages, graph, pagerank(graph), hosts)


def examples(targets: NDArray[np.bool_], chance: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Some relevant and some other pages to learn from."""
    relevant, others = np.flatnonzero(targets), np.flatnonzero(~targets)
    return chance.choice(relevant, EXAMPLES, replace=False), chance.choice(others, OTHERS, replace=False)


def naive_bayes(
    pages: Sequence[Crawled], relevant: NDArray[np.int64], others: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The log-odds of every page by multinomial naive Bayes over words, learnt from the same examples."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB

    words = CountVectorizer(max_features=50_000)
    learnt = [*relevant.tolist(), *others.tolist()]
    words.fit([pages[k].page.text for k in learnt])
    labels = [1] * len(relevant) + [0] * len(others)
    bayes = MultinomialNB().fit(words.transform([pages[k].page.text for k in learnt]), labels)
    logs = bayes.predict_log_proba(words.transform([each.page.text for each in pages]))
    found: NDArray[np.float64] = np.clip(logs[:, 1] - logs[:, 0], -30, 30)
    return found


def crawl(web: Web, name: str, budget: int, in_flight: int = 1) -> NDArray[np.int64]:
    run = VirtualCrawl(web, named(name, np.random.default_rng(0)), in_flight, Timing())
    run.run(budget)
    return np.asarray(run.order)


def odds(p: NDArray[np.float64]) -> NDArray[np.float64]:
    clipped = np.clip(p, 1e-6, 1 - 1e-6)
    return np.log(clipped / (1 - clipped))


def seeds_of(found: Set, targets: NDArray[np.bool_], kind: str) -> NDArray[np.int64]:
    """The first page of every host, or the three pages of the topic that most pages link to."""
    if kind == "hosts":
        first = {}
        for k, each in enumerate(found.pages):
            host = Url(each.page.url).host
            if Url(each.page.url).path == "/" or host not in first:
                first[host] = k
        return np.array(sorted(first.values()))
    inlinks = np.bincount(
        np.concatenate([found.graph.successors(x) for x in range(found.graph.nodes)]), minlength=found.graph.nodes
    )
    return np.flatnonzero(targets)[np.argsort(-inlinks[targets], kind="stable")[:3]]


def focused(
    found: Set, topic: str, targets: NDArray[np.bool_], kind: str, runs: list[measures.Simulation]
) -> list[object]:
    """Crawl for a topic by every policy; return a row of the table, and append the curves to ``runs``."""
    chance = np.random.default_rng(1)
    relevant, others = examples(targets, chance)
    pages = found.pages
    trained = train(
        Topic(topic, relevant=("-",)), [pages[k].page for k in relevant], [pages[k].page for k in others], chance
    )
    model = trained.model
    p = np.array([model.probability(each.page) for each in pages])
    clues = clues_of_pages(found.graph, [(each.page.url, each.links) for each in pages], model)
    bayes = naive_bayes(pages, relevant, others)
    seeds = seeds_of(found, targets, kind)
    shown: dict[str, tuple[float, float]] = {}
    for name in ("bfs", "backlinks", "plain best-first", "best-first", "online-best-first", "omniscient"):
        truth = np.where(targets, 1.0, -1.0)
        relevance = {"plain best-first": bayes, "omniscient": truth}.get(name, odds(p))
        web = Web(
            found.graph, seeds, found.rank, relevance.astype(np.float32), found.hosts, clues=clues, targets=targets
        )
        order = crawl(web, "best-first" if name == "plain best-first" else name, found.graph.nodes)
        hits = np.cumsum(targets[order])
        fifth, third = int(BUDGET * len(order) / 5), 3 * len(order) // 10
        shown[name] = (hits[fifth - 1] / fifth, hits[third - 1] / hits[-1])
        curve = measures.curve(order, np.zeros(len(order)), targets, found.rank)
        runs.append(measures.Simulation(name, order, np.zeros(len(order)), 0, 0, curve, 0.0, 0, ""))
    measured = model.measured
    return [
        topic, kind, float(targets.mean()), f"{measured.precision:.2f}/{measured.recall:.2f}",
        *(round(float(pair[0]), 3) for pair in shown.values()),
        float(shown["online-best-first"][0] / shown["bfs"][0]),
        float(shown["online-best-first"][0] / shown["plain best-first"][0]),
        round(float(shown["online-best-first"][1]), 3),
    ]  # fmt: skip


def quality(found: Set, name: str, few: bool = False) -> list[list[object]]:
    """Shares of PageRank after shares of the pages, from the first page of every host, or of three."""
    seeds = seeds_of(found, np.ones(len(found.pages), np.bool_), "hosts")
    if few:
        seeds = seeds[[0, len(seeds) // 3, 2 * len(seeds) // 3]]
    rows: list[list[object]] = []
    for policy in ("omniscient", "quality", "opic", "bfs", "pagerank", "backlinks", "random"):
        order = crawl(Web(found.graph, seeds, found.rank, None, found.hosts), policy, found.graph.nodes, 16)
        total = np.cumsum(found.rank[order]) / found.rank[order].sum()
        rows.append([name, policy, *(round(float(total[int(s * len(order))]), 3) for s in SHARES)])
    return rows


def rank_cost(found: Set, folder: Path) -> list[list[object]]:
    """What it costs to rank the pages of a set as the live crawl does, from edge files of 64-bit keys."""
    folder.mkdir()
    edges = EdgeFile(folder / "0000.edges")
    urls = [each.page.url for each in found.pages]
    keys, hosts = url_keys(urls), url_keys(Url(url).host for url in urls)
    for x in range(found.graph.nodes):
        links = found.graph.successors(x)
        own = found.hosts[links] == found.hosts[x]
        here = np.ones(len(links), np.bool_)
        edges.append(x + 1, visit_of(int(keys[x]), int(hosts[x]), keys[links], own, here, hosts[links][~own]))
    edges.close()
    spent = best_cpu(lambda: compute(folder), 5)
    pages, arcs = found.graph.nodes, found.graph.arcs
    return [[f"rank {pages:,} pages and {arcs:,} links once, µs a page", spent / pages * 1e6],
            ["the same, ns a link", spent / arcs * 1e9],
            ["bytes of edge file a page", (folder / "0000.edges").stat().st_size / pages]]  # fmt: skip


def cost(found: Set) -> list[list[object]]:
    """CPU microseconds a page of what a focused crawl adds to a plain one: reading pages and judging links.

    As live, only links to what is not fetched yet are judged: here, in the first quarter of a breadth-first crawl.
    """
    seeds = seeds_of(found, np.ones(len(found.pages), np.bool_), "hosts")
    quarter = len(found.pages) // 4
    order = crawl(Web(found.graph, seeds, found.rank, None, found.hosts), "bfs", quarter)
    when = {found.pages[page].page.url: k for k, page in enumerate(order.tolist())}
    pages = [found.pages[page] for page in order[:: max(1, quarter // 100)].tolist()]
    chosen = [
        [k for k, link in enumerate(each.links) if when.get(link[1], quarter) > when[each.page.url]] for each in pages
    ]
    targets = np.array([each.topic == TOPICS[0] for each in found.pages])
    relevant, others = examples(targets, np.random.default_rng(1))
    model = train(
        Topic(relevant=("-",)), [found.pages[k].page for k in relevant], [found.pages[k].page for k in others],
        np.random.default_rng(0),
    ).model  # fmt: skip
    learner = LinkModel()

    def classify() -> None:
        for each in pages:
            model.probability(each.page)

    def judge() -> None:
        for each, wanted in zip(pages, chosen, strict=True):
            around = link_contexts(each.page.text, [link[0] for link in each.links])
            links = [(each.links[k][0], each.links[k][1], around[k]) for k in wanted]
            made = link_features(links, model.look_weights)
            count = len(links)
            page = Page(model.topic, 0.4, 0, 100, *model.look_line)
            nothing = np.zeros(count)
            keys = np.arange(count, dtype=np.uint64)
            scores, kinds = learner.judge(page, made, nothing == 0, nothing, nothing, keys)
            if count:
                learner.learn(np.zeros(1, np.int64), made, kinds[:1], scores[:1])

    def copy() -> None:
        for each in pages:
            each.page.text.encode()

    links, judged = (float(np.mean([len(x) for x in each])) for each in ([e.links for e in pages], chosen))
    size = float(np.mean([len(each.page.text) for each in pages]))
    spent = [best_cpu(work, 60) / len(pages) * 1e6 for work in (classify, judge, copy)]
    return [["classify a page", spent[0]], [f"of its {links:.0f} links, judge {judged:.0f}, learn one", spent[1]],
            ["both", spent[0] + spent[1]], [f"for scale: encode its {size:.0f} characters", spent[2]]]  # fmt: skip


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--hosts", type=int, default=80)
    words.add_argument("--pages", type=int, default=4500)
    words.add_argument("--roots", type=Path, default=Path(os.environ.get("FYKE_REAL_ROOTS", "")), help="real pages")
    words.add_argument("--most", type=int, default=300, help="real pages of a host")
    words.add_argument("--plot", type=Path, help="draw the curves of the first topic")
    given = words.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        world = make_set(world_pages(given.hosts, given.pages), Path(folder))
        print(f"the world: {len(world.pages):,} pages of {given.hosts} hosts")
        rows: list[list[object]] = []
        curves: list[measures.Simulation] = []
        for topic, kind in [*((topic, "hosts") for topic in TOPICS), (TOPICS[0], "topic")]:
            runs: list[measures.Simulation] = []
            targets = np.array([each.topic == topic for each in world.pages])
            rows.append(focused(world, topic, targets, kind, runs))
            curves = curves or runs
        for row in rows:
            told = dict(zip(HEAD, row, strict=True))
            peers = {name: told[name] for name in ("bfs", "plain best-first", "omniscient")}
            what = f"harvest rate: {told['topic']} from seeds: {told['seeds']}"
            figure(what, "share", told["online-best-first"], peers, f"the synthetic web, {len(world.pages):,} pages")
        print(table(HEAD, rows), "\n")
        if given.plot:
            measures.plot(given.plot, curves, focused=True)
        print(table(["what", "µs a page"], cost(world)), "\n")
        print(table(["ranks", "cost"], rank_cost(world, Path(folder) / "ranks")), "\n")
        shares = quality(world, "world") + quality(world, "world, 3 seeds", few=True)
        if given.roots.is_dir() and given.roots != Path():
            real = make_set(real_pages(given.roots, given.most), Path(folder) / "real")
            shares += quality(real, "real")
            print(f"real: {len(real.pages):,} pages")
            rows = []
            for topic, pattern in REAL_TOPICS.items():
                targets = np.array([re.search(pattern, each.page.url) is not None for each in real.pages])
                rows.append(focused(real, topic, targets, "hosts", []))
            print(table(HEAD, rows), "\n")
        print(table(["web", "policy", *(f"{s:.0%}" for s in SHARES)], shares))


if __name__ == "__main__":
    main()
