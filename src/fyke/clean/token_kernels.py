"""What of a page's tokens is read: elements without text skipped, text cut into words, the comments that mark content.

The tokens are those of formats.markup_kernels. An element whose content is not read (elements.UNREAD) and that is
never closed hides nothing; each is looked for only once, which keeps every pass linear.
"""

from __future__ import annotations

import numpy as np

from fyke.bits.jit import inlined, kernel, leaf
from fyke.clean.elements import CLOSE, ID, UNREAD, WORD, Array

from fyke.formats.markup_rows import (  # isort: skip
    CLOSE as END_TAG, COMMENT, ELEMENT_, END, KIND, OPEN, SELF_CLOSING, START, TEXT,
)  # fmt: skip

_NOSCRIPT = ID["noscript"]
_NAME = SELF_CLOSING - 1


@leaf
def is_unread(tokens: Array, at: int, noscript: bool) -> bool:
    """Tell whether a tag is of an element that is not read; ``noscript``: that one is."""
    element = tokens[at, ELEMENT_] & _NAME
    return bool(UNREAD[element]) and not (noscript and element == _NOSCRIPT)


@leaf
def after_unread(tokens: Array, at: int, unclosed: Array) -> int:
    """Return the last token of the element that token ``at`` opens; ``at`` itself if it is never closed."""
    element = tokens[at, ELEMENT_]
    if tokens[at, KIND] != OPEN or element >= SELF_CLOSING or unclosed[element]:
        return at
    for here in range(at + 1, tokens.shape[0] - 1):
        if tokens[here, KIND] == END_TAG and tokens[here, ELEMENT_] == element:
            return here
    unclosed[element] = 1
    return at


@inlined
def word_end(page: Array, at: int, end: int) -> int:
    """Return where the run of non-space bytes at ``at`` ends."""
    while at < end and page[at] > 32:
        at += 1
    return at


@kernel
def words_and_tags(
    page: Array, tokens: Array, noscript: bool, starts: Array, ends: Array, kinds: Array, sources: Array
) -> int:
    """Write every word and every tag that is read, in order; return their number.

    ``kinds`` gets WORD or the number of a tag, CLOSE added for an end tag; ``sources`` the token it is of.
    REQUIRES: room for ``page.size // 2 + 2`` of them.
    """
    unclosed = np.zeros(CLOSE, np.uint8)
    count, at, last = 0, -1, tokens.shape[0] - 2
    while at < last:
        at += 1
        kind = tokens[at, KIND]
        if kind == TEXT:
            here, end = tokens[at, START], tokens[at, END]
            while here < end:
                if page[here] <= 32:
                    here += 1
                    continue
                starts[count], kinds[count], sources[count] = here, WORD, at
                here = word_end(page, here, end)
                ends[count] = here
                count += 1
        elif kind == OPEN or kind == END_TAG:
            if is_unread(tokens, at, noscript):
                at = after_unread(tokens, at, unclosed)
                continue
            element = tokens[at, ELEMENT_] & _NAME
            starts[count], ends[count], sources[count] = tokens[at, START], tokens[at, END], at
            kinds[count] = element + CLOSE if kind == END_TAG else element
            count += 1
    return count


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
def note_remark(page: Array, tokens: Array, at: int, remarks: Array, count: int) -> int:
    """Note comment ``at`` if it may mark content and there is room; return how many are noted."""
    if count < remarks.size and may_mark_content(page, tokens[at, START], tokens[at, END]):
        remarks[count] = at
        count += 1
    return count


__all__ = ["COMMENT", "after_unread", "is_unread", "note_remark", "words_and_tags"]
