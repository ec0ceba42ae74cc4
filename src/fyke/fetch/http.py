"""HTTP: hundreds of fetches at once over pycurl, one value out for each request.

A fetch is one hop: redirects come back as ``Moved``, so that each passes through scope, robots and politeness
like any other URL. Names are resolved by ``fetch.dns``; the address is judged before connecting and again as
libcurl opens the socket. Bodies are kept to a cap while they arrive, and decoded under the same cap. Heads are
kept byte for byte. Proxy variables, netrc, cookies and authentication are not used.

Deadlines are ours, not libcurl's: they count the time that a server had, which is what passed less what our own loop
lost (``LoopLag``), and are judged after what has come was read. What dies while we were away is asked for again.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass

import pycurl

from fyke.clock import LoopLag
from fyke.config import option
from fyke.fetch.address import Veto
from fyke.fetch.dns import Resolver
from fyke.fetch.transfer import Ended, Transfer
from fyke.interfaces import Clock
from fyke.values import Failed, Outcome, Reason, Request

USER_AGENT = "fyke/0.1 (+https://fyke.example/crawler)"
"""Names fyke and the page that explains it to the owners of sites."""


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """Limits of one fetch; each bounds what a hostile server can cost."""

    user_agent: str = option(USER_AGENT, "How the crawler names itself to servers.")
    connect_timeout: float = option(10.0, "Seconds to connect, TLS included; healthy servers need under two.")
    stall_timeout: float = option(20.0, "Seconds at under 50 bytes/s, waiting for the first byte included.")
    fetch_timeout: float = option(120.0, "Seconds for a whole document.")
    max_body: int = option(10_000_000, "Bytes of a body that are kept; the rest is cut off and marked.")
    ca_file: str = option("", "Certificate authorities to trust instead of the system's.")


STALL_SPEED = 50
"""Bytes a second: slower than this is a tarpit, not a server."""
_SWEEP = 0.2  # seconds between two looks at the deadlines
_HELD = 0.1  # seconds: after a hold of the loop that long, sockets are read before deadlines are judged
_AWAY = 1.0  # seconds that we lost: a fetch that fails after that is made again
_REPEATS = 2
_MAX_REMEMBERED = 10_000
_HTTP2_ERRORS = frozenset({16, 92})  # CURLE_HTTP2, CURLE_HTTP2_STREAM
_NETWORK = frozenset({Reason.CONNECT, Reason.TIMEOUT, Reason.RESET, Reason.DNS})


class HttpTransport:
    """The web, as a ``Transport``. Use it on one event loop; ``close`` frees its connections."""

    def __init__(self, settings: FetchSettings, resolver: Resolver, veto: Veto, clock: Clock) -> None:
        self._settings = settings
        self._resolver = resolver
        self._veto = veto
        self._clock = clock
        self._multi = pycurl.AsyncCurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, 1024)
        self._idle: list[Transfer] = []
        self._active: set[Transfer] = set()
        self._plain: OrderedDict[str, None] = OrderedDict()  # hosts whose HTTP/2 failed
        self._sweep_in = _SWEEP
        self.lag = LoopLag(self._on_tick)

    async def fetch(self, request: Request) -> Outcome:
        """Return what the web did with ``request``; see ``interfaces.Transport``."""
        self.lag.start()
        for _ in range(_REPEATS):
            lost = self.lag.lost
            result = await self._fetch_once(request)
            if not (isinstance(result, Failed) and result.reason in _NETWORK and self.lag.lost - lost > _AWAY):
                return result
        return await self._fetch_once(request)

    async def close(self) -> None:
        """Close every connection; what is in flight is cancelled."""
        self.lag.stop()
        await self._multi.aclose()
        await self._resolver.close()
        self._idle.clear()

    async def _fetch_once(self, request: Request) -> Outcome:
        url = request.url
        host, port = url.host, url.port
        resolution = self._resolver.known(host) or await self._resolver.resolve(host)
        if not resolution.addresses:
            return Failed(url, Reason.DNS, detail=resolution.detail, certain=resolution.no_such_name)
        permitted = self._veto.choose(host, port, resolution.addresses)
        if not permitted:
            return Failed(url, Reason.PRIVATE_ADDRESS, detail=f"{host} is {resolution.addresses[0]}")
        result: Outcome = Failed(url, Reason.CONNECT)
        for address in permitted[:2]:
            result = await self._fetch_from(request, address)
            if not isinstance(result, Failed) or result.reason is not Reason.CONNECT:
                self._resolver.fit(host, address)
                return result
            self._resolver.unfit(host, address)
        return result

    async def _fetch_from(self, request: Request, address: str) -> Outcome:
        transfer = self._idle.pop() if self._idle else Transfer(self._settings, self._veto)
        host = request.url.host
        try:
            transfer.begin(request, address, self.lag.lost, plain=host in self._plain)
        except (pycurl.error, UnicodeError, ValueError) as error:  # a URL or header that libcurl does not take
            return Failed(request.url, Reason.PROTOCOL, detail=str(error))
        started = self._clock.now()
        code, message = 0, ""
        self._active.add(transfer)
        try:
            await self._multi.add_handle(transfer.curl)
        except pycurl.error as error:
            code, message = error.args[0], str(error.args[1])
        except asyncio.CancelledError:
            if transfer.ended is None:
                transfer.curl.close()
                raise
        finally:
            self._active.discard(transfer)
        finished = self._clock.now()
        if code in _HTTP2_ERRORS:
            self._plain[host] = None
            if len(self._plain) > _MAX_REMEMBERED:
                self._plain.popitem(last=False)
        lost = self.lag.lost - transfer.lost  # our own time is nobody's slowness
        result = transfer.result(request, address, code, message, min(started + lost, finished), finished)
        self._idle.append(transfer)
        return result

    def _on_tick(self, late: float) -> None:
        self._sweep_in -= self.lag.TICK
        if late > _HELD:
            self._sweep_in = _SWEEP  # what has come meanwhile is read first
        if self._sweep_in > 0:
            return
        self._sweep_in = _SWEEP
        for transfer in list(self._active):
            transfer.ended = self._judge(transfer)
            if transfer.ended is not None:
                self._multi.remove_handle(transfer.curl)  # cancels the future that ``_fetch_from`` awaits

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
