"""Rendering: blocks back to text, white space folded, one line per block and per ``<br>``."""

from __future__ import annotations

from fyke.bits.jit import LANES, copy_lanes, inlined, leaf
from fyke.clean.columns import CONTAINER, FIRST, LAST
from fyke.clean.elements import CLOSE, ID, INLINE, PRE, WORD, Array
from fyke.formats.markup_rows import ELEMENT_, END, KIND, OPEN, SELF_CLOSING, START

_BR, _NAME = ID["br"], SELF_CLOSING - 1
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
def _write_folded(
    page: Array, at: int, end: int, out: Array, size: int, begin: int, gap: int
) -> tuple[int, int]:  # fmt: skip
    """Go on with the text from ``begin`` on, white space folded; ``gap`` is what is due before it. Returns both."""
    while at < end:
        if page[at] <= _BLANK:
            gap = max(gap, 1)
            at += 1
            continue
        if gap and size > begin:
            out[size] = _BLANK if gap == 1 else _NEWLINE
            size += 1
        gap = 0
        start = at
        while at < end and page[at] > _BLANK:
            at += 1
        size = _write(page, start, at, out, size)
    return size, gap


@leaf
def _first_line(page: Array, at: int, end: int) -> int:
    """Return where the first line of a preformatted text begins that is not empty."""
    line = at
    while at < end and page[at] <= _BLANK:
        if page[at] == _NEWLINE:
            line = at + 1
        at += 1
    return line if at < end else end


@leaf
def render_text(
    page: Array, tokens: Array, texts: Array, flags: Array, blocks: Array, kept: Array, out: Array, bounds: Array
) -> int:
    """Write the texts of the kept blocks, each followed by a newline; ``bounds[k]`` is where block k's text ends.

    Words stand apart where white space or a ``<br>`` stood between them: a tag or a comment alone parts no word.
    ``texts`` says which tokens are read. In preformatted text (``flags`` of the container) white space stays as it is.
    REQUIRES: room in ``out`` for the page, and one byte more for each block. Returns the number of bytes written.
    """
    size = 0
    for k in range(blocks.shape[0]):
        bounds[k] = size
        if not kept[k]:
            continue
        gap, begin = 0, size  # gap: 1 a space, 2 a new line
        verbatim = flags[blocks[k, CONTAINER]] & PRE != 0
        for at in range(blocks[k, FIRST], blocks[k, LAST]):
            kind, start, end = tokens[at, KIND], tokens[at, START], tokens[at, END]
            if kind == OPEN and tokens[at, ELEMENT_] & _NAME == _BR:
                gap = 2
                if verbatim and size > begin:
                    out[size] = _NEWLINE
                    size += 1
            elif texts[at] and verbatim:
                start = start if size > begin else _first_line(page, start, end)
                size = _write(page, start, end, out, size)
            elif texts[at]:
                size, gap = _write_folded(page, start, end, out, size, begin, gap)
        while size > begin and out[size - 1] <= _BLANK:
            size -= 1
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
        size = _write(page, starts[at], ends[at], out, size)
    return size
