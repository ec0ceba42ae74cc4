"""What a simulated web is, and what takes time in it: shared by all policies of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fyke.graph.graph import Graph
from fyke.simulate.focused import Clues
from fyke.topic.topic import Topic

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Timing:
    """What takes virtual time. By default nothing does: pages are counted, not seconds."""

    delay: float = 0.0
    """Seconds between two contacts of a host."""
    latency: float = 0.0
    """Seconds that a fetch takes besides its transfer."""
    bandwidth: float = 0.0
    """Bytes a second of the crawler's own line; 0 for no limit."""


@dataclass(frozen=True, slots=True, eq=False)
class Web:
    """Pages, their links and what is true of them."""

    graph: Graph
    seeds: Ints
    pagerank: Floats
    relevance: NDArray[np.float32] | None = None
    """Of each page, where there is a topic."""
    hosts: NDArray[np.int32] | None = None
    """The number of each page's host."""
    sizes: Ints | None = None
    """Bytes of each page, for the time that a fetch takes."""
    failing: NDArray[np.bool_] | None = None
    """Pages that cannot be fetched: known only when tried."""
    members: NDArray[np.bool_] | None = None
    """The pages that exist, where the web is a sub-archive's."""
    clues: Clues | None = None
    """What links show of their targets; their URLs alone where it is not given."""
    focus: Topic = Topic()  # noqa: RUF009 - frozen
    """Tunnelling, exploration and host shares of a crawl that learns from links."""
    targets: NDArray[np.bool_] | None = None
    """What is counted as relevant, where that is known; else what has a relevance above 0."""
