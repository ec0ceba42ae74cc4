"""Every format: small documents made here, the public set of 185 files, and archives that mean harm."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.convert import LIMITS, Limits, convert_here, prepare
from fyke.convert.html import tagged
from fyke.formats.html import parse
from fyke.formats.tags import TABLE
from fyke.url import Url
from fyke.values import Document, Reason


def convert(data: bytes, media_type: str = "", name: str = "", limits: Limits = LIMITS, url: str = "") -> Document:
    where = Url.parse(url) if url else None
    return convert_here(prepare(data, media_type, where, name=name, limits=limits, table=TABLE))


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("_dot_", ".").replace("__", "/"), data)
    return buffer.getvalue()


def spans(found: Document, name: str) -> list[str]:
    return [found.text[tag.start : tag.end] for tag in found.tags if tag.name == name]


def test_plain_text_keeps_its_lines_and_tags_paragraphs() -> None:
    found = convert(b"one\r\ntwo <&\r\n\r\n  three\r\n", "text/plain; charset=utf-8")
    assert found.text == "one\ntwo <&\n\n  three"
    assert spans(found, "p") == ["one\ntwo <&", "three"]
    assert "two &lt;&amp;" in found.html


def test_tables_of_text() -> None:
    assert spans(convert(b'a;b\n"1;2";3\n', name="x.csv"), "td") == ["a", "b", "1;2", "3"]
    rows = [
        "名前,住所",
        "山田太郎,東京都千代田区",
        "佐藤花子,大阪市の海辺にある古い家",
        "鈴木一郎,これは日本語の文章です",
    ]
    found = convert("\n".join(rows).encode("cp932"), name="x.csv")
    assert (found.encoding, spans(found, "td")) == ("Shift_JIS", ",".join(rows).split(","))


CELLS = st.text("ab <>&;\xa0\u2028\t'é") | st.sampled_from(["&nbsp;", "<xmp>", "</td>"])


@given(st.lists(st.lists(CELLS, min_size=1), min_size=1))
def test_a_table_is_written_as_a_parser_would_have_it(rows: list[list[str]]) -> None:
    """Its markup is made in canonical form, so no tree is."""
    file = io.StringIO()
    csv.writer(file, delimiter="\t").writerows([["head"], *rows])
    cells = (f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in [["head"], *rows])
    found = convert(file.getvalue().encode(), "text/tab-separated-values; charset=utf-8")
    assert found.html == tagged(parse(f"<table>{''.join(cells)}</table>")).html


def test_a_quoted_cell_may_have_lines() -> None:
    assert spans(convert(b'a,b\n"one\r\ntwo",c\n', name="x.csv"), "td") == ["a", "b", "one two", "c"]


def test_a_feed() -> None:
    found = convert(
        b"""<?xml version="1.0"?><rss><channel><title>News</title><pubDate>Tue, 19 Jun 2008 05:17:00 GMT</pubDate>
        <item><title>One</title><link>https://example.org/1</link>
        <description>&lt;p&gt;Hello &lt;b&gt;world&lt;/b&gt;&lt;/p&gt;</description></item></channel></rss>"""
    )
    assert found.media_type == "application/rss+xml"
    assert (found.title, found.meta.published) == ("News", "2008-06-19T05:17:00Z")
    assert spans(found, "strong") == ["world"]
    assert [link.target.href for link in found.links] == ["https://example.org/1"]


def test_a_newswire_story() -> None:
    found = convert(
        b"""<?xml version="1.0"?><xn:Resource xmlns:xn="urn:x">
        <xn:publicationTime>2007-02-22T00:00:00-05:00</xn:publicationTime>
        <xn:receivedTime>2007-02-22T00:00:12-05:00</xn:receivedTime>
        <xn:vendorData>MRKTWIRE:Source=InvestSource, Inc.</xn:vendorData>
        <xn:vendorData>MRKTWIRE:Geographic Code=RE/HUNTINGTON_BEACH</xn:vendorData><p>Story.</p></xn:Resource>"""
    )
    assert (found.meta.published, found.meta.received) == ("2007-02-22T05:00:00Z", "2007-02-22T05:00:12Z")
    assert (found.meta.source, found.meta.place) == ("InvestSource, Inc.", "RE/HUNTINGTON_BEACH")
    assert "Story." in spans(found, "p")


def test_docbook() -> None:
    found = convert(
        b"""<?xml version="1.0"?><!DOCTYPE book PUBLIC "-//OASIS//DTD DocBook XML V4.5//EN" "x">
        <book><title>T</title><chapter>
        <title>C</title><para>A <emphasis>very</emphasis> <ulink url="http://e.org/">long</ulink> day.</para>
        <itemizedlist><listitem><para>one</para></listitem></itemizedlist><programlisting>a
  b</programlisting></chapter></book>"""
    )
    assert (spans(found, "h1"), spans(found, "h2")) == (["T"], ["C"])
    assert "A very long day." in spans(found, "p")
    assert (spans(found, "em"), spans(found, "li"), spans(found, "pre")) == (["very"], ["one"], ["a\n  b"])


def test_mail_with_alternatives_and_an_attachment() -> None:
    found = convert(
        b"""From: Ann <ann@example.org>\nTo: bob@example.org\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=
Date: Mon, 29 Sep 2008 00:41:50 +0100\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n
--x\nContent-Type: multipart/alternative; boundary=y\n\n--y\nContent-Type: text/plain\n\nplain words
--y\nContent-Type: text/html\n\n<p>rich <b>words</b>\n--y--\n--x
Content-Type: text/csv\nContent-Disposition: attachment; filename=t.csv\n\na,b\n--x--\n"""
    )
    assert (found.title, found.meta.author) == ("Grüße", "Ann")
    assert found.meta.published == "2008-09-28T23:41:50Z"
    assert "rich words" in found.text
    assert "plain words" not in found.text
    assert [(part.name, part.media_type) for part in found.parts] == [("t.csv", "text/csv")]
    assert "a\tb" in found.text


def test_a_mailbox() -> None:
    one = b"From a@b Mon Sep 29 00:41:50 2008\nFrom: a@b\nSubject: %s\n\nbody of %s\n\n"
    found = convert(b"".join(one % (n, n) for n in (b"first", b"second")))
    assert [part.title for part in found.parts] == ["first", "second"]
    assert "body of second" in found.text


def test_a_damaged_message_harms_no_other() -> None:
    one = b"From a@b Mon Sep 29 00:41:50 2008\nFrom: a@b\nSubject: %s\n%s\nbody of %s\n\n"
    damaged = b"Content-Disposition: inline; filename*0*\n"  # the standard library's parser raises at it
    found = convert(one % (b"first", damaged, b"first") + one % (b"second", b"", b"second"))
    assert [part.failure for part in found.parts] == [Reason.DAMAGED, None]
    assert "body of second" in found.text


def test_a_book() -> None:
    found = convert(
        zipped(
            mimetype=b"application/epub+zip",
            **{
                "META-INF/container.xml": b"<container><rootfile full-path='O/p.opf'/></container>",
                "O/p.opf": b"""<package xmlns:dc="d">
                <metadata><dc:title>Book</dc:title><dc:creator>Ann</dc:creator></metadata>
                <manifest><item id="b" href="b.xhtml"/><item id="a" href="a.xhtml"/></manifest>
                <spine><itemref idref="a"/><itemref idref="b"/></spine></package>""",
                "O/a.xhtml": b"<html><body><h1>First</h1></body></html>",
                "O/b.xhtml": b"<html><body><p>Second</p></body></html>",
            },
        )
    )
    assert (found.media_type, found.title, found.meta.author) == ("application/epub+zip", "Book", "Ann")
    assert found.text == "First\n\nSecond"


def test_archives_hold_documents() -> None:
    members = {"a.html": b"<title>A</title><p>alpha <a href=/x>x</a>", "d/b.txt": b"beta"}
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    for data in (zipped(**members), tar.getvalue(), gzip.compress(tar.getvalue()), bz2.compress(tar.getvalue())):
        found = convert(data, url="https://example.org/")
        assert [(part.name, part.text) for part in found.parts] == [("a.html", "alpha x"), ("d/b.txt", "beta")]
        assert found.text == "a.html\n\nalpha x\n\nd/b.txt\n\nbeta"
        assert [link.target.href for link in found.links] == ["https://example.org/x"]
    assert convert(gzip.compress(b"<p>only me")).text == "only me"


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_file_may_be_many_streams(compress: Callable[[bytes], bytes]) -> None:
    assert convert(compress(b"one ") + b"\0" * 8 + compress(b"two") + b"\0" * 4).text == "one two"


def test_a_sparse_file_in_an_archive_costs_no_more_than_the_limit() -> None:
    info, tar = tarfile.TarInfo("sparse.txt"), io.BytesIO()
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "300000000"}
    content = b"1\n0\n4\n".ljust(512, b"\0") + b"text"
    info.size = len(content)
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info, io.BytesIO(content))
    tracemalloc.start()
    found = convert(tar.getvalue(), limits=Limits(max_text=1_000_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.failure is Reason.TOO_LARGE, found.detail
    assert peak < 30_000_000


BOMB = zipped(**{"big.txt": b"\0" * 60_000_000})


@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        (b"", "x.html", Reason.EMPTY),
        (b"   ", "x.txt", Reason.EMPTY),
        (b"<html><body></body></html>", "x.html", Reason.EMPTY),
        (b"x" * 2_000_000, "x.txt", Reason.TOO_LARGE),
        (BOMB, "x.zip", Reason.TOO_LARGE),
        (gzip.compress(b"\0" * 60_000_000), "x.gz", Reason.TOO_LARGE),
        (b"PK\x03\x04" + b"\0" * 50, "x.zip", Reason.DAMAGED),
        (gzip.compress(bytes(range(256)) * 100)[:200], "x.gz", Reason.DAMAGED),
        (b"\x7fELF" + b"\0" * 50, "x", Reason.UNSUPPORTED),
        (b"\x00\x01\x02\x03" * 20, "x.html", Reason.UNSUPPORTED),
    ],
)
def test_what_cannot_be_converted_says_why(data: bytes, name: str, reason: Reason) -> None:
    found = convert(data, name=name, limits=Limits(max_bytes=1_000_000, max_text=20_000_000))
    assert found.failure is reason, found.detail
    assert found.detail


def test_archives_within_archives_end() -> None:
    data = b"<p>core"
    for level in range(8):
        data = zipped(**{f"{level}.zip" if level else "core.html": data})
    found = convert(data)
    depth = 0
    while found.parts:
        found, depth = found.parts[0], depth + 1
    assert (depth, found.failure) == (4, Reason.TOO_LARGE)


def test_entities_do_not_grow() -> None:
    laughs = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    found = convert(
        f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a0 "ha">{laughs}]><x><p>text &a11; &eacute;</p></x>'.encode()
    )
    assert found.text.startswith("text")
    assert len(found.text) < 100


@pytest.mark.parametrize(
    ("opening", "unit"), [("<?xml?><!--", "x "), ("<?xml?><!DOCTYPE a [", "x "), ("<?xml?><?x ", "x "), ("", "x\n")]
)
def test_what_never_ends_costs_its_length(opening: str, unit: str) -> None:
    data = (opening + unit * 500_000).encode()
    convert((opening + unit * 50).encode())  # kernels and modules are loaded
    tracemalloc.start()
    convert(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30 * len(data)


@pytest.mark.parametrize("unit", ["<a>", "<a b='c'>", "<p><table><row>"])
def test_deep_xml_is_no_danger(unit: str) -> None:
    found = convert(('<?xml version="1.0"?>' + unit * 100_000 + "end").encode())
    assert found.failure in {None, Reason.EMPTY}


def test_a_third_party_adds_a_format(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    from fyke.convert import registry

    point = EntryPoint("dvi", f"{__name__}:DVI", "fyke.converters")
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == "fyke.converters" else [])
    monkeypatch.setattr(EntryPoint, "load", lambda self: DVI)
    registry.formats.cache_clear()
    try:
        assert registry.find("application/x-dvi") is DVI
    finally:
        registry.formats.cache_clear()
    assert registry.find("application/vnd.unheard-of+xml") is registry.find("application/xml")


from fyke.convert.registry import Format  # noqa: E402 - the example of a third party

DVI = Format("DVI", ("application/x-dvi",), "nowhere:convert")


def test_a_bound_of_one_conversion_holds_for_no_other_reader() -> None:
    before = csv.field_size_limit()
    convert(b"a,b\n" + b"x" * 500 + b",2\n", "text/csv", limits=Limits(max_text=300))
    assert csv.field_size_limit() == before
