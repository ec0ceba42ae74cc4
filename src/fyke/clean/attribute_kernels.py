"""Attributes of a start tag: the words of its classes, and whether it hides what is in it."""

from __future__ import annotations

import numpy as np

from fyke.bits.jit import leaf
from fyke.clean.elements import BYTE, FOLDED, LOWER, UPPER, Array
from fyke.formats.markup_names import ATTRIBUTE
from fyke.formats.markup_rows import NAME, VALUE, VALUE_END

CLASS_WORDS = 1 << 16
"""Words of class, id, role and itemprop are known by 16 bits of their hash."""
_NAMING = np.zeros(256, np.bool_)
_NAMING[[ATTRIBUTE[name] for name in ("class", "id", "role", "itemprop")]] = True
_STYLE, _HIDDEN, _ARIA = (ATTRIBUTE[name] for name in ("style", "hidden", "aria-hidden"))


@leaf
def class_words(page: Array, start: int, end: int, words: Array, count: int) -> int:
    """Append the words of an attribute's value as hashes, cut at non-letters and at camelCase; return the count."""
    taken, at = 0, start
    while at < end and taken < 12 and count < words.size:
        value, size = 0, 0
        upper = True
        while at < end:
            kind = BYTE[page[at]]
            if kind != LOWER and kind != UPPER:
                break
            if kind == UPPER and not upper and size > 0:
                break
            upper = kind == UPPER
            value = (value * 31 + FOLDED[page[at]] - 1) & 0xFFFFFFF
            size += 1
            at += 1
        if size > 2:
            words[count] = (value ^ value >> 12) & (CLASS_WORDS - 1)
            count += 1
            taken += 1
        elif size == 0:
            at += 1
    return count


@leaf
def hides(page: Array, start: int, end: int) -> bool:
    """Tell whether a style says ``display:none`` or ``visibility:hidden``."""
    for at in range(start + 4, end - 3):
        if page[at] == 58:  # the colon
            value = at + 1
            while value < end - 3 and page[value] == 32:
                value += 1
            if (
                page[value] == 110 and page[value + 1] == 111 and page[at - 1] == 121 and page[at - 2] == 97
            ):  # display: no
                return True
            if (
                page[value] == 104 and page[value + 1] == 105 and page[at - 1] == 121 and page[at - 2] == 116
            ):  # visibility: hi
                return True
    return False


@leaf
def read_attributes(
    page: Array, attributes: Array, first: int, last: int, words: Array, count: int
) -> tuple[int, bool]:
    """Read attributes ``first`` … ``last`` of a start tag: append class words; return (their new count, hidden)."""
    hidden = False
    for at in range(first, last):
        name, start, end = attributes[at, NAME], attributes[at, VALUE], attributes[at, VALUE_END]
        if _NAMING[name]:
            count = class_words(page, start, end, words, count)
        elif name == _HIDDEN:
            hidden = True
        elif name == _STYLE:
            hidden = hidden or hides(page, start, end)
        elif name == _ARIA:
            hidden = hidden or (end - start == 4 and page[start] == 116)
    return count, hidden
