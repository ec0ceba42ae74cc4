"""``extract``: the main content of a page by one of the methods, as a Content.

``auto`` is learned (fyke.clean.model); ``plateau``, ``slices`` (fyke.clean.slope), ``dom``, ``layout`` are textbooks'.
Every method takes any bytes, answers in linear time and never raises for what a page holds.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from fyke.clean import model, page, render
from fyke.clean.choice_kernels import choose
from fyke.clean.columns import FIRST, LAST
from fyke.clean.dom import Dom
from fyke.clean.elements import Array
from fyke.clean.evidence import marked_by_site
from fyke.clean.furniture import Furniture
from fyke.clean.layout import Layout
from fyke.clean.page import Page
from fyke.clean.slope import Plateau, Slices
from fyke.errors import UserError
from fyke.values import Content


@dataclass(frozen=True, slots=True)
class Auto:
    """The learned method."""

    furniture: Furniture | None = None
    """What is known of the page's host, if anything."""
    model: model.Model | None = None
    """Another model than the one that comes with fyke."""


_PLATEAU = Plateau()
_HALF = 0.5
"""A block is kept if more of its tokens are marked."""
Method = Auto | Plateau | Slices | Dom | Layout
METHODS: dict[str, Method] = {
    "auto": Auto(), "plateau": Plateau(), "slices": Slices(), "dom": Dom(), "layout": Layout(),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Switches:
    """What may be in the content if the method chooses it; a switch that is off drops it."""

    comments: bool = True
    tables: bool = True
    captions: bool = True
    links: bool = True
    """Links in ``Content.html``; their text stays."""

    def dropped(self) -> frozenset[str]:
        """Return the kinds of blocks to drop."""
        named = {"comment": self.comments, "table": self.tables, "caption": self.captions}
        return frozenset(kind for kind, wanted in named.items() if not wanted)


def extract(
    html: str | bytes,
    method: str | Method = "auto",
    url: str | None = None,
    *,
    comments: bool = True,
    tables: bool = True,
    captions: bool = True,
    links: bool = True,
) -> Content:
    """Return the main content of a page. Bytes are read as UTF-8 (``fyke.decode`` makes text of others).

    ``method`` is ``auto``, ``plateau``, ``slices``, ``dom`` or ``layout``, or one of these with settings of its own
    (``Plateau(c=0.5)``). ``url`` makes the links of ``Content.html`` absolute. A switch that is off drops
    blocks of that kind.
    """
    data = html.encode("utf-8", "replace") if isinstance(html, str) else html
    switches = Switches(comments, tables, captions, links)
    way = method if not isinstance(method, str) else METHODS.get(method)
    if way is None:
        raise UserError(f"{method!r} is no method of extraction: take one of {', '.join(METHODS)}")
    if isinstance(way, (Plateau, Slices)):
        return _by_tokens(data, way, switches, url)
    read = page.read(data)
    kind = ""
    if not len(read.blocks):
        weights, kept = np.zeros(0, np.float32), np.zeros(0, bool)
    elif isinstance(way, Auto):
        weights, kept, kind = judge(read, way)
    else:
        weights = way.weights(read)
        kept = weights > 0
    return _content(read, weights, kept, kind, switches, url)


def judge(read: Page, way: Auto) -> tuple[Array, Array, str]:
    """Return (weights, kept, page type) of a page by the learned method. REQUIRES: the page has a block."""
    seen = model.look(read, way.model or model.shipped())
    chances = seen.second
    if way.furniture is not None:
        way.furniture.discount(read, chances)
    marked = marked_by_site(read)
    if marked is not None:
        chances = np.where(marked, np.sqrt(chances), chances * chances).astype(np.float32)
    kept, found = choose(chances, read.blocks, read.parent, read.element, read.title_size, seen.types[0])
    if not found:  # nothing looks like content: the plateau is the best guess
        chances = _shares(read, _PLATEAU.marks(read.tokens))
        kept = chances > _HALF
    return chances, kept, model.TYPES[int(seen.types.argmax())]


def _by_tokens(data: bytes, way: Plateau | Slices, switches: Switches, url: str | None) -> Content:
    """Extract by a method that marks tokens; blocks are made only if they are asked for."""
    tokens = page.tokenize(data)
    marked = way.marks(tokens)

    @functools.cache
    def by_blocks() -> Content:
        read = page.read(data)
        weights = _shares(read, marked)
        return _content(read, weights, weights > _HALF, "", switches, url)

    if switches.dropped():
        return by_blocks()
    text = render.marked_text(tokens, marked)
    return Content(text, tokens.title, "", lambda: by_blocks().html, lambda: by_blocks().blocks)


def _content(read: Page, weights: Array, kept: Array, kind: str, switches: Switches, url: str | None) -> Content:
    dropped = switches.dropped()
    if dropped:
        kept = kept & np.array([k not in dropped for k in render.kinds(read)], bool)
    return Content(
        render.kept_text(read, kept),
        read.title,
        kind,
        lambda: render.kept_html(read, kept, switches.links, url),
        lambda: render.block_values(read, weights, kept),
    )


def _shares(read: Page, marked: Array) -> Array:
    """Return what share of each block's tokens is marked."""
    sums = np.concatenate([[0], np.cumsum(marked)])
    first, last = read.blocks[:, FIRST], read.blocks[:, LAST]
    shares: Array = ((sums[last] - sums[first]) / np.maximum(1, last - first)).astype(np.float32)
    return shares


__all__ = ["METHODS", "Auto", "Dom", "Layout", "Method", "Plateau", "Slices", "extract"]
