"""What contacts are made with, and by which rules: transport, permissions, gate, names, limits, a user's hooks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from fyke.clock import LoopLag
from fyke.crawl.hooks import Hook
from fyke.crawl.politeness.gate import Gate
from fyke.crawl.politeness.login import Logins
from fyke.crawl.politeness.permissions import Permissions
from fyke.crawl.run.limit import PageLimit, Unlimited
from fyke.crawl.run.runtime import log
from fyke.interfaces import Clock, Names, Transport
from fyke.url import Url
from fyke.values import Failed, Outcome, Reason, Request

Done = Callable[[Outcome], None]
Start = Callable[[Request, Done], object]
"""Begins a fetch; ``done(outcome)`` is called once, later or at once."""


def starting(transport: Transport) -> Start:
    """Return how fetches are begun: by the transport itself where it can, else each as a task."""
    begin: Start | None = getattr(transport, "begin", None)
    if begin is not None:
        return begin
    tasks: set[asyncio.Task[Outcome]] = set()

    def start(request: Request, done: Done) -> None:
        def ended(task: asyncio.Task[Outcome]) -> None:
            tasks.discard(task)
            if task.cancelled():
                return
            if (error := task.exception()) is not None:  # of whoever wrote the transport
                log.error("the transport failed for %s: %r", request.url.href, error)
            done(task.result() if error is None else Failed(request.url, Reason.PROTOCOL, detail=repr(error)))

        task = asyncio.ensure_future(transport.fetch(request))
        tasks.add(task)
        task.add_done_callback(ended)

    return start


@dataclass(slots=True)
class FetchContext:
    """What contacts are made with, and by which rules."""

    transport: Transport
    permissions: Permissions
    clock: Clock
    gate: Gate | None = None
    """Its agent makes one where nobody does."""
    limit: PageLimit = field(default_factory=Unlimited)
    """How many documents are still wanted."""
    names: Names | None = None
    """How hosts are resolved, where they are."""
    quarantined: frozenset[str] = frozenset()
    """URLs that killed an agent."""
    suspects: frozenset[str] = frozenset()
    """URLs that were being read when an agent died: each is read alone."""
    acquit: Callable[[str], None] = lambda href: None
    """Told of a suspect that was read."""
    named: Callable[[Url], None] = lambda url: None
    """Told of a seed that is named while the crawl runs."""
    before_fetch: Hook | None = None
    """A user's, asked before each fetch of a page."""
    logins: Logins | None = None
    """The sites that are logged in to."""
    remember: Callable[[], None] = lambda: None
    """Told each second: what is in memory alone may be written."""
    lag: LoopLag = field(default_factory=LoopLag)
    """Told for how long a tick held the loop, so that this is nobody's slowness."""
    start: Start = field(init=False)

    def __post_init__(self) -> None:
        self.start = starting(self.transport)
