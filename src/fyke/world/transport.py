"""A world as a ``Transport``: no sockets, any clock; sixty days of it go by as fast as they are computed."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus

from fyke.formats.http import build_head, outcome
from fyke.interfaces import Clock
from fyke.values import Exchange, Failed, Outcome, Reason, Request
from fyke.world.http import Answer, Fault
from fyke.world.world import World

ADDRESS = "127.0.0.1"
LOG_LENGTH = 1_000_000
"""Visits that a log holds; the oldest go first."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One request as a server saw it: what the tests of politeness read."""

    host: str
    target: str
    status: int
    """0 where the connection was reset."""
    started: float
    ended: float
    method: str = "GET"


def shortest_gaps(visits: Iterable[Visit]) -> dict[str, float]:
    """By host, the shortest time from the end of a visit to the start of the next; negative where they overlap.

    Hosts that were visited once are left out. A polite crawler's are at least its delay.
    """
    ended: dict[str, float] = {}
    gaps: dict[str, float] = {}
    for visit in sorted(visits, key=lambda v: v.started):
        if visit.host in ended:
            gaps[visit.host] = min(gaps.get(visit.host, math.inf), visit.started - ended[visit.host])
        ended[visit.host] = max(ended.get(visit.host, 0.0), visit.ended)
    return gaps


def early_visits(visits: Iterable[Visit], delay: float) -> list[Visit]:
    """The visits that began sooner after another of their host than they should, by more than a millisecond."""
    ended: dict[str, float] = {}
    found = []
    for visit in sorted(visits, key=lambda v: v.started):
        if visit.started < ended.get(visit.host, -math.inf) + delay - 0.001:
            found.append(visit)
        ended[visit.host] = max(ended.get(visit.host, -math.inf), visit.ended)
    return found


class WorldTransport:
    """Fetches from a world. ``log`` holds the last visits."""

    def __init__(self, world: World, clock: Clock) -> None:
        self._world = world
        self._clock = clock
        self.log: deque[Visit] = deque(maxlen=LOG_LENGTH)

    async def fetch(self, request: Request) -> Outcome:
        """What the world answers at the clock's time; a slow host makes the clock's time pass."""
        url, started = request.url, self._clock.now()
        if url.scheme != "http" or not self._world.knows(url.host):
            return Failed(url, Reason.DNS, detail=f"{url.host} is not in this world")
        validators = request.validators
        form = request.form if request.method == "POST" else None
        answer = self._world.answer(url.host, url.target, started, validators.etag, validators.last_modified, form)
        if answer.latency:
            await self._clock.sleep(answer.latency)
        ended = self._clock.now()
        reset = answer.fault is Fault.RESET
        status = 0 if reset else answer.status
        self.log.append(Visit(url.host, url.target, status, started, ended, request.method))
        if reset:
            return Failed(url, Reason.RESET, detail="connection reset")
        body = b"" if request.method == "HEAD" else answer.body
        exchange = Exchange(_request_head(request), response_head(answer), body, answer.status, started, ended, ADDRESS)
        return outcome(url, exchange)


def response_head(answer: Answer) -> bytes:
    """The head of an answer whose body is sent as it is; the server's is the same to a client without gzip."""
    headers = list(answer.headers)
    if answer.status != 304:
        headers.append(("Content-Length", str(len(answer.body))))
    return build_head(answer.status, HTTPStatus(answer.status).phrase, headers)


def _request_head(request: Request) -> bytes:
    lines = [f"{request.method} {request.url.target} HTTP/1.1", f"Host: {request.url.authority}"]
    if request.validators.etag:
        lines.append(f"If-None-Match: {request.validators.etag}")
    if request.validators.last_modified:
        lines.append(f"If-Modified-Since: {request.validators.last_modified}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
