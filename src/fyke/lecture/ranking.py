"""Importance of pages: PageRank and HITS, worked by hand on graphs of three and four pages."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np

from fyke.graph.build import lists_of_edges, write_graph
from fyke.graph.graph import Graph
from fyke.graph.properties import Parameters
from fyke.graph.rank import hits as hubs_and_authorities
from fyke.graph.rank import pagerank as ranks_of
from fyke.lecture.example import Said, example
from fyke.scratch import Scratch

A, B, C, D = range(4)


def _hundredths(values: object) -> list[str]:
    return [f"{value:.4f}" for value in np.asarray(values, float).tolist()]


@example("CS6200, PageRank", "fyke.graph.rank", by="by hand")
def pagerank() -> Iterator[Said]:
    """Three pages: A links to B and C, B to C, C to A; a random surfer, and one who jumps with probability 0.15."""
    with Scratch("lecture") as folder:
        write_graph(folder / "three", lists_of_edges([np.array([(A, B), (A, C), (B, C), (C, A)])]), Parameters())
        graph = Graph.open(folder / "three")
        # Without jumps: A = C, B = A/2, C = A/2 + B, and their sum is 1.
        yield "without jumps (damping 0.99999)", "0.4000 0.2000 0.4000", _hundredths(ranks_of(graph, 0.99999))
        # A = 0.05 + 0.85 C, B = 0.05 + 0.425 A, C = 0.05 + 0.425 A + 0.85 B, solved for A.
        a = (0.05 + 0.85 * 0.0925) / (1 - 0.85 * 0.78625)
        by_hand = [a, 0.05 + 0.425 * a, 0.0925 + 0.78625 * a]
        yield "with jumps: A, B, C", _hundredths(by_hand), _hundredths(ranks_of(graph, 0.85))


@example("CS276 §21.3, Hubs and Authorities", "fyke.graph.rank", by="by hand")
def hits() -> Iterator[Said]:
    """A links to C, B to C and D: the eigenvectors of two matrices [[2, 1], [1, 1]] are in the golden ratio."""
    with Scratch("lecture") as folder:
        write_graph(folder / "four", lists_of_edges([np.array([(A, C), (B, C), (B, D)])], 4), Parameters())
        hubs, authorities = hubs_and_authorities(Graph.open(folder / "four"))
    golden = (1 + sqrt(5)) / 2
    long, short = golden / sqrt(1 + golden**2), 1 / sqrt(1 + golden**2)
    yield "hubs A, B, C, D", _hundredths([short, long, 0, 0]), _hundredths(hubs)
    yield "authorities", _hundredths([0, 0, long, short]), _hundredths(authorities)
    yield "C is as much better an authority than D as", f"{golden:.4f}", f"{authorities[C] / authorities[D]:.4f}"


EXAMPLES = (pagerank, hits)
