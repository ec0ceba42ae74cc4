"""Tagged text, written: the steps of a plan become bytes of HTML, bytes of plain text, and the tags' offsets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fyke.bits.jit import kernel
from fyke.convert.markup_kernels import IMG, Bytes, is_space, read_entity

from fyke.convert.plan_kernels import (  # isort: skip
    DO_BLANK, DO_BR, DO_CLOSE, DO_IMAGE, DO_LINES, DO_LINK, DO_OPEN, DO_PRE_TEXT, DO_TAB, DO_TEXT,
    FIRST, NAME_BYTES, NAME_LENGTHS, STEPS, Plan,
)  # fmt: skip

Tags = NDArray[np.int32]
"""A row for each tag: kind, start and end in characters of the text."""

_HREF = np.frombuffer(b' href="', np.uint8)
_ALT = np.frombuffer(b' alt="', np.uint8)


@kernel
def _write_text(
    source: Bytes, i: int, end: int, pre: bool, html: Bytes, h: int, text: Bytes, t: int, n: int
) -> tuple[int, int, int]:
    """Write ``source[i:end]`` to both; return the new places in HTML, text, and characters of the text.

    REQUIRES: it begins with no white space, unless ``pre``.
    """
    last = np.uint8(0)
    while i < end:
        byte = source[i]
        if (byte > 38) | ((byte == 32) & (pre | (last != 32))):  # nearly all of any text; one branch, well foretold
            html[h] = byte
            text[t] = byte
            last = byte
            h += 1
            t += 1
            i += 1
            n += (byte & 0xC0) != 0x80  # the first byte of a character
            continue
        char, step = read_entity(source, i, end)
        if char <= 32 and not (pre and is_space(char)):
            if is_space(char) and last != 32:
                html[h] = 32
                text[t] = 32
                last = np.uint8(32)
                h += 1
                t += 1
                n += 1
            i += step
            continue
        text[t] = char
        last = np.uint8(1)  # anything but a space
        t += 1
        n += 1
        for k in range(i, i + step):
            html[h] = source[k]
            h += 1
        i += step
    if last == 32 and not pre:
        return h - 1, t - 1, n - 1
    return h, t, n


@kernel
def _write_folded(source: Bytes, start: int, stop: int, text: Bytes, place: int) -> int:
    """Write ``source[start:stop]``, which is not preformatted, to the text alone; return the new place.

    Every byte is written and the place moves on if it counts, without a branch; indices that cannot be negative are
    not looked at twice: together half of the time of ``_write_text``.
    """
    i, end, t, one = np.uint64(start), np.uint64(stop), np.uint64(place), np.uint64(1)
    last = np.uint8(32)
    while i < end:
        byte = source[i]
        if (byte == 38) | (byte < 32):
            char, step = read_entity(source, int(i), stop)
            i += np.uint64(step)
            if char <= 32 and not is_space(char):
                continue
            byte = np.uint8(char)
        else:
            i += one
        blank = byte <= 32
        text[t] = byte if not blank else np.uint8(32)
        t += np.uint64(not (blank & (last <= 32)))
        last = byte
    return int(t) - int(t > np.uint64(place) and last <= 32)


@kernel
def _write_plain(source: Bytes, i: int, end: int, pre: bool, text: Bytes, t: int) -> int:
    """Write ``source[i:end]`` to the text alone, as ``_write_text`` does; return the new place."""
    if not pre:
        return _write_folded(source, i, end, text, t)
    while i < end:
        char, step = read_entity(source, i, end)
        i += step
        if char > 32 or is_space(char):
            text[t] = char
            t += 1
    return t


@kernel
def _write_name(html: Bytes, h: int, kind: int) -> int:
    for k in range(NAME_LENGTHS[kind]):
        html[h + k] = NAME_BYTES[kind, k]
    h += NAME_LENGTHS[kind]
    html[h] = 62  # >
    return h + 1


@kernel
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


@kernel
def write(source: Bytes, plan: Plan, html: Bytes, text: Bytes, tags: Tags) -> tuple[int, int, int]:
    """Carry out ``plan``; return how much of the three arrays is written. REQUIRES: they have the plan's ``sizes``."""
    h, t, n, count = 0, 0, 0, 0
    for at in range(FIRST, FIRST + 3 * plan[STEPS], 3):
        what, a, b = plan[at], plan[at + 1], plan[at + 2]
        if what == DO_TEXT or what == DO_PRE_TEXT:
            h, t, n = _write_text(source, a, b, what == DO_PRE_TEXT, html, h, text, t, n)
        elif what == DO_OPEN or what == DO_IMAGE:
            kind = a if what == DO_OPEN else IMG + 0
            html[h] = 60  # <
            h = _write_name(html, h + 1, kind)
            tags[count, 0], tags[count, 1], tags[count, 2] = kind, n, n
            if what == DO_IMAGE:
                _, t, n = _write_text(source, a, b, False, html, h, text, t, n)  # of its HTML nothing stays
                h = _write_attribute(source, a, b, html, h, _ALT)
                tags[count, 2] = n
            else:
                plan[at + 2] = count
            count += 1
        elif what == DO_CLOSE:
            record = plan[a + 2]
            tags[record, 2] = n
            html[h] = 60
            html[h + 1] = 47  # /
            h = _write_name(html, h + 2, tags[record, 0])
        elif what == DO_LINK:
            h = _write_attribute(source, a, b, html, h, _HREF)
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
    return h, t, count


@kernel
def write_plain(source: Bytes, plan: Plan, text: Bytes) -> int:
    """Carry out ``plan`` for its text alone; return how much of it there is. It is that of ``write``."""
    t = 0
    for at in range(FIRST, FIRST + 3 * plan[STEPS], 3):
        what, a, b = plan[at], plan[at + 1], plan[at + 2]
        if what == DO_TEXT or what == DO_PRE_TEXT:
            t = _write_plain(source, a, b, what == DO_PRE_TEXT, text, t)
        elif what == DO_IMAGE:
            t = _write_plain(source, a, b, False, text, t)
        elif what == DO_BLANK:
            text[t] = 32
            t += 1
        elif what == DO_LINES:
            for _ in range(a):
                text[t] = 10
                t += 1
        elif what == DO_TAB:
            text[t] = 9
            t += 1
    return t
