"""``fyke.fetch``: one page or a few, now, without a store; robots.txt and the gaps of hosts are kept all the same.

::

    URL ─▶ robots.txt of its site ─▶ gap of its host ─▶ fetch ─┬─ moved: the next URL, by the same rules
                                                               └─ came: read (fyke.reading), a Page

What a site said of robots, and when its host was asked last, is remembered by the process: calls in a row are as polite
as a crawl. What the web does is a value: a page that did not come has an ``error``. The transport is the crawl's own.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from fyke.clock import SystemClock
from fyke.config import build
from fyke.crawl.arrival import contact_of
from fyke.crawl.politeness.identity import identity_of
from fyke.crawl.politeness.rules import BAD_PORTS
from fyke.crawl.run.settings import FETCH_OPTIONS, CrawlSettings
from fyke.errors import UserError
from fyke.fetch.address import AddressPolicy
from fyke.fetch.dns import Resolver
from fyke.fetch.http import HttpTransport
from fyke.formats.http import parse_head
from fyke.frontier.politeness import FRESH, MAX_CRAWL_DELAY, Pace, Politeness, after
from fyke.interfaces import Clock, Transport
from fyke.reading.content import LARGE, make_room
from fyke.reading.page import Page
from fyke.reading.reading import Reader, Reading
from fyke.sites.robots import product_token
from fyke.sites.standing import Permission, Verdict, heard
from fyke.url import Url
from fyke.values import Drop, Failed, Moved, Outcome, Reason, Request, Unchanged
from fyke.workers.conversion import FROM_THE_WEB, convert_source

MAX_REDIRECTS = 10
_ROBOTS_REDIRECTS = 5  # RFC 9309 asks for at least five
_HOSTS_AT_ONCE = 16
_REMEMBERED = 10_000  # hosts and sites

K = TypeVar("K")
V = TypeVar("V")
Waiting = Callable[[str, float], None]


def fetch(url: str, **options: Any) -> Page:
    """Fetch one page, and read it whatever its format: ``.url .status .text .markdown .meta .links``; blocking.

    ``options`` are those settings of a crawl that concern a fetch (``delay``, ``user_agent``, ``max_body``, timeouts,
    ``resolve``, ``allow_private``, ``no_robots``). Redirects are followed, robots.txt is obeyed, requests to one host
    keep their gap. What did not come has an ``error`` and a ``detail``. Raises ``UserError`` for what is no URL.
    """
    return fetch_all([url], settings_of(options))[0]


def settings_of(options: dict[str, Any]) -> CrawlSettings:
    """Return the settings of a fetch. Raises ``ConfigError`` for those that only a crawl has."""
    known = {field.name for field in fields(CrawlSettings)}
    for name in options:
        if name in known and name not in FETCH_OPTIONS:
            raise UserError(f"{name!r} is no setting of one fetch; take one of {', '.join(FETCH_OPTIONS)}")
    return build(CrawlSettings, options, "the options of fetch")


def fetch_all(
    urls: Sequence[str], settings: CrawlSettings, waiting: Waiting = lambda host, seconds: None
) -> list[Page]:
    """Fetch some pages, several hosts at a time, those of one host in turn; return them in the order asked for.

    ``waiting(host, seconds)`` hears of every gap that is kept.
    """
    _ = [parse_url(url) for url in urls]
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run(_fetch_all(urls, settings, waiting))
    with ThreadPoolExecutor(1) as beside:  # in a notebook there is a loop already
        return beside.submit(run, _fetch_all(urls, settings, waiting)).result()


def run(work: Coroutine[Any, Any, V]) -> V:
    """Return what ``work`` does, in a loop of its own.

    As ``asyncio.run``, but that makes a text of what its task returned (it looks at the handler of SIGINT, which names
    the task), and of pages that takes several times their size.
    """
    found: list[V] = []

    async def keep() -> None:
        found.append(await work)

    asyncio.run(keep())
    return found[0]


def parse_url(text: str, what: str = "is not on the web") -> Url:
    """Return the URL of something that can be fetched. Raises ``UserError``: that it ``what``, and why."""
    url = Url.parse(text)
    if url.scheme not in {"http", "https"}:
        raise UserError(f"{text!r} {what}: fyke fetches http and https, not {url.scheme}")
    if url.port in BAD_PORTS:
        raise UserError(f"{text!r} {what}: port {url.port} is another protocol's, and browsers refuse it too")
    return url


def open_transport(urls: Sequence[str], settings: CrawlSettings, clock: Clock) -> HttpTransport:
    """Return what fetches; the hosts of ``urls``, which a person named, may be private. REQUIRES: a loop runs."""
    named = {(url.host, url.port) for url in map(Url.parse, urls)}
    veto = AddressPolicy((host for host, _ in named), settings.allow_private, named)
    identity = identity_of(settings, urls)
    resolver = Resolver(clock, settings.fixed_addresses(), elsewhere=identity.proxies.resolve)
    return HttpTransport(settings.fetch(), resolver, veto, clock, identity.sessions(), identity.proxies)


async def _fetch_all(words: Sequence[str], settings: CrawlSettings, waiting: Waiting) -> list[Page]:
    clock, urls = SystemClock(), [parse_url(word) for word in words]
    transport = open_transport(words, settings, clock)
    fetcher = Fetcher(transport, settings, clock)
    fetcher.waiting = waiting
    by_host: dict[str, list[int]] = {}
    for place, url in enumerate(urls):
        by_host.setdefault(url.host, []).append(place)
    pages: dict[int, Page] = {}
    free = asyncio.Semaphore(_HOSTS_AT_ONCE)

    async def in_turn(places: Sequence[int]) -> None:
        for place in places:
            async with free:
                pages[place] = await fetcher.page(urls[place])

    try:
        await asyncio.gather(*(in_turn(places) for places in by_host.values()))
    finally:
        await transport.close()
    return [pages[place] for place in range(len(urls))]


class Memory:
    """What a process remembers of sites: what they allow, and when their host may be asked again. Threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._permissions: OrderedDict[tuple[str, str], Permission] = OrderedDict()
        self._paces: OrderedDict[str, tuple[Pace, float]] = OrderedDict()

    def permission(self, site: str, agent: str, now: float) -> Permission | None:
        """What holds for a site now; None where it is to be asked."""
        found = self._permissions.get((site, agent))
        return found if found is not None and found.standing.expires > now else None

    def allow(self, site: str, agent: str, permission: Permission) -> None:
        """Remember what a site said."""
        _keep(self._permissions, (site, agent), permission)

    def reserve(self, host: str, delay: float, now: float) -> float:
        """Return for how long to wait before ``host`` is asked, and keep others away until after that."""
        with self._lock:
            pace, due = self._paces.get(host, (FRESH, 0.0))
            start = max(due, now)
            _keep(self._paces, host, (pace, start + max(delay, pace.crawl_delay)))
            return start - now

    def asked(self, host: str, outcome: Outcome, delay: float, now: float) -> None:
        """Note what came of a request."""
        with self._lock:
            pace, due = self._paces.get(host, (FRESH, 0.0))
            rest = after(pace, contact_of(outcome, now, now), Politeness(delay=delay))
            _keep(self._paces, host, (rest.pace, max(rest.due, due)))

    def slow(self, host: str, crawl_delay: float, now: float) -> None:
        """Note the delay that a host's robots.txt asks for."""
        with self._lock:
            pace, due = self._paces.get(host, (FRESH, 0.0))
            delay = min(crawl_delay, MAX_CRAWL_DELAY)
            _keep(self._paces, host, (pace._replace(crawl_delay=delay), max(due, now + delay)))


def _keep(table: OrderedDict[K, V], key: K, value: V) -> None:
    table[key] = value
    table.move_to_end(key)
    if len(table) > _REMEMBERED:
        table.popitem(last=False)


_memory = Memory()


@dataclass(frozen=True, slots=True)
class Refused:
    """What a site does not want us to fetch."""

    url: Url
    detail: str
    exchange: None = None


class Fetcher:
    """Fetches and reads single documents by the rules of a crawl."""

    def __init__(self, transport: Transport, settings: CrawlSettings, clock: Clock, memory: Memory = _memory) -> None:
        self._transport, self._settings, self._clock, self._memory = transport, settings, clock, memory
        self._agent = product_token(settings.fetch().user_agent)
        self._reader = Reader(self._agent, convert=lambda source: convert_source(source, FROM_THE_WEB))
        self.waiting: Waiting = lambda host, seconds: None

    async def page(self, url: Url) -> Page:
        """Return the page at ``url``, or where it leads. Never raises for what the web does."""
        return await self.read(url, *await self.follow(url))

    async def read(self, url: Url, outcome: Outcome | Refused, passed: tuple[str, ...]) -> Page:
        """Return the page that ``follow(url)`` came to."""
        found = Page(outcome.url.href, requested=url.href, redirects=passed, fetched=self._clock.now())
        exchange = outcome.exchange
        if exchange is not None:
            found = replace(found, status=exchange.status, raw=exchange.body, truncated=exchange.truncated)
            found = replace(found, fetched=exchange.started or exchange.finished)
            head = parse_head(exchange.response_head)
            found = replace(found, type=head.media_type, content_type=head.get("content-type"))
        if isinstance(outcome, Refused):
            return replace(found, error=str(Drop.ROBOTS), detail=outcome.detail)
        if isinstance(outcome, Failed):
            return replace(found, error=str(outcome.reason), detail=_why(outcome))
        if isinstance(outcome, Moved):
            return replace(found, error=str(Drop.REDIRECTS), detail=f"more than {MAX_REDIRECTS} redirects in a row")
        assert exchange is not None
        if isinstance(outcome, Unchanged):
            return replace(found, error=str(Reason.PROTOCOL), detail="304 without being asked")
        head = parse_head(exchange.response_head)
        if len(exchange.body) > LARGE:
            await asyncio.to_thread(make_room)
        return _read(found, await asyncio.to_thread(self._reader.read, exchange.body, head, outcome.url))

    async def follow(
        self, url: Url, headers: tuple[tuple[str, str], ...] = ()
    ) -> tuple[Outcome | Refused, tuple[str, ...]]:
        """Fetch ``url`` over redirects, each by the rules of its site; return what came and the addresses before it."""
        passed: list[str] = []
        while True:
            outcome = await self._refusal(url) or await self._ask(Request(url, headers=headers))
            if not isinstance(outcome, Moved) or len(passed) >= MAX_REDIRECTS:
                return outcome, tuple(passed)
            passed.append(url.href)
            url = outcome.target
            if url.scheme not in {"http", "https"} or url.port in BAD_PORTS:
                return Failed(url, Reason.PROTOCOL, detail="a redirect to what is not on the web"), tuple(passed)

    async def _refusal(self, url: Url) -> Refused | Failed | None:
        """Why ``url`` must not be fetched, by its site's robots.txt."""
        if self._settings.no_robots:
            return None
        permission = self._memory.permission(url.site, self._agent, self._clock.now())
        if permission is None:
            outcome = await self._robots(url)
            if isinstance(outcome, Failed) and outcome.exchange is None and outcome.url.site == url.site:
                return replace(outcome, url=url)  # nobody is there: that says more than "robots.txt cannot be had"
            permission = self._judge(url, outcome)
        if permission.standing.verdict is Verdict.DENY:
            said = f"its robots.txt cannot be had (status {permission.standing.status}), so nothing may be fetched now"
            return Refused(url, said)
        if not permission.allows(url):
            return Refused(url, f"its robots.txt does not allow it to {self._agent}")
        return None

    async def _robots(self, url: Url) -> Outcome:
        outcome = await self._ask(Request(url.join("/robots.txt")))
        for _ in range(_ROBOTS_REDIRECTS):
            if not isinstance(outcome, Moved):
                break
            outcome = await self._ask(Request(outcome.target))
        return outcome

    def _judge(self, url: Url, outcome: Outcome) -> Permission:
        now = self._clock.now()
        permission = Permission(heard(None, outcome.exchange, now, self._agent), self._agent)
        self._memory.allow(url.site, self._agent, permission)
        self._memory.slow(url.host, permission.delay, now)
        return permission

    async def _ask(self, request: Request) -> Outcome:
        """Fetch once the host's gap is over."""
        host, delay = request.url.host, self._settings.delay
        wait = self._memory.reserve(host, delay, self._clock.now())
        if wait > 0:
            self.waiting(host, wait)
            await self._clock.sleep(wait)
        outcome = await self._transport.fetch(request)
        if not (isinstance(outcome, Failed) and outcome.exchange is None and outcome.reason in _NOT_ASKED):
            self._memory.asked(host, outcome, delay, self._clock.now())
        return outcome


_NOT_ASKED = frozenset({Reason.DNS, Reason.PRIVATE_ADDRESS})


def _why(failed: Failed) -> str:
    said = failed.detail or (f"status {failed.exchange.status}" if failed.exchange is not None else "")
    if failed.reason is Reason.PRIVATE_ADDRESS:
        said += ", a private address: name it yourself, or allow_private"
    return said


def _read(found: Page, reading: Reading) -> Page:
    document = reading.document
    return replace(
        found,
        error=str(document.failure or ""),
        detail=document.detail,
        type=document.media_type or found.type,
        title=document.title,
        language=document.language,
        text=reading.text,
        meta=document.meta,
        links=reading.links,
        robots=tuple(reading.signals.robots),
        document=None if reading.weights else document,
    )
