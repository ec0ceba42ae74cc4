"""What the cleaner knows of HTML elements and of bytes: the tables that its kernels look into.

An element is its number in formats.markup_names; 0 stands for a word, 1 for an element that is not listed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fyke.formats.markup_names import ELEMENT, marked

Array = npt.NDArray[Any]

WORD = 0

_INLINE = [
    "a", "b", "i", "em", "strong", "span", "font", "u", "small", "big", "sup", "sub", "abbr", "acronym", "cite",
    "code", "q", "s", "strike", "tt", "var", "kbd", "samp", "mark", "time", "ins", "del", "dfn", "bdi", "bdo",
    "label", "nobr", "wbr", "img", "input", "data", "ruby", "rt", "rp", "br", "picture", "source",
]  # fmt: skip
_VOID = ["br", "hr", "img", "input", "meta", "link", "area", "base", "col", "embed", "source", "track", "wbr", "param"]
_UNREAD = [
    "script", "style", "noscript", "template", "svg", "iframe", "select", "textarea", "object", "math", "title",
    "canvas",
]  # fmt: skip
_CLOSES_P = [
    "p", "div", "ul", "ol", "li", "table", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "header",
    "footer", "blockquote", "pre", "form", "dl", "hr", "nav", "aside", "main", "figure", "address",
]  # fmt: skip
ID = ELEMENT
CLOSE = 256
"""Added to an element's number where a closing tag is a number too (fyke.clean.page.Tokens)."""


INLINE, VOID, UNREAD, CLOSES_P = (marked(*names) for names in (_INLINE, _VOID, _UNREAD, _CLOSES_P))
"""UNREAD are elements that have no text to read: neither their tags nor what is in them counts."""

# Ancestors that tell something of a text, as bits of a container's flags.
ARTICLE, MAIN, HEADER, FOOTER, NAV, ASIDE, FORM, TABLE, LIST, DEFINITIONS, FIGURE, QUOTE, PRE, SECTION = (
    1 << bit for bit in range(14)
)
HIDDEN, BUTTON, PARAGRAPH = 1 << 14, 1 << 15, 1 << 16
_FLAGS = {
    "article": ARTICLE, "main": MAIN, "header": HEADER, "footer": FOOTER, "nav": NAV, "aside": ASIDE, "form": FORM,
    "table": TABLE, "ul": LIST, "ol": LIST, "dl": DEFINITIONS, "figure": FIGURE, "blockquote": QUOTE, "pre": PRE,
    "section": SECTION, "button": BUTTON, "p": PARAGRAPH,
}  # fmt: skip
FLAG = np.zeros(CLOSE, np.uint32)
for _name, _bit in _FLAGS.items():
    FLAG[ID[_name]] = _bit


# Classes of bytes.
OTHER, SPACE, LOWER, UPPER, DIGIT, POINT, TERMINAL, HIGH = range(8)
BYTE = np.zeros(256, np.uint8)
BYTE[: ord(" ") + 1] = SPACE
BYTE[ord("a") : ord("z") + 1] = LOWER
BYTE[ord("A") : ord("Z") + 1] = UPPER
BYTE[ord("0") : ord("9") + 1] = DIGIT
BYTE[[ord(c) for c in ",;:"]] = POINT
BYTE[[ord(c) for c in ".!?"]] = TERMINAL
BYTE[128:] = HIGH

# For runs of ASCII: what a byte adds to four counts of 16 bits (lower, upper, digits, points), and to a word's hash.
PACKED = np.zeros(256, np.int64)
FOLDED = np.zeros(256, np.int64)
for _byte in range(128):
    _kind = int(BYTE[_byte])
    if _kind in {LOWER, UPPER, DIGIT, POINT, TERMINAL}:
        PACKED[_byte] = 1 << {LOWER: 0, UPPER: 16, DIGIT: 32, POINT: 48, TERMINAL: 48}[_kind]
    if _kind in {LOWER, UPPER, DIGIT}:
        FOLDED[_byte] = ord(chr(_byte).lower()) + 1
HASHED = FOLDED + np.where(np.arange(256) >= 128, np.arange(256) + 1, 0)
"""As FOLDED, for all bytes that are part of letters."""
