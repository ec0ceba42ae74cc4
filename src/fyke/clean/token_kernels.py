"""Tokens: HTML bytes to tags and words in one pass, in linear time on whatever comes.

A token is (start, end, kind): ``kind`` is WORD for a run of non-space text, else the number of a tag
(fyke.clean.elements). Comments, declarations and the contents of script, style, svg and other raw elements are
no tokens. What is never closed (a comment, a script, a quote) is taken to end with its own tag, and is looked for
only once: that is what keeps the pass linear.
"""

from __future__ import annotations

import numpy as np

from fyke.bits.jit import LANES, bytes_below, bytes_equal, inlined, kernel, leaf, trailing_zeros
from fyke.bits.search_kernels import find_byte
from fyke.clean.elements import BYTE, CLOSE, ID, NAME_KEYS, NAME_NUMBERS, RAW, SLOTS, SPACE, UNKNOWN, WORD, Array

TITLE, SCRIPT, NOSCRIPT = ID["title"], ID["script"], ID["noscript"]
MAX_DATA = 8
"""JSON-LD scripts that are noted: pages have one or two; a hostile one gets no more attention."""
MAX_REMARKS = 64
"""Comments that are noted: as above."""
_SLASH, _LESS, _GREATER, _BANG, _DASH, _QUESTION, _EQUALS = (np.uint8(ord(c)) for c in "/<>!-?=")
_QUOTE, _APOSTROPHE = np.uint8(ord('"')), np.uint8(ord("'"))
_AFTER_SPACE = np.uint8(33)
_ALL = (1 << LANES) - 1


@inlined
def skip_space(page: Array, at: int) -> int:
    """Return the first place at or after ``at`` that is no white space."""
    last = page.size - LANES
    while at <= last:
        found = bytes_below(page, at, _AFTER_SPACE) ^ _ALL
        if found:
            return at + trailing_zeros(found)
        at += LANES
    while at < page.size and page[at] <= 32:
        at += 1
    return at


@inlined
def find_break(page: Array, at: int) -> int:
    """Return the first place at or after ``at`` that is white space or ``<``."""
    last = page.size - LANES
    while at <= last:
        found = bytes_below(page, at, _AFTER_SPACE) | bytes_equal(page, at, _LESS)
        if found:
            return at + trailing_zeros(found)
        at += LANES
    while at < page.size and page[at] > 32 and page[at] != _LESS:
        at += 1
    return at


@inlined
def find_quote_or_end(page: Array, at: int) -> int:
    """Return the first place at or after ``at`` that is a quotation mark or ``>``."""
    last = page.size - LANES
    while at <= last:
        found = bytes_equal(page, at, _GREATER) | bytes_equal(page, at, _QUOTE) | bytes_equal(page, at, _APOSTROPHE)
        if found:
            return at + trailing_zeros(found)
        at += LANES
    while at < page.size and page[at] != _GREATER and page[at] != _QUOTE and page[at] != _APOSTROPHE:
        at += 1
    return at


@leaf
def element_at(page: Array, at: int) -> int:
    """Return the number of the element whose name starts at ``at``; 0 if there is no name."""
    key = 0
    size = 0
    end = page.size
    while at < end and size < 11:
        byte = page[at]
        if 65 <= byte <= 90:
            byte += 32
        elif not (97 <= byte <= 122 or (size > 0 and (48 <= byte <= 57 or byte == 45 or byte == 58))):
            break
        key = key << 6 | (int(byte) - 32 & 63)
        size += 1
        at += 1
    if size == 0:
        return 0
    if size > 10:
        return UNKNOWN
    slot = (key ^ key >> 9 ^ key >> 23) % SLOTS
    while NAME_KEYS[slot] != 0:
        if NAME_KEYS[slot] == key:
            return int(NAME_NUMBERS[slot])
        slot = (slot + 1) % SLOTS
    return UNKNOWN


@leaf
def tag_end(page: Array, at: int, unclosed: Array) -> int:
    """Return the position after the ``>`` that ends the tag around ``at``; quoted values may hold a ``>``.

    ``unclosed`` notes the quotes that occur no more, so that each is looked for only once.
    """
    end = page.size
    while True:
        at = find_quote_or_end(page, at)
        if at >= end:
            return end
        byte = page[at]
        if byte == _GREATER:
            return at + 1
        if not unclosed[byte]:
            before = at - 1
            while BYTE[page[before]] == SPACE:
                before -= 1
            if page[before] == _EQUALS:
                close = find_byte(page, at + 1, byte)
                if close == end:
                    unclosed[byte] = 1
                else:
                    at = close
        at += 1


@leaf
def comment_end(page: Array, at: int, unclosed: Array) -> int:
    """Return the position after the comment or declaration that starts with ``<!`` or ``<?`` at ``at``."""
    end = page.size
    if at + 3 < end and page[at + 2] == _DASH and page[at + 3] == _DASH and not unclosed[_DASH]:
        close = at + 4
        if close < end and page[close] == _GREATER:
            return close + 1
        while True:
            close = find_byte(page, close, _GREATER)
            if close >= end:
                break
            if page[close - 1] == _DASH and page[close - 2] == _DASH:
                return close + 1
            close += 1
        unclosed[_DASH] = 1
    return min(end, find_byte(page, at, _GREATER) + 1)


@leaf
def raw_end(page: Array, at: int, element: int, unclosed: Array) -> int:
    """Return where ``</element`` starts at or after ``at``; -1, noted in ``unclosed``, if it never does."""
    if unclosed[CLOSE + element]:
        return -1
    last = page.size - 2
    while True:
        at = find_byte(page, at, _LESS)
        if at >= last:
            break
        if page[at + 1] == _SLASH and element_at(page, at + 2) == element:
            return at
        at += 1
    unclosed[CLOSE + element] = 1
    return -1


@leaf
def may_mark_content(page: Array, start: int, end: int) -> bool:
    """Tell whether a comment looks like one by which a site marks its content (fyke.clean.evidence)."""
    if end - start > 80:
        return False
    for at in range(start + 4, end - 2):
        first, second, third = page[at] | 32, page[at + 1], page[at + 2] | 32
        if first == 100 and second == 95 and third == 115:  # goo[gle_ad_s]ection…
            return True
        if first == 107 and second == 112 and third == 114:  # …clic[kpr]int…
            return True
        if first == 97 and (second | 32) == 114 and third == 116 and page[at - 1] == 32:  # begin[ art]icle
            return True
    return False


@inlined
def opens_markup(page: Array, at: int) -> bool:
    """Tell whether the byte after a ``<`` makes it the start of a tag, a comment or a declaration."""
    if at >= page.size:
        return False
    byte = page[at]
    return bool(97 <= (byte | 32) <= 122 or byte == _SLASH or byte == _BANG or byte == _QUESTION)


@leaf
def is_linked_data(page: Array, start: int, end: int) -> bool:
    """Tell whether the start tag says ``ld+json``."""
    for at in range(start, end - 6):
        if page[at] == 43 and page[at - 2] == 108 and page[at - 1] == 100 and page[at + 1] == 106:  # ld+j
            return True
    return False


@kernel
def tokenize(page: Array, starts: Array, ends: Array, kinds: Array, head: Array, remarks: Array, noscript: bool) -> int:
    """Write the tokens of ``page``; return their number.

    ``head`` gets in row 0 the bounds of the title's text, in the rows after it those of JSON-LD scripts.
    ``remarks`` gets the bounds of comments that may mark content. ``noscript`` reads what stands in noscript too.
    REQUIRES: room for ``page.size // 2 + 1`` tokens; ``head`` is zeros, MAX_DATA + 1 by 2; ``remarks`` zeros, n by 2.
    """
    data, remark = 1, 0
    unclosed = np.zeros(2 * CLOSE, np.uint8)
    end = page.size
    at = 0
    count = 0
    while at < end:
        byte = page[at]
        if byte <= 32:
            at = skip_space(page, at + 1)
            continue
        if byte == _LESS and at + 1 < end:
            following = page[at + 1]
            if following == _BANG or following == _QUESTION:
                start = at
                at = comment_end(page, at, unclosed)
                if remark < remarks.shape[0] and may_mark_content(page, start, at):
                    remarks[remark, 0], remarks[remark, 1] = start, at
                    remark += 1
                continue
            closing = following == _SLASH
            element = element_at(page, at + 2 if closing else at + 1)
            if element:
                start = at
                at = tag_end(page, at + 1, unclosed)
                if RAW[element] and not (noscript and element == NOSCRIPT):
                    close = -1 if closing else raw_end(page, at, element, unclosed)
                    if close >= 0:
                        if element == TITLE and head[0, 1] == 0:
                            head[0, 0], head[0, 1] = at, close
                        elif element == SCRIPT and data <= MAX_DATA and is_linked_data(page, start, at):
                            head[data, 0], head[data, 1] = at, close
                            data += 1
                        at = tag_end(page, close + 1, unclosed)
                    continue
                starts[count], ends[count] = start, at
                kinds[count] = element + CLOSE if closing else element
                count += 1
                continue
        start = at
        at = find_break(page, at + 1)
        while at < end and page[at] == _LESS and not opens_markup(page, at + 1):
            at = find_break(page, at + 1)
        starts[count], ends[count], kinds[count] = start, at, WORD
        count += 1
    return count
