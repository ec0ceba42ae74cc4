"""From text to terms: words, Porter's stemmer, stopwords; every choice a parameter that the archive records.

Where the paper is silent: a word is a run of letters and digits in lower case; ℓ counts all words, before any is
removed; a term is the Snowball ``porter`` stem of a word that is not an English stopword and not longer than 64
letters; terms in fewer than ``min_documents`` documents go when the statistics of all parts are known.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
import Stemmer
from numpy.typing import NDArray

from fyke.errors import UserError

_WORD = re.compile(r"[^\W_]+")
_MAX_WORD = 64

# The English list that Snowball publishes with its stemmers, contractions split as words are here.
ENGLISH = frozenset(
    """
    i me my myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves what which who whom this that these those am is are
    was were be been being have has had having do does did doing will would shall should can could may might
    must ought a an the and but if or because as until while of at by for with about against between into
    through during before after above below to from up down in out on off over under again further then once
    here there when where why how all any both each few more most other some such no nor not only own same so
    than too very s t don now isn aren wasn weren hasn haven hadn doesn didn won wouldn shan shouldn cannot
    couldn mustn let ll ve re d m
    """.split()  # noqa: SIM905 - a text to be read
)


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """How text becomes terms. The same for all parts of one archive."""

    stemmer: str = "porter"
    """A Snowball algorithm, or ``none``; the paper has Porter's."""
    stopwords: str = "english"
    """``english`` or ``none``."""
    min_documents: int = 20
    """Terms in fewer documents are removed: hapax legomena and typing errors, most of a web's dictionary."""

    def __post_init__(self) -> None:
        if self.stemmer != "none" and self.stemmer not in Stemmer.algorithms(True):
            raise UserError(f"no stemmer is called {self.stemmer!r}; write none or one of {Stemmer.algorithms(True)}")
        if self.stopwords not in {"english", "none"}:
            raise UserError(f"no list of stopwords is called {self.stopwords!r}; write english or none")


class Vocabulary:
    """The terms met so far, numbered in order of appearance, and what each word turned into."""

    def __init__(self, preprocessing: Preprocessing) -> None:
        stemmer = preprocessing.stemmer
        self._stem = Stemmer.Stemmer(stemmer, 0).stemWord if stemmer != "none" else str
        self._stopwords = ENGLISH if preprocessing.stopwords == "english" else frozenset()
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
        words = _WORD.findall(text.lower())
        distinct = Counter(words)
        known = self._words
        numbers = np.fromiter(
            (known[word] if word in known else self._number(word) for word in distinct), np.int64, len(distinct)
        )
        counts = np.fromiter(distinct.values(), np.uint32, len(distinct))
        kept = numbers >= 0
        terms, place = np.unique(numbers[kept], return_inverse=True)
        return len(words), terms.astype(np.uint32), np.bincount(place, counts[kept], terms.size).astype(np.uint32)

    def _number(self, word: str) -> int:
        number = -1
        if word not in self._stopwords and len(word) <= _MAX_WORD:
            number = self.numbers.setdefault(self._stem(word), len(self.numbers))
        self._words[word] = number
        return number
