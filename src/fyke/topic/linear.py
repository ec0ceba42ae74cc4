"""A linear classifier with probabilities: a support vector machine, and Platt's sigmoid over its scores.

- The machine: minimise ½|w|² + Σ costᵢ·max(0, 1 − yᵢ(w·xᵢ + b)) by dual coordinate descent (Hsieh et al. 2008).
- The sigmoid: p = 1/(1 + exp(−(slope·score + shift))), the two numbers by maximum likelihood over scores of examples
  that the machine was not trained with, targets smoothed as Platt (1999) has it, by Newton's method (Lin et al. 2007).

Deterministic: the same examples and generator give the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fyke.topic import kernels

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

EPOCHS = 100
ENOUGH = 1e-3
"""The largest step of an epoch after which the machine is as good as it gets."""


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """Sparse vectors: those of example i stand from ``starts[i]`` to ``starts[i + 1]``."""

    starts: Ints
    terms: Ints
    values: Floats

    def __len__(self) -> int:
        return len(self.starts) - 1


def fit(examples: Sparse, labels: Floats, size: int, generator: np.random.Generator, cost: float = 1.0) -> Floats:
    """Return the weights, the bias last. ``labels`` are ±1; the few of one kind weigh as much as the many others."""
    weights, alphas = np.zeros(size + 1), np.zeros(len(labels))
    positive = max(1, int((labels > 0).sum()))
    costs = np.where(labels > 0, cost * max(1, int((labels < 0).sum())) / positive, cost)
    for _ in range(EPOCHS):
        order = generator.permutation(len(labels))
        step = kernels.train_svm(
            examples.starts, examples.terms, examples.values, labels, order, costs, weights, alphas
        )
        if step < ENOUGH:
            break
    return weights


def scores(examples: Sparse, weights: Floats) -> Floats:
    """Return the score of each example."""
    products = np.r_[weights[examples.terms] * examples.values, 0.0]
    firsts = np.minimum(examples.starts[:-1], len(products) - 1)
    sums = np.add.reduceat(products, firsts) if len(examples) else products[:0]
    found: Floats = np.where(np.diff(examples.starts) > 0, sums, 0.0) + weights[-1]
    return found


def subset(examples: Sparse, chosen: Ints) -> Sparse:
    """Return some of the examples."""
    lengths = np.diff(examples.starts)[chosen]
    starts = np.r_[0, np.cumsum(lengths)]
    places = np.repeat(examples.starts[:-1][chosen] - starts[:-1], lengths) + np.arange(starts[-1])
    return Sparse(starts, examples.terms[places], examples.values[places])


def out_of_fold(
    examples: Sparse, labels: Floats, size: int, folds: int, generator: np.random.Generator, cost: float = 1.0
) -> Floats:
    """Return the score of each example by a machine that was trained with the other folds."""
    found = np.zeros(len(labels))
    fold = np.empty(len(labels), np.int64)
    for sign in (1, -1):  # each fold has its share of both kinds
        mine = np.flatnonzero(np.sign(labels) == sign)
        fold[generator.permutation(mine)] = np.arange(len(mine)) % folds
    for k in range(folds):
        inside, outside = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
        if len(inside):
            weights = fit(subset(examples, outside), labels[outside], size, generator, cost)
            found[inside] = scores(subset(examples, inside), weights)
    return found


def calibrate(found: Floats, labels: Floats) -> tuple[float, float]:
    """Return (slope, shift) of the sigmoid; the slope is never negative."""
    positive, negative = float((labels > 0).sum()), float((labels < 0).sum())
    targets = np.where(labels > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))
    slope, shift = 1.0, float(np.log((positive + 1) / (negative + 1)))
    for _ in range(100):
        p = sigmoid(slope * found + shift)
        weight = p * (1 - p)
        error = targets - p
        gradient = np.array([(error * found).sum() - 1e-3 * slope, error.sum()])
        cross = (weight * found).sum()
        curvature = np.array([[(weight * found * found).sum() + 1e-3, cross], [cross, weight.sum() + 1e-9]])
        step = np.linalg.solve(curvature + 1e-9 * np.eye(2), gradient)
        step *= min(1.0, 5.0 / max(1e-12, float(np.abs(step).max())))
        slope, shift = slope + float(step[0]), shift + float(step[1])
        if np.abs(step).max() < 1e-6:
            break
    return max(slope, 0.0), shift


def sigmoid(x: Floats) -> Floats:
    """1/(1 + exp(−x))."""
    return 1 / (1 + np.exp(-np.clip(x, -60, 60)))
