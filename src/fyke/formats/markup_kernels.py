"""The one tokeniser of markup: HTML bytes to rows of tokens and attributes, in one pass, linear on whatever comes.

Tags, comments and text are cut as the WHATWG tokenizer cuts them, with the states that its tree construction would set:
raw text (script with its escapes, style, title, textarea, …), plaintext, and CDATA in foreign content. What is open at
the end is dropped if it is a tag, and goes to the end if it is a comment or raw text.

Rows of tokens and attributes are described in markup_rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fyke.bits.jit import inlined, leaf
from fyke.bits.search_kernels import find_byte
from fyke.formats.markup_names import (
    ATTRIBUTE_KEYS,
    ATTRIBUTE_NUMBERS,
    CODES,
    ELEMENT,
    ELEMENT_KEYS,
    ELEMENT_NUMBERS,
    FOREIGN_BYTE,
    PART,
    SLOTS,
    UNKNOWN,
    marked,
)
from fyke.formats.markup_rows import (
    CDATA,
    CLOSE,
    COMMENT,
    ELEMENT_,
    END,
    FIRST,
    KIND,
    NAME,
    OPEN,
    RAW,
    SELF_CLOSING,
    START,
    TEXT,
    VALUE,
    VALUE_END,
)  # fmt: skip

Bytes = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int32]

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
_SLASH, _EQUALS, _BANG, _QUESTION, _QUOTE, _APOSTROPHE = (ord(c) for c in "/=!?\"'")

_AS = 0  # the compiler makes a function anew for each literal argument; a sum is no literal

BREAK = np.zeros(256, np.uint8)
"""What ends a name: 1 for white space of HTML, 2 for ``/`` and ``>``."""
BREAK[[9, 10, 12, 13, 32]] = 1
BREAK[[_SLASH, int(_GREATER)]] = 2


@leaf
def _find(page: Bytes, at: int, end: int, byte: np.uint8) -> int:
    """Return where ``byte`` stands at or after ``at``; ``end`` if not before that. One copy is quick to compile."""
    return find_byte(page[:end], at, byte)


@leaf
def name_at(page: Bytes, at: int, keys: npt.NDArray[np.int64], numbers: Bytes, ends: int) -> tuple[int, int]:
    """Return the number of the name at ``at`` (0: not listed) and where it ends.

    ``ends`` is one more byte that ends it, unless it is the first.
    """
    begin, end = at, page.size
    first, second, listed = 0, 0, True
    while at < end:
        byte = page[at]
        if BREAK[byte] or (byte == ends and at > begin):
            break
        code = int(CODES[byte])
        listed = listed and code != FOREIGN_BYTE
        if at - begin < PART:
            first = first << 6 | code
        elif at - begin < 2 * PART:
            second = second << 6 | code
        at += 1
    if not listed or at - begin > 2 * PART or first == 0:
        return 0, at
    slot = (first ^ second ^ first >> 9 ^ first >> 23) & (SLOTS - 1)
    while keys[slot, 0]:
        if keys[slot, 0] == first and keys[slot, 1] == second:
            return int(numbers[slot]), at
        slot = (slot + 1) & (SLOTS - 1)
    return 0, at


@inlined
def _is_letter(byte: int) -> bool:
    return 97 <= (byte | 32) <= 122


@leaf
def _value_at(page: Bytes, at: int) -> tuple[int, int, int]:
    """Return start and end of the value after an attribute's name, and where to go on (-1: it never ends)."""
    end = page.size
    here = at
    while here < end and BREAK[page[here]] == 1:
        here += 1
    if here >= end or page[here] != _EQUALS:
        return at, at, here
    here += 1
    while here < end and BREAK[page[here]] == 1:
        here += 1
    if here >= end:
        return at, at, -1
    if page[here] == _QUOTE or page[here] == _APOSTROPHE:
        close = _find(page, here + 1, end, page[here])
        return here + 1, close, close + 1 if close < end else -1
    start = here
    while here < end and BREAK[page[here]] != 1 and page[here] != _GREATER:
        here += 1
    return start, here, here


@leaf
def _read_attributes(page: Bytes, at: int, attributes: Rows, count: int) -> tuple[int, int, bool]:
    """Note the attributes of the tag whose name ends at ``at``.

    Returns the place after the tag (-1: it never ends), the new number of attributes, and whether it closes itself.
    """
    end = page.size
    while True:
        slash = False
        while at < end and (BREAK[page[at]] == 1 or page[at] == _SLASH):
            slash = page[at] == _SLASH
            at += 1
        if at >= end:
            return -1, count, False
        if page[at] == _GREATER:
            return at + 1, count, slash
        name, at = name_at(page, at, ATTRIBUTE_KEYS, ATTRIBUTE_NUMBERS, _EQUALS + _AS)
        start, stop, at = _value_at(page, at)
        if at < 0:
            return -1, count, False
        if name and count < attributes.shape[0]:
            attributes[count, NAME], attributes[count, VALUE], attributes[count, VALUE_END] = name, start, stop
            count += 1


@leaf
def _comment_end(page: Bytes, at: int) -> int:
    """Return the place after the comment, declaration or instruction that begins at ``at``."""
    end = page.size
    if at + 3 >= end or page[at + 2] != _DASH or page[at + 3] != _DASH or page[at + 1] != _BANG:
        return min(end, _find(page, at, end, _GREATER) + 1)
    close = at + 4
    if close < end and page[close] == _GREATER:
        return close + 1
    if close + 1 < end and page[close] == _DASH and page[close + 1] == _GREATER:
        return close + 2
    while True:
        close = _find(page, close, end, _GREATER)
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
        at = _find(page, at, end, _LESS)
        if at >= end or _ends_raw(page, at, element):
            return at
        at += 1


@leaf
def _script_end(page: Bytes, at: int) -> int:
    """As ``_raw_end`` for a script: what stands between ``<!-- <script`` and ``</script`` does not end it."""
    end, state, opened = page.size, 0, 0  # 0 plain, 1 escaped by <!--, 2 escaped twice by <script in that
    while True:
        less = _find(page, at, end, _LESS)
        while state and at < less:  # does --> stand before?
            close = _find(page, at, less, _GREATER)
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
        elif state == 1 and less + 1 < end and _is_letter(int(page[less + 1])):
            found, after = name_at(page, less + 1, ELEMENT_KEYS, ELEMENT_NUMBERS, _SLASH + _AS)
            state = 2 if found == _SCRIPT and after < end else 1
        elif state == 2 and _ends_raw(page, less, _SCRIPT + _AS):
            state = 1


@leaf
def _cdata_end(page: Bytes, at: int) -> int:
    """Return where ``]]>`` begins; the end of the page if nowhere."""
    end = page.size
    while True:
        at = _find(page, at, end, _GREATER)
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


@leaf
def tokenize(page: Bytes, tokens: Rows, attributes: Rows, noted: Rows, sizes: Rows) -> bool:
    """Write the tokens of ``page`` and their attributes; False where there is too little room: the rest is left out.

    ``noted`` gets the tokens that open an element of NOTED: the number, the element, where its attributes begin and
    end. ``sizes`` (3 + MAX_FOREIGN) gets the three numbers of rows, the rest of it is for its own use.
    REQUIRES: room for 8 tokens and as many noted ones.
    """
    end, at, count, a, n, depth = page.size, 0, 0, 0, 0, 0
    stack = sizes[3:]
    text = 0  # where the text begins that is not written yet
    room, fits = tokens.shape[0] - 6, True
    while at < end:
        if count >= room:
            fits, text = False, end
            break
        less = _find(page, at, end, _LESS)
        if less + 1 >= end:
            break
        following = page[less + 1]
        at = less + 1
        closing = following == _SLASH
        if not closing and not _is_letter(int(following)) and following != _BANG and following != _QUESTION:
            continue  # a < that begins nothing is text
        if closing and less + 2 >= end:
            continue
        if less > text:
            count = _add(tokens, count, TEXT, 0, text, less, a)
        foreign = depth > 0 and not _INTEGRATION[stack[depth - 1]]
        if foreign and following == _BANG and _is_cdata(page, less):
            close = _cdata_end(page, less + 9)
            count = _add(tokens, count, CDATA, 0, less + 9, close, a)
            at = text = min(end, close + 3)
            continue
        name = less + 2 if closing else less + 1
        if following == _BANG or following == _QUESTION or not _is_letter(int(page[name])):
            at = text = _comment_end(page, less)
            if not (closing and page[name] == _GREATER):  # </> is nothing at all
                count = _add(tokens, count, COMMENT, 0, less, at, a)
            continue
        element, after = name_at(page, name, ELEMENT_KEYS, ELEMENT_NUMBERS, _SLASH + _AS)
        element = max(element, UNKNOWN)
        at, noted_attributes, closes = _read_attributes(page, after, attributes, a)
        full = noted_attributes == attributes.shape[0]
        if at < 0 or full:  # a tag that never ends is none, nor is what follows
            fits, text = not full, end
            break
        text = at
        if closing:
            count = _add(tokens, count, CLOSE, element, less, at, a)
            if depth:
                depth = _follow_foreign(stack, depth, element, CLOSE + _AS, closes)
            continue
        if NOTED[element]:
            row = noted[n]
            row[0], row[1], row[2], row[3] = count, element, a, noted_attributes
            n += 1
        count = _add(tokens, count, OPEN, element + (SELF_CLOSING if closes else 0), less, at, a)
        a = noted_attributes
        if depth or _HOSTS[element]:
            depth = _follow_foreign(stack, depth, element, OPEN + _AS, closes)
        if element == _PLAINTEXT and not foreign:
            if at < end:
                count = _add(tokens, count, RAW, element, at, end, a)
            at = text = end
        elif RAW_ELEMENTS[element] and not foreign:
            at = _script_end(page, text) if element == _SCRIPT else _raw_end(page, text, element)
            if at > text:
                count = _add(tokens, count, RAW, element, text, at, a)
            text = at
    if text < end:
        count = _add(tokens, count, TEXT, 0, text, end, a)
    count = _add(tokens, count, TEXT, 0, end, end, a)  # so that the last one's attributes end too
    sizes[0], sizes[1], sizes[2] = count - 1, a, n
    return fits
