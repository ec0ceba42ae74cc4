"""XML that sites send: repaired where it is loose, left alone where it is sound, read in linear time whatever it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from fyke.formats import xml

NAMES = st.sampled_from(["a", "x:b", "loc", "_c"])
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"))


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """Sound documents, with comments and CDATA that hold whatever tags hold."""
    root = etree.Element("root", nsmap={"x": "urn:x"})
    for name, text, value in draw(st.lists(st.tuples(NAMES, TEXTS, TEXTS), max_size=5)):
        child = etree.SubElement(root, name.replace("x:", "{urn:x}"), value=value)
        child.text = etree.CDATA(text.replace("]]>", "")) if draw(st.booleans()) else text
    root.append(etree.Comment("a <b <c & d"))
    return bytes(etree.tostring(root))


@given(documents())
def test_what_is_sound_is_left_alone(data: bytes) -> None:
    assert xml.repaired(data) == data


@pytest.mark.parametrize(
    ("loose", "sound"),
    [
        (b"<a>AT&T &amp; &eacute; &#65;</a>", b"<a>AT&amp;T &amp; &amp;eacute; &#65;</a>"),
        (b"<a>\x00x\x1f</a>", b"<a>x</a>"),
        (b"<a <b>x</b>", b"&lt;a <b>x</b>"),
        (b"<<a>", b"&lt;<a>"),
        (b"<a><? ?></a>", b"<a>&lt;? ?></a>"),
        (b"<a><![CDATA[<b <c &]]>&</a>", b"<a><![CDATA[<b <c &]]>&amp;</a>"),
    ],
)
def test_signs_that_begin_nothing_are_text(loose: bytes, sound: bytes) -> None:
    assert xml.repaired(loose) == sound


@pytest.mark.parametrize("unit", [b"<a href=", b"<:", b"<_a ", b"<?", b"</a "])
def test_tags_that_never_end_cost_their_length(unit: bytes) -> None:
    data = b"<urlset><url><loc>x</loc>" + unit * 200_000 + b"?></url>"  # minutes, where it is their square
    found = [xml.text_of(element[0]) for _, element in xml.stream(xml.repaired(data), name="url")]
    assert found == ["x"]


def test_a_document_begins_with_its_root() -> None:
    root = xml.root_pattern("rss", "feed")
    assert xml.from_root(b"Warning: x\n<?xml version='1.0'?><!-- c --><atom:FEED>", root) == (
        "feed", b"<?xml version='1.0'?><!-- c --><atom:FEED>",
    )  # fmt: skip
    assert xml.from_root(b"<rssx><html>", root) == ("", b"<rssx><html>")
