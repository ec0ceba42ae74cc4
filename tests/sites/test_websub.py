"""WebSub as values: who is believed, and that nothing else changes anything."""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import parse_qs, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.sites.feed import Feed, FeedKind, parse_feed
from fyke.sites.websub import (
    LONGEST_LEASE,
    MAX_CONTENT,
    PATIENCE,
    RENEW_AT,
    RETRY,
    SHORTEST_LEASE,
    Refusal,
    State,
    Subscription,
    Topic,
    check,
    discover,
    verify,
)

NOW = 1_794_700_800.0
TOPIC = "https://a.example/feed"
NEW = Subscription(TOPIC, "https://hub.example/", "token", "secret")
ASKED, FORM = NEW.ask("https://us.example/hooks/", NOW)


def _query(**said: str) -> str:
    return urlencode({"hub." + name: value for name, value in said.items()})


ACTIVE = verify(ASKED, _query(mode="subscribe", topic=TOPIC, challenge="xyz", lease_seconds="1000"), NOW).subscription


def test_the_way_of_a_subscription() -> None:
    assert NEW.is_due(NOW)
    assert not NEW.is_active(NOW)
    form = {name: values[0] for name, values in parse_qs(FORM.decode()).items()}
    assert form == {
        "hub.callback": "https://us.example/hooks/token",
        "hub.mode": "subscribe",
        "hub.topic": TOPIC,
        "hub.lease_seconds": "864000",
        "hub.secret": "secret",
    }
    assert not ASKED.is_due(NOW + 1)  # the hub has it
    verdict = verify(ASKED, _query(mode="subscribe", topic=TOPIC, challenge="a b&c", lease_seconds="1000"), NOW)
    assert (verdict.status, verdict.body, verdict.refusal) == (200, b"a b&c", None)
    active = verdict.subscription
    assert active is not None
    assert (active.state, active.until, active.renew) == (State.ACTIVE, NOW + 1000, NOW + 1000 * RENEW_AT)
    assert active.is_active(NOW + 999)
    assert not active.is_active(NOW + 1000)  # back to polling
    assert not active.is_due(NOW + 799)
    assert active.is_due(NOW + 801)
    renewed, _ = active.ask("https://us.example/", NOW + 801)
    assert renewed.is_active(NOW + 900)  # while it waits for the hub
    assert Subscription.decode(renewed.encode()) == renewed


@pytest.mark.parametrize("status", [0, 404, 500])
def test_a_hub_that_does_not_want_us_is_left_alone_for_a_day(status: int) -> None:
    refused = ASKED.answered(status, NOW)
    assert refused.state is State.DENIED
    assert not refused.is_due(NOW + RETRY - 1)
    assert refused.is_due(NOW + RETRY)
    assert ASKED.answered(202, NOW) == ASKED


def test_a_hub_that_never_asks_back_is_given_up() -> None:
    assert ASKED.overdue(NOW + PATIENCE - 1) is ASKED
    assert ASKED.overdue(NOW + PATIENCE).state is State.DENIED
    assert ACTIVE is not None
    renewal, _ = ACTIVE.ask("https://us.example/", NOW + 100)
    assert renewal.overdue(NOW + 100 + PATIENCE).is_active(NOW + 100 + PATIENCE)  # the old lease still runs


@pytest.mark.parametrize(
    ("subscription", "query", "refusal"),
    [
        (None, _query(mode="subscribe", topic=TOPIC, challenge="x"), Refusal.UNKNOWN),
        (ASKED, _query(mode="subscribe", topic=TOPIC + "2", challenge="x"), Refusal.TOPIC),
        (ASKED, "", Refusal.TOPIC),
        (ASKED, _query(mode="unsubscribe", topic=TOPIC, challenge="x"), Refusal.NOT_ASKED),
        (NEW, _query(mode="subscribe", topic=TOPIC, challenge="x"), Refusal.NOT_ASKED),
        (ACTIVE, _query(mode="subscribe", topic=TOPIC, challenge="x"), Refusal.NOT_ASKED),
        (ASKED, _query(mode="subscribe", topic=TOPIC), Refusal.CHALLENGE),
        (ASKED, _query(mode="subscribe", topic=TOPIC, challenge="x" * 5000), Refusal.CHALLENGE),
        (ASKED, _query(mode="subscribe", topic=TOPIC, challenge="a\r\nb"), Refusal.CHALLENGE),
        (ASKED, _query(mode="subscribe", topic=TOPIC, challenge="x", lease_seconds="-5"), Refusal.LEASE),
        (ASKED, _query(mode="subscribe", topic=TOPIC, challenge="x", lease_seconds="0"), Refusal.LEASE),
        (ASKED, _query(mode="subscribe", topic=TOPIC, challenge="x", lease_seconds="soon"), Refusal.LEASE),
    ],
)
def test_wrong_challenges_change_nothing(subscription: Subscription | None, query: str, refusal: Refusal) -> None:
    verdict = verify(subscription, query, NOW)
    assert (verdict.status, verdict.body, verdict.subscription, verdict.refusal) == (404, b"", None, refusal)


def test_a_denial_ends_it() -> None:
    verdict = verify(ACTIVE, _query(mode="denied", topic=TOPIC, reason="no"), NOW)
    assert verdict.subscription is not None
    assert verdict.subscription.state is State.DENIED
    assert not verdict.subscription.is_active(NOW)


@given(st.integers(1, 10**12 - 1))
def test_leases_are_bounded(seconds: int) -> None:
    query = _query(mode="subscribe", topic=TOPIC, challenge="x", lease_seconds=str(seconds))
    active = verify(ASKED, query, NOW).subscription
    assert active is not None
    assert NOW + SHORTEST_LEASE <= active.until <= NOW + LONGEST_LEASE


@pytest.mark.parametrize("method", ["sha1", "sha256", "sha384", "sha512"])
def test_signatures(method: str) -> None:
    body = b"<rss/>"
    digest = hmac.new(b"secret", body, getattr(hashlib, method)).hexdigest()
    assert check(ACTIVE, f"{method}={digest}", body, NOW) is None
    assert check(ACTIVE, f"{method.upper()}={digest.upper()}", body, NOW) is None
    assert check(ACTIVE, f"{method}={digest}", body + b" ", NOW) is Refusal.SIGNATURE
    assert check(ACTIVE, f"{method}={digest[:-1]}", body, NOW) is Refusal.SIGNATURE
    forged = hmac.new(b"guess", body, getattr(hashlib, method)).hexdigest()
    assert check(ACTIVE, f"{method}={forged}", body, NOW) is Refusal.SIGNATURE
    assert check(ACTIVE, f"{method}={digest}", body, NOW + 1000) is Refusal.INACTIVE


@pytest.mark.parametrize(
    ("subscription", "signature", "body", "refusal"),
    [
        (None, "sha1=00", b"", Refusal.UNKNOWN),
        (ASKED, "sha1=00", b"", Refusal.INACTIVE),
        (ACTIVE, "", b"", Refusal.UNSIGNED),
        (ACTIVE, "md5=00", b"", Refusal.METHOD),
        (ACTIVE, "sha256", b"", Refusal.SIGNATURE),
        (ACTIVE, "sha256=é", b"", Refusal.SIGNATURE),
        (ACTIVE, "sha256=\udcff", b"", Refusal.SIGNATURE),
        (ACTIVE, "sha1=00", b"x" * (MAX_CONTENT + 1), Refusal.TOO_LARGE),
    ],
)
def test_what_is_not_believed(subscription: Subscription | None, signature: str, body: bytes, refusal: Refusal) -> None:
    assert check(subscription, signature, body, NOW) is refusal


@given(st.text(max_size=100), st.binary(max_size=100))
def test_nobody_guesses_a_signature(signature: str, body: bytes) -> None:
    assert check(ACTIVE, signature, body, NOW) is not None


@given(st.text(max_size=200))
def test_whatever_a_query_says_it_is_answered(query: str) -> None:
    assert verify(ASKED, query, NOW).status in (200, 404)


def test_hubs_are_found_in_headers_first_then_in_the_feed() -> None:
    feed = parse_feed(
        '<feed><link rel="hub" href="https://hub.example/a"/><link rel="self" href="https://a.example/feed.atom"/></feed>'
    )
    assert discover([], feed, TOPIC) == Topic("https://a.example/feed.atom", "https://hub.example/a")
    links = ['<https://hub2.example/>; rel="hub", </other>; type=x; rel=self', "<https://hub3.example/>; rel=hub"]
    assert discover(links, feed, TOPIC) == Topic("https://a.example/other", "https://hub2.example/")
    assert discover([], Feed(FeedKind.RSS), TOPIC) is None
    theirs = ['<https://victim.example/feed>; rel="self"', "<https://evil.example/hub>; rel=hub"]
    assert discover(theirs, feed, TOPIC) == Topic(TOPIC, "https://evil.example/hub"), "a site speaks for itself"
    assert discover(["<mailto:x@y.example>; rel=hub"], Feed(FeedKind.RSS), TOPIC) is None
    assert discover(["<http://[>; rel=hub"], Feed(FeedKind.RSS), TOPIC) is None
