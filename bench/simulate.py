"""Simulated crawls of a real collection: the classical experiments, pages a second with a classifier, bytes a page.

FYKE_COLLECTION names a folder that ``fyke archive build`` made (``python -m bench.real_pages ROOTS FILE.jsonl`` makes
pages of documentation); without it a synthetic web of 20,000 pages in two topics is built.

Ordering: Cho, Garcia-Molina and Page 1998 (partial PageRank ahead of breadth-first), Najork and Wiener 2001
(breadth-first finds pages of high PageRank early). Focus: Chakrabarti, van den Berg and Dom 1999 (harvest rate).
"""

from __future__ import annotations

import os
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.measure import figure, table
from fyke.archive.archive import Archive
from fyke.archive.run import Page
from fyke.collection import build as collection
from fyke.graph.graph import Graph
from fyke.graph.rank import breadth_first
from fyke.simulate.engine import VirtualCrawl
from fyke.simulate.measures import kendall_tau
from fyke.simulate.policies import named
from fyke.simulate.run import make_web, simulate
from fyke.simulate.settings import Settings
from fyke.simulate.topic import SummaryModel, from_examples, from_words
from fyke.simulate.web import Timing, Web

WORDS = os.environ.get("FYKE_TOPIC", "database transaction index query")
SHARES = (0.01, 0.05, 0.1, 0.25, 0.5)
SITE_ORDERS = ("pagerank", "opic", "bfs", "random")
ORDERS = ("omniscient", "opic", "pagerank", "backlinks", "bfs", "random", "dfs")


def synthetic(count: int = 20_000) -> Iterator[Page]:
    chance = np.random.default_rng(1)
    for i in range(count):
        words = "database transaction index query " * 9 if i % 10 == 0 else ""
        words += " ".join(f"w{k}" for k in np.minimum(chance.zipf(1.3, 200), 40_000).tolist())
        near = [min(count - 1, i // 10 * 10 + int(j)) for j in chance.integers(0, 10, 3)]
        same = [int(j) * 10 + i % 10 for j in chance.integers(0, count // 10, 5)]
        links = tuple(f"http://site{j // 1000}.test/{j}" for j in {*near, *same, i // 2})
        yield Page(f"http://site{i // 1000}.test/{i}", words, links)


def ordering(archive: Archive, graph: Graph) -> None:
    web = make_web(archive, graph, None, None, Settings())
    rows: list[list[object]] = []
    for name in ORDERS:
        # Depth-first with many in flight would not be depth-first.
        crawl = VirtualCrawl(web, named(name, np.random.default_rng(0)), 1 if name == "dfs" else 64, Timing())
        crawl.run(graph.nodes)
        order = crawl.order
        total = np.cumsum(web.pagerank[order]) / web.pagerank[order].sum()
        rows.append([name, *(float(total[int(s * len(order))]) for s in SHARES), kendall_tau(order, web.pagerank)])
    print(f"\n{len(order):,} of {graph.nodes:,} pages reached; share of PageRank after a share of them\n")
    print(table(["policy", *(f"{s:.0%}" for s in SHARES), "τ"], rows))


def site_by_site(archive: Archive, graph: Graph) -> None:
    """Each site crawled alone from its front page, as Cho's Stanford was: share of its PageRank after a quarter."""
    ranks = make_web(archive, graph, None, None, Settings()).pagerank
    names, hosts = collection.hosts_of(graph)
    rows: list[list[object]] = []
    for host, name in enumerate(names):
        nodes = np.flatnonzero(hosts == host)
        short = nodes[np.argsort([len(graph.urls[int(n)]) for n in nodes], kind="stable")[:12]]
        seed = max(short.tolist(), key=lambda s: len(breadth_first(graph, np.array([s]))[0]))
        web = Web(graph, np.array([seed]), ranks)
        shares = []
        for policy in SITE_ORDERS:
            crawl = VirtualCrawl(web, named(policy, np.random.default_rng(0)), 16, Timing())
            crawl.run(graph.nodes)
            total = np.cumsum(ranks[crawl.order])
            shares.append(float(total[crawl.fetched // 4] / total[-1]))
        if crawl.fetched >= 200:
            rows.append([name, crawl.fetched, *shares])
    ahead = [sum(row[2] > row[k] for row in rows) for k in range(2, 6)]  # type: ignore[operator]
    rows.append(["mean", "", *(float(np.mean([row[k] for row in rows])) for k in range(2, 6))])
    print("\nshare of PageRank after a quarter of the pages, site by site, 16 in flight\n")
    print(table(["site", "pages", *SITE_ORDERS], rows))
    print(f"\npartial PageRank is ahead of breadth-first on {ahead[2]} of {len(rows) - 1} sites")


def focus(archive: Archive, graph: Graph, topic: SummaryModel) -> None:
    settings = Settings(in_flight=64, budget=2000)
    names = ["omniscient", "best-first", "opic", "random", "bfs"]
    runs = simulate(archive, names, graph=graph, topic=topic, settings=settings)
    rows: list[list[object]] = [[r.policy, float(r.curve.harvest[-1]), float(r.curve.recall[-1])] for r in runs]
    print(f"\nafter {len(runs[0].order):,} pages, for {WORDS!r} (linear classifier, examples by BM25)\n")
    print(table(["policy", "harvest rate", "recall"], rows))


def speed(archive: Archive, graph: Graph, topic: SummaryModel) -> None:
    """A focused crawl of everything, its parts told apart, and what it holds beyond the mapped files."""
    rows: list[list[object]] = []
    web = make_web(archive, graph, None, topic, Settings())
    for name, in_flight in (("best-first", 64), ("best-first", 1), ("bfs", 64)):
        began = time.process_time()
        if name == "best-first":
            topic.score(archive, np.arange(len(archive)))
        scored = time.process_time()
        crawl = VirtualCrawl(web, named(name, np.random.default_rng(0)), in_flight, Timing())
        crawl.run(graph.nodes)
        ended = time.process_time()
        tracemalloc.start()
        crawl = VirtualCrawl(web, named(name, np.random.default_rng(0)), in_flight, Timing())
        crawl.run(graph.nodes)
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        rows.append([f"{name}, {in_flight} in flight", crawl.fetched / (ended - began), scored - began, ended - scored,
                     held / graph.nodes])  # fmt: skip
    for row in rows[::2]:
        figure(f"a simulated crawl: {row[0]}", "pages/s", row[1], size=f"{graph.nodes:,} pages")
    print("\nCPU seconds; bytes a page of the whole graph, at the end of the crawl\n")
    print(table(["crawl", "pages/s", "classify s", "crawl s", "bytes/page"], rows))


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        given = os.environ.get("FYKE_COLLECTION")
        folder = Path(given) if given else Path(name)
        if not given:
            collection.build(synthetic(), folder)
        archive = Archive.open(folder)
        graph = collection.graph_of(archive)
        best = np.argsort(-from_words(archive, WORDS).score(archive, np.arange(len(archive))))[:50]
        topic = from_examples(archive, best, "svm", np.random.default_rng(0))
        print("collection:", folder.name if given else "synthetic (set FYKE_COLLECTION for a real one)")
        focus(archive, graph, topic)
        speed(archive, graph, topic)
        ordering(archive, graph)
        site_by_site(archive, graph)


if __name__ == "__main__":
    main()
