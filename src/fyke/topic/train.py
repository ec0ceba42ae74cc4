"""From examples to a model: vectors, cross-validation, calibration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fyke.errors import UserError
from fyke.topic import linear
from fyke.topic.features import SIZE, Hasher
from fyke.topic.model import Measured, PageModel, PageText
from fyke.topic.topic import Topic, check

FOLDS = 5
COST = 10.0
"""Of an error, against the size of the weights: vectors have length 1, so the margin needs weights above 1."""
ALONE = (10.0, 8.0)
"""The sigmoid of a model from one example, which scores 1 and all others below −1: what is like it scores −0.6."""
CHANCE = 0.65
"""An area under the ROC curve below this is hardly better than chance."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Trained:
    """A model, and what its maker should know of it."""

    model: PageModel
    warnings: tuple[str, ...] = ()


def train(
    topic: Topic,
    relevant: Sequence[PageText],
    irrelevant: Sequence[PageText],
    generator: np.random.Generator,
    *,
    drawn: bool = False,
) -> Trained:
    """Train on example pages. Without relevant ones the topic's words and patterns are the model.

    Where irrelevant pages were ``drawn`` and not given, those that look relevant are left out. Raises ``UserError``
    where there is nothing to learn from, or where one text is on both sides.
    """
    check(topic, topic.name or "the topic")
    if not relevant:
        if not (topic.words or topic.patterns):
            raise UserError("no positive example could be read; give relevant pages, words or patterns")
        return Trained(PageModel(topic))
    if drawn and irrelevant:
        irrelevant = drop_likely_positives(relevant, irrelevant, generator)
    texts = {page.text for page in relevant}
    both = next((page for page in irrelevant if page.text in texts), None)
    if both is not None:
        raise UserError(
            f"{both.url or both.title or 'one text'} is relevant and irrelevant at once; keep it in one list"
        )
    if not irrelevant:
        raise UserError("no negative example could be found; give irrelevant pages, or a store to draw them from")
    examples = vectors([*relevant, *irrelevant])
    labels = np.r_[np.ones(len(relevant)), -np.ones(len(irrelevant))]
    folds = min(FOLDS, len(relevant), len(irrelevant))
    weights = linear.fit(examples, labels, SIZE, generator, COST)
    measured = Measured(len(relevant), len(irrelevant))
    slope, shift = ALONE
    warnings: list[str] = []
    if folds >= 2:
        found = linear.out_of_fold(examples, labels, SIZE, folds, generator, COST)
        slope, shift = linear.calibrate(found, labels)
        measured = measure(linear.sigmoid(slope * found + shift), labels, folds, topic.threshold)
        if measured.area < CHANCE or slope == 0:
            warnings.append(
                f"the examples contradict one another: a relevant one is above an irrelevant one "
                f"{measured.area:.0%} of the time, and 50% is chance; give more examples, or examples that are alike"
            )
    else:
        warnings.append("too few examples to measure precision and recall; give five or more")
    model = PageModel(topic, weights[:-1].astype(np.float32), float(weights[-1]), slope, shift, measured)
    return Trained(model, tuple(warnings))


def drop_likely_positives(
    relevant: Sequence[PageText], others: Sequence[PageText], generator: np.random.Generator
) -> list[PageText]:
    """Return those of pages drawn at random that are not of the topic themselves, as far as one can tell.

    A page's score comes from a machine that did not see it; what is nearer to the middle of the relevant ones than to
    the middle of the others is left out, but never more than a third.
    """
    texts = {page.text for page in relevant}
    others = [page for page in others if page.text not in texts]
    folds = min(FOLDS, len(relevant), len(others))
    if folds < 2:
        return list(others)
    labels = np.r_[np.ones(len(relevant)), -np.ones(len(others))]
    found = linear.out_of_fold(vectors([*relevant, *others]), labels, SIZE, folds, generator, COST)
    middle = (np.median(found[labels > 0]) + np.median(found[labels < 0])) / 2
    mine = found[labels < 0]
    allowed = max(float(middle), float(np.quantile(mine, 2 / 3)))
    return [page for page, score in zip(others, mine, strict=True) if score <= allowed]


def vectors(pages: Iterable[PageText]) -> linear.Sparse:
    """Return the vectors of pages."""
    hasher = Hasher()
    lengths, terms, values = [0], [], []
    for page in pages:
        vector = hasher.page(page.text, page.title, page.url, page.anchors)
        lengths.append(len(vector.features))
        terms.append(vector.features.copy())
        values.append(vector.values.copy())
    return linear.Sparse(
        np.cumsum(lengths), np.concatenate([*terms, np.empty(0, np.int64)]), np.concatenate([*values, np.empty(0)])
    )


def measure(p: Floats, labels: Floats, folds: int, threshold: float) -> Measured:
    """Return precision and recall at the threshold, and the area under the ROC curve."""
    positive = labels > 0
    said = p >= threshold
    hits = int((said & positive).sum())
    # Ties count half: the mean of the first and the last place of equal values.
    ordered = np.sort(p)
    ranks = (np.searchsorted(ordered, p, "left") + np.searchsorted(ordered, p, "right") + 1) / 2
    many, few = int(positive.sum()), int((~positive).sum())
    area = (ranks[positive].sum() - many * (many + 1) / 2) / (many * few)
    return Measured(many, few, folds, hits / max(1, int(said.sum())), hits / many, float(area))
