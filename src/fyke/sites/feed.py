"""Feeds: what a site publishes, newest documents first, and when it wishes to be asked again.

RSS 0.9x, 1.0 (RDF) and 2.0, Atom 0.3 and 1.0, CDF (feed_xml), and JSON Feed (feed_json), told as one value. Items have
the canonical fields of all documents (fyke.formats.tags). Titles and descriptions are plain text, whatever markup they
came in; links and ids are joined to ``xml:base`` and to the feed's own URL. No clock is asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from html import unescape

import msgspec

from fyke.errors import UrlError
from fyke.formats import xml
from fyke.formats.tags import moment
from fyke.limits import note
from fyke.url import whatwg
from fyke.values import Meta

MAX_ITEMS = 5_000
"""Items of one feed: the longest podcasts have some thousands."""
MAX_BYTES = 20_000_000
"""Of a feed; what comes after is not read."""

MAX_ENCLOSURES = 100
"""Of one item: podcasts have one, with a picture two."""
MAX_TITLE, MAX_TEXT = 1_000, 4_000
"""Characters kept of a title, and of any other text."""

_ROOT = xml.root_pattern("rss", "rdf", "feed", "channel")
_MARKUP = re.compile(r"<!--.*?(?:-->|\Z)|</?[A-Za-z!][^<>]{0,4000}>", re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")

NO_META = Meta()


class FeedKind(StrEnum):
    """What a file turned out to be."""

    RSS = "rss"
    RDF = "rdf"
    ATOM = "atom"
    CDF = "cdf"
    JSON = "json"
    NONE = "none"


class FeedFault(StrEnum):
    """What was wrong with a feed; counted, and never a reason to give up the rest."""

    NO_FEED = "no-feed"
    MALFORMED = "malformed"
    TOO_LARGE = "too-large"
    TOO_MANY = "too-many"
    NO_LINK = "no-link"
    """An item that leads nowhere."""
    DATE = "date"
    """A date that cannot be read."""


class Item(msgspec.Struct, frozen=True):
    """A published document."""

    id: str = ""
    """As the feed names it, joined where it is a relative address; the link where it has no name."""
    link: str = ""
    """Where it can be fetched; absolute where the feed's own URL is known."""
    title: str = ""
    meta: Meta = NO_META
    language: str = ""
    enclosures: tuple[str, ...] = ()

    @property
    def published(self) -> float:
        """When it was published, or else updated, in seconds since 1970; 0.0 where the feed does not say."""
        return moment(self.meta.published) or moment(self.meta.updated)


@dataclass(frozen=True, slots=True)
class Rhythm:
    """When a feed wishes to be asked again, as it says itself."""

    ttl: float = 0.0
    """Seconds for which it may be kept; 0 where it does not say."""
    skip_hours: frozenset[int] = frozenset()
    """Hours of the day, in UTC, in which nothing is published."""
    skip_days: frozenset[int] = frozenset()
    """Days of the week, Monday 0, in UTC, on which nothing is published."""
    period: float = 0.0
    """Seconds between two updates (sy:updatePeriod / sy:updateFrequency); 0 where it does not say."""


NO_RHYTHM = Rhythm()


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed, read."""

    kind: FeedKind
    title: str = ""
    link: str = ""
    """The page whose news these are."""
    id: str = ""
    language: str = ""
    meta: Meta = NO_META
    items: tuple[Item, ...] = ()
    rhythm: Rhythm = NO_RHYTHM
    self_url: str = ""
    """The feed's own address, which is the topic of a subscription."""
    hubs: tuple[str, ...] = ()
    """Who pushes it (WebSub)."""
    faults: tuple[tuple[FeedFault, int], ...] = ()


def parse_feed(body: bytes | str, url: str = "") -> Feed:
    """Return what the feed at ``url`` holds. Never raises; what is no feed has kind ``none``."""
    from fyke.sites.feed_json import read_json  # the readers make the values of this module
    from fyke.sites.feed_xml import read_xml

    data = body.encode("utf-8", "replace") if isinstance(body, str) else body
    faults: Counter[FeedFault] = Counter()
    if len(data) > MAX_BYTES:
        faults[FeedFault.TOO_LARGE] += 1
        note("feed-bytes")
    data, encoding = xml.widened(data[:MAX_BYTES])
    if data[:1] in (b"{", b"["):
        return read_json(data, url, faults)
    root, data = xml.from_root(data, _ROOT)
    if not root:
        return Feed(FeedKind.NONE, faults=((FeedFault.NO_FEED, 1),))
    kind = {"rss": FeedKind.RSS, "rdf": FeedKind.RDF, "feed": FeedKind.ATOM}.get(root, FeedKind.CDF)
    return read_xml(data, encoding, kind, url, faults)


def address(text: str, base: str) -> str:
    """``text`` as an absolute address where it is one or ``base`` is known; one that is absolute is left as it is."""
    return text if not text or _SCHEME.match(text) else joined(text, base)


def joined(text: str, base: str) -> str:
    """``text`` against ``base``; as it stands where that is not known or they do not fit."""
    if not base:
        return text
    try:
        return whatwg(text, base)
    except UrlError:
        return text


def first_enclosures(urls: Iterable[str]) -> tuple[str, ...]:
    """Return the addresses that are kept of an item's enclosures."""
    found = tuple(filter(None, urls))
    if len(found) > MAX_ENCLOSURES:
        note("feed-enclosures")
    return found[:MAX_ENCLOSURES]


def from_html(text: str) -> str:
    """The text of escaped HTML, on one line."""
    if "<" in text:
        text = _MARKUP.sub("", text)
    if "&" in text:
        text = unescape(text)
    return " ".join(text.split())[:MAX_TEXT]
