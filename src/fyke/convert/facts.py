"""Facts: what a page says of itself in its markup, as written; read from the tokens of formats/markup when asked for.

``metadata`` and ``dates`` judge facts; nothing is judged here. Every list is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from operator import attrgetter

import numpy as np

from fyke.convert.mark_kernels import find_marks
from fyke.errors import UrlError
from fyke.formats.batch_kernels import ANNOTATED, MARKED, RELATED, SCRIPTED, SPOKEN
from fyke.formats.html import Page, Relation
from fyke.formats.lazy import lazy
from fyke.formats.markup import FIRST, Tag, fold, unescape
from fyke.formats.markup_names import ATTRIBUTE
from fyke.formats.markup_rows import NAME
from fyke.url import Url

MAX_TAGS = 2_000
"""Of the elements by which a page speaks of itself: pages have some dozens."""
MAX_HITS = 300
"""Elements looked at for a word in their class."""
MAX_CONTENT = 60
"""Tokens of an element that are read for a name or a date."""
MAX_LENGTH = 400
"""Characters of it."""
_NAMES = ("property", "name", "itemprop", "http-equiv")
BYLINE_WORDS = ("byline", "author", "writtenby", "dateline")
ARTICLE_WORDS = ("publish", "pubdate", "posted", "entry-date", "post-date", "created", "artikeldatum")
DATE_WORDS = ("date", "datum", "fecha", "time", "byline", "meta", "info")
VOCABULARY = tuple(dict.fromkeys((*BYLINE_WORDS, *ARTICLE_WORDS, *DATE_WORDS, "license")))
"""Words in classes, ids and rels by which elements are found: all at once."""
_NUMBER = {word: number for number, word in enumerate(VOCABULARY)}
_WORDS = np.array([[*word.encode().ljust(1 + max(map(len, VOCABULARY)), b"\0")] for word in VOCABULARY], np.uint8)
_FIRSTS = np.zeros(256, np.uint64)
for _number, _word in enumerate(VOCABULARY):
    _FIRSTS[[ord(_word[0]), ord(_word[0].upper())]] |= np.uint64(1 << _number)
_SEPARATOR = re.compile(r"\s[|\-–—:»·•/]\s")
_LONG = 10
"""Characters of a heading by which it may be told."""


_place = attrgetter("token")
_UNSPOKEN: dict[str, object] = {"metas": {}, "canonical": ""}
"""Facts of a page that does not speak of itself."""


class Facts:
    """What a page says of itself."""

    def __init__(self, page: Page, url: str = "") -> None:
        """``url`` is where the page stands, if that is known."""
        self.page, self.url, self.tokens = page, url, page.tokens
        self.tags: dict[str, list[Tag]] = page.noted
        """The noted start tags by name, in order."""
        if not page.speaks:
            self.__dict__.update(_UNSPOKEN)

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

    @property
    def relations(self) -> Sequence[Relation]:
        """Every ``<link rel href>``, in order."""
        return self.page.relations

    @lazy
    def canonical(self) -> str:
        """Where the page says its true address is, as written; empty where it does not."""
        for relation in self.relations:
            if "canonical" in relation.rel.split() and relation.href:
                return relation.href
        return self.metas["og:url"][0] if "og:url" in self.metas else ""

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
        contents = self.metas.get("content-language")
        return contents[0].partition(",")[0].strip() if contents else ""

    @lazy
    def headings(self) -> list[tuple[int, str]]:
        """Each of the first headings as (level, text), in order."""
        found = [tag for name in ("h1", "h2", "h3") if name in self.tags for tag in self.tags[name][:20]]
        if len(found) > 1:
            found.sort(key=_place)
        return [(int(tag.name[1]), self.content(tag)) for tag in found]

    @lazy
    def heading(self) -> str:
        """The heading that the title repeats, else the first of the first level."""
        long = [said for _, said in self.headings if len(said) > _LONG]
        if long:
            titles = [title.casefold() for title in (self.title, *self.metas.get("og:title", ()))]
            starts = [start for title in titles if len(start := _SEPARATOR.split(title)[0]) > _LONG]
            for said in long:
                folded = said.casefold()
                if any(folded in title for title in titles) or any(start in folded for start in starts):
                    return said
        return next((said for level, said in self.headings if level == 1 and said), "")

    @property
    def linked_data(self) -> Sequence[tuple[str, str, object]]:
        """The scripts of JSON-LD: type, text, and what it is as JSON, None where it has to be mended."""
        return self.page.linked_scripts

    @lazy
    def times(self) -> Sequence[tuple[Tag, str]]:
        """The first ``<time>`` elements with what they say: their attribute, else their text."""
        tags = self.tags.get("time", ())
        return [(tag, tag.get("datetime") or tag.get("content") or self.content(tag)) for tag in tags[:50]]

    def annotated(self, *attributes: str) -> list[Tag]:
        """The start tags with one of these attributes, in order; bounded."""
        wanted = np.zeros(256, np.bool_)
        wanted[[ATTRIBUTE[name] for name in attributes]] = True
        held = np.flatnonzero(wanted[self.tokens.attributes[:, NAME]])
        owners = np.unique(np.searchsorted(self.tokens.tokens[:, FIRST], held, side="right") - 1)
        return self.tokens.tags_at(owners[:MAX_TAGS])

    @property
    def speaks(self) -> bool:
        """Whether the page says anything of itself but what it is called, and when it was written."""
        if self.page.cut.held & ~(SCRIPTED | SPOKEN):
            return True
        return self.page.speaks and bool(self.relations or self.metas or self.linked_data)

    @property
    def has_times(self) -> bool:
        """Whether there is any ``<time>``."""
        return "time" in self.tags

    @property
    def has_scripts(self) -> bool:
        """Whether there is any script."""
        return bool(self.page.cut.held & SCRIPTED)

    @property
    def has_items(self) -> bool:
        """Whether any element but a ``<meta>`` or ``<link>`` may have microdata or RDFa."""
        return bool(self.page.cut.held & ANNOTATED)

    @property
    def has_marks(self) -> bool:
        """Whether any element has a class, an id, a rel or another name that ``marked`` looks into."""
        return bool(self.page.cut.held & MARKED)

    def related(self, rel: str) -> Iterator[Tag]:
        """Yield the tags with a rel that holds this word. REQUIRES: it is one of VOCABULARY."""
        if self.page.cut.held & RELATED:
            yield from (tag for tag in self.marked(rel) if rel in tag.attributes.get("rel", "").lower())

    @lazy
    def _marks(self) -> dict[int, list[int]]:
        """Of each word of VOCABULARY, by its number, the tokens of the tags with a mark that holds it, in order."""
        markup = self.tokens
        counts = np.zeros(len(VOCABULARY), np.int32)
        found = np.empty((MAX_HITS * len(VOCABULARY), 2), np.int32)
        size = find_marks(markup.page, markup.tokens, markup.attributes, _WORDS, _FIRSTS, counts, found)
        marks: dict[int, list[int]] = {}
        for word, token in found[:size].tolist():
            marks.setdefault(word, []).append(token)
        return marks

    def marked(self, *words: str) -> Iterator[Tag]:
        """Yield the start tags whose class, id, rel, itemprop or role holds one of ``words``, in order.

        REQUIRES: they are of VOCABULARY.
        """
        if not self.has_marks:
            return
        owners: list[int] = []
        for word in words:
            owners += self._marks.get(_NUMBER[word], ())
        if owners:
            yield from self.tokens.tags_at(np.array(sorted(set(owners[:MAX_HITS])), np.int64))

    def content(self, tag: Tag, tokens: int = MAX_CONTENT) -> str:
        """The text of an element, white space folded; cut where it is long."""
        return fold(self.tokens.inside(tag, tokens)[:MAX_LENGTH])


MAX_META = 4_000
"""Characters of a ``<meta>``: a description at its longest."""


class Joiner:
    """Makes an address absolute, as far as the page's own is known."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    @lazy
    def _root(self) -> Url | None:
        found: Url | None = None
        for part in (self._facts.url, self._facts.base):
            with suppress(UrlError):
                if part:
                    found = found.join(part) if found else Url.parse(part)
        return found

    def __call__(self, href: str) -> str:
        """Return the address; as it stands where it can not be joined."""
        if href.startswith(("https://", "http://")):
            return href
        with suppress(UrlError):
            if base := self._root:
                return base.join(href).href
        return href
