"""Furniture of a host: blocks that stand on many of its pages, learnt from the pages as they come.

Who has several pages of one host keeps one ``Furniture`` for it and passes it to ``main_text``, which learns the page,
or to ``extract``; ``Hosts`` keeps those of many hosts. Memory is one table of fixed size for each. (Crawls do without:
copies must have the same main text wherever they stand.)
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from fyke.clean import furniture_kernels
from fyke.clean.elements import Array
from fyke.clean.page import Page

_LEAST = 4
"""Pages before anything is said: three copies of one page are no evidence about a site."""
_ENOUGH = np.iinfo(np.uint16).max
"""Pages after which nothing more is learnt."""


class Furniture:
    """Counts, for the pages of one host, on how many of them each text stands: 16 KB."""

    __slots__ = ("_counts", "pages")

    def __init__(self) -> None:
        self._counts = np.zeros(furniture_kernels.SLOTS, np.uint16)
        self.pages = 0

    def learn(self, page: Page) -> None:
        """Count the blocks of one more page, each once."""
        if self.pages < _ENOUGH:
            furniture_kernels.count_blocks(page.blocks, page.element, page.flags, self._counts)
            self.pages += 1

    def discount(self, page: Page, chances: Array) -> None:
        """Lower the chances of blocks that stand on more than a fifth of the host's pages; not while few are known."""
        if self.pages >= _LEAST:
            furniture_kernels.discount(page.blocks, page.element, page.flags, self._counts, self.pages, chances)


class Hosts:
    """The furniture of the hosts that were met last, at most ``limit`` of them."""

    __slots__ = ("_known", "_limit")

    def __init__(self, limit: int = 1024) -> None:
        self._known: OrderedDict[str, Furniture] = OrderedDict()
        self._limit = limit

    def __len__(self) -> int:
        return len(self._known)

    def __getitem__(self, host: str) -> Furniture:
        """Return what is known of a host; a new one takes the place of the one not met for longest."""
        found = self._known.get(host)
        if found is None:
            if len(self._known) >= self._limit:
                self._known.popitem(last=False)
            found = self._known[host] = Furniture()
        else:
            self._known.move_to_end(host)
        return found
