"""A plan of tagged text: which tags open and close where, which text and space stand between. Its state and steps.

The output keeps the elements of ``NAMES``; everything else is transparent, a break between blocks, or dropped
with its content (``markup_kernels.KINDS``). How this stays linear and well-formed, whatever comes:

- Open blocks are a stack (``MAX_DEPTH``; deeper ones are transparent). A block is opened when its first content
  comes: an empty one never is. Text outside of any block that holds text gets a ``p`` of its own.
- Inline tags are no stack but a wish (which link, strong or not, em or not, …) that is compared with what is
  open whenever text comes: so they close at block boundaries and open again after them, in one order.
  Inside code no other wish is heard: code is of one piece.
- White space is a wish too: a space, or a line break of level 1 (line) or 2 (paragraph), before the next text.
- Links that open again and again are paid from an allowance of the input's length.

A plan is one array of integers: counters, three stacks, then the steps, three numbers each: what, a, b.
(One array, since a call costs what its arguments cost.) ``tag_kernels`` fills it, ``write_kernels`` carries it out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fyke.bits.jit import inlined, leaf
from fyke.convert.markup_kernels import CODE, DEL, EM, NAMES, PRE, STRONG, SUB, SUP, A, P

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
DISTANCES = np.array([1 if name in {"li", "tr", "td", "th"} else 2 for name in NAMES], np.int64)
# Blocks that hold text themselves.
HOLDS = np.array([name[0] == "h" or name in {"p", "li", "td", "th", "caption", "pre"} for name in NAMES])
OWN = 100  # added to P for a paragraph that the source has not
AS = 0  # the compiler makes a function anew for each literal argument; a sum is no literal

_STYLES = np.array([STRONG, EM, DEL, SUP, SUB, CODE], np.int64)
"""Inline elements that are wished for, the outermost first; their places here are levels."""
LEVEL_OF = np.full(256, -1, np.int64)
LEVEL_OF[_STYLES] = np.arange(len(_STYLES))
CODE_LEVEL = len(_STYLES) - 1

# The steps of a plan. Those from DO_LINK to DO_SPAN give the last tag an attribute, in the order of ATTRIBUTES.
(
    DO_LINK, DO_TITLE, DO_SRC, DO_START, DO_COLSPAN, DO_ROWSPAN, DO_ALIGN, DO_LANGUAGE, DO_OPEN, DO_CLOSE, DO_IMAGE,
    DO_TEXT, DO_PRE_TEXT, DO_BLANK, DO_LINES, DO_TAB, DO_BR, DO_RULE, DO_CHECK,
) = range(19)  # fmt: skip
ATTRIBUTES = (
    ' href="', ' title="', ' src="', ' start="', ' colspan="', ' rowspan="', ' align="', ' class="language-'
)  # fmt: skip
_OPENING = 20
"""Bytes of an attribute beside its value, at most."""

# The counters of a plan.
(
    STEPS,  # steps so far
    _HTML,  # bytes of HTML they will write, at most
    _PLAIN,  # bytes of text, at most
    TAG_COUNT,  # tags they will record
    DEPTH,  # open blocks
    OPENED,  # of which so many have their step
    OVER,  # open blocks beyond MAX_DEPTH
    SPACE,  # a space is due
    LINES,  # a line break of this level is due
    BRS,  # so many <br> are due
    _INLINE,  # inline content stands since the last block boundary
    FRESH,  # in a table cell that has no content yet
    WANT_A,  # the wished link: where its target begins in the source, -1 for none
    WANT_END,
    WANT_TITLE,  # the wished link's title, -1 for none
    WANT_TITLE_END,
    _HAS_A,  # the open link: where its target begins
    _A_STEP,  # the step that opened it, -1 for none
    IN_CODE,  # the levels that were wished for when code began, as bits; -1 outside of code
    HEAD,  # in a table's head
    FORMULA,  # the code that is wished for is a formula
    _ALLOWANCE,  # bytes left for links
    PRES,  # open pre blocks: white space counts
    LEFT_OUT,  # addresses and titles that were too long
    WANT,  # how often each style is wished for
) = range(25)
_STEP_OF = WANT + len(_STYLES)  # the steps that opened styles, -1 for none
KINDS = _STEP_OF + len(_STYLES)  # stack: kinds of the open blocks
_OPENERS = KINDS + MAX_DEPTH + 2  # stack: the steps that opened them
VALUES = _OPENERS + MAX_DEPTH + 2  # stack: where an attribute of theirs begins, -1 for none
VALUE_ENDS = VALUES + MAX_DEPTH + 2  # stack: and ends
CELLS = VALUE_ENDS + MAX_DEPTH + 2  # stack: cells so far, where the block is a row
FIRST = CELLS + MAX_DEPTH + 2
MARGIN = 3 * (2 * MAX_DEPTH + 32)  # what one element can add


def empty_plan(source: bytes, steps: int) -> Plan:
    """Return an empty plan for ``source`` with room for so many steps. REQUIRES: at most MAX_MARKUP bytes."""
    plan = np.empty(FIRST + MARGIN + 3 * steps, np.int32)
    plan[:FIRST] = 0
    for unset in (WANT_A, WANT_TITLE, _HAS_A, _A_STEP, IN_CODE):
        plan[unset] = -1
    plan[_STEP_OF : _STEP_OF + len(_STYLES)] = -1
    plan[_ALLOWANCE] = len(source)
    return plan


def sizes(plan: Plan) -> tuple[int, int, int]:
    """Return how many bytes of HTML, bytes of text and tags a plan will write, at most."""
    return int(plan[_HTML]) + TAG_BYTES, int(plan[_PLAIN]), int(plan[TAG_COUNT])


@inlined
def add_step(plan: Plan, what: int, a: int, b: int, html: int, plain: int) -> int:
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
def open_tag(plan: Plan, kind: int) -> int:
    """Plan a start tag; return its step."""
    plan[TAG_COUNT] += 1
    return add_step(plan, DO_OPEN + AS, kind, 0 + AS, TAG_LENGTHS[0, kind], 0 + AS)


@inlined
def close_tag(plan: Plan, opener: int) -> None:
    """Plan the end tag of what the step ``opener`` opened; nothing for -1."""
    if opener >= 0:
        add_step(plan, DO_CLOSE + AS, opener, 0 + AS, 13 + AS, 0 + AS)


@leaf
def add_attribute(plan: Plan, what: int, start: int, end: int) -> None:
    """Give the tag that was opened last an attribute."""
    add_step(plan, what, start, end, end - start + _OPENING, 0 + AS)


@leaf
def close_inline(plan: Plan, level: int) -> None:
    """Close the styles from the innermost to ``level``, and with -1 the link too."""
    for at in range(_STEP_OF + CODE_LEVEL, _STEP_OF + max(level, 0) - 1, -1):
        close_tag(plan, plan[at])
        plan[at] = -1
    if level < 0:
        close_tag(plan, plan[_A_STEP])
        plan[_A_STEP] = plan[_HAS_A] = -1


@inlined
def _wished(plan: Plan, level: int) -> bool:
    if plan[IN_CODE] >= 0 and level != CODE_LEVEL:
        return bool(plan[IN_CODE] >> level & 1)
    return bool(plan[WANT + level] > 0)


@inlined
def break_lines(plan: Plan, level: int) -> None:
    """Let a line break of ``level`` be due."""
    plan[SPACE] = 0
    if not plan[FRESH] and plan[LINES] < level:
        plan[LINES] = level


@leaf
def _end_lines(plan: Plan) -> None:
    """Write the line breaks that are due into the text, unless nothing stands before them."""
    if plan[LINES] and plan[_PLAIN] > 0:
        add_step(plan, DO_LINES + AS, plan[LINES], 0 + AS, 0 + AS, plan[LINES])
    plan[LINES] = 0


@leaf
def open_blocks(plan: Plan) -> None:
    """Open the blocks that have no step yet."""
    _end_lines(plan)
    for d in range(plan[OPENED], plan[DEPTH]):
        kind = plan[KINDS + d] % OWN
        plan[_OPENERS + d] = open_tag(plan, kind)
        if plan[VALUES + d] >= 0:
            add_attribute(plan, (DO_LANGUAGE if kind == PRE else DO_START) + AS, plan[VALUES + d], plan[VALUE_ENDS + d])
    plan[OPENED] = plan[DEPTH]
    plan[_INLINE] = plan[BRS] = 0


@leaf
def pop_block(plan: Plan) -> None:
    """Close the innermost block."""
    close_inline(plan, -1 + AS)
    d = plan[DEPTH] - 1
    if d < plan[OPENED]:
        close_tag(plan, plan[_OPENERS + d])
        plan[OPENED] = d
        plan[_INLINE] = plan[BRS] = 0
    plan[DEPTH] = d
    plan[PRES] -= plan[KINDS + d] == PRE


@leaf
def boundary(plan: Plan) -> None:
    """Between blocks: a paragraph of our own ends."""
    if plan[DEPTH] > 0 and plan[KINDS + plan[DEPTH] - 1] >= OWN:
        pop_block(plan)


@inlined
def push_block(plan: Plan, kind: int) -> None:
    """Let a block be open; its tag is planned when its first content comes."""
    d = plan[DEPTH]
    plan[KINDS + d] = kind
    plan[CELLS + d] = 0
    plan[VALUES + d] = -1
    plan[DEPTH] = d + 1


@leaf
def prepare(plan: Plan) -> None:
    """Plan whatever must stand before the next text: breaks, blocks, a space, inline tags."""
    if plan[DEPTH] == 0 or not HOLDS[plan[KINDS + plan[DEPTH] - 1] % OWN]:
        push_block(plan, P + OWN)
    if plan[OPENED] < plan[DEPTH]:
        close_inline(plan, -1 + AS)
        open_blocks(plan)
    elif plan[_HAS_A] != plan[WANT_A]:
        close_inline(plan, -1 + AS)
    else:
        for level in range(CODE_LEVEL + 1):
            if (plan[_STEP_OF + level] >= 0) != _wished(plan, level):
                close_inline(plan, level)
                break
    if plan[LINES]:
        if plan[_INLINE]:
            for _ in range(min(max(plan[BRS], 1), 2)):  # one at least: no block stands between
                add_step(plan, DO_BR + AS, 0 + AS, 0 + AS, 4 + AS, 0 + AS)
        _end_lines(plan)
    elif plan[SPACE] and plan[_INLINE]:
        add_step(plan, DO_BLANK + AS, 0 + AS, 0 + AS, 1 + AS, 1 + AS)
    plan[SPACE] = plan[BRS] = plan[FRESH] = 0
    plan[_INLINE] = 1
    if plan[_HAS_A] != plan[WANT_A]:
        _open_link(plan)
    for level in range(CODE_LEVEL + 1):
        if plan[_STEP_OF + level] < 0 and _wished(plan, level):
            plan[_STEP_OF + level] = open_tag(plan, _STYLES[level])
            if level == CODE_LEVEL and plan[FORMULA]:
                add_step(plan, DO_LANGUAGE + AS, -1 + AS, -1 + AS, 26 + AS, 0 + AS)


@leaf
def _open_link(plan: Plan) -> None:
    length = plan[WANT_END] - plan[WANT_A] + 10
    if length > MAX_TARGET or plan[_ALLOWANCE] < length:
        plan[LEFT_OUT] += 1
        plan[WANT_A] = -1
        return
    plan[_ALLOWANCE] -= length
    plan[_HAS_A] = plan[WANT_A]
    plan[_A_STEP] = open_tag(plan, A + AS)
    add_attribute(plan, DO_LINK + AS, plan[WANT_A], plan[WANT_END])
    length = plan[WANT_TITLE_END] - plan[WANT_TITLE]
    if plan[WANT_TITLE] >= 0 and 0 < length <= MAX_TARGET and plan[_ALLOWANCE] >= length:
        plan[_ALLOWANCE] -= length
        add_attribute(plan, DO_TITLE + AS, plan[WANT_TITLE], plan[WANT_TITLE_END])
    elif plan[WANT_TITLE] >= 0 and length > MAX_TARGET:
        plan[LEFT_OUT] += 1
