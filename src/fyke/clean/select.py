"""Content that a person points at: what stands in the elements that a CSS selector names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fyke.clean.columns import CONTAINER, FIRST, LAST
from fyke.clean.elements import Array
from fyke.clean.page import Page
from fyke.errors import UserError
from fyke.formats.markup_rows import START


@dataclass(frozen=True, slots=True)
class Select:
    """Blocks within the elements that ``css`` selects (Selectors Level 4, as turbohtml reads them)."""

    css: str

    def __post_init__(self) -> None:
        """Raises ``UserError`` for what is no selector."""
        import turbohtml

        try:
            turbohtml.parse("").select(self.css)
        except (turbohtml.SelectorSyntaxError, ValueError) as error:
            raise UserError(f"{self.css!r} is no CSS selector: {error}") from None

    def weights(self, page: Page) -> Array:
        """Return 1 for the blocks within, 0 for the others."""
        kept = np.zeros(len(page.blocks), bool)
        within = np.zeros(len(page.parent), bool)
        for first, last in self._spans(page):
            within |= page.tree.opened[: len(within)] == first
            kept |= (page.blocks[:, FIRST] >= first) & (page.blocks[:, LAST] <= last)
        within[0] = False
        for container in range(1, len(within)):  # parents come first
            within[container] |= within[page.parent[container]]
        weights: Array = (kept | within[page.blocks[:, CONTAINER]]).astype(np.float32)
        return weights

    def _spans(self, page: Page) -> list[tuple[int, int]]:
        """Of each element that is selected the tokens of its tags, the first twice where it has no end tag."""
        import turbohtml

        data = page.markup.data.replace(b"\r\n", b" \n")  # positions are of a text with \n alone
        text = data.decode("utf-8", "replace")
        tree = turbohtml.parse(text, source_locations=True, allow_declarative_shadow_roots=False)
        places = np.flatnonzero((np.frombuffer(data, np.uint8) & 0xC0) != 0x80)  # of code points in the bytes
        starts = page.markup.tokens[: len(page.markup), START]

        def token(offset: int) -> int:
            return int(np.searchsorted(starts, places[offset], side="right")) - 1

        found = []
        for element in tree.select(self.css):
            where = element.source_location
            if where is None:  # the page does not say that it is there
                continue
            first = token(where.start_tag.start_offset)
            found.append((first, token(where.end_tag.start_offset) if where.end_tag else first))
        return found
