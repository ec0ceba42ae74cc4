"""PageRank of what a virtual crawl knows so far: the live crawl's own (fyke.topic.rank), and the classical one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fyke.graph.graph import Graph
from fyke.simulate.web import Floats, Ints
from fyke.topic.quality import path_depth
from fyke.topic.rank import DAMPING, LinkGraph, edges_of

PARTIAL_TOLERANCE = 1e-6
"""Σ|change| of a step that ends: scores are compared one by one, so nearer than the live crawl's."""


class KnownRank:
    """Ranks of pages and authority of hosts, over what a virtual crawl has fetched so far."""

    def __init__(self, graph: Graph, hosts: NDArray[np.int32] | None) -> None:
        self._graph = graph
        self._hosts = np.zeros(graph.nodes, np.int32) if hosts is None else hosts
        self._ranks = np.full(graph.nodes, np.nan)
        self._authority = np.full(int(self._hosts.max(initial=0)) + 1, np.nan)
        self._host_pages = np.zeros(len(self._authority))
        self.mean = 0.0
        """The rank of an ordinary page; 0 before the first computation."""
        self.path_depth = np.empty(0)
        if graph.has_urls:
            depths = (path_depth(url.decode()) for url in graph.urls)
            self.path_depth = np.fromiter(depths, np.float64, graph.nodes)

    def fetch(self, pages: Ints) -> None:
        """Note that pages were fetched."""
        np.add.at(self._host_pages, self._hosts[pages], 1)

    def of(self, pages: Ints) -> dict[str, Any]:
        """Return what a prioritizer is told of pages; ordinary where nothing is known."""
        hosts = self._hosts[pages]
        ranks, authority = self._ranks[pages], self._authority[hosts]
        return {
            "rank": np.where(np.isnan(ranks), self.mean, ranks),
            "authority": np.where(np.isnan(authority), self.mean, authority),
            "mean_rank": self.mean,
            "host_pages": self._host_pages[hosts],
            "path_depth": self.path_depth[pages] if len(self.path_depth) else self.path_depth,
        }

    def compute(self, fetched: Ints, waiting: Ints) -> None:
        """Rank the pages that were fetched and those that wait."""
        known = np.concatenate([fetched, waiting])
        graph = _known_graph(self._graph, fetched, waiting, self._hosts[known], len(self._authority))
        ranks = graph.ranks()
        assert ranks is not None
        self._ranks[:], self._authority[:] = np.nan, np.nan
        self._ranks[known] = ranks
        met = np.unique(self._hosts[known])
        self._authority[met] = graph.authority(ranks)[met]
        self.mean = 1 / len(known)


def partial_pagerank(graph: Graph, fetched: Ints, waiting: Ints) -> tuple[Floats, float]:
    """Return the classical PageRank over what is known, 0 for other pages, and what every known page has at least.

    Pages that wait are dead ends: as if of a host of their own, none of whose pages has links.
    """
    apart = np.repeat(np.array([0, 1], np.int32), [len(fetched), len(waiting)])
    known = _known_graph(graph, fetched, waiting, apart, 2)
    found = known.ranks(tolerance=PARTIAL_TOLERANCE)
    assert found is not None
    ranks = np.zeros(graph.nodes)
    ranks[fetched], ranks[waiting] = found[: len(fetched)], found[len(fetched) :]
    lost = found[known.degrees <= 0].sum()
    return ranks, float(DAMPING * lost + 1 - DAMPING) / max(1, len(found))


def _known_graph(graph: Graph, fetched: Ints, waiting: Ints, host_of: NDArray[np.int32], hosts: int) -> LinkGraph:
    """Return the links of the pages that were fetched, to these and to those that wait, in this order."""
    number = np.full(graph.nodes, -1, np.int64)
    number[fetched] = np.arange(len(fetched))
    number[waiting] = len(fetched) + np.arange(len(waiting))
    lists = graph.lists(fetched)
    targets = number[lists.successors]
    kept = targets >= 0
    starts = np.r_[0, np.cumsum(kept)][lists.starts]
    degrees = np.full(len(fetched) + len(waiting), -1, np.int32)
    degrees[: len(fetched)] = np.diff(starts)
    return LinkGraph(edges_of(np.arange(len(fetched)), starts, targets[kept]), degrees, host_of, hosts)
