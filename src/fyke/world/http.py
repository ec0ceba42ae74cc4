"""Answers of a world: status, headers, validators; honest or not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache

from fyke.formats.http import http_date as parse_date
from fyke.world.config import START
from fyke.world.site import http_date
from fyke.world.truth import Host, Validity


class Fault(Enum):
    """What goes wrong on the connection."""

    NONE = auto()
    RESET = auto()
    """It is reset before an answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a host answers to a GET; a HEAD gets the same without the body."""

    status: int
    headers: tuple[tuple[str, str], ...]
    """Without Content-Length, which depends on the content coding that a face agreed upon."""
    body: bytes
    latency: float = 0.0
    """Seconds before the answer begins."""
    fault: Fault = Fault.NONE


def make_answer(
    status: int, media_type: str, body: bytes, t: float, latency: float = 0.0,
    more: tuple[tuple[str, str], ...] = (), fault: Fault = Fault.NONE,
) -> Answer:  # fmt: skip
    """An answer with the headers that every answer has."""
    head = (("Date", http_date(int(t))), ("Server", "fyke-world"))
    return Answer(
        status, (*head, ("Content-Type", media_type), *more) if media_type else head + more, body, latency, fault
    )


@dataclass(frozen=True, slots=True)
class Conditions:
    """The validators of a page, as its host states them."""

    etag: str
    modified: int

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """ETag and Last-Modified; nothing where the host gives none."""
        if not self.etag:
            return ()
        return ("ETag", self.etag), ("Last-Modified", http_date(self.modified))

    def matches(self, etag: str, since: str) -> bool:
        """Whether a client that holds these validators is told 304 (RFC 9110, 13.2.2: the ETag decides)."""
        if not self.etag:
            return False
        if etag:
            return any(given.strip() in ("*", self.etag) for given in etag.split(","))
        return bool(since) and _since(since) >= self.modified


def conditional(host: Host, name: str, version: int, modified: float, t: float) -> Conditions:
    """The validators that ``host`` states for version ``version`` of the page called ``name``."""
    if host.validity is Validity.NONE:
        return Conditions("", 0)
    if host.validity is Validity.FROZEN:
        return Conditions(f'"{name}-0"', int(START))
    if host.validity is Validity.NOW:
        return Conditions(f'"{name}-{int(t):x}"', int(t))
    weak = "W/" if host.rotating_ads else ""
    return Conditions(f'{weak}"{name}-{version:x}"', int(modified))


@lru_cache(maxsize=16_384)
def _since(text: str) -> float:
    """Seconds since 1970; -1 for what is no date, which makes a request unconditional."""
    when = parse_date(text)
    return -1.0 if when is None else when
