"""From text to terms: words, Porter's stemmer, stopwords; every choice a parameter that the archive records.

Words are those of fyke.text: ℓ counts all of them, before any is removed. Where the paper is silent: a term is the
Snowball ``porter`` stem of a word that is not an English stopword and not longer than 64 letters; terms in fewer than
``min_documents`` documents, or in more than ``max_documents``, go when the statistics of all parts are known.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fyke.errors import UserError
from fyke.text.stems import STOPWORDS, names, stemmer
from fyke.text.words import words

_MAX_WORD = 64


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """How text becomes terms. The same for all parts of one archive."""

    stemmer: str = "porter"
    """A Snowball algorithm, or ``none``; the paper has Porter's."""
    stopwords: str | tuple[str, ...] = "english"
    """``english``, ``none``, or the words themselves."""
    min_documents: int = 20
    """Terms in fewer documents are removed: hapax legomena and typing errors, most of a web's dictionary."""
    max_documents: int | None = None
    """Terms in more documents are removed: what every page of a collection says. None: no term is too frequent."""

    def __post_init__(self) -> None:
        if self.stemmer not in names():
            raise UserError(f"no stemmer is called {self.stemmer!r}; write one of {names()}")
        if isinstance(self.stopwords, str) and self.stopwords not in STOPWORDS:
            raise UserError(f"no list of stopwords is called {self.stopwords!r}; write english, none, or a file's name")
        if self.max_documents is not None and self.max_documents < self.min_documents:
            raise UserError(f"no term is in {self.min_documents} documents and in at most {self.max_documents}")

    @property
    def stops(self) -> frozenset[str]:
        """The words that are no terms."""
        return STOPWORDS[self.stopwords] if isinstance(self.stopwords, str) else frozenset(self.stopwords)

    def keeps(self, documents: int) -> bool:
        """Whether a term of so many documents stays."""
        return self.min_documents <= documents and (self.max_documents is None or documents <= self.max_documents)


def read_stopwords(name: str) -> str | tuple[str, ...]:
    """Return ``name`` if it is a list that comes with fyke, else the words of the file of that name, sorted."""
    if name in STOPWORDS:
        return name
    try:
        text = Path(name).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"no stopwords in {name!r} ({error.strerror}); write english, none, or a file's name") from None
    return tuple(sorted(set(words(text))))


class Vocabulary:
    """The terms met so far, numbered in order of appearance, and what each word turned into."""

    def __init__(self, preprocessing: Preprocessing) -> None:
        self._stem = stemmer(preprocessing.stemmer)
        self._stopwords = preprocessing.stops
        self._words: dict[str, int] = {}
        self.numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def words(self) -> int:
        """Distinct words met: what fills the memory."""
        return len(self._words)

    def summarise(self, text: str) -> tuple[int, NDArray[np.uint32], NDArray[np.uint32]]:
        """Return a document's length in words, its term numbers in increasing order, and their counts."""
        found = words(text)
        distinct = Counter(found)
        known = self._words
        numbers = np.fromiter(
            (known[word] if word in known else self._number(word) for word in distinct), np.int64, len(distinct)
        )
        counts = np.fromiter(distinct.values(), np.uint32, len(distinct))
        kept = numbers >= 0
        terms, place = np.unique(numbers[kept], return_inverse=True)
        return len(found), terms.astype(np.uint32), np.bincount(place, counts[kept], terms.size).astype(np.uint32)

    def _number(self, word: str) -> int:
        number = -1
        if word not in self._stopwords and len(word) <= _MAX_WORD:
            number = self.numbers.setdefault(self._stem(word), len(self.numbers))
        self._words[word] = number
        return number
