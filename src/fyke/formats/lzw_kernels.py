"""LZW as Unix compress writes it: the decoding loop over a dictionary of prefixes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fyke.bits.jit import kernel

CLEAR = 256
LONGEST = 65_536
"""No string is longer than there are codes, so this much room in the output takes any of them."""

# What ``state`` holds between calls.
POSITION, RUN, WIDTH, FREE, OLD, FIRST, MAX_WIDTH, BLOCK_MODE, CORRUPT = range(9)


@kernel
def lzw_decode(
    data: NDArray[np.uint8],
    state: NDArray[np.int64],
    prefix: NDArray[np.int32],
    suffix: NDArray[np.uint8],
    out: NDArray[np.uint8],
) -> int:
    """Decode codes of ``data`` from bit ``state[POSITION]`` into ``out`` until either runs short.

    Returns the number of bytes written; ``state[CORRUPT]`` is 1 once a code comes that cannot be.
    Codes are packed from the least significant bit. When the width changes or the table is cleared, the rest of
    the current group of eight codes is padding; ``state[RUN]`` counts the bits since the last such change.
    """
    position, run, width, free = state[POSITION], state[RUN], state[WIDTH], state[FREE]
    old, first, max_width = state[OLD], state[FIRST], state[MAX_WIDTH]
    available = len(data) * 8
    written = 0
    while written + LONGEST <= len(out):
        limit = (1 << width) - 1 if width < max_width else 1 << max_width
        if free > limit:
            padding = -run % (width * 8)
            position += padding
            run = 0
            width += 1
            continue
        if position + width > available:
            break
        at = position >> 3
        word = np.int64(data[at]) | np.int64(data[at + 1]) << 8
        if at + 2 < len(data):
            word |= np.int64(data[at + 2]) << 16
        code = (word >> (position & 7)) & ((1 << width) - 1)
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
        # The string of a code is found from its end: its length first, then its bytes backwards into place.
        node = old if code == free else code
        length = 1 if code == free else 0
        while node > 255:
            node = prefix[node]
            length += 1
        length += 1
        end = written + length
        if code == free:
            end -= 1
            out[end] = first
        node = old if code == free else code
        while node > 255:
            end -= 1
            out[end] = suffix[node]
            node = prefix[node]
        out[end - 1] = node
        first = np.int64(node)
        if code == free:
            out[written + length - 1] = first
        written += length
        if old >= 0 and free < 1 << max_width:
            prefix[free] = old
            suffix[free] = first
            free += 1
        old = code
    state[POSITION], state[RUN], state[WIDTH], state[FREE] = position, run, width, free
    state[OLD], state[FIRST] = old, first
    return written
