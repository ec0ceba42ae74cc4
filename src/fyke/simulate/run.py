"""A run: one collection, one topic, several policies, all from one set-up and one seed, repeatable bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from fyke.archive.archive import Archive
from fyke.collection.build import graph_of, hosts_of
from fyke.errors import UserError
from fyke.graph.graph import Graph
from fyke.graph.rank import pagerank
from fyke.interfaces import Prioritizer
from fyke.simulate.engine import VirtualCrawl
from fyke.simulate.focused import Evidence
from fyke.simulate.measures import Simulation, curve, kendall_tau
from fyke.simulate.mercator import MercatorCrawl
from fyke.simulate.policies import Policy, Signal, as_policy
from fyke.simulate.settings import Settings
from fyke.simulate.topic import SummaryModel
from fyke.simulate.web import Timing, Web
from fyke.topic.topic import Topic

Ints = NDArray[np.int64]

BYTES_PER_WORD = 40
"""Of a page's HTML, for virtual transfer times: the archive knows words only. 24 KB pages have about 600."""


def default_seeds(graph: Graph, hosts: NDArray[np.int32] | None) -> Ints:
    """Return the first page of each host, or node 0 where hosts are not known."""
    return np.zeros(1, np.int64) if hosts is None else np.unique(hosts, return_index=True)[1]


@overload
def simulate(
    archive: Archive, policy: str | Policy | Prioritizer, budget: int = 0, *, graph: Graph | None = None,
    seeds: Sequence[int] | None = None, topic: SummaryModel | None = None, settings: Settings | None = None,
    evidence: Evidence | None = None,
) -> Simulation: ...  # fmt: skip
@overload
def simulate(
    archive: Archive, policy: list[str | Policy | Prioritizer] | list[str], budget: int = 0, *,
    graph: Graph | None = None,
    seeds: Sequence[int] | None = None, topic: SummaryModel | None = None, settings: Settings | None = None,
    evidence: Evidence | None = None,
) -> list[Simulation]: ...  # fmt: skip
def simulate(
    archive: Archive,
    policy: str | Policy | Prioritizer | list[str | Policy | Prioritizer] | list[str],
    budget: int = 0,
    *,
    graph: Graph | None = None,
    seeds: Sequence[int] | None = None,
    topic: SummaryModel | None = None,
    settings: Settings | None = None,
    evidence: Evidence | None = None,
) -> Simulation | list[Simulation]:
    """Crawl an archive's web by a policy (a name, a Prioritizer of the live crawler, a Policy), or by several.

    ``seeds`` are document numbers; by default the first page of each host. The graph is the archive's own unless
    given. ``evidence`` is what a trained model makes of the pages and their links, instead of a topic. Returns what
    was fetched in which order, with measures; a list for a list of policies.
    """
    settings = settings or Settings()
    web = make_web(archive, graph, seeds, topic, settings, evidence)
    budget = budget or settings.budget or web.graph.nodes
    several = isinstance(policy, list)
    wanted: Sequence[str | Policy | Prioritizer] = policy if several else [policy]  # type: ignore[list-item, assignment]
    runs = [_run(web, each, budget, settings, topic) for each in wanted]
    return runs if several else runs[0]


def make_web(
    archive: Archive,
    graph: Graph | None,
    seeds: Sequence[int] | None,
    topic: SummaryModel | None,
    settings: Settings,
    evidence: Evidence | None = None,
) -> Web:
    """Compute what all policies of a run share."""
    graph = graph or graph_of(archive)
    hosts = hosts_of(graph)[1] if graph.has_urls else None
    below = archive.below(np.arange(len(archive)))
    members = None
    if archive.members is not None:
        members = np.zeros(graph.nodes, np.bool_)
        members[below] = True
    if seeds is None:
        start = default_seeds(graph, hosts)
        start = start if members is None else below[:1]
    else:
        start = archive.below(np.asarray(seeds, np.int64))
    scores = relevance = None
    if evidence is not None:
        scores = evidence.relevance[below]
    elif topic is not None:
        scores = topic.score(archive, np.arange(len(archive)))
    if scores is not None:
        relevance = np.full(graph.nodes, -np.inf, np.float32)
        relevance[below] = scores
    sizes = None
    if settings.bandwidth:
        sizes = np.zeros(graph.nodes, np.int64)
        sizes[below] = np.maximum(0, archive.read(np.arange(len(archive))).lengths) * BYTES_PER_WORD
    chance = np.random.default_rng(settings.seed)
    return Web(
        graph,
        start,
        pagerank(graph),
        relevance,
        hosts,
        sizes,
        failing=chance.random(graph.nodes) < settings.failure_rate if settings.failure_rate else None,
        members=members,
        clues=evidence.clues if evidence else None,
        focus=evidence.focus if evidence else Topic(),
    )


def make_crawl(web: Web, policy: Policy, frontier: str, in_flight: int, timing: Timing) -> VirtualCrawl | MercatorCrawl:
    """Return the crawl of a web by a policy, through one frontier or the other."""
    if frontier == "exact":
        return VirtualCrawl(web, policy, in_flight, timing)
    if policy.signal not in {Signal.NONE, Signal.RELEVANCE} or policy.newest_first:
        raise UserError(
            f"{policy.name} wants what the live crawler does not compute; with the mercator frontier choose bfs, "
            "random, best-first or a prioritizer of your own"
        )
    return MercatorCrawl(web, policy, in_flight, timing)


def _run(
    web: Web, given: str | Policy | Prioritizer, budget: int, settings: Settings, topic: SummaryModel | None
) -> Simulation:
    policy = as_policy(given, np.random.default_rng(settings.seed))
    timing = Timing(settings.delay, settings.latency, settings.bandwidth)
    crawl = make_crawl(web, policy, settings.frontier, settings.in_flight, timing)
    crawl.run(budget)
    order, seconds = crawl.order, crawl.seconds
    relevant = np.zeros(web.graph.nodes, np.bool_) if web.relevance is None else web.relevance > 0
    if web.targets is not None:
        relevant = web.targets
    record = {
        "policy": policy.name,
        "settings": settings,
        "seeds": web.seeds.tolist()[:1000],
        "topic": topic.kind if topic else None,
        "graph": str(web.graph.basename.name),
        "nodes": web.graph.nodes,
    }
    return Simulation(
        policy.name,
        order,
        seconds,
        crawl.failed,
        crawl.waiting,
        curve(order, seconds, relevant, web.pagerank),
        kendall_tau(order, web.pagerank),
        settings.seed,
        msgspec.json.encode(record).decode(),
    )
