"""A large page in pieces, each a page of its own: what is made of them one by one takes the memory of one.

A piece begins with a block, or, where a block is longer than a piece, behind a space; lists, quotes, tables and code
that are open there are opened again. A page of at most ``PIECE_BYTES`` and ``PIECE_TOKENS`` is one piece: itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fyke.formats.markup import CLOSE, ELEMENT_COLUMN, END, KIND, OPEN, RAW, START, TEXT, Markup
from fyke.formats.markup_names import ELEMENT, ELEMENTS

PIECE_BYTES = 500_000
"""Of a piece; trees and plans take up to sixty times as much. Few pages have more than one."""
PIECE_TOKENS = 32_768
_MAX_OPEN = 256
"""Elements that are opened again: conversion follows no more (convert.plan_kernels.MAX_DEPTH)."""
_NEAR = 256
"""Bytes before the end of a piece in which a space is looked for."""
_REFERENCE = 40
"""Bytes of the longest character reference."""


def _set_of(*names: str) -> npt.NDArray[np.bool_]:
    found = np.zeros(256, bool)
    found[[ELEMENT[name] for name in names]] = True
    return found


_AROUND = _set_of("blockquote", "dl", "menu", "ol", "pre", "table", "ul")
"""What no tag ends but its own."""
_BLOCKS = _set_of(
    *("address", "article", "aside", "blockquote", "center", "dd", "details", "div", "dl", "dt", "figure", "footer"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "menu", "nav", "ol", "p", "pre", "section"),
    *("table", "tr", "ul"),
)
_SHOWN = _set_of("xmp", "plaintext", "textarea", "title")
"""Elements whose raw content is text."""
_NAME = 255


def pieces(markup: Markup) -> Iterator[bytes]:
    """Yield a page's pieces in order. Linear; never raises."""
    rows = markup.tokens[: len(markup)]
    if len(markup.data) <= PIECE_BYTES and len(rows) <= PIECE_TOKENS:
        yield markup.data
        return
    names = rows[:, ELEMENT_COLUMN] & _NAME
    blocks = np.flatnonzero((rows[:, KIND] == OPEN) & _BLOCKS[names])
    around = np.flatnonzero(np.isin(rows[:, KIND], (OPEN, CLOSE)) & _AROUND[names])
    is_open: list[int] = []
    token, begin, end, seen = 0, 0, int(rows[-1, END]) if len(rows) else 0, 0
    while begin < end:
        stop, following = _stop(markup, blocks, token, begin, end)
        opened = is_open[:_MAX_OPEN]
        if token and rows[token - 1, KIND] == RAW and rows[token - 1, END] > begin:
            opened.append(int(rows[token - 1, ELEMENT_COLUMN]) & _NAME)
        yield b"".join(b"<%s>" % ELEMENTS[name].encode() for name in opened) + markup.data[begin:stop]
        passed = int(np.searchsorted(around, following))
        _follow(is_open, rows[around[seen:passed]])
        token, begin, seen = following, stop, passed


def _stop(markup: Markup, blocks: npt.NDArray[np.intp], token: int, begin: int, end: int) -> tuple[int, int]:
    """Return where the piece from ``begin`` on ends, and the first token that begins behind it."""
    rows = markup.tokens[: len(markup)]
    wanted = min(int(np.searchsorted(rows[:, START], begin + PIECE_BYTES)), token + PIECE_TOKENS)
    most = begin + 2 * PIECE_BYTES
    at = int(np.searchsorted(blocks, wanted))
    block = int(blocks[at]) if at < len(blocks) else len(rows)
    for each in (block if block <= token + 2 * PIECE_TOKENS else wanted, wanted):
        place = int(rows[each, START]) if each < len(rows) else end
        if place <= most:
            return place, each
    last = rows[max(wanted - 1, 0)]
    if last[KIND] == TEXT or (last[KIND] == RAW and _SHOWN[last[ELEMENT_COLUMN] & _NAME]):
        return _apart(markup.data, max(begin, int(last[START])) + PIECE_BYTES), wanted
    return int(rows[wanted, START]) if wanted < len(rows) else end, wanted


def _apart(data: bytes, at: int) -> int:
    """Return where a text may be parted at ``at`` or before: behind a space, else in no character or reference."""
    space = max(data.rfind(b" ", at - _NEAR, at), data.rfind(b"\n", at - _NEAR, at))
    if space >= 0:
        return space + 1
    reference = data.rfind(b"&", at - _REFERENCE, at)
    if reference >= 0 and data.find(b";", reference, at) < 0:
        at = reference
    while data[at] & 0xC0 == 0x80 and at > space:
        at -= 1
    return at


def _follow(is_open: list[int], tags: npt.NDArray[np.int32]) -> None:
    """Note what tags open and end."""
    for kind, element in tags[:, (KIND, ELEMENT_COLUMN)].tolist():
        name = element & _NAME
        if kind == OPEN:
            is_open.append(name)
        elif name in is_open[-_MAX_OPEN:]:
            while is_open.pop() != name:
                pass
