"""Snippets show the query words where they stand together."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from fyke.store.snippets import LENGTH, snippet

FILLER = "Water is wet and tanks are made of glass. " * 20


def test_the_passage_where_the_words_stand_together() -> None:
    text = FILLER + "A fish alone. " + FILLER + "Keeping tropical fish needs a heater. " + FILLER
    found = snippet(text, "Tropical FISH")
    assert "Keeping **tropical** **fish** needs a heater." in found.marked()
    assert found.found == 2
    assert found.text.startswith("… ")
    assert found.text.endswith(" …")


def test_words_match_whole_and_nothing_found_shows_the_beginning() -> None:
    found = snippet("Starfish. " + FILLER, "fish")
    assert (found.found, found.marks) == (0, ())
    assert found.text.startswith("Starfish.")
    assert snippet("", "fish").text == ""


def test_words_of_scripts_without_spaces_are_found_and_marked_once() -> None:
    assert snippet("昨夜、東京都で開かれた。" + "水" * 300, "東京都").marked().startswith("昨夜、**東京都**で")
    assert snippet("東京都は東京都。", "東京都").marked() == "**東京都**は**東京都**。"
    assert snippet("यह हिन्दी है", "हिन्दी").marked() == "यह **हिन्दी** है"
    assert snippet("यह हिन्दू है", "हिन").found == 0
    assert "**ภาษา**" in snippet("เรียนภาษาไทย", "ภาษา").marked()


@given(st.text(alphabet="ab \n.ä", max_size=600), st.text(alphabet="ab ä", max_size=8))
def test_marks_are_the_words(text: str, query: str) -> None:
    found = snippet(text, query)
    assert len(found.text) <= LENGTH + 4
    words = {word.casefold() for word in query.split()}
    assert all(found.text[a:b].casefold() in words for a, b in found.marks)
    assert found.found == len({found.text[a:b].casefold() for a, b in found.marks})
