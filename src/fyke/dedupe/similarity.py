"""How similar two texts truly are: the deeper check on candidates that sketches propose."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fyke.dedupe import similarity_kernels
from fyke.text.characters import DEFAULT_FOLDING, Folding
from fyke.text.words import shingle_hashes, word_hashes, words_shingles

Text = str | bytes
Check = Literal["jaccard", "containment", "cosine", "words", "edit"]

MAX_EDIT_WORDS = 10_000
"""Longer texts are cut to this many words for the edit distance, which is quadratic: 0.1 s at most."""


def _shingle_set(text: Text, n: int, folding: Folding) -> NDArray[np.uint64]:
    return np.unique(shingle_hashes(text, n, folding))


def jaccard(left: Text, right: Text, ngram: int = 5, folding: Folding = DEFAULT_FOLDING) -> float:
    """Return |A ∩ B| / |A ∪ B| of the sets of word n-grams (Broder's resemblance); 0 where both are empty."""
    return words_jaccard(word_hashes(left, folding), word_hashes(right, folding), ngram)


def words_jaccard(left: NDArray[np.uint64], right: NDArray[np.uint64], ngram: int = 5) -> float:
    """Return ``jaccard`` of the texts whose words have these hashes."""
    a, b = np.unique(words_shingles(left, ngram)), np.unique(words_shingles(right, ngram))
    common = len(np.intersect1d(a, b, assume_unique=True))
    return common / max(1, len(a) + len(b) - common)


def containment(left: Text, right: Text, ngram: int = 5, folding: Folding = DEFAULT_FOLDING) -> float:
    """Return |A ∩ B| / |A|: how much of the left text stands in the right one."""
    a, b = _shingle_set(left, ngram, folding), _shingle_set(right, ngram, folding)
    return len(np.intersect1d(a, b, assume_unique=True)) / max(1, len(a))


def inverse_frequencies(texts: Iterable[Text], folding: Folding = DEFAULT_FOLDING) -> dict[int, float]:
    """Return idf = ln((1 + N) / (1 + n_w)) + 1 for each word hash of a collection of N texts."""
    frequency: Counter[int] = Counter()
    total = 0
    for text in texts:
        frequency.update(set(word_hashes(text, folding).tolist()))
        total += 1
    return {word: math.log((1 + total) / (1 + count)) + 1 for word, count in frequency.items()}


def cosine(
    left: Text, right: Text, idf: Mapping[int, float] | None = None, folding: Folding = DEFAULT_FOLDING
) -> float:
    """Return the cosine of the word vectors, weighted tf·idf; without ``idf`` by frequency alone."""
    a, b = (Counter(word_hashes(text, folding).tolist()) for text in (left, right))
    weight = idf or {}

    def norm(counts: Counter[int]) -> float:
        return math.sqrt(sum((count * weight.get(word, 1.0)) ** 2 for word, count in counts.items()))

    product = sum(count * b[word] * weight.get(word, 1.0) ** 2 for word, count in a.items() if word in b)
    return product / scale if (scale := norm(a) * norm(b)) else 0.0


def equal_words(left: Text, right: Text, folding: Folding = DEFAULT_FOLDING) -> float:
    """Return the share of words that are the same, 2·|A ∩ B| / (|A| + |B|) of multisets: the lecture's 90 %."""
    a, b = (Counter(word_hashes(text, folding).tolist()) for text in (left, right))
    total = a.total() + b.total()
    return 2 * (a & b).total() / total if total else 0.0


def edit_similarity(left: Text, right: Text, folding: Folding = DEFAULT_FOLDING) -> float:
    """Return 1 − d/max(|A|, |B|), d being Levenshtein's distance in words; only the first 10,000 words count."""
    a, b = (word_hashes(text, folding)[:MAX_EDIT_WORDS] for text in (left, right))
    if not len(a) or not len(b):
        return 0.0
    return 1.0 - int(similarity_kernels.edit_distance(a, b)) / max(len(a), len(b))


def check(kind: Check, ngram: int = 5, folding: Folding = DEFAULT_FOLDING) -> Callable[[Text, Text], float]:
    """Return the similarity called ``kind``; containment is that of the text which is contained more."""
    return {
        "jaccard": lambda a, b: jaccard(a, b, ngram, folding),
        "containment": lambda a, b: max(containment(a, b, ngram, folding), containment(b, a, ngram, folding)),
        "cosine": lambda a, b: cosine(a, b, None, folding),
        "words": lambda a, b: equal_words(a, b, folding),
        "edit": lambda a, b: edit_similarity(a, b, folding),
    }[kind]
