"""The one tokeniser of markup: HTML bytes to rows of tokens and attributes, in one pass, linear on whatever comes.

Tags, comments and text are cut as the WHATWG tokenizer cuts them, with the states that its tree construction would set:
raw text (script with its escapes, style, title, textarea, …), plaintext, and CDATA in foreign content. What is open at
the end is dropped if it is a tag, and goes to the end if it is a comment or raw text.

Rows of tokens and attributes are described in markup_rows; tag_kernels reads names and attributes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fyke.bits.jit import inlined, leaf
from fyke.formats.markup_names import ELEMENT, ELEMENT_KEYS, ELEMENT_NUMBERS, UNKNOWN, marked
from fyke.formats.markup_rows import (
    CDATA,
    CLOSE,
    COMMENT,
    ELEMENT_,
    END,
    FIRST,
    KIND,
    OPEN,
    RAW,
    SELF_CLOSING,
    START,
    TEXT,
)  # fmt: skip
from fyke.formats.tag_kernels import Bytes, Rows, find, is_letter, name_at, read_attributes

RAW_ELEMENTS = marked("script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes")
NOTED = marked(
    "html", "base", "title", "meta", "link", "time", "script", "area", "frame", "iframe", "embed", "object", "h1", "h2",
    "h3",
)  # fmt: skip
"""Elements whose start tags are listed apart, for who looks for what a page says of itself."""
_HOSTS = marked("svg", "math")
"""Elements that begin foreign content."""
_INTEGRATION = marked("foreignobject", "desc", "title", "annotation-xml", "mi", "mo", "mn", "ms", "mtext")
"""Elements of foreign content in which HTML goes on."""
_BREAKOUT = marked(
    "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed", "h1", "h2", "h3",
    "h4", "h5", "h6", "head", "hr", "i", "img", "li", "listing", "menu", "meta", "nobr", "ol", "p", "pre", "ruby", "s",
    "small", "span", "strong", "strike", "sub", "sup", "table", "tt", "u", "ul", "var",
)  # fmt: skip
"""Elements that end foreign content."""
_SCRIPT, _PLAINTEXT = ELEMENT["script"], ELEMENT["plaintext"]
MAX_FOREIGN = 64
"""Foreign elements within one another that are followed."""

_LESS, _GREATER, _DASH, _BRACKET = (np.uint8(ord(c)) for c in "<>-]")
_SLASH, _BANG, _QUESTION = (ord(c) for c in "/!?")

_AS = 0  # the compiler makes a function anew for each literal argument; a sum is no literal


@leaf
def _comment_end(page: Bytes, at: int) -> int:
    """Return the place after the comment, declaration or instruction that begins at ``at``."""
    end = page.size
    if at + 3 >= end or page[at + 2] != _DASH or page[at + 3] != _DASH or page[at + 1] != _BANG:
        return min(end, find(page, at, end, _GREATER) + 1)
    close = at + 4
    if close < end and page[close] == _GREATER:
        return close + 1
    if close + 1 < end and page[close] == _DASH and page[close + 1] == _GREATER:
        return close + 2
    while True:
        close = find(page, close, end, _GREATER)
        if close >= end:
            return end
        before = close - (2 if page[close - 1] == _BANG else 1)  # --> and --!>
        if before - 1 >= at + 4 and page[before] == _DASH and page[before - 1] == _DASH:
            return close + 1
        close += 1


@leaf
def _ends_raw(page: Bytes, at: int, element: int) -> bool:
    """Whether ``</element`` and then white space, ``/`` or ``>`` stand at ``at``."""
    if at + 2 >= page.size or page[at + 1] != _SLASH:
        return False
    found, after = name_at(page, at + 2, ELEMENT_KEYS, ELEMENT_NUMBERS, _SLASH + _AS)
    return found == element and after < page.size


@leaf
def _raw_end(page: Bytes, at: int, element: int) -> int:
    """Return where the end tag of a raw element begins; the end of the page if nowhere."""
    end = page.size
    while True:
        at = find(page, at, end, _LESS)
        if at >= end or _ends_raw(page, at, element):
            return at
        at += 1


@leaf
def _script_end(page: Bytes, at: int) -> int:
    """As ``_raw_end`` for a script: what stands between ``<!-- <script`` and ``</script`` does not end it."""
    end, state, opened = page.size, 0, 0  # 0 plain, 1 escaped by <!--, 2 escaped twice by <script in that
    while True:
        less = find(page, at, end, _LESS)
        while state and at < less:  # does --> stand before?
            close = find(page, at, less, _GREATER)
            if close < less and close - 2 >= opened and page[close - 1] == _DASH and page[close - 2] == _DASH:
                state = 0
            at = close + 1
        if less >= end:
            return end
        at = less + 1
        if state == 0 and less + 3 < end and page[less + 1] == _BANG:
            if page[less + 2] == _DASH and page[less + 3] == _DASH:
                state, opened, at = 1, less + 2, less + 4
        elif state < 2 and _ends_raw(page, less, _SCRIPT + _AS):
            return less
        elif state == 1 and less + 1 < end and is_letter(int(page[less + 1])):
            found, after = name_at(page, less + 1, ELEMENT_KEYS, ELEMENT_NUMBERS, _SLASH + _AS)
            state = 2 if found == _SCRIPT and after < end else 1
        elif state == 2 and _ends_raw(page, less, _SCRIPT + _AS):
            state = 1


@leaf
def _cdata_end(page: Bytes, at: int) -> int:
    """Return where ``]]>`` begins; the end of the page if nowhere."""
    end = page.size
    while True:
        at = find(page, at, end, _GREATER)
        if at >= end:
            return end
        if page[at - 1] == _BRACKET and page[at - 2] == _BRACKET:
            return at - 2
        at += 1


@leaf
def _is_cdata(page: Bytes, at: int) -> bool:
    """Whether ``<![CDATA[`` stands at ``at``."""
    if at + 8 >= page.size or page[at + 2] != 91 or page[at + 8] != 91:
        return False
    return bool(page[at + 3] == 67 and page[at + 4] == 68 and page[at + 5] == 65 and page[at + 6] == 84)


@leaf
def _follow_foreign(stack: Rows, depth: int, element: int, kind: int, closes: bool) -> int:
    """Return the depth of the stack of foreign elements and integration points after a tag."""
    top = stack[depth - 1] if depth else 0
    foreign = depth > 0 and not _INTEGRATION[top]
    if kind == CLOSE:
        for level in range(depth - 1, -1, -1):
            if stack[level] == element:
                return level
        return depth
    if foreign and _BREAKOUT[element]:
        while depth and not _INTEGRATION[stack[depth - 1]]:
            depth -= 1
        return depth
    if (_HOSTS[element] or (foreign and _INTEGRATION[element])) and not closes and depth < stack.size:
        stack[depth] = element
        return depth + 1
    return depth


@inlined
def _add(tokens: Rows, count: int, kind: int, element: int, start: int, end: int, first: int) -> int:
    tokens[count, KIND], tokens[count, ELEMENT_], tokens[count, START] = kind, element, start
    tokens[count, END], tokens[count, FIRST] = end, first
    return count + 1


class Output(NamedTuple):
    """Where the rows of a page go; ``stack`` is of the foreign elements that are open."""

    tokens: Rows
    attributes: Rows
    noted: Rows
    stack: Rows


class Written(NamedTuple):
    """How many rows of each are written, and how many foreign elements are open."""

    tokens: int
    attributes: int
    noted: int
    depth: int


@inlined
def _begun(page: Bytes, less: int) -> int:
    """Return the kind of token that a ``<`` begins: OPEN, CLOSE, COMMENT (or CDATA); TEXT if none."""
    following, end = page[less + 1], page.size
    if following == _SLASH and less + 2 < end:
        return CLOSE if is_letter(int(page[less + 2])) else COMMENT
    if following == _BANG or following == _QUESTION:
        return COMMENT
    return OPEN if is_letter(int(following)) else TEXT


@inlined
def _add_text(out: Output, done: Written, kind: int, element: int, start: int, end: int) -> Written:
    """Add what is no tag, if there is any of it."""
    if start >= end:
        return done
    count = _add(out.tokens, done.tokens, kind, element, start, end, done.attributes)
    return Written(count, done.attributes, done.noted, done.depth)


@inlined
def _add_remark(page: Bytes, less: int, foreign: bool, out: Output, done: Written) -> tuple[int, Written]:
    """Add the comment that begins at ``less``, or in foreign content CDATA; return where to go on too."""
    if foreign and page[less + 1] == _BANG and _is_cdata(page, less):
        close = _cdata_end(page, less + 9)
        count = _add(out.tokens, done.tokens, CDATA, 0, less + 9, close, done.attributes)
        return min(page.size, close + 3), Written(count, done.attributes, done.noted, done.depth)
    at = _comment_end(page, less)
    if page[less + 1] == _SLASH and page[less + 2] == _GREATER:  # </> is nothing at all
        return at, done
    return at, _add_text(out, done, COMMENT + _AS, 0 + _AS, less, at)


@inlined
def _add_tag(page: Bytes, less: int, kind: int, out: Output, done: Written) -> tuple[int, int, Written]:
    """Add the tag that begins at ``less``; return its end (-1: there is none, -2: there is no room) and element too."""
    count, a, n, depth = done
    name = less + 2 if kind == CLOSE else less + 1
    element, after = name_at(page, name, ELEMENT_KEYS, ELEMENT_NUMBERS, _SLASH + _AS)
    element = max(element, UNKNOWN)
    at, last, closes = read_attributes(page, after, out.attributes, a)
    if last == out.attributes.shape[0]:
        return -2, element, done
    if at < 0:
        return -1, element, done
    if kind == OPEN and NOTED[element]:
        row = out.noted[n]
        row[0], row[1], row[2], row[3] = count, element, a, last
        n += 1
    mark = SELF_CLOSING if closes and kind == OPEN else 0
    count = _add(out.tokens, count, kind, element + mark, less, at, a)
    if depth or (kind == OPEN and _HOSTS[element]):
        depth = _follow_foreign(out.stack, depth, element, kind, closes)
    return at, element, Written(count, last if kind == OPEN else a, n, depth)


@inlined
def _after_raw(page: Bytes, at: int, element: int) -> int:
    """Return where the raw content of an element that was opened before ``at`` ends; ``at`` if it has none."""
    if element == _PLAINTEXT:
        return page.size
    if not RAW_ELEMENTS[element]:
        return at
    return _script_end(page, at) if element == _SCRIPT else _raw_end(page, at, element)


@leaf
def tokenize(page: Bytes, tokens: Rows, attributes: Rows, noted: Rows, sizes: Rows) -> bool:
    """Write the tokens of ``page`` and their attributes; False where there is too little room: the rest is left out.

    ``noted`` gets the tokens that open an element of NOTED: the number, the element, where its attributes begin and
    end. ``sizes`` (3 + MAX_FOREIGN) gets the three numbers of rows, the rest of it is for its own use.
    REQUIRES: room for 8 tokens and as many noted ones.
    """
    out, done = Output(tokens, attributes, noted, sizes[3:]), Written(0, 0, 0, 0)
    end, at, text = page.size, 0, 0  # from ``text`` on, text is not written yet
    fits = True
    while at < end:
        if done.tokens >= tokens.shape[0] - 6:
            fits, text = False, end
            break
        less = find(page, at, end, _LESS)
        if less + 1 >= end:
            break
        at = less + 1
        kind = _begun(page, less)
        if kind == TEXT:
            continue
        done = _add_text(out, done, TEXT + _AS, 0 + _AS, text, less)
        foreign = done.depth > 0 and not _INTEGRATION[out.stack[done.depth - 1]]
        if kind == COMMENT:
            at, done = _add_remark(page, less, foreign, out, done)
            text = at
            continue
        at, element, done = _add_tag(page, less, kind, out, done)
        if at < 0:  # a tag that never ends is none, nor is what follows
            fits, text = at == -1, end
            break
        text = at
        if kind == OPEN and not foreign:
            at = _after_raw(page, text, element)
            done = _add_text(out, done, RAW + _AS, element, text, at)
            text = at
    done = _add_text(out, done, TEXT + _AS, 0 + _AS, text, end)
    last = _add(tokens, done.tokens, TEXT, 0, end, end, done.attributes)  # so that the last one's attributes end too
    sizes[0], sizes[1], sizes[2] = last - 1, done.attributes, done.noted
    return fits
