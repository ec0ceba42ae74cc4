"""Dates in values, in text, in URLs, and of pages by rank; linear on anything."""

from __future__ import annotations

import gzip
import html
import json
import re
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.measure import SHARED
from fyke.clean.main import main_text
from fyke.convert import dates
from fyke.convert.date_kernels import MAX_YEARS
from fyke.convert.dates import EARLIEST, LATEST, date_in_url, dates_in, read_date, undated
from fyke.convert.facts import Facts
from fyke.convert.metadata import describe
from fyke.convert.publication import MAX_DATES
from fyke.formats.encoding import decoded
from fyke.formats.html import parse

DATA = SHARED / "data" / "dates"


@pytest.mark.parametrize(
    ("said", "iso"),
    [
        ("2015-07-10T09:53:00-04:00", "2015-07-10T09:53:00-04:00"),
        ("2017-11-03 03:01:00.000000", "2017-11-03T03:01:00"),
        ("2020-03-01T00:00:00+00:00", "2020-03-01T00:00:00Z"),
        ("20200303", "2020-03-03"),
        ("22 Dec 2016", "2016-12-22"),
        ("3. März 2020", "2020-03-03"),
        ("March 3rd, 2020 8:46 p.m.", "2020-03-03T20:46"),
        ("Tue, 05 Jun 2008 09:50:11 GMT", "2008-06-05T09:50:11Z"),
        ("2020年3月3日", "2020-03-03"),
        ("2020년 3월 3일", "2020-03-03"),
        ("20 de mayo de 2020", "2020-05-20"),
        ("le 30 avril 2015 à 07:19", "2015-04-30T07:19"),
        ("12 октября 2019", "2019-10-12"),
        ("07 أكتوبر 2020", "2020-10-07"),
        ("1583193600", "2020-03-03T00:00:00Z"),
        ("Sept. 2008", "2008-09"),
        ("2008", "2008"),
        ("31.12.1999", "1999-12-31"),
        ("15/04/20", "2020-04-15"),
        ("2020-02-30", ""),
        ("99/99/2020", ""),
        ("v1.2.2020.3", ""),
        ("tomorrow", ""),
        ("", ""),
    ],
)
def test_values_that_are_dates(said: str, iso: str) -> None:
    assert read_date(said) == iso


def test_months_come_first_in_america() -> None:
    assert read_date("03/04/2020", american=True) == "2020-03-04"
    assert read_date("03/04/2020") == "2020-04-03"
    assert read_date("25/04/2020", american=True) == "2020-04-25"


@pytest.mark.parametrize(
    ("url", "day"),
    [("https://x.example/2015/03/17/boats", "2015-03-17"), ("https://x.example/a-20200304.html", "2020-03-04"),
     ("https://x.example/2020/mar/04/x", "2020-03-04"), ("https://x.example/2017/7/12/x", "2017-07-12"),
     ("https://x.example/12345678", ""), ("https://x.example/2028064/x", ""), ("https://x.example/2020/3/foo", "")],
)  # fmt: skip
def test_days_in_urls(url: str, day: str) -> None:
    assert date_in_url(url) == day


@given(st.dates(min_value=date(EARLIEST, 1, 1), max_value=date(LATEST, 12, 31)))
def test_every_day_is_read_in_every_form(day: date) -> None:
    for form in (
        "%Y-%m-%d",
        "%d.%m.%Y",
        "%d %B %Y",
        "%B %d, %Y",
        "%Y%m%d",
        "%Y年%m月%d日",
        "%a, %d %b %Y 10:00:00 GMT",
    ):
        assert read_date(f"{day:{form}}")[:10] == str(day)
    found = list(dates_in(f"{'word ' * 100}published {day:%B %d, %Y} {'word ' * 100}"))
    assert [one.iso for one in found] == [str(day)]


@given(st.text(max_size=300))
def test_any_text_is_searched(text: str) -> None:
    for found in dates_in(text):
        assert text[found.start : found.end].strip()
    assert isinstance(read_date(text), str)


def published(html: str, url: str = "", text: str = "") -> tuple[str, str]:
    meta = describe(Facts(parse(html), url), text, text).meta
    return meta.published[:10], dict(meta.sources).get("published", "")


LINKED = '<script type="application/ld+json">{"@type":"Article","datePublished":"2020-01-02"}</script>'


@pytest.mark.parametrize(
    ("html", "url", "text", "expected"),
    [
        (f"{LINKED}<time>2019-01-01</time>", "", "", ("2020-01-02", "json-ld")),
        ("<meta property=article:published_time content=2020-01-03T01:00:00Z>", "https://x.example/2020/01/02/a", "",
         ("2020-01-02", "url")),
        ("<time pubdate datetime=2020-01-04>x</time>", "", "", ("2020-01-04", "time")),
        ("<h1>How boats float, at last</h1>", "", "Tue, 14 Jan 2020\nHow boats float, at last\nAnn, 13 Jan 2020\nx",
         ("2020-01-13", "text")),
        ("<span class=post-date>5 May 2018</span>", "", "", ("2018-05-05", "element")),
        ("<p>x", "", "Joined: 1 May 2010\nposted on 2 May 2012", ("2012-05-02", "text")),
        ("<p>x", "", "© 2 May 2012", ("2012-05-02", "text")),
        ("<p>x", "", "born May 3, 2011", ("", "")),
        ('<script type="application/ld+json">{"@type":"VideoObject","uploadDate":"2010-01-01"}</script>', "", "",
         ("", "")),
    ],
)  # fmt: skip
def test_the_most_trustworthy_source_counts(html: str, url: str, text: str, expected: tuple[str, str]) -> None:
    assert published(html, url, text) == expected


@pytest.mark.parametrize(("more", "day"), [(-1, "2021-05-04"), (0, "2020-05-03"), (1000, "2020-05-03")])
def test_of_a_list_of_dates_the_first_ones_count(more: int, day: str) -> None:
    """Each that is looked at costs 20 µs: a page of releases names hundreds."""
    text = "a release of 3 May 2020\n" * (MAX_DATES + more) + "published 4 May 2021"
    assert published("<p>x", "", text) == (day, "text")


@pytest.mark.skipif(not DATA.exists(), reason="../shared/data/dates is not here")
def test_the_public_set() -> None:
    """Every fifth page, so that it is quick; bench/dates.py takes all."""
    lines = (DATA / "truth.jsonl").read_text(encoding="utf-8").splitlines()[::5]
    right = wrong = 0
    for line in lines:
        truth = json.loads(line)
        page = parse(decoded(gzip.decompress((DATA / truth["file"]).read_bytes()), "text/html").text)
        main = main_text(page)
        day = describe(Facts(page), main.blocks, main.text).meta.published[:10]
        right += day == (truth["date"] or "")
        wrong += bool(day) and day != truth["date"]
    assert right >= 0.85 * len(lines)
    assert wrong <= 0.1 * len(lines)


_YEAR = re.compile(r"[0-9](?:(?<=1)99[0-9]|(?<=2)0[0-4][0-9]|[./][0-9]{1,2}[./][0-9]{2})")


def _all_years(text: str) -> list[list[int]]:
    return [list(match.span()) for match in _YEAR.finditer(text)]


@pytest.mark.kernel
@given(st.text(st.sampled_from("0123456789./- \x1eaé年日\U0001f600٣"), max_size=200))
def test_years_are_found_where_a_search_of_all_characters_finds_them(text: str) -> None:
    every = _all_years(text)
    assert [year for year in dates._years(text) if year not in every] == []
    beside = f"1 may {text[:30]} 1 may"  # day and month are never far
    assert dates._years(beside) == _all_years(beside)


FRAGMENTS = [
    *("2021", "1998", "20", "7", "31", "4th", "1er", "2º", "stycznia", "March", "mars", "AUGUST", "März", "foo"),
    *("年", "月", "日"),
    *("may", "mayor", "7th", "on 3 de", "555-1234", "12345 oak", "d'ag", "augusti", "abcdefghijklmnopmay"),
    *(" ", " ", " ", "-", "/", ".", ", ", "T10:30", " at 9:15 pm", " de ", "'", "x", "12020", "٣", "5may", "1stmarch"),
]  # fmt: skip


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join))
def test_only_what_holds_no_date_is_passed_over(text: str) -> None:
    found = list(dates._dates(text, 0, len(text), american=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dates, "_may_hold_date", lambda *_: True)
        assert found == list(dates._dates(text, 0, len(text), american=True))


@given(st.lists(st.sampled_from([*FRAGMENTS, " and so on" * 5, "\n"]), max_size=20).map("".join))
def test_years_without_day_and_month_beside_them_are_of_no_date(text: str) -> None:
    text += " " * 100
    found = list(dates.dates_in(text, american=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dates, "_years", _all_years)
        assert found == list(dates.dates_in(text, american=True))


@pytest.mark.kernel
def test_no_more_years_are_looked_at_than_there_is_room_for() -> None:
    assert len(dates._years("1 may 2001 " * 1000)) == MAX_YEARS


@pytest.mark.kernel
@given(st.lists(st.lists(st.sampled_from(["3 May 2020", "2020", "12", " ", "é", "a " * 90, "&#50;020"]), max_size=4)))
def test_texts_that_are_known_to_be_undated_name_no_date(parts: list[list[str]]) -> None:
    texts = [" ".join(part) for part in parts]
    for text, surely in zip(texts, undated([text.encode() for text in texts]), strict=True):
        assert not (surely and list(dates_in(html.unescape(text))))
    plain = b"word " * 100
    said = [
        b"",
        plain,
        plain + b"on 3 May 2020",
        plain + b"may 1234 2020 12345",
        plain + b"ash 2001\n1-2-1996 3",
        plain,
    ]
    assert undated(said) == [False, True, False, False, False, True]
    assert undated([plain + b"in 2001 the 12345th ash\nof mayor 23 fell", plain + b"5th 2020\noak 555-1234567"]) == [
        True,
        False,
    ]
