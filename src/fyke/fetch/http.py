"""HTTP: hundreds of fetches at once over pycurl, one value out for each request.

A fetch is one hop: redirects come back as ``Moved``, so that each passes through scope, robots and politeness
like any other URL. Names are resolved by ``fetch.dns``; the address is judged before connecting and again as
libcurl opens the socket. Bodies are kept to a cap while they arrive, and decoded under the same cap. Heads are
kept byte for byte, but for secrets. Cookies and credentials are those of ``fetch.sessions``, a proxy is that of
``fetch.proxy``: variables of the environment and netrc are not used.

Deadlines are ours, not libcurl's: they count the time that a server had, which is what passed less what our own loop
lost (``LoopLag``), and are judged after what has come was read. What dies while we were away is asked for again.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import pycurl

from fyke import __version__
from fyke.clock import LoopLag
from fyke.config import option
from fyke.fetch.address import AddressPolicy
from fyke.fetch.dns import Resolution, Resolver
from fyke.fetch.driver import Driver
from fyke.fetch.proxy import Proxies, Proxy
from fyke.fetch.sessions import Sessions
from fyke.fetch.transfer import Ended, Transfer
from fyke.interfaces import Clock
from fyke.values import Failed, Outcome, Reason, Request

T = TypeVar("T")

USER_AGENT = f"fyke/{__version__}"
"""Names fyke and its version; who it is that crawls, the user says (``--contact``)."""


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """Limits of one fetch; each bounds what a hostile server can cost."""

    user_agent: str = option(USER_AGENT, "How the crawler names itself to servers.")
    connect_timeout: float = option(10.0, "Seconds to connect, TLS included; healthy servers need under two.")
    stall_timeout: float = option(20.0, "Seconds at under 50 bytes/s, waiting for the first byte included.")
    fetch_timeout: float = option(120.0, "Seconds for a whole document.")
    max_body: int = option(10_000_000, "Bytes of a body that are kept; the rest is cut off and marked.")
    ca_file: str = option("", "Certificate authorities to trust instead of the system's.")
    tls: Literal["verify", "accept"] = option(
        "verify", "accept: take any certificate; rows tell what was wrong with it."
    )


STALL_SPEED = 50
"""Bytes a second: slower than this is a tarpit, not a server."""
_SWEEP = 0.2  # seconds between two looks at the deadlines
_HELD = 0.1  # seconds: after a hold of the loop that long, sockets are read before deadlines are judged
_AWAY = 1.0  # seconds that we lost: a fetch that fails after that is made again
_REPEATS = 2
_MAX_REMEMBERED = 10_000
_HTTP2_ERRORS = frozenset({16, 92})  # CURLE_HTTP2, CURLE_HTTP2_STREAM
_NETWORK = frozenset({Reason.CONNECT, Reason.TIMEOUT, Reason.RESET, Reason.DNS})


class _Fetch:
    """A request on its way: its addresses that are still to be tried, and whom to tell."""

    __slots__ = ("address", "addresses", "done", "host", "lost", "repeats", "request", "started", "transfer")

    def __init__(self, request: Request, done: Callable[[Outcome], None], lost: float) -> None:
        self.request, self.done, self.lost = request, done, lost
        self.host = request.url.host
        self.repeats = 0
        self.addresses: list[str] = []
        self.address = ""
        self.started = 0.0
        self.transfer: Transfer | None = None


class HttpTransport:
    """The web, as a ``Transport``. Use it on one event loop; ``close`` frees its connections.

    ::

        begin ─▶ resolve ─▶ veto ─▶ connect, transfer ─▶ done
                    ▲                   │  └ not connected: the second address
                    └── we were away ◀──┘
    """

    def __init__(
        self,
        settings: FetchSettings,
        resolver: Resolver,
        veto: AddressPolicy,
        clock: Clock,
        sessions: Sessions | None = None,
        proxies: Proxies | None = None,
    ) -> None:
        self.sessions = sessions or Sessions()
        """What goes with requests, and the cookies that came."""
        self._proxies = proxies or Proxies()
        self._settings = settings
        self._resolver = resolver
        self._veto = veto
        self._clock = clock
        self._driver: Driver | None = None
        self._idle: defaultdict[Proxy | None, list[Transfer]] = defaultdict(list)
        self._active: dict[pycurl.Curl, _Fetch] = {}
        self._resolving: set[asyncio.Task[Any]] = set()
        self._plain: OrderedDict[str, None] = OrderedDict()  # hosts whose HTTP/2 failed
        self._accepted: OrderedDict[str, str] = OrderedDict()  # hosts whose certificate is accepted, and what is wrong
        self._sweep_in = _SWEEP
        self.lag = LoopLag(self._on_tick)
        self.on_sent: Callable[[str], None] = lambda host: None
        """Told when a request to a host is really sent: some time after it was begun, where the machine is busy."""

    async def fetch(self, request: Request) -> Outcome:
        """Return what the web did with ``request``; see ``interfaces.Transport``."""
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        under_way = self.begin(request, lambda outcome: None if future.done() else future.set_result(outcome))
        try:
            return await future
        except asyncio.CancelledError:
            self._abandon(under_way)
            raise

    def begin(self, request: Request, done: Callable[[Outcome], None]) -> _Fetch:
        """Begin to fetch: ``done(outcome)`` is called once, from the loop, or at once where nobody need be asked."""
        self.lag.start()
        under_way = _Fetch(request, done, self.lag.lost)
        self._resolve(under_way)
        return under_way

    async def close(self) -> None:
        """Close every connection; what is in flight is forgotten."""
        self.lag.stop()
        for task in self._resolving:
            task.cancel()
        await asyncio.gather(*self._resolving, return_exceptions=True)
        for under_way in list(self._active.values()):
            self._abandon(under_way)
        if self._driver is not None:
            self._driver.close()
        await self._resolver.close()
        self._idle.clear()

    def _resolve(self, under_way: _Fetch) -> None:
        known = self._resolver.known(under_way.host)
        if known is not None:
            self._resolved(under_way, known)
            return
        task = asyncio.get_running_loop().create_task(self._resolver.resolve(under_way.host))
        self._resolving.add(task)

        def resolved(task: asyncio.Task[Resolution]) -> None:
            self._resolving.discard(task)
            if not task.cancelled():
                self._resolved(under_way, task.result())

        task.add_done_callback(resolved)

    def _resolved(self, under_way: _Fetch, resolution: Resolution) -> None:
        url, host = under_way.request.url, under_way.host
        if not resolution.addresses:
            failed = Failed(url, Reason.DNS, detail=resolution.detail, certain=resolution.no_such_name)
            self._end(under_way, failed)
            return
        if resolution.addresses == ("",):  # its proxy knows
            under_way.addresses = [""]
        else:
            under_way.addresses = self._veto.choose(host, url.port, resolution.addresses)[:2]
        if under_way.addresses:
            self._connect(under_way)
        else:
            failed = Failed(url, Reason.PRIVATE_ADDRESS, detail=f"{host} is {resolution.addresses[0]}")
            self._end(under_way, failed)

    def _connect(self, under_way: _Fetch) -> None:
        request, host, under_way.address = under_way.request, under_way.host, under_way.addresses.pop(0)
        proxy = self._proxies.of(host) if self._proxies.hosts else self._proxies.usual
        if self._driver is None:
            self._driver = Driver(self._finished)
        idle = self._idle[proxy]
        transfer = idle.pop() if idle else self._transfer(proxy, self._driver)
        try:
            transfer.begin(
                request,
                under_way.address,
                self.lag.lost,
                plain=host in self._plain,
                accepted=self._accepted.get(host, "") if self._accepted else "",
            )
        except (pycurl.error, UnicodeError, ValueError) as error:  # a URL or header that libcurl does not take
            self._end(under_way, Failed(request.url, Reason.PROTOCOL, detail=str(error)))
            return
        under_way.started, under_way.transfer = self._clock.now(), transfer
        self._active[transfer.curl] = under_way
        self._driver.add(transfer.curl)

    def _transfer(self, proxy: Proxy | None, driver: Driver) -> Transfer:
        return Transfer(self._settings, self._veto, self.on_sent, self.sessions, proxy, driver.opens)

    def _finished(self, curl: pycurl.Curl, code: int, message: str) -> None:
        """A transfer has ended: by itself, or by a deadline."""
        under_way = self._active.pop(curl)
        transfer, request, address = under_way.transfer, under_way.request, under_way.address
        assert transfer is not None
        host, finished = under_way.host, self._clock.now()
        if code in _HTTP2_ERRORS:
            _remember(self._plain, host, None)
        if code == pycurl.E_PEER_FAILED_VERIFICATION and self._settings.tls == "accept" and host not in self._accepted:
            _remember(self._accepted, host, message or "the certificate is wrong")
            self._idle[transfer.proxy].append(transfer)
            under_way.addresses.insert(0, address)
            self._connect(under_way)
            return
        lost = self.lag.lost - transfer.lost  # our own time is nobody's slowness
        result = transfer.result(request, address, code, message, min(under_way.started + lost, finished), finished)
        self._idle[transfer.proxy].append(transfer)
        if not isinstance(result, Failed) or result.reason is not Reason.CONNECT:
            self._resolver.fit(host, address)
        else:
            self._resolver.unfit(host, address)
            if under_way.addresses:
                self._connect(under_way)
                return
        self._end(under_way, result)

    def _end(self, under_way: _Fetch, result: Outcome) -> None:
        """Tell what came of it; what died while we were away is made again."""
        lost = self.lag.lost - under_way.lost
        away = isinstance(result, Failed) and result.reason in _NETWORK and lost > _AWAY
        if away and under_way.repeats < _REPEATS:
            under_way.repeats += 1
            under_way.lost = self.lag.lost
            self._resolve(under_way)
        else:
            under_way.done(result)

    def _abandon(self, under_way: _Fetch) -> None:
        under_way.done = lambda outcome: None
        under_way.repeats = _REPEATS
        transfer = under_way.transfer
        if transfer is not None and self._active.pop(transfer.curl, None) is not None and self._driver is not None:
            self._driver.remove(transfer.curl)
            transfer.curl.close()

    def _on_tick(self, late: float) -> None:
        self._sweep_in -= self.lag.TICK
        if late > _HELD:
            self._sweep_in = _SWEEP  # what has come meanwhile is read first
        if self._sweep_in > 0:
            return
        self._sweep_in = _SWEEP
        for curl, under_way in list(self._active.items()):
            transfer = under_way.transfer
            assert transfer is not None
            transfer.ended = self._judge(transfer)
            if transfer.ended is not None and self._driver is not None:
                self._driver.remove(curl)
                self._finished(curl, 0, "")

    def _judge(self, transfer: Transfer) -> Ended | None:
        """Return which deadline a transfer has missed, by the time that the server had."""
        settings, had = self._settings, transfer.elapsed(self.lag.lost)
        if had > settings.connect_timeout and not transfer.is_connected:
            return Ended.CONNECT
        if had > settings.fetch_timeout:
            return Ended.TIME
        if had - transfer.mark_time >= settings.stall_timeout:
            if transfer.received - transfer.mark < STALL_SPEED * settings.stall_timeout:
                return Ended.STALL
            transfer.mark, transfer.mark_time = transfer.received, had
        return None


def _remember(table: OrderedDict[str, T], host: str, what: T) -> None:
    table[host] = what
    if len(table) > _MAX_REMEMBERED:
        table.popitem(last=False)
