"""Blocks: tokens to runs of text between block-level tags, with what can be counted of each and its place in the tree.

A *container* is an element that breaks lines; 0 is the page. Containers are numbered in the order of their opening,
so a parent comes before its children and sums over subtrees are one sweep backwards. A *block* is a row of counts
(fyke.clean.columns) over whole texts: FIRST and LAST are tokens.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fyke.bits.jit import inlined, kernel, leaf
from fyke.clean.attribute_kernels import read_attributes
from fyke.clean.columns import BREAKS, CONTAINER, FIRST, INNER, LAST, TAGS
from fyke.clean.elements import CLOSES_P, FLAG, HIDDEN, ID, INLINE, VOID, Array
from fyke.clean.token_kernels import after_unread, is_unread, note_remark
from fyke.clean.word_kernels import count_text

from fyke.formats.markup_rows import (  # isort: skip
    CLOSE, COMMENT, ELEMENT_, END, FIRST as FIRST_ATTRIBUTE, KIND, OPEN, SELF_CLOSING, START, TEXT,
)  # fmt: skip

MAX_BLOCKS = 50_000
"""Text after so many blocks belongs to the last one: it bounds the memory that a hostile page can ask for."""
MAX_DEPTH = 512
"""Elements nested deeper are not followed: real pages stay below 100."""

_NAME = SELF_CLOSING - 1
_A, _P, _LI, _TD, _TH, _TR, _DT, _DD, _BR = (ID[n] for n in ["a", "p", "li", "td", "th", "tr", "dt", "dd", "br"])


class Tree(NamedTuple):
    """The containers of a page.

    Of each its parent, its element, the flags of it and those around it, the token that opens it, and where the words
    of its classes end in ``words``: they begin where those of the container before end.
    """

    parent: Array
    element: Array
    flags: Array
    opened: Array
    words_end: Array
    words: Array


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


@leaf
def open_container(page: Array, tokens: Array, attributes: Array, at: int, tree: Tree, container: int, above: int
                   ) -> None:  # fmt: skip
    """Write the container that start tag ``at`` opens inside ``above``."""
    word_count, hidden = read_attributes(
        page, attributes, tokens[at, FIRST_ATTRIBUTE], tokens[at + 1, FIRST_ATTRIBUTE],
        tree.words, tree.words_end[container - 1],
    )  # fmt: skip
    element = tokens[at, ELEMENT_] & _NAME
    tree.parent[container], tree.element[container], tree.opened[container] = above, element, at
    tree.flags[container] = tree.flags[above] | FLAG[element] | (HIDDEN if hidden else 0)
    tree.words_end[container] = word_count


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


@leaf
def has_word(page: Array, start: int, end: int) -> bool:
    """Tell whether there is anything but white space."""
    for at in range(start, end):
        if page[at] > 32:
            return True
    return False


@kernel
def build_blocks(
    page: Array, tokens: Array, attributes: Array, titles: Array, bodies: Array, noscript: bool, tree: Tree,
    blocks: Array, texts: Array, remarks: Array,
) -> tuple[int, int, int]:  # fmt: skip
    """Write containers, blocks and comments that may mark content; return their numbers.

    ``texts`` gets 1 for each token that is a text of a block. REQUIRES: it is zeros, one for each token; the arrays of
    containers have room for one more than there are tokens, ``blocks`` for every text, at most MAX_BLOCKS; ``titles``,
    ``bodies`` are by remember_words.
    """
    stack, unclosed = np.empty(MAX_DEPTH, np.int32), np.zeros(256, np.uint8)
    stack[0], depth = 0, 1
    tree.parent[0], tree.element[0], tree.flags[0], tree.opened[0], tree.words_end[0] = 0, 1, 0, 0, 0
    containers, count, noted, last = 1, 0, 0, 0
    is_open, tags, inner, breaks, link_depth = False, 0, 0, 0, 0
    at, end = -1, tokens.shape[0] - 2
    while at < end:
        at += 1
        kind = tokens[at, KIND]
        if kind == TEXT:
            if not has_word(page, tokens[at, START], tokens[at, END]):
                texts[at] = is_open  # white space between words
                continue
            breaks = 0
            if not is_open:
                count = open_block(blocks, count, at, stack[depth - 1], tags, inner)
                is_open, tags, inner, last = True, 0, 0, 0
            row = blocks[count - 1]
            last = count_text(page, tokens[at, START], tokens[at, END], row, link_depth > 0, titles, bodies, last)
            row[LAST], texts[at] = at + 1, 1
            continue
        if kind == COMMENT:
            noted = note_remark(page, tokens, at, remarks, noted)
        if kind != OPEN and kind != CLOSE:
            continue
        if is_unread(tokens, at, noscript):
            at = after_unread(tokens, at, unclosed)
            continue
        element = tokens[at, ELEMENT_] & _NAME
        if INLINE[element]:
            inner += 1
            if element == _A:
                link_depth = 0 if kind == CLOSE else depth
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
        if kind == CLOSE:
            depth = close_element(tree.element, stack, depth, element)
        elif not VOID[element]:
            while depth > 1 and closes(tree.element[stack[depth - 1]], element):
                depth -= 1
            if depth < MAX_DEPTH:
                open_container(page, tokens, attributes, at, tree, containers, stack[depth - 1])
                stack[depth] = containers
                depth += 1
                containers += 1
        link_depth = 0 if link_depth > depth else link_depth
    return containers, count, noted
