"""What the cleaner knows of HTML elements and of bytes: the tables that its kernels look into.

An element is a small number (``ID``); 0 stands for a word, 1 for an element that is not listed. A closing tag is
the number with ``CLOSE`` added. Names are compared by ``name_key``: six bits for each of up to ten characters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

WORD, UNKNOWN, CLOSE = 0, 1, 128

_INLINE = [
    "a", "b", "i", "em", "strong", "span", "font", "u", "small", "big", "sup", "sub", "abbr", "acronym", "cite",
    "code", "q", "s", "strike", "tt", "var", "kbd", "samp", "mark", "time", "ins", "del", "dfn", "bdi", "bdo",
    "label", "nobr", "wbr", "img", "input", "data", "ruby", "rt", "rp", "br", "picture", "source",
]  # fmt: skip
_VOID = ["br", "hr", "img", "input", "meta", "link", "area", "base", "col", "embed", "source", "track", "wbr", "param"]
_RAW = [
    "script", "style", "noscript", "template", "svg", "iframe", "select", "textarea", "object", "math", "title",
    "canvas",
]  # fmt: skip
_CLOSES_P = [
    "p", "div", "ul", "ol", "li", "table", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "header",
    "footer", "blockquote", "pre", "form", "dl", "hr", "nav", "aside", "main", "figure", "address",
]  # fmt: skip
_OTHER = [
    "dt", "dd", "td", "th", "tr", "caption", "figcaption", "button", "body", "html", "head", "center", "legend",
    "summary", "details", "option", "thead", "tbody",
]  # fmt: skip

NAMES: list[str] = ["", "?", *dict.fromkeys(_INLINE + _VOID + _RAW + _CLOSES_P + _OTHER)]
ID: dict[str, int] = {name: number for number, name in enumerate(NAMES)}
assert len(NAMES) < CLOSE


def _mark(names: list[str]) -> Array:
    table = np.zeros(CLOSE, np.uint8)
    table[[ID[name] for name in names]] = 1
    return table


INLINE, VOID, RAW, CLOSES_P = _mark(_INLINE), _mark(_VOID), _mark(_RAW), _mark(_CLOSES_P)

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


def name_key(name: str) -> int:
    """Return the number that the kernels compute for an element's name of at most ten characters."""
    key = 0
    for byte in name.encode():
        key = key << 6 | (byte - 32 & 63)
    return key


SLOTS = 512
"""Of the hash table of names: four times as many as names, so that most are found at the first look."""


def _name_table() -> tuple[Array, Array]:
    keys, numbers = np.zeros(SLOTS, np.int64), np.zeros(SLOTS, np.uint8)
    for number, name in enumerate(NAMES[2:], 2):
        key = name_key(name)
        slot = (key ^ key >> 9 ^ key >> 23) % SLOTS
        while keys[slot]:
            slot = (slot + 1) % SLOTS
        keys[slot], numbers[slot] = key, number
    return keys, numbers


NAME_KEYS, NAME_NUMBERS = _name_table()

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
