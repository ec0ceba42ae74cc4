"""HTML to tagged text: what is kept, what is dropped, and that any page gives well-formed output with true offsets."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from fyke.convert.html import Tagged, document, tagged
from fyke.formats import html as pages
from fyke.formats.tags import TABLE
from fyke.url import Url
from fyke.values import Document, Tag

CNN = """<style type="text/css">
.cnnFBRecBtn
{width:336px;float:right;margin:10px 0;clear:both;}
</style>
</div>
<div class="cnnFBRecBtn" id="cnnStryRcmdBtn"><div>
<!-- google_ad_section_start --><!--
startclickprintinclude--> <h1>Clinton to meet with
Syrian foreign minister in Mideast peace bid</h1><!--
startclickprinttextinclude--> <div
class="cnn_stryathrtmp"><div class="cnnByline">From
<b>Elise Labott</b></div><div
class="cnn_strytmstmp"><script
type="text/javascript">if(location.hostname.indexOf(
'edition.' ) > -1) {document.write('September 23, 2010 --
Updated 0046 GMT (0846 HKT)');} else
{document.write('September 22, 2010 8:46 p.m.
EDT');}</script></div></div><!-- CONTENT --> <script
language="JavaScript" type="text/javascript">var
clickExpire = ".1";</script> <div><b>STORY
HIGHLIGHTS</b></div><ul class="cnn_bulletbin
cnnStryHghlight"><li>The
Chinese administration wants to
involve Syria in its Mideast peace
efforts.</li></ul></div></div>"""


def of(source: str) -> Tagged:
    page = pages.parse(source)
    return tagged(page)


def spans(found: Tagged) -> list[tuple[str, str]]:
    return [(tag.name, found.text[tag.start : tag.end]) for tag in found.tags]


@pytest.mark.kernel
def test_the_lectures_fragment_keeps_its_headline_and_none_of_its_code() -> None:
    found = of(CNN)
    assert ("h1", "Clinton to meet with Syrian foreign minister in Mideast peace bid") in spans(found)
    assert ("li", "The Chinese administration wants to involve Syria in its Mideast peace efforts.") in spans(found)
    assert "From Elise Labott\nSTORY HIGHLIGHTS" in found.text
    for code in ("336px", "cnnFBRecBtn", "document.write", "clickExpire", "google_ad"):
        assert code not in found.html


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("source", "html", "text"),
    [
        ("<p>Hello <b>big </b>world", "<p>Hello <strong>big</strong> world</p>", "Hello big world"),
        ("<div>a</div><div>b</div>", "<p>a</p><p>b</p>", "a\nb"),
        ("<p>a<p>b", "<p>a</p><p>b</p>", "a\n\nb"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "a\nb\nc"),
        ("<dl><dt>a<dd>b</dl>", "<ul><li>a</li><li>b</li></ul>", "a\nb"),
        (
            "<table><tr><th>a<td><p>b</p><td></tr><tr><td><td>c</table>",
            "<table><tr><th>a</th><td><p>b</p></td><td></td></tr><tr><td></td><td>c</td></tr></table>",
            "a\tb\t\n\tc",
        ),
        ("<pre>\n a\n  b</pre>", "<pre> a\n  b</pre>", " a\n  b"),
        ("<li>x<div>y</div>z", "<li>x<br>y<br>z</li>", "x\ny\nz"),
        ("a<br>b<br><br>c", "<p>a<br>b<br><br>c</p>", "a\nb\n\nc"),
        ("<a href=x><div>a</div><div>b</div></a>", '<p><a href="x">a</a></p><p><a href="x">b</a></p>', "a\nb"),
        ("<b>a<p>b</b>", "<p><strong>a</strong></p><p><strong>b</strong></p>", "a\n\nb"),
        ("&lt;&amp;&eacute;&nbsp;&nbsp;&#x3c0;", "<p>&lt;&amp;é π</p>", "<&é π"),
        ('x<img alt="a &quot;b&quot;  c">y<img alt="">', '<p>x<img alt="a &quot;b&quot;  c">y</p>', 'xa "b" cy'),
        ("<body><template>t</template><noscript>n</noscript><svg><title>s</title></svg>v", "<p>n</p><p>v</p>", "n\nv"),
        ("<head><title>t</title><script>a<b</script></head>x<iframe><p>i</iframe>", "<p>x</p>", "x"),
        ("<xmp>a<b>&amp;</xmp>", "<pre>a&lt;b&gt;&amp;amp;</pre>", "a<b>&amp;"),
        ("<script>w('<xmp>')</script><p>a</p><xmp>b</xmp>", "<p>a</p><pre>b</pre>", "a\n\nb"),
        ("<!-- <xmp> --><p>a</p><xmp>b</xmp>", "<p>a</p><pre>b</pre>", "a\n\nb"),
        ("<a href='javascript:x'>a</a> <a href=' Data:x'>b</a> <a href='mailto:c'>c</a>",
         '<p>a b <a href="mailto:c">c</a></p>', "a b c"),
        ('<p title="a>b" "=x>c</p><a href="y"">d</a>', '<p>c</p><p><a href="y">d</a></p>', "c\n\nd"),
        ("<p></p><ul><li></ul><b> </b>", "", ""),
    ],
)  # fmt: skip
def test_what_becomes_of_markup(source: str, html: str, text: str) -> None:
    found = of(source)
    assert (found.html, found.text) == (html, text)


@pytest.mark.kernel
def test_offsets_are_in_characters() -> None:
    found = of("<h2>日本</h2><p>π <em>é𝄞</em>!")
    assert list(found.tags) == [Tag("h2", 0, 2), Tag("p", 4, 9), Tag("em", 6, 8)]


LEAVES = st.text("ab &<é日\n", max_size=6).map(lambda t: t.replace("&", "&amp;").replace("<", "&lt;"))
NAMES = ["p", "div", "b", "i", "a href=x", "ul", "li", "h1", "blockquote", "pre", "span", "section"]
MARKUP = st.recursive(
    LEAVES,
    lambda inner: st.tuples(st.sampled_from(NAMES), st.lists(inner, max_size=4)).map(
        lambda pair: f"<{pair[0]}>{''.join(pair[1])}</{pair[0].split()[0]}>"
    ),
    max_leaves=25,
)


def check_well_formed(found: Tagged) -> None:
    stack: list[str] = []
    for slash, name in re.findall(r"<(/?)([a-z0-9]+)[^>]*>", found.html):
        if slash:
            assert stack.pop() == name
        elif name not in {"br", "img"}:
            stack.append(name)
    assert stack == []
    ends = [len(found.text)]
    for tag in found.tags:
        assert 0 <= tag.start <= tag.end <= len(found.text)
        while len(ends) > 1 and ends[-1] <= tag.start:
            ends.pop()
        assert tag.end <= ends[-1] or tag.start == tag.end
        ends.append(tag.end)


@given(MARKUP)
def test_text_agrees_with_a_second_parser(source: str) -> None:
    found = of(source)
    check_well_formed(found)
    body = LexborHTMLParser(source).body
    other = body.text() if body else ""
    assert "".join(found.text.split()) == "".join(other.split())
    again = of(found.html)
    assert again.text.split() == found.text.split()


@given(st.text(st.sampled_from("<>/ab pitd=\"'&;!-\nxé"), max_size=300))
def test_any_text_gives_well_formed_output(source: str) -> None:
    check_well_formed(of(source))


@pytest.mark.parametrize(
    "tag", ["div", "b", "a href=x", "p", "blockquote", "ul><li", "table><tr><td", "svg", "template", "pre"]
)
def test_200_000_nested_tags(tag: str) -> None:
    found = of("start" + f"<{tag}>" * 200_000 + "end")
    assert found.text.startswith("start")
    check_well_formed(found)


def test_a_link_cannot_multiply_itself() -> None:
    source = f'<a href="{"x" * 2000}">' + "<div>y</div>" * 50_000
    assert len(of(source).html) < 3 * len(source)


def page_document(source: str, url: str = "https://example.org/a/b") -> Document:
    return document(pages.parse(source), url=Url.parse(url))


def test_metadata_of_all_kinds() -> None:
    found = page_document(
        """<html lang=en><title>T</title><meta property="article:published_time" content="2010-05-24T21:27:52Z">
        <meta name=author content="https://x.org/me"><script type="application/ld+json">
        {"@graph": [{"@type": "NewsArticle", "dateModified": "2010-06-01", "author": [{"name": "Ann"}, {"name": "Bob"}],
        "publisher": {"name": "The Paper"}, "articleSection": "World"}]}</script>
        <p itemprop="contentLocation">Hull</p><p>x"""
    )
    assert (found.title, found.language) == ("T", "en")
    meta = found.meta
    assert (meta.published, meta.updated, meta.author) == ("2010-05-24T21:27:52Z", "2010-06-01", "Ann, Bob")
    assert (meta.source, meta.section, meta.place) == ("The Paper", "World", "Hull")


def test_visible_dates_count_behind_a_cue() -> None:
    assert page_document("<p>Published on May 3, 2011 by Ann").meta.published == "2011-05-03"
    assert page_document("<p>Last updated: 3 May 2011").meta.updated == "2011-05-03"
    assert page_document("<p>born May 3, 2011").meta.published == ""


def test_links_are_joined_once_each() -> None:
    found = page_document("<base href=/c/><a href=d#x>1</a><a href=d#y>1</a><a href=mailto:x>2</a><iframe src=//e.org>")
    assert [(link.target.href, link.text, link.rel) for link in found.links] == [
        ("https://example.org/c/d", "1", ""),
        ("https://e.org/", "", "iframe"),
    ]
    assert 'href="https://example.org/c/d#x"' in found.html
    assert 'href="mailto:x"' in found.html


def test_a_users_table_is_used() -> None:
    page = pages.parse("<meta name=x:where content=Hull>")
    assert document(page, table=TABLE.extended({"place": ["x:where"]})).meta.place == "Hull"
