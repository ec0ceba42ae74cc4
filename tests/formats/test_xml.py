"""XML that sites send: repaired where it is loose, left alone where it is sound, read in linear time whatever it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from fyke.convert import convert_here, prepare
from fyke.formats import xml
from fyke.sites.feed import parse_feed
from fyke.sites.sitemap import parse_sitemap

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


MANY = " ".join(f'a{i}="v"' for i in range(400_000))
"""All that is quadratic in them takes half an hour and more, so that the test's time limit ends it."""


def test_many_attributes_are_read_in_linear_time() -> None:
    start = next(xml.events(f"<rss {MANY}/>"))
    assert isinstance(start, xml.Start)
    assert list(start.attributes) == [f"a{i}" for i in range(xml.MAX_ATTRIBUTES)]
    root = etree.fromstring(f"<x:rss xmlns:x='u' {MANY} x:HREF='here'/>")
    assert (xml.attribute(root, "href"), xml.attribute(root, "no")) == ("here", "")


def test_what_reads_xml_reads_many_attributes() -> None:
    """On the root, and on what is asked for each of many items: the base of their addresses, say."""
    items = "".join(f"<entry {MANY if i == 3 else ''}><link href='{i}'/></entry>" for i in range(3000))
    feed = parse_feed(f"<feed xmlns='http://www.w3.org/2005/Atom' {MANY} xml:base='http://x.test/'>{items}</feed>")
    assert [item.link for item in feed.items] == [f"http://x.test/{i}" for i in range(3000)]
    item = f"<channel {MANY}><item {MANY}><link>http://x.test/</link></item></channel>"
    for kind, inner in (("rss", item), ("rdf:RDF xmlns:rdf='r'", ""), ("channel", "")):
        parse_feed(f"<{kind} {MANY}>{inner}</{kind.split()[0]}>")
    sitemap = parse_sitemap(f"<urlset {MANY}><url {MANY}><loc {MANY}>http://x.test/</loc></url></urlset>")
    assert [entry.location for entry in sitemap.entries] == ["http://x.test/"]
    made = convert_here(prepare(f"<?xml version='1.0'?><a {MANY}>words<b href='x' {MANY}/></a>".encode()))
    assert "words" in made.text
