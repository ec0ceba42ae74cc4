"""LZW as Unix compress writes it: the decoding loop over a dictionary of prefixes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fyke.bits.jit import inlined, leaf

CLEAR = 256
"""The code that empties the dictionary, in block mode; no string has it."""
LONGEST = 65_536
"""No string is longer than there are codes, so this much room in the output takes any of them."""

# What ``state`` holds between calls.
POSITION, RUN, WIDTH, FREE, OLD, MAX_WIDTH, BLOCK_MODE, CORRUPT, STATE = range(9)


@inlined
def _code_at(data: NDArray[np.uint8], position: int, width: int) -> int:
    """Return the ``width`` bits at bit ``position``, packed from the least significant. REQUIRES: they are there."""
    at = position >> 3
    word = np.int64(data[at]) | np.int64(data[at + 1]) << 8
    if at + 2 < len(data):
        word |= np.int64(data[at + 2]) << 16
    return int((word >> (position & 7)) & ((1 << width) - 1))


@leaf
def _write_string(
    code: int, prefix: NDArray[np.int32], suffix: NDArray[np.uint8], out: NDArray[np.uint8], at: int
) -> tuple[int, int]:
    """Write the string of ``code`` at ``at`` of ``out``; return where it ends, and its first byte.

    It is known from its end: so its length is counted first, then its bytes go backwards into place.
    """
    node, end = code, at + 1
    while node > 255:
        node = prefix[node]
        end += 1
    first, place = node, end
    node = code
    while node > 255:
        place -= 1
        out[place] = suffix[node]
        node = prefix[node]
    out[at] = first
    return end, first


@leaf
def lzw_decode(
    data: NDArray[np.uint8],
    state: NDArray[np.int64],
    prefix: NDArray[np.int32],
    suffix: NDArray[np.uint8],
    out: NDArray[np.uint8],
) -> int:
    """Decode codes of ``data`` from bit ``state[POSITION]`` into ``out`` until either runs short.

    Returns the number of bytes written; ``state[CORRUPT]`` is 1 once a code comes that cannot be.
    When the width of the codes changes or the dictionary is cleared, the rest of the current group of eight codes is
    padding; ``state[RUN]`` counts the bits since the last such change.
    """
    position, run, width = state[POSITION], state[RUN], state[WIDTH]
    free, old, max_width = state[FREE], state[OLD], state[MAX_WIDTH]
    written = 0
    while written + LONGEST <= len(out):
        limit = (1 << width) - 1 if width < max_width else 1 << max_width
        if free > limit:
            position += -run % (width * 8)
            run = 0
            width += 1
            continue
        if position + width > len(data) * 8:
            break
        code = _code_at(data, position, width)
        position += width
        run += width
        if code == CLEAR and state[BLOCK_MODE] == 1:
            position += -run % (width * 8)
            run = 0
            width = 9
            free = CLEAR  # the next code fills the entry of CLEAR, which no code can name
            continue
        if code > free or (old < 0 and code > 255):
            state[CORRUPT] = 1
            break
        # The entry that is defined just now, named already: the last string, and its own first byte again.
        again = code == free
        written, first = _write_string(old if again else code, prefix, suffix, out, written)
        if again:
            out[written] = first
            written += 1
        if old >= 0 and free < 1 << max_width:
            prefix[free] = old
            suffix[free] = first
            free += 1
        old = code
    state[POSITION], state[RUN], state[WIDTH], state[FREE], state[OLD] = position, run, width, free, old
    return written
