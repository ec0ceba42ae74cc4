"""The names of HTML: every element and every attribute that anybody looks at, by number, found by exact keys.

A name's key is two integers: six bits for each of its characters (``CODES``), ten characters each, case folded. A name
with another character or with more than twenty has none. So no two names share a key, and none is mistaken for another.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

TEXT_NAME, UNKNOWN = 0, 1
"""Numbers that are no element's: of what is no tag, and of a tag whose name is not listed."""

ELEMENTS: tuple[str, ...] = (
    "", "?",
    "a", "abbr", "acronym", "address", "applet", "area", "article", "aside", "audio", "b", "base", "basefont", "bdi",
    "bdo", "bgsound", "big", "blink", "blockquote", "body", "br", "button", "canvas", "caption", "center", "cite",
    "code", "col", "colgroup", "command", "data", "datalist", "dd", "del", "details", "dfn", "dialog", "dir", "div",
    "dl", "dt", "em", "embed", "fieldset", "figcaption", "figure", "font", "footer", "form", "frame", "frameset", "h1",
    "h2", "h3", "h4", "h5", "h6", "head", "header", "hgroup", "hr", "html", "i", "iframe", "image", "img", "input",
    "ins", "isindex", "kbd", "keygen", "label", "legend", "li", "link", "listing", "main", "map", "mark", "marquee",
    "menu", "menuitem", "meta", "meter", "multicol", "nav", "nextid", "nobr", "noembed", "noframes", "noscript",
    "object", "ol", "optgroup", "option", "output", "p", "param", "picture", "plaintext", "pre", "progress", "q", "rb",
    "rp", "rt", "rtc", "ruby", "s", "samp", "script", "search", "section", "select", "slot", "small", "source",
    "spacer", "span", "strike", "strong", "style", "sub", "summary", "sup", "table", "tbody", "td", "template",
    "textarea", "tfoot", "th", "thead", "time", "title", "tr", "track", "tt", "u", "ul", "var", "video", "wbr", "xmp",
    "math", "svg", "foreignobject", "desc", "annotation", "annotation-xml", "mi", "mo", "mn", "ms", "mtext", "mrow",
    "mfrac", "msqrt", "mroot", "msub", "msup", "msubsup", "munder", "mover", "munderover", "mtable", "mtr", "mtd",
    "semantics",
)  # fmt: skip
"""Elements by their number: those of the HTML standard, the obsolete ones, and what matters of SVG and MathML."""

ATTRIBUTES: tuple[str, ...] = (
    "", "href", "rel", "alt", "title", "src", "data", "name", "property", "http-equiv", "content", "itemprop", "type",
    "lang", "xml:lang", "datetime", "pubdate", "class", "id", "role", "style", "hidden", "aria-hidden", "aria-label",
    "itemscope", "itemtype", "itemid", "itemref", "typeof", "vocab", "prefix", "resource", "about", "datatype", "rev",
    "charset", "hreflang", "media", "sizes", "srcset", "data-src", "data-srcset", "data-original", "data-lazy-src",
    "width", "height", "align", "valign", "bgcolor", "color", "face", "size", "colspan", "rowspan", "scope", "start",
    "value", "reversed", "label", "cite", "for", "action", "method", "enctype", "target", "checked", "selected",
    "disabled", "readonly", "required", "multiple", "placeholder", "maxlength", "minlength", "min", "max", "step",
    "pattern", "accept", "autocomplete", "form", "formaction", "formmethod", "language", "display", "encoding",
    "data-fyke-box", "usemap", "shape", "coords", "srcdoc", "poster", "download", "ping", "referrerpolicy", "open",
    "headers", "abbr", "summary", "data-language", "data-lang", "data-time", "data-timestamp", "data-datetime",
    "data-href", "data-url", "as", "crossorigin", "integrity", "nonce", "async", "defer", "xmlns", "translate", "dir",
)  # fmt: skip
"""Attributes by their number; 0 is any other, which is not noted."""

ELEMENT: dict[str, int] = {name: number for number, name in enumerate(ELEMENTS)}
ATTRIBUTE: dict[str, int] = {name: number for number, name in enumerate(ATTRIBUTES)}

_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789-:_."
PART = 10
"""Characters of each of a key's two integers."""
FOREIGN_BYTE = 63
"""The code of a character that no listed name has."""
CODES = np.full(256, FOREIGN_BYTE, np.uint8)
for _code, _character in enumerate(_ALPHABET, 1):
    CODES[ord(_character)] = CODES[ord(_character.upper())] = _code

SLOTS = 1024
"""Of a table of names: five times as many as names, so that nearly all are found at the first look."""


def key(name: str) -> tuple[int, int]:
    """Return the key of a name. REQUIRES: at most 2 · PART characters of the alphabet."""
    parts = [0, 0]
    for at, character in enumerate(name):
        parts[at // PART] = parts[at // PART] << 6 | int(CODES[ord(character)])
    return parts[0], parts[1]


def slot_of(first: int, second: int) -> int:
    """Return where a key is looked for first; the same arithmetic as in ``markup_kernels``."""
    mixed = first ^ second ^ first >> 9 ^ first >> 23
    return mixed & (SLOTS - 1)


def _table(names: tuple[str, ...], first: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    keys, numbers = np.zeros((SLOTS, 2), np.int64), np.zeros(SLOTS, np.uint8)
    for number, name in enumerate(names[first:], first):
        slot = slot_of(*key(name))
        while keys[slot, 0]:
            assert tuple(keys[slot]) != key(name), f"{name} is listed twice"
            slot = (slot + 1) % SLOTS
        keys[slot], numbers[slot] = key(name), number
    return keys, numbers


assert max(len(ELEMENTS), len(ATTRIBUTES)) < 256
ELEMENT_KEYS, ELEMENT_NUMBERS = _table(ELEMENTS, 2)
ATTRIBUTE_KEYS, ATTRIBUTE_NUMBERS = _table(ATTRIBUTES, 1)


def marked(*names: str) -> npt.NDArray[np.uint8]:
    """Return a table by element number: 1 for the elements named, else 0."""
    table = np.zeros(256, np.uint8)
    table[[ELEMENT[name] for name in names]] = 1
    return table
