"""Links of pages: what is found, what is dropped and why, and a memo that changes nothing but the time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.errors import UrlError
from fyke.formats.html import parse, parse_many
from fyke.formats.http import NO_HEAD, Head
from fyke.sites.links import MAX_LINKS, Directives, LinkMemo, PageLinks, find_links, find_many, read_directives
from fyke.sites.traps import seen_key
from fyke.store.cells import pack_links, unpack_links
from fyke.url import Url
from fyke.values import Drop, Link, Links

PAGE = Url.parse("http://site.test/dir/page.html?q=1")


def find(body: str, url: Url = PAGE, **more: object) -> PageLinks:
    return find_links(parse(body), url, LinkMemo(), **more)  # type: ignore[arg-type]


def targets(found: PageLinks) -> list[str]:
    return [link.target.href for link in found.links]


def test_lecture_notes_example() -> None:
    """A relative link of the Main Page is expanded."""
    page = Url.parse("http://en.wikipedia.org/wiki/Main_Page")
    found = find('<a href="/wiki/Wikipedia:General_disclaimer">Disclaimers</a>', page)
    url = Url("http://en.wikipedia.org/wiki/Wikipedia:General_disclaimer")
    assert found.links == (Link(url, "Disclaimers", ""),)


def test_every_kind_of_link() -> None:
    found = find(
        """<head><link rel=canonical href=/canon><link rel=alternate hreflang=de href=/de>
        <link rel=alternate type=application/rss+xml href=/feed.xml title=News><link rel=stylesheet href=/x.css>
        <link rel=next href=?q=2><meta http-equiv=refresh content="5; url=/soon"></head>
        <a href="a.html"> An  <b>anchor</b> </a><a href=/img><img alt="A picture"></a>
        <map><area href=/area alt=Area></map><iframe src=/frame></iframe>"""
    )
    assert [(link.target.target, link.text, link.rel) for link in found.links] == [
        ("/dir/a.html", "An anchor", ""),
        ("/img", "A picture", ""),
        ("/area", "Area", "area"),
        ("/frame", "", "iframe"),
        ("/canon", "", "canonical"),
        ("/de", "", "alternate"),
        ("/feed.xml", "News", "alternate"),
        ("/dir/page.html?q=2", "", "next"),
        ("/soon", "", "refresh"),
    ]
    assert found.canonical == Url("http://site.test/canon")
    assert found.feeds == (Url("http://site.test/feed.xml"),)
    assert found.refresh == Url("http://site.test/soon")


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("/other/", "http://site.test/other/x"),
        ("http://cdn.test/a/b", "http://cdn.test/a/x"),
        ("sub/", "http://site.test/dir/sub/x"),
        ("javascript:1", "http://site.test/dir/x"),
        ("file:///etc/", "http://site.test/dir/x"),
        ("http://[bad", "http://site.test/dir/x"),
    ],
)
def test_base(base: str, expected: str) -> None:
    assert targets(find(f'<base href="{base}"><a href=x>')) == [expected]


@pytest.mark.parametrize(
    ("href", "reason"),
    [
        ("javascript:void(0)", Drop.JAVASCRIPT),
        (" JavaScript:x", Drop.JAVASCRIPT),
        ("java\nscript:x", Drop.JAVASCRIPT),
        ("mailto:me@site.test", Drop.MAILTO),
        ("data:text/html,x", Drop.DATA),
        ("tel:+49", Drop.SCHEME),
        ("ftp://site.test/x", Drop.SCHEME),
        ("file:///etc/passwd", Drop.SCHEME),
        ("http://[bad", Drop.INVALID),
        ("http://", Drop.INVALID),
        ("#top", Drop.FRAGMENT),
        ("/" + "x" * 40_000, Drop.INVALID),
    ],
)
def test_dropped_and_counted(href: str, reason: Drop) -> None:
    found = find(f'<a href="{href}">x</a><a href="{href}">y</a><a href=/kept>')
    assert found.dropped == ((reason, 2),)
    assert targets(found) == ["http://site.test/kept"]


def test_nofollow_of_links_pages_and_headers() -> None:
    body = '<a rel="external NoFollow" href=/a><a href=/b>'
    assert targets(find(body)) == ["http://site.test/b"]
    for closed in (
        find(f'<meta name=robots content="noindex, nofollow">{body}'),
        find(f"<meta name=Robots content=NONE>{body}"),
        find(f"<meta name=fyke content=none>{body}", agent="fyke"),
        find(body, head=Head(200, (("X-Robots-Tag", "noindex, nofollow"),))),
    ):
        assert closed.links == ()
        assert closed.signals.noindex
        assert closed.dropped == ((Drop.NOFOLLOW, 2),)
    assert len(find(f"<meta name=otherbot content=none>{body}", agent="fyke").links) == 1


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("noindex", Directives(True, False)),
        ("otherbot: noindex, nofollow", Directives()),
        ("fyke: nofollow", Directives(False, True)),
        ("otherbot: noindex, fyke: nofollow", Directives(False, True)),
        ("unavailable_after: 25 Jun 2030 15:00:00 PST, noindex", Directives(True, False)),
        ("max-snippet:-1, nofollow", Directives(False, True)),
        ("", Directives()),
    ],
)
def test_x_robots_tag(header: str, expected: Directives) -> None:
    assert read_directives([], [header], "fyke") == expected


def test_a_hundred_thousand_links_are_bounded() -> None:
    found = find("".join(f"<a href=/x{i}>" for i in range(30_000)))
    assert len(found.links) == MAX_LINKS
    assert found.dropped == ((Drop.TOO_MANY_LINKS, 10_000),)


def test_addresses_are_counted_and_not_how_often_they_are_named() -> None:
    """An index of 124,000 hrefs names a few thousand documents; the last of them is found too."""
    many = "".join(f"<a href='/m{i % 100}.html#t{i}'>{i}</a><a href='#v{i}'>here</a>" for i in range(MAX_LINKS))
    found = find(many + "<a href='/last.html'>last</a>")
    assert len(found.links) == 101
    assert found.links.targets[-1].path == "/last.html"
    assert Drop.TOO_MANY_LINKS not in dict(found.dropped)


HREF = (
    st.sampled_from(
        [
            "",
            "?x",
            "#f",
            "a",
            "./a",
            "../a",
            "/a",
            "//other.test/a",
            "http://site.test/a",
            "a?b#c",
            "a:b",
            "a?u=http://x/",
            "mailto:x",
            " a",
            "a#b#c",
            "/a#" + "long" * 9,
            "http://site.test/a#x",
            "#",
            " #f",
            "javascript:a('#')",
            "..",
            "../../a#f",
            "a/../b/.",
        ]
    )
    | st.text("a#&;35x/.? \u00e9", max_size=10)
    | st.text(max_size=10)
)
PATH = st.sampled_from(["/", "/a", "/a/", "/a/b", "/a/b?c/d", "/a/b/c"])


_WHITE = "".join(map(chr, range(33)))


def _joined(url: Url, hrefs: list[str]) -> Iterator[Url]:
    for href in hrefs:
        with suppress(UrlError):
            target = url.join(href)
            if target.scheme.startswith("http") and not href.lstrip(_WHITE).startswith("#"):
                yield target


def _written(href: str, n: int) -> str:
    """An href as an attribute; of every other one, # and / are character references."""
    plain = escape(href)
    return plain.replace("#", "&#35;").replace("/", "&#x2f;") if n % 2 else plain


BATCHES = st.lists(st.lists(st.tuples(PATH, st.lists(HREF, max_size=6)), max_size=4), max_size=4)


@given(BATCHES, st.sampled_from([0, 3, 12, 1000]))
def test_memo_changes_nothing(batches: list[list[tuple[str, list[str]]]], entries: int) -> None:
    """Whatever was met before, and however little is kept, a link leads where joining it leads."""
    memo = LinkMemo(entries, seed=5)
    for batch in batches:
        urls = [Url("http://site.test" + path) for path, _ in batch]
        pages = parse_many(["".join(f'<a href="{_written(href, n)}">' for n, href in enumerate(h)) for _, h in batch])
        found = list(find_many([(page, url, NO_HEAD) for page, url in zip(pages, urls, strict=True)], memo))
        for page, url, links in zip(pages, urls, found, strict=True):
            expected = list(_joined(url, page.links().hrefs))
            assert [link.target for link in links.links] == expected
            assert links.keys.tolist() == [seen_key(target, seed=5) for target in expected]


ANCHORS = st.lists(
    st.tuples(
        st.sampled_from(["/a", "b", "http://o.test/" + "c" * 40, "http://o.test/" + "d" * 300, "mailto:x", "?q"]),
        st.sampled_from(["", "a", " two  words ", "caf\xe9", "a &amp; b", "x" * 31, "y" * 32, "z" * 300]),
        st.sampled_from(["", "", "", "external"]),
    ),
    max_size=20,
)


@pytest.mark.kernel
@given(st.lists(ANCHORS, min_size=1, max_size=4), st.booleans())
def test_links_that_are_packed_at_once_are_those_that_are_made_one_by_one(
    batch: list[list[tuple[str, str, str]]], more: bool
) -> None:
    def found(memo: LinkMemo) -> list[PageLinks]:
        pages = parse_many(
            [
                ("<link rel=next href=/next>" if more else "")
                + "".join(f'<a href="{href}" rel="{rel}">{text}</a>' for href, text, rel in anchors)
                for anchors in batch
            ]
        )
        return list(find_many([(page, Url("http://site.test/x/y"), NO_HEAD) for page in pages], memo))

    memo = LinkMemo(1000)
    expected = found(LinkMemo(0))
    for _ in range(2):
        for one, other in zip(found(memo), expected, strict=True):
            columns = Links(list(other.links.hrefs), list(other.links.texts), list(other.links.rels))
            packed = pack_links(one.links)
            assert packed == pack_links(columns)
            assert len(one.links) == len(columns)
            assert one.links.has_texts == any(columns.texts)
            assert one.links == unpack_links(packed) == columns
            assert one.dropped == other.dropped
            assert one.keys.tolist() == other.keys.tolist()


def test_many_links_are_packed() -> None:
    hrefs = [f"http://o.test/{n}" for n in range(17_000)]
    memo, page = LinkMemo(20_000), "".join(f"<a href={href}>{href}</a>" for href in hrefs)
    for _ in range(2):
        links = find_links(parse(page), Url("http://site.test/"), memo).links
        assert links.packed is not None
        assert links == unpack_links(links.packed)
        assert list(links.hrefs) == hrefs == list(links.texts)


def test_links_that_are_too_much_to_pack_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short href may stand for a long address, very often."""
    memo, page = LinkMemo(), parse("<a href=x>x</a>" * 300)
    url = Url(f"http://site.test/{'long' * 400}/")
    every = [find_links(page, url, memo).links for _ in range(2)]
    monkeypatch.setattr("fyke.sites.memo._MAX_PACKED", 300 * len(url.href))
    every.append(find_links(page, url, memo).links)
    assert [links.packed is None for links in every] == [False, False, True]
    assert every[0] == every[1] == every[2]


def test_memo_is_bounded() -> None:
    memo = LinkMemo(50)
    for i in range(40):
        page = f"<link rel=next href=y{i}>" + f"<a href=/{i}>" * 3 + f"<a href=x{i}><a href=http://o.test/{i}>"
        find_links(parse(page), Url(f"http://h{i}.test/"), memo)
        assert len(memo) <= 100


@pytest.mark.kernel
def test_memo_knows_hrefs_by_site_directory_and_everywhere() -> None:
    memo, page = LinkMemo(100), parse("<a href=/r><a href=r><a href=http://o.test/r><a href=?r>")
    hosts = ["http://a.test/x/", "http://a.test/y/", "http://b.test/x/"]
    for url in map(Url, [*hosts, *hosts]):
        assert targets(find_links(page, url, memo)) == [
            f"{url.site}/r", f"{url.href}r", "http://o.test/r", f"{url.href}?r",
        ]  # fmt: skip
    assert len(memo) == 2 + 3 + 1


def test_two_hundred_thousand_nested_tags_hide_no_link() -> None:
    found = find("<a href=/first>" + "<div>" * 200_000 + "<a href=/last>")
    assert targets(found)[0] == "http://site.test/first"
    assert set(targets(found)) == {"http://site.test/first", "http://site.test/last"}
