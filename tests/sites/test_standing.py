"""What a robots.txt answer means over time: status codes, the 30 days, and lifetimes."""

from __future__ import annotations

import pytest

from fyke.sites.standing import DAY, Permission, Standing, Verdict, lifetime, stand
from fyke.url import Url

PAGE = Url.parse("http://site.test/private/x")
RULES = b"User-agent: fyke\nDisallow: /private/\nCrawl-delay: 7\n\nUser-agent: other\nDisallow: /\n"


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (200, Verdict.RULES),
        (204, Verdict.RULES),
        (301, Verdict.ALLOW),
        (401, Verdict.ALLOW),
        (403, Verdict.ALLOW),
        (404, Verdict.ALLOW),
        (410, Verdict.ALLOW),
        (429, Verdict.DENY),
        (500, Verdict.DENY),
        (503, Verdict.DENY),
        (0, Verdict.DENY),
    ],
)
def test_status(status: int, verdict: Verdict) -> None:
    assert stand(None, status, 100.0, user_agent="fyke").verdict is verdict


def test_rules_are_kept_for_our_agent() -> None:
    standing = stand(None, 200, 100.0, user_agent="fyke/1", body=RULES, cache_control="max-age=3600")
    assert standing.expires == 3700.0
    assert set(standing.rules().groups) == {"fyke"}
    permission = Permission(Standing.decode(standing.encode()), "fyke/1")
    assert not permission.allows(PAGE)
    assert permission.allows(Url.parse("http://site.test/"))
    assert permission.delay == 7.0


def test_thirty_days_of_failure() -> None:
    good = stand(None, 200, 0.0, user_agent="fyke", body=RULES)
    standing, now, asked = good, good.expires, 0
    while now < 40 * DAY:
        standing = stand(standing, 503, now, user_agent="fyke")
        failing = now - good.expires
        expected = Verdict.DENY if failing < 30 * DAY else Verdict.RULES
        assert standing.verdict is expected
        assert Permission(standing, "fyke").allows(Url.parse("http://site.test/")) is (expected is Verdict.RULES)
        assert 60 <= standing.expires - now <= DAY
        now = standing.expires
        asked += 1
    assert asked < 60
    assert stand(standing, 200, now, user_agent="fyke").failing_since == 0.0


def test_a_site_that_never_answered_is_open_after_thirty_days() -> None:
    first = stand(None, 0, 1000.0, user_agent="fyke")
    assert not Permission(first, "fyke").allows(PAGE)
    assert Permission(stand(first, 500, 1000.0 + 30 * DAY, user_agent="fyke"), "fyke").allows(PAGE)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", DAY),
        ("max-age=3600", 3600),
        ("public, Max-Age = 3600", 3600),
        ("max-age=0", 300),
        ("no-cache", 300),
        ("max-age=999999999", DAY),
        ("s-maxage=600, max-age=7200", 7200),
        ("max-age=banana", DAY),
    ],
)
def test_lifetime(header: str, seconds: float) -> None:
    assert lifetime(header) == seconds
