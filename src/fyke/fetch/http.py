"""HTTP: hundreds of fetches at once over pycurl, one value out for each request.

A fetch is one hop: redirects come back as ``Moved``, so that each passes through scope, robots and politeness
like any other URL. Names are resolved by ``fetch.dns``; the address is judged before connecting and again as
libcurl opens the socket. Bodies are kept to a cap while they arrive, and decoded under the same cap. Heads are
kept byte for byte. Proxy variables, netrc, cookies and authentication are not used.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from dataclasses import dataclass

import pycurl

from fyke.config import option
from fyke.fetch.address import Veto
from fyke.fetch.dns import Resolver
from fyke.formats.http import outcome, parse_head
from fyke.formats.http_body import decode_content
from fyke.interfaces import Clock
from fyke.values import Exchange, Failed, Outcome, Reason, Request

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


_ACCEPT_ENCODING = "gzip, deflate, br, zstd"
_STALL_SPEED = 50  # bytes per second: slower than this is a tarpit, not a server
_TRUNCATED = frozenset({pycurl.E_PARTIAL_FILE, pycurl.E_WRITE_ERROR})
_REASONS = {
    pycurl.E_COULDNT_RESOLVE_HOST: Reason.DNS,
    pycurl.E_COULDNT_CONNECT: Reason.CONNECT,
    pycurl.E_OPERATION_TIMEDOUT: Reason.TIMEOUT,
    pycurl.E_SSL_CONNECT_ERROR: Reason.TLS,
    pycurl.E_PEER_FAILED_VERIFICATION: Reason.TLS,
    pycurl.E_SSL_CERTPROBLEM: Reason.TLS,
    pycurl.E_SSL_CACERT_BADFILE: Reason.TLS,
    pycurl.E_GOT_NOTHING: Reason.RESET,
    pycurl.E_RECV_ERROR: Reason.RESET,
    pycurl.E_SEND_ERROR: Reason.RESET,
    92: Reason.RESET,  # CURLE_HTTP2_STREAM, which pycurl does not name
}


class HttpTransport:
    """The web, as a ``Transport``. Use it on one event loop; ``close`` frees its connections."""

    def __init__(self, settings: FetchSettings, resolver: Resolver, veto: Veto, clock: Clock) -> None:
        self._settings = settings
        self._resolver = resolver
        self._veto = veto
        self._clock = clock
        self._multi = pycurl.AsyncCurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, 1024)
        self._idle: list[_Transfer] = []

    async def fetch(self, request: Request) -> Outcome:
        """Return what the web did with ``request``; see ``interfaces.Transport``."""
        host = request.url.host
        resolution = self._resolver.known(host) or await self._resolver.resolve(host)
        if not resolution.addresses:
            return Failed(request.url, Reason.DNS, detail=resolution.detail)
        permitted = [a for a in resolution.addresses if self._veto.permits(host, a)]
        if not permitted:
            return Failed(request.url, Reason.PRIVATE_ADDRESS, detail=f"{host} is {resolution.addresses[0]}")
        result = await self._fetch_from(request, permitted[0])
        if isinstance(result, Failed) and result.reason is Reason.CONNECT and len(permitted) > 1:
            result = await self._fetch_from(request, permitted[1])
        return result

    async def close(self) -> None:
        """Close every connection; what is in flight is cancelled."""
        await self._multi.aclose()
        await self._resolver.close()
        self._idle.clear()

    async def _fetch_from(self, request: Request, address: str) -> Outcome:
        transfer = self._idle.pop() if self._idle else _Transfer(self._settings, self._veto)
        transfer.begin(request, address)
        started = self._clock.now()
        code, message = 0, ""
        try:
            await self._multi.add_handle(transfer.curl)
        except pycurl.error as error:
            code, message = error.args[0], str(error.args[1])
        except asyncio.CancelledError:
            transfer.curl.close()
            raise
        finished = self._clock.now()
        result = transfer.result(request, address, code, message, started, finished)
        self._idle.append(transfer)
        return result


class _Transfer:
    """One reusable curl handle with its buffers."""

    def __init__(self, settings: FetchSettings, veto: Veto) -> None:
        self._settings = settings
        self._veto = veto
        self._host = ""
        self._refused = ""
        self._head: list[bytes] = []
        self._body: list[bytes] = []
        self._size = 0
        self._overflow = False
        self._request_head = b""
        self.curl = curl = pycurl.Curl()
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.PROXY, "")
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS)
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, int(settings.connect_timeout * 1000))
        curl.setopt(pycurl.TIMEOUT_MS, int(settings.fetch_timeout * 1000))
        curl.setopt(pycurl.LOW_SPEED_LIMIT, _STALL_SPEED)
        curl.setopt(pycurl.LOW_SPEED_TIME, max(1, round(settings.stall_timeout)))
        curl.setopt(pycurl.WRITEFUNCTION, self._on_body)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, self._on_open)
        authorities = settings.ca_file or os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
        if authorities:
            curl.setopt(pycurl.CAINFO, authorities)
        self._headers = [f"User-Agent: {settings.user_agent}", "Accept: */*", f"Accept-Encoding: {_ACCEPT_ENCODING}"]
        curl.setopt(pycurl.HTTPHEADER, self._headers)
        self._plain = True

    def begin(self, request: Request, address: str) -> None:
        """Prepare the handle for ``request`` to be made at ``address``."""
        curl, url = self.curl, request.url
        self._host, self._refused = url.host, ""
        self._head, self._body, self._size, self._overflow = [], [], 0, False
        curl.setopt(pycurl.URL, url.href)
        curl.setopt(pycurl.HEADERFUNCTION, self._head.append)
        bracketed = f"[{address}]" if ":" in address else address
        curl.setopt(pycurl.CONNECT_TO, [f"::{bracketed}:"])
        curl.setopt(pycurl.NOBODY, request.method == "HEAD")
        if request.method == "POST":
            curl.setopt(pycurl.POSTFIELDS, request.form)
        elif request.method != "HEAD":
            curl.setopt(pycurl.HTTPGET, 1)
        validators = request.validators
        headers = self._headers
        if validators.etag or validators.last_modified or not self._plain:
            if validators.etag:
                headers = [*headers, f"If-None-Match: {validators.etag}"]
            if validators.last_modified:
                headers = [*headers, f"If-Modified-Since: {validators.last_modified}"]
            curl.setopt(pycurl.HTTPHEADER, headers)
            self._plain = headers is self._headers
        # What libcurl sends over HTTP/1.1, as the tests compare with a raw socket.
        lines = (f"{request.method} {url.target} HTTP/1.1", f"Host: {url.authority}", *headers)
        self._request_head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")

    def result(
        self, request: Request, address: str, code: int, message: str, started: float, finished: float
    ) -> Outcome:
        """Say what came of it. ``code`` is libcurl's, 0 for success."""
        url = request.url
        usable = code == 0 or (code in _TRUNCATED and self._head) or (self._overflow and self._head)
        if self._refused:
            return Failed(url, Reason.PRIVATE_ADDRESS, detail=f"{url.host} is {self._refused}")
        if not usable:
            return Failed(url, _REASONS.get(code, Reason.PROTOCOL), detail=message)
        response_head = _final_head(self._head)
        head = parse_head(response_head)
        decoded = decode_content(head, b"".join(self._body), self._settings.max_body)
        exchange = Exchange(
            request_head=self._request_head,
            response_head=response_head,
            body=decoded.body,
            status=head.status,
            started=started,
            finished=finished,
            address=address,
            truncated=decoded.truncated or self._overflow or code in _TRUNCATED or decoded.problem != "",
        )
        return outcome(url, exchange)

    def _on_body(self, data: bytes) -> int | None:
        self._size += len(data)
        if self._size > self._settings.max_body:
            self._body.append(data[: len(data) - (self._size - self._settings.max_body)])
            self._overflow = True
            return 0  # ends the transfer
        self._body.append(data)
        return None

    def _on_open(self, purpose: int, address: tuple[int, int, int, tuple[str | bytes, int]]) -> object:
        family, kind, protocol, (ip, *_) = address
        text = ip.decode() if isinstance(ip, bytes) else ip
        if not self._veto.permits(self._host, text):
            self._refused = text
            return pycurl.SOCKET_BAD
        return _Socket(family, kind, protocol)


def _final_head(lines: list[bytes]) -> bytes:
    """The last head of those received (after 100 Continue or 103 Early Hints), without the trailers behind it."""
    first = max(i for i, line in enumerate(lines) if i == 0 or line.startswith(b"HTTP/"))
    end = next((i for i in range(first, len(lines)) if lines[i] in {b"\r\n", b"\n"}), len(lines) - 1)
    return b"".join(lines[first : end + 1])


class _Socket(socket.socket):
    """A socket of which pycurl takes a duplicate: the original closes when it is dropped."""

    def __del__(self) -> None:
        self.close()
