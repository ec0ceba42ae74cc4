"""Sitemaps: the pages that a site tells of itself, read entry by entry, whatever state the file is in.

XML (urlset and index), text, RSS and Atom as sitemaps (sitemaps.org), gzip whatever the name says, with the news,
image, video and hreflang extensions. ``read_entries`` streams: no tree grows, so that memory is the body and one entry.

The web's sitemaps are wrong in ways that cost whole sites where a reader is strict. Here bare ampersands are text, what
stands before the prologue is skipped, namespaces and the case of names are not asked, and a file that breaks off
keeps what came before. No entity but XML's own five is ever resolved (fyke.formats.xml).

lastmod, changefreq and priority are what the site says, not what is so: fyke.sites.lastmod tells the lies that can be
seen at once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import msgspec

from fyke.errors import UrlError
from fyke.formats import xml
from fyke.formats.http_body import gunzip
from fyke.formats.tags import moment
from fyke.formats.xml import Element, XMLSyntaxError, local_name
from fyke.limits import note
from fyke.url import MAX_LENGTH, whatwg

MAX_URLS = 50_000
"""The protocol's limit of entries in one file; what comes after is not read."""
MAX_BYTES = 50 * 1_048_576
"""The protocol's limit of one file, uncompressed; what comes after is not read."""
MAX_EXTENSIONS = 1_000
"""Images, videos and alternates of one entry; Google reads as many images."""

_EXTENSIONS = frozenset({"image", "video", "link"})
_ROOT = xml.root_pattern("urlset", "sitemapindex", "rss", "feed", "rdf")
_DECLARED = re.compile(rb"<!ENTITY\s")
_SUBSET = 65_536  # bytes at the beginning in which entities are declared, if any are
_REFERENCE = re.compile(r"&[A-Za-z_][\w.-]*;")
_WEB = re.compile(r"https?://[^\s<>]+", re.IGNORECASE)
_FREQUENCIES = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})
_VALUE = 2_000  # characters kept of a title, a date, a name


class Kind(StrEnum):
    """What a file turned out to be."""

    URLSET = "urlset"
    INDEX = "index"
    TEXT = "text"
    RSS = "rss"
    ATOM = "atom"
    NONE = "none"


class Fault(StrEnum):
    """What was wrong with a sitemap; counted, and never a reason to give up the rest."""

    NO_SITEMAP = "no-sitemap"
    """Nothing that a sitemap begins with: an error page, an empty body."""
    MALFORMED = "malformed"
    """Not well-formed; what could be recovered was."""
    GZIP = "gzip"
    """The compressed stream breaks off."""
    TOO_LARGE = "too-large"
    """Beyond ``MAX_BYTES``: the rest was not read."""
    TOO_MANY = "too-many"
    """Entries beyond ``MAX_URLS``."""
    NO_LOCATION = "no-location"
    LOCATION = "location"
    """A location that is no http or https URL."""
    ENTITY = "entity"
    """A location made of entities that the file declares itself."""
    DATE = "date"
    """A lastmod that is no date; the location counts all the same."""


class News(msgspec.Struct, frozen=True):
    """What a news sitemap tells of an article."""

    title: str = ""
    published: str = ""
    name: str = ""
    """Of the publication."""
    language: str = ""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A page, or of an index a part, as a sitemap tells it (fifty thousand a file, so a struct: it costs a sixth)."""

    location: str
    """An absolute http or https URL, white space cut, not yet normalised."""
    lastmod: str = ""
    """As written, where it is a date."""
    changefreq: str = ""
    """One of the protocol's seven words, or nothing."""
    priority: float = 0.5
    """0 … 1; the protocol's default is 0.5."""
    news: News | None = None
    images: tuple[str, ...] = ()
    videos: tuple[str, ...] = ()
    alternates: tuple[tuple[str, str], ...] = ()
    """(hreflang, location) of the page in other languages."""

    @property
    def modified(self) -> float:
        """``lastmod`` in seconds since 1970, a date alone as its first moment in UTC; 0.0 where there is none."""
        return _moment(self.lastmod) if self.lastmod else 0.0


@dataclass(frozen=True, slots=True)
class Sitemap:
    """A sitemap, read."""

    kind: Kind
    entries: tuple[Entry, ...] = ()
    """Pages, in the order of the file."""
    sitemaps: tuple[Entry, ...] = ()
    """Of an index: its parts."""
    faults: tuple[tuple[Fault, int], ...] = ()

    @property
    def is_news(self) -> bool:
        """Whether most of it is news: such a file holds two days of articles, and is another one tomorrow."""
        return 2 * sum(entry.news is not None for entry in self.entries) > len(self.entries)


def parse_sitemap(body: bytes | str, url: str = "") -> Sitemap:
    """Return what the sitemap at ``url`` tells. Relative locations count where ``url`` is given. Never raises."""
    reader = SitemapReader(body, url)
    entries = tuple(reader)
    is_index = reader.kind is Kind.INDEX
    faults = tuple(sorted(reader.faults.items()))
    return Sitemap(reader.kind, () if is_index else entries, entries if is_index else (), faults)


class SitemapReader(Iterable[Entry]):
    """A sitemap as a stream: iterate once; ``kind`` is known at once, ``faults`` are whole at the end."""

    def __init__(self, body: bytes | str, url: str = "") -> None:
        self.faults: Counter[Fault] = Counter()
        self._url = url
        self._declares = False  # entities of its own
        plain = self._plain(body.encode("utf-8", "replace") if isinstance(body, str) else body)
        data, self._encoding = xml.widened(plain)
        root, self._data = xml.from_root(data, _ROOT)
        self.kind = self._recognise(root)

    def __iter__(self) -> Iterator[Entry]:
        count = 0
        for entry in self._entries():
            checked = self._check(entry)
            if checked is None:
                continue
            if count == MAX_URLS:
                self.faults[Fault.TOO_MANY] += 1
                note("sitemap-urls")
                return
            count += 1
            yield checked

    def _plain(self, data: bytes) -> bytes:
        """The bytes out of gzip: twice, as some servers have it."""
        for _ in range(2):
            if data[:2] != b"\x1f\x8b":
                break
            opened = gunzip(data, MAX_BYTES + 1)
            if opened.truncated and len(opened.body) <= MAX_BYTES:
                self.faults[Fault.GZIP] += 1
            data = opened.body
        if len(data) > MAX_BYTES:
            self.faults[Fault.TOO_LARGE] += 1
            note("sitemap-bytes")
        return data[:MAX_BYTES]

    def _recognise(self, root: str) -> Kind:
        """What the file is by the name of its root, or by its first word."""
        if root:
            return {"urlset": Kind.URLSET, "sitemapindex": Kind.INDEX, "feed": Kind.ATOM}.get(root, Kind.RSS)
        first = self._data[:MAX_LENGTH].split(None, 1)[:1]
        if first and _WEB.match(first[0].decode("utf-8", "replace")):
            return Kind.TEXT
        self.faults[Fault.NO_SITEMAP] += 1
        return Kind.NONE

    def _entries(self) -> Iterable[Entry]:
        if self.kind is Kind.NONE:
            return ()
        return _text_lines(self._data) if self.kind is Kind.TEXT else self._elements()

    def _elements(self) -> Iterator[Entry]:
        self._declares = bool(_DECLARED.search(self._data, 0, _SUBSET))
        wanted = {Kind.URLSET: "url", Kind.INDEX: "sitemap", Kind.RSS: "item", Kind.ATOM: "entry"}[self.kind]
        parser = xml.stream(_whole_entries(xml.repaired(self._data), wanted), self._encoding, wanted)
        self._data = b""
        read = {Kind.RSS: _feed_item, Kind.ATOM: _feed_item}.get(self.kind, _entry)
        try:
            for _, element in parser:
                yield read(element)
                xml.discard(element)
        except XMLSyntaxError:
            self.faults[Fault.MALFORMED] += 1
        else:
            if len(parser.error_log):
                self.faults[Fault.MALFORMED] += 1

    def _check(self, entry: Entry) -> Entry | None:
        """The entry if it names a page, its fields such as the protocol has them."""
        location = entry.location
        if not location:
            self.faults[Fault.NO_LOCATION] += 1
            return None
        if self._url and not _WEB.match(location):
            try:
                location = whatwg(location, self._url)
            except UrlError:
                location = ""
        if not _WEB.match(location) or len(location) > MAX_LENGTH:
            self.faults[Fault.LOCATION] += 1
            return None
        if self._declares and _REFERENCE.search(location):
            self.faults[Fault.ENTITY] += 1
            return None
        lastmod = entry.lastmod
        if lastmod and not _moment(lastmod):
            self.faults[Fault.DATE] += 1
            lastmod = ""
        if location is entry.location and lastmod is entry.lastmod:
            return entry
        return msgspec.structs.replace(entry, location=location, lastmod=lastmod)


_moment = lru_cache(maxsize=4096)(moment)


def _whole_entries(data: bytes, name: str) -> bytes:
    """``data`` up to its last whole entry, where it breaks off inside one: half a location is a wrong one."""
    end = re.compile(rb"</(?:[\w.-]{1,64}:)?" + name.encode() + rb"\s*>", re.IGNORECASE)
    at = len(data)
    while (at := data.rfind(b"</", 0, at)) >= 0:
        if closing := end.match(data, at):
            return data if data.find(b"</", closing.end()) >= 0 else data[: closing.end()]
    return data


def _text_lines(data: bytes) -> Iterator[Entry]:
    for line in data.decode("utf-8", "replace").splitlines():
        if line.strip():
            yield Entry(line.strip())


def _entry(element: Element) -> Entry:
    """``<url>`` or ``<sitemap>``."""
    said: dict[str, str] = {}
    news: News | None = None
    images: list[str] = []
    videos: list[str] = []
    alternates: list[tuple[str, str]] = []
    for child in element:
        name = local_name(child)
        if max(len(images), len(videos), len(alternates)) >= MAX_EXTENSIONS and name in _EXTENSIONS:
            note("sitemap-extensions")
        elif name == "image":
            images += [_text(part) for part in child if local_name(part) == "loc"]
        elif name == "video":
            videos += [_text(part) for part in child if local_name(part) in ("content_loc", "player_loc")]
        elif name == "news":
            news = _news(child)
        elif name == "link":
            if child.get("href") and "alternate" in (child.get("rel") or "").split():
                alternates.append((child.get("hreflang") or "", child.get("href").strip()))
        elif name and name not in said:
            said[name] = _text(child)
    frequency = said.get("changefreq", "").lower()
    return Entry(
        said.get("loc", ""),
        said.get("lastmod", "")[:_VALUE],
        frequency if frequency in _FREQUENCIES else "",
        _priority(said.get("priority", "")),
        news,
        tuple(images),
        tuple(videos),
        tuple(alternates),
    )


def _feed_item(element: Element) -> Entry:
    """``<item>`` of RSS or ``<entry>`` of Atom, of which a sitemap takes the link and the date."""
    location = changed = ""
    for child in element:
        name = local_name(child)
        if name == "link" and not location:
            if "alternate" in (child.get("rel") or "alternate").split():
                location = (child.get("href") or "").strip() or _text(child)
        elif name in ("updated", "modified", "pubdate", "date") and not changed:
            changed = _text(child)
    return Entry(location, changed[:_VALUE])


def _news(element: Element) -> News:
    said = {local_name(part): _text(part)[:_VALUE] for part in element.iter() if isinstance(part.tag, str)}
    return News(*(said.get(name, "") for name in ("title", "publication_date", "name", "language")))


def _priority(text: str) -> float:
    if not text:
        return 0.5
    try:
        value = float(text)
    except ValueError:
        return 0.5
    return min(max(value, 0.0), 1.0) if value == value else 0.5  # noqa: PLR0124 - not a number is not equal to itself


def _text(element: Element) -> str:
    return xml.text_of(element).strip()
