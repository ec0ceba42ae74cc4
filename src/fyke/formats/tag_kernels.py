"""Tags: the name of an element and the attributes of a start tag, as the tokeniser of markup reads them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fyke.bits.jit import inlined, leaf
from fyke.bits.search_kernels import find_byte
from fyke.formats.markup_names import ATTRIBUTE_KEYS, ATTRIBUTE_NUMBERS, CODES, FOREIGN_BYTE, PART, SLOTS
from fyke.formats.markup_rows import NAME, VALUE, VALUE_END

Bytes = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int32]

_SLASH, _EQUALS, _GREATER, _QUOTE, _APOSTROPHE = (ord(c) for c in "/=>\"'")
_AS = 0  # the compiler makes a function anew for each literal argument; a sum is no literal

BREAK = np.zeros(256, np.uint8)
"""What ends a name: 1 for white space of HTML, 2 for ``/`` and ``>``."""
BREAK[[9, 10, 12, 13, 32]] = 1
BREAK[[_SLASH, _GREATER]] = 2


@leaf
def find(page: Bytes, at: int, end: int, byte: np.uint8) -> int:
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
def is_letter(byte: int) -> bool:
    """Tell whether a byte is a letter of ASCII."""
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
        close = find(page, here + 1, end, page[here])
        return here + 1, close, close + 1 if close < end else -1
    start = here
    while here < end and BREAK[page[here]] != 1 and page[here] != _GREATER:
        here += 1
    return start, here, here


@leaf
def read_attributes(page: Bytes, at: int, attributes: Rows, count: int) -> tuple[int, int, bool]:
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
