"""Feeds: the lecture's, feedparser's own expectations, JSON Feed, and whatever else comes."""

from __future__ import annotations

import ast
import json
import re
from calendar import timegm
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.formats.tags import moment
from fyke.lecture.texts import FEED as LECTURE
from fyke.sites.feed import MAX_ITEMS, Feed, FeedFault, FeedKind, Item, Rhythm, from_html, parse_feed
from fyke.url import whatwg


def test_the_lectures_feed() -> None:
    feed = parse_feed(LECTURE)
    assert (feed.kind, feed.title, feed.language) == (FeedKind.RSS, "Search Engine News", "en-us")
    assert feed.link == "http://www.search-engine-news.org/"
    assert feed.rhythm.ttl == 60 * 60
    assert [item.id for item in feed.items] == [
        "http://search-engine-news.org#500",
        "http://search-engine-news.org#499",
    ]
    assert [item.link for item in feed.items] == [
        "http://www.sigir.org/conference",
        "http://www.cs.umass.edu/search-book",
    ]
    assert [item.title for item in feed.items] == ["Upcoming SIGIR Conference", "New Search Engine Textbook"]
    assert feed.items[0].meta.description == (
        "The annual SIGIR conference is coming! Mark your calendars and check for cheap flights."
    )
    # 5 and 19 June 2008 were Thursdays: the weekdays are wrong, and ignored.
    assert [item.meta.published for item in feed.items] == ["2008-06-05T09:50:11Z", "2008-06-05T09:33:01Z"]
    assert feed.meta.published == "2008-06-19T05:17:00Z"
    assert feed.faults == ()


# What fyke uses of a feed, by feedparser's names: an expectation that compares one of these is asked.
_DATES = "updated|published|created|issued|modified|date"
_CLAUSE = re.compile(
    r"\(?(?P<of>feed|entries\[(?P<index>\d+)\])(?:\.|\[')(?P<name>title|link|links|id|guid|ttl|language|enclosures|summary|"
    rf"description|(?:{_DATES})(?:_parsed)?|title_detail)(?:'\])?(?P<inner>\[\d+\]\['(?:href|url)'\]|\['value'\])?"
    r"\s*==\s*(?P<value>.+?)\)?"
)


def test_feedparsers_expectations(shared_data: Path) -> None:
    asked, wrong = 0, []
    for path in sorted((shared_data / "feeds" / "wellformed").glob("*/*.xml")):
        body = path.read_bytes()
        text = body.decode("utf-16" if body[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace")
        expectation = re.search(r"Expect:\s*(.*?)\r?\n", text)
        place = re.search(r"Header:\s*Content-Location:\s*(\S+)", text)
        assert expectation is not None
        url = f"http://127.0.0.1:8097/tests/wellformed/{path.parent.name}/{path.name}"
        feed = parse_feed(body, whatwg(place[1], url) if place else url)
        for clause in re.split(r"\s+and\s+", expectation[1]):
            match = _CLAUSE.fullmatch(clause.strip())
            if match and (value := _literal(match["value"])) is not None:
                asked += 1
                if not _holds(feed, match, value):
                    wrong.append((path.parent.name + "/" + path.name, clause))
    assert asked >= 140
    assert len(wrong) <= asked * 0.01, (asked, wrong)


def _literal(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return None


def _holds(feed: Feed, match: re.Match[str], value: object) -> bool:
    """Whether ``feed`` says what feedparser expects; markup counts by its text."""
    index = match["index"]
    if index is not None and int(index) >= len(feed.items):
        return False
    about: Feed | Item = feed if index is None else feed.items[int(index)]
    name = match["name"].removesuffix("_parsed").removesuffix("_detail")
    if name in _DATES.split("|"):
        wanted = float(timegm(value)) if isinstance(value, tuple) else moment(str(value))
        return wanted in (moment(about.meta.published), moment(about.meta.updated))
    if name == "ttl":
        return feed.rhythm.ttl == float(str(value)) * 60
    if name in ("title", "summary", "description"):
        got = about.title if name == "title" else about.meta.description
        return got in (from_html(str(value)), " ".join(str(value).split()))
    if name in ("links", "enclosures"):
        others = about.enclosures if isinstance(about, Item) else (about.self_url,)
        return any(_same_address(each, str(value)) for each in (about.link, *others))
    return _same_address(str(getattr(about, "id" if name == "guid" else name)), str(value))


def _same_address(left: str, right: str) -> bool:
    return left == right or ("://" in left and "://" in right and whatwg(left) == whatwg(right))


RSS_1 = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:sy="http://purl.org/rss/1.0/modules/syndication/">
<channel rdf:about="http://a.example/feed.rdf"><title>News</title><link>http://a.example/</link>
<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>2</sy:updateFrequency></channel>
<item rdf:about="http://a.example/1"><title>One</title><link>http://a.example/1</link><dc:creator>Ada</dc:creator>
<dc:date>2026-11-15T10:00:00+01:00</dc:date></item></rdf:RDF>"""


def test_rdf_says_how_often_it_changes() -> None:
    feed = parse_feed(RSS_1)
    assert (feed.kind, feed.id, feed.rhythm.period) == (FeedKind.RDF, "http://a.example/feed.rdf", 1800.0)
    item = feed.items[0]
    assert (item.id, item.meta.author, item.meta.published) == ("http://a.example/1", "Ada", "2026-11-15T09:00:00Z")
    assert item.published == moment("2026-11-15T09:00:00Z")


def test_hours_and_days_to_skip() -> None:
    hours = "".join(f"<hour>{hour}</hour>" for hour in ("0", "6", "24", "99", "x"))
    days = "<day>Saturday</day><day>sunday</day><day>Caturday</day>"
    rhythm = parse_feed(
        f"<rss><channel><skipHours>{hours}</skipHours><skipDays>{days}</skipDays></channel></rss>"
    ).rhythm
    assert rhythm == Rhythm(skip_hours=frozenset({0, 6}), skip_days=frozenset({5, 6}))


def test_atom_tells_its_hub_and_its_own_address() -> None:
    feed = parse_feed(
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de">'
        '<title type="html">A &amp;amp; B &lt;i&gt;c&lt;/i&gt;</title>'
        '<link rel="hub" href="https://hub.example/"/><link rel="self" href="/feed"/><link href="/"/>'
        '<entry><id>urn:1</id><link rel="enclosure" href="/a.mp3"/><link href="/1" type="text/html"/><title>x</title>'
        "<updated>2026-11-15T00:00:00Z</updated></entry></feed>",
        "https://a.example/x/feed.xml",
    )
    assert feed.title == "A & B c"
    assert (feed.hubs, feed.self_url, feed.link) == (
        ("https://hub.example/",),
        "https://a.example/feed",
        "https://a.example/",
    )
    assert feed.items[0].link == "https://a.example/1"
    assert feed.items[0].enclosures == ("https://a.example/a.mp3",)
    assert (feed.language, feed.items[0].published) == ("de", moment("2026-11-15"))


def test_json_feed() -> None:
    feed = parse_feed(
        json.dumps(
            {
                "version": "https://jsonfeed.org/version/1.1",
                "title": "My & your feed",
                "home_page_url": "https://a.example/",
                "feed_url": "https://a.example/feed.json",
                "hubs": [{"type": "WebSub", "url": "https://hub.example/"}, 7],
                "items": [
                    {
                        "id": 1,
                        "url": "/1",
                        "title": "One",
                        "date_published": "2026-11-15T10:00:00+01:00",
                        "tags": ["a", 2],
                    },
                    {"id": "2", "content_html": "<p>Hello <b>you</b></p>", "authors": [{"name": "Ada"}]},
                    "nonsense",
                ],
            }
        ),
        "https://a.example/feed.json",
    )
    assert (feed.kind, feed.title, feed.hubs) == (FeedKind.JSON, "My & your feed", ("https://hub.example/",))
    one, two = feed.items
    assert (one.id, one.link, one.meta.published) == ("1", "https://a.example/1", "2026-11-15T09:00:00Z")
    assert (two.link, two.meta.author, two.meta.description) == ("", "Ada", "Hello you")
    assert dict(feed.faults) == {FeedFault.NO_LINK: 1}


@pytest.mark.parametrize(
    "body", ['{"version": 3}', "[" * 100_000, "{", '{"version":"https://jsonfeed.org/", "items": 5}']
)
def test_json_that_is_no_feed(body: str) -> None:
    assert parse_feed(body).items == ()


def test_a_feed_that_breaks_off_keeps_what_came_before() -> None:
    feed = parse_feed(LECTURE[: LECTURE.index("New Search") + 5] + "\x0b & <b")
    assert feed.items[0].id == "http://search-engine-news.org#500"
    assert dict(feed.faults)[FeedFault.MALFORMED] == 1


def test_no_entity_grows_and_none_is_read() -> None:
    declared = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(9))
    bomb = (
        f'<!DOCTYPE rss [<!ENTITY e0 "ha"><!ENTITY x SYSTEM "file:///etc/hostname">{declared}]><rss><channel>'
        "<title>&e9;&x;</title><item><title>&e9;</title><link>http://a.example/</link></item></channel></rss>"
    )
    feed = parse_feed(bomb)
    assert feed.title == "&e9;&x;"
    assert feed.items[0].link == "http://a.example/"


def test_more_items_than_anyone_has_are_not_read() -> None:
    rows = "<item><link>http://a.example/</link></item>" * (MAX_ITEMS + 5)
    feed = parse_feed(f"<rss><channel>{rows}</channel></rss>")
    assert len(feed.items) == MAX_ITEMS
    assert dict(feed.faults) == {FeedFault.TOO_MANY: 1}


def test_a_page_is_no_feed() -> None:
    feed = parse_feed("<!DOCTYPE html><html><body>404</body></html>")
    assert (feed.kind, dict(feed.faults)) == (FeedKind.NONE, {FeedFault.NO_FEED: 1})


@given(st.binary(max_size=300))
def test_whatever_comes_is_read(body: bytes) -> None:
    assert len(parse_feed(body).items) <= MAX_ITEMS


_PIECES = st.sampled_from(
    [
        *(
            "<channel>",
            "</channel>",
            "<item>",
            "</item>",
            "<entry>",
            "<link>",
            "</link>",
            "<link href='x'/>",
            "<guid>",
            "&",
        ),
        *(
            "<title type='html'>",
            "</title>",
            "<title mode='base64'>",
            "<![CDATA[",
            "]]>",
            "<ttl>",
            "</ttl>",
            "9" * 400,
            "nan",
        ),
        *(
            "<skipHours>",
            "<hour>",
            "</hour>",
            "<pubDate>",
            "</pubDate>",
            "Mon, 99 Foo",
            "http://a",
            "xml:base='::'",
            "<b",
        ),
        *("<x xml:base='http://[' >", "<dc:date>", "</", "\x00", "é", "<author><name>", "-1"),
    ]
)


@given(st.sampled_from(["<rss>", "<feed>", "<rdf:RDF>", "<CHANNEL>"]), st.lists(_PIECES, max_size=50))
def test_damaged_feeds_are_read(root: str, pieces: list[str]) -> None:
    feed = parse_feed(root + "".join(pieces), "http://a.example/")
    assert 0.0 <= feed.rhythm.ttl < float("inf")
    assert all(item.published >= 0.0 for item in feed.items)


def test_a_comment_that_never_ends_hides_the_rest_once() -> None:
    assert from_html("text <!-- one --> and <!-- two" + "<!--" * 100_000) == "text and"
