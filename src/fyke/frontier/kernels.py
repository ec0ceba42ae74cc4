"""Kernels of the seen-set: open addressing in memory, interpolation search in sorted runs, merging of runs.

Keys are uniform 64-bit hashes, 0 means an empty slot. A table has a power of two slots; a key's home is the top
bits of its product with 2^64/φ, its place the first free slot from there on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fyke.bits.jit import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@kernel
def add_keys(table: Any, bits: int, keys: Any, fresh: Any) -> int:
    """Add ``keys`` to the table; ``fresh[i]`` tells whether ``keys[i]`` was new. Return how many were.

    REQUIRES: a free slot remains for every key; no key is 0.
    """
    mask = np.int64(table.size - 1)
    shift = np.uint64(64 - bits)
    added = 0
    for i in range(keys.size):
        key = keys[i]
        slot = np.int64((key * _GOLDEN) >> shift)
        while True:
            held = table[slot]
            if held == key:
                fresh[i] = False
                break
            if held == 0:
                table[slot] = key
                fresh[i] = True
                added += 1
                break
            slot = (slot + 1) & mask
    return added


@kernel
def find_keys(table: Any, bits: int, keys: Any, found: Any) -> None:
    """``found[i]`` tells whether ``keys[i]`` is in the table."""
    mask = np.int64(table.size - 1)
    shift = np.uint64(64 - bits)
    for i in range(keys.size):
        key = keys[i]
        slot = np.int64((key * _GOLDEN) >> shift)
        while table[slot] != 0 and table[slot] != key:
            slot = (slot + 1) & mask
        found[i] = table[slot] == key


@kernel
def search_run(run: Any, keys: Any, found: Any) -> None:
    """Set ``found[i]`` where ``keys[i]`` is in the sorted ``run``; leave it alone where it is not.

    The hashes are uniform, so the guess by proportion lands a few dozen keys from the place; from there the
    bracket is doubled until it holds the key, then halved.
    """
    size = run.size
    if size == 0:
        return
    scale = size / 18446744073709551616.0
    for i in range(keys.size):
        if found[i]:
            continue
        key = keys[i]
        guess = min(np.int64(np.float64(key) * scale), size - 1)
        step = np.int64(16)
        if run[guess] < key:
            low = guess + 1
            high = low + step
            while high < size and run[high] < key:
                low = high + 1
                step *= 2
                high = low + step
            high = min(high, size - 1)
        else:
            high = guess
            low = high - step
            while low >= 0 and run[low] >= key:
                high = low
                step *= 2
                low = high - step
            low = max(low + 1, np.int64(0))
        while low < high:
            middle = (low + high) >> 1
            if run[middle] < key:
                low = middle + 1
            else:
                high = middle
        if low < size and run[low] == key:
            found[i] = True


@kernel
def merge_runs(one: Any, two: Any, out: Any) -> int:
    """Merge two sorted runs into ``out`` without repetition; return the number of keys written."""
    i = 0
    j = 0
    n = 0
    while i < one.size or j < two.size:
        if j >= two.size or (i < one.size and one[i] <= two[j]):
            key = one[i]
            i += 1
        else:
            key = two[j]
            j += 1
        if n == 0 or out[n - 1] != key:
            out[n] = key
            n += 1
    return n
