"""The anchors of a page: targets, texts and rels as columns of bytes, from its tokens, in one pass.

No tree is built: an anchor lasts until the next one begins or ``</a>``.
"""

from __future__ import annotations

from fyke.bits.jit import inlined, leaf
from fyke.formats.markup_kernels import Bytes, Rows
from fyke.formats.markup_names import ATTRIBUTE, ELEMENT

from fyke.formats.markup_rows import (  # isort: skip
    CLOSE, ELEMENT_, END, FIRST, KIND, NAME, OPEN, SELF_CLOSING, START, TEXT, VALUE, VALUE_END,
)  # fmt: skip

_A, _IMG = ELEMENT["a"], ELEMENT["img"]
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
    for at in range(start, end):
        if page[at]:
            out[size] = page[at]
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
def write_anchors(
    page: Bytes, tokens: Rows, attributes: Rows, hrefs: Bytes, texts: Bytes, rels: Bytes, sizes: Rows
) -> None:
    """Write the anchors that have a target, a 0 after each: as written, white space of texts folded.

    A text that is empty is the alternative text of the last image in it. ``sizes`` gets the bytes of the three columns.
    REQUIRES: room for the page's bytes and one more in each of them.
    """
    h, t, r, started, blank, alt = 0, 0, 0, -1, False, -1
    for at in range(tokens.shape[0] - 1):
        kind = tokens[at, KIND]
        if kind == TEXT:
            if started >= 0:
                t, blank = _fold(page, tokens[at, START], tokens[at, END], texts, t, started, blank)
            continue
        if kind != OPEN and kind != CLOSE:
            continue
        element = tokens[at, ELEMENT_] & (SELF_CLOSING - 1)
        first, last = tokens[at, FIRST], tokens[at + 1, FIRST]
        if element == _IMG and started >= 0:
            found = find_attribute(attributes, first, last, _ALT)
            alt = found if found >= 0 else alt
        if element != _A:
            continue
        if started >= 0:
            if t == started and alt >= 0:
                t, blank = _fold(page, attributes[alt, VALUE], attributes[alt, VALUE_END], texts, t, started, False)
            texts[t] = 0
            t, started = t + 1, -1
        target = find_attribute(attributes, first, last, _HREF) if kind == OPEN else -1
        if target >= 0:
            rel = find_attribute(attributes, first, last, _REL)
            h = _write(page, attributes[target, VALUE], attributes[target, VALUE_END], hrefs, h)
            r = _write(page, attributes[rel, VALUE] if rel >= 0 else 0, attributes[rel, VALUE_END] if rel >= 0 else 0,
                       rels, r)  # fmt: skip
            started, blank, alt = t, False, -1
    if started >= 0:
        if t == started and alt >= 0:
            t, blank = _fold(page, attributes[alt, VALUE], attributes[alt, VALUE_END], texts, t, started, False)
        texts[t] = 0
        t += 1
    sizes[0], sizes[1], sizes[2] = h, t, r
