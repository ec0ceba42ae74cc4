"""The subscriber's server: hubs ask back and push feeds here; what they push is handed on once it is believed.

A few lines of HTTP/1.1 over asyncio, one request for each connection, everything bounded: it speaks with hubs only, at
addresses that nobody can guess. What it decides is in fyke.sites.websub; here are the sockets, the clock and the dice.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from fyke.formats.http import build_head, parse_head
from fyke.interfaces import Clock
from fyke.limits import note
from fyke.sites.websub import MAX_CONTENT, Refusal, Subscription, Topic, check, verify
from fyke.url import Url
from fyke.values import Outcome, Request

MAX_HEAD = 16_384
MAX_CONNECTIONS = 64
"""At once; hubs push one feed at a time, and others have no business here."""
MAX_TOPICS = 100_000
TIMEOUT = 30.0
"""Seconds for a whole request."""
_REASONS = {200: "OK", 202: "Accepted", 404: "Not Found", 405: "Method Not Allowed", 400: "Bad Request"}


@dataclass(frozen=True, slots=True)
class Pushed:
    """A feed that a hub pushed, and that is believed."""

    topic: str
    body: bytes


class Subscriber:
    """Subscriptions of one crawl, and the server that their callbacks lead to."""

    def __init__(
        self,
        callback: str,
        fetch: Callable[[Request], Awaitable[Outcome]],
        clock: Clock,
        deliver: Callable[[Pushed], None],
        keep: Callable[[Subscription], None] = lambda subscription: None,
        known: Iterable[Subscription] = (),
        token: Callable[[], str] = lambda: secrets.token_urlsafe(24),
    ) -> None:
        """``callback`` is the public URL under which hubs reach us.

        ``fetch`` asks a hub, politely. ``deliver`` is told what was pushed, ``keep`` what is to survive a restart, and
        ``known`` did.
        """
        self.refusals: Counter[Refusal] = Counter()
        self._callback = Url.parse(callback).href
        self._fetch = fetch
        self._clock = clock
        self._deliver = deliver
        self._keep = keep
        self._token = token
        self._by_token: dict[str, Subscription] = {}
        self._tokens: dict[str, str] = {}  # of topics
        self._server: asyncio.Server | None = None
        self._connections = 0
        for subscription in known:
            self._set(subscription, keep=False)

    def follow(self, topic: Topic) -> None:
        """Subscribe to a topic at the next ``tick``; again only where its hub has changed."""
        token = self._tokens.get(topic.topic)
        if token is not None and self._by_token[token].hub == topic.hub:
            return
        if len(self._by_token) < MAX_TOPICS:
            if token is not None:
                del self._by_token[token]
            self._set(Subscription(topic.topic, topic.hub, self._token(), self._token()))
        else:
            note("push-topics")

    def is_pushed(self, topic: str) -> bool:
        """Whether a hub pushes ``topic`` now, so that polling it is only a safeguard."""
        token = self._tokens.get(topic)
        return token is not None and self._by_token[token].is_active(self._clock.now())

    async def tick(self) -> None:
        """Ask hubs for what is due: first subscriptions, renewals, second tries."""
        now = self._clock.now()
        for subscription in list(self._by_token.values()):
            late = subscription.overdue(now)
            if late is not subscription:
                self._set(late)
            elif subscription.is_due(now):
                await self._ask(subscription)

    async def _ask(self, subscription: Subscription) -> None:
        asked, form = subscription.ask(self._callback, self._clock.now())
        self._set(asked)  # before the hub hears of it: it may ask back before it answers
        outcome = await self._fetch(Request(Url.parse(asked.hub), "POST", form=form))
        status = outcome.exchange.status if outcome.exchange is not None else 0
        current = self._by_token.get(asked.token)
        if current is not None and not (200 <= status < 300):
            self._set(current.answered(status, self._clock.now()))

    def _set(self, subscription: Subscription, *, keep: bool = True) -> None:
        self._by_token[subscription.token] = subscription
        self._tokens[subscription.topic] = subscription.token
        if keep:
            self._keep(subscription)

    # ---- the server

    async def start(self, host: str | None, port: int) -> int:
        """Listen, on all interfaces where ``host`` is None; return the port."""
        self._server = await asyncio.start_server(self._serve, host, port, limit=MAX_HEAD)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            if self._connections <= MAX_CONNECTIONS:
                async with asyncio.timeout(TIMEOUT):
                    status, body = await self._request(reader)
                    headers = [
                        ("Content-Length", str(len(body))),
                        ("Content-Type", "text/plain"),
                        ("Connection", "close"),
                    ]
                    writer.write(build_head(status, _REASONS.get(status, ""), headers) + body)
                    await writer.drain()
            else:
                note("push-connections")
        except asyncio.LimitOverrunError:
            note("push-head")
        except (OSError, TimeoutError, asyncio.IncompleteReadError, ValueError):
            pass  # whoever it was has gone, or speaks no HTTP
        finally:
            self._connections -= 1
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _request(self, reader: asyncio.StreamReader) -> tuple[int, bytes]:
        """Read one request; return status and body of the answer."""
        head = await reader.readuntil(b"\r\n\r\n")
        method, _, target = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        path, _, query = target.partition(" ")[0].partition("?")
        subscription = self._by_token.get(path.rpartition("/")[2])
        if method == "GET":
            return self._verify(subscription, query)
        if method != "POST":
            return 405, b""
        headers = parse_head(head)
        if subscription is None:
            self.refusals[Refusal.UNKNOWN] += 1
            return 404, b""
        length = headers.get("content-length")
        if "chunked" in headers.get("transfer-encoding").lower():
            body = await _chunks(reader)
        elif re.fullmatch("[0-9]{1,12}", length) and int(length) <= MAX_CONTENT:
            body = await reader.readexactly(int(length))
        else:
            body = None
        if body is None:
            note("push-bytes")
            self.refusals[Refusal.TOO_LARGE] += 1
            return 400, b""
        return self._take(subscription, headers.get("x-hub-signature"), body)

    def _verify(self, subscription: Subscription | None, query: str) -> tuple[int, bytes]:
        verdict = verify(subscription, query, self._clock.now())
        if verdict.refusal is not None:
            self.refusals[verdict.refusal] += 1
        if verdict.subscription is not None:
            self._set(verdict.subscription)
        return verdict.status, verdict.body

    def _take(self, subscription: Subscription, signature: str, body: bytes) -> tuple[int, bytes]:
        refusal = check(subscription, signature, body, self._clock.now())
        if refusal is None:
            self._deliver(Pushed(subscription.topic, body))
        else:
            self.refusals[refusal] += 1
        return 202, b""  # a forger learns nothing, and an honest hub that erred does not try again (WebSub, 8)


async def _chunks(reader: asyncio.StreamReader) -> bytes | None:
    """A chunked body; None where it is beyond the limit. Raises ``ValueError`` where it is none."""
    parts: list[bytes] = []
    total = 0
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0].strip()[:8], 16):
        total += size
        if total > MAX_CONTENT or size < 0:
            return None
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    return b"".join(parts)
