"""Blocks: tokens to runs of text between block-level tags, with what can be counted of each and its place in the tree.

A *container* is an element that breaks lines; 0 is the page. Containers are numbered in the order of their opening,
so a parent comes before its children and sums over subtrees are one sweep backwards. A *block* is a row of counts
(the columns below), its words standing in tokens FIRST .. LAST.
"""

from __future__ import annotations

import numpy as np

from fyke.bits.jit import inlined, kernel, leaf
from fyke.clean.elements import (
    BYTE,
    CLOSE,
    CLOSES_P,
    FLAG,
    FOLDED,
    HASHED,
    HIDDEN,
    ID,
    INLINE,
    LOWER,
    PACKED,
    SPACE,
    TERMINAL,
    UPPER,
    VOID,
    WORD,
    Array,
)  # fmt: skip

(
    FIRST, LAST, CONTAINER, TAGS, INNER, BREAKS, WORDS, LINKED, CHARS, POINTS, ENDS, LOWERS, UPPERS, DIGITS,
    CAPITALS, TITLED, BODIED, IDEOGRAPHS, HASH, COLUMNS,
) = range(20)  # fmt: skip

MAX_BLOCKS = 50_000
"""Text after so many blocks belongs to the last one: it bounds the memory that a hostile page can ask for."""
MAX_DEPTH = 512
"""Elements nested deeper are not followed: real pages stay below 100."""
CLASS_WORDS = 1 << 16
"""Words of class, id, role and itemprop are known by 16 bits of their hash."""

_A, _P, _LI, _TD, _TH, _TR, _DT, _DD, _BR = (ID[n] for n in ["a", "p", "li", "td", "th", "tr", "dt", "dd", "br"])
_MASK = (1 << 40) - 1
_LONGEST = 30_000
"""Bytes of a run whose letters are counted: more would spill the counts of 16 bits."""
_CLASS, _ID, _ROLE, _ITEMPROP, _STYLE, _HIDDEN, _ARIA = 1, 2, 3, 4, 5, 6, 7


@inlined
def is_ideograph(page: Array, at: int) -> bool:
    """Tell whether a Chinese, Japanese or Korean character of three bytes starts here (kana, hanzi, hangul)."""
    lead = page[at]
    if lead < 0xE3 or lead > 0xED or at + 2 >= page.size:
        return False
    second = page[at + 1]
    if lead == 0xE3:
        return bool(0x81 <= second <= 0x83 or second >= 0x90)
    if lead == 0xEA:
        return bool(second >= 0xB0)
    return bool(lead != 0xED or second <= 0x9E)


@inlined
def is_mark(page: Array, at: int) -> bool:
    """Tell whether a punctuation mark of three bytes starts here: dashes, quotes, and those of East Asia."""
    lead = page[at]
    if (lead != 0xE2 and lead != 0xE3 and lead != 0xEF) or at + 2 >= page.size:
        return False
    return bool(page[at + 1] == (0xBC if lead == 0xEF else 0x80))


@leaf
def word_ends(page: Array, at: int, end: int) -> tuple[int, int]:
    """Return (hash, end) of the word at ``at``, case folded; an ideograph is a word. Hash 0: there are no letters."""
    if is_mark(page, at):
        return 0, min(end, at + 3)
    if is_ideograph(page, at):
        return HASHED[page[at]] * 65536 + HASHED[page[at + 1]] * 256 + HASHED[page[at + 2]], at + 3
    value = 0
    while at < end:
        byte = page[at]
        if BYTE[byte] == SPACE:
            break
        if byte >= 0xE2 and (is_ideograph(page, at) or (is_mark(page, at) and (byte != 0xE2 or value == 0))):
            break
        if HASHED[byte]:
            value = (value * 31 + HASHED[byte]) & _MASK
        at += 1
    return value, min(at, end)


@inlined
def find(table: Array, key: int) -> int:
    """Return the slot of ``key`` in an open-addressing table of a power of two, or that of the free place for it."""
    slot = (key ^ key >> 15 ^ key >> 29) & (table.size - 1)
    while table[slot] != 0 and table[slot] != key:
        slot = (slot + 1) & (table.size - 1)
    return slot


@leaf
def remember_words(text: Array, table: Array, paired: bool, limit: int) -> int:
    """Put the hashes of the words of ``text`` (``paired``: of neighbouring words) into ``table``; return how many."""
    at, count, before = 0, 0, 0
    while at < text.size and count < limit:
        if BYTE[text[at]] == SPACE:
            at += 1
            continue
        value, at = word_ends(text, at, text.size)
        if value == 0:
            continue
        key = (before * 31 + value) & _MASK if paired else value
        before = value
        slot = find(table, key)
        if key != 0 and table[slot] == 0:
            table[slot] = key
            count += 1
    return count


@inlined
def note_word(value: int, blocks: Array, k: int, in_link: bool, titles: Array, bodies: Array, last: int) -> int:
    """Count a word by its hash; return the hash."""
    blocks[k, WORDS] += 1
    if in_link:
        blocks[k, LINKED] += 1
    if titles[find(titles, value)] != 0:
        blocks[k, TITLED] += 1
    if bodies.size > 1 and bodies[find(bodies, (last * 31 + value) & _MASK)] != 0:
        blocks[k, BODIED] += 1
    blocks[k, HASH] = (blocks[k, HASH] * 1000003 + value) & _MASK
    return value


@leaf
def count_words(
    page: Array, start: int, end: int, blocks: Array, k: int, in_link: bool, titles: Array, bodies: Array, last: int
) -> int:
    """Count the words of a run with entities or with bytes beyond ASCII, where one run may be many words."""
    at = start
    while at < end:
        if page[at] == 38:  # an entity is no word; those that are letters are rare enough
            semicolon = at + 1
            while semicolon < end and semicolon < at + 9 and page[semicolon] != 59:
                semicolon += 1
            if semicolon < end and page[semicolon] == 59:
                at = semicolon + 1
                continue
        if page[at] >= 0xE3:
            if is_ideograph(page, at):
                blocks[k, IDEOGRAPHS] += 1
            elif is_mark(page, at):  # 、。，！？：；
                blocks[k, POINTS] += 1
        value, at = word_ends(page, at, end)
        if value:
            last = note_word(value, blocks, k, in_link, titles, bodies, last)
    return last


@leaf
def count_word(
    page: Array, start: int, end: int, blocks: Array, k: int, in_link: bool, titles: Array, bodies: Array, last: int
) -> int:
    """Add what one run of non-space bytes tells to block ``k``; return its last word's hash."""
    packed, value, seen, entity = 0, 0, 0, False
    for at in range(start, min(end, start + _LONGEST)):
        byte = page[at]
        packed += PACKED[byte]
        seen |= byte
        entity = entity or byte == 38
        if FOLDED[byte]:
            value = (value * 31 + FOLDED[byte]) & _MASK
    tail = page[end - 1]
    blocks[k, ENDS] = 1 if tail == 58 else 0
    if BYTE[tail] == TERMINAL or tail == 0x82 or tail == 0x81 or tail == 0x9F or tail == 34 or tail == 0x9D:  # 。！？”
        blocks[k, ENDS] = 2
    blocks[k, CHARS] += end - start
    blocks[k, LOWERS] += packed & 0xFFFF
    blocks[k, UPPERS] += packed >> 16 & 0xFFFF
    blocks[k, DIGITS] += packed >> 32 & 0xFFFF
    blocks[k, POINTS] += packed >> 48
    if BYTE[page[start]] == UPPER:
        blocks[k, CAPITALS] += 1
    if seen >= 128 or entity:
        return count_words(page, start, end, blocks, k, in_link, titles, bodies, last)
    if value == 0:
        return last
    return note_word(value, blocks, k, in_link, titles, bodies, last)


@inlined
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


@leaf
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


@inlined
def closes(top: int, opening: int) -> bool:
    """Tell whether the start tag ``opening`` ends the open element ``top``, which HTML lets authors leave open."""
    if top == _P:
        return bool(CLOSES_P[opening])
    if top == _LI:
        return opening == _LI
    if top == _TD or top == _TH:
        return opening == _TD or opening == _TH or opening == _TR
    if top == _TR:
        return opening == _TR
    return (top == _DT or top == _DD) and (opening == _DT or opening == _DD)


@kernel
def build_blocks(
    page: Array, starts: Array, ends: Array, kinds: Array, titles: Array, bodies: Array,
    parent: Array, element_of: Array, flags: Array, opened: Array, words: Array, words_end: Array, blocks: Array,
) -> tuple[int, int]:  # fmt: skip
    """Write containers and blocks of a tokenised page; return (number of containers, number of blocks).

    ``opened`` gets the token that opens a container. REQUIRES: the arrays of containers have room for one more than
    there are tags, ``blocks`` for every run of words, at most MAX_BLOCKS; ``titles``, ``bodies`` are by remember_words.
    """
    stack = np.empty(MAX_DEPTH, np.int32)
    stack[0], depth = 0, 1
    parent[0], element_of[0], flags[0], opened[0], words_end[0] = 0, 1, 0, 0, 0
    containers, count, word_count, last = 1, 0, 0, 0
    is_open, tags, inner, breaks, link_depth = False, 0, 0, 0, 0
    for at in range(kinds.size):
        kind = kinds[at]
        if kind == WORD:
            breaks = 0
            if not is_open:
                is_open = True
                if count < blocks.shape[0]:
                    blocks[count] = 0
                    count += 1
                    blocks[count - 1, FIRST] = at
                    blocks[count - 1, CONTAINER] = stack[depth - 1]
                    blocks[count - 1, TAGS] = tags
                    blocks[count - 1, INNER] = inner
                    last = 0
                tags = inner = 0
            last = count_word(page, starts[at], ends[at], blocks, count - 1, link_depth > 0, titles, bodies, last)
            blocks[count - 1, LAST] = at + 1
            continue
        element = kind % CLOSE
        closing = kind >= CLOSE
        if INLINE[element]:
            inner += 1
            if element == _A:
                link_depth = 0 if closing else depth
            elif element == _BR:
                breaks += 1
                if is_open:
                    blocks[count - 1, BREAKS] += 1
                if breaks == 2:
                    is_open = False
            continue
        if is_open:
            blocks[count - 1, INNER] += inner
            inner = 0
        is_open = False
        tags += 1
        if VOID[element]:
            continue
        if closing:
            for level in range(depth - 1, max(0, depth - 12), -1):
                if element_of[stack[level]] == element:
                    depth = level
                    break
        else:
            while depth > 1 and closes(element_of[stack[depth - 1]], element):
                depth -= 1
            if depth < MAX_DEPTH:
                above = stack[depth - 1]
                word_count, hidden = read_attributes(page, starts[at], ends[at], words, word_count)
                parent[containers], element_of[containers] = above, element
                flags[containers] = flags[above] | FLAG[element] | (HIDDEN if hidden else 0)
                opened[containers], words_end[containers] = at, word_count
                stack[depth] = containers
                depth += 1
                containers += 1
        if link_depth > depth:
            link_depth = 0
    return containers, count
