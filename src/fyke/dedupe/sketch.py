"""Sketches: MinHash signatures and simhashes of texts, with the parameters that make two of them comparable."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
import xxhash
from numpy.typing import NDArray

from fyke.bits.hashing import GOLDEN, mixed, splitmix64
from fyke.dedupe import kernels
from fyke.text.characters import DEFAULT_FOLDING, Folding, character_table
from fyke.text.words import pack, shingle_hashes, word_hashes

Features = Literal["words", "shingles"]
Permutations = Literal["fast", "linear"]

CHUNK = 1 << 19
"""Bytes of text that are packed and sketched together: what stays in a core's cache."""
LINEAR_PRIME = 4_294_967_291
"""The largest prime below 2^32: ax + b still fits 64 bits."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """What must be equal for two sketches to be compared."""

    ngram: int = 5
    """Words per shingle: 5 is long enough that chance agreement is rare, short enough that an edit spoils few."""
    num_perm: int = 192
    """32 bands of 6 find all but 6 in 100,000 pairs of Jaccard 0.8; 128 cost 20 % less time."""
    features: Features = "words"
    """Of the simhash: words by frequency (the textbook's) or shingles."""
    folding: Folding = DEFAULT_FOLDING

    def __post_init__(self) -> None:
        if self.ngram < 1 or self.num_perm < 1:
            raise ValueError("ngram and num_perm must be at least 1")


DEFAULTS = Parameters()


@dataclass(frozen=True, slots=True)
class Sketches:
    """Sketches of many texts, a row each."""

    parameters: Parameters
    signatures: NDArray[np.uint32]
    simhashes: NDArray[np.uint64]
    counts: NDArray[np.int64]
    """Shingles of the text, repetitions included; 0 for a text without words."""
    keys: NDArray[np.uint64]
    """Hash of the whole word sequence."""

    def __len__(self) -> int:
        return len(self.counts)


class Sketch(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The sketch of one text, as it travels to an index elsewhere and as it is kept beside the text."""

    id: str
    signature: bytes
    """16 bits of each minimum, little-endian."""
    key: int
    simhash: int
    shingles: int
    rank: int = 0
    """Of copies the one of the least rank is the original (``rank_of``)."""


_TIE = 11
_STAMP = (1 << 52) - 1


def rank_of(href: str, stamp: int, elsewhere: bool) -> int:
    """Rank a document among its copies by 64 bits: first the one that was there first, in µs since 1970.

    What says that its true address is another (``elsewhere``: rel=canonical) comes after all that do not. Of the same
    moment a hash of the address decides.
    """
    return elsewhere << 63 | (stamp & _STAMP) << _TIE | xxhash.xxh3_64_intdigest(href.encode()) & (1 << _TIE) - 1


def stamp_of(rank: int) -> int:
    """The moment of a rank."""
    return rank >> _TIE & _STAMP


def sketches_of(documents: Sequence[tuple[str, str | bytes]], parameters: Parameters) -> list[Sketch]:
    """Sketch (id, text) pairs one by one; a text without words has no shingles."""
    made = sketch([text for _, text in documents], parameters)
    low = made.signatures.astype("<u2")
    facts = zip(made.keys.tolist(), made.simhashes.tolist(), made.counts.tolist(), strict=True)
    return [
        Sketch(name, low[place].tobytes(), *fact)
        for place, ((name, _), fact) in enumerate(zip(documents, facts, strict=True))
    ]


@functools.cache
def coefficients(count: int, kind: Permutations = "fast") -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return a and b of ``count`` permutations: the first numbers of splitmix64 from 0, so the same everywhere.

    The first m of n permutations are the permutations of m. ``fast``: x ↦ ax + b mod 2^32 with odd a. ``linear``:
    1 ≤ a < p, 0 ≤ b < p as in the textbook.
    """
    numbers = splitmix64(2 * count)
    a, b = numbers[0::2], numbers[1::2]
    if kind == "linear":
        return a % np.uint64(LINEAR_PRIME - 1) + np.uint64(1), b % np.uint64(LINEAR_PRIME)
    return (a >> np.uint64(32)) | np.uint64(1), b >> np.uint64(32)


@functools.cache
def fast_coefficients(count: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the coefficients of the fast family as 32-bit arrays."""
    a, b = coefficients(count, "fast")
    return a.astype(np.uint32), b.astype(np.uint32)


def sketch(texts: Sequence[str | bytes], parameters: Parameters = DEFAULTS) -> Sketches:
    """Sketch texts."""
    made = Sketches(
        parameters,
        np.empty((len(texts), parameters.num_perm), np.uint32),
        np.empty(len(texts), np.uint64),
        np.empty(len(texts), np.int64),
        np.empty(len(texts), np.uint64),
    )
    start = size = 0
    for end, text in enumerate(texts, 1):
        size += len(text)
        if size >= CHUNK or end == len(texts):
            _fill(made, start, *pack(texts[start:end]))
            start, size = end, 0
    return made


def _fill(made: Sketches, start: int, buffer: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
    a, b = fast_coefficients(made.parameters.num_perm)
    by_words = made.parameters.features == "words"
    table = character_table(made.parameters.folding)
    part = slice(start, start + len(offsets) - 1)
    recipe = kernels.Recipe(made.parameters.ngram, table, a, b, by_words)
    kernels.sketch(
        buffer, offsets, recipe, made.signatures[part], made.simhashes[part], made.counts[part], made.keys[part]
    )


def minhash(
    text: str | bytes,
    *,
    num_perm: int = 192,
    ngram: int = 5,
    kind: Permutations = "fast",
    folding: Folding = DEFAULT_FOLDING,
) -> NDArray[np.uint32]:
    """Return the MinHash signature of a text's word n-grams.

    The share of equal places of two signatures estimates the Jaccard coefficient of the two texts with standard
    error √(J(1−J)/num_perm). ``kind="linear"`` takes the textbook's ax + b mod p (200 there), five times slower.
    A text without words has no minimum: 0xFFFFFFFF everywhere.
    """
    if kind == "fast":
        return words_sketch(word_hashes(text, folding), num_perm, ngram)
    found, out = shingle_hashes(text, ngram, folding), np.empty(num_perm, np.uint32)
    a, b = coefficients(num_perm, "linear")
    kernels.minima_modulo(found, len(found), a, b, np.uint64(LINEAR_PRIME), out)
    return out


def words_sketch(hashes: NDArray[np.uint64], num_perm: int = 192, ngram: int = 5) -> NDArray[np.uint32]:
    """Return ``minhash`` of the text whose words have these hashes."""
    out = np.empty(num_perm, np.uint32)
    kernels.signature(hashes, ngram, *fast_coefficients(num_perm), out)
    return out


def simhash(
    text: str | bytes,
    *,
    features: Features = "words",
    ngram: int = 5,
    bits: int = 64,
    idf: Mapping[int, float] | None = None,
    folding: Folding = DEFAULT_FOLDING,
) -> int:
    """Return Charikar's simhash of a text: similar texts differ in few of its 64 (or 128) bits.

    Features are words weighted by their frequency, or word n-grams. The upper half of 128 bits is the simhash of 64.
    With ``idf`` (similarity.inverse_frequencies) frequencies are multiplied by it; unknown words weigh as rarest.
    """
    found = word_hashes(text, folding) if features == "words" else shingle_hashes(text, ngram, folding)
    if idf is not None:
        unique, counts = np.unique(found, return_counts=True)
        rarest = max(idf.values(), default=1.0)
        weights = [count * idf.get(word, rarest) for word, count in zip(unique.tolist(), counts.tolist(), strict=True)]
        wide = [int(word) << bits - 64 for word in unique]
        if bits == 128:
            wide = [word | int(low) for word, low in zip(wide, second_half(unique), strict=True)]
        return weighted_simhash(wide, weights, bits)
    planes = np.empty(kernels.PLANES, np.uint64)
    high = int(kernels.majority(found, len(found), planes))
    if bits == 64:
        return high
    if bits == 128:
        return high << 64 | int(kernels.majority(second_half(found), len(found), planes))
    raise ValueError(f"bits is {bits}; a simhash has 64 or 128")


def second_half(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return 64 further bits for each 64-bit hash (splitmix64's step)."""
    return mixed(hashes + GOLDEN)


def weighted_vector(hashes: Sequence[int], weights: Sequence[float], bits: int = 64) -> NDArray[np.float64]:
    """Return Charikar's vector: component i sums +weight where the i-th highest bit of a hash is set, else −weight."""
    halves = [[h << (-bits % 64) >> 64 * j & (2**64 - 1) for j in reversed(range(-(-bits // 64)))] for h in hashes]
    totals = np.zeros(bits, np.float64)
    kernels.weighted_majority(
        np.array(halves, np.uint64).reshape(len(halves), -1), np.array(weights, np.float64), totals
    )
    return totals


def weighted_simhash(hashes: Sequence[int], weights: Sequence[float], bits: int = 64) -> int:
    """Return the simhash of features with any hashes and weights (tf-idf, say): the signs of the vector."""
    return int("".join("1" if total > 0 else "0" for total in weighted_vector(hashes, weights, bits)), 2)
