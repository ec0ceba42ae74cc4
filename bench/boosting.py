"""Boosted oblivious trees for a yes-or-no question: few lines, no library, the same bits on every run.

An oblivious tree asks the same question in all nodes of a level, so it is ``depth`` (feature, threshold) pairs and
2^depth leaves: strongly regular, and evaluated without a branch (fyke.clean.model_kernels). Training is Newton
boosting on histograms of the features' 64 values: the split of a level maximises Σ G²/(H+λ) over the leaves it makes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fyke.bits.jit import kernel
from fyke.clean.elements import Array
from fyke.clean.features import TOP
from fyke.clean.model import UNIT, Forest

BINS = TOP + 1


@dataclass(frozen=True, slots=True)
class Settings:
    trees: int = 160
    depth: int = 5
    rate: float = 0.1
    ridge: float = 4.0
    """λ: pulls the values of leaves with little weight to zero."""
    rows: float = 0.15
    """Share of the rows that a tree sees; heavy rows are drawn more often."""
    columns: float = 0.5
    """Share of the features that a tree may ask about."""


@kernel
def best_split(codes: Array, leaf: Array, slope: Array, bend: Array, leaves: int, ridge: float) -> tuple[int, int]:
    """Return (row of codes, bin) whose question "code > bin" gains most over all ``leaves``."""
    best, best_column, best_bin = -1.0, 0, 0
    sums = np.empty((leaves * BINS, 2), np.float64)
    gains = np.empty(BINS - 1, np.float64)
    for column in range(codes.shape[0]):
        sums[:] = 0.0
        code = codes[column]
        for r in range(leaf.size):
            cell = leaf[r] * BINS + code[r]
            sums[cell, 0] += slope[r]
            sums[cell, 1] += bend[r]
        gains[:] = 0.0
        for n in range(leaves):
            all_slope, all_bend = 0.0, 0.0
            for b in range(n * BINS, (n + 1) * BINS):
                all_slope += sums[b, 0]
                all_bend += sums[b, 1]
            left_slope, left_bend = 0.0, 0.0
            for b in range(BINS - 1):
                left_slope += sums[n * BINS + b, 0]
                left_bend += sums[n * BINS + b, 1]
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


def fit(codes: Array, odds: Array, truth: Array, weight: Array, settings: Settings, seed: int) -> Forest:
    """Train a forest that adds to ``odds``: ``codes`` features × rows of 0 … 63, ``truth`` in 0..1."""
    chance = np.random.default_rng(seed)
    score = odds.astype(np.int32)
    shape = (settings.trees, settings.depth)
    columns, thresholds = np.zeros(shape, np.uint16), np.zeros(shape, np.uint8)
    leaves = np.zeros((settings.trees, 1 << settings.depth), np.int16)
    usable = np.flatnonzero(codes.min(axis=1) < codes.max(axis=1))
    odds_of_row = np.minimum(1.0, settings.rows * weight / weight.mean())
    for tree in range(settings.trees):
        rows = np.flatnonzero(chance.random(truth.size) < odds_of_row)
        chosen = np.sort(chance.choice(usable, max(1, int(settings.columns * usable.size)), replace=False))
        guess = 1 / (1 + np.exp(-score[rows] / UNIT))
        worth = weight[rows] / odds_of_row[rows]  # a row that is drawn seldom counts more when it is
        slope, bend = worth * (guess - truth[rows]), worth * guess * (1 - guess)
        sample = np.stack([codes[column][rows] for column in chosen])
        leaf, all_leaf = np.zeros(rows.size, np.uint8), np.zeros(truth.size, np.uint8)
        for level in range(settings.depth):
            which, cut = best_split(sample, leaf, slope, bend, 1 << level, settings.ridge)
            column = chosen[which]
            columns[tree, level], thresholds[tree, level] = column, cut
            all_leaf |= (codes[column] > cut).astype(np.uint8) << np.uint8(level)
            leaf = all_leaf[rows]
        values = leaf_values(leaf, slope, bend, 1 << settings.depth, settings.ridge)
        leaves[tree] = np.clip(np.rint(UNIT * settings.rate * values), -32767, 32767)
        score += leaves[tree][all_leaf]
    return Forest(columns, thresholds, leaves)
