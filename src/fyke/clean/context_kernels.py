"""The second look: what the first scores of the blocks around a block say of it, and which blocks to keep.

First scores p smooth out over neighbours, windows and containers; pages are told apart by sums over all their
blocks. The kept set maximises the page's expected F1: with w words and p chances, the best set of a given size
is the most likely blocks, so it is a prefix of the blocks by falling p, the one with the greatest
2 Σ p·w / (Σ w + W), where W = Σ p·w over all blocks is the expected size of the truth.
"""

from __future__ import annotations

import numpy as np

from fyke.bits.jit import kernel, leaf
from fyke.clean.block_kernels import CONTAINER, TITLED, WORDS
from fyke.clean.elements import ID, Array
from fyke.clean.feature_kernels import ROW, log1p, subtree_sums
from fyke.clean.plateau_kernels import plateau

_TITLES, _TOPS = ROW["page_titles"], ROW["page_h1"]
_SHIFTS = (-3, -2, -1, 1, 2, 3)
_WINDOWS = (5, 12)
_LEVELS = 4
NAMES = [
    "first", *(f"first@{s}" for s in _SHIFTS), *(f"first±{w}" for w in _WINDOWS),
    *(f"first_{what}_{level}" for level in range(_LEVELS) for what in ("mean", "max")),
    "first_share", "first_words", "first_before", "first_plateau",
]  # fmt: skip
CONTEXT = len(NAMES)
SHARPNESS = 1.4
"""Exponent on the chances. Blocks of a page are wrong together, so that hundreds of small chances, taken as if
they were independent, would promise more content than there is; chosen on held-out hosts."""

_AVERAGED = [
    "words",
    "linked",
    "points_per_word",
    "digits",
    "repeated",
    "is_p",
    "heading",
    "is_item",
    "is_cell",
    "is_div",
    "in_article",
    "in_form",
    "plateau_words",
    "siblings_path",
    "siblings_words",
    "class_path_min",
    "class_path_max",
]
_AVERAGED_ROWS = np.array([ROW[name] for name in _AVERAGED])
DECLARED = 4
PAGE_NAMES = [
    *(f"{weight}_{name}" for name in _AVERAGED for weight in ("block", "word", "first")),
    "blocks", "words", "expected", "expected_share", "chosen", "chosen_spread", "title", "tops",
    *(f"declared_{n}" for n in range(DECLARED)),
]  # fmt: skip
PAGE_FEATURES = len(PAGE_NAMES)


_H1, _H2 = ID["h1"], ID["h2"]
_HEADLINE_REACH = 12
"""Blocks from a headline to the text below it: between them stand author, date and buttons."""


@leaf
def add_headline(kept: Array, blocks: Array, element_of: Array, title_size: int) -> int:
    """Keep the headline too: the h1, else h2, most like the title with kept text shortly below it; return it or -1.

    Data sets differ on whether a headline is content; readers and indexes do not.
    """
    best, found, below = 0.3 * title_size, -1, -1
    for k in range(kept.size - 1, -1, -1):
        element = element_of[blocks[k, CONTAINER]]
        if (element == _H1 or element == _H2) and k < below <= k + _HEADLINE_REACH:
            likeness = min(blocks[k, TITLED], title_size) + (0.5 if element == _H1 else 0.0)
            if blocks[k, TITLED] > 0 and likeness > best:
                best, found = likeness, k
        if kept[k]:
            below = k
    if found >= 0:
        kept[found] = 1
    return found


@kernel
def context_features(blocks: Array, parent: Array, wider: Array, first: Array) -> Array:
    """Return the rows NAMES for each block, from its and its neighbours' first scores."""
    count = blocks.shape[0]
    out = np.empty((CONTEXT, count), np.float32)
    sums = np.zeros((parent.size, 2), np.float64)
    most = np.zeros(parent.size, np.float32)
    gains = np.empty(count, np.float64)
    total, words = 0.0, 0.0
    out[0] = first
    for k in range(count):
        size = blocks[k, WORDS]
        container = blocks[k, CONTAINER]
        sums[container, 0] += first[k] * (size + 1)
        sums[container, 1] += size + 1
        most[container] = max(most[container], first[k])
        gains[k] = (first[k] - 0.4) * (size + 1)
        total += first[k] * size
        words += size
    subtree_sums(parent, sums)
    for container in range(parent.size - 1, 0, -1):
        above = parent[container]
        most[above] = max(most[above], most[container])
    row = 1
    for shift in _SHIFTS:
        for k in range(count):
            out[row, k] = first[k + shift] if 0 <= k + shift < count else -0.1
        row += 1
    for size in _WINDOWS:
        held, weighed = 0.0, 0.0
        for k in range(-size, count):
            if k + size < count:
                weighed += blocks[k + size, WORDS] * first[k + size]
                held += blocks[k + size, WORDS]
            if k - size - 1 >= 0:
                weighed -= blocks[k - size - 1, WORDS] * first[k - size - 1]
                held -= blocks[k - size - 1, WORDS]
            if k >= 0:
                out[row, k] = weighed / max(1.0, held)
        row += 1
    begin, end = plateau(gains)
    before = 0.0
    for k in range(count):
        container = blocks[k, CONTAINER]
        for level in range(_LEVELS):
            out[row + 2 * level, k] = sums[container, 0] / max(1.0, sums[container, 1])
            out[row + 2 * level + 1, k] = most[container]
            container = wider[container]
        last = row + 2 * _LEVELS
        before += first[k] * blocks[k, WORDS]
        out[last, k] = total / max(1.0, words)
        out[last + 1, k] = log1p(total)
        out[last + 2, k] = before / max(1e-6, total)
        distance = k - begin if k < begin else (k - end + 1 if k >= end else 0)
        out[last + 3, k] = min(200, max(-200, distance)) * 0.1
    return out


@kernel
def page_features(blocks: Array, rows: Array, first: Array, declared: Array) -> Array:
    """Return the features PAGE_NAMES of a page as a column.

    They are means of feature rows over its blocks, its words and its likely content, and what it declares itself to
    be. REQUIRES: at least one block.
    """
    count = blocks.shape[0]
    out = np.zeros((PAGE_FEATURES, 1), np.float32)
    words, expected, chosen, begin, end = 0.0, 0.0, 0, count, 0
    for k in range(count):
        words += blocks[k, WORDS]
        expected += first[k] * blocks[k, WORDS]
        if first[k] > 0.5:
            chosen += 1
            begin, end = min(begin, k), k + 1
    for n in range(_AVERAGED_ROWS.size):
        values = rows[_AVERAGED_ROWS[n]]
        by_block, by_word, by_first = 0.0, 0.0, 0.0
        for k in range(count):
            by_block += values[k]
            by_word += values[k] * blocks[k, WORDS]
            by_first += values[k] * blocks[k, WORDS] * first[k]
        out[3 * n, 0] = by_block / count
        out[3 * n + 1, 0] = by_word / max(1.0, words)
        out[3 * n + 2, 0] = by_first / max(1.0, expected)
    n = 3 * _AVERAGED_ROWS.size
    out[n, 0], out[n + 1, 0], out[n + 2, 0] = log1p(count), log1p(words), log1p(expected)
    out[n + 3, 0] = expected / max(1.0, words)
    out[n + 4, 0], out[n + 5, 0] = log1p(chosen), chosen / max(1, end - begin)
    out[n + 6, 0], out[n + 7, 0] = rows[_TITLES, 0], rows[_TOPS, 0]
    for k in range(DECLARED):
        out[n + 8 + k, 0] = declared[k]
    return out


@kernel
def best_expected(chance: Array, blocks: Array) -> Array:
    """Mark the blocks that maximise the page's expected F1, given the chance of each to be content."""
    order = np.argsort(-chance, kind="mergesort")
    sure = chance**SHARPNESS
    words = blocks[:, WORDS] + 0.3  # a block without words costs a little, so that it needs a reason too
    expected = 0.0
    for k in range(order.size):
        expected += sure[k] * words[k]
    hit, size, best, kept = 0.0, 0.0, 0.0, 0
    for k in range(order.size):
        hit += sure[order[k]] * words[order[k]]
        size += words[order[k]]
        value = 2 * hit / (size + expected)
        if value > best:
            best, kept = value, k + 1
    marked = np.zeros(order.size, np.uint8)
    for k in range(kept):
        marked[order[k]] = 1
    return marked
