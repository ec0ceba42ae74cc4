"""Names to addresses: aiodns with a cache that respects TTLs, remembers failures, and can be filled ahead.

DNS is the classic bottleneck of a crawler: a host is looked up once per lifetime however many of its pages are
fetched, and ``prefetch`` starts the look-up of hosts that are about to be contacted.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice

import aiodns

from fyke.interfaces import Clock
from fyke.limits import note

MIN_TTL = 60.0
"""Shorter lifetimes are for load balancing, which a polite crawler does not need."""
MAX_TTL = 86_400.0
NEGATIVE_TTL = 20.0
"""How long a name that does not exist is believed not to; how often it is asked for again is the crawl's decision."""
FAILURE_TTL = 5.0
"""How long a resolver that did not answer is left alone."""
LATELY = 10.0
"""Seconds for which an answer about any name speaks for the resolver, and its silence against it."""
MAX_ADDRESSES = 16
"""Addresses of one host that are kept: two are tried, and an answer may hold thousands."""
MAX_ENTRIES = 100_000
"""About 30 MB of cache at most."""
AT_ONCE = 32
"""Names that are asked for at once, each by two questions: a small resolver (dnsmasq, a router) takes 150 and drops the
rest, which would be lost hosts. With answers in 50 ms that is 640 new hosts a second."""

_NEVER = float("inf")
_NO_SUCH_NAME = frozenset({aiodns.error.ARES_ENOTFOUND, aiodns.error.ARES_ENODATA, aiodns.error.ARES_EBADNAME})


@dataclass(frozen=True, slots=True)
class Resolution:
    """The addresses of a host until a time; none means that it has none, for ``detail``."""

    addresses: tuple[str, ...]
    expires: float
    detail: str = ""
    no_such_name: bool = False
    """A name server says so; else nobody could be asked."""
    resolver_silent: bool = False
    """No name at all could be resolved lately: that says nothing of this one."""


class Resolver:
    """Looks hosts up, each at most once at a time. Bound to the loop that first uses it."""

    def __init__(
        self,
        clock: Clock,
        fixed: Mapping[str, str] | None = None,
        timeout: float = 5.0,
        elsewhere: Callable[[str], bool] = lambda host: False,
    ) -> None:
        """``fixed`` maps host names to addresses that are used instead of asking (``--resolve``).

        ``elsewhere(host)`` tells which names a proxy resolves: their address is the empty one.
        """
        self._elsewhere = elsewhere
        self._clock = clock
        self._fixed = dict(fixed or {})
        self._timeout = timeout
        self._cache: OrderedDict[str, Resolution] = OrderedDict()
        self._unfit: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._asking: dict[str, asyncio.Task[Resolution]] = {}
        self._free = asyncio.Semaphore(AT_ONCE)
        self._good, self._heard, self._deaf = "", 0.0, 0.0  # what could be resolved, when; when that could not be
        self._probing = asyncio.Lock()
        self._aiodns: aiodns.DNSResolver | None = None

    def known(self, host: str) -> Resolution | None:
        """Return what is known of ``host`` without asking anybody: fixed, literal or cached."""
        cached = self._cache.get(host)
        if cached is not None:
            return cached if cached.expires == _NEVER or cached.expires > self._clock.now() else None
        if host in self._fixed:
            return self._keep(host, Resolution((self._fixed[host],), _NEVER))
        literal = host.strip("[]")
        try:
            ipaddress.ip_address(literal)
        except ValueError:
            return Resolution(("",), _NEVER) if self._elsewhere(host) else None
        return self._keep(host, Resolution((literal,), _NEVER))

    def address(self, host: str) -> str | None:
        """The address at which ``host`` would be contacted, if it is known."""
        known = self.known(host)
        return known.addresses[0] or None if known is not None and known.addresses else None

    def unfit(self, host: str, address: str) -> None:
        """Note that ``host`` could not be reached at ``address``: its others are tried first from now on."""
        self._unfit[host, address] = None
        self._unfit.move_to_end((host, address))
        if len(self._unfit) > MAX_ENTRIES:
            self._unfit.popitem(last=False)
        cached = self._cache.get(host)
        if cached is not None:
            self._cache[host] = replace(cached, addresses=self._in_order(host, cached.addresses))

    def fit(self, host: str, address: str) -> None:
        """Note that ``host`` was reached at ``address``."""
        if self._unfit:
            self._unfit.pop((host, address), None)

    def _in_order(self, host: str, addresses: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(addresses, key=lambda address: (host, address) in self._unfit))

    async def resolve(self, host: str) -> Resolution:
        """Return the addresses of ``host``; never raises for what a name server does."""
        found = self.known(host)
        if found is not None:
            return found
        return await asyncio.shield(self._ask(host))

    def prefetch(self, host: str) -> None:
        """Begin to look ``host`` up unless it is known."""
        if self.known(host) is None:
            self._ask(host)

    async def close(self) -> None:
        """End what is being asked and free the sockets."""
        for task in self._asking.values():
            task.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)
        if self._aiodns is not None:
            await self._aiodns.close()
            self._aiodns = None

    def _ask(self, host: str) -> asyncio.Task[Resolution]:
        task = self._asking.get(host)
        if task is None:
            task = self._asking[host] = asyncio.create_task(self._look_up(host))
            task.add_done_callback(lambda _: self._asking.pop(host, None))
        return task

    async def _look_up(self, host: str) -> Resolution:
        if self._aiodns is None:
            self._aiodns = aiodns.DNSResolver(timeout=self._timeout, tries=2)
        try:
            async with self._free:
                answer = await self._aiodns.getaddrinfo(host)
        except aiodns.error.DNSError as error:
            code, message = (*error.args, "")[:2]
            gone = code in _NO_SUCH_NAME
            silent = not gone and await self._is_silent()
            expires = self._clock.now() + (NEGATIVE_TTL if gone else FAILURE_TTL)
            return self._keep(host, Resolution((), expires, str(message), gone, silent))
        # IPv4 first: every server that has IPv6 has it too, and fewer routes to it are broken.
        nodes = sorted(answer.nodes, key=lambda node: node.family)
        told = dict.fromkeys(_text(node.addr[0]) for node in nodes)
        if len(told) > MAX_ADDRESSES:
            note("addresses")
        addresses = self._in_order(host, islice(told, MAX_ADDRESSES))
        ttl = min(max(min((node.ttl for node in nodes), default=0), MIN_TTL), MAX_TTL)
        self._good, self._heard = host, self._clock.now()
        expires = self._heard + ttl
        return self._keep(host, Resolution(addresses, expires, "" if addresses else "no address", not addresses))

    async def _is_silent(self) -> bool:
        """Whether no name can be resolved just now: one that could be is asked for again, past the library's cache."""
        async with self._probing:
            now = self._clock.now()
            if not self._good or now - self._heard < LATELY or now - self._deaf < LATELY:
                return now - self._heard >= LATELY
            probe = aiodns.DNSResolver(timeout=self._timeout, tries=1)
            try:
                await probe.getaddrinfo(self._good)
            except aiodns.error.DNSError as error:
                if error.args[0] not in _NO_SUCH_NAME:
                    self._deaf = self._clock.now()
                    return True
            finally:
                await probe.close()
            self._heard = self._clock.now()
            return False

    def _keep(self, host: str, resolution: Resolution) -> Resolution:
        self._cache[host] = resolution
        self._cache.move_to_end(host)
        if len(self._cache) > MAX_ENTRIES:
            self._cache.popitem(last=False)
        return resolution


def _text(address: str | bytes) -> str:
    return address.decode() if isinstance(address, bytes) else address
