"""The whole way of pages in one call: tokens to blocks, chances, what is kept, texts and weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fyke.bits.jit import LANES, kernel, leaf
from fyke.clean.block_kernels import MAX_BLOCKS, Tree, build_blocks
from fyke.clean.choice_kernels import choose, pack_weights
from fyke.clean.columns import COLUMNS, TEXT, TEXT_END, WORDS
from fyke.clean.elements import ID, Array
from fyke.clean.model_kernels import Tables, judge
from fyke.clean.word_kernels import Known, remember_words, write
from fyke.formats.markup_rows import OPEN

_TITLE_SLOTS, _TITLE_WORDS = 256, 64
_MAX_REMARKS = 64
"""Comments that are noted: a hostile page gets no more attention."""
_FEW = 200
_NOSCRIPT = ID["noscript"]
_NEWLINE = 10

BEGIN, END, TOKEN, TOKEN_END, ATTRIBUTE, ATTRIBUTE_END, TITLE, SPANS = range(8)
"""Of a page among many: its bytes, tokens and attributes, and the token of its own that is the title's text, or -1."""
COUNT, TEXT_END_, WEIGHTS_END, MAIN_END, KIND, RESULTS = range(6)
"""What is told of a page: its blocks; where their texts, their weights and the main text end in the output; its type.
A page with COUNT -1 wants a closer look."""


class Blocks(NamedTuple):
    """What a page is cut into."""

    tree: Tree
    blocks: Array
    remarks: Array
    """Tokens that are comments which may mark content."""
    text: Array
    """The texts of the blocks, BLOCK_END between them, entities and all."""
    said: Array
    """The words of the blocks, by 16 bits of their hashes."""
    title_size: int
    """Words of the title."""


@kernel
def read_blocks(
    page: Array, tokens: Array, attributes: Array, title: int, bodies: Array, noscript: bool, out: Array
) -> Blocks:
    """Cut a page into blocks. ``title`` is the token of its title's text, or -1; ``bodies`` is by remember_words.

    ``out`` gets the texts. REQUIRES: it has room for the page and a byte more for each token.
    """
    titles = np.zeros(_TITLE_SLOTS, np.int64)
    size = 0
    if title >= 0:
        size = remember_words(page[tokens[title, 2] : tokens[title, 3]], titles, False, _TITLE_WORDS)
    count = tokens.shape[0]
    tree = Tree(
        np.empty(count, np.int32), np.empty(count, np.uint8), np.empty(count, np.uint32), np.empty(count, np.int32),
        np.empty(count, np.int32), np.empty(page.size // 4 + 1, np.uint16),
    )  # fmt: skip
    blocks = np.empty((min(count, MAX_BLOCKS), COLUMNS), np.int64)
    remarks, said = np.empty(_MAX_REMARKS, np.int32), np.empty(page.size // 2 + 2, np.uint16)
    n, made, noted, written = build_blocks(
        page, tokens, attributes, Known(titles, bodies, said), noscript, tree, blocks, remarks, out
    )
    cut = Tree(tree.parent[:n], tree.element[:n], tree.flags[:n], tree.opened[:n], tree.words_end[:n], tree.words)
    return Blocks(cut, blocks[:made], remarks[:noted], out[:written], said, size)


@leaf
def write_kept(text: Array, blocks: Array, kept: Array, out: Array, size: int) -> int:
    """Write the texts of the kept blocks to ``out`` from ``size`` on, a line for each; return the new size."""
    begin = size
    for k in range(kept.size):
        if kept[k]:
            if size > begin:
                out[size] = _NEWLINE
                size += 1
            at, end = blocks[k, TEXT], blocks[k, TEXT_END]
            while at < end:
                step = min(LANES, end - at)
                size = write(text, at, at + step, out, size)
                at += step
    return size


@leaf
def has_more(tokens: Array, blocks: Array) -> bool:
    """Whether there is so little text that there may be more in noscript, and there is one."""
    words = 0
    for k in range(blocks.shape[0]):
        words += blocks[k, WORDS]
    if words >= _FEW:
        return False
    for at in range(tokens.shape[0] - 1):
        if tokens[at, 0] == OPEN and tokens[at, 1] & 255 == _NOSCRIPT:
            return True
    return False


@kernel
def main_of_pages(
    buffer: Array, spans: Array, tokens: Array, attributes: Array, declared: Array, tables: Tables, wanted: float,
    out: Array, results: Array,
) -> None:  # fmt: skip
    """Do the whole way of each page; write its texts (a byte of 30 between blocks), its weights and its main text.

    ``declared`` is what each says of its type (model.declared); ``wanted`` is choose's. A page without blocks, with
    marks of its own, with so little that there may be more in noscript, or with nothing that looks like content is only
    marked. REQUIRES: ``out`` has room for twice the pages and three bytes more for each token.
    """
    nothing = np.zeros(1, np.int64)
    size = 0
    for i in range(spans.shape[0]):
        span, result = spans[i], results[i]
        page, own = buffer[span[BEGIN] : span[END]], tokens[span[TOKEN] : span[TOKEN_END]]
        named = attributes[span[ATTRIBUTE] : span[ATTRIBUTE_END]]
        result[COUNT], result[TEXT_END_], result[WEIGHTS_END], result[MAIN_END] = -1, size, size, size
        cut = read_blocks(page, own, named, span[TITLE], nothing, False, out[size:])
        tree, blocks = cut.tree, cut.blocks
        count = blocks.shape[0]
        if count == 0 or cut.remarks.size or has_more(own, blocks):
            continue
        _, _, chances, types = judge(blocks, tree, cut.said, cut.title_size, declared[i], tables)
        kept, found = choose(chances, blocks, tree.parent, tree.element, cut.title_size, types, wanted)
        if not found:
            continue
        size += cut.text.size
        result[COUNT], result[TEXT_END_] = count, size
        pack_weights(chances, kept, out[size : size + count])
        size += count
        result[WEIGHTS_END] = size
        size = write_kept(cut.text, blocks, kept, out, size)
        result[MAIN_END], result[KIND] = size, np.argmax(types)
