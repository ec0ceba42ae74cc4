"""The seams: small protocols, a value in and a value out, each with one contract suite under tests/.

Every implementation of a seam passes the seam's suite, fakes included.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from fyke.values import Candidates, Outcome, Request


class Clock(Protocol):
    """Where time comes from (fyke.clock: system and virtual)."""

    def now(self) -> float:
        """Seconds since 1970-01-01T00:00:00Z; never decreases within a process."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return once ``now`` has grown by ``seconds``; other tasks go on meanwhile."""
        ...


class Transport(Protocol):
    """Where documents come from: HTTP, files, WARC replay, an archive, the synthetic world."""

    async def fetch(self, request: Request) -> Outcome:
        """Return what the web did. Never raises for anything that a server can do."""
        ...


class Resolved(Protocol):
    """The addresses of a host; none where it cannot be reached."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """In the order in which they are tried."""
        ...

    @property
    def detail(self) -> str:
        """Why there are none."""
        ...

    @property
    def no_such_name(self) -> bool:
        """Whether a name server said so; else nobody answered."""
        ...

    @property
    def resolver_silent(self) -> bool:
        """Whether no name at all could be resolved lately, which says nothing of this one."""
        ...


class Names(Protocol):
    """Where the addresses of hosts come from (fyke.fetch.dns)."""

    def known(self, host: str) -> Resolved | None:
        """What is known without asking."""
        ...

    async def resolve(self, host: str) -> Resolved:
        """Ask. Never raises for anything that a name server can do."""
        ...

    def prefetch(self, host: str) -> None:
        """Begin to ask, as the host is about to be contacted."""
        ...


class Prioritizer(Protocol):
    """Which URL first; the crawler and the simulator take the same ones."""

    def priority(self, candidates: Candidates) -> npt.NDArray[np.float64]:
        """Return a score for each candidate: higher first."""
        ...
