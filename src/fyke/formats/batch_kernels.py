"""Many pages at once: their tokens one page after the other, and the anchors of each, in one call."""

from __future__ import annotations

import numpy as np

from fyke.bits.jit import kernel, leaf
from fyke.formats.link_kernels import write_anchors
from fyke.formats.markup_kernels import MAX_FOREIGN, Bytes, Rows, tokenize
from fyke.formats.markup_names import ATTRIBUTE, ELEMENT
from fyke.formats.markup_rows import ELEMENT_, FIRST, KIND, NAME, RAW, SELF_CLOSING

BEGIN, END, TOKEN, TOKEN_END, ATTRIBUTE_, ATTRIBUTE_END, TITLE, NOTED, HREFS, TEXTS, RELS, HELD, COLUMNS = range(13)
"""Of a page, in its row: where its bytes, tokens (the one that ends them too) and attributes begin and end; the token
of its own that is its title's text, or -1; where its noted tokens end, and its columns of anchors in the output;
what its attributes hold."""
ANNOTATED, MARKED, RELATED = 1, 2, 4
"""Bits of HELD: an element but meta and link has microdata or RDFa; some element has a class, an id or another of the
names by which authors tell what it is; some has a rel."""
_TITLE, _META, _LINK = ELEMENT["title"], ELEMENT["meta"], ELEMENT["link"]
_BITS = np.zeros(256, np.uint8)
_BITS[[ATTRIBUTE[name] for name in ("class", "id", "role")]] = MARKED
_BITS[ATTRIBUTE["rel"]] = MARKED | RELATED
_BITS[[ATTRIBUTE["itemprop"], ATTRIBUTE["property"]]] = MARKED | ANNOTATED


@leaf
def find_title(tokens: Rows, noted: Rows, count: int) -> int:
    """Return the token with the text of the first title that is no picture's; -1 if there is none."""
    for n in range(count):
        at = noted[n, 0]
        if noted[n, 1] == _TITLE and tokens[at + 1, KIND] == RAW:
            return int(at + 1)
    return -1


@leaf
def held_by(tokens: Rows, attributes: Rows) -> int:
    """Return what the attributes of a page hold: ANNOTATED, MARKED, RELATED."""
    at, held = 0, 0
    for a in range(attributes.shape[0]):
        bits = int(_BITS[attributes[a, NAME]])
        if bits & ANNOTATED and not held & ANNOTATED:
            while tokens[at + 1, FIRST] <= a:
                at += 1
            element = tokens[at, ELEMENT_] & (SELF_CLOSING - 1)
            if element == _META or element == _LINK:
                bits &= ~ANNOTATED
        held |= bits
    return held


@kernel
def cut_pages(
    buffer: Bytes, bounds: Rows, tokens: Rows, attributes: Rows, noted: Rows, out: Bytes, rows: Rows,
    last: bool,
) -> int:  # fmt: skip
    """Cut the pages ``buffer[bounds[i]:bounds[i + 1]]``; write a row for each. Return how many were cut.

    It stops at a page for which there is too little room; as a ``last`` resort its rest is left out.
    REQUIRES: ``out`` has room for ``buffer`` and three bytes more for each page.
    """
    sizes = np.zeros(3 + MAX_FOREIGN, np.int32)
    t, a, n, o = 0, 0, 0, 0
    for page in range(bounds.size - 1):
        source = buffer[bounds[page] : bounds[page + 1]]
        if tokens.shape[0] - t < 8:
            return page
        if not tokenize(source, tokens[t:], attributes[a:], noted[n:], sizes) and not last:
            return page
        own = tokens[t : t + sizes[0] + 1]
        named = attributes[a : a + sizes[1]]
        row = rows[page]
        row[BEGIN], row[END], row[TOKEN], row[ATTRIBUTE_] = bounds[page], bounds[page + 1], t, a
        row[TITLE] = find_title(own, noted[n:], sizes[2])
        row[HELD] = held_by(own, named)
        t, a, n = t + sizes[0] + 1, a + sizes[1], n + sizes[2]
        row[TOKEN_END], row[ATTRIBUTE_END], row[NOTED] = t, a, n
        o = write_anchors(source, own, named, out, o, row[HREFS : RELS + 1])
    return bounds.size - 1
