"""Yu's visual method: cut the page into visual blocks as VIPS does, and judge them by place, size, font and colour.

A rendered page tells its layout in ``data-fyke-box="x,y,width,height,font,color,background"`` (pixels; ``RENDERED`` is
the script that writes it, for a browser to run). Without a browser the layout is guessed: columns by ``width``,
``float`` and ``align``, fonts by headings and inline style, backgrounds by ``bgcolor`` and inline style.

Segmentation divides an element into its children where these are separated (a line, another background, another
column) or where it holds most of the page; what is not divided is one visual block. A visual block's score is

    words outside links · share of the width · (1 in the middle columns, else ½) · (font / body font, at most 1)²

and its weight is its score over the best one's, halved if the background is another than the best one's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fyke.clean import elements as e
from fyke.clean.columns import CONTAINER, LINKED, WORDS
from fyke.clean.container_kernels import subtree_sums
from fyke.clean.elements import Array
from fyke.clean.page import Page

RENDERED = """for (const n of document.body.querySelectorAll('*')) {
  const b = n.getBoundingClientRect(), s = getComputedStyle(n);
  n.setAttribute('data-fyke-box', [b.x + scrollX, b.y + scrollY, b.width, b.height, parseFloat(s.fontSize),
    s.color.replace(/[ ,]+/g, ';'), s.backgroundColor.replace(/[ ,]+/g, ';')].map(String).join(','));
}"""
_BOX = re.compile(rb'data-fyke-box="([^"]{1,200})"')
_NUMBER = re.compile(rb"-?\d{1,9}(\.\d{1,20})?")
_WIDTH = re.compile(rb"""(?:^|[\s;"'])width\s*+[=:]\s*+["']?\s*+(\d{1,5})(?:\.\d+)?\s*(%|px|["'\s;>])""", re.IGNORECASE)
_FONT = re.compile(rb"font-size\s*:\s*(\d{1,3})(?:\.\d+)?\s*(px|pt|%|em)", re.IGNORECASE)
_BACKGROUND = re.compile(rb"""(?:bgcolor\s*=\s*["']?|background(?:-color)?\s*:\s*)([#\w(),%.]{3,30})""", re.IGNORECASE)
_FLOAT = re.compile(rb"float\s*:\s*(left|right)|align\s*=\s*[\"']?(left|right)", re.IGNORECASE)
_SCREEN = 1200.0
"""Pixels that a page is taken to be wide when nothing tells."""
_BODY_FONT = 16.0
"""Pixels of a font that nobody set: every browser's default."""
_HEADINGS = {e.ID[f"h{n}"]: size for n, size in enumerate((32.0, 24.0, 18.7, 16.0, 13.3, 10.7), 1)}
_UNITS = {b"px": 1.0, b"pt": 4 / 3, b"%": _BODY_FONT / 100, b"em": _BODY_FONT}


@dataclass(frozen=True, slots=True)
class Layout:
    """How finely the page is cut, and what is kept."""

    coherence: float = 0.6
    """Divide an element that holds more than this share of the page's words (VIPS's degree of coherence)."""
    keep: float = 0.15
    """Keep visual blocks of at least this share of the best one's score."""

    def weights(self, page: Page) -> Array:
        """Return the weight of each block; those below ``keep`` are 0."""
        boxes = _boxes(page)
        segment = self._segments(page, boxes)
        return self._scores(page, boxes, segment)

    def _segments(self, page: Page, boxes: _Boxes) -> Array:
        """Return for each container the visual block that it belongs to: a container's number."""
        n = len(page.parent)
        words = boxes.words
        divided = np.zeros(n, bool)
        divided[0] = True
        separated = np.zeros(n, bool)
        for c in range(1, n):
            above = page.parent[c]
            other = boxes.background[c] != boxes.background[above] or boxes.width[c] < 0.7 * boxes.width[above]
            if words[c] and (other or page.element[c] in _SEPARATED):
                separated[above] = True
        segment = np.zeros(n, np.int32)
        for c in range(1, n):
            above = page.parent[c]
            divided[c] = divided[above] and (words[c] > self.coherence * words[0] or bool(separated[c]))
            segment[c] = c if divided[above] else segment[above]
        return segment

    def _scores(self, page: Page, boxes: _Boxes, segment: Array) -> Array:
        n = len(page.parent)
        where = segment[page.blocks[:, CONTAINER]]
        text, size, font = np.zeros(n), np.zeros(n), np.zeros(n)
        np.add.at(text, where, page.blocks[:, WORDS] - page.blocks[:, LINKED])
        np.add.at(size, where, page.blocks[:, WORDS])
        np.add.at(font, where, page.blocks[:, WORDS] * boxes.font[page.blocks[:, CONTAINER]])
        font = np.divide(font, size, out=np.full(n, _BODY_FONT), where=size > 0)
        middle = np.abs(boxes.x + boxes.width / 2 - 0.5) < 0.25
        scores = text * boxes.width * np.where(middle, 1.0, 0.5) * np.minimum(1.0, font / boxes.body_font) ** 2
        scores[(page.flags & np.uint32(e.NAV | e.FOOTER | e.HIDDEN)) != 0] *= 0.1
        scores *= np.divide(text, size, out=np.zeros(n), where=size > 0)
        best = int(np.argmax(scores))
        if scores[best] <= 0:
            return np.zeros(len(page.blocks), np.float32)
        weight = np.minimum(1.0, scores / scores[best])
        weight[boxes.background != boxes.background[best]] *= 0.5
        # A short paragraph among long ones is content: siblings in one column lift one another.
        place = np.stack([page.parent, np.rint(boxes.x * 50), np.rint(boxes.width * 50), boxes.background])
        column = np.unique(place, axis=1, return_inverse=True)[1]
        best_of = np.zeros(n)
        np.maximum.at(best_of, column, np.where(text * 2 > size, weight, 0))
        weight = np.where(text * 2 > size, np.maximum(weight, 0.8 * best_of[column]), weight)
        weight[weight < self.keep] = 0.0
        out: Array = weight[where].astype(np.float32)
        return out


_SEPARATED = frozenset(e.ID[name] for name in ["header", "footer", "nav", "aside", "main", "article", "table", "form"])


@dataclass(frozen=True, slots=True)
class _Boxes:
    """Of each container: left edge and width as shares of the page's width, font in pixels, background, words."""

    x: Array
    width: Array
    font: Array
    background: Array
    words: Array
    body_font: float


def _boxes(page: Page) -> _Boxes:
    n = len(page.parent)
    x, width, font = np.zeros(n), np.ones(n), np.full(n, _BODY_FONT)
    background = np.zeros(n, np.int64)
    screen = _SCREEN
    for c in range(1, n):
        above, tag = page.parent[c], page.tag(c)
        background[c], font[c] = background[above], font[above]
        if (box := _rendered(tag)) is not None:
            screen = max(1.0, box.width) if c == 1 or box.width > screen else screen
            x[c], width[c], font[c] = box.x / screen, box.width / screen, box.font
            background[c] = background[above] if box.background is None else box.background
            continue
        x[c], width[c] = _guessed_column(tag, x[above], width[above])
        font[c] = _HEADINGS.get(int(page.element[c]), font[c])
        if size := _FONT.search(tag):
            font[c] = float(size[1]) * _UNITS[size[2].lower()]
        if colour := _BACKGROUND.search(tag):
            background[c] = _colour_number(colour[1].lower())
    words = np.zeros((n, 1))
    np.add.at(words[:, 0], page.blocks[:, CONTAINER], page.blocks[:, WORDS])
    body = float(np.average(font, weights=words[:, 0])) if words.any() else _BODY_FONT
    subtree_sums(page.parent, words)
    return _Boxes(x, width, font, background, words[:, 0], max(1.0, body))


class _Rendered(NamedTuple):
    """What a browser said of an element, in pixels; no background where one sees through it."""

    x: float
    width: float
    font: float
    background: int | None


def _rendered(tag: bytes) -> _Rendered | None:
    box = _BOX.search(tag)
    values = box[1].split(b",") if box else []
    if len(values) != 7:
        return None
    x, _, width, _, font = (float(v) if _NUMBER.fullmatch(v) else 0.0 for v in values[:5])
    transparent = values[6].endswith(b";0)") or values[6] == b"transparent"
    return _Rendered(x, width, font or _BODY_FONT, None if transparent else _colour_number(values[6]))


def _guessed_column(tag: bytes, x: float, width: float) -> tuple[float, float]:
    """Guess (left edge, width) of an element inside one of the given edge and width."""
    own, side = width, _FLOAT.search(tag)
    found = _WIDTH.search(tag)
    if found:
        share = float(found[1]) / 100 * width if found[2] == b"%" else float(found[1]) / _SCREEN
        own = min(width, max(0.01, share))
    right = side is not None and (side[1] or side[2]).lower() == b"right"
    return (x + width - own if right else x), own


def _colour_number(colour: bytes) -> int:
    """Return a number for a colour's name: white and none are 0."""
    if colour in {b"white", b"#fff", b"#ffffff", b"none", b"transparent", b"inherit", b"rgb(255;255;255)"}:
        return 0
    value = 1
    for byte in colour:
        value = (value * 257 + byte) % 2**31
    return value
