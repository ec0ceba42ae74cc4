"""Fingerprints (Broder; Manber; Schleimer): n-grams, Rabin hashes, a selection of them, an inverted index, overlap."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fyke.dedupe import fingerprint_kernels
from fyke.text import word_kernels
from fyke.text.characters import DEFAULT_FOLDING, Folding
from fyke.text.words import word_hashes

POLYNOMIAL = 0x1_9D90_4014_9C00_7D09
"""P: the first irreducible polynomial of degree 64 that a random generator gave (a test proves that it is)."""

Unit = Literal["words", "sentences", "paragraphs"]
Select = Literal["all", "mod", "winnow"]

COMMON = 1000
"""A fingerprint that more documents than this share is boilerplate: it proposes no pair (but counts in overlaps)."""

HELD = 1 << 20
"""Proposed pairs after which repetitions are dropped: two copies propose their pair once for each fingerprint."""

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|[。！？]|\n\s*\n")
_PARAGRAPH_END = re.compile(r"\n\s*\n")


@dataclass(frozen=True, slots=True)
class Fingerprinting:
    """How documents become fingerprints."""

    ngram: int = 5
    """Units in an n-gram: 5 to 10 words are usual on the web; 1 sentence or paragraph."""
    unit: Unit = "words"
    overlapping: bool = True
    select: Select = "all"
    modulus: int = 4
    """Of ``mod``: the hashes that are 0 modulo this are kept, whatever the document's length."""
    window: int = 4
    """Of ``winnow``: the least hash of this many n-grams is kept, so that no stretch goes unrepresented."""
    folding: Folding = DEFAULT_FOLDING


DEFAULTS = Fingerprinting()


def n_grams(words: Sequence[str], n: int, overlapping: bool = True) -> list[str]:
    """Return the n-grams of words as text, to show them."""
    return [" ".join(words[i : i + n]) for i in range(0, len(words) - n + 1, 1 if overlapping else n)]


def zero_modulo(hashes: NDArray[Any], modulus: int) -> NDArray[Any]:
    """Return the hashes that are 0 modulo ``modulus``."""
    kept: NDArray[Any] = hashes[hashes % np.asarray(modulus, hashes.dtype) == 0]
    return kept


def remainder(value: int) -> int:
    """Return a polynomial over GF(2), given by its bits, modulo POLYNOMIAL."""
    while (excess := value.bit_length() - 65) >= 0:
        value ^= POLYNOMIAL << excess
    return value


@functools.cache
def shift_table(words: int) -> NDArray[np.uint64]:
    """Return table[i, byte] = byte · x^(8i + 64·words) mod P."""
    table = np.zeros((8, 256), np.uint64)
    for i in range(8):
        powers = [remainder(1 << (8 * i + 64 * words + bit)) for bit in range(8)]
        for bit, power in enumerate(powers):
            has = (np.arange(256) >> bit) & 1 == 1
            table[i, has] ^= np.uint64(power)
    return table


def rabin(words: NDArray[np.uint64], n: int, overlapping: bool = True) -> NDArray[np.uint64]:
    """Return the Rabin fingerprint of each n-gram of 64-bit words."""
    out = np.empty(len(words) + 1, np.uint64)
    made = fingerprint_kernels.rabin(words, n, 1 if overlapping else n, shift_table(1), shift_table(n), out)
    return out[:made].copy()


def units(text: str, unit: Unit, folding: Folding = DEFAULT_FOLDING) -> NDArray[np.uint64]:
    """Return the hash of each word, or of each sentence or paragraph that has words."""
    if unit == "words":
        return word_hashes(text, folding)
    parts = (_SENTENCE_END if unit == "sentences" else _PARAGRAPH_END).split(text)
    out = np.empty(1, np.uint64)
    hashes = []
    for part in parts:
        found = word_hashes(part, folding)
        if word_kernels.shingles(found, len(found), max(1, len(found)), out):
            hashes.append(out[0])
    return np.array(hashes, np.uint64)


def fingerprints(text: str, settings: Fingerprinting = DEFAULTS) -> NDArray[np.uint64]:
    """Return the selected fingerprints of a text, sorted, each once."""
    hashes = rabin(units(text, settings.unit, settings.folding), settings.ngram, settings.overlapping)
    if settings.select == "mod":
        hashes = zero_modulo(hashes, settings.modulus)
    elif settings.select == "winnow":
        out = np.empty(len(hashes) + 1, np.uint64)
        hashes = out[: fingerprint_kernels.winnow(hashes, settings.window, out)]
    return np.unique(hashes)


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much two documents share: resemblance |A∩B|/|A∪B|, containment of each in the other."""

    left: int
    right: int
    common: int
    resemblance: float
    left_in_right: float
    right_in_left: float


def overlaps(documents: Sequence[NDArray[np.uint64]], least: float = 0.0) -> list[Overlap]:
    """Return the overlap of each pair that shares a fingerprint, through an inverted index; at ``least`` or above.

    ``least`` is of resemblance. Fingerprints of more than COMMON documents propose no pair.
    """
    sizes = [len(prints) for prints in documents]
    owners = np.repeat(np.arange(len(documents)), sizes)
    postings = np.concatenate([*documents, np.empty(0, np.uint64)])
    order = np.argsort(postings, kind="stable")
    bounds = np.flatnonzero(np.diff(postings[order], prepend=0, append=0) != 0)
    bounds = np.unique(np.concatenate([[0], bounds, [len(order)]]))
    pairs = [np.empty(0, np.int64)]
    held, most = 0, HELD
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if 2 <= end - start <= COMMON:
            holders = np.sort(owners[order[start:end]])
            i, j = np.triu_indices(len(holders), 1)
            pairs.append(holders[i] * len(documents) + holders[j])
            held += len(i)
        if held > most:
            pairs = [np.unique(np.concatenate(pairs))]
            held, most = len(pairs[0]), max(HELD, 2 * len(pairs[0]))
    found = []
    for pair in np.unique(np.concatenate(pairs)).tolist():
        i, j = divmod(pair, len(documents))
        common = len(np.intersect1d(documents[i], documents[j], assume_unique=True))
        resemblance = common / (sizes[i] + sizes[j] - common)
        if resemblance >= least:
            found.append(Overlap(i, j, common, resemblance, common / sizes[i], common / sizes[j]))
    return found
