"""Graphs: ns an arc in order and at random, BFS, simulated crawls, beside PyPI ``webgraph`` (Rust) on the same files.

On cnr-2000 in ../shared/data/graph (FYKE_SHARED names another place).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from bench.measure import SHARED, best_cpu, figure, table
from fyke.graph import rank, rank_kernels
from fyke.graph.graph import Graph
from fyke.simulate.engine import VirtualCrawl
from fyke.simulate.policies import named
from fyke.simulate.web import Timing, Web

CNR_2000 = SHARED / "data" / "graph" / "cnr-2000" / "cnr-2000"


def cnr_2000() -> Graph:
    """The graph that this bench and bench.ordering are run on; ends the bench where it is not there."""
    if not CNR_2000.with_suffix(".graph").exists():
        print(f"cnr-2000 is not at {CNR_2000}; set FYKE_SHARED")
        sys.exit(0)
    return Graph.open(CNR_2000)


def crawl(web: Web, policy: str, in_flight: int) -> VirtualCrawl:
    run = VirtualCrawl(web, named(policy, np.random.default_rng(0)), in_flight, Timing())
    run.run(web.graph.nodes)
    return run


def peer(base: Path, nodes: list[int], arcs: int) -> list[list[object]]:
    """The same reads through the Rust library's Python face, an iterator object for each node."""
    try:
        from webgraph import BvGraph

        graph = BvGraph(str(base))
        seconds = best_cpu(lambda: [list(graph.successors(x)) for x in nodes], 3)
    except Exception as error:  # a peer that does not load is told, not fatal
        return [["webgraph (Rust): does not load here", str(error)[:60]]]
    return [["webgraph (Rust, from Python): random, ns/arc", seconds / arcs * 1e9]]


def main() -> None:
    graph = cnr_2000()
    nodes = np.random.default_rng(1).integers(0, graph.nodes, 200_000)
    arcs = int(graph.lists(nodes).starts[-1])
    received, degrees = np.zeros(graph.nodes), np.zeros(graph.nodes, np.int64)
    ranks = np.full(graph.nodes, 1 / graph.nodes)
    rows: list[list[object]] = [
        ["decompress all, ns/arc", best_cpu(graph.all_lists) / graph.arcs * 1e9],
        [
            "one PageRank pass over the compressed graph, ns/arc",
            best_cpu(lambda: rank_kernels.push_ranks(graph.stream, ranks, received, degrees)) / graph.arcs * 1e9,
        ],
        ["random, ns/arc", best_cpu(lambda: graph.lists(nodes)) / arcs * 1e9],
    ]
    sample = nodes[:20_000].tolist()
    small = int(graph.lists(nodes[:20_000]).starts[-1])
    rows.append(
        [
            "random one by one from Python, ns/arc",
            best_cpu(lambda: [graph.successors(x) for x in sample], 2) / small * 1e9,
        ]
    )
    rows += peer(CNR_2000, sample, small)
    seed = max(nodes[:40].tolist(), key=lambda s: len(rank.breadth_first(graph, np.array([s]))[0]))
    reached = len(rank.breadth_first(graph, np.array([seed]))[0])
    rows.append(
        ["breadth-first kernel, pages/s", reached / best_cpu(lambda: rank.breadth_first(graph, np.array([seed])))]
    )
    web = Web(
        graph,
        np.array([seed]),
        rank.pagerank(graph),
        relevance=np.random.default_rng(2).normal(size=graph.nodes).astype(np.float32),
    )
    for policy, in_flight in (("bfs", 1), ("best-first", 64), ("opic", 64), ("opic", 1)):
        seconds = best_cpu(lambda p=policy, n=in_flight: crawl(web, p, n), 1)  # type: ignore[misc]
        rows.append([f"simulated {policy}, {in_flight} in flight, pages/s", reached / seconds])
    told = {str(row[0]): row[1] for row in rows}
    own = float(str(told["random one by one from Python, ns/arc"]))
    peers = {name.split(":")[0]: value for name, value in told.items() if name.startswith("webgraph")}
    figure("successors at random, one node a call", "ns an arc", own, peers, "cnr-2000")
    figure("successors at random, many nodes a call", "ns an arc", told["random, ns/arc"], size="cnr-2000")
    figure("all successors, in order", "ns an arc", told["decompress all, ns/arc"], size="cnr-2000")
    figure("the graph", "bits a link", graph.bits / graph.arcs, size="cnr-2000")
    print(f"cnr-2000: {graph.nodes:,} nodes, {graph.arcs:,} arcs, {graph.bits / graph.arcs:.3f} bits per link\n")
    print(table(["what", "value"], rows))


if __name__ == "__main__":
    main()
