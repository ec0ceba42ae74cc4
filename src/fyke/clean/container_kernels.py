"""Features of blocks by the containers around them: their text and links, alike siblings, class words."""

from __future__ import annotations

import numpy as np

from fyke.bits.jit import kernel, leaf
from fyke.clean import elements as e
from fyke.clean.block_kernels import Tree
from fyke.clean.columns import CONTAINER, LINKED, WORDS
from fyke.clean.elements import Array
from fyke.clean.feature_kernels import (
    LONG,
    counted,
    local_features,
    place_features,
    said_features,
    shared,
    window_features,
)
from fyke.clean.features import LEVELS, PAD, ROW, TOP
from fyke.clean.word_kernels import find

_CONTAINER_0, _TREE_0, _CLASS_0, _ITEM_0, _HEADING_LINKED = (
    ROW[n] for n in ("share_0", "siblings", "class_own", "item_words", "heading_linked")
)
_NUMBER = np.arange(e.CLOSE)
"""Of an element, in 64 bits: what is computed from it must not wrap."""


@leaf
def subtree_sums(parent: Array, sums: Array) -> None:
    """Turn each container's own sums into those of its subtree: children have greater numbers than parents."""
    for container in range(parent.size - 1, 0, -1):
        for column in range(sums.shape[1]):
            sums[parent[container], column] += sums[container, column]


@leaf
def widening(parent: Array, sums: Array, wider: Array) -> None:
    """Write for each container the nearest one around it that holds more blocks: wrappers are stepped over."""
    wider[0] = 0
    for container in range(1, parent.size):
        above = parent[container]
        wider[container] = above if sums[above, 3] > sums[container, 3] else wider[above]


@kernel
def container_features(blocks: Array, parent: Array, rows: Array) -> tuple[Array, Array]:
    """Fill the rows on the containers around a block; return (sums by container, the next wider container of each)."""
    count = blocks.shape[0]
    sums = np.zeros((parent.size, 4), np.int32)  # words, linked words, words in long blocks, blocks
    for k in range(count):
        words, container = blocks[k, WORDS], blocks[k, CONTAINER]
        sums[container, 0] += words
        sums[container, 1] += blocks[k, LINKED]
        if words >= LONG and blocks[k, LINKED] * 2 < words:
            sums[container, 2] += words
        sums[container, 3] += 1
    subtree_sums(parent, sums)
    wider = np.empty(parent.size, np.int32)
    widening(parent, sums, wider)
    codes = np.empty((parent.size, 4), np.uint8)
    whole = 1.0 / max(1, sums[0, 0])
    for c in range(parent.size):
        if sums[c, 3]:
            codes[c, 0] = int(np.sqrt(sums[c, 0] * whole) * TOP + 0.5)
            codes[c, 1] = shared(sums[c, 1], sums[c, 0])
            codes[c, 2] = shared(sums[c, 2], sums[c, 0])
            codes[c, 3] = counted(sums[c, 3])
    for k in range(count):
        container = blocks[k, CONTAINER]
        for level in range(LEVELS):
            for n in range(4):
                rows[_CONTAINER_0 + 4 * level + n, PAD + k] = codes[container, n]
            container = wider[container]
    return sums, wider


@kernel
def top_container(blocks: Array, wider: Array, rows: Array) -> int:
    """Return the container with the most text near it: a block counts whole for its own, less for those around it.

    Text under a heading that is a link is a teaser of another page, and does not count.
    """
    scores = np.zeros(wider.size, np.float32)
    for k in range(blocks.shape[0]):
        text = blocks[k, WORDS] - blocks[k, LINKED]
        teaser = rows[_HEADING_LINKED, PAD + k] > TOP // 2
        if blocks[k, WORDS] >= LONG and 2 * text > blocks[k, WORDS] and not teaser:
            container = blocks[k, CONTAINER]
            for step in range(4):
                scores[container] += text / (1.0 + step)
                container = wider[container]
    return int(np.argmax(scores))


@kernel
def alike(tree: Tree, sums: Array) -> tuple[Array, Array, Array, Array]:
    """Group siblings with equal elements and classes.

    Return (group of each container, its number there, members of groups, words of groups).
    """
    parent, words, words_end = tree.parent, tree.words, tree.words_end
    n = parent.size
    size = 4
    while size < 2 * n:
        size *= 2
    groups, members, group_words = np.zeros(size, np.int64), np.zeros(size, np.int32), np.zeros(size, np.int32)
    group_of, number = np.zeros(n, np.int32), np.zeros(n, np.int32)
    for c in range(1, n):
        if sums[c, 3] > 0:
            sign = 31 + _NUMBER[tree.element[c]]
            for w in range(words_end[c - 1], words_end[c]):
                sign = (sign * 31 + words[w] + 1) & 0xFFFFFFF
            key = (int(parent[c]) << 28 | sign) + 1
            slot = find(groups, key)
            groups[slot] = key
            number[c] = members[slot]
            members[slot] += 1
            group_words[slot] += sums[c, 0]
            group_of[c] = slot
    return group_of, number, members, group_words


@kernel
def steps_from(start: int, parent: Array, sums: Array) -> tuple[Array, Array]:
    """Return, by container, (how often one must widen ``start`` until it holds the container, what it is then)."""
    steps, around = np.full(parent.size, -1, np.int32), np.zeros(parent.size, np.int32)
    step, at = 0, start
    while at > 0:
        steps[at], around[at] = step, at
        step += 1 if sums[parent[at], 3] > sums[at, 3] else 0
        at = parent[at]
    steps[0] = step
    for c in range(1, parent.size):
        if steps[c] < 0:
            steps[c], around[c] = steps[parent[c]], around[parent[c]]
    return steps, around


@kernel
def tree_features(blocks: Array, tree: Tree, sums: Array, wider: Array, titled: int, rows: Array) -> None:
    """Fill the rows on the tree: alike siblings (listings, forums), the container with most of the text, depth."""
    parent = tree.parent
    n = parent.size
    group_of, number, members, group_words = alike(tree, sums)
    top = top_container(blocks, wider, rows)
    depth, inside, largest, item = (
        np.zeros(n, np.int32), np.zeros(n, np.uint8), np.zeros(n, np.int32), np.zeros(n, np.int32)
    )  # fmt: skip
    inside[0] = top == 0
    from_top, _ = steps_from(top, parent, sums)
    from_title, around_title = steps_from(blocks[max(0, titled), CONTAINER], parent, sums)
    for c in range(1, n):
        above = parent[c]
        depth[c] = depth[above] + 1
        inside[c] = c == top or inside[above]
        own, best = group_of[c], largest[above]
        wins = members[own] > 2 and members[own] > members[best]
        largest[c], item[c] = (own, c) if wins else (best, item[above])
    for k in range(blocks.shape[0]):
        c, at = blocks[k, CONTAINER], PAD + k
        best = largest[c]
        rows[_TREE_0, at] = counted(members[group_of[c]])
        rows[_TREE_0 + 1, at] = counted(members[best])
        rows[_TREE_0 + 2, at] = counted(group_words[best] // max(1, members[best]))
        rows[_TREE_0 + 3, at] = inside[c]
        rows[_TREE_0 + 4, at] = min(12, from_top[c])
        rows[_TREE_0 + 5, at] = min(60, depth[c])
        if titled >= 0:
            around = around_title[c]
            rows[_TREE_0 + 6, at] = 1 + min(12, from_title[c])
            rows[_TREE_0 + 7, at] = counted((sums[around, 0] - sums[around, 1]) // 2)
        if item[c]:
            rows[_ITEM_0, at] = counted(sums[item[c], 0])
            rows[_ITEM_0 + 1, at] = shared(sums[item[c], 1], sums[item[c], 0])
            rows[_ITEM_0 + 2, at] = shared(group_words[best], sums[0, 0])
            rows[_ITEM_0 + 3, at] = counted(number[item[c]])


@leaf
def weighed(odds: int) -> int:
    """Return the byte of log-odds in 1/16: 32 is none, a step is 3/16."""
    return min(TOP, max(0, 32 + odds // 3))


@kernel
def class_features(blocks: Array, parent: Array, words: Array, words_end: Array, odds: Array, rows: Array) -> None:
    """Fill the rows on class words: ``odds`` is the log-odds of content that training gave each word, in 1/16."""
    n = parent.size
    own, path, low, high = np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32)
    for c in range(1, n):
        above = parent[c]
        least, most = low[above], high[above]
        total = 0
        for w in range(words_end[c - 1], words_end[c]):
            value = int(odds[words[w]])
            total += value
            least = min(least, value)
            most = max(most, value)
        low[c], high[c] = least, most
        own[c] = min(96, max(-96, total))
        path[c] = path[above] * 7 // 8 + own[c]  # what is far matters less
    for k in range(blocks.shape[0]):
        c, at = blocks[k, CONTAINER], PAD + k
        rows[_CLASS_0, at] = weighed(own[c])
        rows[_CLASS_0 + 4, at] = weighed(path[c])
        rows[_CLASS_0 + 5, at] = weighed(low[c])
        rows[_CLASS_0 + 6, at] = weighed(high[c])
        near, near_low, near_high = 0, 0, 0
        for _ in range(3):
            near += own[c]
            near_low = min(near_low, own[c])
            near_high = max(near_high, own[c])
            c = parent[c]
        rows[_CLASS_0 + 1, at] = weighed(near)
        rows[_CLASS_0 + 2, at] = weighed(near_low)
        rows[_CLASS_0 + 3, at] = weighed(near_high)


@kernel
def fill_features(
    blocks: Array, tree: Tree, said: Array, title_size: int, class_odds: Array, said_odds: Array, rows: Array
) -> Array:
    """Fill all rows of the first look; return the next wider container of each container."""
    local_features(blocks, tree.element, tree.flags, title_size, rows)
    said_features(blocks, said, said_odds, rows)
    titled = place_features(blocks, rows)
    window_features(blocks, rows)
    sums, wider = container_features(blocks, tree.parent, rows)
    tree_features(blocks, tree, sums, wider, titled, rows)
    class_features(blocks, tree.parent, tree.words, tree.words_end, class_odds, rows)
    return wider
