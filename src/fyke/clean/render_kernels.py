"""Rendering: marked words back to text, one line for each run between block-level tags."""

from __future__ import annotations

from fyke.bits.jit import leaf
from fyke.clean.elements import CLOSE, ID, INLINE, WORD, Array
from fyke.clean.word_kernels import write

_BR = ID["br"]
_NEWLINE, _BLANK = 10, 32


@leaf
def render_run(page: Array, starts: Array, ends: Array, kinds: Array, marked: Array, out: Array) -> int:
    """Write the words whose tokens are marked, one line for each run between block-level tags; return the size.

    REQUIRES: room in ``out`` for the page and one byte more.
    """
    size, gap = 0, 0
    for at in range(kinds.size):
        kind = kinds[at]
        if gap == 0 and at > 0 and (page[starts[at] - 1] <= _BLANK or page[ends[at - 1]] <= _BLANK):
            gap = _BLANK
        if kind != WORD:
            element = kind % CLOSE
            if not INLINE[element] or element == _BR:
                gap = _NEWLINE
            continue
        if not marked[at]:
            gap = _NEWLINE
            continue
        if gap and size:
            out[size] = gap
            size += 1
        gap = 0
        size = write(page, starts[at], ends[at], out, size)
    return size
