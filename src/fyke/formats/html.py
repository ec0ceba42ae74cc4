"""HTML: the one parse of a page, and what its elements say: title, base, links, robots, canonical, feeds, frames.

``parse`` builds the WHATWG tree (turbohtml: linear on hostile nesting, tree depth capped at 512). Links,
conversion and cleaning share that one ``Page``: links read elements by their tag, which the tree has indexed
(a query by tag costs a tenth of a microsecond, a list of selectors a walk over the tree); conversion and
cleaning run a kernel over ``Page.markup``, the tree written out in canonical form.

Values are as written in the page, entities resolved and white space folded; nothing is joined with a base or
judged here. Nothing raises, whatever the page.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import NamedTuple

import turbohtml

_FEED_TYPES = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"})
_REFRESH = re.compile(r"\s*(\d{0,9})(?:\.[\d.]*)?\s*(?:[;,\s]\s*(?:url\s*=\s*)?(.*))?", re.IGNORECASE | re.DOTALL)
_FRAMES = (("frame", "src"), ("iframe", "src"), ("embed", "src"), ("object", "data"))


class References(NamedTuple):
    """The links of a page as they stand there, in columns: not joined, not judged."""

    hrefs: list[str]
    """As written, white space at its ends and all: joining trims it."""
    texts: list[str]
    """Anchor texts, white space folded; the alternative text of an image where there is no other."""
    rels: list[str]
    """The rel attributes in lower case; for links that are no anchors the element: area, frame, iframe, embed…"""

    def add(self, href: str, text: str, rel: str) -> None:
        """Add a link."""
        self.hrefs.append(href)
        self.texts.append(text)
        self.rels.append(rel)


class Relation(NamedTuple):
    """A ``<link>`` element."""

    rel: str
    """Lower case, tokens separated by one space."""
    href: str
    type: str
    """Media type in lower case, without parameters."""
    hreflang: str
    title: str


class Refresh(NamedTuple):
    """``<meta http-equiv=refresh>``: after ``seconds`` the browser goes to ``href`` (empty: this page again)."""

    seconds: int
    href: str


def parse(markup: str) -> Page:
    """Return the tree of a decoded page. Takes linear time on any input; never raises."""
    return Page(turbohtml.parse(markup, positions=False, allow_declarative_shadow_roots=False))


class Page:
    """A parsed page. What it offers is read from the tree when first asked for, and kept."""

    def __init__(self, tree: turbohtml.Document) -> None:
        self.tree = tree

    @cached_property
    def markup(self) -> bytes:
        """The tree in canonical form, as UTF-8.

        Every element is closed and in its place, tag names are in lower case, attributes are ``name="value"``.
        Text knows the entities ``&amp; &lt; &gt; &nbsp;``, values ``&quot;`` too; the content of script, style,
        iframe, noframes, noembed, xmp and plaintext stands as it is.
        """
        return self.tree.serialize().encode("utf-8", "replace")

    @cached_property
    def title(self) -> str:
        """The text of the first ``<title>`` that is no picture's."""
        for element in self.tree.select("title"):
            if element.namespace == turbohtml.Namespace.HTML:
                return fold(element.text)
        return ""

    @cached_property
    def language(self) -> str:
        """The ``lang`` of the root, or what ``content-language`` says; as written."""
        root = self.tree.root
        if isinstance(root, turbohtml.Element):
            said = root.attr("lang") or root.attr("xml:lang")
            if said:
                return said.strip()
        return self.meta("content-language").partition(",")[0].strip()

    @cached_property
    def base(self) -> str:
        """The ``href`` of the first ``<base>`` that has one."""
        element = self.tree.select_one("base[href]")
        return "" if element is None else _attribute(element, "href")

    def links(self) -> References:
        """The page's links: anchors in their order, then areas, then frames and embedded documents."""
        select = self.tree.select
        anchors = select("a[href]")
        found = References(
            [element.attr("href") or "" for element in anchors],
            [" ".join(element.text.split()) or _alternative(element) for element in anchors],
            [fold(rel).lower() if (rel := element.attr("rel")) else "" for element in anchors],
        )
        for element in select("area[href]"):
            found.add(_attribute(element, "href"), _attribute(element, "alt"), "area")
        for tag, source in _FRAMES:
            for element in select(tag):
                if href := _attribute(element, source):
                    found.add(href, _attribute(element, "title"), tag)
        return found

    @cached_property
    def metas(self) -> list[tuple[str, str]]:
        """Each ``<meta>`` as (name, property, itemprop or http-equiv in lower case; content), in order."""
        found = []
        for element in self.tree.select("meta"):
            get = element.attr
            name = get("name") or get("property") or get("http-equiv") or get("itemprop")
            if name:
                found.append((name.strip().lower(), fold(get("content") or "")))
        return found

    def meta(self, name: str) -> str:
        """The content of the first ``<meta>`` of that name (lower case) that is not empty; else empty."""
        return next((content for known, content in self.metas if known == name and content), "")

    def robots(self, *agents: str) -> list[str]:
        """Contents of ``<meta name=robots>``, and of those addressed to ``agents`` (lower-case product names)."""
        return [content for name, content in self.metas if name == "robots" or name in agents]

    @cached_property
    def relations(self) -> list[Relation]:
        """Every ``<link href rel>``, in order."""
        found = []
        for element in self.tree.select("link[href]"):
            if rel := element.attr("rel"):
                kind = (element.attr("type") or "").partition(";")[0].strip().lower()
                href, hreflang = _attribute(element, "href"), _attribute(element, "hreflang")
                found.append(Relation(fold(rel).lower(), href, kind, hreflang, _attribute(element, "title")))
        return found

    @property
    def canonical(self) -> str:
        """Where the page says its true address is; empty where it does not."""
        return next((link.href for link in self.relations if "canonical" in link.rel.split()), "")

    @property
    def feeds(self) -> list[Relation]:
        """The feeds a page announces: ``rel=alternate`` (or ``feed``) of a feed's type."""
        return [
            link
            for link in self.relations
            if ("alternate" in link.rel.split() and link.type in _FEED_TYPES) or "feed" in link.rel.split()
        ]

    @property
    def alternates(self) -> list[Relation]:
        """The same document in other languages: ``rel=alternate hreflang=…``."""
        return [link for link in self.relations if link.hreflang and "alternate" in link.rel.split()]

    @property
    def refresh(self) -> Refresh | None:
        """The page's ``<meta http-equiv=refresh>``, if it has one that a browser obeys."""
        for element in self.tree.select("meta[http-equiv]"):
            if _attribute(element, "http-equiv").lower() == "refresh" and element.closest("noscript") is None:
                return parse_refresh(element.attr("content") or "")
        return None


def parse_refresh(content: str) -> Refresh | None:
    """Return what ``5; url='next.html'`` says, in an element or a header; None where it begins with no number."""
    match = _REFRESH.fullmatch(content)
    if match is None or content.strip()[:1] not in set("0123456789."):
        return None
    target = (match[2] or "").strip()
    if target[:1] in ("'", '"'):
        target = target[1:].partition(target[0])[0]
    return Refresh(int(match[1] or 0), target.strip())


def fold(text: str) -> str:
    """Return ``text`` with every run of white space as one space, and none at the ends."""
    return " ".join(text.split())


def _alternative(element: turbohtml.Element) -> str:
    """The alternative text of the first image in an element."""
    image = element.select_one("img[alt]")
    return "" if image is None else _attribute(image, "alt")


def _attribute(element: turbohtml.Element, name: str) -> str:
    return (element.attr(name) or "").strip()
