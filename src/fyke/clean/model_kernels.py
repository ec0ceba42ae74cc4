"""Evaluating boosted oblivious trees on rows of bytes: one comparison of vectors per level, one look-up per block."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fyke.bits.jit import inlined, kernel, leaf, vector
from fyke.clean.block_kernels import Tree
from fyke.clean.choice_kernels import article_share
from fyke.clean.container_kernels import fill_features
from fyke.clean.context_kernels import context_features, page_features, path_features
from fyke.clean.elements import Array
from fyke.clean.feature_kernels import width_of
from fyke.clean.features import FIRST_ROWS, PAD, PAGE_COLUMNS, ROW, ROWS, TOP
from fyke.clean.prior import RULE_BOUNDS, RULE_ODDS, RULE_ROWS, START_ODDS, SURE, UNIT
from fyke.clean.word_kernels import find

_TYPE_0, _ROWS, _PAGE = ROW["type_article"], len(ROWS), len(PAGE_COLUMNS)
_BAG_0 = PAGE_COLUMNS.index("bag_article")
assert len(FIRST_ROWS) < _TYPE_0
DEPTH = 4
"""Levels of the trees of both looks."""


class Tables(NamedTuple):
    """A model as ``judge`` takes it."""

    class_odds: Array
    said_odds: Array
    bags: Array
    one: int
    """So many of the trees are those of the first look."""
    places: Array
    shifts: Array
    thresholds: Array
    leaves: Array
    type_places: Array
    type_thresholds: Array
    type_leaves: Array
    type_starts: Array


@vector
def prior_odds(rows: Array, odds: Array) -> None:
    """Write the odds that the rules of fyke.clean.prior give each block."""
    odds[:] = START_ODDS
    for rule in range(RULE_ROWS.size):
        values = rows[RULE_ROWS[rule], PAD : PAD + odds.size]
        for k in range(odds.size):
            odds[k] += RULE_ODDS[rule] if values[k] > RULE_BOUNDS[rule] else 0


@vector
def add_scores(rows: Array, places: Array, shifts: Array, thresholds: Array, leaves: Array, leaf_of: Array,
               odds: Array) -> None:  # fmt: skip
    """Add to ``odds`` what the trees say of each column of ``rows``.

    A tree is a row of ``places`` (row of the feature), ``shifts`` (blocks from it) and ``thresholds``: level l sets bit
    l of the leaf if the feature is greater. ``leaf_of`` is room for as many bytes as columns are computed.
    """
    width = leaf_of.size
    for tree in range(places.shape[0]):
        leaf_of[:] = 0
        for level in range(places.shape[1]):
            start = PAD + shifts[tree, level]
            values = rows[places[tree, level], start : start + width]
            threshold = thresholds[tree, level]
            bit = np.uint8(1 << level)
            for k in range(width):
                leaf_of[k] |= bit if values[k] > threshold else np.uint8(0)
        table = leaves[tree]
        for k in range(odds.size):
            odds[k] += table[leaf_of[k]]


@inlined
def pick(bit: bool, one: np.int16, other: np.int16) -> np.int16:
    """Return ``one`` where the bit is set."""
    return one if bit else other


@vector
def add_tree(rows: Array, places: Array, shifts: Array, bounds: Array, table: Array, odds: Array) -> None:
    """Add to ``odds`` what a tree of DEPTH levels says of each column of ``rows``.

    The leaf is picked by vectors: a look-up for each block takes twice as long, and four times on pages of many blocks.
    """
    p0, p1, p2, p3 = np.uint64(places[0]), np.uint64(places[1]), np.uint64(places[2]), np.uint64(places[3])
    s0, s1, s2, s3 = (
        np.uint64(PAD + shifts[0]), np.uint64(PAD + shifts[1]), np.uint64(PAD + shifts[2]), np.uint64(PAD + shifts[3])
    )  # fmt: skip
    t0, t1, t2, t3, t4, t5, t6, t7 = table[0], table[1], table[2], table[3], table[4], table[5], table[6], table[7]
    t8, t9, t10, t11, t12, t13, t14, t15 = (
        table[8], table[9], table[10], table[11], table[12], table[13], table[14], table[15]
    )  # fmt: skip
    for k in range(odds.size):
        at = np.uint64(k)
        a, b, c = rows[p0, s0 + at] > bounds[0], rows[p1, s1 + at] > bounds[1], rows[p2, s2 + at] > bounds[2]
        low = pick(c, pick(b, pick(a, t7, t6), pick(a, t5, t4)), pick(b, pick(a, t3, t2), pick(a, t1, t0)))
        high = pick(c, pick(b, pick(a, t15, t14), pick(a, t13, t12)), pick(b, pick(a, t11, t10), pick(a, t9, t8)))
        odds[k] += pick(rows[p3, s3 + at] > bounds[3], high, low)


@leaf
def add_deep_scores(rows: Array, places: Array, shifts: Array, thresholds: Array, leaves: Array, odds: Array) -> None:
    """Do what ``add_scores`` does. REQUIRES: the trees have DEPTH levels."""
    for tree in range(places.shape[0]):
        add_tree(rows, places[tree], shifts[tree], thresholds[tree], leaves[tree], odds)


@inlined
def belief(types: Array) -> float:
    """Return how much the first trees are heard on a page of these chances by type: 0 … 1.

    The chance of an article is beside that of the likeliest other type: a page of which little is known is an article.
    """
    return min(1.0, article_share(types) / SURE)


@leaf
def to_chances(odds: Array, chances: Array) -> None:
    """Write the probabilities of log-odds in 1/UNIT."""
    for k in range(chances.size):
        chances[k] = 1.0 / (1.0 + np.exp(-odds[k] / UNIT))


@kernel
def bag_features(words: Array, count: int, bags: Array, out: Array) -> None:
    """Fill the features bag_… of a page: what the page's class words, each once, say of each type.

    ``bags`` is the weight of each word for each type, in 1/16; the sum is by the root of their number, and beside the
    mean over the types.
    """
    room = 4
    while room < 2 * count:
        room *= 2
    met, sums, different = np.zeros(room, np.int64), np.zeros(bags.shape[1], np.int64), 0
    for n in range(count):
        word = int(words[n])
        slot = find(met, word + 1)
        if met[slot] == 0:
            met[slot] = word + 1
            different += 1
            for t in range(sums.size):
                sums[t] += bags[word, t]
    mean = sums.sum() / sums.size
    for t in range(sums.size):
        said = (sums[t] - mean) / np.sqrt(max(1, different))
        out[_BAG_0 + t] = min(TOP, max(0, int(32.0 + 0.5 * said)))


@kernel
def page_types(
    blocks: Array, rows: Array, first: Array, declared: Array, words: Array, tables: Tables, types: Array
) -> None:
    """Write the chance of each page type."""
    column, odds = np.empty(_PAGE, np.uint8), tables.type_starts.copy()
    page_features(blocks, rows, first, declared, column)
    bag_features(words, words.size, tables.bags, column)
    places, thresholds, leaves = tables.type_places, tables.type_thresholds, tables.type_leaves
    each = places.shape[0] // odds.size
    for t in range(odds.size):
        for tree in range(each * t, each * (t + 1)):  # as add_scores, of one column
            found = 0
            for level in range(places.shape[1]):
                found |= int(column[places[tree, level]] > thresholds[tree, level]) << level
            odds[t] += leaves[tree, found]
    to_chances(odds, types)


@kernel
def judge(
    blocks: Array, tree: Tree, said: Array, title_size: int, declared: Array, tables: Tables
) -> tuple[Array, Array, Array, Array]:
    """Do both of fyke.clean.model's looks at a page; return (rows, first chances, second chances, type chances)."""
    count = blocks.shape[0]
    width = width_of(count)
    rows = np.zeros((_ROWS, width + 2 * PAD), np.uint8)
    wider = fill_features(blocks, tree, said, title_size, tables.class_odds, tables.said_odds, rows)
    rules, odds = np.empty(width, np.int32), np.empty(width, np.int32)
    prior_odds(rows, rules)
    odds[:] = rules
    first, second = np.empty(count, np.float32), np.empty(count, np.float32)
    types = np.empty(tables.type_starts.size, np.float32)
    one, places, shifts, thresholds, leaves = tables.one, tables.places, tables.shifts, tables.thresholds, tables.leaves
    add_deep_scores(rows, places[:one], shifts[:one], thresholds[:one], leaves[:one], odds)
    to_chances(odds, first)
    page_types(blocks, rows, first, declared, tree.words[: tree.words_end[-1]], tables, types)
    believed = belief(types)
    if believed < 1.0:
        for t in range(types.size):
            rows[_TYPE_0 + t, PAD : PAD + count] = int(types[t] * TOP + 0.5)
        context_features(blocks, tree.parent, wider, first, rows)
        path_features(blocks, tree, first, rows)
        more = np.zeros(width, np.int32)
        add_deep_scores(rows, places[one:], shifts[one:], thresholds[one:], leaves[one:], more)
        for k in range(count):
            odds[k] = rules[k] + int(believed * (odds[k] - rules[k]) + (1.0 - believed) * more[k])
        to_chances(odds, second)
    else:
        second[:] = first
    return rows, first, second, types
