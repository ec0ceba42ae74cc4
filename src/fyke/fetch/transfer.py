"""One transfer: a reusable curl handle with its buffers, and what came of it as an ``Outcome``."""

from __future__ import annotations

import os
import re
import socket
import ssl
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

import pycurl

from fyke.clock import boot_time
from fyke.fetch.address import AddressPolicy
from fyke.fetch.proxy import Proxy
from fyke.fetch.sessions import Credentials, Sessions, header_line, redacted, shown_line
from fyke.formats.http import outcome, parse_head
from fyke.formats.http_body import content_coding, decode_content
from fyke.limits import note
from fyke.values import Coded, Exchange, Failed, Outcome, Reason, Request, Validators

if TYPE_CHECKING:
    from fyke.fetch.http import FetchSettings

_ACCEPT_ENCODING = "gzip, deflate, br, zstd"
_CUT = frozenset({pycurl.E_PARTIAL_FILE, pycurl.E_RECV_ERROR, 16, 92})
"""How a transfer ends whose body was not whole, where its head was."""
_REASONS = {
    pycurl.E_COULDNT_RESOLVE_HOST: Reason.DNS,
    pycurl.E_COULDNT_CONNECT: Reason.CONNECT,
    pycurl.E_OPERATION_TIMEDOUT: Reason.TIMEOUT,
    pycurl.E_SSL_CONNECT_ERROR: Reason.TLS,
    pycurl.E_PEER_FAILED_VERIFICATION: Reason.TLS,
    pycurl.E_SSL_CERTPROBLEM: Reason.TLS,
    pycurl.E_SSL_CACERT_BADFILE: Reason.TLS,
    pycurl.E_GOT_NOTHING: Reason.RESET,
    pycurl.E_PARTIAL_FILE: Reason.RESET,
    pycurl.E_RECV_ERROR: Reason.RESET,
    pycurl.E_SEND_ERROR: Reason.RESET,
    16: Reason.RESET,  # CURLE_HTTP2
    92: Reason.RESET,  # CURLE_HTTP2_STREAM, which pycurl does not name
}
_REFUSED = "refused"  # libcurl's words for a connection that somebody refused
_UNFIT = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")  # what no header value holds


class Ended(Enum):
    """A deadline that was missed."""

    CONNECT = "no connection within {0.connect_timeout:g} s"
    STALL = "under 50 bytes/s for {0.stall_timeout:g} s"
    TIME = "not done within {0.fetch_timeout:g} s"


class Transfer:
    """One reusable curl handle with its buffers."""

    def __init__(
        self,
        settings: FetchSettings,
        veto: AddressPolicy,
        on_sent: Callable[[str], None] = lambda host: None,
        sessions: Sessions | None = None,
        proxy: Proxy | None = None,
        on_open: Callable[[], None] = lambda: None,
    ) -> None:
        """``on_sent(host)`` is told when a connection stands and the request is about to be sent.

        ``on_open()`` when a socket is about to be opened.
        """
        self._settings = settings
        self._sessions = sessions or Sessions()
        self.proxy = proxy
        """Which it goes through."""
        self._credentials: Credentials | None = None
        self._share: pycurl.CurlShare | None = None
        self._accepted = ""
        self._on_sent = on_sent
        self._opens = on_open
        self._veto = veto
        self._host, self._port, self._refused = "", 0, ""
        self._head: list[bytes] = []
        self._asked: tuple[object, ...] = ()  # how the last request was made
        self._body = bytearray()
        self._overflow = False
        self._request: tuple[str, str, list[bytes]] = ("", "", [])
        self._began = 0.0
        self.received = 0
        """Bytes of the body so far."""
        self.mark, self.mark_time = 0, 0.0
        """Where it was when it was last found to be quick enough."""
        self.lost = 0.0
        """What the loop had lost when this began."""
        self.ended: Ended | None = None
        self.curl = self._handle()
        self._headers = _headers(settings.user_agent, self._sessions)
        self.curl.setopt(pycurl.HTTPHEADER, self._headers)
        self._usual = True

    def _handle(self) -> pycurl.Curl:
        """Make the handle, with all that is the same for each request."""
        curl, settings, proxy = pycurl.Curl(), self._settings, self.proxy
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.PROXY, "")
        curl.setopt(pycurl.DNS_CACHE_TIMEOUT, 60 if proxy else 0)  # addresses are ours: libcurl need not keep them
        if proxy is not None:
            proxy.attach(curl)
        curl.setopt(pycurl.COOKIEFILE, "")  # have cookies, whatever is shared
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, 86_400_000)  # 0 would mean five minutes; deadlines are the transport's
        curl.setopt(pycurl.HEADERFUNCTION, self._head.append)
        curl.setopt(pycurl.WRITEFUNCTION, self._on_body)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, self._on_open)
        curl.setopt(pycurl.PREREQFUNCTION, self._on_request)
        if authorities := settings.ca_file or os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile:
            curl.setopt(pycurl.CAINFO, authorities)
        return curl

    def begin(self, request: Request, address: str, lost: float, *, plain: bool = False, accepted: str = "") -> None:
        """Prepare the handle for ``request`` to be made at ``address``; ``plain`` is without HTTP/2.

        ``accepted`` is what is known to be wrong with the server's certificate, where that is accepted.

        Raises what libcurl says of a URL or header that it does not take.
        """
        curl, url = self.curl, request.url
        self._host, self._port, self._refused = url.host, url.port, ""
        self._head.clear()
        self._body, self.received, self._overflow = bytearray(), 0, False
        self._began, self.lost = boot_time(), lost
        self.mark, self.mark_time, self.ended = 0, 0.0, None
        self._share = self._sessions.attach(curl, url, self._share)
        curl.setopt(pycurl.URL, url.href)
        bracketed = f"[{address}]" if ":" in address else address
        curl.setopt(pycurl.CONNECT_TO, [f"::{bracketed}:"] if address else [])
        asked = plain, accepted, request.method, request.form
        if asked != self._asked:
            self._ask(*asked)
            self._asked = asked
        more = _conditions(request.validators)
        shown = headers = [*self._headers, *more] if more else self._headers
        if request.headers:
            more, headers = [b""], [*headers, *(header_line(name, value) for name, value in request.headers)]
            shown = [*shown, *(shown_line(name, value) for name, value in request.headers)]
        if self._credentials is not None:
            self._sign(None)
        credentials = None if self._sessions.plain else self._sessions.of(url)
        if credentials is not None:
            self._sign(credentials)
            more, headers, shown = [b""], [*headers, *credentials.lines], [*shown, *credentials.shown]
        if more or not self._usual:
            curl.setopt(pycurl.HTTPHEADER, headers)
            self._usual = not more
        self._request = (f"{request.method} {url.target}", url.authority, shown)

    def _ask(self, plain: bool, accepted: str, method: str, form: bytes) -> None:
        """Tell the handle how it asks from now on."""
        curl = self.curl
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1 if plain else pycurl.CURL_HTTP_VERSION_2TLS)
        curl.setopt(pycurl.NOBODY, method == "HEAD")
        if method == "POST":
            curl.setopt(pycurl.POSTFIELDS, form)
        elif method != "HEAD":
            curl.setopt(pycurl.HTTPGET, 1)
        if accepted != self._accepted:
            curl.setopt(pycurl.SSL_VERIFYPEER, 0 if accepted else 1)
            curl.setopt(pycurl.SSL_VERIFYHOST, 0 if accepted else 2)
            self._accepted = accepted

    def _sign(self, credentials: Credentials | None) -> None:
        """Let libcurl answer the server's question for a digest; or not, from now on."""
        self._credentials = credentials
        if credentials is not None and credentials.digest:
            self.curl.setopt(pycurl.HTTPAUTH, pycurl.HTTPAUTH_DIGEST)
            self.curl.setopt(pycurl.USERPWD, credentials.digest)
        elif credentials is None:
            self.curl.setopt(pycurl.HTTPAUTH, pycurl.HTTPAUTH_NONE)
            self.curl.unsetopt(pycurl.USERPWD)

    def _on_request(self, *connection: object) -> int:
        self._on_sent(self._host)
        return int(pycurl.PREREQFUNC_OK)

    def elapsed(self, lost: float) -> float:
        """Return the seconds that the server has had, where the loop has lost ``lost`` in all."""
        return boot_time() - self._began - (lost - self.lost)

    @property
    def is_connected(self) -> bool:
        """Whether the request could be sent."""
        return bool(self._head) or self.curl.getinfo(pycurl.PRETRANSFER_TIME) > 0

    def result(
        self, request: Request, address: str, code: int, message: str, started: float, finished: float
    ) -> Outcome:
        """Say what came of it. ``code`` is libcurl's, 0 for success."""
        url = request.url
        if self._refused:
            return Failed(url, Reason.PRIVATE_ADDRESS, detail=f"{url.host} is {self._refused}")
        whole_head = b"\r\n" in self._head or b"\n" in self._head
        slow = self.ended is not None and self.ended is not Ended.CONNECT
        cut = (slow or code in _CUT) and whole_head and not self._overflow and bool(self._body)  # something came
        if self.ended is not None and not cut:
            reason = Reason.CONNECT if self.ended is Ended.CONNECT else Reason.TIMEOUT
            return Failed(url, reason, detail=self.ended.value.format(self._settings))
        if code and not cut and not (self._overflow and whole_head):
            return Failed(url, _REASONS.get(code, Reason.PROTOCOL), detail=message, certain=_REFUSED in message.lower())
        response_head = _final_head(self._head)
        head = parse_head(response_head)
        private = not self._sessions.plain and self._sessions.is_private(url)
        if head.get("set-cookie") and self._share is not None:
            self._sessions.met_cookies(self.curl, self._share, head.get_all("set-cookie"))
            if private:
                response_head = redacted(response_head)
        if self._overflow:
            note("body")
        raw, self._body = bytes(self._body), bytearray()  # the handle lives on: it keeps no document
        decoded = decode_content(head, raw, self._settings.max_body)
        if decoded.truncated and len(decoded.body) >= self._settings.max_body:
            note("body-decoded")
        truncated = decoded.truncated or self._overflow or cut or decoded.problem != ""
        coding = content_coding(head) if len(raw) < len(decoded.body) and not truncated else ""
        exchange = Exchange(
            request_head=self._request_head(),
            response_head=response_head,
            body=decoded.body,
            status=head.status,
            started=started,
            finished=finished,
            address=address,
            truncated=truncated,
            incomplete=cut,
            private=private,
            tls=self._accepted,
            coded=Coded(coding, raw) if coding else None,
        )
        return outcome(url, exchange)

    def _request_head(self) -> bytes:
        """What libcurl sent, as HTTP/1.1 writes it (the tests compare with a raw socket); its version is told truly."""
        line, authority, headers = self._request
        spoken = self.curl.getinfo(pycurl.INFO_HTTP_VERSION)
        version = "HTTP/2" if spoken == pycurl.CURL_HTTP_VERSION_2_0 else "HTTP/1.1"
        first = f"{line} {version}\r\nHost: {authority}\r\n".encode("latin-1", "replace")
        return first + b"\r\n".join(headers) + b"\r\n\r\n"

    def _on_body(self, data: bytes) -> int | None:
        self.received += len(data)
        if self.received > self._settings.max_body:
            self._body += data[: len(data) - (self.received - self._settings.max_body)]
            self._overflow = True
            return 0  # ends the transfer
        self._body += data  # one buffer: chunks of a byte each would be an object each
        return None

    def _on_open(self, purpose: int, address: tuple[int, int, int, tuple[str | bytes, int]]) -> object:
        self._opens()
        family, kind, protocol, (ip, *_) = address
        text = ip.decode() if isinstance(ip, bytes) else ip
        if self.proxy is not None and self.proxy.is_at(text):
            return _Socket(family, kind, protocol)
        if not self._veto.permits(self._host, self._port, text):
            self._refused = text
            return pycurl.SOCKET_BAD
        return _Socket(family, kind, protocol)


def _headers(user_agent: str, sessions: Sessions) -> list[bytes]:
    """What every request says."""
    usual = {"User-Agent": user_agent, "Accept": "*/*", "Accept-Encoding": _ACCEPT_ENCODING}
    own = {name.title(): value for name, value in sessions.headers}
    return [header_line(name, value) for name, value in {**usual, **own}.items()]


def _conditions(validators: Validators) -> list[bytes]:
    """The headers that ask whether a copy is still right; a validator that no header can hold is left out."""
    found = []
    for name, value in ((b"If-None-Match: ", validators.etag), (b"If-Modified-Since: ", validators.last_modified)):
        if not value:
            continue
        try:
            data = value.encode("latin-1")  # as heads are read
        except UnicodeEncodeError:
            continue
        if not _UNFIT.search(data):
            found.append(name + data)
    return found


def _final_head(lines: list[bytes]) -> bytes:
    """The last head of those received (after 100 Continue or 103 Early Hints), without the trailers behind it."""
    if lines[-1] == b"\r\n" and lines.count(b"\r\n") == 1 and b"\n" not in lines:
        return b"".join(lines)
    first = max(i for i, line in enumerate(lines) if i == 0 or line.startswith(b"HTTP/"))
    end = next((i for i in range(first, len(lines)) if lines[i] in {b"\r\n", b"\n"}), len(lines) - 1)
    return b"".join(lines[first : end + 1])


class _Socket(socket.socket):
    """A socket of which pycurl takes a duplicate: the original closes when it is dropped."""

    def __del__(self) -> None:
        self.close()
