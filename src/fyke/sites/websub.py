"""WebSub (W3C, 2018): the subscriber's side as values. Who may push what to us, and who only pretends to.

::

    none ── subscribe ──▶ REQUESTED ── the hub asks back, we echo its challenge ──▶ ACTIVE ── lease nears its end ──┐
                              │ ▲                                                     │ hub: denied                 │
                              │ └──────────── renewal: still ACTIVE until the lease ends ◀──────────────────────────┘
                              └── no answer in time, hub: denied ──▶ DENIED: polled as if there were no hub

A callback URL holds a token that nobody can guess, one for each topic; content is believed only with an HMAC of a
secret that only the hub was told. What does not fit is refused, for a reason that is counted, and changes nothing.
Tokens, secrets and times are arguments.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import parse_qs, urlencode

import msgspec

from fyke.errors import UrlError
from fyke.formats.http import header_links
from fyke.limits import note
from fyke.sites.feed import Feed
from fyke.sites.kept import Kept
from fyke.url import Url

LEASE = 10 * 86_400.0
"""Seconds that we ask for; hubs grant what they like."""
SHORTEST_LEASE, LONGEST_LEASE = 300.0, 90 * 86_400.0
"""What we make of a lease: below, a hub would have us renew without end; above, it may have forgotten us."""
RENEW_AT = 0.8
"""Share of a lease after which it is renewed."""
PATIENCE = 600.0
"""Seconds in which a hub must ask back."""
RETRY = 86_400.0
"""Seconds before a hub that refused or did not answer is asked again."""
MAX_CONTENT = 10_000_000
"""Bytes that a hub may push at once: a feed of news has a hundredth."""
_MAX_HEADER = 16_384
"""Characters of a query or a Link header that are looked at."""

_METHODS = {"sha1": hashlib.sha1, "sha256": hashlib.sha256, "sha384": hashlib.sha384, "sha512": hashlib.sha512}


class State(StrEnum):
    """Where a subscription stands."""

    REQUESTED = "requested"
    ACTIVE = "active"
    DENIED = "denied"


class Refusal(StrEnum):
    """Why what came to a callback was not believed; counted."""

    UNKNOWN = "unknown-callback"
    """No topic has this token."""
    TOPIC = "topic"
    """The hub asks back for another topic."""
    NOT_ASKED = "not-asked"
    """The hub asks back for what nobody asked of it."""
    CHALLENGE = "challenge"
    """None, or one that no honest hub would choose."""
    LEASE = "lease"
    """No positive number of seconds."""
    UNSIGNED = "unsigned"
    METHOD = "method"
    """A signature by a method that we do not know."""
    SIGNATURE = "signature"
    INACTIVE = "inactive"
    """Content for a subscription that was never confirmed, or has ended."""
    TOO_LARGE = "too-large"


@dataclass(frozen=True, slots=True)
class Topic:
    """What can be subscribed to."""

    topic: str
    hub: str


class Subscription(Kept, frozen=True):
    """A topic, the hub that pushes it, and how things stand; kept over restarts."""

    topic: str
    hub: str
    token: str
    """The last part of the callback URL."""
    secret: str
    state: State = State.REQUESTED
    asked: float = 0.0
    """When the hub was last asked and has not answered; 0 where nothing is open."""
    until: float = 0.0
    """When the lease ends."""
    renew: float = 0.0
    """When to ask (again)."""

    def is_active(self, now: float) -> bool:
        """Whether the hub pushes, so that polling is only a safeguard."""
        return self.state is State.ACTIVE and now < self.until

    def is_due(self, now: float) -> bool:
        """Whether the hub is to be asked (again)."""
        return now >= self.renew and now >= self.asked + PATIENCE

    def ask(self, callback: str, now: float) -> tuple[Subscription, bytes]:
        """Return the subscription once asked, and the form to POST to the hub. ``callback`` is without the token."""
        form = {
            "hub.callback": callback.rstrip("/") + "/" + self.token,
            "hub.mode": "subscribe",
            "hub.topic": self.topic,
            "hub.lease_seconds": str(int(LEASE)),
            "hub.secret": self.secret,
        }
        return msgspec.structs.replace(self, asked=now), urlencode(form).encode()

    def answered(self, status: int, now: float) -> Subscription:
        """What stands after the hub's answer to the POST: 202 means that it will ask back; else we poll and retry."""
        if 200 <= status < 300:
            return self
        return self._given_up(now)

    def overdue(self, now: float) -> Subscription:
        """What stands if the hub never asked back: as if it had refused."""
        return self._given_up(now) if self.asked and now >= self.asked + PATIENCE else self

    def _given_up(self, now: float) -> Subscription:
        state = State.ACTIVE if self.is_active(now) else State.DENIED  # a failed renewal does not end the lease
        return msgspec.structs.replace(self, state=state, asked=0.0, renew=now + RETRY)


@dataclass(frozen=True, slots=True)
class Answer:
    """What to answer a hub that asks back, and what stands afterwards."""

    status: int
    body: bytes
    subscription: Subscription | None
    """None where nothing changes."""
    refusal: Refusal | None = None


def discover(links: Iterable[str], feed: Feed, url: str) -> Topic | None:
    """Return the topic of the feed at ``url`` and its first hub; None where nobody pushes it.

    ``links`` are the values of its Link headers, which come before what the feed itself says (WebSub, 4). A
    feed speaks for its own host: a topic elsewhere is not believed.
    """
    said = header_links(links)
    hubs = [target for target, relations in said if "hub" in relations] or feed.hubs
    own = next((target for target, relations in said if "self" in relations), "") or feed.self_url or url
    try:
        here = Url.parse(url)
        topic = here.join(own)
        if topic.host != here.host:  # who may be pushed for is not for others to say
            topic = here
        found = Topic(topic.href, here.join(hubs[0]).href if hubs else "")
    except UrlError:
        return None
    return found if found.hub.startswith(("http://", "https://")) else None


def verify(subscription: Subscription | None, query: str, now: float) -> Answer:
    """Judge a hub's GET of a callback: ``query`` is what follows the ``?``, ``subscription`` that of the token."""
    if subscription is None:
        return Answer(404, b"", None, Refusal.UNKNOWN)
    if len(query) > _MAX_HEADER:
        note("hub-query")
    said = {name: values[0] for name, values in parse_qs(query[:_MAX_HEADER], keep_blank_values=True).items()}
    mode, topic = said.get("hub.mode", ""), said.get("hub.topic", "")
    if topic != subscription.topic:
        return Answer(404, b"", None, Refusal.TOPIC)
    if mode == "denied":
        denied = msgspec.structs.replace(subscription, state=State.DENIED, asked=0.0, until=0.0, renew=now + RETRY)
        return Answer(200, b"", denied)
    if mode != "subscribe" or not subscription.asked:
        return Answer(404, b"", None, Refusal.NOT_ASKED)
    challenge = said.get("hub.challenge", "")
    if not 1 <= len(challenge) <= 4096 or not challenge.isprintable():
        return Answer(404, b"", None, Refusal.CHALLENGE)
    text = said.get("hub.lease_seconds", str(int(LEASE)))
    if not text.isdecimal() or not 0 < len(text) <= 12 or int(text) == 0:
        return Answer(404, b"", None, Refusal.LEASE)
    lease = min(max(float(text), SHORTEST_LEASE), LONGEST_LEASE)
    active = msgspec.structs.replace(
        subscription, state=State.ACTIVE, asked=0.0, until=now + lease, renew=now + lease * RENEW_AT
    )
    return Answer(200, challenge.encode(), active)


def check(subscription: Subscription | None, signature: str, body: bytes, now: float) -> Refusal | None:
    """Why pushed content is not to be believed; None where it is. ``signature`` is the X-Hub-Signature header."""
    if subscription is None:
        return Refusal.UNKNOWN
    if len(body) > MAX_CONTENT:
        return Refusal.TOO_LARGE
    if not subscription.is_active(now):
        return Refusal.INACTIVE
    if not signature:
        return Refusal.UNSIGNED
    method, _, digest = signature.strip().partition("=")
    algorithm = _METHODS.get(method.lower())
    if algorithm is None:
        return Refusal.METHOD
    expected = hmac.new(subscription.secret.encode(), body, algorithm).hexdigest().encode()
    # Compared in constant time, so that nobody learns the digest from how long we look at it.
    believed = hmac.compare_digest(expected, digest.lower().encode("utf-8", "replace"))
    return None if believed else Refusal.SIGNATURE
