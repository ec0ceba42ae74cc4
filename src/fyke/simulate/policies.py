"""Crawl orders: small prioritizers, and what the simulator must tell each of them about a page.

A policy is a formula (a ``Prioritizer``, the live crawler's own seam) and a signal: what ``parent_score`` of its
candidates carries. The simulator keeps signals up to date; the formula alone decides.

====================  =========================  ======================================================
policy                signal                     formula, higher first
====================  =========================  ======================================================
bfs                   none                       −depth, first discovered first
dfs                   none                       last discovered first
random                none                       a random number for each page
backlinks             none                       links seen so far (Cho, Garcia-Molina, Page 1998)
pagerank              rank on what is known      that rank, computed anew as the crawl grows (ibid.)
opic                  cash                       that cash (Abiteboul, Preda, Cobena 2003)
quality               cash, and rank known       all that is known together (fyke.topic.quality)
larger-sites-first    pages waiting at the site  that number (Baeza-Yates, Castillo et al. 2005)
best-first            relevance of a parent      that relevance (Chakrabarti et al. 1999)
online-best-first     predicted relevance        that prediction, by a link classifier that learns (fyke.topic.links)
omniscient            the page's own true value  that value: what no crawler can know, the bound of all
====================  =========================  ======================================================
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

import numpy as np
import numpy.typing as npt

from fyke.errors import UserError
from fyke.interfaces import Prioritizer
from fyke.topic.quality import Quality
from fyke.values import Candidates

Floats = npt.NDArray[np.float64]


class Signal(Enum):
    """What ``Candidates.parent_score`` carries."""

    NONE = auto()
    RELEVANCE = auto()
    """The best relevance among the pages seen to link here."""
    CASH = auto()
    RANK = auto()
    LINK = auto()
    """The worth of the best link seen to lead here, by a classifier that learns as the crawl goes on."""
    SITE = auto()
    ORACLE = auto()


@dataclass(frozen=True, slots=True)
class Policy:
    """A named order of crawling."""

    name: str
    prioritizer: Prioritizer
    signal: Signal = Signal.NONE
    changing: bool = True
    """Whether a waiting page's score can change: it is then asked for again when its candidate changes."""
    newest_first: bool = False
    """How ties are broken."""
    needs_topic: bool = False
    ranked: bool = False
    """Whether the prioritizer is told cash, and the rank of pages and hosts, beside the signal."""
    foreseeable: bool = False
    """Whether what a page discovers never comes before what waits already, so pages may be fetched in batches."""


class BreadthFirst:
    """Nearest to the seeds first."""

    def priority(self, candidates: Candidates) -> Floats:
        """Return −depth."""
        return -candidates.depth.astype(np.float64)


class Constant:
    """All alike: the order of discovery decides."""

    def priority(self, candidates: Candidates) -> Floats:
        """Return 0."""
        return np.zeros(len(candidates.depth))


@dataclass(frozen=True, slots=True)
class Random:
    """In random order; the generator is the run's, so that the run can be repeated."""

    generator: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def priority(self, candidates: Candidates) -> Floats:
        """Return a random number for each."""
        return self.generator.random(len(candidates.depth))


class Backlinks:
    """Most links seen so far first."""

    def priority(self, candidates: Candidates) -> Floats:
        """Return the links seen."""
        return candidates.inlinks.astype(np.float64)


class BySignal:
    """Highest signal first."""

    def priority(self, candidates: Candidates) -> Floats:
        """Return ``parent_score``."""
        return candidates.parent_score.astype(np.float64)


def every(generator: np.random.Generator) -> tuple[Policy, ...]:
    """Return the policies that have names; ``generator`` is what the random one draws from."""
    return (
        Policy("bfs", BreadthFirst(), changing=False, foreseeable=True),
        Policy("dfs", Constant(), changing=False, newest_first=True),
        Policy("random", Random(generator), changing=False),
        Policy("backlinks", Backlinks()),
        Policy("pagerank", BySignal(), Signal.RANK),
        Policy("opic", BySignal(), Signal.CASH),
        Policy("quality", Quality(), Signal.CASH, ranked=True),
        Policy("larger-sites-first", BySignal(), Signal.SITE),
        Policy("best-first", BySignal(), Signal.RELEVANCE, needs_topic=True),
        Policy("online-best-first", BySignal(), Signal.LINK, needs_topic=True),
        Policy("omniscient", BySignal(), Signal.ORACLE, changing=False),
    )


NAMES = tuple(policy.name for policy in every(np.random.default_rng(0)))


def named(name: str, generator: np.random.Generator) -> Policy:
    """Return the policy called ``name``. Raises ``UserError``."""
    for policy in every(generator):
        if policy.name == name:
            return policy
    raise UserError(f"no policy is called {name!r}; choose one of {', '.join(NAMES)}")


def as_policy(given: str | Policy | Prioritizer, generator: np.random.Generator) -> Policy:
    """Return a policy from its name, from itself, or from a live crawler's prioritizer."""
    if isinstance(given, str):
        return named(given, generator)
    if isinstance(given, Policy):
        return given
    return Policy(type(given).__name__, given, Signal.RELEVANCE)
