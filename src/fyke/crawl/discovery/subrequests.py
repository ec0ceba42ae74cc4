"""What rendered pages ask for, by the crawl's rules, robots.txt and gap of each host; scripts are remembered."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from fyke.browser.values import REQUISITES, Asked, Refusal
from fyke.crawl.politeness.permissions import Permissions
from fyke.crawl.politeness.rules import Rules
from fyke.crawl.queue.queues import Queues
from fyke.errors import UrlError
from fyke.interfaces import Clock
from fyke.limits import note
from fyke.store import Tablet
from fyke.url import Url
from fyke.values import Drop, Exchange, Failed, Fetched, Moved, Outcome, Request

CACHED = 64_000_000
"""Bytes of scripts (and images, where they are wanted) that pages of a site share."""
FRESH = 3600.0
"""Seconds that one of them is used."""
MAX_HOPS = 5
_REMEMBERED = 20_000  # hosts


class SubRequests:
    """What the pages of an agent ask for: by the rules, robots.txt and gap of each host; scripts are remembered."""

    def __init__(
        self,
        queues: Queues,
        rules: Rules,
        permissions: Permissions,
        fetch: Callable[[Request], Awaitable[Outcome]],
        clock: Clock,
    ) -> None:
        self.clock = clock
        self._queues, self._rules, self._permissions, self._fetch = queues, rules, permissions, fetch
        self._turns: OrderedDict[str, asyncio.Lock] = OrderedDict()
        self._last: OrderedDict[str, float] = OrderedDict()
        self._cache: OrderedDict[str, tuple[float, Exchange]] = OrderedDict()
        self._size = 0

    def remembered(self, href: str) -> Exchange | None:
        """What was had lately of what pages share."""
        found = self._cache.get(href)
        if found is None or found[0] < self.clock.now():
            return None
        self._cache.move_to_end(href)
        return found[1]

    def remember(self, href: str, outcome: Outcome) -> None:
        """Let the next pages have it."""
        exchange = outcome.exchange
        if not isinstance(outcome, Fetched) or exchange is None or exchange.private or exchange.incomplete:
            return
        before = self._cache.pop(href, None)
        self._cache[href] = (self.clock.now() + FRESH, exchange)
        self._size += len(exchange.body) - (len(before[1].body) if before is not None else 0)
        while self._size > CACHED:
            self._size -= len(self._cache.popitem(last=False)[1][1].body)

    def refuses(self, url: Url) -> str:
        """Why ``url`` is not fetched, by the rules of the crawl."""
        if url.scheme not in {"http", "https"}:
            return str(Drop.SCHEME)
        for refusal in (self._rules.refuses, *self._rules.refusals):
            if why := refusal(url):
                return str(why)
        return ""

    async def contact(self, request: Request) -> Outcome | Refusal:
        """Fetch once the host's robots.txt allows it and its gap is over; contacts of a host come one by one."""
        url = request.url
        turn = self._turns.setdefault(url.host, asyncio.Lock())
        _bound(self._turns)
        async with turn:
            permission = self._permissions.known(url, self._tablet, self.clock.now())
            if permission is None:
                asked = await self._permissions.ask(url, self._ask)
                permission = self._permissions.heard(url, asked, self.clock.now())
                self._last[url.host] = self.clock.now()
            if not permission.allows(url):
                return Refusal(str(Drop.ROBOTS))
            wait = self._last.get(url.host, 0.0) + permission.delay - self.clock.now()
            if permission.delay and wait > 0:
                await self.clock.sleep(wait)
            try:
                return await self._fetch(request)
            finally:
                self._last[url.host] = self.clock.now()
                _bound(self._last)

    def came(self, url: Url, when: float) -> None:
        """Note a contact of the crawl's own."""
        self._last[url.host] = when

    async def _ask(self, request: Request, *, waits: bool) -> Outcome:
        return await self._fetch(request)

    def _tablet(self, url: Url) -> Tablet | None:
        number = self._queues.tablet_of(url)
        return self._queues.store.tablet(number) if number in self._queues.store.owned else None


class Serving:
    """Answers the requests of one page; the first is its own, which has come already."""

    def __init__(self, site: SubRequests, page: Fetched) -> None:
        self.came: list[Outcome] = []
        """What its requests came to."""
        self.asked = 0
        """Requests that were sent for it."""
        self.last = (page.exchange.started, page.exchange.finished)
        """When its host was asked last, and answered."""
        self._site, self._page = site, page
        self._first = True
        self._tasks: set[asyncio.Task[object]] = set()
        site.came(page.url, page.exchange.finished)

    async def end(self) -> None:
        """Ask for nothing any more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def __call__(self, asked: Asked) -> Exchange | Refusal:
        """See ``browser.values.Serve``."""
        if self._first:
            self._first = False
            return self._page.exchange
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            return await self._serve(asked)
        finally:
            self._tasks.discard(task)

    async def _serve(self, asked: Asked) -> Exchange | Refusal:
        try:
            url = Url.parse(asked.url)
        except UrlError:
            return Refusal(str(Drop.INVALID))
        shared = asked.kind == "script" or asked.kind in REQUISITES
        if shared and (known := self._site.remembered(url.href)) is not None:
            return known
        outcome = await self._follow(url, asked)
        if isinstance(outcome, Refusal):
            return outcome
        if shared:
            self._site.remember(url.href, outcome)
        if isinstance(outcome, Failed) and outcome.exchange is None:
            return Refusal(str(outcome.reason))
        assert outcome.exchange is not None
        return outcome.exchange

    async def _follow(self, url: Url, asked: Asked) -> Outcome | Refusal:
        """Fetch over redirects, each by the rules of its host."""
        for _ in range(MAX_HOPS):
            if why := self._site.refuses(url):
                return Refusal(why)
            outcome = await self._site.contact(Request(url, headers=asked.headers))
            if isinstance(outcome, Refusal):
                return outcome
            self.asked += 1
            self.came.append(outcome)
            if url.host == self._page.url.host:
                now, exchange = self._site.clock.now(), outcome.exchange
                self.last = (exchange.started, exchange.finished) if exchange is not None else (now, now)
            if not isinstance(outcome, Moved):
                return outcome
            url = outcome.target
        note("subrequest-redirects")
        return Refusal(str(Drop.REDIRECTS))


def _bound(table: OrderedDict[str, asyncio.Lock] | OrderedDict[str, float]) -> None:
    while len(table) > _REMEMBERED:
        table.popitem(last=False)
