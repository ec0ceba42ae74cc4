"""Counting the blocks of a host's pages, and what that says of a page's blocks."""

from __future__ import annotations

import numpy as np

from fyke.bits.jit import inlined, kernel, leaf
from fyke.clean.columns import CONTAINER, HASH
from fyke.clean.elements import Array

SLOTS = 1 << 13
"""Of counts, two bytes each: a site's furniture is some hundred blocks; what collides is seldom."""


@inlined
def slot_of(blocks: Array, k: int, element_of: Array, flags: Array) -> int:
    """Return the slot of a block, by its text and what it stands in: a headline is not its copy in a menu."""
    container = blocks[k, CONTAINER]
    place = int(flags[container]) * 256 + int(element_of[container])
    return int((blocks[k, HASH] + place * 2654435761) % SLOTS)


@kernel
def count_blocks(blocks: Array, element_of: Array, flags: Array, counts: Array) -> None:
    """Count the blocks of one more page, each once."""
    met = np.zeros(SLOTS, np.bool_)
    for k in range(blocks.shape[0]):
        slot = slot_of(blocks, k, element_of, flags)
        if not met[slot]:
            met[slot] = True
            counts[slot] += 1


@leaf
def discount(blocks: Array, element_of: Array, flags: Array, counts: Array, pages: int, chances: Array) -> None:
    """Take from each block's chance: nothing up to a fifth of the pages, all of it from three fifths on."""
    for k in range(blocks.shape[0]):
        share = counts[slot_of(blocks, k, element_of, flags)] / pages
        chances[k] *= min(1.0, max(0.0, (0.6 - share) / 0.4))
