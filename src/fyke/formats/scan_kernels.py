"""Scanning: what the tags of a page say, in one pass over its bytes, in linear time on whatever comes.

Tags are cut as the WHATWG tokenizer cuts them: attributes, quotes, comments, and elements whose content is no markup.
No tree is built: an anchor lasts until the next one begins or ``</a>``.

Names are numbers: six bits a character (``key``), ten characters at most, which is as long as any that is looked for.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fyke.bits.jit import inlined, leaf
from fyke.bits.search_kernels import find_byte

Bytes = npt.NDArray[np.uint8]
Table = npt.NDArray[np.int32]


def key(name: str) -> int:
    """Return the number of a name."""
    number = 0
    for byte in name.encode():
        number = number << 6 | (byte - 32 & 63)
    return number


TAGS = ("area", "frame", "iframe", "embed", "object", "meta", "link", "base", "title", "html", "time", "script")
"""Elements that are noted beside anchors, by their number."""
AREA, FRAME, IFRAME, EMBED, OBJECT, META, LINK, BASE, TITLE, HTML, TIME, SCRIPT = range(len(TAGS))
NAMES = (
    "href", "rel", "alt", "title", "src", "data", "name", "property", "http-equiv", "content", "itemprop", "type",
    "lang", "xml:lang", "datetime", "pubdate",
)  # fmt: skip
"""Attributes that are noted, by their number."""
MAX_ELEMENTS = 20_000
"""Noted elements of a page that are no anchors."""
MAX_ATTRIBUTES = 4 * MAX_ELEMENTS

_TAG_KEYS = np.array([key(name.upper()) for name in TAGS])
_NAME_KEYS = np.array([key(name.upper()) for name in NAMES])
_HREF, _REL, _ALT = 0, 1, 2
_OTHER, _ANCHOR, _IMAGE, _NOTED = range(4)
_A, _IMG, _SVG, _MATH, _NOSCRIPT = (key(name.upper()) for name in ("a", "img", "svg", "math", "noscript"))
_RAW_KEYS = np.array(
    [key(n.upper()) for n in ("script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes")]
)
_PLAINTEXT_KEY, _TITLE_KEY, _TIME_KEY = key("PLAINTEXT"), key("TITLE"), key("TIME")
_LESS, _GREATER, _SLASH, _BANG, _QUESTION, _DASH, _EQUALS = (np.uint8(ord(c)) for c in "<>/!?-=")
_QUOTE, _APOSTROPHE = np.uint8(34), np.uint8(39)


@inlined
def _is_letter(byte: int) -> bool:
    return 97 <= (byte | 32) <= 122


@leaf
def _name(page: Bytes, at: int) -> tuple[int, int]:
    """Return the number of the name at ``at`` (of its first ten characters; -1 if it is longer) and where it ends."""
    number, size, end = 0, 0, page.size
    while at < end:
        byte = int(page[at])
        if byte <= 32 or byte == 47 or byte == 62 or (byte == 61 and size > 0):
            break
        if 97 <= byte <= 122:
            byte -= 32
        number = number << 6 | (byte - 32 & 63)
        size += 1
        at += 1
    return (number if size <= 10 else -1), at


@leaf
def _value(page: Bytes, at: int) -> tuple[int, int, int]:
    """Return start and end of the value that follows an attribute's name, and where to go on; empty without ``=``."""
    end = page.size
    here = at
    while here < end and page[here] <= 32:
        here += 1
    if here >= end or page[here] != _EQUALS:
        return at, at, at
    here += 1
    while here < end and page[here] <= 32:
        here += 1
    if here < end and (page[here] == _QUOTE or page[here] == _APOSTROPHE):
        close = find_byte(page, here + 1, page[here])
        return here + 1, close, min(close + 1, end)
    start = here
    while here < end and page[here] > 32 and page[here] != _GREATER:
        here += 1
    return start, here, here


@leaf
def _raw_end(page: Bytes, at: int, wanted: int) -> int:
    """Return where the end tag of the raw element ``wanted`` begins; the end of the page if it has none."""
    end = page.size
    while True:
        at = find_byte(page, at, _LESS)
        if at + 2 >= end:
            return end
        if page[at + 1] == _SLASH and _name(page, at + 2)[0] == wanted:
            return at
        at += 1


@leaf
def _comment_end(page: Bytes, at: int) -> int:
    """Return the place after the comment or declaration that begins at ``at``."""
    end = page.size
    if at + 3 < end and page[at + 2] == _DASH and page[at + 3] == _DASH:
        close = at + 4
        while True:
            close = find_byte(page, close, _GREATER)
            if close >= end:
                return end
            if page[close - 1] == _DASH and page[close - 2] == _DASH:
                return close + 1
            close += 1
    return min(end, find_byte(page, at, _GREATER) + 1)


@leaf
def _index(keys: npt.NDArray[np.int64], wanted: int) -> int:
    for i in range(keys.size):
        if keys[i] == wanted:
            return i
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
def _end_text(page: Bytes, alt: int, alt_end: int, texts: Bytes, size: int, started: int) -> int:
    """End the text of an anchor; where it has none, with the alternative text of its image."""
    if size == started:
        size, _ = _fold(page, alt, alt_end, texts, size, started, False)
    texts[size] = 0
    return size + 1


@leaf
def _not_a_tag(page: Bytes, less: int) -> int:
    """Return the place after what begins with the ``<`` at ``less`` and is no tag; 0 where it is one."""
    end = page.size
    if less + 1 >= end:
        return end
    following = page[less + 1]
    if following == _BANG or following == _QUESTION:
        return _comment_end(page, less)
    closing = following == _SLASH
    first = less + 2 if closing else less + 1
    if first < end and _is_letter(int(page[first])):
        return 0
    return min(end, find_byte(page, less, _GREATER) + 1) if closing else less + 1


@leaf
def _read_attributes(
    page: Bytes, at: int, kind: int, spans: Table, element: int, attributes: Table, n: int
) -> tuple[int, int]:
    """Read the attributes of a tag; return the place after it (-1: it never ends) and how many are noted by now.

    ``kind`` is _ANCHOR, _IMAGE or _NOTED: the first href and rel, or alt, go to ``spans`` (start, end; -1 without one),
    those of a noted element to ``attributes``. Of any other tag nothing is kept.
    """
    end, noted = page.size, n
    while True:
        while at < end and (page[at] <= 32 or page[at] == _SLASH):
            at += 1
        if at >= end:
            return -1, noted
        if page[at] == _GREATER:
            return at + 1, n
        called, at = _name(page, at)
        start, stop, at = _value(page, at)
        if kind == _NOTED:
            which = _index(_NAME_KEYS, called)
            if which >= 0 and n < attributes.shape[0]:
                attributes[n, 0], attributes[n, 1], attributes[n, 2], attributes[n, 3] = element, which, start, stop
                n += 1
        elif kind != _OTHER:
            for which in range(_HREF, _ALT + 1):
                if called == _NAME_KEYS[which] and (which == _ALT) == (kind == _IMAGE) and spans[which, 0] < 0:
                    spans[which, 0], spans[which, 1] = start, stop


@leaf
def scan(
    page: Bytes, hrefs: Bytes, texts: Bytes, rels: Bytes, elements: Table, attributes: Table, spans: Table, sizes: Table
) -> None:
    """Note what the tags of ``page`` say.

    ``hrefs``, ``texts`` and ``rels`` get those of anchors, a 0 after each: as written, white space of texts folded.
    ``elements`` gets rows (tag, start of content, end of content, whether in noscript), of title, time and script only
    with content; ``attributes`` rows (element, name, start, end); ``sizes`` their numbers: bytes of the three, rows of
    the two. REQUIRES: room for the page's bytes in each of the three; ``spans`` is 3 by 2, for its own use. What does
    not fit elements and attributes is not noted.
    """
    end, at = page.size, 0
    h, t, r, e, n = 0, 0, 0, 0, 0
    started, blank = -1, False  # where the text of the open anchor starts in ``texts``; whether white space is due
    foreign, hidden, timing = 0, 0, -1
    while at < end:
        less = find_byte(page, at, _LESS)
        passed = _not_a_tag(page, less)
        if started >= 0:  # a ``<`` that begins nothing is text
            t, blank = _fold(page, at, less + 1 if passed == less + 1 <= end else less, texts, t, started, blank)
        if passed:
            at = passed
            continue
        closing = page[less + 1] == _SLASH
        name, at = _name(page, less + 2 if closing else less + 1)
        element, kind = -1, _OTHER
        if name == _A:
            if started >= 0:
                t, started = _end_text(page, spans[_ALT, 0], spans[_ALT, 1], texts, t, started), -1
            if not closing:
                kind = _ANCHOR
                for which in range(_HREF, _ALT + 1):
                    spans[which, 0], spans[which, 1] = -1, -1
        elif name == _IMG:
            kind = _IMAGE if started >= 0 else _OTHER
        elif not closing:
            element = _index(_TAG_KEYS, name)
            if element >= 0 and e < elements.shape[0] and not (foreign and element == TITLE):
                kind = _NOTED
        at, n = _read_attributes(page, at, kind, spans, e, attributes, n)
        if at < 0:  # a tag that never ends is none
            break
        if kind == _ANCHOR:
            if spans[_HREF, 0] >= 0:
                h = _write(page, spans[_HREF, 0], spans[_HREF, 1], hrefs, h)
                r = _write(page, spans[_REL, 0], spans[_REL, 1], rels, r)
                started, blank = t, False
        elif name == _SVG or name == _MATH:
            foreign = max(0, foreign + (-1 if closing else int(page[at - 2] != _SLASH)))
        elif name == _NOSCRIPT:
            hidden = max(0, hidden + (-1 if closing else 1))
        elif closing:
            if name == _TIME_KEY and timing >= 0:
                elements[timing, 2], timing = less, -1
        elif name == _PLAINTEXT_KEY:
            break
        else:
            start = at
            if _index(_RAW_KEYS, name) >= 0 and not (foreign and name == _TITLE_KEY):
                at = _raw_end(page, at, name)
            if kind == _NOTED:
                elements[e, 0], elements[e, 1], elements[e, 2], elements[e, 3] = element, start, at, hidden
                timing = e if element == TIME else timing
                e += 1
    if started >= 0:
        t = _end_text(page, spans[_ALT, 0], spans[_ALT, 1], texts, t, started)
    sizes[0], sizes[1], sizes[2], sizes[3], sizes[4] = h, t, r, e, n
