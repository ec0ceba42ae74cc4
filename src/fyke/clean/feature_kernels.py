"""Features: what the learned method sees of each block, one row of float32 per feature, one column per block.

Counts stand as logarithms, parts as shares, places as distances, so that long and short pages, and pages of all
scripts, look alike. ``NAMES`` lists the rows in order.
"""

from __future__ import annotations

import numpy as np

from fyke.bits.jit import inlined, kernel, leaf
from fyke.clean import elements as e
from fyke.clean.block_kernels import (
    BODIED,
    BREAKS,
    CAPITALS,
    CHARS,
    CONTAINER,
    DIGITS,
    ENDS,
    HASH,
    IDEOGRAPHS,
    INNER,
    LINKED,
    LOWERS,
    POINTS,
    TAGS,
    TITLED,
    UPPERS,
    WORDS,
    find,
)  # fmt: skip
from fyke.clean.elements import Array
from fyke.clean.plateau_kernels import plateau

_LOCAL = [
    "words",
    "linked",
    "word_length",
    "points_per_word",
    "points",
    "ends",
    "uppers",
    "digits",
    "capitals",
    "slope",
    "tags",
    "inner",
    "breaks",
    "titled",
    "bodied",
    "repeated",
]
_TAG = ["is_p", "heading", "is_item", "is_cell", "is_div", "is_other"]
_FLAG_NAMES = [
    "article",
    "main",
    "header",
    "footer",
    "nav",
    "aside",
    "form",
    "table",
    "list",
    "definitions",
    "figure",
    "quote",
    "pre",
    "section",
    "hidden",
    "button",
]
_FLAG_BITS = np.array(
    [e.ARTICLE, e.MAIN, e.HEADER, e.FOOTER, e.NAV, e.ASIDE, e.FORM, e.TABLE, e.LIST, e.DEFINITIONS, e.FIGURE, e.QUOTE,
     e.PRE, e.SECTION, e.HIDDEN, e.BUTTON], np.uint32)  # fmt: skip
_PLACE = ["position", "word_position", "since_title", "since_heading", "plateau", "plateau_words"]
_PAGE = [
    "page_blocks",
    "page_words",
    "page_linked",
    "page_long",
    "page_repeats",
    "page_bodied",
    "page_h1",
    "page_titles",
]
LEVELS = 5
_CONTAINER = [f"{what}_{level}" for level in range(LEVELS) for what in ("share", "linked", "long", "blocks")]
_TREE = ["siblings", "siblings_path", "siblings_words", "in_top", "from_top", "depth"]
SHIFTS = (-2, -1, 1, 2)
_NEAR = [f"{what}@{shift}" for what in ("words", "linked", "slope", "ends", "heading") for shift in SHIFTS]
_WINDOW = [f"{what}±{size}" for size in (3, 8) for what in ("words", "tags", "linked")]
_CLASS = [
    "class_own",
    "class_near",
    "class_near_min",
    "class_near_max",
    "class_path",
    "class_path_min",
    "class_path_max",
]
NAMES = (
    _LOCAL + _TAG + [f"in_{n}" for n in _FLAG_NAMES] + _PLACE + _PAGE + _CONTAINER + _TREE + _NEAR + _WINDOW + _CLASS
)
FEATURES = len(NAMES)
ROW = {name: row for row, name in enumerate(NAMES)}

_TAG_0, _FLAG_0, _PLACE_0, _PAGE_0 = (ROW[n] for n in ("is_p", "in_article", "position", "page_blocks"))
_CONTAINER_0, _TREE_0, _NEAR_0, _WINDOW_0, _CLASS_0 = (
    ROW[n] for n in ("share_0", "siblings", "words@-2", "words±3", "class_own")
)
_R_WORDS, _R_LINKED, _R_SLOPE, _R_ENDS, _R_HEADING = (ROW[n] for n in ("words", "linked", "slope", "ends", "heading"))
_TAG_CLASS = np.full(e.CLOSE, 5, np.int64)
for _names, _class in (
    ("p", 0),
    ("h1 h2 h3 h4 h5 h6", 1),
    ("li dt dd", 2),
    ("td th", 3),
    ("div section article main", 4),
):
    for _name in _names.split():
        _TAG_CLASS[e.ID[_name]] = _class
_HEADING_LEVEL = np.zeros(e.CLOSE, np.int64)
for _level in range(1, 7):
    _HEADING_LEVEL[e.ID[f"h{_level}"]] = _level
_NUMBER = np.arange(e.CLOSE)
"""Of an element, in 64 bits: what is computed from it must not wrap."""
LONG = 15
"""Words of a block that is a paragraph rather than a label (Kohlschütter's boundary for text density)."""


@inlined
def log1p(x: float) -> float:
    """Return log(1 + x)."""
    return float(np.log(1.0 + x))


@kernel
def local_features(blocks: Array, element_of: Array, flags: Array, title_size: int, out: Array) -> None:
    """Fill the rows that a block tells of itself."""
    count = blocks.shape[0]
    size = 4
    while size < 2 * count:
        size *= 2
    seen, seen_count = np.zeros(size, np.int64), np.zeros(size, np.int32)
    for k in range(count):
        slot = find(seen, blocks[k, HASH] + 1)
        seen[slot] = blocks[k, HASH] + 1
        seen_count[slot] += 1
    for k in range(count):
        row = blocks[k]
        words = row[WORDS]
        some = max(1, words)
        letters = max(1, row[LOWERS] + row[UPPERS])
        out[0, k] = log1p(words)
        out[1, k] = row[LINKED] / some
        out[2, k] = min(30.0, row[CHARS] / some)
        out[3, k] = row[POINTS] / some
        out[4, k] = log1p(row[POINTS])
        out[5, k] = row[ENDS]
        out[6, k] = row[UPPERS] / letters
        out[7, k] = row[DIGITS] / max(1, row[CHARS])
        out[8, k] = min(1.0, row[CAPITALS] / some)
        out[9, k] = row[TAGS] / (row[TAGS] + some)
        out[10, k] = log1p(row[TAGS])
        out[11, k] = row[INNER] / some
        out[12, k] = log1p(row[BREAKS])
        out[13, k] = min(1.0, row[TITLED] / max(1, title_size)) if words < 60 else 0.0
        out[14, k] = row[BODIED] / some
        out[15, k] = min(5, seen_count[find(seen, row[HASH] + 1)])
        element = element_of[row[CONTAINER]]
        for k2 in range(6):
            out[_TAG_0 + k2, k] = 0.0
        out[_TAG_0 + _TAG_CLASS[element], k] = 1.0
        out[_TAG_0 + 1, k] = _HEADING_LEVEL[element]
        for bit in range(_FLAG_BITS.size):
            out[_FLAG_0 + bit, k] = 1.0 if flags[row[CONTAINER]] & _FLAG_BITS[bit] else 0.0


@kernel
def place_features(blocks: Array, element_of: Array, out: Array) -> None:
    """Fill the rows that tell where on the page a block stands and what the page is like."""
    count = blocks.shape[0]
    total, linked, long_words, repeats, bodied, tops = 0, 0, 0, 0, 0, 0
    titled, best = 0, 0.25  # the block most like the title, if it has a quarter of its words
    gains = np.empty(count, np.float64)
    for k in range(count):
        row = blocks[k]
        words = row[WORDS]
        total += words
        linked += row[LINKED]
        bodied += row[BODIED]
        repeats += 1 if out[15, k] > 1 else 0
        tops += 1 if out[_R_HEADING, k] == 1.0 else 0
        if words >= LONG and row[LINKED] * 2 < words:
            long_words += words
        nearness = out[13, k] + (0.2 if out[_R_HEADING, k] == 1.0 else 0.0)
        if words < 40 and nearness > best:
            titled, best = k, nearness
        text = words - 0.5 * row[IDEOGRAPHS]
        share = out[_R_LINKED, k]
        gains[k] = 0.5 * text * (1.0 - 2.0 * share) - row[TAGS] - 0.3 * row[INNER]
    first, last = plateau(gains)
    some = max(1, total)
    before, heading = 0, -1
    for k in range(count):
        words = blocks[k, WORDS]
        if out[_R_HEADING, k] > 0:
            heading = k
        out[_PLACE_0, k] = k / count
        out[_PLACE_0 + 1, k] = (before + 0.5 * words) / some
        out[_PLACE_0 + 2, k] = min(200, max(-50, k - titled)) * 0.1
        out[_PLACE_0 + 3, k] = min(30, k - heading) if heading >= 0 else 40.0
        distance = k - first if k < first else (k - last + 1 if k >= last else 0)
        out[_PLACE_0 + 4, k] = min(200, max(-200, distance)) * 0.1
        out[_PLACE_0 + 5, k] = 1.0 if distance == 0 else 0.0
        before += words
        out[_PAGE_0, k] = log1p(count)
        out[_PAGE_0 + 1, k] = log1p(total)
        out[_PAGE_0 + 2, k] = linked / some
        out[_PAGE_0 + 3, k] = long_words / some
        out[_PAGE_0 + 4, k] = repeats / count
        out[_PAGE_0 + 5, k] = bodied / some
        out[_PAGE_0 + 6, k] = min(3, tops)
        out[_PAGE_0 + 7, k] = best


@leaf
def subtree_sums(parent: Array, sums: Array) -> None:
    """Turn each container's own sums into those of its subtree: children have greater numbers than parents."""
    for container in range(parent.size - 1, 0, -1):
        for column in range(sums.shape[1]):
            sums[parent[container], column] += sums[container, column]


@kernel
def widening(parent: Array, blocks_in: Array) -> Array:
    """Return for each container the nearest one around it that holds more blocks: wrappers are stepped over."""
    wider = np.zeros(parent.size, np.int32)
    for container in range(1, parent.size):
        above = parent[container]
        wider[container] = above if blocks_in[above] > blocks_in[container] else wider[above]
    return wider


@kernel
def container_features(blocks: Array, parent: Array, out: Array) -> tuple[Array, Array]:
    """Fill the rows on the containers around a block; return (sums by container, the next wider container of each)."""
    count = blocks.shape[0]
    sums = np.zeros((parent.size, 4), np.float64)  # words, linked words, words in long blocks, blocks
    total = 0
    for k in range(count):
        row = blocks[k]
        words, container = row[WORDS], row[CONTAINER]
        total += words
        sums[container, 0] += words
        sums[container, 1] += row[LINKED]
        if words >= LONG and row[LINKED] * 2 < words:
            sums[container, 2] += words
        sums[container, 3] += 1
    subtree_sums(parent, sums)
    wider = widening(parent, sums[:, 3])
    for k in range(count):
        container = blocks[k, CONTAINER]
        for level in range(LEVELS):
            some = max(1.0, sums[container, 0])
            base = _CONTAINER_0 + 4 * level
            out[base, k] = sums[container, 0] / max(1, total)
            out[base + 1, k] = sums[container, 1] / some
            out[base + 2, k] = sums[container, 2] / some
            out[base + 3, k] = log1p(sums[container, 3])
            container = wider[container]
    return sums, wider


@kernel
def top_container(blocks: Array, wider: Array) -> int:
    """Return the container with the most text near it: a block counts whole for its own, less for those around it."""
    scores = np.zeros(wider.size, np.float64)
    for k in range(blocks.shape[0]):
        row = blocks[k]
        text = row[WORDS] - row[LINKED]
        if row[WORDS] >= LONG and 2 * text > row[WORDS]:
            container = row[CONTAINER]
            for step in range(4):
                scores[container] += text / (1.0 + step)
                container = wider[container]
    return int(np.argmax(scores))


@kernel
def tree_features(blocks: Array, parent: Array, element_of: Array, sums: Array, wider: Array, words: Array,
                  words_end: Array, out: Array) -> None:  # fmt: skip
    """Fill the rows on the tree: alike siblings (listings, forums), the container with most of the text, depth."""
    n = parent.size
    size = 4
    while size < 2 * n:
        size *= 2
    groups, members, group_words = np.zeros(size, np.int64), np.zeros(size, np.int32), np.zeros(size, np.float64)
    group_of = np.zeros(n, np.int32)
    for c in range(1, n):
        if sums[c, 3] > 0:
            sign = 31 + _NUMBER[element_of[c]]
            for w in range(words_end[c - 1], words_end[c]):
                sign = (sign * 31 + words[w] + 1) & 0xFFFFFFF
            slot = find(groups, (int(parent[c]) << 28 | sign) + 1)
            groups[slot] = (int(parent[c]) << 28 | sign) + 1
            members[slot] += 1
            group_words[slot] += sums[c, 0]
            group_of[c] = slot
    top = top_container(blocks, wider)
    depth, inside, from_top = np.zeros(n, np.int32), np.zeros(n, np.uint8), np.zeros(n, np.int32)
    largest = np.zeros(n, np.int32)
    step, at = 0, top
    path = np.full(n, -1, np.int32)
    while True:
        path[at] = step
        if at == 0:
            break
        step += 1 if sums[parent[at], 3] > sums[at, 3] else 0
        at = parent[at]
    inside[0], from_top[0] = top == 0, path[0]
    for c in range(1, n):
        above = parent[c]
        depth[c] = depth[above] + 1
        inside[c] = c == top or inside[above]
        from_top[c] = path[c] if path[c] >= 0 else from_top[above]
        own, best = group_of[c], largest[above]
        largest[c] = own if members[own] > 2 and members[own] > members[best] else best
    for k in range(blocks.shape[0]):
        c = blocks[k, CONTAINER]
        best = largest[c]
        out[_TREE_0, k] = log1p(members[group_of[c]])
        out[_TREE_0 + 1, k] = log1p(members[best])
        out[_TREE_0 + 2, k] = log1p(group_words[best] / max(1, members[best]))
        out[_TREE_0 + 3, k] = inside[c]
        out[_TREE_0 + 4, k] = min(12, from_top[c])
        out[_TREE_0 + 5, k] = min(60, depth[c])


@leaf
def neighbour_features(blocks: Array, out: Array) -> None:
    """Fill the rows on the blocks before and after."""
    count = blocks.shape[0]
    base = _NEAR_0
    for source in (_R_WORDS, _R_LINKED, _R_SLOPE, _R_ENDS, _R_HEADING):
        for shift in SHIFTS:
            for k in range(count):
                out[base, k] = out[source, k + shift] if 0 <= k + shift < count else -1.0
            base += 1
    base = _WINDOW_0
    for size in (3, 8):
        words, tags, linked = 0, 0, 0
        for k in range(-size, count):
            if k + size < count:
                words += blocks[k + size, WORDS]
                tags += blocks[k + size, TAGS]
                linked += blocks[k + size, LINKED]
            if k - size - 1 >= 0:
                words -= blocks[k - size - 1, WORDS]
                tags -= blocks[k - size - 1, TAGS]
                linked -= blocks[k - size - 1, LINKED]
            if k >= 0:
                out[base, k] = log1p(words - linked)
                out[base + 1, k] = log1p(tags)
                out[base + 2, k] = linked / max(1, words)
        base += 3


@kernel
def class_features(blocks: Array, parent: Array, words: Array, words_end: Array, odds: Array, out: Array) -> None:
    """Fill the rows on class words: ``odds`` is the log-odds of content that training gave each word, in 1/16."""
    n = parent.size
    own = np.zeros(n, np.float32)
    path, low, high = np.zeros(n, np.float32), np.zeros(n, np.float32), np.zeros(n, np.float32)
    for c in range(1, n):
        above = parent[c]
        low[c], high[c] = low[above], high[above]
        total = np.float32(0.0)
        for w in range(words_end[c - 1], words_end[c]):
            value = np.float32(odds[words[w]]) * np.float32(0.0625)
            total += value
            low[c] = min(low[c], value)
            high[c] = max(high[c], value)
        own[c] = min(np.float32(6.0), max(np.float32(-6.0), total))
        path[c] = path[above] * np.float32(0.85) + own[c]  # what is far matters less
    for k in range(blocks.shape[0]):
        c = blocks[k, CONTAINER]
        out[_CLASS_0, k] = own[c]
        out[_CLASS_0 + 4, k] = path[c]
        out[_CLASS_0 + 5, k] = low[c]
        out[_CLASS_0 + 6, k] = high[c]
        near, near_low, near_high = np.float32(0.0), np.float32(0.0), np.float32(0.0)
        for _ in range(3):
            near += own[c]
            near_low = min(near_low, own[c])
            near_high = max(near_high, own[c])
            c = parent[c]
        out[_CLASS_0 + 1, k] = near
        out[_CLASS_0 + 2, k] = near_low
        out[_CLASS_0 + 3, k] = near_high


@kernel
def features(blocks: Array, parent: Array, element_of: Array, flags: Array, words: Array, words_end: Array,
             title_size: int, odds: Array) -> tuple[Array, Array]:  # fmt: skip
    """Return (features, wider): the rows NAMES for each block, and the next wider container of each container."""
    out = np.empty((FEATURES, blocks.shape[0]), np.float32)
    local_features(blocks, element_of, flags, title_size, out)
    place_features(blocks, element_of, out)
    sums, wider = container_features(blocks, parent, out)
    tree_features(blocks, parent, element_of, sums, wider, words, words_end, out)
    neighbour_features(blocks, out)
    class_features(blocks, parent, words, words_end, odds, out)
    return out, wider
