"""Content that a person points at: what stands in the elements that a CSS selector names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fyke.clean.columns import CONTAINER, FIRST, LAST
from fyke.clean.elements import Array
from fyke.clean.page import Page
from fyke.formats.html import check_selector


@dataclass(frozen=True, slots=True)
class Select:
    """Blocks within the elements that ``css`` selects."""

    css: str

    def __post_init__(self) -> None:
        """Raises ``UserError`` for what is no selector."""
        check_selector(self.css)

    def weights(self, page: Page) -> Array:
        """Return 1 for the blocks within, 0 for the others."""
        kept = np.zeros(len(page.blocks), bool)
        within = np.zeros(len(page.parent), bool)
        for first, last in page.source.selected(self.css):
            within |= page.tree.opened[: len(within)] == first
            kept |= (page.blocks[:, FIRST] >= first) & (page.blocks[:, LAST] <= last)
        within[0] = False
        for container in range(1, len(within)):  # parents come first
            within[container] |= within[page.parent[container]]
        weights: Array = (kept | within[page.blocks[:, CONTAINER]]).astype(np.float32)
        return weights
