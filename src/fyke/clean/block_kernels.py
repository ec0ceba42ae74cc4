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
from fyke.clean.columns import BREAKS, CONTAINER, FIRST, INNER, LAST, SAID_END, TAGS, TEXT, TEXT_END
from fyke.clean.elements import CLOSES_P, FLAG, HIDDEN, ID, INLINE, PRE, VOID, Array
from fyke.clean.text_kernels import Pen, count_text
from fyke.clean.token_kernels import after_unread, is_unread, note_remark
from fyke.clean.word_kernels import Known
from fyke.formats.markup_names import ATTRIBUTE

from fyke.formats.markup_rows import (  # isort: skip
    CLOSE, COMMENT, ELEMENT_, END, FIRST as FIRST_ATTRIBUTE, KIND, NAME, OPEN, SELF_CLOSING, START,
    TEXT as TEXT_TOKEN, VALUE, VALUE_END,
)  # fmt: skip

MAX_BLOCKS = 50_000
"""Text after so many blocks belongs to the last one: it bounds the memory that a hostile page can ask for."""
MAX_DEPTH = 512
"""Elements nested deeper are not followed: real pages stay below 100."""

BLOCK_END = 30
"""The byte of values.BLOCK_END."""
_NAME = SELF_CLOSING - 1
_A, _P, _LI, _TD, _TH, _TR, _DT, _DD, _BR = (ID[n] for n in ["a", "p", "li", "td", "th", "tr", "dt", "dd", "br"])
_HREF, _HASH = ATTRIBUTE["href"], ord("#")
_SIGNED = [sign.encode() for sign in ("#", "¶", "§", "🔗", "&para;", "&sect;", "&#182;", "&#167;", "&#xb6;", "&#xB6;")]
_SIGN_SIZES = np.array([len(sign) for sign in _SIGNED], np.int64)
_SIGN_BYTES = max(map(len, _SIGNED))
_SIGNS = np.array([list(sign.ljust(_SIGN_BYTES)) for sign in _SIGNED], np.uint8)


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
    if count:
        blocks[count, SAID_END] = blocks[count - 1, SAID_END]
    return count + 1


@leaf
def has_word(page: Array, start: int, end: int) -> bool:
    """Tell whether there is anything but white space."""
    for at in range(start, end):
        if page[at] > 32:
            return True
    return False


@leaf
def is_permalink(page: Array, tokens: Array, attributes: Array, at: int) -> bool:
    """Tell whether start tag ``at`` of an anchor begins a link to its own place, as documentation has beside headings.

    Such a link holds one of ¶, §, # and 🔗, and nothing else.
    """
    if at + 2 >= tokens.shape[0] or tokens[at + 1, KIND] != TEXT_TOKEN or tokens[at + 2, KIND] != CLOSE:
        return False
    start, end, here = tokens[at + 1, START], tokens[at + 1, END], False
    for row in range(tokens[at, FIRST_ATTRIBUTE], tokens[at + 1, FIRST_ATTRIBUTE]):
        if attributes[row, NAME] == _HREF and attributes[row, VALUE] < attributes[row, VALUE_END]:
            here = page[attributes[row, VALUE]] == _HASH
    while start < end and page[start] <= 32:
        start += 1
    while start < end and page[end - 1] <= 32:
        end -= 1
    if not here or end - start > _SIGN_BYTES:
        return False
    for sign in range(_SIGNS.shape[0]):
        same = _SIGN_SIZES[sign] == end - start
        for byte in range(end - start):
            same = same and page[start + byte] == _SIGNS[sign, byte]
        if same:
            return True
    return False


@leaf
def end_text(row: Array, out: Array, size: int) -> int:
    """End the text of a block: without white space at its end. Return where it ends."""
    while size > row[TEXT] and out[size - 1] <= 32:
        size -= 1
    row[TEXT_END] = size
    return size


@leaf
def write_verbatim(page: Array, at: int, end: int, out: Array, size: int, first: int) -> int:
    """Write preformatted text as it stands; empty lines at the beginning of a block are left out."""
    if size == first:
        line = at
        while at < end and page[at] <= 32:
            at += 1
            if page[at - 1] == 10:
                line = at
        at = line
    for byte in range(at, end):
        out[size + byte - at] = page[byte] if page[byte] != BLOCK_END else 32
    return size + max(0, end - at)


class Sheet(NamedTuple):
    """A page, and where what is made of it goes: ``stack`` holds the containers that are open, the outermost first."""

    page: Array
    tokens: Array
    attributes: Array
    known: Known
    tree: Tree
    blocks: Array
    out: Array
    stack: Array


class State(NamedTuple):
    """How far the blocks of a page are."""

    depth: int
    """Of the stack."""
    containers: int
    made: int
    """Blocks; the last one is open, or ended already."""
    pen: Pen
    is_open: bool
    tags: int
    inner: int
    """Tags and inline tags since the last block."""
    breaks: int
    """``<br>`` in a row."""
    link_depth: int
    """The depth at which a link is open; else 0."""


@inlined
def begin_block(sheet: Sheet, at: int, state: State) -> tuple[int, int]:
    """End the block before, and begin one at token ``at``; return the number of blocks and where its text goes."""
    blocks, count, size = sheet.blocks, state.made, state.pen.size
    if 0 < count < blocks.shape[0]:
        size = end_text(blocks[count - 1], sheet.out, size)
        sheet.out[size] = BLOCK_END
        size += 1
    made = open_block(blocks, count, at, sheet.stack[state.depth - 1], state.tags, state.inner)
    if made > count:
        blocks[made - 1, TEXT] = size
    return made, size


@inlined
def read_text(sheet: Sheet, at: int, state: State) -> State:
    """Add text token ``at`` to the block that is open, or begin one with it."""
    page, out, start, stop = sheet.page, sheet.out, sheet.tokens[at, START], sheet.tokens[at, END]
    depth, containers, count, (last, size, gap), is_open, tags, inner, breaks, link_depth = state
    verbatim = sheet.tree.flags[sheet.stack[depth - 1]] & PRE != 0
    if not has_word(page, start, stop):
        if is_open and verbatim:
            size = write_verbatim(page, start, stop, out, size, sheet.blocks[count - 1, TEXT])
        return State(depth, containers, count, Pen(last, size, max(gap, 1)), is_open, tags, inner, breaks, link_depth)
    if not is_open:
        count, size = begin_block(sheet, at, state)
        last, gap, tags, inner = 0, 2, 0, 0
    row = sheet.blocks[count - 1]
    pen = count_text(page, start, stop, row, link_depth > 0, sheet.known, Pen(last, size, gap), out)
    if verbatim:
        pen = Pen(pen.last, write_verbatim(page, start, stop, out, size, row[TEXT]), pen.gap)
    row[LAST] = at + 1
    return State(depth, containers, count, pen, True, tags, inner, 0, link_depth)


@inlined
def read_inline(sheet: Sheet, element: int, kind: int, state: State) -> State:
    """Note a tag that breaks no line, or is a ``<br>``: two of these end a block."""
    depth, containers, count, (last, size, gap), is_open, tags, inner, breaks, link_depth = state
    if element == _A:
        link_depth = 0 if kind == CLOSE else depth
    elif element == _BR:
        breaks += 1
        if is_open:
            sheet.blocks[count - 1, BREAKS] += 1
            if sheet.tree.flags[sheet.stack[depth - 1]] & PRE:
                sheet.out[size] = 10
                size += 1
        gap = 2
        is_open = is_open and breaks < 2
    return State(depth, containers, count, Pen(last, size, gap), is_open, tags, inner + 1, breaks, link_depth)


@inlined
def read_container(sheet: Sheet, at: int, element: int, kind: int, state: State) -> State:
    """Open or close a container by tag ``at``; a block ends there."""
    depth, containers, count, pen, is_open, tags, inner, breaks, link_depth = state
    tree, stack = sheet.tree, sheet.stack
    if is_open:
        sheet.blocks[count - 1, INNER] += inner
        inner = 0
    if kind == CLOSE:
        depth = close_element(tree.element, stack, depth, element)
    elif not VOID[element]:
        while depth > 1 and closes(tree.element[stack[depth - 1]], element):
            depth -= 1
        if depth < MAX_DEPTH:
            open_container(sheet.page, sheet.tokens, sheet.attributes, at, tree, containers, stack[depth - 1])
            stack[depth] = containers
            depth += 1
            containers += 1
    link_depth = 0 if link_depth > depth else link_depth
    return State(depth, containers, count, pen, False, tags + 1, inner, breaks, link_depth)


@kernel
def build_blocks(
    page: Array, tokens: Array, attributes: Array, known: Known, noscript: bool, tree: Tree, blocks: Array,
    remarks: Array, out: Array,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Write containers, blocks, comments that may mark content, and the texts of blocks; return how much of each.

    Words stand apart where white space or a ``<br>`` stood between them: a tag or a comment alone parts no word. White
    space is folded, but for preformatted text. BLOCK_END stands between the texts.
    REQUIRES: the arrays of containers have room for one more than there are tokens, ``blocks`` for every text, at most
    MAX_BLOCKS; ``out`` for the page and one byte more for each block; ``known`` is by remember_words.
    """
    stack, unclosed = np.empty(MAX_DEPTH, np.int32), np.zeros(256, np.uint8)
    stack[0] = 0
    tree.parent[0], tree.element[0], tree.flags[0], tree.opened[0], tree.words_end[0] = 0, 1, 0, 0, 0
    sheet = Sheet(page, tokens, attributes, known, tree, blocks, out, stack)
    state = State(1, 1, 0, Pen(0, 0, 0), False, 0, 0, 0, 0)
    noted, at, end = 0, -1, tokens.shape[0] - 2
    while at < end:
        at += 1
        kind = tokens[at, KIND]
        if kind == TEXT_TOKEN:
            state = read_text(sheet, at, state)
        elif kind == COMMENT:
            noted = note_remark(page, tokens, at, remarks, noted)
        elif kind == OPEN or kind == CLOSE:
            if is_unread(tokens, at, noscript):
                at = after_unread(tokens, at, unclosed)
                continue
            element = tokens[at, ELEMENT_] & _NAME
            if not INLINE[element]:
                state = read_container(sheet, at, element, kind, state)
                continue
            state = read_inline(sheet, element, kind, state)
            if element == _A and kind == OPEN and is_permalink(page, tokens, attributes, at):
                at += 1
    size = end_text(blocks[state.made - 1], out, state.pen.size) if state.made else state.pen.size
    return state.containers, state.made, noted, size
