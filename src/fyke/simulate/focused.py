"""The link classifier in the simulator: what the live crawl learns of links, learnt over arrays.

``Clues`` are the features of the graph's links. Anchor texts and their contexts come from where the pages are
(a store, a world); without them a link is known by its target's URL alone, and every link to a page is alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fyke.graph.graph import Graph
from fyke.simulate import kernels
from fyke.store import Store
from fyke.topic.features import LinkFeatures, link_contexts, link_features
from fyke.topic.linear import sigmoid
from fyke.topic.links import LinkModel, carried, kinds_of, steps_of, worth
from fyke.topic.model import PageModel, PageText
from fyke.topic.topic import Topic

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_CHUNK = 4096
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Clues:
    """Features of links, for each link of the graph or for each target."""

    features: LinkFeatures
    looks: Floats
    """As probabilities; negative without words."""
    firsts: Ints | None = None
    """The number of each node's first link, where links have features of their own."""

    def rows(self, degrees: Ints, pages: Ints, targets: Ints) -> Ints:
        """Return where the features of the links of ``pages`` stand, which have so many links to ``targets``."""
        if self.firsts is None:
            return targets
        starts = np.cumsum(degrees) - degrees
        rows: Ints = np.arange(len(targets)) + np.repeat(self.firsts[pages] - starts, degrees)
        return rows


def clues_of_urls(graph: Graph, model: PageModel | None = None) -> Clues:
    """Return clues from the URLs of pages alone."""
    parts = [
        link_features([("", url.decode(), "") for url in chunk], model.look_weights if model else None)
        for chunk in _chunks([graph.urls[x] for x in range(graph.nodes)])
    ]
    return _clues(parts, None, model)


def clues_of_pages(
    graph: Graph, pages: Iterable[tuple[str, Sequence[tuple[str, str, str]]]], model: PageModel | None = None
) -> Clues:
    """Return clues from pages, each its URL and its links as (anchor text, href, surrounding text)."""
    node_of = {graph.urls[x].decode(): x for x in range(graph.nodes)}
    found: dict[int, dict[int, tuple[str, str, str]]] = {}
    for url, links in pages:
        if (source := node_of.get(url)) is not None:
            mine = found.setdefault(source, {})
            for link in links:
                if (target := node_of.get(link[1])) is not None:
                    mine.setdefault(target, link)
    degrees = np.zeros(graph.nodes, np.int64)
    parts: list[LinkFeatures] = []
    for nodes in _chunks(range(graph.nodes)):
        chunk = np.array(nodes, np.int64)
        lists = graph.lists(chunk)
        degrees[chunk] = np.diff(lists.starts)
        named = []
        for k, source in enumerate(nodes):
            known = found.get(source, {})
            targets = lists.successors[lists.starts[k] : lists.starts[k + 1]].tolist()
            named += [known.get(target) or ("", graph.urls[target].decode(), "") for target in targets]
        parts.append(link_features(named, model.look_weights if model else None))
    return _clues(parts, np.cumsum(degrees) - degrees, model)


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What is known of a web by a page classifier and of its links."""

    relevance: Floats
    """Log-odds for each page."""
    clues: Clues
    focus: Topic


def evidence_of_store(graph: Graph, path: Path, model: PageModel) -> Evidence:
    """Return what a store shows: the log-odds of every page by the model, and the clues of all links."""
    relevance = np.full(graph.nodes, log_odds(0.0))  # of pages that are not there
    pages: list[tuple[str, list[tuple[str, str, str]]]] = []
    with Store.open(path, mode="r") as store:
        for row in store.scan(parts=("text", "links")):
            node = graph.urls.find(row.url.encode())
            if node is None:
                continue
            meta, text = row.meta, row.whole or ""
            relevance[node] = log_odds(
                model.probability(PageText(row.text or "", meta.title, row.url, meta.language, meta.type))
            )
            around = link_contexts(text, [link.text for link in row.links])
            named = zip(row.links, around, strict=True)
            pages.append((row.url, [(link.text, link.target.href, near) for link, near in named]))
    return Evidence(relevance, clues_of_pages(graph, pages, model), model.topic)


def log_odds(p: float, least: float = 1e-6) -> float:
    """ln(p/(1 − p)), for p between ``least`` and 1 − ``least``."""
    p = min(1 - least, max(least, p))
    return math.log(p / (1 - p))


def _chunks(items: Sequence[T]) -> Iterable[Sequence[T]]:
    return (items[i : i + _CHUNK] for i in range(0, len(items), _CHUNK))


def _clues(parts: list[LinkFeatures], firsts: Ints | None, model: PageModel | None) -> Clues:
    lengths = np.concatenate([np.diff(part.starts) for part in parts] or [np.empty(0, np.int64)])
    features = LinkFeatures(
        np.r_[0, np.cumsum(lengths)].astype(np.int64),
        np.concatenate([part.features for part in parts] or [np.empty(0, np.int64)]),
        np.concatenate([part.looks for part in parts] or [np.empty(0)]),
    )
    looks = np.where(lengths > 0, model.looks(features.looks), -1.0) if model else np.full(len(lengths), -1.0)
    return Clues(features, looks, firsts)


class OnlineLinks:
    """What a virtual crawl has learnt of links, and the best link seen to each page."""

    def __init__(self, relevance: Floats, clues: Clues, topic: Topic, hosts: Ints | None) -> None:
        nodes = len(relevance)
        self._probability = sigmoid(relevance)
        self._clues, self._topic = clues, topic
        self._hosts = np.zeros(nodes, np.int64) if hosts is None else hosts
        self.model = LinkModel()
        self._row = np.full(nodes, -1, np.int64)
        self._kinds = np.zeros((nodes, 3), np.int64)
        self._reached = np.ones(nodes, np.float32)
        self._steps = np.zeros(nodes, np.int64)
        count = int(self._hosts.max(initial=-1)) + 1
        self._host_pages, self._host_relevant = np.zeros(count, np.int64), np.zeros(count)
        self._pages = 0
        self._lots = np.random.default_rng(0).integers(0, 1 << 64, nodes, np.uint64, endpoint=False)

    def fetched(
        self, pages: Ints, starts: Ints, targets: Ints, state: NDArray[np.int8], signal: NDArray[np.float32]
    ) -> None:
        """Learn from pages that came, and raise ``signal`` of waiting targets to the worth of their best link."""
        self._learn(pages)
        degrees = np.diff(starts)
        waiting = state[targets] == kernels.WAITING
        rows = self._clues.rows(degrees, pages, targets)[waiting]
        parents, targets = np.repeat(pages, degrees)[waiting], targets[waiting]
        if not len(targets):
            return
        p = self._probability[parents]
        reached = carried(p, self._reached[parents].astype(np.float64), self._topic.decay)
        steps = steps_of(p, self._steps[parents], self._topic.threshold)
        hosts = self._hosts[targets]
        met = self._host_pages[hosts]
        share = np.where(met > 0, (self._host_relevant[hosts] + 0.1) / (met + 1), -1.0)
        kinds = kinds_of(reached, hosts == self._hosts[parents], self._clues.looks[rows], share)
        predicted = self.model.predict(rows, self._clues.features, kinds)
        found = worth(self._topic, predicted, steps, met, self._pages, self._lots[targets])
        better = kernels.raise_signals(targets, found, signal, self._row, rows)
        chosen = np.flatnonzero(better)
        self._kinds[targets[chosen]] = kinds[chosen]
        self._reached[targets[chosen]] = reached[chosen]
        self._steps[targets[chosen]] = steps[chosen]

    def _learn(self, pages: Ints) -> None:
        p = self._probability[pages]
        known = self._row[pages] >= 0
        taught = pages[known]
        self.model.learn(self._row[taught], self._clues.features, self._kinds[taught], p[known])
        np.add.at(self._host_pages, self._hosts[pages], 1)
        np.add.at(self._host_relevant, self._hosts[pages], p)
        self._pages += len(pages)
