"""What the learned method sees of a block: the names of its features, their rows, and the scales they are written on.

A feature is a number 0 … 63 in one byte, so that 32 blocks are compared with a threshold at once. Counts stand on a
scale that is exact up to 16 and logarithmic above, parts as shares, places as distances: long and short pages, and
pages of all scripts, look alike. A *column* of the model is a row, or a row seen some blocks before or after.
"""

from __future__ import annotations

import numpy as np

from fyke.clean import elements as e

TOP = 63
PAD = 8
"""Bytes before and after a row that stand for the blocks before the first and after the last: zeros."""

LOCAL = [
    "words", "linked", "word_length", "points_per_word", "points", "ends", "uppers", "digits", "capitals", "slope",
    "tags", "inner", "breaks", "titled", "bodied", "repeated", "again",
]  # fmt: skip
TAG = ["is_p", "heading", "is_item", "is_cell", "is_div", "is_other"]
FLAG_NAMES = [
    "article", "main", "header", "footer", "nav", "aside", "form", "table", "list", "definitions", "figure", "quote",
    "pre", "section", "hidden", "button",
]  # fmt: skip
PLACE = ["position", "word_position", "since_title", "since_heading", "plateau", "plateau_words"]
PAGE = [
    "page_blocks", "page_words", "page_linked", "page_long", "page_repeats", "page_bodied", "page_h1", "page_titles",
]  # fmt: skip
LEVELS = 5
"""Containers around a block that are looked at, each wider than the one before."""
CONTAINER = [f"{what}_{level}" for level in range(LEVELS) for what in ("share", "linked", "long", "blocks")]
TREE = ["siblings", "siblings_path", "siblings_words", "in_top", "from_top", "depth", "from_title", "title_words"]
WINDOWS = (3, 8)
WINDOW = [f"{what}±{size}" for size in WINDOWS for what in ("words", "tags", "linked")]
CLASS = [
    "class_own", "class_near", "class_near_min", "class_near_max", "class_path", "class_path_min", "class_path_max",
]  # fmt: skip
SAID = ["said", "said_most", "said_above"]
"""How much the words of a block are those of furniture: their mean, the worst, and those of the heading above."""
ITEM = ["item_words", "item_linked", "group_share", "item_number", "heading_linked"]
"""Of the list of alike elements that a block stands in, and of the heading above it."""
FIRST_ROWS = [
    *LOCAL, *TAG, *(f"in_{n}" for n in FLAG_NAMES), *PLACE, *PAGE, *CONTAINER, *TREE, *WINDOW, *CLASS, *SAID, *ITEM,
]  # fmt: skip

SCORE_WINDOWS = (5, 12)
SCORE_LEVELS = 4
CONTEXT = [
    "first", *(f"first±{size}" for size in SCORE_WINDOWS),
    *(f"first_{what}_{level}" for level in range(SCORE_LEVELS) for what in ("mean", "max")),
    "first_share", "first_words", "first_before", "first_plateau", "first_most", "path_blocks", "path_share",
    "first_path",
]  # fmt: skip
TYPES = ("article", "collection", "documentation", "forum", "listing", "product", "service")
ROWS = [*FIRST_ROWS, *CONTEXT, *(f"type_{name}" for name in TYPES)]
ROW = {name: row for row, name in enumerate(ROWS)}

_NEAR = [(name, shift) for name in ("words", "linked", "slope", "ends", "heading", "said") for shift in (-2, -1, 1, 2)]
_NEAR_SCORES = [("first", shift) for shift in (-3, -2, -1, 1, 2, 3)]
COLUMNS = [
    *((name, 0) for name in FIRST_ROWS), *_NEAR,
    *((name, 0) for name in ROWS[len(FIRST_ROWS) :]), *_NEAR_SCORES,
]  # fmt: skip
"""Of the second look; the first sees FIRST_COLUMNS of them."""
FIRST_COLUMNS = len(FIRST_ROWS) + len(_NEAR)
COLUMN_ROW = np.array([ROW[name] for name, _ in COLUMNS], np.int32)
COLUMN_SHIFT = np.array([shift for _, shift in COLUMNS], np.int32)

AVERAGED = [
    "words", "linked", "repeated", "is_p", "heading", "is_item", "is_cell", "is_div", "in_article", "in_form",
    "plateau_words", "siblings_path", "siblings_words", "class_path_min", "class_path_max",
]  # fmt: skip
AVERAGED_ROWS = np.array([ROW[name] for name in AVERAGED])
DECLARED = 8
PAGE_COLUMNS = [
    *(f"{weight}_{name}" for name in AVERAGED for weight in ("block", "word", "first")),
    "blocks", "words", "expected", "expected_share", "chosen", "chosen_spread", "title", "tops",
    *(f"declared_{n}" for n in range(DECLARED)), *(f"bag_{name}" for name in TYPES),
]  # fmt: skip

COUNTED = 1024
_n = np.arange(COUNTED)
SCALE = np.minimum(TOP, np.where(_n <= 16, _n, 16 + 8 * np.log2(np.maximum(_n, 1) / 16))).astype(np.uint8)
"""The byte of a count; counts from COUNTED on have that of COUNTED − 1."""
REACH = 255
_d = np.abs(np.arange(-REACH, REACH + 1))
SIGNED = (
    32
    + np.sign(np.arange(-REACH, REACH + 1))
    * np.minimum(31, np.where(_d <= 10, _d, 10 + 5 * np.log2(np.maximum(_d, 1) / 10)))
).astype(np.uint8)
"""The byte of a distance −REACH … REACH: 32 is none."""

FLAG_BITS = np.array([getattr(e, name.upper()) for name in FLAG_NAMES], np.uint32)
TAG_CLASS = np.full(e.CLOSE, 5, np.int64)
for _names, _class in (
    ("p", 0), ("h1 h2 h3 h4 h5 h6", 1), ("li dt dd", 2), ("td th", 3), ("div section article main", 4)
):  # fmt: skip
    TAG_CLASS[[e.ID[_name] for _name in _names.split()]] = _class
HEADING_LEVEL = np.zeros(e.CLOSE, np.uint8)
for _level in range(1, 7):
    HEADING_LEVEL[e.ID[f"h{_level}"]] = _level
