"""How we stand with a site: what its robots.txt answered, what that means, and how long it holds.

``stand`` makes the next ``Standing`` from the last one and an answer (RFC 9309, 2.3.1 and 2.4):

- 2xx: the rules hold. 3xx beyond five redirects and 4xx: there are none, everything may be fetched.
- 5xx, 429, no answer: nothing may be fetched. It is asked again after a minute, then after as long as it has
  been failing, at most a day. After 30 days of that the last rules hold again; where there never were any,
  everything may be fetched.

(429 departs from the RFC's "400–499": a server that asks us to slow down has not said that it has no rules.)
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

from fyke.sites.kept import Kept
from fyke.sites.robots import Robots
from fyke.url import Url, host_key

if TYPE_CHECKING:
    from fyke.values import Exchange

DAY = 86_400.0
MAX_AGE = DAY
"""RFC 9309, 2.4: not to be used for more than a day."""
MIN_AGE = 300.0
"""A ``max-age=0`` must not double the requests that a site gets."""
MIN_RETRY = 60.0
"""Seconds before a site that fails is asked again for the first time."""
UNREACHABLE_LIMIT = 30 * DAY
"""How long a failing site is left alone: RFC 9309, 2.3.1.4."""

_MAX_AGE = re.compile(r"(?:^|[,\s])(s-maxage|max-age)\s*=\s*\"?(\d{1,10})", re.IGNORECASE)
_TOO_MANY_REQUESTS = 429


class Verdict(StrEnum):
    """What an answer means for the site's pages."""

    RULES = "rules"
    ALLOW = "allow"
    DENY = "deny"


class Standing(Kept, frozen=True):
    """What holds for a site until ``expires``; then its robots.txt is to be asked for again."""

    verdict: Verdict
    robots: bytes = b""
    """The last rules seen, ``Robots.encode``; kept while the site fails."""
    expires: float = 0.0
    failing_since: float = 0.0
    """The first of the failures in a row; 0 where the last answer was one."""
    status: int = 0
    """The last HTTP status; 0 where there was no answer."""

    @staticmethod
    def key(url: Url) -> bytes:
        """Return where a tablet's family ``host`` keeps the standing of the site of ``url``."""
        return host_key(url.host) + url.site.encode()

    def rules(self) -> Robots:
        """The rules as an object that answers; keep it, since making it costs."""
        return Robots.decode(self.robots) if self.robots else Robots({})


class Permission:
    """A standing made ready for one agent: ``allows`` for every URL of the site, and its ``delay``."""

    __slots__ = ("_agent", "_rules", "delay", "standing")

    def __init__(self, standing: Standing, user_agent: str) -> None:
        self.standing = standing
        self._agent = user_agent
        self._rules = standing.rules()
        self.delay = self._rules.delay(user_agent) or 0.0

    def allows(self, url: Url) -> bool:
        """Return whether the site lets us fetch ``url``."""
        if self.standing.verdict is Verdict.RULES:
            return self._rules.allows(self._agent, url)
        return self.standing.verdict is Verdict.ALLOW


def heard(previous: Standing | None, exchange: Exchange | None, now: float, user_agent: str) -> Standing:
    """Return how we ``stand`` after an answer as it came; None for no answer."""
    from fyke.formats.http import parse_head  # who reads a file needs none of it

    if exchange is None:
        return stand(previous, 0, now, user_agent=user_agent)
    lifetime = parse_head(exchange.response_head).get("cache-control")
    return stand(previous, exchange.status, now, user_agent=user_agent, body=exchange.body, cache_control=lifetime)


def stand(
    previous: Standing | None,
    status: int,
    now: float,
    *,
    user_agent: str,
    body: bytes = b"",
    cache_control: str = "",
) -> Standing:
    """Return how we stand after an answer to the request for robots.txt.

    ``status`` is that of the last hop after at most five redirects (3xx if there were more), 0 for no answer.
    Only the groups of ``user_agent`` and ``*`` are kept.
    """
    kept = previous.robots if previous else b""
    if 200 <= status < 300:
        rules = Robots.parse(body).keep(user_agent).encode()
        return Standing(Verdict.RULES, rules, now + lifetime(cache_control), 0.0, status)
    if 300 <= status < 500 and status != _TOO_MANY_REQUESTS:
        return Standing(Verdict.ALLOW, b"", now + lifetime(cache_control), 0.0, status)
    since = previous.failing_since if previous and previous.failing_since else now
    failing = now - since
    verdict = Verdict.DENY
    if failing >= UNREACHABLE_LIMIT:
        verdict = Verdict.RULES if kept else Verdict.ALLOW
    return Standing(verdict, kept, now + min(max(failing, MIN_RETRY), DAY), since, status)


def lifetime(cache_control: str) -> float:
    """Return for how many seconds an answer may be used: its max-age, within five minutes and a day."""
    if re.search(r"no-(?:store|cache)", cache_control, re.IGNORECASE):
        return MIN_AGE
    return min(max(max_age(cache_control, MAX_AGE), MIN_AGE), MAX_AGE)


def max_age(cache_control: str, default: float = 0.0) -> float:
    """Return the max-age of a Cache-Control header in seconds."""
    ages = {name.lower(): float(age) for name, age in _MAX_AGE.findall(cache_control)}
    return ages.get("max-age", default)
