"""Facts of a page: what kernels find in one pass is what a plain search finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.convert.facts import BYLINE_WORDS, DATE_WORDS, VOCABULARY, Facts
from fyke.convert.mark_kernels import find_names
from fyke.formats.html import parse

MARKS = st.lists(st.sampled_from([*VOCABULARY, *map(str.upper, VOCABULARY), "post-Dat", "x", " ", "-"]), max_size=4)
TAGS = st.lists(st.tuples(st.sampled_from(["class", "id", "rel", "href", "role"]), MARKS.map("".join)), max_size=8)


@pytest.mark.kernel
@given(TAGS)
def test_marked_elements_are_those_whose_marks_hold_a_word(tags: list[tuple[str, str]]) -> None:
    page = "".join(f'<b>{n}</b><i {name}="{value}" title=author>' for n, (name, value) in enumerate(tags))
    facts = Facts(parse(page))
    for words in (BYLINE_WORDS, DATE_WORDS):
        found = [tag.attributes for tag in facts.marked(*words)]
        held = [
            {name: value, "title": "author"}
            for name, value in tags
            if name != "href" and any(word in value.lower() for word in words)
        ]
        assert found == held
    licensed = [value for name, value in tags if name == "rel" and "license" in value.lower()]
    assert [tag.attributes["rel"] for tag in facts.related("license")] == licensed


@pytest.mark.kernel
@given(st.lists(st.sampled_from(['"', "ab", "abc", "b", " ", '"ab"', '"abc"']), max_size=40).map("".join))
def test_names_are_found_where_they_first_stand(text: str) -> None:
    names = ("ab", "abc", "b")
    rows = np.array([[*f'{name}"'.encode().ljust(6, b"\0")] for name in names], np.uint8)
    places = np.empty(len(names), np.int64)
    find_names(np.frombuffer(text.encode() or b" ", np.uint8), rows, places)
    first = [text.find(f'"{name}"') for name in names]
    assert places.tolist() == [at + len(name) + 2 if at >= 0 else -1 for at, name in zip(first, names, strict=True)]


@pytest.mark.kernel
def test_scripts_of_data_are_told_from_others() -> None:
    scripts = (
        "<script>var a</script><script type=module src=x></script>"
        '<script type="Application/LD+JSON; charset=utf-8">{"a": 1}</script>'
        "<script type=application/ld&#x2B;json>[2</script><script type=application/json>{}</script>"
    )
    facts = Facts(parse(f"<h1 class=a>One</h1>{scripts}<h4>Four</h4>"))
    assert facts.has_scripts
    assert [(script, plain) for _, script, plain in facts.linked_data] == [('{"a": 1}', {"a": 1}), ("[2", None)]
    assert facts.headings == [(1, "One")]
    assert not Facts(parse("<p>no script")).has_scripts
