"""Gupta's filters on the DOM: remove what is furniture by its element or its links, keep the rest.

Scripts, styles and images are no text here from the start. The filters, in Gupta's order: forms and buttons;
advertisements, by the hosts that links lead to; link lists, by the ratio of words in links to words outside; tables
that are all but empty. A container that a filter removes takes all in it along.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from fyke.clean import elements as e
from fyke.clean.columns import CONTAINER, FIRST, LAST, LINKED, WORDS
from fyke.clean.container_kernels import subtree_sums
from fyke.clean.elements import Array
from fyke.clean.page import Page

AD_HOSTS = (
    "doubleclick.net", "googlesyndication.com", "googleadservices.com", "adnxs.com", "taboola.com", "outbrain.com",
    "criteo.com", "amazon-adsystem.com", "adform.net", "pubmatic.com", "rubiconproject.com", "openx.net", "adsrvr.org",
    "revcontent.com", "mgid.com", "zergnet.com", "teads.tv", "smartadserver.com", "casalemedia.com", "advertising.com",
)  # fmt: skip
_LISTS = [
    e.ID[name]
    for name in (
        *("ul", "ol", "dl", "li", "table", "tbody", "tr", "td", "th"),
        *("div", "section", "nav", "aside", "p", "center"),
    )
]
_WHOLE = 0.2
"""Of the page's text outside links: what holds more is no list, but the page's frame."""
_TABLES = [e.ID[name] for name in ("table", "td", "tr")]


@dataclass(frozen=True, slots=True)
class Dom:
    """What the filters remove. Gupta lets the user set each of them; so does this."""

    forms: bool = True
    advertisements: bool = True
    furniture: bool = True
    """nav, footer and aside, which Gupta's pages of 2003 did not have."""
    link_ratio: float | None = 0.35
    """Remove containers with more words in links than this times the words outside; None keeps them. Gupta's value."""
    least_cell: int = 4
    """Remove tables and cells with fewer words."""
    hidden: bool = True

    def weights(self, page: Page) -> Array:
        """Return 1 for the blocks that the filters leave, 0 for the others."""
        removed = self._removed(page)
        for container in range(1, len(removed)):  # parents come first
            removed[container] |= removed[page.parent[container]]
        kept = ~removed[page.blocks[:, CONTAINER]]
        if self.advertisements:
            kept &= ~_advertises(page)
        return kept.astype(np.float32)

    def _removed(self, page: Page) -> Array:
        sums = np.zeros((len(page.parent), 2), np.float64)
        np.add.at(sums[:, 0], page.blocks[:, CONTAINER], page.blocks[:, WORDS])
        np.add.at(sums[:, 1], page.blocks[:, CONTAINER], page.blocks[:, LINKED])
        subtree_sums(page.parent, sums)
        words, linked = sums[:, 0], sums[:, 1]
        unwanted = (e.FORM | e.BUTTON if self.forms else 0) | (e.NAV | e.FOOTER | e.ASIDE if self.furniture else 0)
        unwanted |= e.HIDDEN if self.hidden else 0
        removed: Array = (page.flags & np.uint32(unwanted)) != 0
        removed &= words < 0.5 * max(1.0, words[0])  # a form around the whole page is no form
        if self.link_ratio is not None:
            lists = np.isin(page.element, _LISTS)
            text = words - linked
            small = text < _WHOLE * max(1.0, text[0])
            removed |= lists & small & (linked > self.link_ratio * text) & (linked > 0)
        return removed | np.isin(page.element, _TABLES) & (words < self.least_cell)


_HOST = re.compile(r"(?:https?:)?//([^/\\?#\s]+)", re.IGNORECASE)


def _advertises(page: Page) -> Array:
    """Mark the blocks that hold a link to an advertising host."""
    marked = np.zeros(len(page.blocks), bool)
    for anchor in page.markup.tags("a"):
        found = _HOST.match(anchor.get("href"))
        if found and found[1].lower().endswith(AD_HOSTS):
            # the block that the link stands in: the first that ends after it
            block = int(np.searchsorted(page.blocks[:, LAST], anchor.token, side="right"))
            if block < len(marked) and page.blocks[block, FIRST] <= anchor.token + 1:
                marked[block] = True
    return marked
