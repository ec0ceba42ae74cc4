"""Which blocks to keep: the set that maximises the page's expected F1.

With w words and p chances, the best set of a given size is the most likely blocks, so it is a prefix of the blocks by
falling p: the one with the greatest mean of 2 Σ p·w / (Σ w + W), where W = Σ p·w over all blocks is the expected size
of the truth; of F_β, which favours recall or precision, that of (1 + β²) Σ p·w / (Σ w + β² W). The mean is over what
may be wrong with the page as a whole: its blocks are misjudged together, so all their log-odds are shifted by the same
unknown amount.
"""

from __future__ import annotations

import numpy as np

from fyke.bits.jit import inlined, kernel, leaf
from fyke.clean.columns import CONTAINER, TITLED, WORDS
from fyke.clean.elements import ID, Array

SPREAD, SPREAD_OF_ARTICLES = 2.5, 2.0
"""Standard deviation of a page's shift in log-odds: articles are judged more surely than other pages. With the
exponent 1.5 on the chances they were chosen on held-out hosts and sets."""
LEANINGS = np.array([0.0, 0.4, 1.7, 0.0, 0.8, 0.6, 2.2])
"""Of pages of each of features.TYPES: how much more of them is content than their blocks' chances tell."""
TRUST = np.array([1.0, 1.0, 1.0, 1.0, 0.5, 1.0, 1.0])
"""In the chance of each of these types: what looks like a listing is often an article among lists."""
_ARTICLE = 0.7
"""The chance of an article, beside its likeliest other type, from which on nothing leans."""
_POINTS = np.array([-1.5, -0.6, 0.0, 0.6, 1.5])
"""At which the shift is taken, in standard deviations."""
_MASSES = np.array([0.125, 0.25, 0.25, 0.25, 0.125])
"""Of these points."""
_POSSIBLE = 0.05
_H1 = ID["h1"]
_LIKENESS = 0.3
"""Of the title's words must stand in its headline."""


@inlined
def article_share(types: Array) -> float:
    """Return the chance that a page is an article, not its likeliest other type."""
    other = 0.0
    for t in range(1, types.size):
        other = max(other, float(types[t] * TRUST[t]))
    return float(types[0]) / (float(types[0]) + other + 1e-9)


@inlined
def leaning(types: Array) -> float:
    """Return by how much the log-odds of a page's blocks are too low, by the chances of its types."""
    total, leans = 1e-9, 0.0
    for t in range(1, types.size):
        weight = (types[t] * TRUST[t]) ** 2
        total += weight
        leans += weight * LEANINGS[t]
    return leans / total * max(0.0, 1.0 - article_share(types) / _ARTICLE)


@kernel
def best_expected(chance: Array, blocks: Array, types: Array, wanted: float) -> Array:
    """Mark the blocks that maximise the page's expected F, by their chances and those of the page's types.

    ``wanted`` is β²: recall counts β times as much as precision.
    """
    count, points = chance.size, _POINTS.size
    spread = SPREAD + types[0] * (SPREAD_OF_ARTICLES - SPREAD)
    factors = np.exp(leaning(types) + spread * _POINTS).astype(np.float32)
    order = np.argsort(-chance, kind="mergesort")
    words = np.empty(count, np.float32)
    for k in range(count):
        words[k] = blocks[k, WORDS] + 0.3  # a block without words costs a little, so that it needs a reason too
    hits = np.empty((count, points), np.float32)
    for m in range(points):
        for k in range(count):
            shifted = chance[k] * factors[m]
            sure = shifted / (shifted + np.float32(1.0) - chance[k] + np.float32(1e-9))
            hits[k, m] = words[k] * sure * np.sqrt(sure)
    expected, hit = np.zeros(points), np.zeros(points)
    for k in range(count):
        for m in range(points):
            expected[m] += hits[k, m]
    size, best, kept = 0.0, 0.0, 0
    for k in range(count):
        block = order[k]
        size += words[block]
        value = 0.0
        for m in range(points):
            hit[m] += hits[block, m]
            value += _MASSES[m] * hit[m] / (size + wanted * expected[m])
        if value > best:
            best, kept = value, k + 1
    marked = np.zeros(count, np.bool_)
    for k in range(kept):
        marked[order[k]] = True
    return marked


@leaf
def fill_gaps(kept: Array, chance: Array, blocks: Array) -> None:
    """Keep a block of some words between two that are kept, unless it is most unlikely: the title of a teaser."""
    before = False
    for k in range(kept.size - 1):
        own = kept[k]
        if before and not own and kept[k + 1] and chance[k] >= _POSSIBLE and blocks[k, WORDS] > 1:
            kept[k] = True
        before = own


@leaf
def add_headline(kept: Array, blocks: Array, parent: Array, element_of: Array, title_size: int) -> None:
    """Keep an h1 like the title that stands right above kept text in the same element.

    Other headlines are judged like any block: collections of pages differ on whether they are content.
    """
    for k in range(kept.size - 1):
        own, below = blocks[k, CONTAINER], blocks[k + 1, CONTAINER]
        if element_of[own] == _H1 and kept[k + 1] and parent[own] == parent[below]:
            kept[k] |= blocks[k, TITLED] > _LIKENESS * title_size


@kernel
def choose(chance: Array, blocks: Array, parent: Array, element_of: Array, title_size: int,
           types: Array, wanted: float) -> tuple[Array, bool]:  # fmt: skip
    """Return (kept blocks, whether there is any)."""
    kept = best_expected(chance, blocks, types, wanted)
    add_headline(kept, blocks, parent, element_of, title_size)
    fill_gaps(kept, chance, blocks)
    return kept, bool(kept.any())


@leaf
def pack_weights(chance: Array, kept: Array, out: Array) -> None:
    """Write a byte for each block: 128 · kept + 127 · chance, rounded."""
    for k in range(kept.size):
        out[k] = int(min(np.float32(1.0), chance[k]) * 127 + 0.5) + (128 if kept[k] else 0)
