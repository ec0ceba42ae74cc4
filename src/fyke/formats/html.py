"""HTML: what the elements of a page say: title, base, links, robots, canonical, feeds, frames; and its tree.

One pass over the source gives its tokens (markup), from which everything is read and which are all that a crawl needs.
``Page.tree`` is the WHATWG tree (turbohtml: linear on hostile nesting, tree depth capped at 512), made when it is first
asked for: conversion runs a kernel over ``Page.markup``, the tree written out in canonical form.

Values are as written in the page, entities resolved and white space folded; nothing is joined with a base or
judged here. Nothing raises, whatever the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fyke.errors import UserError
from fyke.formats import linked_data
from fyke.formats.batch_kernels import SPOKEN
from fyke.formats.lazy import lazy
from fyke.formats.markup import OPEN, RAW, START, Cut, Tag, cut, fold, unescape, value_of
from fyke.formats.markup_names import ELEMENT

if TYPE_CHECKING:
    import turbohtml

_FEED_TYPES = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"})
_REFRESH = re.compile(r"\s*(\d{0,9})(?:\.[\d.]*)?\s*(?:[;,\s]\s*(?:url\s*=\s*)?(.*))?", re.IGNORECASE | re.DOTALL)
_META_NAMES = ("name", "property", "http-equiv", "itemprop")
"""The attributes that may name a ``<meta>``; the first that says anything does."""
_FRAMES = (("frame", "src"), ("iframe", "src"), ("embed", "src"), ("object", "data"))
_FRAMING = frozenset({"area", *(name for name, _ in _FRAMES)})
_TIME_TOKENS = 20
"""Tokens inside a ``<time>`` that are read."""
_NOSCRIPT = ELEMENT["noscript"]


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
    hreflang: str


class Refresh(NamedTuple):
    """``<meta http-equiv=refresh>``: after ``seconds`` the browser goes to ``href`` (empty: this page again)."""

    seconds: int
    href: str


def parse(markup: str | bytes) -> Page:
    """Return a page, decoded or in UTF-8. Takes linear time on any input; never raises."""
    return parse_many([markup])[0]


def canonical(markup: str) -> Page:
    """Return a page whose ``markup`` this is: no tree is made of it. REQUIRES: it is in canonical form."""
    page = parse(markup)
    page.__dict__["markup"] = page.tokens.data
    return page


def parse_many(pages: Sequence[str | bytes]) -> list[Page]:
    """Return pages, decoded or in UTF-8: all are cut in one call."""
    data = [page.encode("utf-8", "replace") if isinstance(page, str) else page for page in pages]
    return [Page(each) for each in cut(data)]


_UNSPOKEN: dict[str, object] = {"base": "", "metas": (), "linked_scripts": (), "linked_items": (), "relations": ()}
"""What a page has that does not speak of itself."""


class Page:
    """A page. What it offers is found when first asked for, and kept."""

    def __init__(self, cut: Cut) -> None:
        """``cut`` is the page in tokens."""
        self.cut = cut
        self.tokens = cut.markup
        """The tokens, from which all else is made."""
        self.speaks = bool(cut.held & SPOKEN)
        """Whether it says anything of itself in its head but title, language and encoding, or has frames."""
        if not self.speaks:
            self.__dict__.update(_UNSPOKEN)

    @lazy
    def noted(self) -> dict[str, list[Tag]]:
        """The start tags of elements by which a page speaks of itself (markup_kernels.NOTED), by name, in order."""
        return self.tokens.noted_tags()

    def _of(self, name: str) -> list[Tag]:
        return self.noted.get(name, [])

    def raw(self, tag: Tag) -> str | None:
        """The content of a script, title or other raw element as it stands; None where it has none."""
        following = tag.token + 1
        if following < len(self.tokens) and self.tokens.kind(following) == RAW:
            return self.tokens.source(following).decode("utf-8", "replace")
        return None

    @lazy
    def tree(self) -> turbohtml.Document:
        """The page's tree."""
        import turbohtml

        source = self.tokens.data.decode("utf-8", "replace")
        return turbohtml.parse(source, positions=False, allow_declarative_shadow_roots=False)

    def selected(self, css: str) -> list[tuple[int, int]]:
        """Of each element that a selector names the tokens of its tags, the first twice where it has no end tag.

        REQUIRES: ``check_selector`` takes it.
        """
        import turbohtml

        data = self.tokens.data.replace(b"\r\n", b" \n")  # positions are of a text with \n alone
        text = data.decode("utf-8", "replace")
        tree = turbohtml.parse(text, source_locations=True, allow_declarative_shadow_roots=False)
        places = np.flatnonzero((np.frombuffer(data, np.uint8) & 0xC0) != 0x80)  # of code points in the bytes
        starts = self.tokens.tokens[: len(self.tokens), START]

        def token(offset: int) -> int:
            return int(np.searchsorted(starts, places[offset], side="right")) - 1

        found = []
        for element in tree.select(css):
            where = element.source_location
            if where is not None:  # else the page does not say that it is there
                first = token(where.start_tag.start_offset)
                found.append((first, token(where.end_tag.start_offset) if where.end_tag else first))
        return found

    @property
    def has_markup(self) -> bool:
        """Whether ``markup`` is there already."""
        return "markup" in self.__dict__

    @lazy
    def markup(self) -> bytes:
        """The tree in canonical form, as UTF-8.

        Every element is closed and in its place, tag names are in lower case, attributes are ``name="value"``.
        Text knows the entities ``&amp; &lt; &gt; &nbsp;``, values ``&quot;`` too; the content of script, style,
        iframe, noframes, noembed, xmp and plaintext stands as it is.
        """
        return self.tree.serialize().encode("utf-8", "replace")

    @property
    def title_token(self) -> int:
        """The token that is the text of the first ``<title>`` that is no picture's; -1 if there is none."""
        return self.cut.title

    @property
    def raw_title(self) -> bytes:
        """The first ``<title>`` that is no picture's, as it stands."""
        return self.cut.raw_title

    @lazy
    def title(self) -> str:
        """The text of the first ``<title>`` that is no picture's."""
        return fold(unescape(self.raw_title.decode("utf-8", "replace")))

    @lazy
    def language(self) -> str:
        """The ``lang`` of the root, or what ``content-language`` says; as written."""
        for tag in self._of("html"):
            if said := tag.get("lang") or tag.get("xml:lang"):
                return said
        return self.meta("content-language").partition(",")[0].strip()

    @lazy
    def base(self) -> str:
        """The ``href`` of the first ``<base>`` that has one."""
        return next((tag.get("href") for tag in self._of("base") if "href" in tag.attributes), "")

    def links(self) -> References:
        """The page's links: anchors in their order, then areas, then frames and embedded documents."""
        hrefs = self.hrefs()
        found = References(hrefs, self.anchor_texts(), self.anchor_rels() or [""] * len(hrefs))
        self.add_frames(found)
        return found

    def hrefs(self) -> list[str]:
        """Of each anchor that has one its target, as written."""
        column = self.cut.column(0)
        found = _strings(column)
        return [value_of(href.encode()) if "&" in href else href for href in found] if b"&" in column else found

    def anchor_texts(self) -> list[str]:
        """Of the same anchors the texts."""
        column = self.cut.column(1)
        found = _strings(column)
        if column.isascii() and b"&" not in column:
            return found
        return [text if text.isascii() and "&" not in text else fold(unescape(text)) for text in found]

    def anchor_rels(self) -> list[str]:
        """Of the same anchors the rels; none where no anchor has one."""
        column = self.cut.column(2)
        if not column.strip(b"\0"):
            return []
        found = _strings(column)
        folded = {rel: fold(rel).lower() for rel in set(found)}  # few are different
        return [folded[rel] for rel in found]

    def add_frames(self, found: References) -> None:
        """Add the areas, then the frames and embedded documents."""
        if not self.speaks or _FRAMING.isdisjoint(self.noted):
            return
        for tag in self._of("area"):
            if "href" in tag.attributes:
                found.add(tag.get("href"), tag.get("alt"), "area")
        for name, source in _FRAMES:
            for tag in self._of(name):
                if href := tag.get(source):
                    found.add(href, tag.get("title"), name)

    @lazy
    def metas(self) -> Sequence[tuple[str, str]]:
        """Each ``<meta>`` as (name, property, http-equiv or itemprop in lower case; content), in order."""
        found = []
        for tag in self._of("meta"):
            said = tag.attributes
            for kind in _META_NAMES:
                if kind in said and (name := said[kind]):
                    if name := name.strip().lower():
                        found.append((name, fold(said.get("content", ""))))
                    break
        return found

    @property
    def times(self) -> Iterator[tuple[bool, str]]:
        """Of each ``<time>`` whether it is the date of publication, and what it says."""
        for tag in self._of("time"):
            said = tag.get("datetime") or fold(self.tokens.inside(tag, _TIME_TOKENS))
            yield "pubdate" in tag.attributes, said

    @lazy
    def linked_scripts(self) -> Sequence[tuple[str, str, object]]:
        """The scripts whose type speaks of JSON-LD: type, text, and what it is as JSON; None where it is none."""
        found = []
        for tag in self._of("script"):
            kind = tag.attributes.get("type", "").lower()
            if "ld+json" in kind:
                script = self.raw(tag) or ""
                found.append((kind, script, linked_data.decode_plain(script)))
        return found

    @lazy
    def linked_items(self) -> Sequence[object]:
        """What the JSON-LD scripts hold, decoded (linked_data); what is no JSON is left out."""
        found = []
        for kind, script, plain in self.linked_scripts:
            if kind.partition(";")[0].strip() == "application/ld+json":
                item = plain if plain is not None else linked_data.decode(script)
                if item is not None:
                    found.append(item)
        return found

    def meta(self, name: str) -> str:
        """The content of the first ``<meta>`` of that name (lower case) that is not empty; else empty."""
        return next((content for known, content in self.metas if known == name and content), "")

    def robots(self, *agents: str) -> list[str]:
        """Contents of ``<meta name=robots>``, and of those addressed to ``agents`` (lower-case product names)."""
        return [content for name, content in self.metas if name == "robots" or name in agents]

    @lazy
    def relations(self) -> Sequence[Relation]:
        """Every ``<link href rel>``, in order."""
        found = []
        for tag in self._of("link"):
            said = tag.attributes
            if "href" in said and (rel := said.get("rel")):
                get = tag.get
                kind = get("type").partition(";")[0].strip().lower()
                found.append(Relation(fold(rel).lower(), get("href"), kind, get("title"), get("hreflang")))
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
        for tag in self._of("meta") if self.speaks else ():
            if "http-equiv" not in tag.attributes:
                continue
            if tag.get("http-equiv").lower() == "refresh" and not self._in_noscript(tag.token):
                return parse_refresh(tag.get("content"))
        return None

    def _in_noscript(self, token: int) -> bool:
        depth = 0
        for kind, element, *_ in self.tokens.tokens[:token].tolist():
            if element == _NOSCRIPT:
                depth = max(0, depth + (1 if kind == OPEN else -1))
        return depth > 0


def parse_refresh(content: str) -> Refresh | None:
    """Return what ``5; url='next.html'`` says, in an element or a header; None where it begins with no number."""
    match = _REFRESH.fullmatch(content)
    if match is None or content.strip()[:1] not in set("0123456789."):
        return None
    target = (match[2] or "").strip()
    if target[:1] in ("'", '"'):
        target = target[1:].partition(target[0])[0]
    return Refresh(int(match[1] or 0), target.strip())


def _strings(data: bytes) -> list[str]:
    """Cut a column into its strings."""
    return data[:-1].decode("utf-8", "replace").split("\0") if data else []


def check_selector(css: str) -> None:
    """Raise ``UserError`` for what is no CSS selector."""
    import turbohtml

    try:
        turbohtml.parse("").select(css)
    except (turbohtml.SelectorSyntaxError, ValueError) as error:
        raise UserError(f"{css!r} is no CSS selector: {error}") from None
