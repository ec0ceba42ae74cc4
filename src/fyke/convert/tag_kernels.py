"""Tagged text from canonical markup, planned: what each tag and each text does to the plan."""

from __future__ import annotations

import numpy as np

from fyke.bits.jit import leaf

from fyke.convert.markup_kernels import (  # isort: skip
    A, ALT, ALTTEXT, BR, BREAK, CHECKED, CLASS, CODE, COLSPAN, DROP, HR, HREF, IMG, INPUT, LI, MATH, OL, PRE,
    RAW, ROWSPAN, SPAN, START, TD, TH, THEAD, TITLE, TR, TYPE, UL, P, Bytes, alignment, attribute, element_end,
    find, is_class, is_safe, is_space, kind_of, language, markup_end, number, picture, raw_end, read_entity,
    read_name, tag_end,
)  # fmt: skip
from fyke.convert.plan_kernels import (  # isort: skip
    AS, BRS, CELLS, CODE_LEVEL, DEPTH, DISTANCES, DO_ALIGN, DO_CHECK, DO_COLSPAN, DO_IMAGE, DO_LANGUAGE, DO_PRE_TEXT,
    DO_ROWSPAN, DO_RULE, DO_SRC, DO_TAB, DO_TEXT, DO_TITLE, FIRST, FORMULA, FRESH, HEAD, HOLDS, IN_CODE, KINDS,
    LEFT_OUT, LEVEL_OF, LINES, MARGIN, MAX_DEPTH, MAX_TARGET, OPENED, OVER, OWN, PRES, SPACE, STEPS, TAG_COUNT, VALUES,
    VALUE_ENDS, WANT,
    WANT_A, WANT_END, WANT_TITLE, WANT_TITLE_END, Plan, add_attribute, add_step, boundary, break_lines, close_inline,
    close_tag, open_blocks, open_tag, pop_block, prepare, push_block,
)  # fmt: skip

_KATEX, _FALLBACK = np.array(list(b"katex-html"), np.uint8), np.array(list(b"mwe-math-fallback-image"), np.uint8)
"""Classes of what shows a formula to the eye, behind its MathML."""


@leaf
def _text(source: Bytes, i: int, end: int, plan: Plan) -> None:
    """Plan ``source[i:end]``, which is text with entities."""
    pre = plan[PRES] > 0
    while i < end:
        char, step = read_entity(source, i, end)
        if char > 32 or (pre and is_space(char)):
            break
        if is_space(char):
            plan[SPACE] = 1
        i += step
    if i < end:
        prepare(plan)
        add_step(plan, (DO_PRE_TEXT if pre else DO_TEXT) + AS, i, end, end - i, end - i)
        last = np.int64(source[end - 1])
        no_break = last == 59 and end - i > 6 and source[end - 6] == 38 and source[end - 5] == 110  # &nbsp;
        plan[SPACE] = not pre and (is_space(last) or no_break)


@leaf
def _silently(plan: Plan) -> None:
    """Plan what must stand before something that has no text: no line break is written for it."""
    lines, fresh = plan[LINES], plan[FRESH]
    plan[LINES] = 0
    prepare(plan)
    plan[LINES], plan[FRESH] = lines, fresh


@leaf
def _image(source: Bytes, i: int, plan: Plan) -> None:
    """Plan an image whose tag's name ends at ``i``: its source, and its alternative text as text."""
    start, end = attribute(source, i, ALT + AS)
    while start < end and source[start] <= 32:
        start += 1
    if start < 0 or end - start > MAX_TARGET:
        plan[LEFT_OUT] += start >= 0
        start = end = 0
    begin, stop = picture(source, i)
    if stop - begin > MAX_TARGET:
        plan[LEFT_OUT] += 1
        begin = stop = 0
    if start < end:
        prepare(plan)
    elif begin < stop:
        _silently(plan)
    else:
        return
    plan[TAG_COUNT] += 1
    add_step(plan, DO_IMAGE + AS, start, end, end - start + 13, end - start)
    if begin < stop:
        add_attribute(plan, DO_SRC + AS, begin, stop)
        start, end = attribute(source, i, TITLE + AS)
        if 0 <= start < end <= start + MAX_TARGET:
            add_attribute(plan, DO_TITLE + AS, start, end)


@leaf
def _rule(plan: Plan) -> None:
    """Plan a rule between blocks, unless it stands in a line of text."""
    _between(plan)
    if plan[DEPTH] > 0 and HOLDS[plan[KINDS + plan[DEPTH] - 1] % OWN] and plan[KINDS + plan[DEPTH] - 1] != LI:
        return
    close_inline(plan, -1 + AS)
    lines, fresh = plan[LINES], plan[FRESH]
    plan[LINES] = 0
    open_blocks(plan)
    plan[LINES], plan[FRESH] = lines, fresh
    plan[TAG_COUNT] += 1
    add_step(plan, DO_RULE + AS, 0 + AS, 0 + AS, 4 + AS, 0 + AS)


@leaf
def _check_box(source: Bytes, i: int, plan: Plan) -> None:
    """Plan the box of an item that can be ticked off."""
    start, end = attribute(source, i, TYPE + AS)
    in_item = plan[DEPTH] > 0 and plan[KINDS + plan[DEPTH] - 1] == LI
    if in_item and end - start == 8 and source[start] == 99:  # checkbox
        prepare(plan)
        add_step(plan, DO_CHECK + AS, attribute(source, i, CHECKED + AS)[0] >= 0, 0 + AS, 3 + AS, 3 + AS)
        plan[SPACE] = 1


@leaf
def _formula(source: Bytes, start: int, end: int, plan: Plan) -> None:
    """Plan a formula as code in the language of mathematics."""
    prepare(plan)
    close_inline(plan, 0 + AS)
    opener = open_tag(plan, CODE + AS)
    add_step(plan, DO_LANGUAGE + AS, -1 + AS, -1 + AS, 26 + AS, 0 + AS)
    add_step(plan, DO_TEXT + AS, start, end, end - start, end - start)
    close_tag(plan, opener)


@leaf
def _start_cell(plan: Plan, kind: int) -> None:
    """Plan a table cell: it counts though it be empty, and stands behind a tab in its row."""
    top = plan[DEPTH] - 1
    if top >= 0 and plan[KINDS + top] == TR:
        if plan[CELLS + top] > 0:
            plan[LINES] = 0
            add_step(plan, DO_TAB + AS, 0 + AS, 0 + AS, 0 + AS, 1 + AS)
        plan[CELLS + top] += 1
    push_block(plan, kind)
    open_blocks(plan)
    plan[SPACE] = 0
    plan[FRESH] = 1


@leaf
def _start_block(plan: Plan, kind: int) -> None:
    boundary(plan)
    if plan[DEPTH] >= MAX_DEPTH:
        plan[OVER] += 1
        break_lines(plan, DISTANCES[LI])
    elif kind == TD or kind == TH:
        _start_cell(plan, TH + AS if plan[HEAD] else kind)
    else:
        in_item = plan[DEPTH] > 0 and plan[KINDS + plan[DEPTH] - 1] == LI
        break_lines(plan, DISTANCES[LI if in_item and (kind == UL or kind == OL) else kind])
        push_block(plan, kind)
        plan[PRES] += kind == PRE


@leaf
def _end_block(plan: Plan, kind: int) -> None:
    boundary(plan)
    if plan[OVER] > 0:
        plan[OVER] -= 1
    elif plan[DEPTH] > 0:
        top = plan[KINDS + plan[DEPTH] - 1]
        if top == kind or (top == TH and kind == TD):
            pop_block(plan)
    if kind == TD or kind == TH:
        plan[FRESH] = 0
    in_item = plan[DEPTH] > 0 and plan[KINDS + plan[DEPTH] - 1] == LI
    break_lines(plan, DISTANCES[LI if in_item and (kind == UL or kind == OL) else kind])


@leaf
def _between(plan: Plan) -> None:
    """A block begins or ends that is not kept itself."""
    boundary(plan)
    plan[BRS] = max(plan[BRS], 1)
    break_lines(plan, DISTANCES[LI])


@leaf
def _span(source: Bytes, i: int, plan: Plan) -> None:
    """Plan how far the cell reaches that was just opened."""
    for what, name in ((DO_COLSPAN, COLSPAN), (DO_ROWSPAN, ROWSPAN)):
        start, end = attribute(source, i, name + AS)
        if start >= 0 and number(source, start, end) > 1:
            add_attribute(plan, what + AS, start, end)
    start, end = alignment(source, i)
    if start >= 0 and (end - start == 4 or end - start == 5 or end - start == 6):
        first = source[start] | 32
        if first == 108 or first == 99 or first == 114:  # left, center, right
            add_attribute(plan, DO_ALIGN + AS, start, end)


@leaf
def _say(source: Bytes, i: int, plan: Plan, name: int) -> None:
    """Note the ``start`` or the language, in ``class``, of the innermost block, from the tag whose name ends at ``i``.

    Only where it is not open yet.
    """
    d = plan[DEPTH] - 1
    if d < plan[OPENED] or plan[VALUES + d] >= 0:
        return
    start, end = attribute(source, i, name)
    if start >= 0 and name == START:
        end = end if number(source, start, end) >= 0 else start
    elif start >= 0:
        start, end = language(source, start, end)
    if 0 <= start < end:
        plan[VALUES + d], plan[VALUE_ENDS + d] = start, end


@leaf
def _start_kept(source: Bytes, i: int, kind: int, plan: Plan) -> None:
    """Plan the start of a block that is kept."""
    depth = plan[DEPTH] - (plan[DEPTH] > 0 and plan[KINDS + plan[DEPTH] - 1] >= OWN)
    _start_block(plan, kind)
    if plan[DEPTH] > depth and i < len(source) and source[i] != 62:
        if kind == OL:
            _say(source, i, plan, START + AS)
        elif kind == PRE:
            _say(source, i, plan, CLASS + AS)
        elif kind == TD or kind == TH:
            _span(source, i, plan)


@leaf
def _start_style(source: Bytes, i: int, kind: int, plan: Plan) -> None:
    """Wish for a style."""
    level = LEVEL_OF[kind]
    if kind == CODE and plan[PRES] > 0:
        _say(source, i, plan, CLASS + AS)
        return
    if kind == CODE and plan[WANT + level] == 0:
        wished = 0
        for other in range(CODE_LEVEL):
            wished |= (plan[WANT + other] > 0) << other
        plan[IN_CODE] = wished
        start, end = attribute(source, i, CLASS + AS)
        start, end = language(source, max(start, 0), max(end, 0))
        plan[FORMULA] = end - start == 4 and source[start] == 109 and source[start + 2] == 116  # math
    plan[WANT + level] += 1


@leaf
def _start_link(source: Bytes, i: int, plan: Plan) -> int:
    """Wish for a link; return where the tag ends."""
    start, end = attribute(source, i, HREF + AS)
    plan[WANT_A] = start if start >= 0 and is_safe(source, start, end) else -1
    plan[WANT_END] = end
    plan[WANT_TITLE], plan[WANT_TITLE_END] = attribute(source, i, TITLE + AS)
    return tag_end(source, i)


@leaf
def _start(source: Bytes, i: int, kind: int, name: int, plan: Plan) -> int:
    """Plan the start tag whose name ends at ``i``; return where to go on."""
    if kind == A:
        return _start_link(source, i, plan)
    after = tag_end(source, i)
    if kind < A:
        _start_kept(source, i, kind, plan)
    elif kind == IMG:
        if not is_class(source, i, _FALLBACK):
            _image(source, i, plan)
    elif kind == BR:
        plan[BRS] += 1
        break_lines(plan, min(plan[BRS], DISTANCES[P]))
    elif kind == BREAK:
        _between(plan)
    elif kind == DROP:
        return element_end(source, after, name)
    elif kind == RAW:
        return raw_end(source, after, name)
    elif kind == HR:
        _rule(plan)
    elif kind == THEAD:
        plan[HEAD] = 1
    elif kind == INPUT:
        _check_box(source, i, plan)
    elif kind == MATH:
        start, end = attribute(source, i, ALTTEXT + AS)
        if 0 <= start < end:
            _formula(source, start, end, plan)
            return element_end(source, after, name)
    elif kind < BREAK:
        _start_style(source, i, kind, plan)
    elif name == SPAN and is_class(source, i, _KATEX):
        return element_end(source, after, name)
    return after


@leaf
def _end(plan: Plan, kind: int) -> None:
    if kind < A:
        _end_block(plan, kind)
    elif kind == A:
        plan[WANT_A] = -1
    elif kind == BREAK:
        _between(plan)
    elif kind == THEAD:
        plan[HEAD] = 0
    elif kind < BREAK and LEVEL_OF[kind] >= 0 and not (kind == CODE and plan[PRES] > 0):
        level = LEVEL_OF[kind]
        plan[WANT + level] -= plan[WANT + level] > 0
        if kind == CODE and plan[WANT + level] == 0:
            plan[IN_CODE] = -1
            plan[FORMULA] = 0
            close_inline(plan, CODE_LEVEL + AS)  # the next one is another, though only a space stand between


@leaf
def make_plan(source: Bytes, plan: Plan) -> bool:
    """Fill ``plan``, which is empty, from canonical markup; False where it has too little room."""
    i, n = 0, len(source)
    while i < n:
        if FIRST + 3 * plan[STEPS] + MARGIN > len(plan):
            return False
        start = i
        i = find(source, i, 60 + AS)
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
    while plan[DEPTH] > 0:
        pop_block(plan)
    return True
