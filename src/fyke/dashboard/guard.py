"""Who may ask: the door before every page, in ASGI, so that nothing behind it need think of it.

The page is on 127.0.0.1, where any program of the machine and any web page in the user's browser can knock. So::

    421   Host is not 127.0.0.1:PORT or localhost:PORT: another name led here (DNS rebinding)
    405   neither GET nor HEAD; POST for /control alone, where steering was asked for
    403   Sec-Fetch-Site or Origin: another site's page asks; or neither token nor cookie
    414   the address is longer than any that the pages make
    303   the token, once: it becomes a cookie that no script reads and no other site sends, and leaves the address

The cookie is named by the port, since browsers do not tell ports apart. ``/metrics`` wants the token as a bearer token.
Every answer carries the headers: nothing runs, loads or is framed but what the dashboard itself serves.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),  # with no-referrer a form of our own would come from the origin "null"
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
MAX_ADDRESS = 16_384


class Guard:
    """Lets through what the user's own browser asks for."""

    def __init__(self, app: App, port: int, token: str, *, control: bool = False, metrics: bool = False) -> None:
        self.app, self._token, self._control, self._metrics = app, token, control, metrics
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"} | ({"127.0.0.1", "localhost"} if port == 80 else set())
        self._cookie = f"fyke-{port}"
        self._session = _derived(token, "session")
        self.csrf = _derived(token, "csrf")
        """What a form must bring back."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the pages answer."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        status, said, more = self._judge(scope, headers)
        if status:
            await _answer(send, status, said, more, scope["method"] == "HEAD")
        else:
            await self.app(scope, receive, _with_headers(send))

    def _judge(self, scope: Scope, headers: dict[str, list[str]]) -> tuple[int, str, list[tuple[bytes, bytes]]]:
        """Return the status of a refusal or redirect, with its words and headers; 0 to let it through."""
        host = headers.get("host", [])
        if len(host) != 1 or host[0].lower() not in self._hosts:
            return 421, "This server is 127.0.0.1 alone: open the address that `fyke dashboard` printed.", []
        method, path = scope["method"], scope["path"]
        is_post = method == "POST" and path == "/control" and self._control
        if method not in ("GET", "HEAD") and not is_post:
            return 405, "Only GET and HEAD are answered here.", [(b"allow", b"GET, HEAD")]
        if len(scope.get("raw_path", b"")) + len(scope["query_string"]) > MAX_ADDRESS:
            return 414, "This address is too long.", []
        site, origin = headers.get("sec-fetch-site", []), headers.get("origin", [])
        if any(each not in (("same-origin",) if is_post else ("same-origin", "none")) for each in site):
            return 403, "Another site's page asked; open the address by hand.", []
        if any(each.lower() not in {f"http://{name}" for name in self._hosts} for each in origin):
            return 403, "Another site's page asked; open the address by hand.", []
        if path == "/metrics":
            return self._bearer(headers) if self._metrics else (404, "Metrics want `fyke dashboard --metrics`.", [])
        return self._known(scope, headers)

    def _bearer(self, headers: dict[str, list[str]]) -> tuple[int, str, list[tuple[bytes, bytes]]]:
        kind, _, given = headers.get("authorization", [""])[0].partition(" ")
        if kind.lower() == "bearer" and _same(given.strip(), self._token):
            return 0, "", []
        return 401, "Metrics want the header `Authorization: Bearer TOKEN`.", [(b"www-authenticate", b"Bearer")]

    def _known(self, scope: Scope, headers: dict[str, list[str]]) -> tuple[int, str, list[tuple[bytes, bytes]]]:
        try:
            query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True, max_num_fields=50)
        except ValueError:
            return 400, "This address asks for too many things.", []
        given = [value for name, value in query if name == "t"]
        if given and scope["method"] != "POST":
            if not _same(given[0], self._token):
                return 403, "This token is not that of the dashboard; open the address that it printed.", []
            rest = urlencode([(name, value) for name, value in query if name != "t"])
            path = "/" + scope.get("raw_path", b"/").decode("latin-1").partition("?")[0].lstrip("/\\")
            cookie = f"{self._cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"
            where = path + ("?" + rest if rest else "")
            return 303, "", [(b"location", where.encode("latin-1", "replace")), (b"set-cookie", cookie.encode())]
        if self._has_cookie(headers):
            return 0, "", []
        return 403, "This page wants its token: open the address that `fyke dashboard` printed.", []

    def _has_cookie(self, headers: dict[str, list[str]]) -> bool:
        """Other programs of this machine may have set cookies, too, of any name and value."""
        pairs = (part.strip().partition("=") for line in headers.get("cookie", []) for part in line.split(";"))
        return any(name == self._cookie and _same(value, self._session) for name, _, value in pairs)


def new_token() -> str:
    """Return a token that nobody guesses."""
    return secrets.token_urlsafe(24)


def _derived(token: str, purpose: str) -> str:
    return hmac.new(token.encode(), purpose.encode(), hashlib.sha256).hexdigest()


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message.get("headers", ())}
            message["headers"] = [*message.get("headers", ()), *(pair for pair in HEADERS if pair[0] not in own)]
        await send(message)

    return sending


async def _answer(send: Send, status: int, said: str, more: list[tuple[bytes, bytes]], bare: bool) -> None:
    body = said.encode() + b"\n" if said else b""
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *HEADERS]})
    await send({"type": "http.response.body", "body": b"" if bare else body})
