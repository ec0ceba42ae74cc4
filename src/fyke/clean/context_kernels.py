"""The second look: what the first scores of the blocks around a block say of it, and what they say of the page."""

from __future__ import annotations

import numpy as np

from fyke.bits.jit import kernel
from fyke.clean.block_kernels import Tree
from fyke.clean.columns import CONTAINER, WORDS
from fyke.clean.container_kernels import subtree_sums
from fyke.clean.elements import Array
from fyke.clean.feature_kernels import counted, placed, shared
from fyke.clean.features import AVERAGED_ROWS, DECLARED, PAD, ROW, SCORE_LEVELS, SCORE_WINDOWS, TOP
from fyke.clean.plateau_kernels import plateau
from fyke.clean.word_kernels import find

_CONTEXT_0, _PATH_0, _TITLES, _TOPS = (ROW[n] for n in ("first", "path_blocks", "page_titles", "page_h1"))
_SOME = 8
"""Words of a block by which a page's greatest chance is told."""
_UNKNOWN = 32
"""The mean chance of the other blocks of a path where there are none."""
_LIKELY = 0.4
"""A block with this chance neither adds to the plateau of chances nor takes from it."""


@kernel
def score_sums(blocks: Array, parent: Array, chances: Array) -> tuple[Array, Array]:
    """Return, by container, (chances times words, and words; the greatest chance) of the blocks in it."""
    sums = np.zeros((parent.size, 2), np.float32)
    most = np.zeros(parent.size, np.float32)
    for k in range(blocks.shape[0]):
        container, size = blocks[k, CONTAINER], blocks[k, WORDS] + 1
        sums[container, 0] += chances[k] * size
        sums[container, 1] += size
        most[container] = max(most[container], chances[k])
    subtree_sums(parent, sums)
    for container in range(parent.size - 1, 0, -1):
        above = parent[container]
        most[above] = max(most[above], most[container])
    return sums, most


@kernel
def window_scores(blocks: Array, chances: Array, rows: Array, row: int, size: int) -> None:
    """Fill a row with the mean chance of the words within ``size`` blocks."""
    count = blocks.shape[0]
    held, weighed = 0.0, 0.0
    for k in range(-size, count):
        if k + size < count:
            weighed += blocks[k + size, WORDS] * chances[k + size]
            held += blocks[k + size, WORDS]
        if k - size - 1 >= 0:
            weighed -= blocks[k - size - 1, WORDS] * chances[k - size - 1]
            held -= blocks[k - size - 1, WORDS]
        if k >= 0:
            rows[row, PAD + k] = shared(max(0.0, weighed), held)


@kernel
def context_features(blocks: Array, parent: Array, wider: Array, chances: Array, rows: Array) -> None:
    """Fill the rows of features.CONTEXT for each block, from its and its neighbours' first chances."""
    count = blocks.shape[0]
    sums, most = score_sums(blocks, parent, chances)
    gains = np.empty(count, np.float32)
    total, words, highest = 0.0, 0.0, 0.0
    for k in range(count):
        rows[_CONTEXT_0, PAD + k] = int(chances[k] * TOP + 0.5)
        if blocks[k, WORDS] >= _SOME:
            highest = max(highest, chances[k])
        gains[k] = (chances[k] - _LIKELY) * (blocks[k, WORDS] + 1)
        total += chances[k] * blocks[k, WORDS]
        words += blocks[k, WORDS]
    row = _CONTEXT_0 + 1
    for size in SCORE_WINDOWS:
        window_scores(blocks, chances, rows, row, size)
        row += 1
    begin, end = plateau(gains)
    last = row + 2 * SCORE_LEVELS
    rows[last, PAD : PAD + count] = shared(total, words)
    rows[last + 1, PAD : PAD + count] = counted(int(total) // 8)
    rows[last + 4, PAD : PAD + count] = int(highest * TOP + 0.5)
    before = 0.0
    for k in range(count):
        container, at = blocks[k, CONTAINER], PAD + k
        for level in range(SCORE_LEVELS):
            rows[row + 2 * level, at] = shared(sums[container, 0], sums[container, 1])
            rows[row + 2 * level + 1, at] = int(most[container] * TOP + 0.5)
            container = wider[container]
        before += chances[k] * blocks[k, WORDS]
        rows[last + 2, at] = shared(before, total)
        rows[last + 3, at] = placed(k - begin if k < begin else (k - end + 1 if k >= end else 0))


@kernel
def path_features(blocks: Array, tree: Tree, chances: Array, rows: Array) -> None:
    """Fill the rows on the blocks that stand in elements and classes of the same names: what one is, all are."""
    count = blocks.shape[0]
    parent, element_of, words, words_end = tree.parent, tree.element, tree.words, tree.words_end
    sign = np.zeros(parent.size, np.int64)
    for c in range(1, parent.size):
        sign[c] = 31 + int(element_of[c])
        for w in range(words_end[c - 1], words_end[c]):
            sign[c] = (sign[c] * 31 + words[w] + 1) & 0xFFFFFFF
    size = 4
    while size < 2 * count:
        size *= 2
    keys, place = np.zeros(size, np.int64), np.empty(count, np.int32)
    members, sums, total = np.zeros(size, np.int32), np.zeros((size, 2), np.float32), 0.0
    for k in range(count):
        c = blocks[k, CONTAINER]
        above = parent[c]
        key = ((sign[c] * 1000003 + sign[above] * 31 + element_of[parent[above]]) & 0xFFFFFFFFFF) + 1
        slot = find(keys, key)
        keys[slot], place[k] = key, slot
        members[slot] += 1
        sums[slot, 0] += chances[k] * (blocks[k, WORDS] + 1)
        sums[slot, 1] += blocks[k, WORDS] + 1
        total += blocks[k, WORDS] + 1
    for k in range(count):
        slot, own, at = place[k], blocks[k, WORDS] + 1, PAD + k
        others = sums[slot, 1] - own
        rows[_PATH_0, at] = counted(members[slot])
        rows[_PATH_0 + 1, at] = int(np.sqrt(sums[slot, 1] / total) * TOP + 0.5)
        rows[_PATH_0 + 2, at] = shared(max(0.0, sums[slot, 0] - chances[k] * own), others) if others > 0.5 else _UNKNOWN


@kernel
def page_features(blocks: Array, rows: Array, chances: Array, declared: Array, out: Array) -> None:
    """Fill ``out`` with features.PAGE_COLUMNS but those of class words.

    They are means of feature rows over its blocks, its words and its likely content, and what it declares itself to
    be. REQUIRES: at least one block.
    """
    count = blocks.shape[0]
    words, expected, chosen, begin, end = 0.0, 0.0, 0, count, 0
    weights = np.empty((2, count), np.float32)
    for k in range(count):
        weights[0, k], weights[1, k] = blocks[k, WORDS], chances[k] * blocks[k, WORDS]
        words += weights[0, k]
        expected += weights[1, k]
        if chances[k] > 0.5:
            chosen += 1
            begin, end = min(begin, k), k + 1
    n = 0
    for row in AVERAGED_ROWS:
        by_block, by_word, by_chance = 0.0, 0.0, 0.0
        for k in range(count):
            value = float(rows[row, PAD + k])
            by_block += value
            by_word += value * weights[0, k]
            by_chance += value * weights[1, k]
        out[n] = min(TOP, int(by_block / count + 0.5))
        out[n + 1] = min(TOP, int(by_word / max(1.0, words) + 0.5))
        out[n + 2] = min(TOP, int(by_chance / max(1.0, expected) + 0.5))
        n += 3
    out[n], out[n + 1], out[n + 2] = (
        counted(count),
        counted(int(words) // 8),
        counted(int(expected) // 8),
    )
    out[n + 3] = shared(expected, words)
    out[n + 4], out[n + 5] = counted(chosen), shared(chosen, end - begin)
    out[n + 6], out[n + 7] = rows[_TITLES, PAD], rows[_TOPS, PAD]
    for k in range(DECLARED):
        out[n + 8 + k] = declared[k]
