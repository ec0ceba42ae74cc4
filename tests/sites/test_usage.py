"""What documents and sites say of their use: elements, headers, robots.txt, tdmrep.json; whatever they send."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.formats.http import Head, parse_head
from fyke.reading.reading import Reader
from fyke.sites.robots import Robots
from fyke.sites.standing import Standing, Verdict
from fyke.sites.usage import TdmRules, joined, preferences, read_signals
from fyke.url import Url
from fyke.values import NO_SIGNALS, Signals, Usage

HERE = Url("https://site.test/a/page")
WIKI = Url("https://site.test/wiki/x")


def signals(markup: str, *headers: tuple[str, str]) -> Signals:
    head = Head(200, (("Content-Type", "text/html"), *headers))
    return Reader("fyke").read(f"<head>{markup}</head><p>Some text.".encode(), head, HERE).signals


def test_elements_and_headers_together() -> None:
    found = signals(
        '<meta name="robots" content="noindex, NoArchive"><meta name="fyke" content="noai">'
        '<meta name="otherbot" content="nosnippet"><meta name="tdm-reservation" content="1">'
        '<meta name="tdm-policy" content="https://site.test/terms.json">',
        ("X-Robots-Tag", "noimageai, otherbot: nosnippet"),
        ("Content-Usage", "train-ai=n, search=y;exp=2"),
        ("Content-Signal", "ai-input=yes"),
    )
    assert found.robots == ("noindex", "noarchive", "noai", "noimageai")
    assert found.noindex
    assert set(found.usage) == {
        Usage("tdm", False, "tdm-reservation"),
        Usage("train-ai", False, "content-usage"),
        Usage("search", True, "content-usage"),
        Usage("ai-input", True, "content-signal"),
    }
    assert found.policy == "https://site.test/terms.json"


def test_none_is_what_it_stands_for_and_silence_is_nothing() -> None:
    assert signals('<meta name=robots content="none">').robots == ("noindex", "nofollow")
    assert signals("") is NO_SIGNALS
    assert not signals('<meta name=robots content="index, follow">').noindex


def test_a_header_names_canonical_and_licence() -> None:
    link = '<https://site.test/true>; rel="canonical", </by>; rel=license'
    head = Head(200, (("Content-Type", "text/plain"), ("Link", link)))
    meta = Reader().read(b"plain text", head, HERE).meta
    assert (meta.canonical, meta.licence) == ("https://site.test/true", "https://site.test/by")
    page = b'<link rel=canonical href="/own"><p>text'
    assert Reader().read(page, Head(200, (("Link", link),)), HERE).meta.canonical == "https://site.test/own"


ROBOTS = b"""User-agent: *
Content-Signal: search=yes, ai-train=no
Content-Usage: /open/ train-ai=y
Content-Usage: train-ai=n
Allow: /

User-agent: fyke
Disallow: /private/
"""


def test_robots_txt_by_agent_and_path() -> None:
    rules = Robots.parse(ROBOTS)
    assert set(rules.usage("other", "/open/x")) == {
        Usage("search", True, "robots.txt"),
        Usage("ai-train", False, "robots.txt"),
        Usage("train-ai", True, "robots.txt"),
    }
    assert Usage("train-ai", False, "robots.txt") in rules.usage("other", HERE)
    assert rules.usage("fyke", HERE) == ()  # its own group says nothing
    standing = Standing.decode(Standing(Verdict.RULES, rules.encode()).encode())
    assert standing.rules().usage("other", HERE) == rules.usage("other", HERE)


def test_rules_that_older_versions_kept_are_read() -> None:
    import msgspec

    old = msgspec.msgpack.encode(([["*", [b"/a"], [b"/"], None]], ["s"]))
    assert Robots.decode(old).usage("fyke", "/a") == ()


def test_tdmrep_first_rule_that_matches() -> None:
    rules = TdmRules.parse(json.dumps([
        {"location": "/wiki/*/private", "tdm-reservation": 1},
        {"location": "/wiki/", "tdm-reservation": 0},
        {"location": "*.pdf$", "tdm-reservation": 1, "tdm-policy": "https://site.test/p.json"},
        {"location": "/", "tdm-reservation": 1}, "nonsense", {"location": 3}, {"location": "/x"},
    ]))  # fmt: skip
    assert len(rules) == 4
    assert rules.signals(WIKI).usage == (Usage("tdm", True, "tdmrep.json"),)
    assert not rules.signals(Url("https://site.test/wiki/a/b/private")).usage[0].allowed
    assert rules.signals(Url("https://site.test/a/b.pdf")).policy == "https://site.test/p.json"
    assert rules.signals(Url("https://site.test/a/b.pdf?x")).policy == ""
    assert not rules.signals(HERE).usage[0].allowed


def test_a_document_decides_before_its_site() -> None:
    own = Signals(("noai",), (Usage("tdm", True, "tdm-reservation"),))
    site = Signals((), (Usage("tdm", False, "tdmrep.json"), Usage("search", True, "robots.txt")), "policy")
    assert joined(own, site) == Signals(("noai",), (own.usage[0], site.usage[1]), "policy")
    assert joined(own, NO_SIGNALS) is own


@pytest.mark.parametrize("body", [b"", b"{}", b"[[[[", b"\xff\xfe", b'[{"location": "/", "tdm-reservation": true}]'])
def test_what_is_no_tdmrep_says_nothing(body: bytes) -> None:
    assert TdmRules.parse(body).signals(HERE) is NO_SIGNALS


def test_a_pattern_of_stars_takes_linear_time() -> None:
    rules = TdmRules.parse(json.dumps([{"location": "*a" * 200 + "$", "tdm-reservation": 1}]))
    assert rules.signals(Url("https://site.test/" + "a" * 5000 + "b")) is NO_SIGNALS


@given(st.text(), st.text())
def test_whatever_is_sent(first: str, second: str) -> None:
    head = parse_head(f"HTTP/1.1 200\r\nContent-Usage: {first}\r\ntdm-reservation: {second}\r\n\r\n".encode())
    found = read_signals((), head, [("content-signal", first), ("tdm-policy", second)])
    assert all(use.purpose and isinstance(use.allowed, bool) for use in found.usage)
    assert all(purpose for purpose, _ in preferences(first))
    Robots.parse(f"Content-Usage: {first}\nUser-agent: {second}").usage("fyke", "/")
    TdmRules.parse(first)
