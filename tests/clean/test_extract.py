"""Extraction: what a reader would call the content, by every method, from pages good and bad."""

from __future__ import annotations

import gc
import gzip
import re
import tracemalloc
from collections import Counter
from html import unescape
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import fyke
from fyke.clean.dom import Dom
from fyke.clean.extract import METHODS, Auto, Plateau
from fyke.clean.furniture import Furniture
from fyke.clean.page import read
from fyke.errors import UserError
from tests.clean.test_tokens import HOSTILE

SENTENCE = (
    "The whale sharks were flown eight thousand miles, and the crowd was glad to see them arrive in good health. "
)
MENU = "".join(f'<li><a href="/{n}">Section {n}</a></li>' for n in range(20))
PAGE = f"""<!doctype html><html><head><title>Aquarium plays matchmaker | Daily</title></head><body>
<nav class="menu"><ul>{MENU}</ul></nav>
<div class="cookie-banner"><p>We use cookies. <button>Accept all</button></p></div>
<main><article class="post-content"><h1>Aquarium plays matchmaker</h1>
<p>{SENTENCE * 2}</p><p>{SENTENCE}<a href="../more?a=1&amp;b=2">See the <b>story</b></a> of them.</p>
<ul><li>Ralph and Norton, two male sharks of the aquarium, {SENTENCE}</li></ul>
<table><tr><td>Length of the shark in feet</td><td>eleven</td></tr></table>
<figure><img src=x><figcaption>A whale shark, seen from below in the great tank.</figcaption></figure>
<p>{SENTENCE * 3}</p></article></main>
<footer class="footer"><ul>{MENU}</ul><p>Copyright 2007. All rights reserved.</p></footer></body></html>"""


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_article_and_not_the_menu(method: str) -> None:
    content = fyke.extract(PAGE, method)
    assert content.text.count("whale sharks") == 7
    assert "Section 7" not in content.text
    assert content.title == "Aquarium plays matchmaker | Daily"
    assert {block.text for block in content.blocks} >= {"Section 7", "Accept all"}


def test_auto_weighs_blocks_and_names_their_kinds() -> None:
    content = fyke.extract(PAGE)
    kinds = {block.text[:20]: block.kind for block in content.blocks}
    assert kinds["Section 7"] == "navigation"
    assert kinds["Aquarium plays match"] == "heading"
    assert kinds["Accept all"] == "form"
    assert kinds["A whale shark, seen "] == "caption"
    assert kinds["eleven"] == "table"
    weights = {block.text[:20]: block.weight for block in content.blocks}
    assert weights["The whale sharks wer"] > 0.8
    assert weights["Section 7"] < 0.1
    assert content.kind == "article"
    assert all((block.text in content.text) for block in content.blocks if block.main)


def test_html_is_clean_and_links_are_absolute() -> None:
    html = fyke.extract(PAGE, url="https://example.org/news/today").html
    assert '<a href="https://example.org/more?a=1&amp;b=2">See the <strong>story</strong></a>' in html
    assert "<li>Ralph and Norton" in html
    assert "class=" not in html
    assert "<a " not in fyke.extract(PAGE, links=False).html


def test_html_can_not_carry_scripts() -> None:
    bad = f"<p>{SENTENCE} <a href='javascript:alert(1)'>x</a> &lt;script&gt; "
    bad += "<a href='\"&gt;&lt;img onerror=x&gt;'>y</a></p>"
    html = fyke.extract(bad, "plateau").html
    assert "javascript" not in html
    assert "<script" not in html
    assert "<img" not in html


@pytest.mark.parametrize(
    "href", ["java\nscript:x", "\x01javascript:x", "JAVA&#9;script:x", " data :text/html,x", "vbscript&colon;x"]
)
def test_scripts_cannot_hide_in_an_address(href: str) -> None:
    html = fyke.extract(f'<p>{SENTENCE} <a href="{href}">press</a></p>', "plateau").html
    assert "press" in html
    assert "<a" not in html


def test_authors_and_dates_of_posts_are_told_as_such() -> None:
    post = (
        '<div class="post"><div class="head"><a class="username" href="/u/{n}">Ann Lee {n}</a></div>'
        '<div><time datetime="2024-05-0{n}">May {n}, 2024</time></div><p>Post {n}: '
        + "the river is high. " * 5
        + "</p></div>"
    )
    page = "<title>Rivers</title>" + "".join(post.format(n=n) for n in range(1, 6))
    found = [(block.kind, block.text) for block in fyke.extract(page).blocks]
    assert [text for kind, text in found if kind == "author"] == [f"Ann Lee {n}" for n in range(1, 6)]
    assert [text for kind, text in found if kind == "date"] == [f"May {n}, 2024" for n in range(1, 6)]
    assert sum(kind == "paragraph" for kind, _ in found) == 5


def test_switches_drop_kinds() -> None:
    assert "Length of the shark" in fyke.extract(PAGE, "dom").text
    assert "Length of the shark" not in fyke.extract(PAGE, "dom", tables=False).text
    assert "seen from below" not in fyke.extract(PAGE, "dom", captions=False).text
    commented = PAGE.replace("</main>", f'<div id="comments"><p>{SENTENCE * 2}</p></div></main>')
    assert "comment" in {block.kind for block in fyke.extract(commented).blocks}
    text = fyke.extract(commented, "dom", comments=False).text
    assert text.count("whale sharks") == 7
    assert "Length of the shark" not in fyke.extract(PAGE, "plateau", tables=False).text


def test_marks_of_the_site_are_evidence() -> None:
    aside = "<div>" + "".join(f"<p>Item number {n} of the week</p>" for n in range(6)) + "</div>"
    plain = f"<body>{aside}<div><p>{SENTENCE}</p></div></body>"
    marks = "<!-- google_ad_section_start -->", "<!-- google_ad_section_end -->"
    marked = f"<body>{aside}{marks[0]}<div><p>{SENTENCE}</p></div>{marks[1]}</body>"
    before = {b.text: b.weight for b in fyke.extract(plain).blocks}
    after = {b.text: b.weight for b in fyke.extract(marked).blocks}
    assert after[SENTENCE.strip()] > before[SENTENCE.strip()]
    assert after["Item number 3 of the week"] < before["Item number 3 of the week"]


def test_blocks_on_many_pages_of_a_host_are_furniture() -> None:
    furniture = Furniture()
    promise = (
        "Our promise to you: fresh fish every day, from people who know the sea and love it, delivered to your door."
    )
    pages = [
        f"<body><div><p>{promise}</p></div><div><p>Story {n}: {SENTENCE * 2} It was day {n}.</p></div></body>".encode()
        for n in range(8)
    ]
    assert promise in fyke.extract(pages[0]).text
    for page in pages:
        furniture.learn(read(page))
    text = fyke.extract(pages[0], Auto(furniture)).text
    assert promise not in text
    assert "Story 0" in text


def test_text_only_in_noscript_is_found() -> None:
    page = f"<body><script>app()</script><noscript><div class=topic>{f'<p>{SENTENCE}</p>' * 20}</div></noscript></body>"
    assert fyke.extract(page).text.count("whale sharks") >= 19
    hint = f"<body><noscript>Turn scripts on, please</noscript><p>{SENTENCE * 5}</p></body>"
    assert "Turn scripts on" not in fyke.extract(hint).text


def test_filters_of_the_dom_can_be_set() -> None:
    linked = f"<p>{SENTENCE * 3}</p><div>" + "<a href=/x>one two</a> and then " * 5 + "</div>"
    assert "one two" not in fyke.extract(linked, "dom").text
    assert "one two" in fyke.extract(linked, Dom(link_ratio=None)).text
    advert = f"<p>{SENTENCE * 3}</p>"
    advert += '<p>Buy it <a href="https://ad.doubleclick.net/x">now</a>, says the advertisement here</p>'
    assert "Buy it" not in fyke.extract(advert, Dom(link_ratio=None)).text
    assert "Buy it" in fyke.extract(advert, Dom(link_ratio=None, advertisements=False)).text


def test_layout_reads_a_rendered_page() -> None:
    def box(x: int, width: int, font: int, text: str) -> str:
        return f'<div data-fyke-box="{x},0,{width},500,{font},rgb(0;0;0),rgba(0;0;0;0)"><p>{text}</p></div>'

    page = '<body data-fyke-box="0,0,1200,800,16,rgb(0;0;0),rgb(255;255;255)">'
    page += f"{box(0, 200, 11, 'Left column words. ' * 40)}{box(250, 700, 16, SENTENCE * 5)}</body>"
    text = fyke.extract(page, "layout").text
    assert "whale sharks" in text
    assert "Left column" not in text


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "page", ["", " ", "<p></p>", "<title>only</title>", "just words", "<table>" * 50, "\ud800", b"\xff\xfe\x00"]
)
def test_pages_of_nothing_have_an_answer(page: str | bytes, method: str) -> None:
    content = fyke.extract(page, method)
    assert content.text in {"", "?", "�", "just words"}
    assert content.html in {"", f"<p>{content.text}</p>"}
    assert len(content.blocks) <= 1


@pytest.mark.parametrize("name", HOSTILE)
def test_auto_answers_hostile_pages(name: str) -> None:
    assert len(fyke.extract(HOSTILE[name]).text) <= len(HOSTILE[name])


SUBSET = {"p", "ul", "li", "table", "tr", "td", "th", "pre", "blockquote", "figure", "a", "em", "strong", "code", "br"}
SUBSET |= {f"h{level}" for level in range(1, 7)}


@settings(max_examples=60)
@given(st.text(alphabet="<>/!-\"'= abpdivhrefultable&;漢\n", max_size=300), st.sampled_from(sorted(METHODS)))
def test_no_page_is_an_error(html: str, method: str) -> None:
    content = fyke.extract(html, method)
    assert set(re.findall(r"<(\w+)", content.html)) <= SUBSET
    assert all(0 <= block.weight <= 1 for block in content.blocks)
    assert fyke.extract(html, method).text == content.text


def test_a_page_that_is_one_table_and_mixed_scripts() -> None:
    rows = "".join(
        f"<tr><td>{SENTENCE}</td><td>鯨鮫は八千マイルを飛んだ。{n}</td><td>Акулы прилетели {n}</td></tr>"
        for n in range(12)
    )
    text = fyke.extract(f"<table>{rows}</table>").text
    assert "whale sharks" in text
    assert "鯨鮫は八千マイルを飛んだ。5" in text


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(UserError, match=r"'magic' is no method of extraction"):
        fyke.extract("x", "magic")


def test_plateau_is_tunable() -> None:
    assert fyke.extract(PAGE, Plateau(c=0.0)).text == ""


def test_memory_does_not_grow() -> None:
    fyke.extract(PAGE)
    gc.collect()
    tracemalloc.start()
    try:
        for n in range(2000):
            fyke.extract(PAGE.replace("Ralph", f"Ralph{n}"))
        gc.collect()
        first = tracemalloc.get_traced_memory()[0]
        for n in range(1000):
            fyke.extract(PAGE.replace("Ralph", f"Ralph{n}"))
        gc.collect()
        # The smallest object kept for each page would be 24,000 bytes; a table that grows once is no leak.
        assert tracemalloc.get_traced_memory()[0] - first < 20_000
    finally:
        tracemalloc.stop()


def test_inline_elements_are_whole_in_html_and_markdown() -> None:
    """Those at the edge of a block too: their links went missing, or ran on over the blocks after it."""
    page = (
        "<article><h1>A title of the page</h1>"
        '<p><a href="/first">Start</a> of a sentence that is long enough to be the content of a page, and more.</p>'
        '<p>\n <b>Bold</b> words begin this one, and it goes on until it ends with <a href="/last">a link</a>\n</p>'
        '<ul><li><a href="/1">One item of a list</a></li><li><a href="/2">Two items of a list</a></li></ul>'
        "<p>The last of the paragraphs of the page has some <code>code</code></p><p>And then plain words.</p></article>"
    )
    said = fyke.extract(page, "css:article").markdown
    assert "[Start](/first) of a sentence" in said
    assert "**Bold** words begin" in said
    assert "ends with [a link](/last)\n" in said
    assert "- [One item of a list](/1)\n- [Two items of a list](/2)\n" in said
    assert "some `code`\n\nAnd then plain words." in said


_inline = st.recursive(
    st.sampled_from(["some words", "of a text", "1 & 2"]).map(lambda text: f" {text} "),
    lambda inner: st.tuples(st.sampled_from(["b", "i", "a", "code"]), st.lists(inner, min_size=1, max_size=3)).map(
        lambda made: f"<{made[0]}{' href=/x' if made[0] == 'a' else ''}>{''.join(made[1])}</{made[0]}>"
    ),
    max_leaves=5,
)


@given(st.lists(st.tuples(st.sampled_from(["p", "h2", "blockquote", "div"]), _inline), min_size=1, max_size=6))
def test_a_page_that_is_all_content_is_its_conversion(blocks: list[tuple[str, str]]) -> None:
    page = "<body>" + "".join(f"<{name}>{inner}</{name}>" for name, inner in blocks) + "</body>"
    assert fyke.extract(page, "css:body").html == fyke.convert(page.encode(), "text/html").html


def test_lines_and_no_break_spaces_keep_words_apart() -> None:
    page = "<div>The first line.<br><br><b>The</b> second&nbsp;<i>has&nbsp;</i>an&nbsp;end.<br>\n<br>The third.</div>"
    found = fyke.extract(page, "css:div")
    assert found.html == fyke.convert(page.encode(), "text/html").html
    said = "The first line.", "**The** second *has* an end.", "The third."
    assert [line.strip(" \\") for line in found.markdown.splitlines() if line.strip(" \\")] == list(said)


def test_a_selector_points_at_the_content() -> None:
    page = (
        "<body><nav>Menu of the site</nav>\r\n<div class='post body'>É, the body.<p>And more of it.</div>\r\n"
        "<ul><li class=x>an item<li>another</ul><div>A tail <p class=open>never closed<p>after"
    )
    assert fyke.extract(page, "css:div.post").text == "É, the body.\nAnd more of it."
    assert fyke.extract(page, "css:div.post").html == "<p>É, the body.</p><p>And more of it.</p>"
    assert fyke.extract(page, "css:li.x, p.open").text == "an item\nnever closed"
    assert fyke.extract(page, "css:.nowhere").text == ""
    with pytest.raises(UserError, match=r"'li\[\[' is no CSS selector"):
        fyke.extract(page, "css:li[[")


def test_the_markdown_of_real_pages_has_the_words_of_their_text(shared_data: Path) -> None:
    """As a CommonMark parser reads it: no word is lost, and none runs into the next."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    pages = sorted((shared_data / "extract").rglob("*.html.gz"))[::40]
    if not pages:
        pytest.skip("no pages are there")
    for path in pages:
        page = fyke.decode(gzip.decompress(path.read_bytes()))[0]
        content = fyke.extract(page)
        html = re.sub(r"</?(?:a|em|strong|code|s|img|sup|sub)\b[^>]*>", "", parser.render(content.markdown))
        read = Counter(re.findall(r"\w+", unescape(re.sub(r"<[^>]+>", " ", html))))
        wanted = Counter(re.findall(r"\w+", content.text))
        differ = (read - wanted).total() + (wanted - read).total()
        assert differ <= max(3, 0.02 * wanted.total()), path


PERMALINKS = b"""<article><h1>Sorting</h1>
<p>This module keeps a list in order without having to sort it after each insertion, which is worth a lot.</p>
<h2 id=a>Stable sorts<a class=headerlink href="#a" title="Permalink">\xc2\xb6</a></h2>
<p>Sorts are guaranteed to be stable: records of equal keys stay in the order in which they were before it.</p>
<h2 id=b><a href="#b"> &para; </a>Key functions</h2>
<p>A key function is called once for each record, as <a href="glossary.html?a=1#term-key">the glossary</a> says, C<a
href=x>#</a> aside; and <a href="#a">#1</a> is no sign of a link.</p></article>"""


def test_permalinks_beside_headings_are_not_content() -> None:
    found = fyke.extract(PERMALINKS, url="http://docs.example/sort.html")
    assert "\nStable sorts\n" in found.text
    assert "\nKey functions\n" in found.text
    assert "## Stable sorts\n" in found.markdown
    assert "## Key functions\n" in found.markdown
    assert "says, C# aside; and #1 is no sign" in found.text


def test_links_of_the_content_keep_their_fragments() -> None:
    found = fyke.extract(PERMALINKS, url="http://docs.example/sort.html")
    assert "[the glossary](http://docs.example/glossary.html?a=1#term-key)" in found.markdown
    assert "[#1](http://docs.example/sort.html#a)" in found.markdown
