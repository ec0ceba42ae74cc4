from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings

from fyke.errors import UserError
from fyke.graph import rank
from fyke.graph.build import write_graph
from fyke.graph.graph import Graph
from fyke.graph.properties import Parameters
from tests.graph.test_graph import ADJACENCY, lists, web


def make(folder: Path, adjacency: list[list[int]]) -> Graph:
    write_graph(folder / "g", [lists(adjacency)], Parameters())
    return Graph.open(folder / "g")


def matrix(adjacency: list[list[int]]) -> np.ndarray:
    dense = np.zeros((len(adjacency), len(adjacency)))
    for x, own in enumerate(adjacency):
        dense[x, own] = 1
    return dense


@pytest.mark.kernel
def test_ranks_against_dense_algebra(tmp_path: Path) -> None:
    adjacency = web(30)
    graph, dense = make(tmp_path, adjacency), matrix(adjacency)
    n = len(adjacency)
    out = dense.sum(1)
    walk = np.where(out[:, None] > 0, dense / np.maximum(out, 1)[:, None], 1 / n)
    google = 0.85 * walk + 0.15 / n
    values, vectors = np.linalg.eig(google.T)
    principal = np.real(vectors[:, np.argmax(values.real)])
    np.testing.assert_allclose(rank.pagerank(graph), principal / principal.sum(), atol=1e-8)

    hubs, authorities = rank.hits(graph, tolerance=1e-12)
    u, _, v = np.linalg.svd(dense)
    np.testing.assert_allclose(hubs, np.abs(u[:, 0]), atol=1e-5)
    np.testing.assert_allclose(authorities, np.abs(v[0]), atol=1e-5)

    estimate = rank.opic(graph, np.random.default_rng(1), passes=300)
    values, vectors = np.linalg.eig(walk.T)
    stationary = np.real(vectors[:, np.argmax(values.real)])
    assert np.abs(estimate - stationary / stationary.sum()).sum() < 0.02, "OPIC tends to PageRank without damping"


class Searches(NamedTuple):
    """What the searches find in a graph."""

    out_degrees: list[int]
    in_degrees: list[int]
    weak: list[int]
    """The least node of each node's weak component."""
    strong: list[list[bool]]
    """Which nodes reach one another."""
    order: list[int]
    distances: dict[int, int]


def found(graph: Graph) -> Searches:
    degrees, component = rank.degrees(graph), rank.strong_components(graph)
    order, distances = rank.breadth_first(graph, np.array([0]))
    return Searches(
        degrees.out_degrees.tolist(),
        degrees.in_degrees.tolist(),
        degrees.weak_component.tolist(),
        (component[:, None] == component[None, :]).tolist(),
        order.tolist(),
        {x: d for x, d in enumerate(distances.tolist()) if d >= 0},
    )


def expected(adjacency: list[list[int]]) -> Searches:
    dense = matrix(adjacency) > 0
    reach = np.linalg.matrix_power(np.eye(len(dense)) + dense + dense.T, len(dense)).astype(float) > 0
    onward = np.eye(len(dense)) > 0
    for _ in range(len(dense)):
        onward = onward | (onward.astype(int) @ dense.astype(int) > 0)
    queue, seen, order = deque([0]), {0: 0}, []
    while queue:
        x = queue.popleft()
        order.append(x)
        for y in sorted(set(adjacency[x])):
            if y not in seen:
                seen[y] = seen[x] + 1
                queue.append(y)
    weak = [int(np.flatnonzero(row)[0]) for row in reach]
    return Searches(dense.sum(1).tolist(), dense.sum(0).tolist(), weak, (onward & onward.T).tolist(), order, seen)


@pytest.mark.kernel
def test_searches_against_plain_python(tmp_path: Path) -> None:
    adjacency = [*web(80), [], [81], [80, 83], [82]]
    assert found(make(tmp_path, adjacency)) == expected(adjacency)


@settings(max_examples=25)
@given(ADJACENCY)
def test_searches_of_any_graph(tmp_path_factory: pytest.TempPathFactory, adjacency: list[list[int]]) -> None:
    adjacency = [sorted(set(own)) for own in adjacency]
    assert found(make(tmp_path_factory.mktemp("g"), adjacency)) == expected(adjacency)


def test_wrong_arguments(tmp_path: Path) -> None:
    graph = make(tmp_path, [[1], [0]])
    with pytest.raises(UserError, match="damping"):
        rank.pagerank(graph, damping=1.5)
    with pytest.raises(IndexError):
        rank.breadth_first(graph, np.array([2]))


def test_pagerank_goes_on_until_it_is_right_however_slowly_it_gets_there(tmp_path: Path) -> None:
    # A circle with one shortcut: almost periodic, so that a round changes little and errs much.
    adjacency = [[1, 2], *[[(i + 1) % 40] for i in range(1, 40)]]
    graph, dense = make(tmp_path, adjacency), matrix(adjacency)
    walk = dense / dense.sum(1)[:, None]
    right = np.linalg.solve(np.eye(40) - 0.99 * walk.T, np.full(40, 0.01 / 40))
    assert np.abs(rank.pagerank(graph, 0.99) - right).sum() < 1e-9
