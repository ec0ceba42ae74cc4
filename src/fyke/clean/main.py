"""``main_text``: what a crawl stores of a page's content, and no more: its text by blocks and a byte for each block.

The byte of a block says ``128 · main + round(127 · weight)``: whether its text is in the main text, and how much it
looks like content. Blocks are those of ``page.read`` in order: ``weighted_blocks`` joins page and bytes again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import numpy as np

from fyke.clean import model, render
from fyke.clean.block_kernels import MAX_BLOCKS
from fyke.clean.choice_kernels import pack_weights
from fyke.clean.extract import Auto, Found, find
from fyke.clean.features import DECLARED
from fyke.clean.furniture import Furniture
from fyke.clean.main_kernels import RESULTS, main_of_pages
from fyke.clean.page import Page, declared_of
from fyke.formats import html
from fyke.formats.batch_kernels import TOKEN_END
from fyke.limits import note
from fyke.values import BLOCK_END, Block

_MAIN, _TOP = 128, 127
_FIRST = 1_000_000
"""Bytes of blocks that are their beginning."""
_UNDECLARED: tuple[frozenset[str], bytes] = frozenset(), b""
_NO_BYTES = memoryview(b"")


class Main:
    """The main text of a page, all its blocks with BLOCK_END between them, a byte for each, and the page's type.

    Never changes; texts are decoded when first asked for.
    """

    __slots__ = ("_blocks", "_text", "kind", "weights")

    def __init__(self, text: str | memoryview, blocks: str | memoryview, weights: bytes, kind: str) -> None:
        """What is no string is UTF-8 with entities."""
        self._text, self._blocks, self.weights, self.kind = text, blocks, weights, kind

    @property
    def text(self) -> str:
        """The main text, a line for each block."""
        if not isinstance(self._text, str):
            self._text = render.decoded(self._text)
        return self._text

    @property
    def blocks(self) -> str:
        """The texts of all blocks, BLOCK_END between them."""
        if not isinstance(self._blocks, str):
            self._blocks = render.decoded(self._blocks)
        return self._blocks

    @property
    def source(self) -> memoryview:
        """The texts of all blocks as UTF-8 with entities, as long as they are that; else empty."""
        return _NO_BYTES if isinstance(self._blocks, str) else self._blocks

    @property
    def first_blocks(self) -> str:
        """The beginning of ``blocks``, where they are long: what metadata is looked for in."""
        if isinstance(self._blocks, str) or len(self._blocks) <= _FIRST:
            return self.blocks
        return render.decoded(self._blocks[:_FIRST])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Main) and self._told() == other._told()

    def __hash__(self) -> int:
        return hash(self._told())

    def _told(self) -> tuple[str, str, bytes, str]:
        return self.text, self.blocks, self.weights, self.kind


NOTHING = Main("", "", b"", "")
"""Of a page without text."""


def main_text(source: html.Page, furniture: Furniture | None = None) -> Main:
    """Return the main text of a page as ``auto`` finds it.

    ``furniture`` is what is known of the page's host: it is used, and learns this page.
    """
    found = find(source, Auto(furniture))
    if not len(found.kept):
        return NOTHING
    if furniture is not None:
        furniture.learn(found.page)
    return main_of(found)


def main_of(found: Found) -> Main:
    """Return what a crawl stores of what was found. REQUIRES: the page has a block."""
    packed = np.empty(len(found.kept), np.uint8)
    pack_weights(found.weights, found.kept, packed)
    blocks = render.blocks_text(found.page)
    return Main("\n".join(compress(blocks.split(BLOCK_END), found.kept.tolist())), blocks, packed.tobytes(), found.kind)


def main_texts(sources: Sequence[html.Page], furniture: Sequence[Furniture] | None = None) -> list[Main]:
    """Return the main texts of pages that were cut in one call, in one more; as ``main_text`` finds each.

    ``furniture`` is that of each page's host; then pages are looked at one after the other, as each teaches the next.
    """
    if furniture is not None:
        return [main_text(source, known) for source, known in zip(sources, furniture, strict=True)]
    if not sources:
        return []
    batch = sources[0].cut.batch
    said = [declared_of(source) if source.speaks else _UNDECLARED for source in sources]
    declared = np.zeros((len(sources), DECLARED), np.uint8)
    for at, (types, _) in enumerate(said):
        if types:
            declared[at] = model.declared(types)
    whole = len(sources) == len(batch.spans)
    spans = batch.spans if whole else batch.spans[[source.cut.number for source in sources]]
    room = 2 * len(batch.buffer) + 3 * int(batch.spans[-1, TOKEN_END])
    out, results = np.empty(room, np.uint8), np.empty((len(sources), RESULTS), np.int64)
    tables = model.shipped().tables
    main_of_pages(batch.buffer, spans, batch.tokens, batch.attributes, declared, tables, 1.0, out, results)
    found, begin, data = [], 0, out.data
    for source, (_, body), (count, text, weights, main, kind) in zip(sources, said, results.tolist(), strict=True):
        if count < 0 or body:
            found.append(main_text(source))
        else:
            found.append(Main(data[weights:main], data[begin:text], bytes(data[text:weights]), model.TYPES[kind]))
        begin = main
    if any(len(each.weights) >= MAX_BLOCKS for each in found):
        note("blocks")
    return found


def main_markup(source: html.Page, weights: bytes) -> bytes:
    """Return the source of the main content of a page by its weights: the kept blocks within the elements around them.

    REQUIRES: ``main_text`` gave this page the weights.
    """
    return render.kept_markup(Page(source), np.frombuffer(weights, np.uint8) >= _MAIN)


def weighted_kinds(source: html.Page, weights: bytes) -> list[str]:
    """Return the kind of each block of a page that ``main_text`` gave the weights; none if they are of another page."""
    read = Page(source)
    return render.kinds(read) if len(weights) == len(read.blocks) else []


def weighted_blocks(source: html.Page, weights: bytes) -> tuple[Block, ...]:
    """Return the blocks of a page with the weights that ``main_text`` gave them; none if they are of another page."""
    read = Page(source)
    packed = np.frombuffer(weights, np.uint8)
    if packed.size != len(read.blocks):
        return ()
    return render.block_values(read, (packed & _TOP) / _TOP, packed >= _MAIN)
