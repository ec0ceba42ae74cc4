"""What an agent is told when it is made, beside its store and its rules: how it works, and to whom it is tied."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from fyke.crawl.duplicates.near import Ask
from fyke.crawl.mail.delivery import Send
from fyke.crawl.order.order import Order
from fyke.crawl.order.reserve import Reserve
from fyke.crawl.revisit.budget import RevisitSettings
from fyke.interfaces import Prioritizer
from fyke.reading.page import Page

if TYPE_CHECKING:
    from fyke.crawl.agent import Agent
    from fyke.crawl.run.archiving import WarcDir

SYNC_EVERY = 1.0
"""Seconds between syncs of the log: what a power cut can lose."""


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """How an agent works."""

    concurrency: int = 256
    """Visits under way at once, at most."""
    patience: float = 60.0
    """Seconds that it waits for sites which ask for peace, or cannot be had, before it calls the crawl done."""
    prioritizer: Prioritizer | None = None
    """Which URL of a host first, where there is no ``order``."""
    order: Callable[[Reserve], Order] | None = None
    """Makes the order in which pages of all hosts are wanted."""
    revisits: RevisitSettings | None = None
    """With it the crawl is continuous: it never ends by itself."""
    requisites: bool = False
    """What pages need to be shown is fetched, too."""
    form_requests: int = 0
    """Requests of one form at most, where what is behind forms is asked for."""
    post_forms: bool = False
    """Forms that are posted are sent, too."""
    beat_every: float = SYNC_EVERY


class Follow(Protocol):
    """Somebody who takes documents as they are stored, at a pace of their own."""

    wake: Callable[[], object]
    """Tells the agent that they have caught up, or want no more; it sets this."""

    def take(self, pages: list[Page]) -> None:
        """Take documents, which are written."""
        ...

    @property
    def behind(self) -> bool:
        """Whether so many wait to be looked at that no more should come."""
        ...

    @property
    def over(self) -> bool:
        """Whether no more are wanted: the crawl stops."""
        ...


@dataclass(frozen=True, slots=True)
class AgentCallbacks:
    """Who runs an agent, and who runs beside it."""

    beat: Callable[[Agent], bool] = lambda agent: True
    """Called about once a second; where it returns False the agent stops cleanly."""
    work_on: Callable[[Iterable[str]], None] = lambda hrefs: None
    """Told what is about to be read, so that what kills an agent is known."""
    send: Send | None = None
    """``send(tablet, letters)`` brings letters to the agent of a tablet that is not ours and returns once they are
    applied; with it the agent is one of several, and runs until it is told to stop."""
    ask: Ask | None = None
    """The index of near copies."""
    follow: Follow | None = None
    """Takes every document once it is stored."""
    durable: Callable[[float, bool], bool] | None = None
    """``durable(patience, at_once)`` waits at most so many seconds until all that any agent has written is durable, and
    returns whether it is; ``at_once``: somebody has nothing else to do. Without it what is synced is durable. Called in
    a thread."""
    captures: WarcDir | None = None
    """Takes every exchange before anything follows from it."""
