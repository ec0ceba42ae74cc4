"""Markup: a page's tokens, and what its tags say, read from the rows of the one tokeniser (markup_kernels).

``cut(pages)`` cuts UTF-8 bytes once; everything else walks its arrays. Strings are decoded when they are asked
for: entities resolved by the rules of text or of attributes. Nothing raises, whatever the page; time is linear.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from html.entities import html5
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fyke.formats.batch_kernels import (
    ATTRIBUTE_,
    ATTRIBUTE_END,
    BEGIN,
    COLUMNS,
    MANY,
    NOTED,
    NOTED_COLUMNS,
    RELS,
    TITLE,
    TOKEN,
    TOKEN_END,
    cut_pages,
)  # fmt: skip
from fyke.formats.batch_kernels import END as END_OF_PAGE
from fyke.formats.lazy import lazy
from fyke.formats.markup_names import ATTRIBUTE, ATTRIBUTES, ELEMENT, ELEMENTS
from fyke.formats.markup_rows import (
    ATTRIBUTE_COLUMNS,
    CDATA,
    CLOSE,
    COMMENT,
    END,
    FIRST,
    KIND,
    OPEN,
    RAW,
    SELF_CLOSING,
    START,
    TEXT,
    TOKEN_COLUMNS,
)  # fmt: skip
from fyke.formats.markup_rows import ELEMENT_ as ELEMENT_COLUMN
from fyke.formats.tag_kernels import Bytes, Rows
from fyke.limits import note

MAX_BYTES = 1 << 26
"""What comes after 64 MB of a page is not read: no page of text is so long, and positions are 32 bits."""
MAX_TOKENS = 1 << 20
"""Tokens of a page, and attributes: a page is cut there. Real ones have some thousands; so many rows are 50 MB."""
_BYTES_PER_TOKEN = 12
"""A first guess at the room that is needed; pages have 15 to 40."""
_LEAST_ROOM = 16
_MARGIN = 16
"""Rows that are left where a page was cut."""
BEHIND = 8
"""Bytes behind the columns of anchors that may be read."""
_FEW_TOKENS = 8
"""Tokens of an element that are read at a time: headings and names have fewer."""
_ENTITY = re.compile(r"&(#(?:\d+|[xX][0-9a-fA-F]+)|[A-Za-z][A-Za-z0-9]*)(;|(?![=A-Za-z0-9]))")
_REFERENCE = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)")
"""What ``html.unescape`` looks at."""
_REMEMBERED = 4_096
_NAME_MASK = SELF_CLOSING - 1
np.empty(1 << 22, np.uint8)
"""Freed at once: the C library's allocator now keeps that much, where it would have every page's arrays mapped and
zeroed anew. That is a third of the time of a page of 150 KB."""


class Tag:
    """A start tag: its element's name, the number of its token, and its listed attributes, decoded when asked for."""

    __slots__ = ("_attributes", "_data", "_rows", "end", "name", "start", "token")

    def __init__(
        self, name: str, token: int, data: bytes, rows: Sequence[Sequence[int]], start: int = 0, end: int = -1
    ) -> None:
        """``rows`` are its attributes in ``data``."""
        self.name, self.token, self._data, self._rows = name, token, data, rows
        self.start, self.end = start, end
        """Where the text that is all it holds stands in the page, if that is known."""
        self._attributes: dict[str, str] | None = None

    @property
    def attributes(self) -> dict[str, str]:
        """Its listed attributes, the first of each name."""
        made = self._attributes
        if made is None:
            made = self._attributes = {}
            data = self._data
            for number, start, end in self._rows:
                name = ATTRIBUTES[number]
                if name not in made:
                    made[name] = value_of(data[start:end])
        return made

    def get(self, name: str) -> str:
        """The attribute's value, trimmed; empty where there is none."""
        made = self._attributes if self._attributes is not None else self.attributes
        return made[name].strip() if name in made else ""


class Markup:
    """The tokens of a page. ``tokens`` and ``attributes`` are rows as markup_kernels describes them.

    ``tokens`` has one row more than there are tokens, so that the attributes of token i are always those from
    ``tokens[i, FIRST]`` to ``tokens[i + 1, FIRST]``; ``len(markup)`` is the number of tokens.
    """

    def __init__(
        self, data: bytes, batch: Batch, row: list[int], noted: list[list[int]], said: list[list[int]]
    ) -> None:
        """REQUIRES: ``row`` is that of ``data`` in the batch."""
        self.data, self._batch, self._row = data, batch, row
        self._noted, self._said = noted, said
        self.count = row[TOKEN_END] - row[TOKEN] - 1

    @lazy
    def page(self) -> Bytes:
        """The bytes of ``data``."""
        return self._batch.buffer[self._row[BEGIN] : self._row[END_OF_PAGE]]

    @lazy
    def tokens(self) -> Rows:
        """Its tokens, and a row more."""
        return self._batch.tokens[self._row[TOKEN] : self._row[TOKEN_END]]

    @lazy
    def attributes(self) -> Rows:
        """The attributes of its tokens."""
        return self._batch.attributes[self._row[ATTRIBUTE_] : self._row[ATTRIBUTE_END]]

    @classmethod
    def of(cls, data: bytes) -> Markup:
        """Cut a page in UTF-8 into tokens. Takes any bytes; what does not fit the limits is left out at its end."""
        return cut([data])[0].markup

    def __len__(self) -> int:
        return self.count

    def kind(self, token: int) -> int:
        """TEXT, OPEN, CLOSE, RAW, COMMENT or CDATA."""
        return int(self.tokens[token, KIND])

    def name(self, token: int) -> str:
        """The name of the element that a token is a tag or the raw content of; ``?`` if not listed, empty if none."""
        return ELEMENTS[int(self.tokens[token, ELEMENT_COLUMN]) & _NAME_MASK]

    def source(self, token: int) -> bytes:
        """A token as it stands in the page."""
        _, _, start, end, _ = self.tokens[token].tolist()
        return self.data[start:end]

    def text(self, token: int) -> str:
        """The text of a token: entities resolved where they are."""
        return _text(self.source(token), self.kind(token))

    def get(self, token: int, name: str) -> str | None:
        """The value of the first attribute of that name of a start tag, or None. REQUIRES: ``name`` is listed."""
        first, last = self.tokens[token, FIRST], self.tokens[token + 1, FIRST]
        for number, start, end in self.attributes[first:last].tolist():
            if number == ATTRIBUTE[name]:
                return value_of(self.data[start:end])
        return None

    def tag(self, token: int) -> Tag:
        """A start tag with all its listed attributes."""
        (_, element, _, _, first), (_, _, _, _, last) = self.tokens[token : token + 2].tolist()
        rows = self.attributes[first:last].tolist() if last > first else ()
        return Tag(ELEMENTS[element & _NAME_MASK], token, self.data, rows)

    def noted_tags(self) -> dict[str, list[Tag]]:
        """The start tags of elements by which a page speaks of itself (markup_kernels.NOTED), by name, in order.

        Of scripts those that may hold data, of metas those with a name; no titles. Headings come without attributes.
        """
        data, said = self.data, self._said
        found: dict[str, list[Tag]] = {}
        for token, element, first, last, start, end in self._noted:
            name = ELEMENTS[element]
            tag = Tag(name, token, data, said[first:last] if last > first else (), start, end)
            if name in found:
                found[name].append(tag)
            else:
                found[name] = [tag]
        return found

    def tags_at(self, places: npt.NDArray[np.int64]) -> list[Tag]:
        """The start tags that these tokens are, in the order given."""
        firsts = self.tokens[places, FIRST]
        counts = self.tokens[places + 1, FIRST] - firsts
        ends = np.cumsum(counts)
        said = self.attributes[np.arange(counts.sum()) + np.repeat(firsts - (ends - counts), counts)].tolist()
        elements = (self.tokens[places, ELEMENT_COLUMN] & _NAME_MASK).tolist()
        data, found, begin = self.data, [], 0
        for token, element, end in zip(places.tolist(), elements, ends.tolist(), strict=True):
            found.append(Tag(ELEMENTS[element], token, data, said[begin:end]))
            begin = end
        return found

    def tags(self, *names: str) -> Iterator[Tag]:
        """Yield the start tags of these elements, in order."""
        wanted = np.zeros(256, bool)
        wanted[[ELEMENT[name] for name in names]] = True
        rows = self.tokens[:-1]
        found = (rows[:, KIND] == OPEN) & wanted[rows[:, ELEMENT_COLUMN] & _NAME_MASK]
        return map(self.tag, np.flatnonzero(found).tolist())

    def tags_with(self, *attributes: str) -> Iterator[Tag]:
        """Yield the start tags that have one of these attributes, in order."""
        wanted = np.zeros(256, bool)
        wanted[[ATTRIBUTE[name] for name in attributes]] = True
        having = np.flatnonzero(wanted[self.attributes[:, 0]])
        owners = np.unique(np.searchsorted(self.tokens[:, FIRST], having, side="right") - 1)
        return map(self.tag, owners.tolist())

    def inside(self, tag: Tag, limit: int = 1 << 16) -> str:
        """The text inside an element, as ``content`` has it."""
        return _text(self.data[tag.start : tag.end], TEXT) if tag.end >= 0 else self.content(tag.token, limit)

    def content(self, token: int, limit: int = 1 << 16) -> str:
        """The text inside the element that a start tag opens, up to its own end tag or ``limit`` tokens; as it stands.

        Raw content (title, textarea) counts as text; scripts, styles and comments do not.
        """
        opened, *inner = self.tokens[token : token + 3].tolist()
        if limit > 2 and len(inner) == 2 and (inner[0][0], inner[1][0]) == (TEXT, CLOSE) and inner[1][1] == opened[1]:
            return _text(self.data[inner[0][2] : inner[0][3]], TEXT)
        end, name = min(token + limit, self.count), opened[1] & _NAME_MASK
        depth = 0
        parts: list[str] = []
        for at in range(token, end, _FEW_TOKENS):
            for kind, tag, start, stop, _ in self.tokens[at : min(at + _FEW_TOKENS, end)].tolist():
                element = tag & _NAME_MASK
                if kind == OPEN and element == name:
                    depth += 1
                elif kind == CLOSE and element == name:
                    depth -= 1
                    if depth == 0:
                        return "".join(parts)
                elif kind in (TEXT, CDATA) or (kind == RAW and element not in _UNSEEN):
                    parts.append(_text(self.data[start:stop], kind))
        return "".join(parts)


class Batch(NamedTuple):
    """Pages that were cut in one call, as the kernels have them."""

    buffer: Bytes
    tokens: Rows
    attributes: Rows
    spans: Rows
    """A row for each page: where its bytes, tokens and attributes begin and end, its title's token, and more."""
    columns: Bytes
    """The hrefs, then the texts, then the rels of each page's anchors, a zero after each; BEHIND more bytes."""
    anchors: bytes
    """The same."""


class Cut(NamedTuple):
    """A page that was cut: its tokens, and what the pass noted on its way."""

    markup: Markup
    ends: tuple[int, int, int, int]
    """Where its anchors' hrefs begin in ``batch.columns``, and where hrefs, texts and rels end."""
    title: int
    """The token that is the title's text; -1 if there is none."""
    raw_title: bytes
    """The title as it stands."""
    held: int
    """What its attributes hold, in bits: ANNOTATED, MARKED, RELATED (batch_kernels)."""
    batch: Batch
    number: int
    """Its place in the batch."""

    def column(self, number: int) -> bytes:
        """The hrefs (0), texts (1) or rels (2) of its anchors, a zero after each; white space of texts folded."""
        return self.batch.anchors[self.ends[number] : self.ends[number + 1]]


def cut(pages: Sequence[bytes]) -> list[Cut]:
    """Cut pages in UTF-8 into tokens, all in one call. REQUIRES: together they have less than 2 GB."""
    data = [_shortened(page) if len(page) > MAX_BYTES else page for page in pages]
    joined = data[0] if len(data) == 1 else b"".join(data)
    bounds = np.array([0, *accumulate(map(len, data))], np.int32)
    buffer = np.frombuffer(joined or b" ", np.uint8)
    room = len(joined) // _BYTES_PER_TOKEN + _LEAST_ROOM * len(data)
    most = MAX_TOKENS * len(data)
    while True:
        tokens = np.empty((room, TOKEN_COLUMNS), np.int32)
        attributes = np.empty((room, ATTRIBUTE_COLUMNS), np.int32)
        noted, said = np.empty((room, NOTED_COLUMNS), np.int32), np.empty((room, ATTRIBUTE_COLUMNS), np.int32)
        rows = np.empty((len(data), COLUMNS), np.int32)
        out = np.empty(len(joined) + 3 * len(data) + BEHIND, np.uint8)
        if cut_pages(buffer, bounds, tokens, attributes, noted, said, out, rows, room >= most) == len(data):
            break
        room = min(4 * room, most)
    if data and room >= most and rows[-1, TOKEN_END] > room - _MARGIN:
        note("page-tokens")
    anchors = out[: rows[-1, RELS]].tobytes() if data else b""
    return [*_cuts(data, Batch(buffer, tokens, attributes, rows, out, anchors), noted, said)]


def _shortened(page: bytes) -> bytes:
    note("page-bytes")
    return page[:MAX_BYTES]


def _cuts(data: list[bytes], batch: Batch, noted: Rows, said: Rows) -> Iterator[Cut]:
    n = o = 0
    rows = batch.spans.tolist()
    all_noted: list[list[int]] = noted[: rows[-1][NOTED]].tolist() if rows else []
    all_said: list[list[int]] = said[: all_noted[-1][3]].tolist() if all_noted else []
    for page, (row, source) in enumerate(zip(rows, data, strict=True)):
        title, start, end, n_end, hrefs, texts, rels, held = row[TITLE:]
        if held & MANY:
            note("noted-tags")
        markup = Markup(source, batch, row, all_noted[n:n_end], all_said)
        yield Cut(markup, (o, hrefs, texts, rels), title, source[start:end], held, batch, page)
        n, o = n_end, rels


_UNSEEN = frozenset(ELEMENT[name] for name in ("script", "style", "iframe", "noembed", "noframes"))


def _text(source: bytes, kind: int) -> str:
    said = source.decode("utf-8", "replace")
    return unescape(said) if kind != CDATA else said


class _Replacements(dict[str, str]):
    """What character references stand for; bounded."""

    def __missing__(self, reference: str) -> str:
        said = html.unescape(reference)
        if len(self) < _REMEMBERED:
            self[reference] = said
        return said


_replacements = _Replacements()


def unescape(text: str) -> str:
    """Return ``html.unescape`` of a text: the same references come again and again."""
    return _REFERENCE.sub(lambda found: _replacements[found[0]], text) if "&" in text else text


def value_of(value: bytes) -> str:
    """Return the value of an attribute: there ``&copy=1`` is no entity, nor is ``&copyright``."""
    text = value.decode("utf-8", "replace")
    if "&" not in text:
        return text
    return _ENTITY.sub(lambda found: unescape(found[0]) if found[2] or found[1] in html5 else found[0], text)


def fold(text: str) -> str:
    """Return ``text`` with every run of white space as one space, and none at the ends."""
    if "  " not in text and text.isprintable():  # of white space, only the space is
        return text.strip()
    return " ".join(text.split())


__all__ = [
    "CDATA", "CLOSE", "COMMENT", "ELEMENT_COLUMN", "END", "FIRST", "KIND", "MAX_BYTES", "OPEN", "RAW", "START", "TEXT",
    "Batch", "Cut", "Markup", "Tag", "cut", "fold", "unescape", "value_of",
]  # fmt: skip
