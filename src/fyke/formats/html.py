"""HTML: what the elements of a page say: title, base, links, robots, canonical, feeds, frames; and its tree.

One pass over the source (scan_kernels) finds what the tags say, and is all that a crawl needs. ``Page.tree`` is the
WHATWG tree (turbohtml: linear on hostile nesting, tree depth capped at 512), made when it is first asked for:
conversion runs a kernel over ``Page.markup``, the tree written out in canonical form.

Values are as written in the page, entities resolved and white space folded; nothing is joined with a base or
judged here. Nothing raises, whatever the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from html import unescape
from html.entities import html5
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fyke.formats import scan_kernels as kernels

if TYPE_CHECKING:
    import turbohtml

_FEED_TYPES = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"})
_REFRESH = re.compile(r"\s*(\d{0,9})(?:\.[\d.]*)?\s*(?:[;,\s]\s*(?:url\s*=\s*)?(.*))?", re.IGNORECASE | re.DOTALL)
_FRAMES = ((kernels.FRAME, "src"), (kernels.IFRAME, "src"), (kernels.EMBED, "src"), (kernels.OBJECT, "data"))
_TAG = re.compile(r"<[^>]*>")
_ENTITY = re.compile(r"&(#(?:\d+|[xX][0-9a-fA-F]+)|[A-Za-z][A-Za-z0-9]*)(;|(?![=A-Za-z0-9]))")


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
    title: str


class Refresh(NamedTuple):
    """``<meta http-equiv=refresh>``: after ``seconds`` the browser goes to ``href`` (empty: this page again)."""

    seconds: int
    href: str


def parse(markup: str) -> Page:
    """Return a decoded page. Takes linear time on any input; never raises."""
    return Page(markup)


class _Element(NamedTuple):
    """A start tag that was noted: its number (scan_kernels.TAGS), where its content is, the attributes that count."""

    tag: int
    start: int
    end: int
    in_noscript: int
    attributes: dict[str, str]

    def get(self, name: str) -> str:
        """The attribute's value, trimmed; empty where there is none."""
        return self.attributes.get(name, "").strip()


class Page:
    """A page. What it offers is found when first asked for, and kept."""

    def __init__(self, source: str) -> None:
        self.source = source
        data = self._data = source.encode("utf-8", "replace")
        hrefs, texts, rels = np.empty((3, len(data) + 1), np.uint8)
        elements = np.empty((min(len(data) // 6, kernels.MAX_ELEMENTS), 4), np.int32)
        attributes = np.empty((min(len(data) // 2, kernels.MAX_ATTRIBUTES), 4), np.int32)
        spans, sizes = np.empty((3, 2), np.int32), np.zeros(5, np.int32)
        kernels.scan(np.frombuffer(data or b" ", np.uint8), hrefs, texts, rels, elements, attributes, spans, sizes)
        h, t, r, e, n = sizes.tolist()
        self._hrefs, self._texts, self._rels = hrefs[:h].tobytes(), texts[:t].tobytes(), rels[:r].tobytes()
        named: list[dict[str, str]] = [{} for _ in range(e)]
        for element, name, start, end in attributes[:n].tolist():
            value = data[start:end].decode("utf-8", "replace")
            named[element].setdefault(kernels.NAMES[name], _value(value) if "&" in value else value)
        self._elements = [
            _Element(*row, values)  # type: ignore[call-arg]  # four numbers
            for row, values in zip(elements[:e].tolist(), named, strict=True)
        ]

    def _of(self, tag: int) -> list[_Element]:
        return [element for element in self._elements if element.tag == tag]

    def _content(self, element: _Element) -> str:
        return self._data[element.start : element.end].decode("utf-8", "replace")

    @cached_property
    def tree(self) -> turbohtml.Document:
        """The page's tree."""
        import turbohtml

        return turbohtml.parse(self.source, positions=False, allow_declarative_shadow_roots=False)

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
        return next((fold(unescape(self._content(element))) for element in self._of(kernels.TITLE)), "")

    @cached_property
    def language(self) -> str:
        """The ``lang`` of the root, or what ``content-language`` says; as written."""
        for element in self._of(kernels.HTML):
            if said := element.get("lang") or element.get("xml:lang"):
                return said
        return self.meta("content-language").partition(",")[0].strip()

    @cached_property
    def base(self) -> str:
        """The ``href`` of the first ``<base>`` that has one."""
        return next((e.get("href") for e in self._of(kernels.BASE) if "href" in e.attributes), "")

    def links(self) -> References:
        """The page's links: anchors in their order, then areas, then frames and embedded documents."""
        hrefs, texts, rels = (_column(data) for data in (self._hrefs, self._texts, self._rels))
        if b"&" in self._hrefs:
            hrefs = [_value(href) if "&" in href else href for href in hrefs]
        if b"&" in self._texts or not self._texts.isascii():
            texts = [fold(unescape(text)) for text in texts]
        found = References(hrefs, texts, [fold(rel).lower() if rel else "" for rel in rels])
        for element in self._elements:
            if element.tag == kernels.AREA and "href" in element.attributes:
                found.add(element.get("href"), element.get("alt"), "area")
        for tag, source in _FRAMES:
            for element in self._elements:
                if element.tag == tag and (href := element.get(source)):
                    found.add(href, element.get("title"), kernels.TAGS[tag])
        return found

    @cached_property
    def metas(self) -> list[tuple[str, str]]:
        """Each ``<meta>`` as (name, property, itemprop or http-equiv in lower case; content), in order."""
        found = []
        for element in self._of(kernels.META):
            get = element.attributes.get
            name = get("name") or get("property") or get("http-equiv") or get("itemprop")
            if name:
                found.append((name.strip().lower(), fold(get("content") or "")))
        return found

    @property
    def times(self) -> Iterator[tuple[bool, str]]:
        """Of each ``<time>`` whether it is the date of publication, and what it says."""
        for element in self._of(kernels.TIME):
            said = element.get("datetime") or fold(unescape(_TAG.sub("", self._content(element))))
            yield "pubdate" in element.attributes, said

    @property
    def linked_data(self) -> Iterator[str]:
        """The JSON-LD scripts."""
        for element in self._of(kernels.SCRIPT):
            if element.get("type").lower() == "application/ld+json":
                yield self._content(element)

    @property
    def is_annotated(self) -> bool:
        """Whether any element but a ``<meta>`` or ``<link>`` may have microdata or RDFa."""
        data = self._data
        if b"itemprop" not in data and b"property=" not in data:
            return False
        said = sum(not {"itemprop", "property"}.isdisjoint(element.attributes) for element in self._elements)
        return data.count(b"itemprop") + data.count(b"property=") > said

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
        for element in self._of(kernels.LINK):
            get, rel = element.get, element.attributes.get("rel")
            if rel and "href" in element.attributes:
                kind = get("type").partition(";")[0].strip().lower()
                found.append(Relation(fold(rel).lower(), get("href"), kind, get("title")))
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
    def refresh(self) -> Refresh | None:
        """The page's ``<meta http-equiv=refresh>``, if it has one that a browser obeys."""
        for element in self._of(kernels.META):
            if element.get("http-equiv").lower() == "refresh" and not element.in_noscript:
                return parse_refresh(element.get("content"))
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


def _column(data: bytes) -> list[str]:
    """Cut what ``scan`` wrote into its strings."""
    return data[:-1].decode("utf-8", "replace").split("\0") if data else []


def _value(text: str) -> str:
    """Return the value of an attribute: there ``&copy=1`` is no entity, nor is ``&copyright``."""
    return _ENTITY.sub(lambda found: unescape(found[0]) if found[2] or found[1] in html5 else found[0], text)
