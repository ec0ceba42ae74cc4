"""Locality-sensitive hashing over signatures: band keys, candidates of equal keys, and stars of what is near.

A band is r consecutive places of a signature; two texts of Jaccard s agree in one with probability s^r, and in at
least one of b bands with 1 − (1 − s^r)^b. Only the low 16 bits of a place are used, so that an index may keep just
those: two different minima agree in them once in 65,536.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fyke.bits.hashing import mix
from fyke.bits.jit import inlined, kernel, leaf
from fyke.bits.unionfind import find
from fyke.text.word_kernels import U0

Array = NDArray[Any]

BAND = np.uint64(0xBF58476D1CE4E5B9)
"""Tells equal places of different bands apart; indexes on disk have been made with it."""
LOW16 = np.uint64(0xFFFF)
U16 = np.uint64(16)
U48 = np.uint64(48)


@inlined
def band_key(signature: Array, band: int, rows: int) -> np.uint64:
    """Return the key of a band. Up to four places fill a word, which is mixed in: one round for up to four rows."""
    h = np.uint64(band + 1) * BAND
    word = U0
    for j in range(rows):
        word = (word << U16) | (np.uint64(signature[band * rows + j]) & LOW16)
        if j & 3 == 3:
            h = mix(h ^ word)
            word = U0
    return mix(h ^ word ^ (np.uint64(rows) << U48))


@leaf
def band_keys(signatures: Array, rows: int, keys: Array) -> None:
    """Write the key of each band of each signature to ``keys[band, document]``."""
    for d in range(signatures.shape[0]):
        signature = signatures[d]
        for band in range(keys.shape[0]):
            keys[band, d] = band_key(signature, band, rows)


@kernel
def candidates(
    keys: Array, documents: Array, parent: Array, max_bucket: int, window: int, out: Array
) -> tuple[int, int]:
    """Write the pairs of documents with equal keys as x·2^32 + y, x < y; return (pairs, pairs skipped).

    ``keys`` is sorted. In a bucket of more than ``max_bucket`` documents each is paired only with the first and with
    the ``window`` before it, and not at all with documents of its own component: there clusters count, not pairs.
    With ``len(out) == 0`` nothing is written and the number of pairs is an upper bound for the size of ``out``.
    """
    made = 0
    passed = 0
    start = 0
    while start < keys.shape[0]:
        end = start + 1
        while end < keys.shape[0] and keys[end] == keys[start]:
            end += 1
        size = end - start
        crowded = size > max_bucket
        for i in range(start + 1, end):
            first = max(start, i - window) if crowded else start
            if out.shape[0] == 0:
                made += i - first + 1
                continue
            for j in range(first - 1, i):
                at = start if j < first else j
                if j < first and (not crowded or first == start):
                    continue
                x = documents[at]
                y = documents[i]
                if crowded and find(parent, x) == find(parent, y):
                    continue
                low = min(x, y)
                high = max(x, y)
                out[made] = (np.uint64(low) << np.uint64(32)) | np.uint64(high)
                made += 1
            passed += first - start - (1 if first > start else 0)
        start = end
    return made, passed


@kernel
def equal_places(signatures: Array, left: Array, right: Array, out: Array) -> None:
    """Write the number of places in which the signatures of each pair agree."""
    for p in range(left.shape[0]):
        same = 0
        for j in range(signatures.shape[1]):
            same += 1 if signatures[left[p], j] == signatures[right[p], j] else 0
        out[p] = same


@kernel
def stars(order: Array, starts: Array, neighbours: Array, centre: Array) -> None:
    """Give each document its centre: in ``order``, each that has none becomes one and takes its free neighbours.

    ``neighbours[starts[x]:starts[x + 1]]`` are the documents at or above the threshold with x; ``centre`` comes as −1.
    """
    for x in order:
        if centre[x] >= 0:
            continue
        centre[x] = x
        for i in range(starts[x], starts[x + 1]):
            y = neighbours[i]
            if centre[y] < 0:
                centre[y] = x
