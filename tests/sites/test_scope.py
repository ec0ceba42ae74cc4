"""Scope: spans, patterns and types."""

from __future__ import annotations

import pytest

from fyke.config import build
from fyke.crawl.run.settings import CrawlSettings
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


@pytest.mark.parametrize(
    ("span", "belong", "not_"),
    [
        ("https://X.test/docs/", ["https://x.test/docs/", "https://x.test/docs/a?b"], ["https://x.test/doc", "http://x.test/docs/"]),
        ("https://x.test", ["https://x.test/", "https://x.test/a"], ["https://x.test.evil.test/", "https://x.test:81/"]),
        ("http://x.test:80/a b/../ü", ["http://x.test/%C3%BC"], ["http://x.test/a%20b/"]),
        ("http://x.test/?q=", ["http://x.test/?q=1"], ["http://x.test/"]),
        (".edu", ["https://a.edu/", "http://b.c.edu:8080/x"], ["https://edu.test/", "https://aedu/", "https://a.edu.test/"]),
        (".Example.ORG", ["https://example.org/", "https://a.example.org/"], ["https://notexample.org/"]),
        (".рф", ["https://пример.рф/"], ["https://a.rf/"]),
    ],
)  # fmt: skip
def test_a_prefix_or_a_suffix_asks_for_no_seed(span: str, belong: list[str], not_: list[str]) -> None:
    scope = SeedScope(SEEDS, span)
    for href in not_:
        scope.admit(Url.parse(href))  # where a seed leads is still for the rule to say
    assert [scope.judge(Url.parse(href)) for href in belong] == [None] * len(belong)
    assert [scope.judge(Url.parse(href)) for href in not_] == [Drop.SCOPE] * len(not_)
    assert scope.judge(SEEDS[0]) is Drop.SCOPE


NONSENSE = [
    *("", ".", "..", "..edu", ".edu.", ".a..b", ".edu/x", ".edu:80", ".a b", ".edu?x", ".a@b", ".1", ".[::1]", ".a%2f"),
    *("hosts", "HOST", "x.test", "ftp://x.test/", "https://", "https:///", "http://a b/", "example.org/docs/", "*.edu"),
]  # fmt: skip


@pytest.mark.parametrize("span", NONSENSE)
def test_nonsense_is_refused_in_a_sentence(span: str) -> None:
    with pytest.raises(ConfigError, match=r"--scope .* such as \.edu"):
        SeedScope(SEEDS, span)
    with pytest.raises(ConfigError, match="--scope"):
        build(CrawlSettings, {"scope": span})


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
