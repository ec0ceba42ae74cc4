"""Elias–Fano: a monotone sequence of naturals in about 2 + log₂(u/n) bits a value, with select and rank.

n values below a universe u: the ℓ = max(0, ⌊log₂(u/n)⌋) low bits of each are packed; the rest, high bits, are a bit
vector in which value i sets bit (xᵢ >> ℓ) + i. ``select(i)`` is xᵢ; ``rank(x)`` is the number of values below x.
Selection in the high bits starts from an inventory, the position of every 256th one (and zero), and counts words
by population count (Vigna, Broadword implementation of rank/select queries, 2008).

::

    payload  low   n·ℓ bits        high  n + (u >> ℓ) + 1 bits
    index    ones  ⌈n/256⌉ × 8 B   zeros ⌈(u >> ℓ)/256⌉ × 8 B      (made from the payload when it is opened)

The index costs 0.5–0.65 bits a value; it is not stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fyke.bits.jit import inlined, kernel, leaf, popcount, trailing_zeros
from fyke.bits.stream import Words, read_bits, room_for, words_for, write_bits

SAMPLE_BITS = 8
SAMPLE = 1 << SAMPLE_BITS
"""Ones between two entries of the inventory: 0.25 bits a value, and about eight words to count at most."""


@inlined
def select_in_word(word: Any, k: Any) -> Any:
    """Return the position of the k-th one (from 0, from the lowest bit). REQUIRES: there is one."""
    base = 0
    # Halve the word until the byte is found, then drop ones from the right.
    width = 32
    while width >= 8:
        below = popcount(word & ((np.uint64(1) << np.uint64(width)) - np.uint64(1)))
        if k >= below:
            k -= below
            base += width
            word = word >> np.uint64(width)
        width >>= 1
    for _ in range(k):
        word = word & (word - np.uint64(1))
    return base + trailing_zeros(word)


@kernel
def encode(values: Any, low_width: Any, low: Any, high: Any) -> Any:
    """Fill ``low`` and ``high``; return False where the values decrease. Bits of ``high`` count from the lowest."""
    position = 0
    last = 0
    mask = (1 << low_width) - 1
    for i in range(values.size):
        value = values[i]
        if value < last:
            return False
        last = value
        position = write_bits(low, position, value & mask, low_width)
        bit = (value >> low_width) + i
        high[bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
    return True


@kernel
def fill_inventory(high: Any, bits: Any, ones: Any, zeros: Any) -> Any:
    """Note where every SAMPLE-th one and zero of the first ``bits`` bits stands; return the number of ones."""
    count = 0
    for i in range((bits + 63) >> 6):
        word = high[i]
        set_bits = popcount(word)
        mark = (count + SAMPLE - 1) // SAMPLE
        if mark * SAMPLE < count + set_bits and mark < ones.size:
            ones[mark] = (i << 6) + select_in_word(word, mark * SAMPLE - count)
        unset = (i << 6) - count
        mark = (unset + SAMPLE - 1) // SAMPLE
        if mark * SAMPLE < unset + 64 - set_bits and mark < zeros.size:
            zeros[mark] = (i << 6) + select_in_word(~word, mark * SAMPLE - unset)
        count += set_bits
    return count


@inlined
def select_bit(high: Any, inventory: Any, i: Any, flip: Any) -> Any:
    """Return the position of the i-th one; of the i-th zero where ``flip`` is all ones. REQUIRES: it exists."""
    start = inventory[i >> SAMPLE_BITS]
    left = i & (SAMPLE - 1)
    at = start >> 6
    word = (high[at] ^ flip) & (~np.uint64(0) << np.uint64(start & 63))
    while True:
        count = popcount(word)
        if left < count:
            return (at << 6) + select_in_word(word, left)
        left -= count
        at += 1
        if at >= high.size:
            return (at << 6) - 1
        word = high[at] ^ flip


@leaf
def select(low: Any, high: Any, ones: Any, low_width: Any, i: Any) -> Any:
    """Return the i-th value. REQUIRES: 0 ≤ i < n."""
    upper = select_bit(high, ones, i, np.uint64(0)) - i
    value, _ = read_bits(low, i * low_width, low_width)
    return (upper << low_width) | value


@leaf
def rank(low: Any, high: Any, zeros: Any, low_width: Any, size: Any, x: Any) -> Any:
    """Return the number of values below x. REQUIRES: 0 ≤ x ≤ u."""
    upper = x >> low_width
    bit = select_bit(high, zeros, upper - 1, ~np.uint64(0)) + 1 if upper > 0 else 0
    i = bit - upper
    rest = x & ((1 << low_width) - 1)
    while i < size and (high[bit >> 6] >> np.uint64(bit & 63)) & np.uint64(1) == np.uint64(1):
        value, _ = read_bits(low, i * low_width, low_width)
        if value >= rest:
            break
        i += 1
        bit += 1
    return i


@leaf
def select_many(low: Any, high: Any, ones: Any, low_width: Any, indices: Any, out: Any) -> None:
    """Fill ``out`` with the values of ``indices``."""
    for j in range(indices.size):
        out[j] = select(low, high, ones, low_width, indices[j])


@dataclass(frozen=True, slots=True, eq=False)
class EliasFano:
    """A monotone sequence. ``low`` and ``high`` are what is stored; the inventories are made from them."""

    size: int
    universe: int
    """Greater than every value."""
    low: Words
    high: Words
    ones: NDArray[np.int64]
    zeros: NDArray[np.int64]

    @classmethod
    def of(cls, values: NDArray[np.int64], universe: int | None = None) -> EliasFano:
        """Return the sequence of ``values``, which may repeat but not decrease."""
        values = np.asarray(values, np.int64)
        universe = (int(values[-1]) + 1 if values.size else 1) if universe is None else universe
        if values.size and not 0 <= values[0] <= values[-1] < universe:
            raise ValueError("the values of an Elias–Fano sequence are naturals below the universe, in order")
        low_bits, high_bits = sizes(values.size, universe)
        low, high = room_for(low_bits), room_for(high_bits)
        if not encode(values, low_width(values.size, universe), low, high):
            raise ValueError("the values of an Elias–Fano sequence are naturals below the universe, in order")
        return cls.over(values.size, universe, low, high)

    @classmethod
    def over(cls, size: int, universe: int, low: Words, high: Words) -> EliasFano:
        """Return the sequence that lies in ``low`` and ``high`` (mapped, say). Raises ``ValueError`` if it cannot."""
        low_bits, high_bits = sizes(size, universe)
        if low.size < words_for(low_bits) or high.size < words_for(high_bits):
            raise ValueError("an Elias–Fano sequence is shorter than its size and universe say")
        ones = np.zeros(size // SAMPLE + 1, np.int64)
        zeros = np.zeros((high_bits - size) // SAMPLE + 1, np.int64)
        if fill_inventory(high, high_bits, ones, zeros) != size:
            raise ValueError("an Elias–Fano sequence has another number of values than it says")
        return cls(size, universe, low, high, ones, zeros)

    @property
    def low_width(self) -> int:
        """Low bits of each value."""
        return low_width(self.size, self.universe)

    @property
    def payload_bits(self) -> int:
        """Bits of low and high parts: what the sequence costs at rest."""
        return sum(sizes(self.size, self.universe))

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, i: int) -> int:
        """Return the i-th value."""
        if not 0 <= i < self.size:
            raise IndexError(i)
        return int(select(self.low, self.high, self.ones, self.low_width, i))

    def select(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the values of many indices. REQUIRES: each is in 0 … n − 1."""
        indices = np.asarray(indices, np.int64)
        if indices.size and not 0 <= indices.min() <= indices.max() < self.size:
            raise IndexError("an index beyond the sequence")
        out = np.empty(indices.size, np.int64)
        select_many(self.low, self.high, self.ones, self.low_width, indices, out)
        return out

    def rank(self, x: int) -> int:
        """Return the number of values below x."""
        if x >= self.universe:
            return self.size
        return int(rank(self.low, self.high, self.zeros, self.low_width, self.size, x)) if x > 0 else 0

    def __contains__(self, x: int) -> bool:
        i = self.rank(x)
        return i < self.size and self[i] == x

    def values(self) -> NDArray[np.int64]:
        """Return all values."""
        return self.select(np.arange(self.size))


def low_width(size: int, universe: int) -> int:
    """Return ℓ."""
    return max(0, (universe // size).bit_length() - 1) if size else universe.bit_length()


def sizes(size: int, universe: int) -> tuple[int, int]:
    """Return the bits of low and of high parts."""
    width = low_width(size, universe)
    return size * width, size + (universe >> width) + 1
