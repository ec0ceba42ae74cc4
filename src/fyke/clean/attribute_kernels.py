"""Attributes of a start tag: the words of its classes, and whether it hides what is in it."""

from __future__ import annotations

from fyke.bits.jit import inlined, leaf
from fyke.clean.elements import BYTE, FOLDED, LOWER, SPACE, UPPER, Array

CLASS_WORDS = 1 << 16
"""Words of class, id, role and itemprop are known by 16 bits of their hash."""
_CLASS, _ID, _ROLE, _ITEMPROP, _STYLE, _HIDDEN, _ARIA = 1, 2, 3, 4, 5, 6, 7


@leaf
def attribute_name(page: Array, start: int, end: int) -> int:
    """Return which of the attributes that matter is named in [start, end): 0 for none of them."""
    size = end - start
    first = page[start] | 32
    if size == 5 and first == 99 and (page[start + 1] | 32) == 108:
        return _CLASS
    if size == 2 and first == 105:
        return _ID
    if size == 4 and first == 114 and (page[start + 1] | 32) == 111:
        return _ROLE
    if size == 8 and first == 105 and (page[start + 4] | 32) == 112:
        return _ITEMPROP
    if size == 5 and first == 115 and (page[start + 1] | 32) == 116:
        return _STYLE
    if size == 6 and first == 104 and (page[start + 1] | 32) == 105:
        return _HIDDEN
    if size == 11 and first == 97 and (page[start + 5] | 32) == 104:
        return _ARIA
    return 0


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


@inlined
def read_attributes(page: Array, start: int, end: int, words: Array, count: int) -> tuple[int, bool]:
    """Read the start tag [start, end): append its class words; return (their new count, hidden)."""
    at = start + 1
    hidden = False
    while at < end and BYTE[page[at]] != SPACE and page[at] != 62:
        at += 1
    while at < end:
        while at < end and (BYTE[page[at]] == SPACE or page[at] == 47):
            at += 1
        name = at
        while at < end and page[at] != 61 and page[at] != 62 and page[at] != 47 and BYTE[page[at]] != SPACE:
            at += 1
        if at == name:
            at += 1
            continue
        which = attribute_name(page, name, at)
        if which == _HIDDEN:
            hidden = True
        while at < end and BYTE[page[at]] == SPACE:
            at += 1
        if at >= end or page[at] != 61:
            continue
        at += 1
        while at < end and BYTE[page[at]] == SPACE:
            at += 1
        value = at
        if at < end and (page[at] == 34 or page[at] == 39):
            at += 1
            while at < end and page[at] != page[value]:
                at += 1
            value += 1
        else:
            while at < end and page[at] != 62 and BYTE[page[at]] != SPACE:
                at += 1
        if 0 < which <= _ITEMPROP:
            count = class_words(page, value, at, words, count)
        elif which == _STYLE:
            hidden = hidden or hides(page, value, at)
        elif which == _ARIA:
            hidden = hidden or (at - value == 4 and page[value] == 116)
        at += 1
    return count, hidden
