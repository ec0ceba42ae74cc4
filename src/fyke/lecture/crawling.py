"""Crawling: URLs, robots.txt, politeness, freshness and age, sitemaps, feeds."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np

from fyke.formats.http import http_date, parse_head
from fyke.frontier.frontier import BACK_QUEUES, Frontier
from fyke.frontier.keys import Entry
from fyke.frontier.leases import Idle, Lease
from fyke.frontier.politeness import Contact
from fyke.frontier.revisit import RevisitPolicy, expected_age
from fyke.lecture import texts
from fyke.lecture.example import Said, example
from fyke.sites.feed import parse_feed
from fyke.sites.robots import Robots
from fyke.sites.sitemap import parse_sitemap
from fyke.store.manifest import tablet_of
from fyke.url import Url


@example("CS276 §20.2.1, Parsing: URL normalization", "fyke.url")
def join() -> Iterator[Said]:
    """A relative link is expanded."""
    page = Url.parse("http://en.wikipedia.org/wiki/Main_Page")
    expanded = "http://en.wikipedia.org/wiki/Wikipedia:General_disclaimer"
    yield "/wiki/Wikipedia:General_disclaimer", expanded, page.join("/wiki/Wikipedia:General_disclaimer").href


@example("CS6200, Controlling Crawling", "fyke.sites.robots")
def croft_robots() -> Iterator[Said]:
    """robots.txt with a favoured crawler."""
    robots = Robots.parse(texts.CROFT_ROBOTS)
    for path, allowed in (("/private/x", False), ("/confidential/", False), ("/other/x", False)):
        yield f"fyke may fetch {path}", allowed, robots.allows("fyke", path)
    yield "fyke may fetch /other/public/x", True, robots.allows("fyke", "/other/public/x")
    yield "fyke may fetch /", True, robots.allows("fyke", "/")
    yield "FavoredCrawler may fetch /private/x", True, robots.allows("FavoredCrawler", "/private/x")
    yield "its sitemap", "http://mysite.com/sitemap.xml.gz", robots.sitemaps


@example("CS276 §20.2.1, Robots.txt example", "fyke.sites.robots")
def manning_robots() -> Iterator[Said]:
    """No robot but one may visit /yoursite/temp/."""
    robots = Robots.parse(texts.MANNING_ROBOTS)
    page = "http://host/yoursite/temp/x"
    yield "fyke may fetch it", False, robots.allows("fyke", page)
    yield "searchengine may fetch it", True, robots.allows("searchengine", page)


@example("CS276 §20.2.3, Back queue processing", "fyke.frontier.frontier", by="the notes' rules")
def mercator() -> Iterator[Said]:
    """Mercator's frontier: one URL at a time of each host, then the gap."""
    frontier = Frontier()
    for host in ("a.test", "b.test"):
        frontier.add(host, [Entry(f"http://{host}/{i}", 1) for i in range(2)], 0.0)
        for refill in frontier.refills():
            frontier.supply(refill, [(i, Entry(f"http://{host}/{i}", 1)) for i in range(refill.count)][:2], 0.0)
    leases = [found for _ in range(3) if isinstance(found := frontier.next(0.0), Lease)]
    yield "URLs handed out at once, of two hosts with two each", 2, len(leases)
    yield "hosts they are of", 2, len({lease.host for lease in leases})
    for lease in leases:
        frontier.done(lease, 0.2, Contact(finished=0.2, duration=0.2))
    idle = frontier.next(0.2)
    yield "then nothing is, until seconds", 2.2, round(idle.until, 3) if isinstance(idle, Idle) else idle
    yield "and at that time the next is", "http://a.test/1", _href(frontier.next(2.3))
    yield "back queues for each of 256 threads", 3, BACK_QUEUES / 256


def _href(found: Lease | Idle) -> str:
    return found.entry.href if isinstance(found, Lease) else str(found)


@example("CS6200, Distributed Crawling", "fyke.store.manifest", by="the notes' rule")
def partition() -> Iterator[Said]:
    """The hash that assigns URLs to crawlers is one of the host part."""
    of = [tablet_of(Url.parse(f"http://www.company.com/items?item={item}").key, 64) for item in ("truck", "bicycle")]
    yield "two URLs of one host go to one place", True, of[0] == of[1]
    places = {tablet_of(Url.parse(f"http://host{i}.test/").key, 64) for i in range(2000)}
    yield "places that 2,000 hosts are spread over", 64, len(places)


@example("CS6200, Freshness: the HEAD request", "fyke.formats.http")
def head_answer() -> Iterator[Said]:
    """What a server answers to HEAD."""
    head = parse_head(texts.HEAD_ANSWER)
    yield "Last-Modified", "2008-01-04 15:28:39", _when(http_date(head.get("last-modified")) or 0)
    yield "ETag", '"239c33-2576-2a2837c0"', head.get("etag")
    yield "Content-Length", "9590", head.get("content-length")
    yield "media type", "text/html", head.media_type


def _when(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"


@example("CS6200, Age", "fyke.frontier.revisit", by="their integral")
def age() -> Iterator[Said]:
    """Expected age of a page that changes once a week: the integral of λe^(−λx)(t − x) from 0 to t."""
    for days in (1, 7, 14, 30):
        x = (np.arange(100_000) + 0.5) / 100_000 * days
        integral = float(np.mean(np.exp(-x / 7) / 7 * (days - x)) * days)
        yield f"Age(1/7, {days}), days", f"{integral:.4f}", f"{expected_age(1 / 7, days):.4f}"


@example(
    "CS6200, Freshness: optimizing for this metric can lead to bad decisions",
    "fyke.frontier.revisit",
    by="the known optimum",
)
def visits() -> Iterator[Said]:
    """One visit a day for four pages that change monthly, weekly, daily and ten times a day."""
    rates = np.array([1 / 30, 1 / 7, 1.0, 10.0])
    fresh = RevisitPolicy("freshness-optimal").rates(rates, 1.0)
    aged = RevisitPolicy("age-optimal").rates(rates, 1.0)
    yield "visits a day that make freshness best", ["0.161", "0.307", "0.532", "0.000"], [f"{v:.3f}" for v in fresh]
    yield "the page that changes most is given up", True, bool(fresh[3] == 0)
    yield "visits a day that make age least", ["0.134", "0.207", "0.315", "0.344"], [f"{v:.3f}" for v in aged]


@example("CS6200, Sitemap Example", "fyke.sites.sitemap")
def sitemap() -> Iterator[Said]:
    """A sitemap of three pages."""
    entries = parse_sitemap(texts.SITEMAP).entries
    yield "pages", 3, len(entries)
    items = "http://www.company.com/items?item="
    locations = ["http://www.company.com/", items + "truck", items + "bicycle"]
    yield "locations", locations, [entry.location for entry in entries]
    yield "last change of the first", "2008-01-15", entries[0].lastmod
    yield "change frequencies", ["monthly", "weekly", "daily"], [entry.changefreq for entry in entries]
    yield "priorities (0.5 where none is given)", [0.7, 0.5, 0.5], [entry.priority for entry in entries]


@example("CS6200, RSS Example", "fyke.sites.feed")
def feed() -> Iterator[Said]:
    """A feed of two items, to be cached for an hour."""
    found = parse_feed(texts.FEED)
    yield "title", "Search Engine News", found.title
    yield "ttl, minutes", 60, (found.rhythm.ttl or 0) / 60
    yield "items", ["Upcoming SIGIR Conference", "New Search Engine Textbook"], [item.title for item in found.items]
    links = ["http://www.sigir.org/conference", "http://www.cs.umass.edu/search-book"]
    yield "links", links, [item.link for item in found.items]
    dates = ["2008-06-05T09:50:11Z", "2008-06-05T09:33:01Z"]
    yield "dates (5 June 2008 was no Tuesday)", dates, [item.meta.published for item in found.items]


EXAMPLES = (
    join, croft_robots, manning_robots, mercator, partition, head_answer, age, visits, sitemap, feed,
)  # fmt: skip
