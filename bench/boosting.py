"""Boosted oblivious trees for a yes-or-no question: few lines, no library, the same bits on every run.

An oblivious tree asks the same question in all nodes of a level, so it is ``depth`` (feature, threshold) pairs and
2^depth leaves: strongly regular, and evaluated without a branch (fyke.clean.model_kernels). Training is Newton
boosting on histograms of at most 64 bins: the split of a level maximises Σ G²/(H+λ) over the leaves it makes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fyke.bits.jit import kernel
from fyke.clean.elements import Array

BINS = 64


@dataclass(frozen=True, slots=True)
class Settings:
    trees: int = 200
    depth: int = 6
    rate: float = 0.09
    ridge: float = 4.0
    """λ: pulls the values of leaves with little weight to zero."""
    rows: float = 0.15
    """Share of the rows that a tree sees; heavy rows are drawn more often."""
    columns: float = 0.5
    """Share of the features that a tree may ask about."""


@dataclass(frozen=True, slots=True)
class Forest:
    """``features`` and ``thresholds``: trees × depth; ``leaves``: trees × 2^depth; ``start``: the score before all."""

    features: Array
    thresholds: Array
    leaves: Array
    start: float


def cuts(values: Array) -> Array:
    """Return at most 63 thresholds that part the values of one feature evenly."""
    some = values if values.size <= 200_000 else values[:: values.size // 200_000]
    found = np.unique(np.quantile(some, np.linspace(0, 1, BINS + 1)[1:-1], method="lower").astype(np.float32))
    top = values.max()
    kept: Array = found[found < top]
    return kept


@kernel
def best_split(codes: Array, leaf: Array, slope: Array, bend: Array, leaves: int, ridge: float) -> tuple[int, int]:
    """Return (row of codes, bin) whose question "code > bin" gains most over all ``leaves``."""
    best, best_column, best_bin = -1.0, 0, 0
    slopes, bends = np.empty(leaves * BINS, np.float64), np.empty(leaves * BINS, np.float64)
    gains = np.empty(BINS - 1, np.float64)
    for column in range(codes.shape[0]):
        slopes[:] = 0.0
        bends[:] = 0.0
        code = codes[column]
        for r in range(leaf.size):
            cell = leaf[r] * BINS + code[r]
            slopes[cell] += slope[r]
            bends[cell] += bend[r]
        gains[:] = 0.0
        for n in range(leaves):
            all_slope, all_bend = 0.0, 0.0
            for b in range(n * BINS, (n + 1) * BINS):
                all_slope += slopes[b]
                all_bend += bends[b]
            left_slope, left_bend = 0.0, 0.0
            for b in range(BINS - 1):
                left_slope += slopes[n * BINS + b]
                left_bend += bends[n * BINS + b]
                right_slope, right_bend = all_slope - left_slope, all_bend - left_bend
                gains[b] += left_slope**2 / (left_bend + ridge) + right_slope**2 / (right_bend + ridge)
        for b in range(BINS - 1):
            if gains[b] > best * (1.0 + 1e-9):
                best, best_column, best_bin = gains[b], column, b
    return best_column, best_bin


@kernel
def leaf_values(leaf: Array, slope: Array, bend: Array, count: int, ridge: float) -> Array:
    sums = np.zeros((count, 2), np.float64)
    for r in range(leaf.size):
        sums[leaf[r], 0] += slope[r]
        sums[leaf[r], 1] += bend[r]
    return -sums[:, 0] / (sums[:, 1] + ridge)


def fit(columns: Array, truth: Array, weight: Array, settings: Settings, seed: int) -> Forest:
    """Train a forest: ``columns`` features × rows, ``truth`` in 0..1, ``weight`` of each row (mean about 1)."""
    chance = np.random.default_rng(seed)
    edges = [cuts(column) for column in columns]
    codes = np.stack([np.searchsorted(e, c, side="left").astype(np.uint8) for e, c in zip(edges, columns, strict=True)])
    mean = float(np.average(truth, weights=weight))
    start = float(np.log(mean / (1 - mean)))
    score = np.full(truth.size, start)
    shape = (settings.trees, settings.depth)
    features, thresholds = np.zeros(shape, np.int32), np.zeros(shape, np.float32)
    leaves = np.zeros((settings.trees, 1 << settings.depth), np.float32)
    usable = np.array([n for n, e in enumerate(edges) if e.size], np.int64)
    odds_of_row = np.minimum(1.0, settings.rows * weight / weight.mean())
    for tree in range(settings.trees):
        rows = np.flatnonzero(chance.random(truth.size) < odds_of_row)
        chosen = np.sort(chance.choice(usable, max(1, int(settings.columns * usable.size)), replace=False))
        guess = 1 / (1 + np.exp(-score[rows]))
        worth = weight[rows] / odds_of_row[rows]  # a row that is drawn seldom counts more when it is
        slope, bend = worth * (guess - truth[rows]), worth * guess * (1 - guess)
        sample = codes[np.ix_(chosen, rows)]
        leaf, all_leaf = np.zeros(rows.size, np.int64), np.zeros(truth.size, np.int64)
        for level in range(settings.depth):
            which, cut = best_split(sample, leaf, slope, bend, 1 << level, settings.ridge)
            column = chosen[which]
            cut = min(cut, edges[column].size - 1)
            features[tree, level], thresholds[tree, level] = column, edges[column][cut]
            all_leaf |= (codes[column] > cut).astype(np.int64) << level
            leaf = all_leaf[rows]
        values = leaf_values(leaf, slope, bend, 1 << settings.depth, settings.ridge)
        leaves[tree] = settings.rate * values
        score += leaves[tree][all_leaf]
    return Forest(features, thresholds, leaves, start)
