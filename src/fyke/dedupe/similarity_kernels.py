"""How similar texts are, over their word hashes: Levenshtein's distance, and common shingles of many pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fyke.bits.jit import kernel
from fyke.text.word_kernels import U0, U1, Hash, shingles, words

Array = NDArray[Any]


@kernel
def edit_distance(left: Array, right: Array) -> int:
    """Return how many words must be inserted, deleted or replaced to make one sequence the other."""
    row = np.arange(right.shape[0] + 1)
    for i in range(left.shape[0]):
        diagonal = row[0]
        row[0] = i + 1
        for j in range(right.shape[0]):
            above = row[j + 1]
            change = diagonal + (0 if left[i] == right[j] else 1)
            row[j + 1] = min(change, min(above, row[j]) + 1)
            diagonal = above
    return int(row[right.shape[0]])


@kernel
def distinct(
    buffer: Array, start: int, end: int, n: int, table: Array, word: Array, gram: Array, slots: Array, stamp: Hash
) -> int:
    """Put the distinct shingles of a document first in ``gram`` and into the hash table; return how many.

    A slot row is (shingle, stamp of the document that wrote it): a new stamp empties the table.
    REQUIRES: ``slots`` has a power of two of rows, at least the bytes of the document, and ``stamp`` is new.
    """
    found = words(buffer, start, end, table, word)
    made = shingles(word, found, n, gram)
    mask = np.uint64(slots.shape[0] - 1)
    kept = 0
    for i in range(made):
        x = gram[i]
        at = x & mask
        while slots[at, 1] == stamp and slots[at, 0] != x:
            at = (at + U1) & mask
        if slots[at, 1] != stamp:
            slots[at, 0] = x
            slots[at, 1] = stamp
            gram[kept] = x
            kept += 1
    return kept


@kernel
def common_shingles(buffer: Array, offsets: Array, left: Array, right: Array, n: int, table: Array, out: Array) -> None:
    """For each pair of documents write (distinct shingles of left, of right, common) to ``out``.

    Equal neighbours in ``left`` are sketched once: sort the pairs by it.
    """
    longest = 0
    for d in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[d + 1] - offsets[d])
    size = 16
    while size < longest:  # a shingle starts on at least two bytes, so at most half of the slots fill
        size *= 2
    word = np.empty(longest + 1, np.uint64)
    gram = np.empty(longest + 1, np.uint64)
    slots = np.zeros((size, 2), np.uint64)
    others = np.zeros((size, 2), np.uint64)
    mask = np.uint64(size - 1)
    stamp = U0
    stamp_left = U0
    last = np.int64(-1)
    size_left = 0
    for p in range(left.shape[0]):
        if left[p] != last:
            last = left[p]
            stamp += U1
            stamp_left = stamp
            size_left = distinct(buffer, offsets[last], offsets[last + 1], n, table, word, gram, slots, stamp_left)
        stamp += U1
        d = right[p]
        size_right = distinct(buffer, offsets[d], offsets[d + 1], n, table, word, gram, others, stamp)
        common = 0
        for i in range(size_right):
            at = gram[i] & mask
            while slots[at, 1] == stamp_left and slots[at, 0] != gram[i]:
                at = (at + U1) & mask
            if slots[at, 1] == stamp_left:
                common += 1
        out[p, 0] = size_left
        out[p, 1] = size_right
        out[p, 2] = common
