"""What a graph says of its nodes: PageRank, HITS, OPIC, degrees, components, breadth-first search.

- PageRank: r = d·(Pᵀr + dangling/n) + (1 − d)/n, until the error Σ|Δr|·d/(1 − d) ≤ tolerance
  (Page, Brin, Motwani, Winograd 1998).
- HITS: authority = Σ hubs that link here, hub = Σ authorities linked to, each of norm 1 (Kleinberg 1999).
- OPIC: each visit banks a page's cash and shares it among its links; history/Σ is its importance (Abiteboul,
  Preda, Cobena 2003). A page without links pays all pages alike.

Ranks, degrees and weak components are passes over the compressed graph; strong components decompress it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fyke.bits.unionfind import flatten
from fyke.errors import StorageError, UserError
from fyke.graph import rank_kernels as kernels
from fyke.graph.graph import Graph

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Degrees:
    """Degrees of all nodes and the weak component (its least node) of each."""

    out_degrees: Ints
    in_degrees: Ints
    weak_component: Ints


def pagerank(graph: Graph, damping: float = 0.85, tolerance: float = 1e-9) -> Floats:
    """Return the PageRank of every node; they sum to 1, and lie within ``tolerance`` of the fixed point in all.

    A round shrinks the change by ``damping`` at least, so that so many rounds always do.
    """
    nodes = graph.nodes
    if not 0 <= damping < 1:
        raise UserError(f"the damping factor lies between 0 and 1, not at {damping}")
    ranks, degrees = np.full(nodes, 1 / max(1, nodes)), np.zeros(nodes, np.int64)
    rounds = 1 if damping == 0 else math.ceil(math.log(tolerance * (1 - damping) / 2) / math.log(damping)) + 1
    for _ in range(rounds):
        received = np.zeros(nodes)
        _check(graph, kernels.push_ranks(graph.stream, ranks, received, degrees))
        dangling = ranks[degrees == 0].sum()
        new = damping * (received + dangling / nodes) + (1 - damping) / nodes
        change = np.abs(new - ranks).sum()
        ranks = new
        if change * damping <= tolerance * (1 - damping):
            break
    return ranks


def hits(graph: Graph, tolerance: float = 1e-8, limit: int = 500) -> tuple[Floats, Floats]:
    """Return (hubs, authorities), each of Euclidean norm 1."""
    nodes = graph.nodes
    hubs, authorities = np.full(nodes, nodes**-0.5 if nodes else 0.0), np.zeros(nodes)
    for _ in range(limit):
        before = authorities.copy()
        _check(graph, kernels.hits_pass(graph.stream, hubs, authorities, True))
        authorities /= np.linalg.norm(authorities) or 1.0
        _check(graph, kernels.hits_pass(graph.stream, hubs, authorities, False))
        hubs /= np.linalg.norm(hubs) or 1.0
        if np.abs(authorities - before).sum() <= tolerance:
            break
    return hubs, authorities


def opic(graph: Graph, generator: np.random.Generator, passes: int = 10) -> Floats:
    """Return OPIC's estimate of importance after ``passes`` visits of every node, each in a new random order."""
    cash, history = np.full(graph.nodes, 1 / max(1, graph.nodes)), np.zeros(graph.nodes)
    for _ in range(passes):
        _check(graph, kernels.opic_pass(graph.stream, generator.permutation(graph.nodes), cash, history))
    return history / (history.sum() or 1.0)


def degrees(graph: Graph) -> Degrees:
    """Return degrees and weak components."""
    out_degrees, in_degrees = np.zeros(graph.nodes, np.int64), np.zeros(graph.nodes, np.int64)
    parents = np.arange(graph.nodes)
    _check(graph, kernels.count_degrees(graph.stream, out_degrees, in_degrees, parents))
    flatten(parents)
    return Degrees(out_degrees, in_degrees, parents)


def strong_components(graph: Graph) -> Ints:
    """Return the number of each node's strongly connected component."""
    whole = graph.all_lists()
    component = np.zeros(graph.nodes, np.int64)
    kernels.strong_components(whole.starts, whole.successors, component)
    return component


def breadth_first(graph: Graph, seeds: Ints) -> tuple[Ints, Ints]:
    """Return the nodes that ``seeds`` reach in the order of visit, and the distance of every node (−1: not reached)."""
    seeds = np.asarray(seeds, np.int64)
    if seeds.size and not 0 <= seeds.min() <= seeds.max() < graph.nodes:
        raise IndexError(f"the graph has nodes 0 … {graph.nodes - 1}")
    order, distances = np.empty(graph.nodes, np.int64), np.full(graph.nodes, -1, np.int64)
    _, first = np.unique(seeds, return_index=True)
    start = seeds[np.sort(first)]
    order[: start.size] = start
    distances[start] = 0
    reached, damaged = kernels.breadth_first(graph.stream, order, start.size, distances)
    _check(graph, damaged)
    return order[:reached], distances


def _check(graph: Graph, damaged: int) -> None:
    if damaged >= 0:
        raise StorageError(f"{graph.basename}.graph is damaged: node {damaged} does not decode; copy it again")
