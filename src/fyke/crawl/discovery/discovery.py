"""What sites tell of themselves, joined to the crawl: sitemaps and feeds become offers, and feeds are asked again.

A sitemap or feed is fetched like any page: queued, leased, asked of robots.txt, past the gate; its row is kept. What
it lists is offered with what it says: a sitemap's priority is an argument of the prioritizer, a feed's item brings its
canonical fields, which fill what the page itself leaves open. ``Entry.kind`` says what is expected at a URL:

    ""              a page; what it turns out to be is found out
    "sitemap:"      named by robots.txt, or by an index that was (``sitemap1:``, ``sitemap2:``: no deeper)
    "sitemap?:"     the well-known place, where robots.txt names none: where nothing is there, nothing is kept
    "feed:"         a feed that is polled again; "remap:", "remap1:", … the same for a sitemap

and behind the colon how often it was redirected. Everything that is listed passes through scope, seen-set and traps.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import msgspec

from fyke.crawl.capture import Processed, Processor
from fyke.crawl.discovery.push import Subscriber
from fyke.crawl.mail.outbox import Offer
from fyke.crawl.queue.queues import Queues
from fyke.errors import UrlError
from fyke.formats.http import Head, parse_head
from fyke.formats.tags import date, moment
from fyke.frontier.keys import Entry, is_form
from fyke.limits import note
from fyke.sites import sitemap as sitemaps
from fyke.sites.feed import NO_RHYTHM, Feed, FeedKind, Rhythm, parse_feed
from fyke.sites.lastmod import signals
from fyke.sites.polling import POLL_COST, PollSettings, Posting, next_poll
from fyke.sites.sitemap import Sitemap, parse_sitemap
from fyke.sites.standing import Permission, Verdict, max_age
from fyke.sites.websub import Topic, discover
from fyke.store import Batch, Tablet
from fyke.url import Url, host_key
from fyke.values import Fetched, Link, Meta, Validators

MAX_NAMED = 200
"""Sitemaps taken from one robots.txt."""
MAX_NESTING = 2
"""An index may list indexes, though the protocol forbids it; no deeper."""
NEWS_FIRST = 500
"""Articles of one news sitemap that go before other pages: tomorrow it lists others, and the rest wants its turn."""
FRESH = 2 * 86_400.0
"""Seconds for which an article is news."""
_AT_ONCE = 200_000  # bytes that are parsed without a thread: less than 50 ms

T = TypeVar("T")
_WINDOW = 1000  # bytes in which the root of a list is looked for
_SITEMAP = re.compile(r"(?:sitemap|remap)(\d?)\??:")
_LIST = re.compile(rb"<(?:[\w.-]{1,64}:)?(urlset|sitemapindex|rss|rdf|feed)[\s>/]", re.IGNORECASE)
_JSON_FEED = re.compile(rb'\s*\{[^\0]{0,2000}?"https?://jsonfeed\.org/version/')
_SITEMAP_POLLS = PollSettings(cost=10 * POLL_COST, shortest=3600.0)
"""A sitemap is large, and lags: it is asked again every hour at most. One of news is a feed."""
_LATE_NEWS = 0.4  # below the protocol's default: what is no longer news, and what is too much of it, comes last
_FEED_WORTH, _OLD_WORTH = 1.0, 0.7


def is_sitemap(kind: str) -> bool:
    """Whether a sitemap is expected."""
    return kind.startswith(("sitemap", "remap"))


def is_guess(kind: str) -> bool:
    """Whether nobody said that there is anything: it counts as a page only if there is."""
    return kind.startswith("sitemap?")


def is_poll(kind: str) -> bool:
    """Whether a feed or sitemap is asked again."""
    return kind.startswith(("feed", "remap"))


def redirected(kind: str) -> tuple[str, int]:
    """Return the kind of what a redirect leads to, and how many there were."""
    name, colon, hops = kind.rpartition(":")
    count = (int(hops) if hops.isdigit() else 0) + 1
    return f"{name}{colon}{count}", count


@dataclass(frozen=True, slots=True)
class Listing:
    """What a sitemap or feed comes to."""

    processed: Processed
    offers: tuple[Offer, ...]
    counts: tuple[tuple[str, int], ...] = ()
    signals: tuple[tuple[str, float], ...] = ()
    """(URL, when it is said to have changed) of pages that may be known already."""
    rhythm: Rhythm = NO_RHYTHM
    max_age: float = 0.0
    kind: str = "feed:"
    """Under which it is asked again."""
    is_news: bool = True
    topic: Topic | None = None
    """What a hub pushes."""


def places(url: Url, permission: Permission) -> list[Offer]:
    """Where the sitemaps of the site of ``url`` are, by its robots.txt or else by custom, as far as we may ask."""
    if permission.standing.verdict is Verdict.DENY:
        return []
    named: list[Url] = []
    sitemaps = permission.standing.rules().sitemaps
    if len(sitemaps) > MAX_NAMED:
        note("sitemaps-named")
    for text in sitemaps[:MAX_NAMED]:
        try:
            named.append(url.join(text))
        except UrlError:
            continue
    kind = "sitemap:" if named else "sitemap?:"
    asked = named or [url.join("/sitemap.xml")]
    return [Offer(each.href, 1, 1.0, kind) for each in asked if each.site != url.site or permission.allows(each)]


class Discovery:
    """Reads what lists pages. One for each agent."""

    def __init__(
        self, processor: Processor, *, sitemaps: bool = True, poll: bool = False, subscriber: Subscriber | None = None
    ) -> None:
        """``poll``: feeds are asked again when they are due; ``subscriber`` has hubs push them, where they have any."""
        self.sitemaps = sitemaps
        self.subscriber = subscriber
        self._processor = processor
        self._poll = poll

    @staticmethod
    def may_list(outcome: Fetched, entry: Entry) -> bool:
        """Whether ``outcome`` may be a sitemap or feed, by its first bytes."""
        body, kind = outcome.exchange.body, "" if is_form(entry.kind) else entry.kind
        if not kind and b"text/html" in outcome.exchange.response_head:
            return False  # what most are, at the cost of a microsecond
        return bool(kind or _LIST.search(body, 0, _WINDOW) or (body[:1] == b"{" and _JSON_FEED.match(body)))

    async def read(self, outcome: Fetched, entry: Entry, now: float) -> Listing | None:
        """What a sitemap or feed lists; None where ``outcome`` is neither."""
        body, kind = outcome.exchange.body, entry.kind
        if not self.may_list(outcome, entry):
            return None
        root = _LIST.search(body, 0, _WINDOW)
        head = parse_head(outcome.exchange.response_head)
        if "html" in head.media_type and not is_sitemap(kind):
            return None
        is_list = root is not None and root[1].lower() in (b"urlset", b"sitemapindex")
        if self.sitemaps and (is_sitemap(kind) or is_list):
            found = await _apart(parse_sitemap, body, outcome.url.href)
            if found.kind is not sitemaps.Kind.NONE:
                return self._of_sitemap(outcome, entry, found, now)
        if not is_sitemap(kind):
            feed = await _apart(parse_feed, body, outcome.url.href)
            if feed.kind is not FeedKind.NONE:
                return await self._of_feed(outcome, entry, feed, head, now)
        return None

    def _of_sitemap(self, outcome: Fetched, entry: Entry, found: Sitemap, now: float) -> Listing:
        level = int(((match := _SITEMAP.match(entry.kind)) and match[1]) or 0)
        offers = list(_parts(found, outcome.url, level) if found.sitemaps else _pages(found, outcome.url, now))
        links = tuple(Link(Url(offer.href), "", "sitemap") for offer in offers)
        counts = [("sitemaps", 1), ("sitemap-entries", len(offers))]
        counts += [(f"sitemap-faults:{fault}", count) for fault, count in found.faults]
        told = tuple(signals(found.entries, now))
        processed = self._processor.listed(outcome, entry.depth, _MEDIA.get(found.kind, "application/xml"), links)
        kind = f"remap{level or ''}:"
        return Listing(processed, tuple(offers), tuple(counts), told, kind=kind, is_news=found.is_news)

    async def _of_feed(self, outcome: Fetched, entry: Entry, feed: Feed, head: Head, now: float) -> Listing:
        processed = await self._processor.fetched(outcome, entry.depth)
        offers = tuple(_items(feed, outcome.url, entry.depth + 1, now))
        counts = [("feeds", 1), ("feed-items", len(offers))]
        counts += [(f"feed-faults:{fault}", count) for fault, count in feed.faults]
        told = tuple(
            (offer.href, when) for offer in offers if offer.from_feed and 0 < (when := _changed(offer.from_feed)) <= now
        )
        topic = discover(head.get_all("link"), feed, outcome.url.href)
        age = max_age(head.get("cache-control"))
        return Listing(processed, offers, tuple(counts), told, feed.rhythm, age, topic=topic)

    def validators(self, entry: Entry, tablet: Tablet) -> Validators:
        """What a server needs to say that a feed which is polled has nothing new."""
        version = tablet.version(entry.url.key) if is_poll(entry.kind) else None
        return Validators(version.meta.etag, version.meta.last_modified) if version is not None else Validators()

    def polled(self, batch: Batch, queues: Queues, entry: Entry, now: float, *, listing: Listing, new: int) -> None:
        """Write what a poll that brought ``new`` pages says of a feed or sitemap, and when it is asked again."""
        topic = listing.topic
        if not self._poll and not is_poll(entry.kind):
            return
        pushed = False
        if self.subscriber is not None and topic is not None:
            self.subscriber.follow(topic)
            pushed = self.subscriber.is_pushed(topic.topic)
        known = _read(queues, entry)
        last = known.posting if known else Posting()
        if not listing.is_news:  # of a sitemap, changes count too
            new += sum(when > last.polled for _, when in listing.signals) if last.polled else 0
        posting = last.after(now, new, [when for _, when in listing.signals])
        polled = Polled(posting, listing.rhythm, listing.max_age, listing.kind, listing.is_news)
        self._again(batch, queues, entry, polled, now, pushed=pushed)

    def unanswered(self, batch: Batch, queues: Queues, entry: Entry, now: float, *, unchanged: bool) -> None:
        """The same for a poll that brought no feed: it is as it was, or it could not be had."""
        known = _read(queues, entry)
        if known is None:
            return
        posting = known.posting.after(now, 0) if unchanged else known.posting.failed(now)
        self._again(batch, queues, entry, msgspec.structs.replace(known, posting=posting), now)

    def _again(
        self, batch: Batch, queues: Queues, entry: Entry, polled: Polled, now: float, *, pushed: bool = False
    ) -> None:
        settings = PollSettings() if polled.is_news else _SITEMAP_POLLS
        due = next_poll(polled.posting, polled.rhythm, now, max_age=polled.max_age, pushed=pushed, settings=settings)
        batch.put("host", _key(entry.url), msgspec.msgpack.encode(polled))
        queues.postpone(batch, Entry(entry.href, 1, entry.depth, kind=polled.kind), due)


class Polled(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of what is polled: how it posts, and when it wishes to be asked. Version 1."""

    posting: Posting
    rhythm: Rhythm = NO_RHYTHM
    max_age: float = 0.0
    kind: str = "feed:"
    is_news: bool = True


def _key(url: Url) -> bytes:
    """Where that stands in the family ``host``, behind the record of its host."""
    return host_key(url.host) + b"feed " + url.href.encode()


def _read(queues: Queues, entry: Entry) -> Polled | None:
    stored = queues.tablet(entry.url).get("host", _key(entry.url))
    return msgspec.msgpack.decode(stored, type=Polled) if stored else None


def _changed(meta: Meta) -> float:
    return moment(meta.updated) or moment(meta.published)


def completed(processed: Processed, from_feed: Meta) -> Processed:
    """What was made of a page, with what a feed told of it where the page itself says nothing."""
    meta = processed.change.meta
    said = meta.document or Meta()
    blank = {name: value for name in Meta.__slots__ if (value := getattr(from_feed, name)) and not getattr(said, name)}
    if not blank:
        return processed
    meta = msgspec.structs.replace(meta, document=replace(said, **blank))
    change = msgspec.structs.replace(processed.change, meta=meta)
    return msgspec.structs.replace(processed, change=change)


def feed_offers(feed: Feed, url: Url, now: float) -> list[Offer]:
    """What a feed that was pushed lists."""
    return list(_items(feed, url, 1, now))


_MEDIA = {
    sitemaps.Kind.TEXT: "text/plain",
    sitemaps.Kind.RSS: "application/rss+xml",
    sitemaps.Kind.ATOM: "application/atom+xml",
}


async def _apart(parse: Callable[[bytes, str], T], body: bytes, url: str) -> T:
    """Parse, in a thread where that takes long."""
    return parse(body, url) if len(body) <= _AT_ONCE else await asyncio.to_thread(parse, body, url)


def _urls(locations: Iterable[str], base: Url) -> Iterator[Url | None]:
    for location in locations:
        try:
            url = base.join(location)
        except UrlError:
            yield None
            continue
        yield url if url.href.startswith(("http://", "https://")) else None


def _parts(found: Sitemap, base: Url, level: int) -> Iterator[Offer]:
    """The parts of an index: sitemaps, one level deeper."""
    if level < MAX_NESTING:
        for url in _urls((part.location for part in found.sitemaps), base):
            if url is not None:
                yield Offer(url.href, 1, 0.9, f"sitemap{level + 1}:")
    elif found.sitemaps:
        note("sitemap-nesting")


def _pages(found: Sitemap, base: Url, now: float) -> Iterator[Offer]:
    """The pages of a sitemap, one link from the seeds, with the priority that their own site gives them."""
    domain = base.domain
    first = NEWS_FIRST
    for entry, url in zip(found.entries, _urls((e.location for e in found.entries), base), strict=True):
        if url is None:
            continue
        worth = entry.priority if url.domain == domain else -1.0
        news = None
        if entry.news is not None:
            news = Meta(published=date(entry.news.published), source=entry.news.name)
            fresh = moment(entry.news.published) > now - FRESH
            if url.domain == domain:
                worth = 1.0 if fresh and first > 0 else min(worth, _LATE_NEWS)
            first -= fresh
        yield Offer(url.href, 1, worth, from_feed=news)


def _items(feed: Feed, base: Url, depth: int, now: float) -> Iterator[Offer]:
    """The items of a feed, the new ones first of all."""
    domain = base.domain
    for item, url in zip(feed.items, _urls((item.link for item in feed.items), base), strict=True):
        if url is not None and item.link:
            worth = _FEED_WORTH if item.published > now - FRESH else _OLD_WORTH
            yield Offer(url.href, depth, worth if url.domain == domain else -1.0, from_feed=item.meta)


def is_polled(tablet: Tablet, url: Url) -> bool:
    """Whether the document at ``url`` is asked again by its own rhythm."""
    return tablet.get("host", _key(url)) is not None


def polled_kind(media_type: str) -> str:
    """The kind under which a document that an earlier run stored is polled; empty for a page."""
    return "feed:" if media_type in _FEED_TYPES else ""


_FEED_TYPES = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"})
