"""Facts: what a page says of itself in its markup, as written; read from the tokens of formats/markup when asked for.

``metadata`` and ``dates`` judge facts; nothing is judged here. Every list is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fyke.formats.batch_kernels import ANNOTATED, MARKED, RELATED
from fyke.formats.html import Page
from fyke.formats.lazy import lazy
from fyke.formats.markup import FIRST, Tag, fold
from fyke.formats.markup_names import ATTRIBUTE
from fyke.formats.markup_rows import VALUE, VALUE_END

MAX_TAGS = 2_000
"""Of the elements by which a page speaks of itself: pages have some dozens."""
MAX_HITS = 300
"""Elements looked at for a word in their class."""
MAX_MARKS = 20_000
"""Classes, ids and such of a page that are looked at."""
MAX_CONTENT = 60
"""Tokens of an element that are read for a name or a date."""
MAX_LENGTH = 400
"""Characters of it."""
_NAMES = ("property", "name", "itemprop", "http-equiv")
_MARKS = np.isin(np.arange(256), [ATTRIBUTE[name] for name in ("class", "id", "rel", "itemprop", "property", "role")])


_REL = ATTRIBUTE["rel"]
_SEPARATOR = re.compile(r"\s[|\-–—:»·•/]\s")
_LONG = 10
"""Characters of a heading by which it may be told."""


Numbers = npt.NDArray[np.int64]


_place = attrgetter("token")


class Relation(NamedTuple):
    """A ``<link>``: its rel in lower case, tokens separated by one space, and what else it says."""

    rel: str
    href: str
    type: str
    hreflang: str


class Facts:
    """What a page says of itself."""

    def __init__(self, page: Page, url: str = "") -> None:
        """``url`` is where the page stands, if that is known."""
        self.page, self.url, self.tokens = page, url, page.tokens
        self.tags: dict[str, list[Tag]] = page.noted
        """The noted start tags by name, in order."""

    @lazy
    def metas(self) -> dict[str, list[str]]:
        """What ``<meta>`` elements say, by each of their names in lower case; never empty."""
        found: dict[str, list[str]] = {}
        said = [tag.attributes for tag in self.tags.get("meta", ()) if "content" in tag.attributes]
        for kind in _NAMES if said else ():  # a property counts before a name
            for attributes in said:
                if kind in attributes and (content := attributes["content"]):
                    content = fold(unescape(content[:MAX_META]))  # many escape it twice
                    for name in attributes[kind].lower().split() if content else ():
                        found.setdefault(name.replace(".", ":"), []).append(content)
        return found

    @lazy
    def relations(self) -> list[Relation]:
        """Every ``<link rel href>``, in order."""
        return [
            Relation(fold(tag.attributes["rel"]).lower(), tag.get("href"), tag.get("type").lower(), tag.get("hreflang"))
            for tag in self.tags.get("link", ())
            if "rel" in tag.attributes and "href" in tag.attributes
        ]

    @lazy
    def canonical(self) -> str:
        """Where the page says its true address is, as written; empty where it does not."""
        for relation in self.relations:
            if "canonical" in relation.rel.split() and relation.href:
                return relation.href
        return next(iter(self.metas.get("og:url", ())), "")

    @property
    def title(self) -> str:
        """The text of the first ``<title>`` that is no picture's."""
        return self.page.title

    @property
    def base(self) -> str:
        """The ``href`` of the first ``<base>`` that has one."""
        return self.page.base

    @lazy
    def language(self) -> str:
        """The language that the page declares, as written."""
        for tag in self.tags.get("html", ()):
            if said := tag.get("lang") or tag.get("xml:lang"):
                return said
        return next(iter(self.metas.get("content-language", ())), "").partition(",")[0].strip()

    @lazy
    def headings(self) -> list[tuple[int, str]]:
        """Each of the first headings as (level, text), in order."""
        found = sorted((tag for name in ("h1", "h2", "h3") for tag in self.tags.get(name, ())[:20]), key=_place)
        return [(int(tag.name[1]), self.content(tag)) for tag in found]

    @lazy
    def heading(self) -> str:
        """The heading that the title repeats, else the first of the first level."""
        titles = [title.casefold() for title in (self.title, *self.metas.get("og:title", ()))]
        starts = [start for title in titles if len(start := _SEPARATOR.split(title)[0]) > _LONG]
        for _, said in self.headings:
            if len(said) > _LONG:
                folded = said.casefold()
                if any(folded in title for title in titles) or any(start in folded for start in starts):
                    return said
        return next((said for level, said in self.headings if level == 1 and said), "")

    @lazy
    def linked_data(self) -> list[str]:
        """The scripts of JSON-LD."""
        return [
            self.page.raw(tag) or ""
            for tag in self.tags.get("script", ())
            if "ld+json" in tag.attributes.get("type", "").lower()
        ]

    @lazy
    def times(self) -> list[tuple[Tag, str]]:
        """The first ``<time>`` elements with what they say: their attribute, else their text."""
        return [
            (tag, tag.get("datetime") or tag.get("content") or self.content(tag))
            for tag in self.tags.get("time", ())[:50]
        ]

    def annotated(self, *attributes: str) -> list[Tag]:
        """The start tags with one of these attributes, in order; bounded."""
        names = self.tokens.attributes[:, 0]
        held = np.flatnonzero(np.isin(names, [ATTRIBUTE[name] for name in attributes]))
        rows = self.tokens.tokens
        owners = np.unique(np.searchsorted(rows[:, FIRST], held, side="right") - 1)
        return [self.tokens.tag(token) for token in owners[:MAX_TAGS].tolist()]

    @property
    def has_items(self) -> bool:
        """Whether any element but a ``<meta>`` or ``<link>`` may have microdata or RDFa."""
        return bool(self.page.cut.held & ANNOTATED)

    @property
    def has_marks(self) -> bool:
        """Whether any element has a class, an id, a rel or another name that ``marked`` looks into."""
        return bool(self.page.cut.held & MARKED)

    def related(self, rel: bytes) -> Iterator[Tag]:
        """Yield the tags with a rel that holds this word."""
        if not self.page.cut.held & RELATED:
            return
        rows = self.tokens.attributes
        data = self.tokens.data
        for at in np.flatnonzero((rows[:, 0] == _REL) & (rows[:, VALUE_END] - rows[:, VALUE] >= len(rel))).tolist():
            if rel in data[rows[at, VALUE] : rows[at, VALUE_END]].lower():
                owner = int(np.searchsorted(self.tokens.tokens[:, FIRST], at, side="right")) - 1
                yield self.tokens.tag(owner)

    @lazy
    def _marks(self) -> tuple[bytes, Numbers, Numbers]:
        """Classes, ids and other marks in lower case, one behind the other; where each begins; the token of each."""
        rows, data = self.tokens.attributes, self.tokens.data
        held = np.flatnonzero(_MARKS[rows[:, 0]])[:MAX_MARKS]
        marks = rows[held]
        values = [data[start:end] for _, start, end in marks.tolist()]
        sizes = marks[:, VALUE_END] - marks[:, VALUE] + 1
        starts = np.cumsum(sizes) - sizes
        owners = np.searchsorted(self.tokens.tokens[:, FIRST], held, side="right") - 1
        return b" ".join(values).lower(), starts, owners

    def marked(self, *words: bytes) -> Iterator[Tag]:
        """Yield the start tags whose class, id, rel, itemprop or role holds one of ``words``, in order."""
        if not self.has_marks:
            return
        text, starts, owners = self._marks
        places: list[int] = []
        for word in words:
            at = text.find(word)
            while at >= 0 and len(places) < MAX_HITS:
                places.append(at)
                at = text.find(word, at + len(word))
        if places:
            found = np.unique(owners[np.searchsorted(starts, places, side="right") - 1])
            yield from map(self.tokens.tag, found.tolist())

    def content(self, tag: Tag, tokens: int = MAX_CONTENT) -> str:
        """The text of an element, white space folded; cut where it is long."""
        return fold(self.tokens.content(tag.token, tokens)[:MAX_LENGTH])


MAX_META = 4_000
"""Characters of a ``<meta>``: a description at its longest."""
