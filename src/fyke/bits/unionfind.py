"""Union–find: sets that grow together, as an array of parents. The root of a set is its least member.

Each element begins as its own parent; paths to the root are halved as they are walked (Tarjan and van Leeuwen 1984).
"""

from __future__ import annotations

from typing import Any

from fyke.bits.jit import leaf


@leaf
def find(parents: Any, x: Any) -> Any:
    """Return the root of x."""
    while parents[x] != x:
        parents[x] = parents[parents[x]]
        x = parents[x]
    return x


@leaf
def join(parents: Any, x: Any, y: Any) -> None:
    """Unite the sets of x and y."""
    a, b = find(parents, x), find(parents, y)
    if a != b:
        parents[max(a, b)] = min(a, b)


@leaf
def join_pairs(parents: Any, left: Any, right: Any) -> None:
    """Unite the sets of each pair."""
    for p in range(left.size):
        join(parents, left[p], right[p])


@leaf
def flatten(parents: Any) -> None:
    """Make every element's parent its root."""
    for x in range(parents.size):
        parents[x] = find(parents, x)
