"""A page as the methods see it: tokens, containers and blocks, made in one pass over its bytes."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

import numpy as np

from fyke.clean import block_kernels, token_kernels, word_kernels
from fyke.clean.columns import COLUMNS
from fyke.clean.elements import WORD, Array

MAX_BYTES = 1 << 26
"""What comes after 64 MB of a page is not read: no page of text is so long, and positions are 32 bits."""
_TITLE_SLOTS, _TITLE_WORDS = 256, 64
_FEW_TOKENS = 200
"""A page with fewer tokens may have its text in noscript, if that has so many more words."""
_MAX_BODY = 1 << 20
_META_REACH = 4096
"""Bytes around ``og:type`` in which the other meta elements of its kind stand."""
_BODY = re.compile(rb'"(?:articleBody|reviewBody)"\s*:\s*"([^"\\]*+(?:\\.[^"\\]*+)*+)"')
_TYPE_KEY = b'"@type"'
_TYPE = re.compile(rb'"@type"\s*:\s*\[?\s*"(\w{1,40})"')
_OPEN_GRAPH = re.compile(rb"""og:type["'][^>]{0,60}?content\s*=\s*["']([a-z]{1,20})""", re.IGNORECASE)
_NOTHING = np.zeros(1, np.int64)
_NO_TYPES: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tags and words of a page, by position in its bytes (token_kernels)."""

    page: Array
    starts: Array
    ends: Array
    kinds: Array
    head: Array
    remarks: Array

    @property
    def title(self) -> str:
        """The text of the first title element, white space folded."""
        start, end = self.head[0]
        return text_of(self.page[start:end].tobytes())


@dataclass(frozen=True, slots=True)
class Page:
    """Blocks and containers of a page (block_kernels)."""

    tokens: Tokens
    parent: Array
    element: Array
    flags: Array
    opened: Array
    words: Array
    words_end: Array
    blocks: Array
    title_size: int
    types: frozenset[str]
    """What JSON-LD says that the page is: ``Article``, ``Product``, ..."""

    @property
    def title(self) -> str:
        """The text of the first title element, white space folded."""
        return self.tokens.title


def text_of(data: bytes) -> str:
    """Return the text of HTML bytes without tags: decoded, entities replaced, white space folded."""
    text = data.decode("utf-8", "replace")
    return " ".join((html.unescape(text) if "&" in text else text).split())


def tokenize(data: bytes) -> Tokens:
    """Cut a page in UTF-8 into tags and words. Takes any bytes, in linear time.

    What stands in ``noscript`` is read only where there is next to nothing else: some sites keep all their text there.
    """
    page = np.frombuffer(data[:MAX_BYTES] or b" ", np.uint8)
    tokens = _tokens(page, False)
    if tokens.kinds.size < _FEW_TOKENS and b"<noscript" in data:
        words = np.count_nonzero(tokens.kinds == WORD)
        fuller = _tokens(page, True)
        if np.count_nonzero(fuller.kinds == WORD) > words + _FEW_TOKENS:
            return fuller
    return tokens


def _tokens(page: Array, noscript: bool) -> Tokens:
    room = page.size // 2 + 2
    starts, ends, kinds = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.uint8)
    head = np.zeros((token_kernels.MAX_DATA + 1, 2), np.int64)
    remarks = np.zeros((token_kernels.MAX_REMARKS, 2), np.int64)
    count = token_kernels.tokenize(page, starts, ends, kinds, head, remarks, noscript)
    return Tokens(page, starts[:count], ends[:count], kinds[:count], head, remarks)


def read(data: bytes) -> Page:
    """Cut a page in UTF-8 into blocks. Takes any bytes, in linear time."""
    tokens = tokenize(data)
    start, end = tokens.head[0]
    titles = np.zeros(_TITLE_SLOTS, np.int64)
    title_size = word_kernels.remember_words(tokens.page[start:end], titles, False, _TITLE_WORDS)
    types, body = _linked_data(tokens)
    types |= _open_graph(data, tokens)
    bodies = _NOTHING
    if body:
        bodies = np.zeros(1 << max(4, len(body).bit_length()), np.int64)
        word_kernels.remember_words(np.frombuffer(body, np.uint8), bodies, True, bodies.size // 2)
    count = tokens.kinds.size
    parent, opened, words_end = (np.empty(count + 1, np.int32) for _ in range(3))
    element, flags = np.empty(count + 1, np.uint8), np.empty(count + 1, np.uint32)
    words = np.empty(tokens.page.size // 4 + 1, np.uint16)
    blocks = np.empty((min(count // 2 + 1, block_kernels.MAX_BLOCKS), COLUMNS), np.int64)
    containers, made = block_kernels.build_blocks(
        tokens.page, tokens.starts, tokens.ends, tokens.kinds, titles, bodies,
        parent, element, flags, opened, words, words_end, blocks,
    )  # fmt: skip
    return Page(
        tokens, parent[:containers], element[:containers], flags[:containers], opened[:containers], words,
        words_end[:containers], blocks[:made], title_size, types,
    )  # fmt: skip


def _linked_data(tokens: Tokens) -> tuple[frozenset[str], bytes]:
    """Return the types that JSON-LD scripts name, and the text of an articleBody."""
    if not tokens.head[1, 1]:
        return _NO_TYPES, b""
    types: set[str] = set()
    body = b""
    for start, end in tokens.head[1:].tolist():
        if end == 0:
            break
        data = tokens.page[start : min(end, start + _MAX_BODY)].tobytes()
        at = data.find(_TYPE_KEY)
        while at >= 0:  # finding bytes is ten times as fast as finding a pattern
            if named := _TYPE.match(data, at):
                types.add(named[1].decode())
            at = data.find(_TYPE_KEY, at + 1)
        if not body and b'Body"' in data:
            at = data.find(b'"articleBody"')
            found = _BODY.match(data, at if at >= 0 else max(0, data.find(b'"reviewBody"')))
            body = _unescaped(found[1]) if found else b""
    return frozenset(types), body


def _open_graph(data: bytes, tokens: Tokens) -> frozenset[str]:
    """Return what the page's meta elements say that it is, as ``og:article``, and whether it was published.

    They stand before the first word: a head has none outside its title.
    """
    at = data.find(b"og:type", 0, tokens.starts[tokens.kinds.argmin()]) if tokens.kinds.size else -1
    if at < 0:
        return _NO_TYPES
    found = _OPEN_GRAPH.match(data, at)
    named = {f"og:{found[1].decode().lower()}"} if found else set()
    if data.find(b"article:published_time", max(0, at - _META_REACH), at + _META_REACH) >= 0:
        named.add("og:published_time")
    return frozenset(named)


def _unescaped(string: bytes) -> bytes:
    """Return the text of a JSON string, its HTML tags blanked and its entities replaced."""
    import msgspec

    try:
        text = msgspec.json.decode(b'"' + string.replace(b"\n", b" ").replace(b"\t", b" ") + b'"', type=str)
    except msgspec.MsgspecError:
        return b""
    text = re.sub(r"<[^<>]*>", " ", text) if "<" in text else text
    return (html.unescape(text) if "&" in text else text).encode("utf-8", "replace")
