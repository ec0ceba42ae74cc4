"""``main_text``: what a crawl stores of a page's content, and no more: its text by blocks and a byte for each block.

The byte of a block says ``128 · main + round(127 · weight)``: whether its text is in the main text, and how much it
looks like content. Blocks are those of ``page.read`` in order: ``weighted_blocks`` joins page and bytes again.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress

import numpy as np

from fyke.clean import page, render
from fyke.clean.choice_kernels import pack_weights
from fyke.clean.extract import Auto, judge
from fyke.clean.furniture import Furniture
from fyke.values import BLOCK_END, Block

_MAIN, _TOP = 128, 127


@dataclass(frozen=True, slots=True)
class Main:
    """The main text of a page, all its blocks with BLOCK_END between them, a byte for each, and the page's type."""

    text: str
    blocks: str
    weights: bytes
    kind: str


def main_text(html: str | bytes, furniture: Furniture | None = None) -> Main:
    """Return the main text of a page as ``auto`` finds it. Bytes are read as UTF-8, and are the faster.

    ``furniture`` is what is known of the page's host: it is used, and learns this page.
    """
    read = page.read(html.encode("utf-8", "replace") if isinstance(html, str) else html)
    if not len(read.blocks):
        return Main("", "", b"", "")
    weights, kept, kind = judge(read, Auto(furniture))
    if furniture is not None:
        furniture.learn(read)
    packed = np.empty(len(kept), np.uint8)
    pack_weights(weights, kept, packed)
    blocks = render.blocks_text(read)
    return Main("\n".join(compress(blocks.split(BLOCK_END), kept.tolist())), blocks, packed.tobytes(), kind)


def weighted_blocks(html: str | bytes, weights: bytes) -> tuple[Block, ...]:
    """Return the blocks of a page with the weights that ``main_text`` gave them; none if they are of another page."""
    read = page.read(html.encode("utf-8", "replace") if isinstance(html, str) else html)
    packed = np.frombuffer(weights, np.uint8)
    if packed.size != len(read.blocks):
        return ()
    return render.block_values(read, (packed & _TOP) / _TOP, packed >= _MAIN)
