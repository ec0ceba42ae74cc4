"""RSS, RDF, Atom and CDF, read element by element from libxml2 and told as one value.

Nothing expands, nothing is loaded, and a feed that breaks off keeps the items before the break (fyke.formats.xml).
Names decide, whatever their namespace's address: half of the feeds that use one misspell it.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter

from fyke.formats import xml
from fyke.formats.tags import canonical
from fyke.formats.xml import Element, XMLSyntaxError, local_name
from fyke.limits import note

from fyke.sites.feed import (  # isort: skip
    MAX_ITEMS, MAX_TEXT, MAX_TITLE, Feed, FeedFault, FeedKind, Item, Rhythm, address, first_enclosures, from_html,
    joined,
)  # fmt: skip

_XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_MAX_BASES = 1024
"""Remembered at once: more than elements can be open, which libxml2 bounds at 256."""
_ITEMS = frozenset({"item", "entry"})
_CHANNELS = frozenset({"channel", "feed", "rdf", "rss"})
# Namespaces whose elements mean what a feed's own mean; those of other modules do not: media:title, itunes:author, ...
_KNOWN = re.compile(r"\{[^}]*(?:purl\.org/dc/|/atom|purl\.org/rss/1\.0/\})", re.IGNORECASE)
_DUBLIN_CORE = re.compile(r"\{[^}]*purl\.org/dc/", re.IGNORECASE)
_DATED = frozenset({"pubdate", "dc:date", "published", "updated", "issued", "modified"})
_PERIODS = {"hourly": 3600.0, "daily": 86_400.0, "weekly": 604_800.0, "monthly": 2_592_000.0, "yearly": 31_536_000.0}
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_BINARY = re.compile(r"(?!text/|[\w.+-]+/(?:[\w.-]+\+)?xml\b)[\w.+-]+/")  # Atom: what is neither text nor XML is base64


def read_xml(data: bytes, encoding: str | None, kind: FeedKind, url: str, faults: Counter[FeedFault]) -> Feed:
    """Return the feed in ``data``, which begins with the prologue or the root of that kind. Never raises."""
    reader = _Reader(kind, url, faults)
    reader.read(xml.repaired(data), encoding)
    return reader.feed()


class _Reader:
    """Gathers a feed from its elements."""

    def __init__(self, kind: FeedKind, url: str, faults: Counter[FeedFault]) -> None:
        self.kind, self.url, self.faults = kind, url, faults
        self.items: list[Item] = []
        self.pairs: list[tuple[str, str]] = []
        self.link = self.id = self.language = self.self_url = ""
        self.hubs: list[str] = []
        self.said: dict[str, str] = {}
        self.skip_hours: set[int] = set()
        self.skip_days: set[int] = set()
        self.bases: dict[Element, str] = {}

    def read(self, data: bytes, encoding: str | None) -> None:
        parser = xml.stream(data, encoding)
        try:
            for _, element in parser:
                name = local_name(element)
                if name in _ITEMS:
                    if len(self.items) == MAX_ITEMS:
                        self.faults[FeedFault.TOO_MANY] += 1
                        note("feed-items")
                        return
                    self.items.append(self.item(element))
                    xml.discard(element)
                elif name in _CHANNELS:
                    self.language = self.language or element.get(_XML_LANG) or ""
                    if self.kind is FeedKind.RDF and name == "channel":
                        self.id = self.id or xml.attribute(element, "about")
                    self.link = self.link or xml.attribute(element, "href")  # CDF
                elif (parent := element.getparent()) is not None and local_name(parent) in _CHANNELS:
                    self.about_feed(name, element)
        except XMLSyntaxError:
            self.faults[FeedFault.MALFORMED] += 1
        else:
            if len(parser.error_log):
                self.faults[FeedFault.MALFORMED] += 1

    def about_feed(self, name: str, element: Element) -> None:
        """A child of the channel."""
        if name == "link":
            self.feed_link(element)
        elif name == "id":
            self.id = self.joined(xml.text_of(element), element)
        elif name in ("skiphours", "skipdays"):
            self.skip(name, element)
        elif name in ("ttl", "updateperiod", "updatefrequency", "language"):
            self.said.setdefault(name, xml.text_of(element).strip().lower()[:40])
        elif not _is_foreign(element, element.getparent()):
            self.pairs += _pairs(name, element)

    def feed_link(self, element: Element) -> None:
        relations = (element.get("rel") or "alternate").lower().split()
        href = element.get("href")
        target = self.joined(href or xml.text_of(element), element) or ("" if href is None else self.base(element))
        if not target:
            return
        if "hub" in relations:
            self.hubs.append(target)
        if "self" in relations:
            self.self_url = self.self_url or target
        if "alternate" in relations:
            self.link = self.link or target

    def skip(self, name: str, element: Element) -> None:
        for child in element:
            text = xml.text_of(child).strip().lower()
            if name == "skiphours" and text.isdecimal() and len(text) <= 2 and int(text) <= 24:
                self.skip_hours.add(int(text) % 24)  # 24 is midnight in early RSS
            elif name == "skipdays" and text in _DAYS:
                self.skip_days.add(_DAYS.index(text))

    def item(self, element: Element) -> Item:
        pairs: list[tuple[str, str]] = []
        links: list[tuple[tuple[bool, bool], str]] = []
        enclosures: list[str] = []
        identity = self.joined(xml.attribute(element, "about"), element)
        language = element.get(_XML_LANG) or ""
        permanent = True
        for child in element:
            name = local_name(child)
            if _is_foreign(child, element):
                if name == "title":
                    pairs.append(("twitter:title", plain_text(child)))  # where there is no better one
            elif name == "link":
                self.item_link(child, links, enclosures)
            elif name in ("id", "guid"):
                text = xml.text_of(child).strip()
                permanent = name == "id" or (child.get("isPermaLink") or "true").lower() != "false"
                identity = self.joined(text, child) if permanent else text
            elif name == "enclosure":
                enclosures.append(self.joined(child.get("url") or "", child))
            elif name == "language":
                language = xml.text_of(child).strip()
            else:
                pairs += _pairs(name, child)
        if self.kind is FeedKind.CDF:
            links.append(((False, False), self.joined(xml.attribute(element, "href"), element)))
            pairs.append(("lastmod", xml.attribute(element, "lastmod")))
        meta, title = canonical(pairs)
        if not meta.published and not meta.updated and any(text and name in _DATED for name, text in pairs):
            self.faults[FeedFault.DATE] += 1
        link = min(links, default=((True, True), ""), key=lambda each: each[0])[1]
        if not link and permanent and identity.startswith(("http://", "https://")):
            link = identity
        if not link:
            self.faults[FeedFault.NO_LINK] += 1
        return Item(identity or link, link, title[:MAX_TITLE], meta, language, first_enclosures(enclosures))

    def item_link(self, element: Element, links: list[tuple[tuple[bool, bool], str]], enclosures: list[str]) -> None:
        """A link of an item: the first alternate that is a page is the best one."""
        relations = (element.get("rel") or "alternate").lower().split()
        target = self.joined(element.get("href") or xml.text_of(element), element)
        if not target:
            return
        if "enclosure" in relations:
            enclosures.append(target)
        elif "alternate" in relations:
            links.append(((False, "html" not in (element.get("type") or "text/html")), target))

    def joined(self, text: str, element: Element) -> str:
        """An address as it is meant inside ``element``; as it stands where its base is not known."""
        text = text.strip()
        return address(text, self.base(element)) if text else ""

    def base(self, element: Element) -> str:
        """What addresses inside ``element`` are joined to."""
        parent = element.getparent()
        base = self.url if parent is None else self.outer_base(parent)
        relative = element.get(_XML_BASE)
        return joined(relative.strip(), base) if relative else base

    def outer_base(self, element: Element) -> str:
        """``base`` of an element that holds others, remembered: its attributes may be many, and so may they."""
        if element not in self.bases:
            found = self.base(element)
            if len(self.bases) >= _MAX_BASES:
                self.bases.clear()
            self.bases[element] = found
        return self.bases[element]

    def feed(self) -> Feed:
        meta, title = canonical(self.pairs)
        period = _PERIODS.get(self.said.get("updateperiod", ""), 0.0)
        frequency = max(_number(self.said.get("updatefrequency", "")), 0.0) or 1.0
        ttl = _number(self.said.get("ttl", "")) * 60.0
        return Feed(
            kind=self.kind,
            title=title[:MAX_TITLE],
            link=self.link or (self.id if self.id.startswith("http") else ""),
            id=self.id,
            language=self.said.get("language", "") or self.language,
            meta=meta,
            items=tuple(self.items),
            rhythm=Rhythm(max(ttl, 0.0), frozenset(self.skip_hours), frozenset(self.skip_days), period / frequency),
            self_url=self.self_url,
            hubs=tuple(dict.fromkeys(self.hubs)),
            faults=tuple(sorted(self.faults.items())),
        )


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if 0.0 <= value < 1e9 else 0.0


def _is_foreign(element: Element, parent: Element) -> bool:
    """Whether an element is of another module than its parent, or no element."""
    tag = element.tag
    if not isinstance(tag, str):
        return True
    own = parent.tag.rpartition("}")[0]
    return tag.rpartition("}")[0] not in ("", own) and not _KNOWN.match(tag)


def _pairs(name: str, element: Element) -> list[tuple[str, str]]:
    """What an element says, as (source tag, plain text)."""
    if name in ("author", "contributor", "source") and len(element):
        names = [xml.text_of(child).strip() for child in element if local_name(child) == "name"]
        return [(name, names[0])] if names and names[0] else []
    if _DUBLIN_CORE.match(element.tag):
        name = "dc:" + name
    return [(name, plain_text(element))]


def plain_text(element: Element) -> str:
    """The text of a construct of RSS or Atom: XHTML, escaped HTML, base64 or plain, its markup taken out."""
    if len(element):
        return " ".join(xml.text_of(element).split())[:MAX_TEXT]
    text = (element.text or "").strip()
    mode, kind = (element.get("mode") or "").lower(), (element.get("type") or "").lower()
    if mode == "base64" or _BINARY.match(kind):
        try:
            text = base64.b64decode(text, validate=False).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            return ""
    elif kind in ("text", "text/plain") or (not kind and "Atom" in element.tag):  # Atom's default is plain
        return " ".join(text.split())[:MAX_TEXT]
    return from_html(text)
