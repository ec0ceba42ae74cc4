"""Tagged text, written: the steps of a plan become bytes of HTML, bytes of plain text, and the tags' offsets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fyke.bits.jit import inlined, leaf
from fyke.convert.markup_kernels import HR, IMG, ONE, Bytes, is_space, read_entity

from fyke.convert.plan_kernels import (  # isort: skip
    ATTRIBUTES, DO_BLANK, DO_BR, DO_CHECK, DO_CLOSE, DO_IMAGE, DO_LANGUAGE, DO_LINES, DO_OPEN, DO_PRE_TEXT, DO_RULE,
    DO_TAB, DO_TEXT, FIRST, STEPS, TAG_BYTES, TAG_LENGTHS, TAGS, Plan,
)  # fmt: skip

Tags = NDArray[np.int32]
"""A row for each tag: kind, start and end in characters of the text."""

_ALT = np.frombuffer(b' alt="', np.uint8)
_FORMULA = np.frombuffer(b"math", np.uint8)
_ATTRIBUTE_SIZE = np.array([len(name) for name in ATTRIBUTES], np.int64)
_ATTRIBUTES = np.zeros((len(ATTRIBUTES), int(_ATTRIBUTE_SIZE.max())), np.uint8)
for _at, _name in enumerate(ATTRIBUTES):
    _ATTRIBUTES[_at, : len(_name)] = np.frombuffer(_name.encode(), np.uint8)


@leaf
def _write_text(
    source: Bytes, i: int, end: int, pre: bool, html: Bytes, h: int, text: Bytes, t: int, n: int
) -> tuple[int, int, int]:
    """Write ``source[i:end]`` to both; return the new places in HTML, text, and characters of the text.

    REQUIRES: it begins with no white space, unless ``pre``.
    """
    last = np.uint8(0)
    at, stop, h_, t_ = np.uint64(i), np.uint64(end), np.uint64(h), np.uint64(t)
    while at < stop:
        byte = source[at]
        if (byte > 38) | ((byte == 32) & (pre | (last != 32))):  # nearly all of any text; one branch, well foretold
            html[h_] = byte
            text[t_] = byte
            last = byte
            h_ += ONE
            t_ += ONE
            at += ONE
            n += (byte & 0xC0) != 0x80  # the first byte of a character
            continue
        char, step = read_entity(source, int(np.int64(at)), end)
        if char <= 32 and not (pre and is_space(char)):
            if is_space(char) and last != 32:
                html[h_] = 32
                text[t_] = 32
                last = np.uint8(32)
                h_ += ONE
                t_ += ONE
                n += 1
            at += np.uint64(step)
            continue
        text[t_] = char
        last = np.uint8(1)  # anything but a space
        t_ += ONE
        n += 1
        for _ in range(step):
            html[h_] = source[at]
            h_ += ONE
            at += ONE
    back = last == 32 and not pre
    return int(np.int64(h_)) - back, int(np.int64(t_)) - back, n - back


@inlined
def _write_tag(html: Bytes, h: int, end: int, kind: int) -> int:
    """Write a start tag, or with ``end`` = 1 an end tag."""
    at = np.uint64(h)
    for k in range(TAG_BYTES):
        html[at + np.uint64(k)] = TAGS[end, kind, k]
    return int(h + TAG_LENGTHS[end, kind])


@leaf
def _write_attribute(source: Bytes, start: int, end: int, html: Bytes, h: int, name: Bytes) -> int:
    """Give the start tag that ends at ``h`` an attribute; ``name`` includes the ``="`` ."""
    h -= 1
    for byte in name:
        html[h] = byte
        h += 1
    for k in range(start, end):
        html[h] = source[k]
        h += 1
    html[h] = 34
    html[h + 1] = 62
    return h + 2


@leaf
def write(source: Bytes, plan: Plan, html: Bytes, text: Bytes, tags: Tags) -> tuple[int, int, int]:
    """Carry out ``plan``; return how much of the three arrays is written. REQUIRES: they have the plan's ``sizes``."""
    h, t, n, count = 0, 0, 0, 0
    for at in range(FIRST, FIRST + 3 * plan[STEPS], 3):
        what, a, b = plan[at], plan[at + 1], plan[at + 2]
        if what == DO_TEXT or what == DO_PRE_TEXT:
            h, t, n = _write_text(source, a, b, what == DO_PRE_TEXT, html, h, text, t, n)
        elif what == DO_OPEN or what == DO_IMAGE:
            kind = a if what == DO_OPEN else IMG + 0
            h = _write_tag(html, h, 0 + 0, kind)
            tags[count, 0], tags[count, 1], tags[count, 2] = kind, n, n
            if what == DO_IMAGE:
                if a < b:
                    _, t, n = _write_text(source, a, b, False, html, h, text, t, n)  # of its HTML nothing stays
                h = _write_attribute(source, a, b, html, h, _ALT)
                tags[count, 2] = n
            else:
                plan[at + 2] = count
            count += 1
        elif what == DO_CLOSE:
            record = plan[a + 2]
            tags[record, 2] = n
            h = _write_tag(html, h, 1 + 0, tags[record, 0])
        elif what <= DO_LANGUAGE:
            name = _ATTRIBUTES[what, : _ATTRIBUTE_SIZE[what]]
            if a < 0:
                h = _write_attribute(_FORMULA, 0 + 0, len(_FORMULA), html, h, name)
            else:
                h = _write_attribute(source, a, b, html, h, name)
        elif what == DO_BLANK:
            html[h] = text[t] = 32
            h, t, n = h + 1, t + 1, n + 1
        elif what == DO_LINES:
            for _ in range(a):
                text[t] = 10
                t, n = t + 1, n + 1
        elif what == DO_TAB:
            text[t] = 9
            t, n = t + 1, n + 1
        elif what == DO_BR:
            html[h], html[h + 1], html[h + 2], html[h + 3] = 60, 98, 114, 62  # <br>
            h += 4
        elif what == DO_RULE:
            h = _write_tag(html, h, 0 + 0, HR + 0)
            tags[count, 0], tags[count, 1], tags[count, 2] = HR, n, n
            count += 1
        elif what == DO_CHECK:
            for byte in (91, 120 if a else 32, 93):  # [x]
                html[h] = text[t] = byte
                h, t, n = h + 1, t + 1, n + 1
    return h, t, count
