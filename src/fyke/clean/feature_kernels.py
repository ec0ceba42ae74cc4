"""Features of blocks by what they are and where they stand: bytes in the rows of fyke.clean.features.

``rows`` is (rows × (2 · PAD + blocks, rounded up to vectors)), zeros at first; block k is column PAD + k.
"""

from __future__ import annotations

import numpy as np

from fyke.bits.jit import LANES, inlined, kernel, leaf
from fyke.clean.columns import (
    BODIED,
    BREAKS,
    CAPITALS,
    CHARS,
    CONTAINER,
    DIGITS,
    ENDS,
    HASH,
    INNER,
    LINKED,
    LOWERS,
    POINTS,
    SAID_END,
    TAGS,
    TITLED,
    UPPERS,
    WORDS,
)  # fmt: skip
from fyke.clean.elements import Array
from fyke.clean.features import (
    COUNTED,
    FLAG_BITS,
    HEADING_LEVEL,
    PAD,
    REACH,
    ROW,
    SCALE,
    SIGNED,
    TAG_CLASS,
    TOP,
    WINDOWS,
)  # fmt: skip
from fyke.clean.plateau_kernels import plateau
from fyke.clean.word_kernels import find

_TAG_0, _FLAG_0, _PLACE_0, _PAGE_0, _WINDOW_0 = (
    ROW[n] for n in ("is_p", "in_article", "position", "page_blocks", "words±3")
)
_TITLED, _REPEATED, _AGAIN, _HEADING, _SAID, _HEADING_LINKED = (
    ROW[n] for n in ("titled", "repeated", "again", "heading", "said", "heading_linked")
)
LONG = 15
"""Words of a block that is a paragraph rather than a label (Kohlschütter's boundary for text density)."""
_TITLE_WORDS = 60
"""A block with more words is no title, whatever words it shares with one."""


@inlined
def width_of(count: int) -> int:
    """Return how many columns are computed for ``count`` blocks: whole vectors."""
    return (count + LANES - 1) // LANES * LANES


@inlined
def counted(n: int) -> int:
    """Return the byte of a count."""
    return int(SCALE[min(n, COUNTED - 1)])


@inlined
def shared(part: float, whole: float) -> int:
    """Return the byte of part / whole, at most 1."""
    return int(min(1.0, part / whole) * TOP + 0.5) if whole > 0 else 0


@inlined
def placed(distance: int) -> int:
    """Return the byte of a distance."""
    return int(SIGNED[min(REACH, max(-REACH, distance)) + REACH])


@kernel
def local_features(blocks: Array, element_of: Array, flags: Array, title_size: int, rows: Array) -> None:
    """Fill the rows that a block tells of itself."""
    count = blocks.shape[0]
    size = 4
    while size < 2 * count:
        size *= 2
    seen, times, place = np.zeros(size, np.int64), np.zeros(size, np.uint8), np.empty(count, np.int32)
    for k in range(count):
        slot = find(seen, blocks[k, HASH] + 1)
        seen[slot] = blocks[k, HASH] + 1
        rows[_AGAIN, PAD + k] = times[slot]
        times[slot] = min(5, times[slot] + 1)
        place[k] = slot
    for k in range(count):
        at = PAD + k
        own_features(blocks[k], title_size, rows, at)
        rows[_REPEATED, at] = times[place[k]]
        element = element_of[blocks[k, CONTAINER]]
        rows[_TAG_0 + TAG_CLASS[element], at] = 1
        rows[_HEADING, at] = HEADING_LEVEL[element]
        around = flags[blocks[k, CONTAINER]]
        if around:
            for bit in range(FLAG_BITS.size):
                if around & FLAG_BITS[bit]:
                    rows[_FLAG_0 + bit, at] = 1


@leaf
def own_features(row: Array, title_size: int, rows: Array, at: int) -> None:
    """Fill column ``at`` of the rows of features.LOCAL but the last two."""
    words = row[WORDS]
    per_word = 1.0 / max(1, words)
    rows[0, at] = counted(words)
    rows[1, at] = int(row[LINKED] * per_word * TOP + 0.5)
    rows[2, at] = min(TOP, int(4.0 * row[CHARS] * per_word))
    rows[3, at] = min(TOP, int(126.0 * row[POINTS] * per_word))
    rows[4, at] = counted(row[POINTS])
    rows[5, at] = row[ENDS]
    rows[6, at] = shared(row[UPPERS], row[LOWERS] + row[UPPERS])
    rows[7, at] = shared(row[DIGITS], row[CHARS])
    rows[8, at] = min(TOP, int(row[CAPITALS] * per_word * TOP + 0.5))
    rows[9, at] = shared(row[TAGS], row[TAGS] + max(1, words))
    rows[10, at] = counted(row[TAGS])
    rows[11, at] = min(TOP, int(32.0 * row[INNER] * per_word))
    rows[12, at] = counted(row[BREAKS])
    rows[13, at] = shared(row[TITLED], max(1, title_size)) if words < _TITLE_WORDS else 0
    rows[14, at] = min(TOP, int(row[BODIED] * per_word * TOP + 0.5))


@leaf
def said_features(blocks: Array, said: Array, odds: Array, rows: Array) -> None:
    """Fill the rows on the words of texts: ``odds`` is the log-odds that training gave each, in 1/16, none above 0."""
    begin, above = 0, np.uint8(0)
    for k in range(blocks.shape[0]):
        at, end = PAD + k, blocks[k, SAID_END]
        total, least = 0, 0
        for word in range(begin, end):
            value = int(odds[said[word]])
            total += value
            least = min(least, value)
        rows[_SAID, at] = min(TOP, -2 * total // max(1, blocks[k, WORDS]))
        rows[_SAID + 1, at] = -least // 2
        if rows[_HEADING, at] > 0:
            above = rows[_SAID, at]
        rows[_SAID + 2, at] = above
        begin = end


@kernel
def page_rows(blocks: Array, rows: Array, gains: Array) -> tuple[int, int]:
    """Fill the rows that tell what the page is like; return (the block most like the title or -1, words of the page).

    ``gains`` gets what each block adds to a plateau.
    """
    count = blocks.shape[0]
    total, linked, long_words, repeats, bodied, tops = 0, 0, 0, 0, 0, 0
    titled, best = -1, TOP // 4  # the block must have a quarter of the title's words
    for k in range(count):
        words = blocks[k, WORDS]
        total += words
        linked += blocks[k, LINKED]
        bodied += blocks[k, BODIED]
        repeats += rows[_REPEATED, PAD + k] > 1
        top = rows[_HEADING, PAD + k] == 1
        tops += top
        if words >= LONG and blocks[k, LINKED] * 2 < words:
            long_words += words
        nearness = int(rows[_TITLED, PAD + k]) + (12 if top else 0)
        if words < 40 and nearness > best:
            titled, best = k, nearness
        share = blocks[k, LINKED] / max(1, words)
        gains[k] = 0.5 * words * (1.0 - 2.0 * share) - blocks[k, TAGS] - 0.3 * blocks[k, INNER]
    page = np.empty(8, np.uint8)
    page[0], page[1], page[2] = counted(count), counted(total // 8), shared(linked, total)
    page[3], page[4], page[5] = shared(long_words, total), shared(repeats, count), shared(bodied, total)
    page[6], page[7] = min(3, tops), min(TOP, best)
    for n in range(page.size):
        rows[_PAGE_0 + n, PAD : PAD + count] = page[n]
    return titled, total


@kernel
def place_features(blocks: Array, rows: Array) -> int:
    """Fill the rows that tell where on the page a block stands and what the page is like.

    Return the block most like the title, or -1.
    """
    count = blocks.shape[0]
    gains = np.empty(count, np.float32)
    titled, total = page_rows(blocks, rows, gains)
    first, last = plateau(gains)
    before, heading, linked = 0, -1, 0
    for k in range(count):
        at = PAD + k
        if rows[_HEADING, at] > 0:
            heading, linked = k, 1 + shared(blocks[k, LINKED], blocks[k, WORDS]) * (TOP - 1) // TOP
            if rows[_TITLED, at] > TOP // 2:  # the page's own, though it be a link
                linked = 1
        rows[_HEADING_LINKED, at] = linked
        rows[_PLACE_0, at] = shared(k, count)
        rows[_PLACE_0 + 1, at] = shared(before + 0.5 * blocks[k, WORDS], total)
        rows[_PLACE_0 + 2, at] = placed(k - max(0, titled))
        rows[_PLACE_0 + 3, at] = min(30, k - heading) if heading >= 0 else 40
        distance = k - first if k < first else (k - last + 1 if k >= last else 0)
        rows[_PLACE_0 + 4, at] = placed(distance)
        rows[_PLACE_0 + 5, at] = distance == 0
        before += blocks[k, WORDS]
    return titled


@leaf
def window_features(blocks: Array, rows: Array) -> None:
    """Fill the rows on the blocks around a block."""
    count = blocks.shape[0]
    base = _WINDOW_0
    for size in WINDOWS:
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
                rows[base, PAD + k] = counted(words - linked)
                rows[base + 1, PAD + k] = counted(tags)
                rows[base + 2, PAD + k] = shared(linked, words)
        base += 3
