"""Which blocks to keep: the set that maximises the page's expected F1, and the headline above it.

With w words and p chances, the best set of a given size is the most likely blocks, so it is a prefix of the blocks by
falling p: the one with the greatest 2 Σ p·w / (Σ w + W), where W = Σ p·w over all blocks is the expected size of the
truth.
"""

from __future__ import annotations

import numpy as np

from fyke.bits.jit import kernel, leaf
from fyke.clean.columns import CONTAINER, TITLED, WORDS
from fyke.clean.elements import ID, Array

SHARPNESS = 1.25
"""Exponent on the chances. Blocks of a page are wrong together, so that hundreds of small chances, taken as if
they were independent, would promise more content than there is; chosen on held-out hosts."""
_POSSIBLE = 0.05
_H1, _H2 = ID["h1"], ID["h2"]
_HEADLINE_REACH = 12
"""Blocks from a headline to the text below it: between them stand author, date and buttons."""


@leaf
def add_headline(kept: Array, blocks: Array, element_of: Array, title_size: int) -> int:
    """Keep the headline too: the h1, else h2, most like the title with kept text shortly below it; return it or -1.

    Data sets differ on whether a headline is content; readers and indexes do not.
    """
    best, found, below = 0.3 * title_size, -1, -1
    for k in range(kept.size - 1, -1, -1):
        element = element_of[blocks[k, CONTAINER]]
        if (element == _H1 or element == _H2) and k < below <= k + _HEADLINE_REACH:
            likeness = min(blocks[k, TITLED], title_size) + (0.5 if element == _H1 else 0.0)
            if blocks[k, TITLED] > 0 and likeness > best:
                best, found = likeness, k
        if kept[k]:
            below = k
    if found >= 0:
        kept[found] = 1
    return found


@kernel
def best_expected(chance: Array, blocks: Array) -> Array:
    """Mark the blocks that maximise the page's expected F1, given the chance of each to be content."""
    order = np.argsort(-chance, kind="mergesort")
    sure = chance * np.sqrt(np.sqrt(chance))  # to the power of SHARPNESS
    words = blocks[:, WORDS] + 0.3  # a block without words costs a little, so that it needs a reason too
    expected = 0.0
    for k in range(order.size):
        expected += sure[k] * words[k]
    hit, size, best, kept = 0.0, 0.0, 0.0, 0
    for k in range(order.size):
        hit += sure[order[k]] * words[order[k]]
        size += words[order[k]]
        value = 2 * hit / (size + expected)
        if value > best:
            best, kept = value, k + 1
    marked = np.zeros(order.size, np.bool_)
    for k in range(kept):
        marked[order[k]] = True
    return marked


@leaf
def fill_gaps(kept: Array, chance: Array, blocks: Array) -> None:
    """Keep a block of some words between two that are kept, unless it is most unlikely: the title of a teaser."""
    before = False
    for k in range(kept.size - 1):
        own = kept[k]
        if before and not own and kept[k + 1] and chance[k] >= _POSSIBLE and blocks[k, WORDS] > 1:
            kept[k] = True
        before = own


@kernel
def choose(chance: Array, blocks: Array, element_of: Array, title_size: int) -> tuple[Array, bool]:
    """Return (kept blocks with their headline, whether there is any); a headline that is kept is at least likely."""
    kept = best_expected(chance, blocks)
    headline = add_headline(kept, blocks, element_of, title_size)
    if headline >= 0:
        chance[headline] = max(chance[headline], np.float32(0.5))
    fill_gaps(kept, chance, blocks)
    return kept, bool(kept.any())


@leaf
def pack_weights(chance: Array, kept: Array, out: Array) -> None:
    """Write a byte for each block: 128 · kept + 127 · chance, rounded."""
    for k in range(kept.size):
        out[k] = int(min(np.float32(1.0), chance[k]) * 127 + 0.5) + (128 if kept[k] else 0)
