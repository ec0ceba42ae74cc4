"""Rendering: blocks back to text, white space folded, one line per block and per ``<br>``."""

from __future__ import annotations

from fyke.bits.jit import LANES, copy_lanes, inlined, leaf
from fyke.clean.columns import CONTAINER, FIRST, LAST
from fyke.clean.elements import BYTE, CLOSE, ID, INLINE, PRE, SPACE, WORD, Array

_BR = ID["br"]
_NEWLINE, _BLANK = 10, 32


@inlined
def _write(page: Array, start: int, end: int, out: Array, size: int) -> int:
    """Write ``page[start:end]`` at ``size`` of ``out``; return where it ends."""
    if end - start <= LANES and start + LANES <= page.size and size + LANES <= out.size:  # nearly every word
        copy_lanes(page, start, out, size)
    else:
        for byte in range(start, end):
            out[size + byte - start] = page[byte]
    return size + end - start


@leaf
def render_text(
    page: Array, starts: Array, ends: Array, kinds: Array, flags: Array, blocks: Array, kept: Array, out: Array,
    bounds: Array,
) -> int:  # fmt: skip
    """Write the texts of the kept blocks, each followed by a newline; ``bounds[k]`` is where block k's text ends.

    Words stand apart where white space or a ``<br>`` stood between them: a tag or a comment alone parts no word.
    In preformatted text (``flags`` of the container) white space stays as it is.
    REQUIRES: room in ``out`` for the page, and one byte more for each block. Returns the number of bytes written.
    """
    size = 0
    for k in range(blocks.shape[0]):
        bounds[k] = size
        if not kept[k]:
            continue
        gap = 0
        verbatim = flags[blocks[k, CONTAINER]] & PRE != 0
        for at in range(blocks[k, FIRST], blocks[k, LAST]):
            if verbatim and at > blocks[k, FIRST]:
                for byte in range(ends[at - 1], starts[at]):
                    if BYTE[page[byte]] == SPACE:
                        out[size] = page[byte]
                        size += 1
            elif at > blocks[k, FIRST] and gap == 0:
                if BYTE[page[ends[at - 1]]] == SPACE or BYTE[page[starts[at] - 1]] == SPACE:
                    gap = _BLANK
            if kinds[at] == WORD:
                if gap:
                    out[size] = gap
                    size += 1
                gap = 0
                size = _write(page, starts[at], ends[at], out, size)
            elif kinds[at] == _BR:
                gap = _NEWLINE
        bounds[k] = size
        out[size] = _NEWLINE
        size += 1
    return size


@leaf
def render_run(page: Array, starts: Array, ends: Array, kinds: Array, marked: Array, out: Array) -> int:
    """Write the words whose tokens are marked, one line for each run between block-level tags; return the size.

    REQUIRES: room in ``out`` for the page and one byte more.
    """
    size, gap = 0, 0
    for at in range(kinds.size):
        kind = kinds[at]
        if gap == 0 and at > 0 and (BYTE[page[starts[at] - 1]] == SPACE or BYTE[page[ends[at - 1]]] == SPACE):
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
        size = _write(page, starts[at], ends[at], out, size)
    return size
