"""The document slope curve: the plateau as a maximum-sum run of tokens, and low-slope slices.

Finn's body text extraction maximises, over i ≤ j, tags before i + non-tags in [i, j] + tags after j; Lavrenko
weighs the non-tags with c. The number of all tags is a constant, so this is the run of tokens with the greatest
sum of +c for a non-tag and −1 for a tag: Kadane's algorithm, O(n).
"""

from __future__ import annotations

import numpy as np

from fyke.bits.jit import kernel, leaf
from fyke.clean.elements import CLOSE, ID, INLINE, WORD, Array

_A = ID["a"]


@leaf
def plateau(gains: Array) -> tuple[int, int]:
    """Return (i, j) of the run ``gains[i:j]`` of greatest sum, the first of the shortest; (0, 0) if none is above 0."""
    best, first, last = 0.0, 0, 0
    total, start = 0.0, 0
    for at in range(gains.size):
        if total <= 0.0:
            total, start = 0.0, at
        total += gains[at]
        if total > best:
            best, first, last = total, start, at + 1
    return first, last


@leaf
def word_size(page: Array, start: int, end: int) -> float:
    """Return how many words a run of non-space bytes is worth: a Chinese, Japanese, Korean character is half a word."""
    ideographs = 0
    for at in range(start, end):
        if 0xE3 <= page[at] <= 0xED:
            ideographs += 1
    return max(1.0, 0.5 * ideographs)


@kernel
def token_gains(
    page: Array, starts: Array, ends: Array, kinds: Array, word: float, linked: float, inline: float, sized: bool
) -> Array:
    """Return what each token adds to a run.

    That is ``word``, or ``linked`` inside a link; −1 for a tag, ``inline`` for one that does not break a line.
    ``sized`` weighs ideographs as words of their own.
    """
    gains = np.empty(kinds.size, np.float64)
    in_link = False
    for at in range(kinds.size):
        kind = kinds[at]
        if kind == WORD:
            size = word_size(page, starts[at], ends[at]) if sized else 1.0
            gains[at] = size * (linked if in_link else word)
        else:
            element = kind % CLOSE
            if element == _A:
                in_link = kind < CLOSE
            gains[at] = inline if INLINE[element] else -1.0
    return gains


@kernel
def low_slope(page: Array, starts: Array, ends: Array, kinds: Array, size: int, limit: float) -> Array:
    """Mark the tokens of those slices of ``size`` tokens in which tags are less than ``limit`` of tags and words."""
    marked = np.zeros(kinds.size, np.uint8)
    for start in range(0, kinds.size, size):
        end = min(kinds.size, start + size)
        tags, words = 0.0, 0.0
        for at in range(start, end):
            if kinds[at] == WORD:
                words += word_size(page, starts[at], ends[at])
            else:
                tags += 1.0
        if tags < limit * (tags + words):
            marked[start:end] = 1
    return marked
