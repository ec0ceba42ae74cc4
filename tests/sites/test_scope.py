"""Scope: spans, patterns and types."""

from __future__ import annotations

import pytest

from fyke.errors import ConfigError
from fyke.sites.scope import SeedScope, Span
from fyke.url import Url
from fyke.values import Drop

SEEDS = [Url.parse("https://www.example.co.uk/start"), Url.parse("http://other.test:8080/")]


@pytest.mark.parametrize(
    ("href", "host", "domain"),
    [
        ("https://www.example.co.uk/a", True, True),
        ("http://www.example.co.uk:81/a", True, True),
        ("https://blog.example.co.uk/", False, True),
        ("https://example.co.uk/", False, True),
        ("https://elsewhere.co.uk/", False, False),
        ("http://other.test/", True, True),
        ("http://notother.test/", False, False),
    ],
)
def test_span(href: str, host: bool, domain: bool) -> None:
    url = Url.parse(href)
    assert (SeedScope(SEEDS, Span.HOST).judge(url) is None) is host
    assert (SeedScope(SEEDS, Span.DOMAIN).judge(url) is None) is domain
    assert SeedScope(SEEDS, Span.ANY).judge(url) is None


def test_where_a_seed_redirects_to_belongs_too() -> None:
    scope = SeedScope([Url("http://example.org/")])
    target = Url("https://www.example.org/")
    assert scope.judge(target) is Drop.SCOPE
    scope.admit(target)
    assert scope.judge(target) is None


def test_exclude_then_include() -> None:
    scope = SeedScope(SEEDS, Span.ANY, include=[r"/docs/", r"\?page="], exclude=[r"/docs/old"])
    assert scope.judge(Url("http://a.test/docs/x")) is None
    assert scope.judge(Url("http://a.test/x?page=2")) is None
    assert scope.judge(Url("http://a.test/docs/old/x")) is Drop.EXCLUDED
    assert scope.judge(Url("http://a.test/x")) is Drop.NOT_INCLUDED


def test_length_bounds_what_a_pattern_meets() -> None:
    scope = SeedScope(SEEDS, Span.ANY, exclude=[r"(a+)+$"])
    assert scope.judge(Url("http://a.test/" + "a" * 5000 + "b")) is Drop.LENGTH


def test_types_by_ending() -> None:
    scope = SeedScope(SEEDS, Span.ANY)
    assert scope.judge(Url("http://a.test/picture.JPG?x=1")) is Drop.TYPE
    assert scope.judge(Url("http://a.test/get?file=x.jpg")) is None
    assert scope.judge(Url("http://a.test/paper.pdf")) is None
    assert scope.judge(Url("http://a.test/sitemap.xml.gz")) is None
    assert SeedScope(SEEDS, Span.ANY, all_types=True).judge(Url("http://a.test/picture.jpg")) is None


def test_a_bad_pattern_is_the_users_mistake() -> None:
    with pytest.raises(ConfigError, match="--include"):
        SeedScope(SEEDS, include=["("])
