"""``main_text``: what a crawl stores of a page's content, and no more: its text by blocks and a byte for each block.

The byte of a block says ``128 · main + round(127 · weight)``: whether its text is in the main text, and how much it
looks like content. Blocks are those of ``page.read`` in order: ``weighted_blocks`` joins page and bytes again.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress

import numpy as np

from fyke.clean import render
from fyke.clean.choice_kernels import pack_weights
from fyke.clean.extract import Auto, Found, find
from fyke.clean.furniture import Furniture
from fyke.clean.page import Page
from fyke.formats import html
from fyke.values import BLOCK_END, Block

_MAIN, _TOP = 128, 127


@dataclass(frozen=True, slots=True)
class Main:
    """The main text of a page, all its blocks with BLOCK_END between them, a byte for each, and the page's type."""

    text: str
    blocks: str
    weights: bytes
    kind: str


def main_text(source: html.Page, furniture: Furniture | None = None) -> Main:
    """Return the main text of a page as ``auto`` finds it.

    ``furniture`` is what is known of the page's host: it is used, and learns this page.
    """
    found = find(source, Auto(furniture))
    if not len(found.kept):
        return Main("", "", b"", "")
    if furniture is not None:
        furniture.learn(found.page)
    return main_of(found)


def main_of(found: Found) -> Main:
    """Return what a crawl stores of what was found. REQUIRES: the page has a block."""
    packed = np.empty(len(found.kept), np.uint8)
    pack_weights(found.weights, found.kept, packed)
    blocks = render.blocks_text(found.page)
    return Main("\n".join(compress(blocks.split(BLOCK_END), found.kept.tolist())), blocks, packed.tobytes(), found.kind)


def weighted_blocks(source: html.Page, weights: bytes) -> tuple[Block, ...]:
    """Return the blocks of a page with the weights that ``main_text`` gave them; none if they are of another page."""
    read = Page(source)
    packed = np.frombuffer(weights, np.uint8)
    if packed.size != len(read.blocks):
        return ()
    return render.block_values(read, (packed & _TOP) / _TOP, packed >= _MAIN)
