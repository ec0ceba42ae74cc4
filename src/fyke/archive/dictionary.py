"""The dictionary: which terms stay, their ranks by frequency, and the way back to the original terms.

Terms are numbered twice. The original number is the place in byte order; the rank is the place by document
frequency, most frequent first, ties by original number. Summaries speak in ranks; users see terms.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from fyke.archive.preprocess import Preprocessing
from fyke.archive.run import Run
from fyke.bits.coding import Code
from fyke.bits.frontcoded import FrontCoded
from fyke.bits.stream import Words
from fyke.errors import StorageError

FREQUENCY_CODE = Code("gamma")
"""Falls of the document frequency from rank to rank: mostly 0."""


@dataclass(frozen=True, eq=False)
class Dictionary:
    """The terms of an archive."""

    strings: FrontCoded
    """The terms by original number."""
    permutation: NDArray[np.int64]
    """Rank to original number."""
    documents: NDArray[np.int64]
    """Documents that hold the term, by rank: never increasing."""

    def __len__(self) -> int:
        return len(self.strings)

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """Original number to rank."""
        ranks = np.empty_like(self.permutation)
        ranks[self.permutation] = np.arange(len(ranks))
        return ranks

    def term(self, rank: int) -> str:
        """Return the term of a rank. Raises ``StorageError`` where the dictionary is damaged."""
        try:
            return self.strings[int(self.permutation[rank])].decode()
        except UnicodeDecodeError:
            raise StorageError(
                f"term {rank} of an archive's dictionary is no text; copy it or build it again"
            ) from None

    def rank(self, term: str) -> int | None:
        """Return the rank of a term, or None where the archive has none such."""
        number = self.strings.find(term.encode())
        return None if number is None else int(self.ranks[number])


def merge(
    runs: Sequence[Run], frequencies: Sequence[NDArray[np.int64]], preprocessing: Preprocessing
) -> tuple[Dictionary, list[NDArray[np.int32]]]:
    """Return the dictionary of all runs, and for each run the rank (or −1) of its own term numbers.

    ``frequencies`` are the document frequencies of each run's terms. A streaming merge: in memory are the terms that
    stay and one number for each term of each run.
    """
    maps = [np.full(len(counted), -1, np.int32) for counted in frequencies]
    kept: list[bytes] = []
    documents: list[int] = []
    terms = heapq.merge(*(_numbered(run, i) for i, run in enumerate(runs)))
    for term, same in groupby(terms, key=itemgetter(0)):
        group = [(run, local) for _, run, local in same]
        count = sum(int(frequencies[run][local]) for run, local in group)
        if count and preprocessing.keeps(count):
            for run, local in group:
                maps[run][local] = len(kept)
            kept.append(term)
            documents.append(count)
    by_number = np.array(documents, np.int64)
    permutation = np.argsort(-by_number, kind="stable")
    dictionary = Dictionary(FrontCoded.of(kept), permutation, by_number[permutation])
    ranks = dictionary.ranks.astype(np.int32)
    for numbers in maps:
        staying = numbers >= 0
        numbers[staying] = ranks[numbers[staying]]
    return dictionary, maps


def _numbered(run: Run, i: int) -> Iterator[tuple[bytes, int, int]]:
    return ((term.encode(), i, local) for local, term in enumerate(run.vocabulary()))


def number_width(terms: int) -> int:
    """Return the bits of an original number in the stored permutation."""
    return max(1, (terms - 1).bit_length())


def encode_frequencies(documents: NDArray[np.int64]) -> tuple[Words, int]:
    """Return document frequencies by rank as falls, γ-coded from the last rank up, and the length in bits."""
    return FREQUENCY_CODE.encode(np.diff(documents[::-1], prepend=0))


def decode_frequencies(words: Words, size: int) -> NDArray[np.int64]:
    """Return what ``encode_frequencies`` was given."""
    return np.cumsum(FREQUENCY_CODE.decode(words, size))[::-1].copy()
