"""Tags across sources: the lecture's examples, dates with their precision, vendor data, and a user's own table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.formats.tags import TABLE, Synonyms, canonical, date


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("Mon Sep 29 00:41:50 BST 2008", "2008-09-28T23:41:50Z"),
        ("2010-05-24T21:27:52Z", "2010-05-24T21:27:52Z"),
        ("2007-02-22T00:00:00-05:00", "2007-02-22T05:00:00Z"),
        ("Tue, 05 Jun 2008 09:50:11 GMT", "2008-06-05T09:50:11Z"),
        ("September 22, 2010 8:46 p.m. EDT", "2010-09-23T00:46Z"),
        ("2020-01-01T10:00:00.123+0530", "2020-01-01T04:30:00Z"),
        ("2020-01-01 10:00", "2020-01-01T10:00"),
        ("3rd of May 2011", "2011-05-03"),
        ("20080929", "2008-09-29"),
        ("2008-09", "2008-09"),
        ("Sept. 2009", "2009-09"),
        ("2008", "2008"),
        ("2024-02-30", ""),
        ("0999-01-01T10:00:00Z", ""),
        ("1000-01-01T00:00+05:00", ""),
        ("1 Jan 0999 10:00", ""),
        ("yesterday", ""),
        ("", ""),
    ],
)
def test_dates_in_utc_with_their_precision(written: str, normal: str) -> None:
    assert date(f"  {written} ") == normal


def test_a_newswire_story() -> None:
    meta, _ = canonical(
        [
            ("xn:publicationTime", "2007-02-22T00:00:00-05:00"),
            ("xn:receivedTime", "2007-02-22T00:00:12-05:00"),
            ("xn:vendorData", "MRKTWIRE:Source=InvestSource, Inc."),
            ("xn:vendorData", "MRKTWIRE:Geographic Code=RE/HUNTINGTON_BEACH"),
            ("xn:vendorData", "no tag at all"),
        ]
    )
    assert (meta.published, meta.received) == ("2007-02-22T05:00:00Z", "2007-02-22T05:00:12Z")
    assert (meta.source, meta.place) == ("InvestSource, Inc.", "RE/HUNTINGTON_BEACH")


def test_the_most_trustworthy_synonym_wins_whatever_the_order() -> None:
    pairs = [("date", "2001-01-01"), ("article:published_time", "2002-02-02"), ("pubDate", "2003-03-03")]
    assert canonical(pairs)[0].published == canonical(pairs[::-1])[0].published == "2002-02-02"


def test_an_address_is_no_author() -> None:
    assert canonical([("article:author", "https://example.org/jane"), ("dc.creator", "Jane")])[0].author == "Jane"


def test_a_user_extends_the_table() -> None:
    mine = TABLE.extended(Synonyms({"place": ["x:where"], "published": ["x:when"]}).tags)
    meta, _ = canonical([("X:Where", "Hull"), ("x:when", "2001"), ("pubDate", "2002")], mine)
    assert (meta.place, meta.published) == ("Hull", "2001")
    with pytest.raises(ValueError, match="unknown field 'plase'"):
        Synonyms({"plase": []})


@given(st.text(max_size=60))
def test_any_text_is_a_date_or_none(text: str) -> None:
    found = date(text)
    assert found == "" or date(found) == found
