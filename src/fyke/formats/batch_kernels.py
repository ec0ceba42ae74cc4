"""Many pages at once: their tokens one page after the other, and the anchors of each, in one call."""

from __future__ import annotations

import numpy as np

from fyke.bits.jit import kernel, leaf
from fyke.formats.link_kernels import write_anchors
from fyke.formats.markup_kernels import MAX_FOREIGN, tokenize
from fyke.formats.markup_names import ATTRIBUTE, ELEMENT, marked
from fyke.formats.markup_rows import END as TEXT_END
from fyke.formats.tag_kernels import Bytes, Rows

from fyke.formats.markup_rows import (  # isort: skip
    ATTRIBUTE_COLUMNS, CLOSE, ELEMENT_, FIRST, KIND, NAME, RAW, SELF_CLOSING, START, TEXT, VALUE, VALUE_END,
)  # fmt: skip

(
    BEGIN, END, TOKEN, TOKEN_END, ATTRIBUTE_, ATTRIBUTE_END, TITLE, TITLE_START, TITLE_END, NOTED, HREFS, TEXTS, RELS,
    HELD, COLUMNS,
) = range(15)  # fmt: skip
"""Of a page, in its row: where its bytes, tokens (the one that ends them too) and attributes begin and end; the token
of its own that is its title's text, or -1, and where that begins and ends; where its noted tokens end, and its columns
of anchors in the output; what its attributes hold."""
ANNOTATED, MARKED, RELATED, MANY, SCRIPTED, SPOKEN = 1, 2, 4, 8, 16, 32
"""Bits of HELD: an element but meta and link has microdata or RDFa; some element has a class, an id or another of the
names by which authors tell what it is; some has a rel; more tags speak of the page than are noted; there is a
script; there are noted tags but root, headings and times."""
NOTED_COLUMNS = 6
"""Of a noted tag: its token, its element, its first attribute among those of noted tags and the one behind its last;
where the text that is all it holds begins and ends, or 0 and -1."""
MAX_NOTED = 20_000
"""Tags by which a page speaks of itself (metas, links, frames, times) that are read: each is some hundred bytes."""
_MAX_SAID = 256
"""Attributes of one of them: there are fewer names."""
_HTML, _TITLE, _META, _LINK, _SCRIPT = (ELEMENT[name] for name in ("html", "title", "meta", "link", "script"))
_TYPE, _AMPERSAND = ATTRIBUTE["type"], ord("&")
_JSON = np.array([*b"json"], np.uint8)
_HEADINGS = marked("h1", "h2", "h3")
_QUIET = marked("html", "time", "h1", "h2", "h3")
_NAMING = np.zeros(256, np.uint8)
_NAMING[[ATTRIBUTE[name] for name in ("name", "property", "http-equiv", "itemprop")]] = 1
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


@leaf
def holds_data(page: Bytes, attributes: Rows, first: int, last: int) -> bool:
    """Whether a script with these attributes may be JSON-LD: its type says so, or has entities."""
    for a in range(first, last):
        if attributes[a, NAME] == _TYPE:
            same = 0
            for at in range(attributes[a, VALUE], attributes[a, VALUE_END]):
                byte = page[at] | 32
                same = same + 1 if byte == _JSON[same] else 1 if byte == _JSON[0] else 0
                if same == _JSON.size or page[at] == _AMPERSAND:
                    return True
            return False
    return False


@leaf
def says_something(page: Bytes, attributes: Rows, element: int, first: int, last: int) -> bool:
    """Whether a noted tag with these attributes tells anything: a script holds data, a meta has a name."""
    if element == _SCRIPT:
        return holds_data(page, attributes, first, last)
    if element == _META:
        for a in range(first, last):
            if _NAMING[attributes[a, NAME]]:
                return True
        return False
    return element != _TITLE and (element != _HTML or last > first)  # a title is found by find_title


@leaf
def complete(page: Bytes, tokens: Rows, attributes: Rows, noted: Rows, said: Rows, size: int) -> tuple[int, int, int]:
    """Complete the rows of noted tags; copy their attributes to ``said`` from ``size`` on.

    Those that say nothing are left out, and the attributes of headings. Return how many rows there are then, the new
    size, and what is held of SCRIPTED and SPOKEN.
    """
    count, held = 0, 0
    for n in range(noted.shape[0]):
        token, element, first, last = noted[n, 0], noted[n, 1], noted[n, 2], noted[n, 3]
        held |= SCRIPTED if element == _SCRIPT else 0
        if not says_something(page, attributes, element, first, last):
            continue
        row = noted[count]
        count += 1
        row[0], row[1], row[2] = token, element, size
        if not _QUIET[element]:
            held |= SPOKEN
        if not _HEADINGS[element]:
            for a in range(first, min(last, first + _MAX_SAID)):
                for column in range(ATTRIBUTE_COLUMNS):
                    said[size, column] = attributes[a, column]
                size += 1
        row[3] = size
        text, close = tokens[token + 1], tokens[min(token + 2, tokens.shape[0] - 1)]
        row[4], row[5] = 0, -1
        if text[KIND] == TEXT and close[KIND] == CLOSE and close[ELEMENT_] == element:
            row[4], row[5] = text[START], text[TEXT_END]
    return count, size, held


@kernel
def cut_pages(
    buffer: Bytes, bounds: Rows, tokens: Rows, attributes: Rows, noted: Rows, said: Rows, out: Bytes, rows: Rows,
    last: bool,
) -> int:  # fmt: skip
    """Cut the pages ``buffer[bounds[i]:bounds[i + 1]]``; write a row for each. Return how many were cut.

    It stops at a page for which there is too little room; as a ``last`` resort its rest is left out.
    ``said`` gets the attributes of noted tags.
    REQUIRES: ``out`` has room for ``buffer`` and three bytes more for each page; ``said`` as many rows as
    ``attributes``.
    """
    sizes = np.zeros(3 + MAX_FOREIGN, np.int32)
    t, a, n, o, s = 0, 0, 0, 0, 0
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
        title = find_title(own, noted[n:], sizes[2])
        row[TITLE], row[TITLE_START], row[TITLE_END] = title, 0, 0
        if title >= 0:
            row[TITLE_START], row[TITLE_END] = own[title, START], own[title, TEXT_END]
        row[HELD] = held_by(own, named) | (MANY if sizes[2] > MAX_NOTED else 0)
        count, s, held = complete(source, own, named, noted[n : n + min(sizes[2], MAX_NOTED)], said, s)
        row[HELD] |= held
        t, a, n = t + sizes[0] + 1, a + sizes[1], n + count
        row[TOKEN_END], row[ATTRIBUTE_END], row[NOTED] = t, a, n
        o = write_anchors(source, own, named, out, o, row[HREFS : RELS + 1])
    return bounds.size - 1
