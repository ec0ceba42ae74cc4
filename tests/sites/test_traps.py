"""Traps are cut off after a bounded number of pages; ordinary sites are let through."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.sites.traps import HostHistory, TrapJudge, TrapLimits, repeats, seen_form
from fyke.url import Url
from fyke.values import Drop

NOW = 1_700_000_000.0  # November 2023


def judge(
    target: str, depth: int = 1, limits: TrapLimits | None = None, host: HostHistory | None = None
) -> Drop | None:
    judged = TrapJudge(limits or TrapLimits())
    return judged.judge(Url("http://site.test" + target), depth, NOW, host or HostHistory())


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("/", None),
        ("/docs/api/v1/users/users.html", None),
        ("/2023/11/11/11/story.html", None),
        ("/a/b/c/a/d", None),
        ("/news/2023/11/14/title", None),
        ("/search?q=x&page=2", None),
        ("/events/2024/05/", None),
        ("/calendar/about.html", None),
        ("/a/b/a/b/a/b", Drop.REPETITION),
        ("/x/x/x/", Drop.REPETITION),
        ("/archive/deep/more/deep/more/", Drop.REPETITION),
        ("/a/a/b/b", Drop.REPETITION),
        ("/" + "/".join(f"s{i}" for i in range(30)), Drop.PATH_DEPTH),
        ("/" + "x" * 3000, Drop.LENGTH),
        ("/f?" + "&".join(f"p{i}=1" for i in range(30)), Drop.QUERY),
        ("/calendar/2031/05/", Drop.CALENDAR),
        ("/calendar/0800/05/", Drop.CALENDAR),
        ("/cal?year=2050&month=1", Drop.CALENDAR),
        ("/events?date=1850-01-01", Drop.CALENDAR),
    ],
)
def test_addresses(target: str, reason: Drop | None) -> None:
    assert judge(target) is reason


def test_limits_that_the_user_set() -> None:
    limits = TrapLimits(max_depth=3, max_host_pages=2)
    host = HostHistory()
    assert judge("/a", 4, limits, host) is Drop.DEPTH
    assert [judge(f"/{i}", 3, limits, host) for i in range(4)] == [None, None, Drop.HOST_PAGES, Drop.HOST_PAGES]


def test_endless_calendar_is_cut_off() -> None:
    host, let_through = HostHistory(), 0
    for month in range(24 * 200):  # two centuries, both ways from the door
        if (
            judge(f"/calendar/{2023 + (month // 12) * (1 if month % 2 else -1):04}/{month % 12 + 1:02}/", host=host)
            is None
        ):
            let_through += 1
    assert 0 < let_through <= 200


def test_growing_paths_are_cut_off() -> None:
    """Every page leads to three longer paths: without a rule there are 3ⁿ of them."""
    host, layer, let_through = HostHistory(), ["/archive/deep/"], 0
    while layer:
        layer = [f"{path}{word}/" for path in layer for word in ("deep", "deeper", "more")]
        layer = [path for path in layer if judge(path, host=host) is None]
        let_through += len(layer)
        assert let_through < 100
    assert let_through


def test_facets_explode_and_catalogues_do_not() -> None:
    host = HostHistory()
    facets = ["&".join(f"f{k}={v}" for k, v in enumerate(values)) for values in product(range(7), repeat=4)]
    reasons = [judge(f"/shop?{query}", host=host) for query in facets]
    assert reasons.count(None) == 500
    assert set(reasons) == {None, Drop.QUERY}
    assert all(judge(f"/item?id={i}", host=host) is None for i in range(3000))


def test_a_template_of_duplicates_is_given_up() -> None:
    judged, host = TrapJudge(), HostHistory()
    for i in range(40):
        url = Url(f"http://site.test/thread/{i}?view=print")
        if judged.judge(url, 1, NOW, host) is None:
            judged.report(url, host, text=1000 + i, duplicate=i > 0)
    assert judged.judge(Url("http://site.test/thread/99?view=print"), 1, NOW, host) is Drop.SAME_CONTENT
    assert judged.judge(Url("http://site.test/thread/99"), 1, NOW, host) is None
    assert host.urls <= 32


def test_soft_errors() -> None:
    judged, host = TrapJudge(), HostHistory()
    said = [
        judged.report(Url(f"http://site.test/{name}"), host, 77 << 20, duplicate=False)
        for name in "abcdefghijklmnopqrstuvw"
    ]
    assert said.index(Drop.SOFT_ERROR) == 19


@pytest.mark.parametrize(
    ("href", "form"),
    [
        ("http://a.test/?sid=0123456789abcdef", "http://a.test/"),
        ("http://a.test/p?PHPSESSID=x&id=3", "http://a.test/p?id=3"),
        ("http://a.test/p?id=3&session_id=x", "http://a.test/p?id=3"),
        ("http://a.test/p;jsessionid=AB12?x=1", "http://a.test/p?x=1"),
        ("http://a.test/(S(abcdefghijklmnopqrstuvwx))/p", "http://a.test/p"),
        ("http://a.test/p?reside=1&aside=2", "http://a.test/p?reside=1&aside=2"),
        ("http://a.test/p?a=b", "http://a.test/p?a=b"),
        ("http://a.test/p?", "http://a.test/p?"),
    ],
)
def test_seen_form(href: str, form: str) -> None:
    assert seen_form(Url(href)) == form


@given(st.lists(st.sampled_from("ab12"), max_size=12))
def test_repeats_holds_for_longer_paths_too(segments: list[str]) -> None:
    if repeats(segments):
        assert repeats([*segments, "x"])
        assert repeats(["x", *segments])


@given(st.lists(st.tuples(st.text("ab01/?&=;", max_size=20), st.integers(0, 3)), max_size=50))
def test_history_is_bounded_and_nothing_raises(pages: list[tuple[str, int]]) -> None:
    judged, host = TrapJudge(TrapLimits(template_pages=2, same_text=2)), HostHistory()
    for target, text in pages:
        url = Url.parse("http://site.test/" + target)
        judged.judge(url, 1, NOW, host)
        judged.report(url, host, text, duplicate=bool(text))
    assert max(len(host.budgets), len(host.templates), len(host.texts)) <= 512
