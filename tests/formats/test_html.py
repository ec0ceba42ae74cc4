"""A parsed page: what its head and links say, against browsers' rules and a second parser."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from fyke.formats import html
from fyke.formats.encoding import decoded
from fyke.formats.markup import fold

PAGE = """<!doctype html><html lang="en-GB"><head><title> A \n title &amp; more </title><base href="/sub/">
<meta name=Robots content="noindex, FOLLOW"><meta name=fyke content=nofollow><meta property="og:title" content="Open">
<link rel="Canonical" href="https://example.org/true"><link rel=stylesheet href=a.css>
<link rel="alternate" type="application/rss+xml; charset=utf-8" href="/feed" title="News">
<link rel=alternate hreflang=de href=/de/><meta http-equiv=refresh content="5; URL='next.html' "></head>
<body><a href=" one "  rel="NoFollow  UGC">the <b>first</b>
 link</a><a name=x>no link</a><a href=two><img src=p alt="a picture"></a>
<map><area href=three alt=Area></map><iframe src=four title=Frame></iframe><object data=five.pdf></object>"""


def test_head_of_a_page() -> None:
    page = html.parse(PAGE)
    assert (page.title, page.language, page.base) == ("A title & more", "en-GB", "/sub/")
    assert page.canonical == "https://example.org/true"
    assert page.robots("fyke") == ["noindex, FOLLOW", "nofollow"]
    assert page.robots() == ["noindex, FOLLOW"]
    assert page.meta("og:title") == "Open"
    assert page.meta("missing") == ""
    assert [(f.href, f.title, f.type) for f in page.feeds] == [("/feed", "News", "application/rss+xml")]
    assert page.refresh == html.Refresh(5, "next.html")


def test_links_of_a_page() -> None:
    assert list(zip(*html.parse(PAGE).links(), strict=True)) == [
        (" one ", "the first link", "nofollow ugc"),
        ("two", "a picture", ""),
        ("three", "Area", "area"),
        ("four", "Frame", "iframe"),
        ("five.pdf", "", "object"),
    ]


def test_frames_are_links() -> None:
    page = html.parse("<frameset><frame src=a.html title=Left><frame src=b.html></frameset>")
    assert page.links() == (["a.html", "b.html"], ["Left", ""], ["frame", "frame"])


def test_a_picture_has_a_title_of_its_own() -> None:
    assert html.parse("<svg><title>logo</title></svg><title>page</title>").title == "page"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("0;url=/x", html.Refresh(0, "/x")),
        ("3", html.Refresh(3, "")),
        ("1.5, /x", html.Refresh(1, "/x")),
        ('0; URL="a b" junk', html.Refresh(0, "a b")),
        ("", None),
        ("soon", None),
        ("-1; url=x", None),
    ],
)
def test_refresh_as_browsers_read_it(content: str, expected: html.Refresh | None) -> None:
    assert html.parse_refresh(content) == expected


@given(st.text(st.sampled_from("<>/ab c=\"'&;!-\n\0é"), max_size=200))
def test_any_text_is_a_page(text: str) -> None:
    page = html.parse(text)
    assert page.markup.endswith(b"</html>")
    assert len(page.links().hrefs) <= text.count("<a")


@given(
    st.lists(
        st.tuples(st.text("abc/?&=é%#", min_size=1), st.text("xy z\n<&"), st.sampled_from(["p", "li", "td", "b"])),
        max_size=20,
    )
)
def test_links_agree_with_a_second_parser(links: list[tuple[str, str, str]]) -> None:
    escaped = [(a.replace("&", "&amp;"), b.replace("&", "&amp;").replace("<", "&lt;"), c) for a, b, c in links]
    source = "".join(f'<{tag}><a href="{href}">{text}</a></{tag}>' for href, text, tag in escaped)
    other = [(a.attributes["href"], fold(a.text())) for a in LexborHTMLParser(source).css("a[href]")]
    assert [(href, text) for href, text, _ in zip(*html.parse(source).links(), strict=True)] == other


@pytest.mark.kernel
def test_tags_are_cut_as_browsers_cut_them() -> None:
    page = html.parse(
        "<!-- <a href=no> --><script>'<a href=no>'</script><style><a href=no></style><textarea><a href=no></textarea>"
        "<A\nHREF='a>b' hRef=second rel=x>one <!-- c -->\n two</A><a href=?x=1&copy=2&amp;y=3>&lt;3</a>"
        "<a / href=three>3 < 4 <a href=four><img alt=' an\n image '></a></ a><a href=five>&nbsp;five</a><noscript>"
        "<meta http-equiv=refresh content='0;url=/no'></noscript><title>t</title><svg><title>no</title></svg>"
        '<time datetime=2008-01-15 pubdate>then</time><time>Jan <b>16</b></time><a href="never closed'
    )
    assert list(zip(*page.links(), strict=True)) == [
        ("a>b", "one two", "x"),
        ("?x=1&copy=2&y=3", "<3", ""),
        ("three", "3 < 4", ""),
        ("four", "an image", ""),
        ("five", "five", ""),
    ]
    assert page.title == "t"
    assert html.parse("<svg/><title>after</title>").title == "after"
    assert html.parse('<a href="x>').links().hrefs == []
    assert html.parse("<a href=x>1<").links().texts == ["1<"]
    assert page.refresh is None
    assert list(page.times) == [(True, "2008-01-15"), (False, "Jan 16")]


def test_links_agree_with_the_tree(shared_data: Path) -> None:
    """On real pages, where the tree makes no copies of misplaced anchors and hides none in templates."""
    missing = surplus = total = 0
    for file in sorted((shared_data / "extract").rglob("*.html*"))[:150]:
        data = file.read_bytes()
        text = decoded(gzip.decompress(data) if file.suffix == ".gz" else data, "text/html").text
        page = html.parse(text)
        anchors = len(page.cut.column(0).split(b"\0")) - 1
        ours = Counter(page.links().hrefs[:anchors])
        theirs = Counter(element.attr("href") or "" for element in page.tree.select("a[href]"))
        missing, surplus, total = missing + (theirs - ours).total(), surplus + (ours - theirs).total(), total + anchors
        assert page.title == fold(next((e.text for e in page.tree.select("title")), ""))
    assert total > 10_000
    assert missing + surplus < total / 100


@pytest.mark.parametrize(
    "tag", ["div", "b", "a href=x", "a href=x><object", "table><td", "svg", "blockquote", "ul><li"]
)
def test_deep_nesting_is_no_danger(tag: str) -> None:
    page = html.parse(f"<{tag}>" * 200_000 + "end")
    assert b"end" in page.markup
    assert len(page.links().hrefs) in {0, 200_000}
