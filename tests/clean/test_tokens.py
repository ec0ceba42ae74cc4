"""Tokens and blocks: what HTML says, and an answer in linear time to whatever else comes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.clean import elements
from fyke.clean.block_kernels import MAX_DEPTH
from fyke.clean.columns import (
    BODIED,
    BREAKS,
    CAPITALS,
    CHARS,
    DIGITS,
    IDEOGRAPHS,
    LINKED,
    LOWERS,
    POINTS,
    TAGS,
    TITLED,
    UPPERS,
    WORDS,
)
from fyke.clean.main import main_texts
from fyke.clean.page import Page, read
from fyke.clean.render import block_texts
from fyke.clean.word_kernels import word_ends
from fyke.formats.html import parse
from fyke.formats.markup_names import ELEMENTS


def names(html: str) -> list[str]:
    tokens = read(html.encode()).tokens
    out = []
    for start, end, kind in zip(tokens.starts, tokens.ends, tokens.kinds, strict=True):
        if kind == elements.WORD:
            out.append(tokens.page[start:end].tobytes().decode())
        else:
            out.append(("/" if kind >= elements.CLOSE else "") + ELEMENTS[kind % elements.CLOSE].upper())
    return out


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<P class=x>one two</p>", ["P", "one", "two", "/P"]),
        ("a<b>c</b>", ["a", "B", "c", "/B"]),
        ('<a href="x>y">t</a>', ["A", "t", "/A"]),
        ("<a href='x>y' title = \"<p>\">t", ["A", "t"]),
        ("5 < 6 & a<1", ["5", "<", "6", "&", "a<1"]),
        ("<script>if (a < b) '</p>'</script>x", ["x"]),
        ("<style>p {}</style><h1>x", ["H1", "x"]),
        ("a<!-- <p>b</p> -->c", ["a", "c"]),
        ("<!doctype html><?xml x?><p>", ["P"]),
        ("<!-->a", ["a"]),
        ("<my-own-element>x", ["?", "x"]),
        ("<title>T</title>x", ["x"]),
        # never closed: an element that is not read hides nothing; raw text, comments and tags go to the end
        ("<head><p>x", ["HEAD", "P", "x"]),
        ("<noscript><p>x", ["P", "x"]),
        ("<script>x <p>y", []),
        ("<!-- x > <p>y", []),
        ('a<a href="x>y', ["a"]),
        ("x<p", ["x"]),
        ("<", ["<"]),
        ("", []),
    ],
)
def test_tokens(html: str, expected: list[str]) -> None:
    assert names(html) == expected


def texts(html: str) -> list[str]:
    return block_texts(read(html.encode()))


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>one <b>two</b>three</p><p>four", ["one twothree", "four"]),
        ("<div>a<p>b</p>c</div>", ["a", "b", "c"]),
        ("a<br>b<br><br>c", ["a\nb", "c"]),
        ("<p>caf&eacute; &amp; <!-- x -->co</p>", ["café & co"]),
        ("a<!-- -->b", ["ab"]),
        ("<table><tr><td>1<td>2<tr><td>3</table>", ["1", "2", "3"]),
        ("<p>  </p><div></div>", []),
    ],
)
def test_blocks(html: str, expected: list[str]) -> None:
    assert texts(html) == expected


@pytest.mark.kernel
def test_counts_of_a_block() -> None:
    page = read(
        b'<title>Red fox</title><script type=\'application/ld+json\'>{"@type":"Article","articleBody":"the quick red"}'
        b"</script><div><p>The quick <a href=x>red fox</a>, jumps.<br>Now!</p>" + "<p>漢字。かな</p>".encode()
    )
    first, second = page.blocks
    assert (first[WORDS], first[LINKED], first[POINTS], first[BREAKS]) == (6, 2, 3, 1)
    assert (first[TITLED], first[BODIED], first[TAGS]) == (2, 3, 2)
    assert (second[WORDS], second[IDEOGRAPHS], second[POINTS]) == (2, 4, 1)  # two ideographs are one word
    assert page.title == "Red fox"
    assert page.types == {"Article"}


def test_an_article_body_that_never_ends_costs_its_length() -> None:
    body = b"x " * 300_000
    page = b'<script type=\'application/ld+json\'>{"articleBody":"' + body + b"</script><p>text"
    read(page)
    tracemalloc.start()
    assert len(read(page).blocks) == 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30 * len(page)


@pytest.mark.kernel
def test_containers_know_their_parents_and_flags() -> None:
    page = read(
        b"<nav><ul><li>a<li>b</ul></nav><main><p hidden>c<p style='display: none'>d</main><p aria-hidden=true>e"
    )
    flags = [int(page.flags[row[2]]) for row in page.blocks]
    assert [bool(f & elements.NAV) for f in flags] == [True, True, False, False, False]
    assert [bool(f & elements.HIDDEN) for f in flags] == [False, False, True, True, True]
    assert [bool(f & elements.MAIN) for f in flags] == [False, False, True, True, False]
    assert all(page.parent[1:] < np.arange(1, len(page.parent)))


@given(st.text(alphabet="<>/!-\"'= abpdivstyle&;漢\n", max_size=200))
def test_no_text_is_lost_or_made_up(html: str) -> None:
    page = read(html.encode())
    check(page)


@given(st.binary(max_size=200))
def test_any_bytes_have_blocks(data: bytes) -> None:
    check(read(data))


def check(page: Page) -> None:
    tokens = page.tokens
    assert all(tokens.starts < tokens.ends)
    assert all(tokens.ends[:-1] <= tokens.starts[1:])
    words = int(np.count_nonzero(tokens.kinds == elements.WORD))
    of_words = tokens.sources[tokens.kinds == elements.WORD]
    inside = sum(int(np.count_nonzero((of_words >= row[0]) & (of_words < row[1]))) for row in page.blocks)
    assert inside == words
    assert len(block_texts(page)) == len(page.blocks)


HOSTILE = {
    "one line of 10 MB": b"word " * 2_000_000,
    "one word of 10 MB": b"x" * 10_000_000,
    "nested tags": b"<div>" * 200_000 + b"text" + b"</div>" * 200_000,
    "scripts never closed": b"<script>" * 200_000,
    "comments never closed": b"<!--" * 300_000,
    "quotes never closed": b"<a href=\"x' " * 200_000,
    "blocks without end": b"<p>a" * 300_000,
    "only less-than": b"<" * 1_000_000,
    "closing tags": b"</div>" * 200_000,
    "class words": b"<p class='" + b"abc " * 300_000 + b"'>x",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_are_read_in_bounded_memory(name: str) -> None:
    page = read(HOSTILE[name])
    assert len(page.blocks) <= 50_000
    assert len(page.tokens.kinds) <= len(HOSTILE[name])


def test_depth_is_bounded() -> None:
    page = read(b"<div>" * 2000 + b"x")
    assert len(page.parent) <= MAX_DEPTH


def test_text_in_noscript_is_read_where_there_is_next_to_nothing_else() -> None:
    """Some forums keep all their text there, for who runs no scripts; a short note there is no text."""
    posts = "".join(
        f"<div class=post><p>Post {n} says something about the fish in the river.</p></div>" for n in range(60)
    )
    hidden = f"<body><p>Loading</p><noscript>{posts}</noscript></body>"
    assert "Post 59 says" in "\n".join(texts(hidden))
    [main] = main_texts([parse(hidden)])
    assert "Post 59 says" in main.text
    many = f"<head>{'<link rel=preload href=/a.js>' * 300}</head>{hidden}"
    assert "Post 59 says" in "\n".join(texts(many)), "tags are no words: a head of many says nothing of the body"
    shown = f"<body>{posts}<noscript><p>Please enable scripts.</p></noscript></body>"
    assert "enable" not in "\n".join(texts(shown))


WORD = st.text(st.sampled_from("aBz09.,'!-"), min_size=1, max_size=80)
PLAIN = st.lists(st.one_of(WORD, st.sampled_from([" ", "\n\t ", ": "])), max_size=30).map(" ".join)


@pytest.mark.kernel
@given(PLAIN)
def test_a_text_is_counted_as_its_words_say(text: str) -> None:
    """The page ends with the text, or goes on behind it: vectors are read in the one case only."""
    words = text.split()
    for behind in ("", "<hr>" + "." * 160):
        page = read(f"<p>{text}</p>{behind}")
        if not words:
            continue
        row = page.blocks[0]
        assert row[WORDS] == sum(any(map(str.isalnum, word)) for word in words)
        assert row[CHARS] == sum(map(len, words))
        assert row[LOWERS] == sum(map(str.islower, text))
        assert row[UPPERS] == sum(map(str.isupper, text))
        assert row[DIGITS] == sum(map(str.isdigit, text))
        assert row[POINTS] == sum(character in ".,;:!?" for character in text)
        assert row[CAPITALS] == sum(word[0].isupper() for word in words)
        assert block_texts(page)[0] == " ".join(words)


@pytest.mark.kernel
@given(WORD, WORD, WORD)
def test_words_are_equal_where_their_letters_are(one: str, other: str, before: str) -> None:
    """However they are hashed: at once, letter by letter, beside other bytes; case and punctuation do not count."""
    letters = ["".join(filter(str.isalnum, word)).lower() for word in (one, other)]
    for behind in ("", "." * 160):
        page = read(f"<title>{other}</title><p>{before}<p>{one}</p>{behind}")
        assert page.blocks[1, TITLED] == (letters[0] == letters[1] != "")
    text = np.frombuffer(f"{one} {other}".encode(), np.uint8)
    hashes = word_ends(text, 0, text.size)[0], word_ends(text, len(one) + 1, text.size)[0]
    assert (hashes[0] == hashes[1]) == (letters[0] == letters[1])
