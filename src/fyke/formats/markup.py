"""Markup: a page's tokens, and what its tags say, read from the rows of the one tokeniser (markup_kernels).

``Markup.of(data)`` cuts UTF-8 bytes once; everything else walks its arrays. Strings are decoded when they are asked
for: entities resolved by the rules of text or of attributes. Nothing raises, whatever the page; time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from html.entities import html5
from typing import NamedTuple

import numpy as np

from fyke.formats.markup_kernels import MAX_FOREIGN, Bytes, Rows, tokenize
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

MAX_BYTES = 1 << 26
"""What comes after 64 MB of a page is not read: no page of text is so long, and positions are 32 bits."""
MAX_TOKENS = 1 << 22
"""Tokens of a page, and attributes: a page is cut there. Real ones have some thousands; so many rows are 150 MB."""
_BYTES_PER_TOKEN = 12
"""A first guess at the room that is needed; pages have 15 to 40."""
_LEAST_ROOM = 16
_ENTITY = re.compile(r"&(#(?:\d+|[xX][0-9a-fA-F]+)|[A-Za-z][A-Za-z0-9]*)(;|(?![=A-Za-z0-9]))")
_NAME_MASK = SELF_CLOSING - 1


class Tag(NamedTuple):
    """A start tag: its element's name, the number of its token, and its listed attributes, the first of each."""

    name: str
    token: int
    attributes: dict[str, str]

    def get(self, name: str) -> str:
        """The attribute's value, trimmed; empty where there is none."""
        return self.attributes.get(name, "").strip()


class Markup:
    """The tokens of a page. ``tokens`` and ``attributes`` are rows as markup_kernels describes them.

    ``tokens`` has one row more than there are tokens, so that the attributes of token i are always those from
    ``tokens[i, FIRST]`` to ``tokens[i + 1, FIRST]``; ``len(markup)`` is the number of tokens.
    """

    __slots__ = ("attributes", "count", "data", "noted", "page", "tokens")

    def __init__(self, data: bytes, page: Bytes, tokens: Rows, attributes: Rows, noted: Rows) -> None:
        """REQUIRES: the rows are those of ``data``, and ``page`` is its bytes."""
        self.data, self.page, self.tokens, self.attributes, self.noted = data, page, tokens, attributes, noted
        self.count = len(tokens) - 1

    @classmethod
    def of(cls, data: bytes) -> Markup:
        """Cut a page in UTF-8 into tokens. Takes any bytes; what does not fit the limits is left out at its end."""
        data = data[:MAX_BYTES]
        page = np.frombuffer(data or b" ", np.uint8)[: len(data)]
        sizes = np.zeros(3 + MAX_FOREIGN, np.int32)
        room = len(data) // _BYTES_PER_TOKEN + _LEAST_ROOM
        while True:
            tokens = np.empty((room, TOKEN_COLUMNS), np.int32)
            attributes = np.empty((room, ATTRIBUTE_COLUMNS), np.int32)
            noted = np.empty(room, np.int32)
            if tokenize(page, tokens, attributes, noted, sizes) or room >= MAX_TOKENS:
                count, a, n = sizes[:3].tolist()
                return cls(data, page, tokens[: count + 1], attributes[:a], noted[:n])
            room = min(4 * room, MAX_TOKENS)

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
        row = self.tokens[token]
        return self.data[row[START] : row[END]]

    def text(self, token: int) -> str:
        """The text of a token: entities resolved where they are."""
        said = self.source(token).decode("utf-8", "replace")
        return unescape(said) if "&" in said and self.tokens[token, KIND] != CDATA else said

    def get(self, token: int, name: str) -> str | None:
        """The value of the first attribute of that name of a start tag, or None. REQUIRES: ``name`` is listed."""
        first, last = self.tokens[token, FIRST], self.tokens[token + 1, FIRST]
        for number, start, end in self.attributes[first:last].tolist():
            if number == ATTRIBUTE[name]:
                return value_of(self.data[start:end])
        return None

    def tag(self, token: int) -> Tag:
        """A start tag with all its listed attributes."""
        first, last = self.tokens[token, FIRST], self.tokens[token + 1, FIRST]
        found: dict[str, str] = {}
        for number, start, end in self.attributes[first:last].tolist():
            found.setdefault(ATTRIBUTES[number], value_of(self.data[start:end]))
        return Tag(self.name(token), token, found)

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

    def content(self, token: int, limit: int = 1 << 16) -> str:
        """The text inside the element that a start tag opens, up to its own end tag or ``limit`` tokens; as it stands.

        Raw content (title, textarea) counts as text; scripts, styles and comments do not.
        """
        rows = self.tokens[token : token + limit].tolist()
        name = rows[0][ELEMENT_COLUMN] & _NAME_MASK
        depth, parts = 0, []
        for at, (kind, tag, *_) in enumerate(rows[: self.count - token]):
            element = tag & _NAME_MASK
            if kind == OPEN and element == name:
                depth += 1
            elif kind == CLOSE and element == name:
                depth -= 1
                if depth == 0:
                    break
            elif kind in (TEXT, CDATA) or (kind == RAW and element not in _UNSEEN):
                parts.append(self.text(token + at))
        return "".join(parts)


_UNSEEN = frozenset(ELEMENT[name] for name in ("script", "style", "iframe", "noembed", "noframes"))


def value_of(value: bytes) -> str:
    """Return the value of an attribute: there ``&copy=1`` is no entity, nor is ``&copyright``."""
    text = value.decode("utf-8", "replace")
    if "&" not in text:
        return text
    return _ENTITY.sub(lambda found: unescape(found[0]) if found[2] or found[1] in html5 else found[0], text)


def fold(text: str) -> str:
    """Return ``text`` with every run of white space as one space, and none at the ends."""
    return " ".join(text.split())


__all__ = [
    "CDATA", "CLOSE", "COMMENT", "ELEMENT_COLUMN", "END", "FIRST", "KIND", "MAX_BYTES", "OPEN", "RAW", "START", "TEXT",
    "Markup", "Tag", "fold", "value_of",
]  # fmt: skip
