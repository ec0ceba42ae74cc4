"""Markdown: what is written is read again as the same document by a CommonMark parser with GFM's tables."""

from __future__ import annotations

from html import escape

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fyke.formats import blocks
from fyke.formats.block_tree import Block, Image, Kind, Run, Style
from fyke.formats.html import parse
from fyke.formats.inline_markdown import folded
from fyke.formats.markdown import MAX_COLUMNS, markdown

COMMONMARK = MarkdownIt("commonmark", {"html": True, "maxNesting": 200}).enable(["table", "strikethrough"])


def rendered(text: str) -> str:
    """What a CommonMark parser makes of Markdown, in canonical form."""
    return parse(COMMONMARK.render(text)).markup.decode()


def shape(block: Block) -> object:
    """A tree without what Markdown has no form for: paragraphs in items and cells, spans, empty things."""
    match block.kind:
        case Kind.HEADING | Kind.PARAGRAPH:
            said = _runs(block)
            return (block.kind.value, block.number, said) if said else None
        case Kind.CODE:
            text = "".join(run.content for run in block.runs if isinstance(run.content, str))
            return ("code", text.removesuffix("\n")) if text.strip() else None
        case Kind.RULE:
            return "rule"
        case Kind.TABLE:
            rows = [[_runs_of_all(cell) for cell in row.blocks] for row in block.blocks]
            return "table", [row for row in rows if any(row)]
        case _:
            inner = [found for found in map(shape, block.blocks) if found]
            return (block.kind.value, block.number, inner) if inner else None


def _runs(block: Block) -> list[object]:
    runs = folded(block.runs)
    while runs and runs[-1].content is None:
        runs.pop()
    while runs and runs[0].content is None:
        del runs[0]
    return [_fact(run) for run in runs if run.content != " "]


def _runs_of_all(cell: Block) -> list[object]:
    """The runs of a cell, where several breaks are one."""
    said = [facts for inner in cell.blocks if (facts := _runs(inner))]
    facts = [fact for at, inner in enumerate(said) for fact in ([_BREAK] if at else []) + inner]
    return [fact for at, fact in enumerate(facts) if fact != _BREAK or at == 0 or facts[at - 1] != _BREAK]


_BREAK = (None, Style.PLAIN, "")


def _fact(run: Run) -> object:
    content = run.content
    said = (content.alt, content.source) if isinstance(content, Image) else content and content.strip()
    style = run.style if content is not None else Style.PLAIN  # a break has none
    return said, style, run.link.href if run.link and content is not None else ""


WORDS = st.text(
    st.sampled_from("ab1é中 .,-+*_#>`~[]()!|\\<&;:=/\"'\u00a0\u2028$x"), min_size=1, max_size=12
).map(lambda text: escape(text, quote=False))  # fmt: skip
STYLES = st.sampled_from(["strong", "em", "del", "sup", "sub", "code"])


def _wrapped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(STYLES, inner).map(lambda pair: f"<{pair[0]}>{pair[1]}</{pair[0]}>"),
        inner.map(lambda text: f'<a href="/x(y)?a=1&amp;amp;b">{text}</a>'),
        st.lists(inner, min_size=1, max_size=4).map("".join),
    )


_RUNS = st.recursive(
    st.one_of(WORDS, WORDS, st.just("<br>"), st.just('<img alt="a [b]" src="/i.png">')), _wrapped, max_leaves=8
)
INLINE = st.tuples(_RUNS, _RUNS).map(lambda pair: f"w{pair[0]} {pair[1]}v")
LEAVES = st.one_of(
    INLINE.map(lambda text: f"<p>{text}</p>"),
    st.tuples(st.integers(1, 6), WORDS).map(lambda pair: f"<h{pair[0]}>t{pair[1]}</h{pair[0]}>"),
    st.text("ab \n`~\t-#é", max_size=20).map(lambda text: f"<pre>x{text}</pre>"),
    st.just("<hr>"),
    st.lists(st.lists(st.one_of(INLINE, st.just("")), min_size=2, max_size=2), min_size=1, max_size=3).map(
        lambda rows: (
            "<table><tr><th>k</th><th>l</th></tr>"
            + "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
            + "</table>"
        )
    ),
)


def _containers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(inner, min_size=1, max_size=3).map("".join)
    item = st.one_of(INLINE, several, st.tuples(INLINE, several).map("".join)).map(lambda text: f"<li>{text}</li>")
    items = st.lists(item, min_size=1, max_size=3).map("".join)
    return st.one_of(
        several.map(lambda text: f"<blockquote>{text}</blockquote>"),
        items.map(lambda text: f"<ul>{text}</ul>"),
        st.tuples(st.sampled_from([0, 1, 7, 99]), items).map(lambda pair: f'<ol start="{pair[0]}">{pair[1]}</ol>'),
    )


DOCUMENTS = st.lists(st.recursive(LEAVES, _containers, max_leaves=6), max_size=5).map("".join)


@settings(max_examples=200, deadline=None)
@given(DOCUMENTS)
@example("<ul><li>a</li></ul><ul><li>b</li></ul>")
@example("<p>a<em>.b</em>c<strong>d</strong><em>e</em></p>")
@example("<ul><li><ul><li>a</li></ul></li><li><hr></li></ul>")
def test_markdown_is_read_as_the_same_document(markup: str) -> None:
    canonical = parse(markup).markup.decode()
    written = markdown(canonical)
    again = rendered(written)
    assert shape(blocks.read(again)) == shape(blocks.read(canonical))
    assert markdown(again) == written


@settings(max_examples=300, deadline=None)
@given(st.text("<>/abpulithr \"'=-&;!\n", max_size=200))
def test_any_text_is_written(markup: str) -> None:
    assert isinstance(markdown(markup), str)
    written = markdown(parse(markup).markup.decode())
    assert markdown(rendered(written)) == written


def test_the_dialect() -> None:
    markup = (
        "<h2>A &amp; B</h2><p>One <strong>two</strong> <em>three</em> <code>f(x)</code><br>four</p>"
        '<ol start="3"><li>x<ul><li>y</li></ul></li><li>z</li></ol>'
        '<pre><code class="language-py">a = `b`\n</code></pre><blockquote><p>q</p></blockquote>'
        '<p><a href="/a b" title="t">l</a> <img alt="i" src="/i.png"> <a href="http://x/">http://x/</a></p>'
        '<p>E is <code class="language-math">mc^2</code></p>'
    )
    assert markdown(markup) == (
        "## A & B\n\nOne **two** *three* `f(x)`\\\nfour\n\n3. x\n   - y\n4. z\n\n```py\na = `b`\n```\n\n> q\n\n"
        '[l](/a%20b "t") ![i](/i.png) <http://x/>\n\nE is $`mc^2`$\n'
    )


def test_tables_have_a_head_and_every_cell() -> None:
    markup = (
        '<table><caption>C</caption><tr><td>a|b</td><td colspan="2"></td></tr><tr><td rowspan="2">c</td>'
        "<td><p>d</p><p>e</p></td><td>f</td></tr><tr><td></td><td>g</td></tr></table>"
    )
    assert markdown(markup) == (
        "C\n\n|  |  |  |\n| --- | --- | --- |\n| a\\|b |  |  |\n| c | d<br>e | f |\n|  |  | g |\n"
    )


def test_a_table_of_blocks_is_blocks() -> None:
    assert markdown("<table><tr><td><h2>a</h2><p>b</p></td><td><pre>c</pre></td></tr></table>") == (
        "## a\n\nb\n\n```\nc\n```\n"
    )


@pytest.mark.parametrize(
    "markup",
    ["<ul><li>" * 5_000 + "x", "<blockquote>" * 5_000 + "x", "<table><tr><td>" * 3_000 + "x", "<b><i>" * 5_000 + "x",
     "<table><tr>" + "<td>a" * 2_000 + "</tr>" + "<tr><td>b</tr>" * 2_000, "*" * 20_000, "_a" * 10_000, "`" * 20_000,
     "<td colspan=99999 rowspan=99999>a" * 2_000, "[" * 20_000, "<a href=x>y" * 5_000, '<p a="' * 3_000],
)  # fmt: skip
def test_hostile_markup_stays_bounded(markup: str) -> None:
    page = parse(f"<table><tr>{markup}" if markup.startswith("<td") else markup).markup.decode()
    written = markdown(page)
    assert len(written) <= 60 * len(page) + 10 * MAX_COLUMNS
