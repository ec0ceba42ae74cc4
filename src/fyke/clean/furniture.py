"""Furniture of a host: blocks that stand on many of its pages, learnt from the pages as they come.

A crawl or a store that has several pages of one host keeps one ``Furniture`` for it, gives it every page, and passes
it to ``extract``. Memory is one table of fixed size.
"""

from __future__ import annotations

import numpy as np

from fyke.clean.block_kernels import CONTAINER, HASH
from fyke.clean.elements import Array
from fyke.clean.page import Page

_SLOTS = 1 << 13
"""Of counts, two bytes each: a site's furniture is some hundred blocks; what collides is seldom."""
_LEAST = 4
"""Pages before anything is said: three copies of one page are no evidence about a site."""


def _slots(page: Page) -> Array:
    """Return a slot for each block, by its text and what it stands in: a headline is not its copy in a menu."""
    container = page.blocks[:, CONTAINER]
    place = page.flags[container].astype(np.int64) * 128 + page.element[container]
    slots: Array = (page.blocks[:, HASH] + place * 2654435761) % _SLOTS
    return slots


class Furniture:
    """Counts, for the pages of one host, on how many of them each text stands."""

    __slots__ = ("_counts", "pages")

    def __init__(self) -> None:
        self._counts = np.zeros(_SLOTS, np.uint16)
        self.pages = 0

    def learn(self, page: Page) -> None:
        """Count the blocks of one more page, each once."""
        if self.pages < np.iinfo(np.uint16).max:
            self._counts[np.unique(_slots(page))] += 1
            self.pages += 1

    def share(self, page: Page) -> Array:
        """Return for each block on what share of the host's pages its text stands; zeros while too few are known."""
        if self.pages < _LEAST:
            return np.zeros(len(page.blocks), np.float32)
        shares: Array = (self._counts[_slots(page)] / self.pages).astype(np.float32)
        return shares

    def discount(self, page: Page) -> Array:
        """Return the factor on each block's chance: 1 up to a fifth of the pages, falling to 0 at three fifths."""
        factor: Array = np.clip((0.6 - self.share(page)) / 0.4, 0.0, 1.0)
        return factor
