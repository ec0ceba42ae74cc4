"""Blocks: tokens to runs of text between block-level tags, with what can be counted of each and its place in the tree.

A *container* is an element that breaks lines; 0 is the page. Containers are numbered in the order of their opening,
so a parent comes before its children and sums over subtrees are one sweep backwards. A *block* is a row of counts
(fyke.clean.columns).
"""

from __future__ import annotations

import numpy as np

from fyke.bits.jit import inlined, kernel
from fyke.clean.attribute_kernels import read_attributes
from fyke.clean.columns import BREAKS, CONTAINER, FIRST, INNER, LAST, TAGS
from fyke.clean.elements import CLOSE, CLOSES_P, FLAG, HIDDEN, ID, INLINE, VOID, WORD, Array
from fyke.clean.word_kernels import count_word

MAX_BLOCKS = 50_000
"""Text after so many blocks belongs to the last one: it bounds the memory that a hostile page can ask for."""
MAX_DEPTH = 512
"""Elements nested deeper are not followed: real pages stay below 100."""

_A, _P, _LI, _TD, _TH, _TR, _DT, _DD, _BR = (ID[n] for n in ["a", "p", "li", "td", "th", "tr", "dt", "dd", "br"])


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


@inlined
def open_container(
    page: Array, start: int, end: int, container: int, above: int, element: int,
    parent: Array, element_of: Array, flags: Array, words: Array, words_end: Array,
) -> None:  # fmt: skip
    """Write the container that the start tag [start, end) opens inside ``above``."""
    word_count, hidden = read_attributes(page, start, end, words, words_end[container - 1])
    parent[container], element_of[container] = above, element
    flags[container] = flags[above] | FLAG[element] | (HIDDEN if hidden else 0)
    words_end[container] = word_count


@inlined
def close_element(element_of: Array, stack: Array, depth: int, element: int) -> int:
    """Return the depth after an end tag: that of the nearest such element, if it is near; else no element ends."""
    for level in range(depth - 1, max(0, depth - 12), -1):
        if element_of[stack[level]] == element:
            return level
    return depth


@inlined
def open_block(blocks: Array, count: int, at: int, container: int, tags: int, inner: int) -> int:
    """Begin a block at token ``at``, if there is room for one; return the number of blocks."""
    if count == blocks.shape[0]:
        return count
    blocks[count] = 0
    blocks[count, FIRST], blocks[count, CONTAINER], blocks[count, TAGS], blocks[count, INNER] = (
        at,
        container,
        tags,
        inner,
    )
    return count + 1


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
    containers, count, last = 1, 0, 0
    is_open, tags, inner, breaks, link_depth = False, 0, 0, 0, 0
    for at in range(kinds.size):
        kind = kinds[at]
        if kind == WORD:
            breaks = 0
            if not is_open:
                count = open_block(blocks, count, at, stack[depth - 1], tags, inner)
                is_open, tags, inner, last = True, 0, 0, 0
            last = count_word(page, starts[at], ends[at], blocks[count - 1], link_depth > 0, titles, bodies, last)
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
                is_open = is_open and breaks < 2
            continue
        if is_open:
            blocks[count - 1, INNER] += inner
            inner = 0
        is_open = False
        tags += 1
        if closing:
            depth = close_element(element_of, stack, depth, element)
        elif not VOID[element]:
            while depth > 1 and closes(element_of[stack[depth - 1]], element):
                depth -= 1
            if depth < MAX_DEPTH:
                open_container(page, starts[at], ends[at], containers, stack[depth - 1], element,
                               parent, element_of, flags, words, words_end)  # fmt: skip
                opened[containers], stack[depth] = at, containers
                depth += 1
                containers += 1
        link_depth = 0 if link_depth > depth else link_depth
    return containers, count
