"""The anchors of a page: targets, texts and rels as columns of bytes, from its tokens, in one pass.

No tree is built: an anchor lasts until the next one begins or ``</a>``.
"""

from __future__ import annotations

import numpy as np

from fyke.bits.jit import LANES, bytes_equal, copy_lanes, inlined, leaf, trailing_zeros
from fyke.formats.markup_names import ATTRIBUTE, ELEMENT
from fyke.formats.tag_kernels import Bytes, Rows

from fyke.formats.markup_rows import (  # isort: skip
    CLOSE, ELEMENT_, END, FIRST, KIND, NAME, OPEN, SELF_CLOSING, START, TEXT, VALUE, VALUE_END,
)  # fmt: skip

_A, _IMG = ELEMENT["a"], ELEMENT["img"]
_ZERO = np.uint8(0)
_HREF, _REL, _ALT = (ATTRIBUTE[name] for name in ("href", "rel", "alt"))


@leaf
def find_attribute(attributes: Rows, first: int, last: int, name: int) -> int:
    """Return the first row of ``first`` … ``last`` with that name; -1 if there is none."""
    for at in range(first, last):
        if attributes[at, NAME] == name:
            return at
    return -1


@inlined
def _write(page: Bytes, start: int, end: int, out: Bytes, size: int) -> int:
    """Write ``page[start:end]`` without its zeros, and a zero behind it."""
    at = int(start)
    while at < end and at + LANES <= page.size and size + LANES <= out.size:
        own = min(LANES, end - at)
        if trailing_zeros(bytes_equal(page, at, _ZERO)) < own:
            break
        copy_lanes(page, at, out, size)
        at += own
        size += own
    for here in range(at, end):
        if page[here]:
            out[size] = page[here]
            size += 1
    out[size] = 0
    return size + 1


@leaf
def _fold(page: Bytes, at: int, end: int, out: Bytes, size: int, first: int, blank: bool) -> tuple[int, bool]:
    """Go on with the text that starts at ``first`` of ``out``: each run of white space is one space, none at the ends.

    ``blank`` says whether white space is due. Returns the new size, and whether it is due now.
    """
    for here in range(at, end):
        byte = page[here]
        if byte <= 32:
            blank = True
            continue
        if blank and size > first:
            out[size] = 32
            size += 1
        blank = False
        out[size] = byte
        size += 1
    return size, blank


@leaf
def _write_text(page: Bytes, tokens: Rows, attributes: Rows, at: int, out: Bytes, size: int) -> int:
    """Write the text of the anchor that token ``at`` opens, and a zero: up to the next anchor or its end tag.

    A text that is empty is the alternative text of the last image in it.
    """
    begin, blank, alt = size, False, -1
    for here in range(at + 1, tokens.shape[0] - 1):
        kind = tokens[here, KIND]
        if kind == TEXT:
            size, blank = _fold(page, tokens[here, START], tokens[here, END], out, size, begin, blank)
        elif kind == OPEN or kind == CLOSE:
            element = tokens[here, ELEMENT_] & (SELF_CLOSING - 1)
            if element == _A:
                break
            if element == _IMG:
                found = find_attribute(attributes, tokens[here, FIRST], tokens[here + 1, FIRST], _ALT)
                alt = found if found >= 0 else alt
    if size == begin and alt >= 0:
        size, blank = _fold(page, attributes[alt, VALUE], attributes[alt, VALUE_END], out, size, begin, False)
    out[size] = 0
    return size + 1


@leaf
def write_anchors(page: Bytes, tokens: Rows, attributes: Rows, out: Bytes, size: int, ends: Rows) -> int:
    """Write hrefs, then texts, then rels of the anchors that have a target from ``size`` of ``out`` on, a 0 after each.

    They are as written, white space of texts folded. ``ends`` gets the end of each of the three columns; the last is
    returned. REQUIRES: room for the page's bytes and three more.
    """
    for column in range(3):
        for at in range(tokens.shape[0] - 1):
            if tokens[at, KIND] != OPEN or tokens[at, ELEMENT_] & (SELF_CLOSING - 1) != _A:
                continue
            first, last = tokens[at, FIRST], tokens[at + 1, FIRST]
            target = find_attribute(attributes, first, last, _HREF)
            if target < 0:
                continue
            if column == 1:
                size = _write_text(page, tokens, attributes, at, out, size)
                continue
            found = target if column == 0 else find_attribute(attributes, first, last, _REL)
            start, end = (attributes[found, VALUE], attributes[found, VALUE_END]) if found >= 0 else (0, 0)
            size = _write(page, start, end, out, size)
        ends[column] = size
    return size
