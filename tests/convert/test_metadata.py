"""What a page says of itself: which source counts, what is no fact, and the public set where it is there."""

from __future__ import annotations

import gzip
import json
from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.measure import SHARED
from fyke.convert.authors import clean_name
from fyke.convert.facts import Facts
from fyke.convert.metadata import describe, first_paragraph
from fyke.formats.html import parse
from fyke.values import Described, Meta

DATA = SHARED / "data" / "metadata"
ARTICLE = """<script type="application/ld+json">{"@context": "https://schema.org", "@graph": [
  {"@type": "WebSite", "name": "The Site"},
  {"@type": ["NewsArticle"], "headline": "The keel &amp; the mast",
   "author": [{"name": "Ann Lee"}, {"name": "Bob Ray"}],
   "datePublished": "2020-03-01T23:30:00-05:00", "dateModified": "2020-03-04", "publisher": {"name": "The Paper"},
   "image": {"url": "/keel.jpg"}, "license": "https://creativecommons.org/licenses/by/4.0/", "keywords": "boats, keels",
   "description": "What keeps boats upright."}]}</script>"""


def of(html: str, url: str = "https://paper.example/a", text: str = "", main: str = "") -> Described:
    return describe(Facts(parse(html), url), text, main)


def test_an_article_describes_itself() -> None:
    found = of(f"<html lang=en-GB><title>x | y</title><link rel=canonical href=/true>{ARTICLE}")
    meta = found.meta
    assert found.title == "The keel & the mast"
    assert (meta.author, meta.site) == ("Ann Lee, Bob Ray", "The Paper")
    assert (meta.published, meta.updated) == ("2020-03-01T23:30:00-05:00", "2020-03-04")
    assert (meta.image, meta.canonical) == ("https://paper.example/keel.jpg", "https://paper.example/true")
    assert (meta.licence, meta.kind) == ("https://creativecommons.org/licenses/by/4.0/", "article")
    assert (meta.keywords, meta.description) == ("boats, keels", "What keeps boats upright.")
    assert (found.language, meta.declared) == ("en", "en-GB")
    sources = dict(meta.sources)
    assert {sources[name] for name in ("title", "author", "published", "site", "licence")} == {"json-ld"}
    assert sources["canonical"] == "link"


@pytest.mark.parametrize(
    ("html", "title", "source"),
    [
        ("<title>untitled</title><h1>A true heading</h1>", "A true heading", "heading"),
        ("<title>Slide 1</title><meta property=og:title content=Untitled><h2>Minutes of June</h2>", "Minutes of June",
         "heading"),
        ("<title>How all the boats float | The Paper</title>", "How all the boats float", "title"),
        ("<title>Boats - The Paper</title><meta property=og:site_name content='The Paper'>", "Boats", "title"),
        ("<meta property='og:title' content='From &amp;amp; to'>", "From & to", "meta"),
        ("<meta name=title content=B><meta property='dc:title' content=A>", "A", "meta"),
        ("<title></title><p>x", "", ""),
    ],
)  # fmt: skip
def test_titles_by_rank_and_no_placeholders(html: str, title: str, source: str) -> None:
    found = of(html)
    assert found.title == title
    assert dict(found.meta.sources).get("title", "") == source


@pytest.mark.parametrize(
    ("html", "author"),
    [
        ("<meta name=author content=admin><p class=byline>By Ann Lee, March 3, 2020</p>", "Ann Lee"),
        ("<meta property=article:author content=https://x.example/ann><a rel=author href=/ann>Ann Lee</a>", "Ann Lee"),
        ("<meta name=author content='pdftk-java'>", ""),
        ("<meta name=citation_author content='A. Lee'><meta name=citation_author content='B. Ray'>", "A. Lee, B. Ray"),
        ("<div itemscope itemtype=schema:Article><b itemprop=author itemscope><i itemprop=name>Ann</b></div>", "Ann"),
        ("<p class=comment-author>Troll</p>", ""),
    ],
)  # fmt: skip
def test_authors_are_people(html: str, author: str) -> None:
    assert of(html).meta.author == author


def test_what_was_told_is_a_value_like_any_other() -> None:
    meta = of("<p>Nothing is said here.").meta
    assert meta == Meta(language_score=meta.language_score)
    assert replace(meta, author="Ann Lee") == Meta(author="Ann Lee", language_score=meta.language_score)
    with pytest.raises(FrozenInstanceError):
        meta.author = "Bob Ray"  # type: ignore[misc]


def test_names_lose_what_stands_around_them() -> None:
    assert clean_name("  By  Ann\nLee ") == "Ann Lee"
    assert clean_name("Von Max Frisch") == "Max Frisch"
    assert clean_name("http://x.example/ann") == ""
    assert clean_name("Follow us on this and that") == ""


def test_languages_elsewhere_and_licences_in_anchors() -> None:
    found = of(
        "<link rel=alternate hreflang=de href=/de><link rel=alternate hreflang=x-default href=//e.example/>"
        "<a rel='nofollow license' href=https://creativecommons.org/licenses/by-sa/4.0/>CC</a>"
    ).meta
    assert found.alternates == (("de", "https://paper.example/de"), ("x-default", "https://e.example/"))
    assert found.licence == "https://creativecommons.org/licenses/by-sa/4.0/"


def test_a_page_that_says_nothing_is_described_by_its_text() -> None:
    german = "Der Hund des Nachbarn bellte die ganze Nacht, sodass niemand im Haus schlafen konnte."
    found = of("<html lang=en><p>x", text=german, main=f"Kurz\n{german}")
    assert found.meta.description == german
    assert (found.language, found.meta.declared) == ("de", "en")
    assert found.meta.language_score > 0.5
    assert first_paragraph("") == ""


@settings(max_examples=60)
@given(st.lists(st.sampled_from([
    "<meta property=og:title content='", "'>", "<script type=application/ld+json>", "</script>", '{"@graph":[',
    '"author":', "[[[", "}", "<div itemscope itemprop=a itemref='b b'>", "<p id=b itemprop=c>",
    "<time datetime=", "2020-13-45",
    "<title>", "<h1>", "By ", "\x00", "&#x0;", "<link rel=license href='http://[", "<a rel=author>", "é", "漢",
]), max_size=25).map("".join), st.text(max_size=50))  # fmt: skip
def test_any_page_is_described(html: str, text: str) -> None:
    found = of(html, text=text, main=text)
    assert all(
        isinstance(value, str) for value in (found.title, found.language, found.meta.author, found.meta.published)
    )


@pytest.mark.skipif(not DATA.exists(), reason="../shared/data/metadata is not here")
def test_the_public_set() -> None:
    right = {"title": 0, "siteName": 0, "publishedTime": 0}
    for line in (DATA / "truth.jsonl").read_text(encoding="utf-8").splitlines():
        truth = json.loads(line)
        html = gzip.decompress((DATA / truth["file"]).read_bytes()).decode()
        found = of(html, truth["url"] or "")
        said = {"title": found.title, "siteName": found.meta.site, "publishedTime": found.meta.published}
        for field in right:
            if truth.get(field):
                cut = 10 if field == "publishedTime" else None
                right[field] += " ".join(truth[field].split())[:cut] == said[field][:cut]
    assert right["title"] >= 69
    assert right["siteName"] >= 26
    assert right["publishedTime"] >= 12
