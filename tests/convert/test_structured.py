"""JSON-LD as sites write it, and the items of microdata and RDFa."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.convert.facts import Facts
from fyke.convert.structured import decode_json_ld, microdata, rdfa, things, types
from fyke.formats.html import parse


@pytest.mark.parametrize(
    ("script", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('{"a": [1, 2,], /* c */ "b": 3,}', {"a": [1, 2], "b": 3}),
        ('//<![CDATA[\n{"a": "b\nc", // end\n "u": "http://x"}\n//]]>', {"a": "b\nc", "u": "http://x"}),
        ('<!-- {"a": "<!-- b"} -->', {"a": "<!-- b"}),
        ('<!-- said -->\n{"a": 1}', {"a": 1}),
        ('{"a": 1}{"b": 2}', [{"a": 1}, {"b": 2}]),
        ("{&quot;a&quot;: &quot;b &amp;amp; c&quot;}", {"a": "b &amp; c"}),
        ('\ufeff{"a": "t\tb"};', {"a": "t\tb"}),
        ('{"a": "x"', None),
        ("", None),
        ("[" * 100_000, None),
    ],
)
def test_json_ld_is_mended(script: str, value: object) -> None:
    assert decode_json_ld(script) == value


@given(
    st.text(max_size=80)
    | st.lists(st.sampled_from(['{"a":', '"b', '"', ",", "}", "]", "[", "//", "/*", "\n"])).map("".join)
)
def test_any_script_is_read_or_not(script: str) -> None:
    found = decode_json_ld(script)
    assert json.loads(json.dumps(found)) == found, "what is read is JSON"


def test_things_are_found_in_lists_and_graphs() -> None:
    found = things([[{"@type": "http://schema.org/A"}, {"@graph": [{"@type": ["schema:B", "C"]}]}], "x", None])
    assert [types(thing) for thing in found] == [["A"], [], ["B", "C"]]


@pytest.mark.kernel
def test_items_nest_and_borrow() -> None:
    page = Facts(parse(
        """<div itemscope itemtype="http://schema.org/Product" itemref="more"><span itemprop=name>Anvil</span>
        <img itemprop=image src=a.jpg><dl><dt>x<dd itemprop=weight>1 kg<dd>other</dl>
        <p itemprop=offers itemscope itemtype=http://schema.org/Offer><b itemprop=price content=9>nine</b></p></div>
        <div id=more><time itemprop=releaseDate datetime=2020-01-02>then</time></div>"""
    ))  # fmt: skip
    product = microdata(page, lambda href: f"http://x/{href}")[0]
    assert product["name"] == "Anvil"
    assert product["image"] == "http://x/a.jpg"
    assert product["weight"] == "1 kg"
    assert product["offers"] == {"@type": "http://schema.org/Offer", "price": "9"}
    assert product["releaseDate"] == "2020-01-02"


def test_rdfa_lite() -> None:
    page = Facts(parse(
        "<div vocab=http://schema.org/ typeof=Person resource=#m><span property=name>Manu</span>"
        "<a property=url href=http://m.example/>me</a></div><span rel=foaf:phone resource=tel:1>one</span>"
    ))  # fmt: skip
    person, said = rdfa(page)
    assert person == {"@type": "Person", "@id": "#m", "name": "Manu", "url": "http://m.example/"}
    assert said == {"foaf:phone": "tel:1"}


def test_hostile_nesting_is_bounded() -> None:
    deep = "<div itemscope itemprop=a itemref='x y'>" * 3000
    assert microdata(Facts(parse(f"<p id=x itemprop=b>1</p>{deep}")))
