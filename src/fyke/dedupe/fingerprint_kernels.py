"""Rabin fingerprints of word n-grams, rolled along the text, and winnowing.

A sequence of 64-bit words w_1 … w_n is the polynomial over GF(2) whose bits are theirs; its fingerprint is the
remainder modulo an irreducible polynomial P of degree 64. Two sequences of n words that differ have the same one with
probability at most n/2^57 or so over the choice of P (Rabin 1981; Broder 1993). Remainders of shifted bytes come from
tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fyke.bits.jit import kernel

Array = NDArray[Any]

BYTE = np.uint64(0xFF)
U8 = np.uint64(8)


@kernel
def shifted(word: np.uint64, table: Array) -> np.uint64:
    """Return the remainder of word · x^s, with table[i, byte] the remainder of byte · x^(8i + s)."""
    out = np.uint64(0)
    for i in range(8):
        out ^= table[i, (word >> (np.uint64(i) * U8)) & BYTE]
    return out


@kernel
def rabin(words: Array, n: int, step: int, enter: Array, leave: Array, out: Array) -> int:
    """Write the fingerprint of each n-gram that starts at a multiple of ``step``; return how many.

    ``enter`` multiplies by x^64, ``leave`` by x^(64n). A text of fewer than n words, but at least one, is one n-gram.
    """
    count = words.shape[0]
    width = min(n, count)
    h = np.uint64(0)
    made = 0
    for i in range(count):
        h = shifted(h, enter) ^ words[i]
        if i >= n:
            h ^= shifted(words[i - n], leave)
        if i + 1 >= width and (i + 1 - width) % step == 0:
            out[made] = h
            made += 1
    return made


@kernel
def winnow(hashes: Array, window: int, out: Array) -> int:
    """Write the least hash of each window, the rightmost of equals, once for each place; return how many.

    Schleimer, Wilkerson, Aiken 2003: a common run of window + n − 1 words always leaves a common fingerprint.
    """
    made = 0
    last = -1
    for start in range(max(1, hashes.shape[0] - window + 1)):
        end = min(start + window, hashes.shape[0])
        if end <= start:
            break
        best = start
        for i in range(start + 1, end):
            if hashes[i] <= hashes[best]:
                best = i
        if best != last:
            out[made] = hashes[best]
            made += 1
            last = best
    return made
