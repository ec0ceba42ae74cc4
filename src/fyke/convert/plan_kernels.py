"""Tagged text from canonical markup, planned: which tags open and close where, which text and space stand between.

The output keeps the elements of ``NAMES``; everything else is transparent, a break between blocks, or dropped
with its content (``markup_kernels.KINDS``). How this stays linear and well-formed, whatever comes:

- Open blocks are a stack (``MAX_DEPTH``; deeper ones are transparent). A block is opened when its first content
  comes: an empty one never is. Text outside of any block that holds text gets a ``p`` of its own.
- Inline tags are no stack but a wish (which link, strong or not, em or not) that is compared with what is
  open whenever text comes: so they close at block boundaries and open again after them, in one order.
- White space is a wish too: a space, or a line break of level 1 (line) or 2 (paragraph), before the next text.
- Links that open again and again are paid from an allowance of the input's length.

A plan is one array of integers: counters, three stacks, then the steps, three numbers each: what, a, b.
(One array, since a call costs what its arguments cost.) ``write_kernels`` carries it out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fyke.bits.jit import inlined, leaf

from fyke.convert.markup_kernels import (  # isort: skip
    A, ALT, BR, BREAK, DROP, EM, HREF, IMG, LI, NAMES, OL, PRE, RAW, STRONG, TD, TH, TR, UL, P, Bytes,
    attribute, element_end, find, is_safe, is_space, kind_of, markup_end, raw_end, read_entity, read_name, tag_end,
)  # fmt: skip

Plan = NDArray[np.int32]

MAX_DEPTH = 256
"""Blocks within blocks that are kept; browsers stop at 512 elements."""
MAX_MARKUP = 1 << 28
"""Bytes of a page: what a plan says of it fits in 32 bits, and half the numbers are half the cache."""
MAX_TARGET = 2048
"""A longer link target is not kept in the markup (it stays among the document's links)."""

TAG_BYTES = 16
"""Room for any tag: all of it is copied at once, which is cheaper than to count; what is too much is overwritten."""
TAGS = np.zeros((2, len(NAMES), TAG_BYTES), np.uint8)
"""Start tags and end tags."""
TAG_LENGTHS = np.array([[len(name) + 2 for name in NAMES], [len(name) + 3 for name in NAMES]], np.int64)
for _i, _n in enumerate(NAMES):
    for _j, _tag in enumerate((f"<{_n}>", f"</{_n}>")):
        TAGS[_j, _i, : len(_tag)] = np.frombuffer(_tag.encode(), np.uint8)
# How far a block stands from its neighbours in plain text: 2 is an empty line.
_LEVELS = np.array([1 if name in {"li", "tr", "td", "th"} else 2 for name in NAMES], np.int64)
# Blocks that hold text themselves.
_HOLDS = np.array([name[0] == "h" or name in {"p", "li", "td", "th", "caption", "pre"} for name in NAMES])
_OWN = 100  # added to P for a paragraph that the source has not
_AS = 0  # the compiler makes a function anew for each literal argument; a sum is no literal

# The steps of a plan.
DO_OPEN, DO_CLOSE, DO_LINK, DO_IMAGE, DO_TEXT, DO_PRE_TEXT, DO_BLANK, DO_LINES, DO_TAB, DO_BR = range(10)

# The counters of a plan.
(
    STEPS,  # steps so far
    _HTML,  # bytes of HTML they will write, at most
    _PLAIN,  # bytes of text, at most
    _TAGS,  # tags they will record
    _DEPTH,  # open blocks
    _OPENED,  # of which so many have their step
    _OVER,  # open blocks beyond MAX_DEPTH
    _SPACE,  # a space is due
    _LINES,  # a line break of this level is due
    _BRS,  # so many <br> are due
    _INLINE,  # inline content stands since the last block boundary
    _FRESH,  # in a table cell that has no content yet
    _WANT_A,  # the wished link: where its target begins in the source, -1 for none
    _WANT_END,
    _WANT_STRONG,  # depth of strong
    _WANT_EM,
    _HAS_A,  # what is open: the same
    _A_STEP,  # the steps that opened them, -1 for none
    _STRONG_STEP,
    _EM_STEP,
    _ALLOWANCE,  # bytes left for links
    _PRES,  # open pre blocks: white space counts
    _KINDS,  # stack: kinds of the open blocks
) = range(23)
_OPENERS = _KINDS + MAX_DEPTH + 2  # stack: the steps that opened them
_CELLS = _OPENERS + MAX_DEPTH + 2  # stack: cells so far, where the block is a row
FIRST = _CELLS + MAX_DEPTH + 2
_MARGIN = 3 * (2 * MAX_DEPTH + 32)  # what one element can add


def empty_plan(source: bytes, steps: int) -> Plan:
    """Return an empty plan for ``source`` with room for so many steps. REQUIRES: at most MAX_MARKUP bytes."""
    plan = np.empty(FIRST + _MARGIN + 3 * steps, np.int32)
    plan[:FIRST] = 0
    for unset in (_WANT_A, _HAS_A, _A_STEP, _STRONG_STEP, _EM_STEP):
        plan[unset] = -1
    plan[_ALLOWANCE] = len(source)
    return plan


def sizes(plan: Plan) -> tuple[int, int, int]:
    """Return how many bytes of HTML, bytes of text and tags a plan will write, at most."""
    return int(plan[_HTML]) + TAG_BYTES, int(plan[_PLAIN]), int(plan[_TAGS])


@inlined
def _step(plan: Plan, what: int, a: int, b: int, html: int, plain: int) -> int:
    """Add a step that writes so many bytes at most; return its place."""
    at = FIRST + 3 * plan[STEPS]
    plan[at] = what
    plan[at + 1] = a
    plan[at + 2] = b
    plan[STEPS] += 1
    plan[_HTML] += html
    plan[_PLAIN] += plain
    return int(at)


@leaf
def _open(plan: Plan, kind: int) -> int:
    plan[_TAGS] += 1
    return _step(plan, DO_OPEN + _AS, kind, 0 + _AS, TAG_LENGTHS[0, kind], 0 + _AS)


@inlined
def _close(plan: Plan, opener: int) -> None:
    if opener >= 0:
        _step(plan, DO_CLOSE + _AS, opener, 0 + _AS, 13 + _AS, 0 + _AS)


@leaf
def _close_inline(plan: Plan, upto: int) -> None:
    """Close em, then strong if ``upto`` ≥ 1, then the link if ``upto`` ≥ 2."""
    _close(plan, plan[_EM_STEP])
    plan[_EM_STEP] = -1
    if upto >= 1:
        _close(plan, plan[_STRONG_STEP])
        plan[_STRONG_STEP] = -1
    if upto >= 2:
        _close(plan, plan[_A_STEP])
        plan[_A_STEP] = plan[_HAS_A] = -1


@inlined
def _break(plan: Plan, level: int) -> None:
    """Let a line break of ``level`` be due."""
    plan[_SPACE] = 0
    if not plan[_FRESH] and plan[_LINES] < level:
        plan[_LINES] = level


@leaf
def _end_lines(plan: Plan) -> None:
    """Write the line breaks that are due into the text, unless nothing stands before them."""
    if plan[_LINES] and plan[_PLAIN] > 0:
        _step(plan, DO_LINES + _AS, plan[_LINES], 0 + _AS, 0 + _AS, plan[_LINES])
    plan[_LINES] = 0


@leaf
def _open_blocks(plan: Plan) -> None:
    """Open the blocks that have no step yet."""
    _end_lines(plan)
    for d in range(plan[_OPENED], plan[_DEPTH]):
        plan[_OPENERS + d] = _open(plan, plan[_KINDS + d] % _OWN)
    plan[_OPENED] = plan[_DEPTH]
    plan[_INLINE] = plan[_BRS] = 0


@leaf
def _pop(plan: Plan) -> None:
    """Close the innermost block."""
    _close_inline(plan, 2 + _AS)
    d = plan[_DEPTH] - 1
    if d < plan[_OPENED]:
        _close(plan, plan[_OPENERS + d])
        plan[_OPENED] = d
        plan[_INLINE] = plan[_BRS] = 0
    plan[_DEPTH] = d
    plan[_PRES] -= plan[_KINDS + d] == PRE


@leaf
def _boundary(plan: Plan) -> None:
    """Between blocks: a paragraph of our own ends."""
    if plan[_DEPTH] > 0 and plan[_KINDS + plan[_DEPTH] - 1] >= _OWN:
        _pop(plan)


@inlined
def _push(plan: Plan, kind: int) -> None:
    d = plan[_DEPTH]
    plan[_KINDS + d] = kind
    plan[_CELLS + d] = 0
    plan[_DEPTH] = d + 1


@leaf
def _prepare(plan: Plan) -> None:
    """Plan whatever must stand before the next text: breaks, blocks, a space, inline tags."""
    if plan[_DEPTH] == 0 or not _HOLDS[plan[_KINDS + plan[_DEPTH] - 1] % _OWN]:
        _push(plan, P + _OWN)
    if plan[_OPENED] < plan[_DEPTH]:
        _close_inline(plan, 2 + _AS)
        _open_blocks(plan)
    elif plan[_HAS_A] != plan[_WANT_A]:
        _close_inline(plan, 2 + _AS)
    elif (plan[_STRONG_STEP] >= 0) != (plan[_WANT_STRONG] > 0):
        _close_inline(plan, 1 + _AS)
    elif plan[_WANT_EM] == 0 and plan[_EM_STEP] >= 0:
        _close_inline(plan, 0 + _AS)
    if plan[_LINES]:
        if plan[_INLINE]:
            for _ in range(min(max(plan[_BRS], 1), 2)):  # one at least: no block stands between
                _step(plan, DO_BR + _AS, 0 + _AS, 0 + _AS, 4 + _AS, 0 + _AS)
        _end_lines(plan)
    elif plan[_SPACE] and plan[_INLINE]:
        _step(plan, DO_BLANK + _AS, 0 + _AS, 0 + _AS, 1 + _AS, 1 + _AS)
    plan[_SPACE] = plan[_BRS] = plan[_FRESH] = 0
    plan[_INLINE] = 1
    if plan[_HAS_A] != plan[_WANT_A]:
        _open_link(plan)
    if plan[_WANT_STRONG] > 0 and plan[_STRONG_STEP] < 0:
        plan[_STRONG_STEP] = _open(plan, STRONG + _AS)
    if plan[_WANT_EM] > 0 and plan[_EM_STEP] < 0:
        plan[_EM_STEP] = _open(plan, EM + _AS)


@leaf
def _open_link(plan: Plan) -> None:
    length = plan[_WANT_END] - plan[_WANT_A] + 10
    if length > MAX_TARGET or plan[_ALLOWANCE] < length:
        plan[_WANT_A] = -1
        return
    plan[_ALLOWANCE] -= length
    plan[_HAS_A] = plan[_WANT_A]
    plan[_A_STEP] = _open(plan, A + _AS)
    _step(plan, DO_LINK + _AS, plan[_WANT_A], plan[_WANT_END], length, 0 + _AS)


@leaf
def _text(source: Bytes, i: int, end: int, plan: Plan) -> None:
    """Plan ``source[i:end]``, which is text with entities."""
    pre = plan[_PRES] > 0
    while i < end:
        char, step = read_entity(source, i, end)
        if char > 32 or (pre and is_space(char)):
            break
        if is_space(char):
            plan[_SPACE] = 1
        i += step
    if i < end:
        _prepare(plan)
        _step(plan, (DO_PRE_TEXT if pre else DO_TEXT) + _AS, i, end, end - i, end - i)
        plan[_SPACE] = not pre and is_space(np.int64(source[end - 1]))


@leaf
def _image(source: Bytes, start: int, end: int, plan: Plan) -> None:
    """Plan an image as its alternative text."""
    while start < end and source[start] <= 32:
        start += 1
    if start < end and end - start <= MAX_TARGET:
        _prepare(plan)
        plan[_TAGS] += 1
        _step(plan, DO_IMAGE + _AS, start, end, end - start + 12, end - start)


@leaf
def _start_cell(plan: Plan, kind: int) -> None:
    """Plan a table cell: it counts though it be empty, and stands behind a tab in its row."""
    top = plan[_DEPTH] - 1
    if top >= 0 and plan[_KINDS + top] == TR:
        if plan[_CELLS + top] > 0:
            plan[_LINES] = 0
            _step(plan, DO_TAB + _AS, 0 + _AS, 0 + _AS, 0 + _AS, 1 + _AS)
        plan[_CELLS + top] += 1
    _push(plan, kind)
    _open_blocks(plan)
    plan[_SPACE] = 0
    plan[_FRESH] = 1


@leaf
def _start_block(plan: Plan, kind: int) -> None:
    _boundary(plan)
    if plan[_DEPTH] >= MAX_DEPTH:
        plan[_OVER] += 1
        _break(plan, _LEVELS[LI])
    elif kind == TD or kind == TH:
        _start_cell(plan, kind)
    else:
        in_item = plan[_DEPTH] > 0 and plan[_KINDS + plan[_DEPTH] - 1] == LI
        _break(plan, _LEVELS[LI if in_item and (kind == UL or kind == OL) else kind])
        _push(plan, kind)
        plan[_PRES] += kind == PRE


@leaf
def _end_block(plan: Plan, kind: int) -> None:
    _boundary(plan)
    if plan[_OVER] > 0:
        plan[_OVER] -= 1
    elif plan[_DEPTH] > 0 and plan[_KINDS + plan[_DEPTH] - 1] == kind:
        _pop(plan)
    if kind == TD or kind == TH:
        plan[_FRESH] = 0
    in_item = plan[_DEPTH] > 0 and plan[_KINDS + plan[_DEPTH] - 1] == LI
    _break(plan, _LEVELS[LI if in_item and (kind == UL or kind == OL) else kind])


@leaf
def _between(plan: Plan) -> None:
    """A block begins or ends that is not kept itself."""
    _boundary(plan)
    plan[_BRS] = max(plan[_BRS], 1)
    _break(plan, _LEVELS[LI])


@leaf
def _start(source: Bytes, i: int, kind: int, name: int, plan: Plan) -> int:
    """Plan the start tag whose name ends at ``i``; return where to go on."""
    if kind == A:
        start, end = attribute(source, i, HREF + _AS)
        plan[_WANT_A] = start if start >= 0 and is_safe(source, start, end) else -1
        plan[_WANT_END] = end
        return tag_end(source, max(i, end + 1))
    after = tag_end(source, i)
    if kind < A:
        _start_block(plan, kind)
    elif kind == STRONG:
        plan[_WANT_STRONG] += 1
    elif kind == EM:
        plan[_WANT_EM] += 1
    elif kind == IMG:
        start, end = attribute(source, i, ALT + _AS)
        _image(source, start, end, plan)
    elif kind == BR:
        plan[_BRS] += 1
        _break(plan, min(plan[_BRS], _LEVELS[P]))
    elif kind == BREAK:
        _between(plan)
    elif kind == DROP:
        return element_end(source, after, name)
    elif kind == RAW:
        return raw_end(source, after, name)
    return after


@leaf
def _end(plan: Plan, kind: int) -> None:
    if kind < A:
        _end_block(plan, kind)
    elif kind == A:
        plan[_WANT_A] = -1
    elif kind == STRONG:
        plan[_WANT_STRONG] -= plan[_WANT_STRONG] > 0
    elif kind == EM:
        plan[_WANT_EM] -= plan[_WANT_EM] > 0
    elif kind == BREAK:
        _between(plan)


@leaf
def make_plan(source: Bytes, plan: Plan) -> bool:
    """Fill ``plan``, which is empty, from canonical markup; False where it has too little room."""
    i, n = 0, len(source)
    while i < n:
        if FIRST + 3 * plan[STEPS] + _MARGIN > len(plan):
            return False
        start = i
        i = find(source, i, 60 + _AS)
        if i > start:
            _text(source, start, i, plan)
        if i + 1 >= n:
            break
        if source[i + 1] == 33 or source[i + 1] == 63:
            i = markup_end(source, i)
        elif source[i + 1] == 47:
            name, i = read_name(source, i + 2)
            i = tag_end(source, i)
            _end(plan, kind_of(name))
        else:
            name, i = read_name(source, i + 1)
            i = _start(source, i, kind_of(name), name, plan)
    while plan[_DEPTH] > 0:
        _pop(plan)
    return True
