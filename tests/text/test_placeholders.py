"""What says nothing, and what only looks so."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.text.placeholders import _COUNTED, _NOBODY, _TITLE, _WORDS, MAX_LENGTH, MAX_SPACES, is_placeholder


@pytest.mark.parametrize(
    "title",
    ["", "  ", "—", "…", "untitled", "Untitled", "(anonymous)", "Untitled Document", "untitled-3", "Slide 1",
     "Folie 12",
     "Cover Page", "PowerPoint Presentation", "Document1", "Sheet1", "無題", "Ohne Titel", "[title]",
     "{{ page.title }}",
     "${title}", "undefined", "urn:uuid:0c7e1a1c-8a5e-4b4e-9d5e-2f1c7f7f7f7f", "0c7e1a1c-8a5e-4b4e-9d5e-2f1c7f7f7f7f",
     "d41d8cd98f00b204e9800998ecf8427e", "Microsoft Word - draft_3.doc", "index.html", "paper.dvi", "(no subject)"],
)  # fmt: skip
def test_what_no_one_wrote_is_no_title(title: str) -> None:
    assert is_placeholder(title)


@pytest.mark.parametrize(
    "title",
    ["Untitled No More", "The Slide Rule", "Slide 1 of the Watergate tapes", "1984", "Anonymous: a history", "Node.js",
     "Admin", "Covers", "Page 3 girls", "Deadbeef", "2001", "日本", "Décadence", "C++", "Chapter and verse", "R"],
)  # fmt: skip
def test_short_and_odd_titles_stay(title: str) -> None:
    assert not is_placeholder(title)


def test_what_is_long_was_written_by_somebody() -> None:
    """As many words as no default has, though in a template's braces."""
    for spaces in (MAX_SPACES - 1, MAX_SPACES):
        assert is_placeholder("{{" + " ".join(["word"] * (spaces + 1)) + "}}")
    for spaces in (MAX_SPACES + 1, 3 * MAX_SPACES):
        assert not is_placeholder("{{" + " ".join(["on"] * (spaces + 1)) + "}}")
    assert not is_placeholder("{{" + "x" * MAX_LENGTH + "}}")


@pytest.mark.parametrize(
    "author",
    ["pdftk-java", "pdftk-java 3.3.3", "admin", "python-docx", "Microsoft Office User", "(anonymous)", "unknown"],
)
def test_programs_are_no_authors(author: str) -> None:
    assert is_placeholder(author, author=True)


@pytest.mark.parametrize(
    "author", ["Ada Lovelace", "Unknown Mortal Orchestra", "Ölga", "李白", "Max Power", "Tex Avery"]
)
def test_people_are_authors(author: str) -> None:
    assert not is_placeholder(author, author=True)


@given(st.text(max_size=300), st.booleans())
def test_any_text_is_judged(text: str, author: bool) -> None:
    assert is_placeholder(text, author=author) in (True, False)
    assert is_placeholder(f"  {text}\n", author=author) == is_placeholder(text, author=author)


NAMES = st.sampled_from([name for names in (_NOBODY, _COUNTED) for name in names.split("|")])
NUMBERS = st.sampled_from(["", "1", " 12", "no 3", " nr 1234", " 12345", "#5", " # 6", "0x", " no", "-7 "])


@given(st.tuples(NAMES, NUMBERS, NUMBERS).map("".join), st.sampled_from([str, str.upper, str.title]))
def test_defaults_are_told_as_their_pattern_tells_them(title: str, case: Callable[[str], str]) -> None:
    plain = _WORDS.sub(" ", case(title)).strip()
    assert is_placeholder(plain) == (_TITLE.fullmatch(plain) is not None)
    assert is_placeholder(plain.replace("ı", "i")) == (_TITLE.fullmatch(plain.replace("ı", "i")) is not None)
