"""A page as the methods see it: containers and blocks, made in one pass over its tokens."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

import numpy as np

from fyke.clean import main_kernels, token_kernels, word_kernels
from fyke.clean.columns import WORDS
from fyke.clean.elements import Array
from fyke.formats import html as formats_html
from fyke.formats import linked_data
from fyke.formats.lazy import lazy
from fyke.formats.markup import Markup

_FEW = 200
"""A page with fewer words may have its text in noscript, if that has so many more words."""
_BODIES = ("articleBody", "reviewBody")
_TAG = re.compile(r"<[^<>]*>")
_NOTHING = np.zeros(1, np.int64)


@dataclass(frozen=True, slots=True)
class Tokens:
    """Words and tags of a page that are read, in order, by position in its bytes (token_kernels.words_and_tags)."""

    page: Array
    starts: Array
    ends: Array
    kinds: Array
    sources: Array
    """Of each the token of the markup that it is, or is of."""


class Page:
    """Blocks and containers of a page (block_kernels)."""

    def __init__(self, source: formats_html.Page) -> None:
        """Cut ``source`` into blocks. Takes any page, in linear time."""
        self.source = source
        self.markup: Markup = source.tokens
        self._noscript = False
        self.types, self.body = declared_of(source)
        """What the page says that it is (``Article``, ``og:article``, …), and the text that it says is its own."""
        self._build(False)
        words = self._words()
        if words < _FEW and b"<noscript" in self.markup.data:
            self._build(True)
            if self._words() <= words + _FEW:
                self._build(False)

    def _words(self) -> int:
        return int(self.blocks[:, WORDS].sum())

    def _build(self, noscript: bool) -> None:
        markup = self.markup
        bodies = _NOTHING
        if self.body:
            bodies = np.zeros(1 << max(4, len(self.body).bit_length()), np.int64)
            word_kernels.remember_words(np.frombuffer(self.body, np.uint8), bodies, True, bodies.size // 2)
        self._noscript = noscript
        out = np.empty(len(markup.data) + len(markup.tokens), np.uint8)
        self.tree, self.blocks, self.remarks, self.text, self.said, self.title_size = main_kernels.read_blocks(
            markup.page, markup.tokens, markup.attributes, self.source.title_token, bodies, noscript, out
        )

    @property
    def parent(self) -> Array:
        """Of each container the one around it."""
        return self.tree.parent

    @property
    def element(self) -> Array:
        """Of each container the number of its element."""
        return self.tree.element

    @property
    def flags(self) -> Array:
        """Of each container what is around it (elements)."""
        return self.tree.flags

    @property
    def title(self) -> str:
        """The text of the first title element, white space folded."""
        return self.source.title

    def tag(self, container: int) -> bytes:
        """The start tag of a container as it stands in the page."""
        return self.markup.source(int(self.tree.opened[container])) if container else b""

    @lazy
    def tokens(self) -> Tokens:
        """The words and tags that blocks are made of."""
        markup = self.markup
        room = len(markup.data) // 2 + 2
        starts, ends, sources = (np.empty(room, np.int32) for _ in range(3))
        kinds = np.empty(room, np.int16)
        count = token_kernels.words_and_tags(markup.page, markup.tokens, self._noscript, starts, ends, kinds, sources)
        return Tokens(markup.page, starts[:count], ends[:count], kinds[:count], sources[:count])


def read(data: bytes | str | formats_html.Page) -> Page:
    """Cut a page, its text or that in UTF-8, into blocks. Takes anything, in linear time."""
    return Page(data if isinstance(data, formats_html.Page) else formats_html.parse(data))


def declared_of(source: formats_html.Page) -> tuple[frozenset[str], bytes]:
    """Return what JSON-LD and Open Graph say that the page is, and the text of an articleBody."""
    found: set[str] = set()
    body = b""
    for thing in linked_data.things(source.linked_items):
        found.update(linked_data.types(thing))
        for name in _BODIES:
            said = thing.get(name)
            if not body and isinstance(said, str):
                body = _text_of(said)
    for name, content in source.metas:
        if name == "og:type":
            found.add(f"og:{content.lower()[:20]}")
        elif name == "article:published_time":
            found.add("og:published_time")
    return frozenset(found), body


def _text_of(said: str) -> bytes:
    """Return a text with its HTML tags blanked and its entities replaced."""
    text = _TAG.sub(" ", said) if "<" in said else said
    return (html.unescape(text) if "&" in text else text).encode("utf-8", "replace")
