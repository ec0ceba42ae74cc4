"""What nodes and the head tell each other, once a second and at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fyke.cluster.permits import Spending
from fyke.cluster.registrar import LEASE, Answer, Beat
from fyke.crawl.politeness.identity import Identity
from fyke.crawl.run.plan import Plan
from fyke.crawl.run.status import AgentStatus
from fyke.crawl.run.steering import Steering
from fyke.store.depot import About


@dataclass(frozen=True, slots=True)
class Job:
    """A crawl over machines."""

    plan: Plan
    depot: str
    about: About
    identity: Identity = field(default_factory=Identity)
    lease: float = LEASE
    """Seconds; for tests and demonstrations it is shorter."""
    verbose: bool = False

    @property
    def beat_every(self) -> float:
        """Seconds between beats."""
        return self.lease / 10

    @property
    def grace(self) -> float:
        """Seconds that the registrar waits longer."""
        return self.lease / 5


@dataclass(frozen=True, slots=True)
class Report:
    """What a node tells with each beat."""

    beat: Beat
    ready: bool = False
    """Its agents are at work on all the tablets that it is to have, and on no others."""
    quiet: tuple[int, int] = (0, -1)
    """``ending.Quiet.look``."""
    statuses: tuple[AgentStatus, ...] = ()
    spending: Spending = Spending()  # noqa: RUF009 - frozen
    trouble: str = ""
    """Why its agents are not at work."""
    addresses: bytes = b""
    """The slots of those that it uses (fyke.crawl.politeness.addresses)."""
    clock: float = 0.0
    """What time it is there."""
    took: Mapping[str, float] = field(default_factory=dict)
    """Seconds that its last change of tablets took, by step."""


@dataclass(frozen=True, slots=True)
class Orders:
    """What a node is told."""

    answer: Answer | None
    round: int = 0
    granted: int = 0
    give_back: bool = False
    """Permits that are not taken go back."""
    ending: bool = False
    refused: str = ""
    """Why the node is not wanted."""
    addresses: bytes = b""
    """How many nodes use each of them."""
    owners: Mapping[int, str] = field(default_factory=dict)
    """The map: whose each tablet is."""
    peers: Mapping[str, Any] = field(default_factory=dict)
    """The actors of nodes."""
    members: int = 0
    """``Registrar.members``."""
    steering: Steering = Steering()  # noqa: RUF009 - frozen
    """What is asked of the crawl (fyke.crawl.run.steering)."""


@dataclass(frozen=True, slots=True)
class Final:
    """What a node tells at its end."""

    statuses: tuple[AgentStatus, ...]
    failed: Mapping[str, str]
    """Seeds of its tablets that could not be had, each with its reason."""
    whole: bool
    """The depot has everything of its tablets."""
    cpu: float
    """Seconds that its processes took."""
    has_room: bool = True
