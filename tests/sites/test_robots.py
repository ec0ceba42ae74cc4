"""robots.txt: the lecture notes' examples, Google's 400 expectations, and hostile files."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.lecture.texts import CROFT_ROBOTS, MANNING_ROBOTS
from fyke.sites.robots import MAX_BYTES, Robots, product_token
from fyke.url import Url

# Rows of Google's own reading where fyke follows the RFC; docs/robots.md gives the reasons.
DEPARTURES = {"correctness/accepted-mistakes#3", "correctness/index-page#1"}


def test_first_example_of_the_lecture_notes() -> None:
    robots = Robots.parse(CROFT_ROBOTS)
    for path in ("/private/x", "/confidential/", "/other/a", "/other/public"):
        assert not robots.allows("fyke", path), path
        assert robots.allows("FavoredCrawler", path), path
    for path in ("/private", "/other/public/a", "/"):
        assert robots.allows("fyke", path), path
    assert robots.sitemaps == ("http://mysite.com/sitemap.xml.gz",)


def test_second_example_of_the_lecture_notes() -> None:
    robots = Robots.parse(MANNING_ROBOTS.encode())
    assert not robots.allows("fyke", "http://host/yoursite/temp/x")
    assert robots.allows("fyke", Url.parse("http://host/yoursite/temp"))
    assert robots.allows("searchengine", "http://host/yoursite/temp/x")


def test_googles_expectations(shared_data: Path) -> None:
    wrong = set()
    rows = [json.loads(line) for line in (shared_data / "robots" / "spec.jsonl").read_text("utf-8").splitlines()]
    for row in rows:
        body = base64.b64decode(row["robots_b64"]) if row.get("robots_b64") else row["robots"]
        if Robots.parse(body).allows(row["agent"], row["url"]) != row["allowed"]:
            wrong.add(row["name"])
            assert row["reading"] == "google", row
    assert len(rows) == 400
    assert wrong == DEPARTURES


@pytest.mark.parametrize(
    ("rule", "url", "matches"),
    [
        ("/a%3cd.html", "/a%3Cd.html", True),
        ("/a%3Cd.html", "/a<d.html", True),
        ("/~mak/", "/%7Emak/x", True),
        ("/%62%61%7A", "/baz", True),
        ("/foo?u=https://x", "/foo?u=https%3A%2F%2Fx", True),
        ("/ツ", "/%E3%83%84", True),
        ("/%E3%83%84", "/ツ", True),
        ("/with-a-%2A.html", "/with-a-*.html", True),
        ("/with-a-%2A.html", "/with-a-b.html", False),
        ("/cash-%24", "/cash-$", True),
        ("/cash-$", "/cash-$", False),
        ("/a$b", "/a$b", True),
        ("*.gif$", "/x/y.gif", True),
        ("*.gif$", "/x/y.gif?1", False),
        ("/a*b*c", "/a-c-b-c", True),
        ("/a*b*c", "/a-c-b", False),
        ("/a*$", "/abc", True),
        ("/ab*b$", "/ab", False),
        ("/fish", "/Fish", False),
        ("/$", "/", True),
        ("/$", "/x", False),
        ("**", "/x", True),
    ],
)
def test_disallow_by_the_rfcs_equivalence(rule: str, url: str, matches: bool) -> None:
    assert Robots.parse(f"User-agent: *\nDisallow: {rule}\n").allows("fyke", url) is not matches


def test_longest_rule_wins_and_allow_wins_ties() -> None:
    robots = Robots.parse("User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\nAllow: /same\nDisallow: /same\n")
    assert [robots.allows("x", p) for p in ("/a", "/a/b", "/a/b/c", "/same")] == [False, True, False, True]


def test_an_escaped_rule_is_as_long_as_it_is_written() -> None:
    robots = Robots.parse("User-agent: *\nAllow: /%41%42\nDisallow: /%41%42%43\n")
    assert not robots.allows("fyke", "/%41%42%43")


def test_groups_merge_and_other_lines_do_not_end_them() -> None:
    robots = Robots.parse(
        "User-agent: fyke\nDisallow: /1\n\nUser-agent: other\nSitemap: /s.xml\nUser-agent: FYKE/2.0\nDisallow: /2\n"
    )
    assert not robots.allows("fyke/0.1 (+https://example.org/)", "/1")
    assert not robots.allows("fyke", "/2")
    assert robots.allows("other", "/1")
    assert not robots.allows("other", "/2")


def test_delay_is_that_of_the_agents_named_so_far() -> None:
    robots = Robots.parse(
        "User-agent: slow\nCrawl-delay: 60\n\nUser-agent: *\nDisallow: /x\nCrawl-delay: 1.5\nCrawl-delay: nan\n"
    )
    assert robots.delay("slow") == 60
    assert robots.delay("fyke") == 1.5
    assert Robots.parse("").delay("fyke") is None


@pytest.mark.parametrize(
    ("agent", "token"),
    [
        ("fyke/0.1 (+https://x)", "fyke"),
        ("Mozilla/5.0 (compatible; MyBot/2; +https://x)", "mybot"),
        ("Foo Bar", "foo bar"),
        ("", ""),
    ],
)
def test_product_token(agent: str, token: str) -> None:
    assert product_token(agent) == token


def test_reads_500_kib_and_drops_the_cut_line() -> None:
    filler = b"# " + b"x" * 97 + b"\n"
    body = b"User-agent: *\nDisallow: /in\n" + filler * (MAX_BYTES // 100)
    body = body[: MAX_BYTES - 12] + b"\nAllow: /abcdefgh\nDisallow: /out\n"
    robots = Robots.parse(body)
    assert not robots.allows("fyke", "/in")
    assert robots.allows("fyke", "/out")
    assert robots.groups["*"].allow == ()


def test_hostile_pattern_is_linear() -> None:
    """A backtracking matcher would need 2^400 steps for this."""
    robots = Robots.parse("User-agent: *\nDisallow: /" + "*a" * 400 + "*b$\n")
    assert robots.allows("fyke", "/" + "a" * 20_000 + "c")


def test_thousands_of_patterns_forbid_rather_than_cost() -> None:
    rules = "".join(f"Disallow: /shop/*?{'x' * (i % 7)}{i}\nAllow: /shop/*!{i}\n" for i in range(5_000))
    robots = Robots.parse("User-agent: *\n" + rules)
    assert not robots.allows("fyke", "/shop/a?17")
    assert not robots.allows("fyke", "/shop/other"), "what is beyond the limit is read as Disallow: /shop/"
    assert robots.allows("fyke", "/elsewhere")
    few = Robots.parse("User-agent: *\n" + "".join(f"Disallow: /shop/*?{i}$\n" for i in range(900)))
    assert few.allows("fyke", "/shop/other")
    assert not few.allows("fyke", "/shop/x?17")


def test_keeps_only_our_group_and_star() -> None:
    kept = Robots.parse(CROFT_ROBOTS + "User-agent: fyke\nDisallow: /mine\nCrawl-delay: 3\n").keep("fyke/1")
    assert set(kept.groups) == {"fyke", "*"}
    again = Robots.decode(kept.encode())
    assert again.groups == kept.groups
    assert again.sitemaps == kept.sitemaps
    assert not again.allows("fyke", "/mine")


@given(st.binary(max_size=300), st.text(max_size=20), st.text(max_size=60))
def test_never_raises(body: bytes, agent: str, url: str) -> None:
    robots = Robots.parse(body)
    assert robots.allows(agent, url) in (True, False)
    assert Robots.decode(robots.encode()).groups == robots.groups


RULE = st.text("ab/*$", min_size=1, max_size=6)


@given(st.lists(st.tuples(st.booleans(), RULE), max_size=5), st.text("ab/", max_size=8))
def test_agrees_with_regular_expressions(rules: list[tuple[bool, str]], path: str) -> None:
    """The model: translate each rule to a regular expression, take the longest that matches."""
    best = (-1, True)
    for allow, rule in rules:
        anchored = rule.endswith("$")
        body = rule.removesuffix("$")
        pattern = ".*".join(re.escape(piece) for piece in body.split("*")) + (r"\Z" if anchored else "")
        if re.match(pattern, "/" + path):
            best = max(best, (len(rule), allow))
    text = "User-agent: *\n" + "".join(f"{'Allow' if allow else 'Disallow'}: {rule}\n" for allow, rule in rules)
    assert Robots.parse(text).allows("fyke", "/" + path) is best[1]
