"""Large pages in pieces: nothing of them is lost, nothing is made up, and no piece is large."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.convert.html import tagged
from fyke.formats import blocks, pieces
from fyke.formats.block_tree import Block, Run
from fyke.formats.html import parse
from fyke.formats.markdown import markdown

_TAGS = ("p", "b", "ul", "li", "table", "tr", "td", "blockquote", "pre", "h2", "div", "ol")
_SOURCES = st.lists(
    st.one_of(
        st.sampled_from([f"<{tag}>" for tag in _TAGS] + [f"</{tag}>" for tag in _TAGS] + ["<br>", "&amp;", "&lt;b"]),
        st.text("abc ä漢", min_size=1, max_size=40),
    ),
    max_size=60,
).map("".join)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of some bytes, and trees of some tags."""
    monkeypatch.setattr(pieces, "PIECE_BYTES", 64)
    monkeypatch.setattr(pieces, "PIECE_TOKENS", 12)
    monkeypatch.setattr(blocks, "MAX_HELD", 10)


def letters(text: str) -> str:
    return "".join(text.split())


def test_a_small_page_is_one_piece() -> None:
    assert list(pieces.pieces(parse("<p>a<p>b").tokens)) == [b"<p>a<p>b"]


@pytest.mark.usefixtures("small")
@settings(max_examples=60, deadline=None)
@given(source=_SOURCES)
def test_pieces_hold_the_page(source: str) -> None:
    page = parse(source)
    found = list(pieces.pieces(page.tokens))
    assert letters(tagged(page).text) == letters("".join(tagged(parse(piece)).text for piece in found))
    assert all(len(piece) < 1_000 for piece in found)
    told = tagged(page)
    assert all(0 <= tag.start <= tag.end <= len(told.text) for tag in told.tags)


@pytest.mark.usefixtures("small")
def test_lists_and_tables_go_on_in_the_next_piece() -> None:
    items = "".join(f"<li>item {n}</li>" for n in range(20))
    page = tagged(parse(f"<ul>{items}</ul>"))
    assert page.html.count("<ul>") > 1
    assert page.html.count("<li>") == 20
    assert [page.text[tag.start : tag.end] for tag in page.tags if tag.name == "li"] == [f"item {n}" for n in range(20)]
    rows = "".join(f"<tr><td>{n}<td>x" for n in range(20))
    assert tagged(parse(f"<table>{rows}</table>")).html.count("<td>") == 40
    assert "".join(tagged(parse("<xmp>" + "<b>x</b> " * 40)).text.split()) == "<b>x</b>" * 40


@pytest.mark.usefixtures("small")
def test_markdown_of_a_long_block_goes_on_in_another() -> None:
    items = "".join(f"<li>item {n}</li>" for n in range(40))
    said = markdown(f"<ol>{items}</ol>")
    numbers = [line.split()[0].rstrip(".)") for line in said.splitlines() if line.strip()]
    assert numbers == [str(n + 1) for n in range(40)]
    assert letters(markdown(f"<p>{'<b>a</b> b ' * 40}</p>")).replace("*", "") == "ab" * 40


def test_no_tree_is_large() -> None:
    markup = "<blockquote>" + "<ul><li>a <b>word</b> of it</li></ul>" * 10_000 + "x" * 3_000_000
    found = list(blocks.stream(markup))
    assert len(found) > 2
    assert max(map(size, found)) <= blocks.MAX_HELD
    assert sum(len(run.content or "") for block in found for run in runs(block)) == 12 * 10_000 + 3_000_000


def size(block: Block) -> int:
    return 1 + len(block.runs) + sum(map(size, block.blocks))


def runs(block: Block) -> list[Run]:
    return block.runs + [run for inner in block.blocks for run in runs(inner)]
