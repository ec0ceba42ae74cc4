"""HTTP: heads as names and values, and what an exchange means (``outcome``).

Tolerant, as servers are sloppy: bare LF, missing reason, folded lines, bytes that are not ASCII (read as
Latin-1, so that nothing is lost). A line without a colon is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import lru_cache

from fyke.errors import UrlError
from fyke.limits import note
from fyke.url import Url
from fyke.values import Exchange, Failed, Fetched, Moved, Outcome, Reason, Unchanged

MAX_RETRY_AFTER = 7 * 86_400
"""A server that says "come back in a year" is asked again after a week."""

_STATUS = re.compile(rb"\s*HTTP/\d(?:\.\d)?\s+(\d{3})\b")
_FOLD = re.compile(rb"\r?\n[ \t]+")
_LINK = re.compile(r'<([^<>]{1,4000})>((?:\s*;\s*[\w*-]+\s*=\s*(?:"[^"]*"|[^\s",;]+))*)')
_REL = re.compile(r';\s*rel\s*=\s*(?:"([^"]*)"|([^\s",;]+))', re.IGNORECASE)
_MAX_LINKS = 16_384


@dataclass(frozen=True, slots=True)
class Head:
    """A response's status and headers, in the order received."""

    status: int
    """0 where there is no readable status line."""
    headers: tuple[tuple[str, str], ...]
    _first: dict[str, str] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in reversed(self.headers):
            self._first[name.lower()] = value

    def get(self, name: str) -> str:
        """The first header of that name, in any case; empty where there is none."""
        return self._first.get(name.lower(), "")

    def has(self, names: frozenset[str]) -> bool:
        """Whether there is a header of one of these names (lower case)."""
        return not names.isdisjoint(self._first)

    def get_all(self, name: str) -> list[str]:
        """Every header of that name, in any case."""
        wanted = name.lower()
        first = self._first.get(wanted)
        if first is None or len(self._first) == len(self.headers):  # none of them stands there twice
            return [] if first is None else [first]
        return [value for key, value in self.headers if key.lower() == wanted]

    @property
    def media_type(self) -> str:
        """The declared media type in lower case, without parameters."""
        return self.get("content-type").partition(";")[0].strip().lower()


NO_HEAD = Head(0, ())
"""Of a body that came without one."""


@lru_cache(maxsize=512)  # a head passes through several hands in a row
def parse_head(data: bytes) -> Head:
    """Read a head; what cannot be read is left out. Never raises."""
    first, _, rest = data.partition(b"\n")
    match = _STATUS.match(first)
    if b"\n " in rest or b"\n\t" in rest:
        rest = _FOLD.sub(b" ", rest)
    headers = []
    for line in rest.decode("latin-1").split("\n"):
        name, colon, value = line.partition(":")
        name = name.strip()
        if colon and name:
            headers.append((name, value.strip()))
    return Head(int(match[1]) if match else 0, tuple(headers))


def header_links(values: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Return (target, relations in lower case) of each link in Link headers (RFC 8288), tolerantly."""
    links = []
    for value in values:
        if len(value) > _MAX_LINKS:
            note("link-header")
        for target, parameters in _LINK.findall(value[:_MAX_LINKS]):
            found = _REL.search(parameters)
            links.append((target.strip(), (found[1] or found[2] or "").lower().split() if found else []))
    return links


def build_head(status: int, reason: str, headers: list[tuple[str, str]]) -> bytes:
    """Write a response head, with the empty line that ends it."""
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def outcome(url: Url, exchange: Exchange) -> Outcome:
    """Say what the web did with a request for ``url``, from what went over the wire.

    A 304 is unchanged, a 3xx with a usable Location has moved, every other 2xx and 3xx is a document, the rest
    has failed; Retry-After becomes the time to try again.
    """
    status = exchange.status
    if status == 304:
        return Unchanged(url, exchange)
    if status in {301, 302, 303, 307, 308}:
        location = parse_head(exchange.response_head).get("location")
        try:
            target = url.join(location.encode("latin-1").decode("utf-8", "replace"))
        except UrlError as error:
            return Failed(url, Reason.PROTOCOL, detail=f"redirect: {error}", exchange=exchange)
        return Moved(url, target, status in {301, 308}, exchange)
    if 200 <= status < 400:
        return Fetched(url, exchange)
    reason = _REASONS.get(status, Reason.CLIENT_ERROR if 400 <= status < 500 else Reason.SERVER_ERROR)
    if not 400 <= status < 600:
        reason = Reason.PROTOCOL
    return Failed(url, reason, retry_after(exchange), f"status {status}", exchange)


_REASONS = {410: Reason.GONE, 429: Reason.TOO_MANY_REQUESTS}


def retry_after(exchange: Exchange) -> float | None:
    """When the server asks to be tried again, in seconds or as a date; None where it does not say."""
    value = parse_head(exchange.response_head).get("retry-after")
    if value.isascii() and value.isdigit():
        return exchange.finished + min(int(value[:9]), MAX_RETRY_AFTER)
    when = http_date(value)
    return None if when is None else min(max(when, exchange.finished), exchange.finished + MAX_RETRY_AFTER)


def http_date(value: str) -> float | None:
    """Seconds since 1970 of an HTTP date in any of its three forms; None for anything else."""
    try:
        parsed = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
