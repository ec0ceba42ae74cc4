"""What a focused crawl is after: a linear model over term counts, from example documents or from words.

- ``words``: BM25 of the words as a query, k = 1.2, b = 0.75; relevant above a share of the best page's score.
- ``bayes``: multinomial naive Bayes with Laplace smoothing, examples against a random sample of the archive
  (McCallum and Nigam 1998): the log-odds Σ count·ln(P(t|topic)/P(t|other)) plus prior.
- ``svm``: a linear support vector machine on BM25-saturated counts times idf, same examples.

All three are a weight for each term and a bias, so a page's relevance is one pass over its summary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fyke.archive.archive import Archive, Summaries
from fyke.archive.preprocess import Vocabulary
from fyke.errors import UserError
from fyke.topic import linear

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

BM25 = (1.2, 0.75)
"""k and b as Robertson et al. recommend."""
OTHERS = 5
"""Random documents for each example when a classifier is trained."""


@dataclass(frozen=True, slots=True, eq=False)
class SummaryModel:
    """A linear model over summaries; a page is relevant where its score exceeds 0."""

    kind: str
    weights: Floats
    bias: float
    bm25: tuple[float, float] | None

    def score(self, archive: Archive, documents: Ints) -> Floats:
        """Return the score of each document."""
        return archive.score(documents, self.weights, self.bm25) + self.bias


def from_words(archive: Archive, text: str, share: float = 0.3) -> SummaryModel:
    """Return the topic of a text: pages with more than ``share`` of the best score are relevant."""
    vocabulary = Vocabulary(archive.manifest.preprocessing)
    vocabulary.summarise(text)
    ranks = [rank for term in vocabulary.numbers if (rank := archive.dictionary.rank(term)) is not None]
    if not ranks:
        raise UserError(
            f"none of the topic's words is in the archive's dictionary: {' '.join(list(vocabulary.numbers)[:8])}"
        )
    weights = np.zeros(archive.manifest.terms)
    weights[ranks] = archive.idf()[ranks]
    best = archive.score(np.arange(len(archive)), weights, BM25).max(initial=0.0)
    return SummaryModel("words", weights, -share * float(best), BM25)


def from_examples(archive: Archive, examples: Ints, kind: str, generator: np.random.Generator) -> SummaryModel:
    """Return the topic of example documents by a classifier, ``bayes`` or ``svm``."""
    examples = np.unique(np.asarray(examples, np.int64))
    if not len(examples):
        raise UserError("a topic needs at least one example document")
    others = generator.choice(len(archive), min(len(archive), OTHERS * len(examples) + 50), replace=False)
    others = np.setdiff1d(others, examples)
    if kind == "bayes":
        return _bayes(archive, archive.read(examples), archive.read(others))
    if kind == "svm":
        labels = np.r_[np.ones(len(examples)), -np.ones(len(others))]
        return _svm(archive, archive.read(np.r_[examples, others]), labels, generator)
    raise UserError(f"no classifier is called {kind!r}; choose bayes or svm")


def _bayes(archive: Archive, examples: Summaries, others: Summaries) -> SummaryModel:
    terms = archive.manifest.terms

    def log_probability(some: Summaries) -> Floats:
        counts = np.bincount(some.ranks, some.counts, terms) + 1.0
        share: Floats = np.asarray(counts / counts.sum(), np.float64)
        return np.log(share)

    prior = np.log(len(examples.lengths) / max(1, len(others.lengths)))
    return SummaryModel("bayes", log_probability(examples) - log_probability(others), float(prior), None)


def _svm(
    archive: Archive, found: Summaries, labels: Floats, generator: np.random.Generator, cost: float = 1.0
) -> SummaryModel:
    k, b = BM25
    lengths = np.repeat(found.lengths, np.diff(found.starts))
    saturated = found.counts * (k + 1) / (found.counts + k * (1 - b + b * lengths / archive.mean_length))
    idf = archive.idf()
    # One scale for all documents keeps the model linear in the counts, and the margin near 1.
    scale = 1 / (
        np.sqrt(np.add.reduceat(np.r_[(saturated * idf[found.ranks]) ** 2, 0.0], found.starts[:-1]).mean()) or 1
    )
    values = saturated * idf[found.ranks] * scale
    weights = linear.fit(
        linear.Sparse(found.starts, found.ranks, values), labels, archive.manifest.terms, generator, cost
    )
    return SummaryModel("svm", weights[:-1] * idf * scale, float(weights[-1]), BM25)
