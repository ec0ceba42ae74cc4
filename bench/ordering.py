"""The classical experiment of crawl ordering on cnr-2000: share of PageRank collected, policy by policy.

Cho, Garcia-Molina and Page 1998: partial PageRank is ahead of breadth-first. Najork and Wiener 2001: breadth-first
finds pages of high PageRank early. All policies start from the seed that reaches most among 60 random ones.
"""

from __future__ import annotations

import numpy as np

from bench.graph import cnr_2000
from bench.measure import table
from fyke.graph.rank import breadth_first, pagerank
from fyke.simulate.engine import VirtualCrawl
from fyke.simulate.measures import kendall_tau
from fyke.simulate.policies import named
from fyke.simulate.web import Timing, Web

SHARES = (0.01, 0.05, 0.1, 0.25, 0.5)
IN_FLIGHT = 64


def main() -> None:
    graph = cnr_2000()
    values = pagerank(graph)
    seeds = np.random.default_rng(0).integers(0, graph.nodes, 60).tolist()
    seed = max(seeds, key=lambda s: len(breadth_first(graph, np.array([s]))[0]))
    web = Web(graph, np.array([seed]), values)
    rows: list[list[object]] = []
    for name in ("omniscient", "pagerank", "opic", "bfs", "backlinks", "random", "dfs"):
        # Depth-first with many in flight would not be depth-first.
        crawl = VirtualCrawl(web, named(name, np.random.default_rng(0)), 1 if name == "dfs" else IN_FLIGHT, Timing())
        crawl.run(graph.nodes)
        order = crawl.order
        total = np.cumsum(values[order]) / values[order].sum()
        rows.append([name, *(float(total[int(s * len(order))]) for s in SHARES), kendall_tau(order, values)])
    print(f"cnr-2000 from node {seed}: {len(order):,} pages; share of PageRank after a share of the pages\n")
    print(table(["policy", *(f"{s:.0%}" for s in SHARES), "τ"], rows))


if __name__ == "__main__":
    main()
