"""``find``: the main content of a page by one of the methods.

``auto`` is learned (fyke.clean.model); ``plateau``, ``slices`` (fyke.clean.slope), ``dom``, ``layout`` are textbooks';
``css:SELECTOR`` is what a person points at (fyke.clean.select).
Every method takes any page, answers in linear time and never raises for what a page holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fyke.clean import model, render
from fyke.clean.choice_kernels import choose
from fyke.clean.columns import FIRST, LAST
from fyke.clean.dom import Dom
from fyke.clean.elements import Array
from fyke.clean.evidence import marked_by_site
from fyke.clean.furniture import Furniture
from fyke.clean.layout import Layout
from fyke.clean.page import Page
from fyke.clean.select import Select
from fyke.clean.slope import Plateau, Slices
from fyke.errors import UserError
from fyke.formats import html
from fyke.formats.lazy import lazy
from fyke.values import Block


@dataclass(frozen=True, slots=True)
class Auto:
    """The learned method."""

    furniture: Furniture | None = None
    """What is known of the page's host, if anything."""
    model: model.Model | None = None
    """Another model than the one that comes with fyke."""
    beta: float = 1.0
    """How much more recall counts than precision: the expected F_β is what is maximised."""


_PLATEAU = Plateau()
_HALF = 0.5
"""A block is kept if more of its tokens are marked."""
Method = Auto | Plateau | Slices | Dom | Layout | Select
METHODS: dict[str, Method] = {
    "auto": Auto(), "plateau": Plateau(), "slices": Slices(), "dom": Dom(), "layout": Layout(),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Switches:
    """What may be in the content if the method chooses it; a switch that is off drops it."""

    comments: bool = True
    tables: bool = True
    captions: bool = True

    def dropped(self) -> frozenset[str]:
        """Return the kinds of blocks to drop."""
        if self.comments and self.tables and self.captions:
            return frozenset()
        named = {"comment": self.comments, "table": self.tables, "caption": self.captions}
        return frozenset(kind for kind, wanted in named.items() if not wanted)


_ALL = Switches()


class Found:
    """What a method found on a page: which blocks are content, and how sure that is. Texts are made when asked for."""

    def __init__(self, page: Page, weights: Array, kept: Array, kind: str = "", marked: Array | None = None) -> None:
        self.page, self.weights, self.kept, self.kind = page, weights, kept, kind
        self._marked = marked

    @lazy
    def text(self) -> str:
        """The content, a line for each block, or for each run of tokens where the method marks these."""
        if self._marked is not None:
            return render.marked_text(self.page.tokens, self._marked)
        return render.kept_text(self.page, self.kept)

    @lazy
    def blocks(self) -> tuple[Block, ...]:
        """Every block of the page with its kind and weight."""
        return render.block_values(self.page, self.weights, self.kept)

    @property
    def markup(self) -> bytes:
        """The source of the content: the kept blocks within the elements around them."""
        return render.kept_markup(self.page, self.kept)


def find(source: html.Page, method: str | Method = "auto", switches: Switches = _ALL) -> Found:
    """Find the main content of a page.

    ``method`` is ``auto``, ``plateau``, ``slices``, ``dom``, ``layout`` or ``css:SELECTOR``, or one of these with
    settings of its own (``Plateau(c=0.5)``).
    """
    way = named(method) if isinstance(method, str) else method
    page, kind, marked = Page(source), "", None
    if not len(page.blocks):
        weights, kept = np.zeros(0, np.float32), np.zeros(0, bool)
    elif isinstance(way, Auto):
        weights, kept, kind = judge(page, way)
    elif isinstance(way, (Plateau, Slices)):
        marked = way.marks(page.tokens)
        weights = _shares(page, marked)
        kept = weights > _HALF
    else:
        weights = way.weights(page)
        kept = weights > 0
    if dropped := switches.dropped():
        kept, marked = kept & np.array([kind not in dropped for kind in render.kinds(page)], bool), None
    return Found(page, weights, kept, kind, marked)


def named(method: str) -> Method:
    """Return the method of a name. Raises ``UserError`` for what is none."""
    if method.startswith("css:"):
        return Select(method.removeprefix("css:"))
    if method not in METHODS:
        raise UserError(f"{method!r} is no method of extraction: take one of {', '.join(METHODS)} or css:SELECTOR")
    return METHODS[method]


def judge(read: Page, way: Auto) -> tuple[Array, Array, str]:
    """Return (weights, kept, page type) of a page by the learned method. REQUIRES: the page has a block."""
    seen = model.look(read, way.model or model.shipped())
    chances = seen.second
    if way.furniture is not None:
        way.furniture.discount(read, chances)
    marked = marked_by_site(read)
    if marked is not None:
        chances = np.where(marked, np.sqrt(chances), chances * chances).astype(np.float32)
    kept, found = choose(chances, read.blocks, read.parent, read.element, read.title_size, seen.types, way.beta**2)
    if not found:  # nothing looks like content: the plateau is the best guess
        chances = _shares(read, _PLATEAU.marks(read.tokens))
        kept = chances > _HALF
    return chances, kept, model.TYPES[int(seen.types.argmax())]


def _shares(read: Page, marked: Array) -> Array:
    """Return what share of each block's tokens is marked."""
    sums = np.concatenate([[0], np.cumsum(marked)])
    sources = read.tokens.sources  # blocks are of the markup's tokens
    first = np.searchsorted(sources, read.blocks[:, FIRST])
    last = np.searchsorted(sources, read.blocks[:, LAST])
    shares: Array = ((sums[last] - sums[first]) / np.maximum(1, last - first)).astype(np.float32)
    return shares


__all__ = [
    "METHODS",
    "Auto",
    "Dom",
    "Found",
    "Layout",
    "Method",
    "Plateau",
    "Select",
    "Slices",
    "Switches",
    "find",
    "named",
]
