"""Canonical markup, read: names, kinds of elements, attributes, and where things end. Every function is linear.

The input is ``formats.html.Page.markup``: well-nested, names in lower case, attributes in double quotes, the
entities ``&amp; &lt; &gt; &nbsp; &quot;``. Text that is not so is read without harm, to its end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fyke.bits.jit import inlined, leaf
from fyke.values import TAG_NAMES

Bytes = NDArray[np.uint8]

NAMES = TAG_NAMES
"""An element's kind is its place here: ``h1`` to ``blockquote`` are blocks, then come ``a`` and what else is inline."""

P, UL, OL, LI, TR, TD, TH, PRE, A, STRONG, EM, IMG, BR, HR, CODE, DEL, SUP, SUB = (
    NAMES.index(name)
    for name in (
        *("p", "ul", "ol", "li", "tr", "td", "th", "pre", "a", "strong", "em", "img", "br", "hr", "code", "del"),
        *("sup", "sub"),
    )
)
# What else an element can be.
BREAK, DROP, RAW, THEAD, INPUT, MATH, TRANSPARENT = 30, 31, 32, 33, 34, 35, 255

KINDS: dict[str, int] = {name: kind for kind, name in enumerate(NAMES)}
KINDS |= {"b": STRONG, "i": EM, "cite": EM, "dfn": EM, "var": EM, "listing": PRE}
KINDS |= {"kbd": CODE, "samp": CODE, "tt": CODE, "s": DEL, "strike": DEL}
KINDS |= {"thead": THEAD, "input": INPUT, "math": MATH}
KINDS |= {"dl": UL, "dir": UL, "menu": UL, "dt": LI, "dd": LI}
KINDS |= dict.fromkeys(
    (
        *("html", "body", "div", "section", "article", "header", "footer", "nav", "aside", "main", "address"),
        *("figure", "figcaption", "form", "fieldset", "legend", "details", "summary", "center", "hgroup", "search"),
        *("dialog", "option", "optgroup", "noscript", "button", "frameset", "frame"),
    ),
    BREAK,
)
KINDS |= dict.fromkeys(("head", "title", "template", "svg", "canvas", "audio", "video"), DROP)
KINDS |= dict.fromkeys(("script", "style", "iframe", "noframes", "noembed"), RAW)

_SLOTS = 1024
MAX_LANGUAGE = 40
"""Bytes of a programming language's name."""
ONE = np.uint64(1)
"""Places that cannot be negative are unsigned where bytes are read by the thousand: others are looked at twice."""


def name_hash(name: bytes) -> int:
    """The hash by which names are recognised; the same arithmetic as in ``read_name``."""
    value = 0
    for byte in name:
        value = (value * 31 + byte) & 0xFFFFFFFF
    return value


def _kind_table() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return an open-addressing table: the hash of a name, its kind."""
    keys, kinds = np.full(_SLOTS, -1, np.int64), np.full(_SLOTS, TRANSPARENT, np.int64)
    for name, kind in KINDS.items():
        value = name_hash(name.encode())
        slot = value % _SLOTS
        while keys[slot] >= 0:
            slot = (slot + 1) % _SLOTS
        keys[slot], kinds[slot] = value, kind
    return keys, kinds


_KEYS, _KINDS = _kind_table()
HREF, ALT, SRC, TITLE, START, CLASS, TYPE, CHECKED, COLSPAN, ROWSPAN, ALIGN, ALTTEXT = (
    name_hash(name.encode())
    for name in [
        "href",
        "alt",
        "src",
        "title",
        "start",
        "class",
        "type",
        "checked",
        "colspan",
        "rowspan",
        "align",
        "alttext",
    ]
)
LAZY = np.array([name_hash(s) for s in (b"data-src", b"data-original", b"data-lazy-src", b"data-lazy", b"data-url")])
"""Where pages that load their pictures late tell which."""
SRCSET, SPAN, STYLE = (name_hash(name) for name in (b"srcset", b"span", b"style"))
_ALIGNED = np.array(list(b"text-align:"), np.uint8)
_SCHEMES = np.array([name_hash(s) for s in (b"http", b"https", b"ftp", b"file", b"mailto", b"tel", b"news")], np.int64)


@inlined
def read_name(source: Bytes, i: int) -> tuple[int, int]:
    """Return the hash of the name that begins at ``i``, and where it ends."""
    value, at, end = np.int64(0), np.uint64(i), np.uint64(len(source))
    while at < end:
        byte = source[at]
        if (byte == 62) | (byte == 32) | (byte == 47):
            break
        value = (value * 31 + np.int64(byte)) & 0xFFFFFFFF
        at += ONE
    return int(value), int(np.int64(at))


@inlined
def kind_of(value: int) -> int:
    """Return the kind of the element whose name has this hash."""
    slot = value & (_SLOTS - 1)
    while _KEYS[slot] >= 0:
        if _KEYS[slot] == value:
            return int(_KINDS[slot])
        slot = (slot + 1) & (_SLOTS - 1)
    return TRANSPARENT


@inlined
def find(source: Bytes, i: int, wanted: int) -> int:
    """Return where the byte ``wanted`` stands next from ``i`` on; the end of the source if nowhere."""
    at, end = np.uint64(i), np.uint64(len(source))
    while at < end and source[at] != wanted:
        at += ONE
    return int(np.int64(at))


@leaf
def tag_end(source: Bytes, i: int) -> int:
    """Return the place after the ``>`` of the tag that ``i`` stands in."""
    at, end = np.uint64(i), np.uint64(len(source))
    while at < end:
        byte = source[at]
        if byte == 62:
            return int(np.int64(at)) + 1
        if byte == 34 and at > 0 and source[at - ONE] == 61:  # only after "=": a stray quote can be part of a name
            at += ONE
            while at < end and source[at] != 34:
                at += ONE
        at += ONE
    return len(source)


@leaf
def markup_end(source: Bytes, i: int) -> int:
    """Return the place after the comment, doctype or instruction that begins at ``i``."""
    n = len(source)
    if i + 3 < n and source[i + 2] == 45 and source[i + 3] == 45:
        i += 4
        while i + 2 < n and not (source[i] == 45 and source[i + 1] == 45 and source[i + 2] == 62):
            i += 1
        return min(i + 3, n)
    return tag_end(source, i)


@leaf
def raw_end(source: Bytes, i: int, name: int) -> int:
    """Return where the end tag of the raw element ``name`` begins."""
    while i + 1 < len(source):
        if source[i] == 60 and source[i + 1] == 47 and read_name(source, i + 2)[0] == name:
            return i
        i += 1
    return len(source)


@leaf
def element_end(source: Bytes, i: int, name: int) -> int:
    """Return the place after the end tag of the element ``name`` whose content begins at ``i``."""
    depth = 1
    while i < len(source):
        if source[i] != 60:
            i += 1
        elif i + 1 < len(source) and (source[i + 1] == 33 or source[i + 1] == 63):
            i = markup_end(source, i)
        elif i + 1 < len(source) and source[i + 1] == 47:
            inner, i = read_name(source, i + 2)
            i = tag_end(source, i)
            if inner == name:
                depth -= 1
                if depth == 0:
                    return i
        else:
            inner, i = read_name(source, i + 1)
            i = tag_end(source, i)
            if inner == name:
                depth += 1
            elif kind_of(inner) == RAW:
                i = raw_end(source, i, inner)
    return i


@leaf
def attribute(source: Bytes, i: int, name: int) -> tuple[int, int]:
    """Return begin and end of the value of attribute ``name`` in the tag whose name ends at ``i``; -1 if none."""
    n = len(source)
    while i < n and source[i] != 62:
        if source[i] == 32:
            i += 1
            continue
        value = np.int64(0)
        while i < n and source[i] != 61 and source[i] != 62 and source[i] != 32:
            value = (value * 31 + np.int64(source[i])) & 0xFFFFFFFF
            i += 1
        if i + 1 < n and source[i] == 61 and source[i + 1] == 34:
            start = i = i + 2
            while i < n and source[i] != 34:
                i += 1
            if value == name:
                return start, i
            i += 1
        elif i < n and source[i] == 61:
            i += 1
    return -1, -1


@leaf
def is_safe(source: Bytes, start: int, end: int) -> bool:
    """Whether a link target has no scheme, or one of a document: neither script nor inline data."""
    value = np.int64(0)
    for i in range(start, end):
        byte = np.int64(source[i])
        if byte in (47, 63, 35):  # / ? #
            return True
        if byte == 58:
            for scheme in _SCHEMES:
                if scheme == value:
                    return True
            return False
        if byte < 33:
            continue
        value = (value * 31 + (byte | 32)) & 0xFFFFFFFF
    return True


@leaf
def is_class(source: Bytes, i: int, name: Bytes) -> bool:
    """Whether the class of the tag whose name ends at ``i`` begins with ``name``."""
    start, end = attribute(source, i, CLASS + 0)
    if start < 0 or end - start < len(name):
        return False
    for n in range(len(name)):
        if source[start + n] != name[n]:
            return False
    return True


@leaf
def alignment(source: Bytes, i: int) -> tuple[int, int]:
    """Return where the tag whose name ends at ``i`` says how its text is aligned: in ``align``, else in its style."""
    start, end = attribute(source, i, ALIGN + 0)
    if start >= 0:
        return start, end
    start, end = attribute(source, i, STYLE + 0)
    for at in range(max(start, 0), end - len(_ALIGNED)):
        n = 0
        while n < len(_ALIGNED) and source[at + n] == _ALIGNED[n]:
            n += 1
        if n == len(_ALIGNED):
            begin = at + n
            while begin < end and source[begin] == 32:
                begin += 1
            stop = begin
            while stop < end and source[stop] > 32 and source[stop] != 59:
                stop += 1
            return begin, stop
    return -1, -1


@leaf
def picture(source: Bytes, i: int) -> tuple[int, int]:
    """Return where the address of the picture stands whose tag's name ends at ``i``; equal if it has none to keep.

    What is loaded late counts before ``src``, which is then an empty picture; of ``srcset`` the first one counts.
    """
    for name in LAZY:
        start, end = attribute(source, i, name)
        if start < end and is_safe(source, start, end):
            return start, end
    start, end = attribute(source, i, SRC + 0)
    if start < end and is_safe(source, start, end):
        return start, end
    start, end = attribute(source, i, SRCSET + 0)
    if start < end and is_safe(source, start, end):
        while start < end and source[start] <= 32:
            start += 1
        stop = start
        while stop < end and source[stop] > 32:
            stop += 1
        stop -= stop > start and source[stop - 1] == 44
        return start, stop
    return 0, 0


@leaf
def language(source: Bytes, start: int, end: int) -> tuple[int, int]:
    """Return begin and end of what stands behind ``language-`` or ``lang-`` in a value; equal if nothing does."""
    for i in range(start, end - 5):
        if source[i] == 108 and source[i + 1] == 97 and source[i + 2] == 110 and source[i + 3] == 103:  # lang
            at = i + 4
            if at + 4 < end and source[at] == 117 and source[at + 3] == 101:  # uage
                at += 4
            if source[at] != 45 or (i > start and source[i - 1] != 32):
                continue
            last = at + 1
            while last < end and source[last] > 34 and source[last] < 127 and source[last] != 38 and source[last] != 96:
                last += 1
            if last - at <= MAX_LANGUAGE:
                return at + 1, last
    return end, end


@leaf
def number(source: Bytes, start: int, end: int) -> int:
    """Return the number of up to nine digits that a value is; -1 if it is none."""
    if end - start > 9 or start >= end:
        return -1
    value = 0
    for i in range(start, end):
        digit = int(source[i]) - 48
        if digit < 0 or digit > 9:
            return -1
        value = value * 10 + digit
    return value


@inlined
def is_space(char: int | np.int64) -> bool:
    """Whether a byte is white space of HTML."""
    return bool(char == 32 or 9 <= char <= 13)


@inlined
def read_entity(source: Bytes, i: int, end: int) -> tuple[int | np.int64, int]:
    """Return the character at ``i`` and its length in the source; a no-break space is a space."""
    if source[i] == 38 and i + 3 < end:
        second = source[i + 1]
        if second == 97:  # &amp;
            return 38, 5
        if second == 108:  # &lt;
            return 60, 4
        if second == 103:  # &gt;
            return 62, 4
        if second == 110:  # &nbsp;
            return 32, 6
        if second == 113:  # &quot;
            return 34, 6
    return np.int64(source[i]), 1
