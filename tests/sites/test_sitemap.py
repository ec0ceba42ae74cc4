"""Sitemaps: the lecture's, the public set of odd and hostile ones, and whatever else comes."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.formats.tags import moment
from fyke.lecture.texts import SITEMAP as LECTURE
from fyke.sites.sitemap import MAX_BYTES, MAX_URLS, Fault, Kind, Sitemap, SitemapReader, parse_sitemap


def test_the_lectures_sitemap() -> None:
    sitemap = parse_sitemap(LECTURE)
    assert sitemap.kind is Kind.URLSET
    assert [entry.location for entry in sitemap.entries] == [
        "http://www.company.com/",
        "http://www.company.com/items?item=truck",
        "http://www.company.com/items?item=bicycle",
    ]
    assert [entry.lastmod for entry in sitemap.entries] == ["2008-01-15", "", ""]
    assert sitemap.entries[0].modified == 1_200_355_200.0  # 2008-01-15T00:00:00Z
    assert [entry.changefreq for entry in sitemap.entries] == ["monthly", "weekly", "daily"]
    assert [entry.priority for entry in sitemap.entries] == [0.7, 0.5, 0.5]
    assert sitemap.faults == ()


EXPECTED = "sitemaps/expected.jsonl"


def test_the_public_set_all_of_it(shared_data: Path) -> None:
    cases = [json.loads(line) for line in (shared_data / EXPECTED).read_text(encoding="utf-8").splitlines()]
    assert len(cases) == 46
    wrong = [case["file"] for case in cases if not _as_expected(case, shared_data / "sitemaps")]
    assert wrong == []


def _as_expected(case: dict[str, object], folder: Path) -> bool:
    """Whether a file reads as it should, lenient expectations too."""
    sitemap = parse_sitemap((folder / str(case["file"])).read_bytes())
    got = [entry.location for entry in sitemap.entries]
    facts: dict[str, object] = {
        "kind": sitemap.kind.value,
        "count": len(got),
        "urls": got,
        "first": got[0] if got else None,
        "last": got[-1] if got else None,
        "sitemaps": [part.location for part in sitemap.sitemaps] or None,
        "lastmod": [entry.lastmod for entry in sitemap.entries],
        "news": [{"title": e.news.title, "publication_date": e.news.published} for e in sitemap.entries if e.news],
        "images": sum(len(entry.images) for entry in sitemap.entries),
        "alternates": [href for entry in sitemap.entries for _, href in entry.alternates],
        "distinct": sorted(set(got)),
    }
    asked = {key: value for key, value in case.items() if key in facts and (value is not None or key == "sitemaps")}
    if asked["kind"] == "index":
        asked.pop("urls", None)
    return all(facts[key] == value for key, value in asked.items()) and not any("WAS-READ" in url for url in got)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("error-page.xml", Fault.NO_SITEMAP),
        ("truncated.xml", Fault.MALFORMED),
        ("truncated.xml.gz", Fault.GZIP),
        ("over-limit.xml.gz", Fault.TOO_MANY),
        ("empty-loc.xml", Fault.NO_LOCATION),
        ("relative.xml", Fault.LOCATION),
        ("entity-bomb.xml", Fault.ENTITY),
        ("external-entity.xml", Fault.ENTITY),
        ("bad-dates.xml", Fault.DATE),
    ],
)
def test_what_is_wrong_is_counted(shared_data: Path, name: str, fault: Fault) -> None:
    assert dict(parse_sitemap((shared_data / "sitemaps" / name).read_bytes()).faults)[fault] >= 1


def test_what_is_well_formed_has_no_faults(shared_data: Path) -> None:
    for name in (
        "basic.xml",
        "basic.xml.gz",
        "news.xml",
        "index.xml",
        "utf16le.xml",
        "latin1.xml",
        "cdata.xml",
        "rss.xml",
    ):
        assert parse_sitemap((shared_data / "sitemaps" / name).read_bytes()).faults == (), name


def test_a_bomb_of_zeros_costs_no_more_than_the_limit() -> None:
    bomb = gzip.compress(gzip.compress(LECTURE[:-10] + b" " * (MAX_BYTES + 1_000_000), 1), 1)
    tracemalloc.start()
    sitemap = parse_sitemap(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(sitemap.entries) == 3
    assert dict(sitemap.faults)[Fault.TOO_LARGE] == 1
    assert peak < 5 * MAX_BYTES


def test_reading_is_a_stream() -> None:
    rows = "".join(f"<url><loc>http://a.example/{i}</loc></url>" for i in range(20_000))
    body = f"<urlset>{rows}</urlset>".encode()
    reader = SitemapReader(body)
    assert reader.kind is Kind.URLSET
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    count = sum(1 for _ in reader)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert count == 20_000
    assert peak < 3 * len(body)  # copies of the body, and no tree of Python objects


def test_entities_declared_in_a_subset_of_parameters_do_not_grow() -> None:
    lines = "".join(f"<!ENTITY % p{i + 1} '%p{i};%p{i};%p{i};%p{i};%p{i};%p{i};%p{i};%p{i};'>" for i in range(12))
    body = (
        f"<!DOCTYPE urlset [<!ENTITY % p0 'ha'>{lines}%p12;]><urlset><url><loc>http://a.example/1</loc></url></urlset>"
    )
    found = parse_sitemap(body)
    assert sum(len(entry.location) for entry in found.entries) <= len(body)


def test_junk_before_the_prologue_is_skipped() -> None:
    body = b"<br />\n<b>Warning</b>: mysql_connect(): no & never\n" + LECTURE
    assert len(parse_sitemap(body).entries) == 3


def test_relative_locations_are_joined_where_the_place_is_known() -> None:
    body = (
        "<urlset><url><loc>/a</loc></url><url><loc>b.html</loc></url><url><loc>mailto:x@y.example</loc></url></urlset>"
    )
    sitemap = parse_sitemap(body, "https://example.org/maps/sitemap.xml")
    assert [e.location for e in sitemap.entries] == ["https://example.org/a", "https://example.org/maps/b.html"]
    assert dict(sitemap.faults) == {Fault.LOCATION: 1}


def test_news_is_told_from_the_rest(shared_data: Path) -> None:
    news = parse_sitemap((shared_data / "sitemaps" / "news.xml").read_bytes())
    assert news.is_news
    assert not parse_sitemap(LECTURE).is_news
    assert not Sitemap(Kind.URLSET).is_news


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026", 1_767_225_600.0),
        ("2026-11", 1_793_491_200.0),
        ("2026-11-15", 1_794_700_800.0),
        ("2026-11-15T08:30:00Z", 1_794_731_400.0),
        ("2026-11-14T23:59:59.45+01:00", 1_794_697_199.0),
        ("yesterday", 0.0),
        ("2026-13-45", 0.0),
        ("1066-10-14", 0.0),
        ("0999-01-01T10:00:00Z", 0.0),
    ],
)
def test_moments(text: str, seconds: float) -> None:
    assert moment(text) == seconds


@given(st.binary(max_size=400))
def test_whatever_comes_is_read(body: bytes) -> None:
    sitemap = parse_sitemap(body)
    assert len(sitemap.entries) <= MAX_URLS


_PIECES = st.sampled_from(
    [
        *(
            b"<urlset>",
            b"</urlset>",
            b"<url>",
            b"</url>",
            b"<loc>",
            b"</loc>",
            b"http://a.example/",
            b"&",
            b"&amp;",
            b"&x;",
        ),
        *(
            b"<![CDATA[",
            b"]]>",
            b"<!--",
            b"-->",
            b"<?xml version='1.0'?>",
            b"\x0b",
            b"\xff",
            b"<lastmod>",
            b"2026-11-15",
        ),
        *(b"<!DOCTYPE a [", b"<!ENTITY x 'y'>", b"]>", b"<sitemapindex>", b"<news:news>", b"</", b">", b"\0", b" "),
    ]
)


@given(st.lists(_PIECES, max_size=60).map(lambda pieces: b"<urlset>" + b"".join(pieces)))
def test_damaged_sitemaps_yield_only_web_locations(body: bytes) -> None:
    for entry in parse_sitemap(body).entries:
        assert entry.location.startswith("http")
        assert 0.0 <= entry.priority <= 1.0


_LOCATIONS = st.builds(
    "{}://{}.example/{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from("abc"),
    st.text(st.sampled_from("ab&;=?#é日'\"]%/"), max_size=20),
)


@given(st.lists(_LOCATIONS, max_size=20), st.sampled_from(["utf-8", "utf-16"]), st.booleans(), st.booleans())
def test_what_was_written_is_read(locations: list[str], encoding: str, cdata: bool, zipped: bool) -> None:
    from xml.sax.saxutils import escape

    rows = [f"<url><loc>{f'<![CDATA[{x}]]>' if cdata and ']]>' not in x else escape(x)}</loc></url>" for x in locations]
    body = f'<?xml version="1.0" encoding="{encoding}"?><urlset>{"".join(rows)}</urlset>'.encode(encoding)
    sitemap = parse_sitemap(gzip.compress(body) if zipped else body)
    assert [entry.location for entry in sitemap.entries] == locations
