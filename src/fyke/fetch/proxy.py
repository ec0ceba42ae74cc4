"""A proxy between the crawler and the web: HTTP, HTTPS or SOCKS5.

Names are resolved here, and the proxy is asked for an address, so that the veto of private addresses holds as ever;
with HTTP proxies that means a tunnel (CONNECT). A proxy that is trusted to resolve (``socks5h://``, or
``--proxy-resolves``) is asked for names; then only addresses that stand in URLs can be judged.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit, urlunsplit

import pycurl

from fyke.errors import UserError

_KINDS = {
    "http": pycurl.PROXYTYPE_HTTP,
    "https": 2,  # CURLPROXY_HTTPS, which pycurl does not name
    "socks5": pycurl.PROXYTYPE_SOCKS5,
    "socks5h": pycurl.PROXYTYPE_SOCKS5_HOSTNAME,
}
_PORTS = {"http": 3128, "https": 443, "socks5": 1080, "socks5h": 1080}


@dataclass(frozen=True, slots=True)
class Proxy:
    """One proxy."""

    kind: str
    host: str
    port: int
    resolves: bool = False
    """It is trusted to resolve names."""
    login: str = field(default="", repr=False)
    """``user:password``."""
    addresses: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, url: str, resolves: bool = False) -> Proxy:
        """Read ``http://user:password@host:port``. Raises ``UserError`` for what names no proxy that can be reached."""
        try:
            parts = urlsplit(url if "://" in url else f"http://{url}")
            kind, host, port = parts.scheme.lower(), parts.hostname or "", parts.port
        except ValueError:
            kind, host, port = "", "", None
        if kind not in _KINDS or not host:
            raise UserError(
                f"{without_password(url)!r} is no proxy; write http://HOST:PORT, https://…, socks5://… or socks5h://…"
            )
        port = port or _PORTS[kind]
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise UserError(f"the proxy {host} has no address: {error}") from None
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
        return cls(kind, host, port, resolves or kind == "socks5h", login, frozenset(str(f[4][0]) for f in found))

    def attach(self, curl: pycurl.Curl) -> None:
        """Have a handle use it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        curl.setopt(pycurl.PROXY, host)
        curl.setopt(pycurl.PROXYPORT, self.port)
        curl.setopt(pycurl.PROXYTYPE, _KINDS[self.kind])
        curl.setopt(pycurl.NOPROXY, "")  # else a variable of the environment is asked
        if self.login:
            curl.setopt(pycurl.PROXYUSERPWD, self.login)

    def is_at(self, address: str) -> bool:
        """Whether this is where the proxy is."""
        return address in self.addresses


@dataclass(frozen=True, slots=True)
class Proxies:
    """Through which proxy each host is asked."""

    usual: Proxy | None = None
    hosts: Mapping[str, Proxy | None] = field(default_factory=dict)
    """Those of single hosts; None: directly."""

    def of(self, host: str) -> Proxy | None:
        """The proxy of a host."""
        return self.hosts.get(host, self.usual)

    def resolve(self, host: str) -> bool:
        """Whether the name of a host is the proxy's business."""
        proxy = self.of(host)
        return proxy is not None and proxy.resolves


def without_password(url: str) -> str:
    """Return the URL of a proxy as it may be shown."""
    try:
        parts = urlsplit(url)
        if not parts.username:
            return url
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit(parts._replace(netloc=f"{parts.username}@{host}"))
    except ValueError:
        return url.rpartition("@")[2]


def environment_proxy() -> str:
    """Return what the variables of the environment say. Raises ``UserError`` where they say nothing."""
    for name in ("https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY"):  # HTTP_PROXY may be a request's
        if value := os.environ.get(name):
            return value
    raise UserError("--proxy env: none of https_proxy, http_proxy and all_proxy is set")
