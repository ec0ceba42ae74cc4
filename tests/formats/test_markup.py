"""The one tokeniser of markup: judged by another implementation of the WHATWG tokenizer, and by its tree."""

from __future__ import annotations

import html
import re

import pytest
import turbohtml
from hypothesis import example, given
from hypothesis import strategies as st

from fyke.formats import markup_rows as k
from fyke.formats.markup import Markup, fold, unescape
from fyke.formats.markup_names import ATTRIBUTE, ATTRIBUTES, ELEMENT, ELEMENTS, key

_PIECES = [
    "<", ">", "/", "</", "<!", "<?", "=", '"', "'", " ", "\n", "\t", "-", "--", "-->", "--!>", "<!--", "<!-->",
    "<!--->",
    "<p", "<P>", "</p>", "<a href=", "<a href='x'>", "</a >", "<h2>", "<hr>", "<br/>", "<img alt=x/>", "<b/ x>",
    "<x-y>",
    "<script>", "</script>", "</script", "<script", "<style>", "</style>", "<title>", "</title>", "<textarea>",
    "</TITLE>",
    "</textarea>", "<xmp>", "</xmp>", "<iframe>", "</iframe>", "<!doctype html>", "<![CDATA[", "]]>", "<plaintext>",
    "class", "id=1", "href", "a", "b", "é", "word", "&amp;", "&lt;b&gt;", "1<2", "</>", "</ p>", "<a\nhref=b>",
]  # fmt: skip
_MARKUP = st.lists(st.sampled_from(_PIECES), max_size=30).map("".join)


def _ours(page: str) -> list[tuple[str, ...]]:
    """Tokens as (kind, name or text, attributes …); texts that touch are one."""
    markup = Markup.of(page.encode())
    found: list[tuple[str, ...]] = []
    for at in range(len(markup)):
        kind = markup.kind(at)
        if kind in (k.TEXT, k.RAW, k.CDATA):
            raw = kind == k.RAW and markup.name(at) not in ("title", "textarea")
            text = markup.source(at).decode() if raw else markup.text(at)
            before = found.pop()[1] if found and found[-1][0] == "text" else ""
            found.append(("text", before + text))
        elif kind == k.OPEN:
            tag = markup.tag(at)
            found.append(("open", tag.name, *(f"{n}={v}" for n, v in tag.attributes.items())))
        else:
            found.append(("close", markup.name(at)) if kind == k.CLOSE else ("comment",))
    return found


def _theirs(page: str) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for token in turbohtml.tokenize(page):
        name = (token.tag or "") if (token.tag or "") in ELEMENT else "?"
        if token.type == turbohtml.TokenType.TEXT:
            before = found.pop()[1] if found and found[-1][0] == "text" else ""
            found.append(("text", before + (token.data or "")))
        elif token.type == turbohtml.TokenType.START_TAG:
            known = [f"{n}={v or ''}" for n, v in token.attrs or () if n in ATTRIBUTE]
            found.append(("open", name, *known))
        else:
            found.append(("close", name) if token.type == turbohtml.TokenType.END_TAG else ("comment",))
    return found


@given(_MARKUP)
@example("<script><!--<script></script>--></script>x")
@example("<script><!--></script>x")
@example("<script><!--<script></script></script>x")
@example("<script><!-- <scripty></script>x")
@example("<a href='x>y' class=\"a>b\" id=c/>z")
@example("<a =x href>t")
def test_tags_texts_and_attributes_are_cut_as_the_standard_cuts_them(page: str) -> None:
    """Another implementation of the WHATWG tokenizer finds the same tokens."""
    assert _ours(page) == _theirs(page)


@given(st.binary(max_size=300))
def test_any_bytes_are_cut(data: bytes) -> None:
    """Tokens stand in order, do not overlap, and attributes lie inside their tags."""
    markup = Markup.of(data)
    at = 0
    for token in range(len(markup)):
        _, _, start, end, first = markup.tokens[token].tolist()
        assert at <= start <= end <= max(1, len(data))
        at = end
        for _, value, value_end in markup.attributes[first : int(markup.tokens[token + 1, k.FIRST])].tolist():
            assert start < value <= value_end <= end


@pytest.mark.kernel
def test_no_two_names_share_a_key() -> None:
    """An h2 is no hr: every name of HTML, and every name that is looked for, has a key and a number of its own."""
    for names in (ELEMENTS[2:], ATTRIBUTES[1:]):
        assert len({key(name) for name in names}) == len(names)
    page = "".join(f"<{name}></{name}>" for name in ELEMENTS[2:] if name not in _SWALLOWS)
    markup = Markup.of(page.encode())
    assert [markup.name(at) for at in range(0, len(markup), 2)] == [n for n in ELEMENTS[2:] if n not in _SWALLOWS]
    tag = "".join(f" {name}=v" for name in ATTRIBUTES[1:])
    assert list(Markup.of(f"<p{tag}>".encode()).tag(0).attributes) == list(ATTRIBUTES[1:])
    unknown = Markup.of(b"<h7><scrip><scriptx><foreignobjxyz hrefs=1 hre=2 http-equix=3>")
    assert {unknown.name(at) for at in range(4)} == {"?"}
    assert not len(unknown.attributes)


_SWALLOWS = frozenset({"plaintext", "svg", "math"})


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("page", "visible"),
    [
        ("<svg><title><b>t</b></title><style><i>s</i></style></svg><p>x", ["svg", "title", "b", "style", "i", "p"]),
        ("<svg><![CDATA[<b>]]></svg><![CDATA[<i>]]>", ["svg"]),
        ("<svg><desc><style><b></style></desc><style><u>", ["svg", "desc", "style", "style", "u"]),
        ("<math><mi><title><b></title></mi><title><u>", ["math", "mi", "title", "title", "u"]),
        ("<svg/><title><b></title>", ["svg", "title"]),
        ("<svg><p><title><b></title>", ["svg", "p", "title"]),
        ("<noscript><b>x</noscript>", ["noscript", "b"]),
    ],
)  # fmt: skip
def test_foreign_content_has_no_raw_elements(page: str, visible: list[str]) -> None:
    """Inside svg and math a title or style is an element like any other, and CDATA is text."""
    markup = Markup.of(page.encode())
    found = [markup.name(at) for at in range(len(markup)) if markup.kind(at) == k.OPEN]
    assert found == visible
    tree = turbohtml.parse(page)
    for name in visible:
        assert tree.select_one(name) is not None, name


@pytest.mark.kernel
def test_a_page_that_begins_and_ends_badly() -> None:
    """What is open at the end is dropped or goes to the end; nothing is written twice."""
    assert _ours("") == []
    assert _ours("a<b c='") == [("text", "a")]
    assert _ours("<script>x<b>")[1] == ("text", "x<b>")
    assert _ours("a<!-- b") == [("text", "a"), ("comment",)]
    assert _ours("x</") == [("text", "x</")]


def test_hostile_pages_are_cut_in_linear_time() -> None:
    """Ten times the page takes about ten times the tokens, never the square; the room grows with what is there."""
    for piece in "< <a <a+b=' <!-- <script><!--<script </ <a> <p+x= <svg> --> <![CDATA[".replace("+", "\t").split(" "):
        markup = Markup.of((piece * 20_000).encode())
        assert len(markup) <= 20_000 * 2


def test_what_a_page_says_is_decoded_when_asked_for() -> None:
    """Entities in attributes follow the rule of attributes; content stops at the element's own end."""
    markup = Markup.of(b"<a href='?a=1&copy=2&amp;b' title=&eacute;>x <i>y&lt;</i></a> z<time>n</time>")
    tag = next(markup.tags("a"))
    assert tag.attributes == {"href": "?a=1&copy=2&b", "title": "é"}
    assert markup.content(tag.token) == "x y<"
    assert [t.name for t in markup.tags_with("title", "datetime")] == ["a"]
    assert re.sub(r"\s", "", markup.content(next(markup.tags("time")).token)) == "n"


@given(st.text(st.sampled_from("ab \t\n\x00\x1c\x85\xa0\u2003\u200bé漢"), max_size=12))
def test_fold_leaves_single_spaces(text: str) -> None:
    assert fold(text) == " ".join(text.split())


_REFERENCES = st.sampled_from(
    [
        "&",
        "&amp;",
        "&amp",
        "amp;",
        "&nbsp;",
        "&#39;",
        "&#x27",
        "&lt;",
        "lt;",
        "&notin;",
        "&not",
        "in;",
        "#39;",
        " ",
        "é",
    ]
)


@given(st.lists(_REFERENCES, max_size=8).map("".join))
def test_references_stand_for_what_the_standard_says(text: str) -> None:
    assert unescape(text) == html.unescape(text)
