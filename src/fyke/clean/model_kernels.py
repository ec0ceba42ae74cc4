"""Evaluating boosted oblivious trees: per tree and block a handful of comparisons and one look-up, no branch."""

from __future__ import annotations

import numpy as np

from fyke.bits.jit import kernel
from fyke.clean.context_kernels import context_features, page_features
from fyke.clean.elements import Array


@kernel
def scores(columns: Array, features: Array, thresholds: Array, leaves: Array, start: float) -> Array:
    """Return the log-odds that a forest gives each column of ``columns`` (features × blocks, float32)."""
    count = columns.shape[1]
    out = np.full(count, np.float32(start), np.float32)
    leaf = np.empty(count, np.int32)
    for tree in range(features.shape[0]):
        leaf[:] = 0
        for level in range(features.shape[1]):
            values = columns[features[tree, level]]
            threshold = thresholds[tree, level]
            bit = np.int32(1 << level)
            for k in range(count):
                leaf[k] |= bit if values[k] > threshold else np.int32(0)
        values = leaves[tree]
        for k in range(count):
            out[k] += values[leaf[k]]
    return out


@kernel
def logistic(odds: Array) -> Array:
    """Return the probabilities of log-odds."""
    out = np.empty(odds.size, np.float32)
    for k in range(odds.size):
        out[k] = 1.0 / (1.0 + np.exp(-np.float64(odds[k])))
    return out


@kernel
def judge(
    blocks: Array, parent: Array, rows: Array, wider: Array, declared: Array,
    features_1: Array, thresholds_1: Array, leaves_1: Array, start_1: float,
    features_2: Array, thresholds_2: Array, leaves_2: Array, start_2: float,
    features_a: Array, thresholds_a: Array, leaves_a: Array, start_a: float,
    type_features: Array, type_thresholds: Array, type_leaves: Array, type_starts: Array,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Do both of fyke.clean.model's looks at feature ``rows``; return (first chances, second chances, type chances)."""
    first = logistic(scores(rows, features_1, thresholds_1, leaves_1, start_1))
    column = page_features(blocks, rows, first, declared)
    types = np.empty(type_starts.size, np.float32)
    for kind in range(type_starts.size):
        types[kind] = logistic(
            scores(column, type_features[kind], type_thresholds[kind], type_leaves[kind], type_starts[kind])
        )[0]
    more = context_features(blocks, parent, wider, first)
    seen = np.empty((rows.shape[0] + more.shape[0] + types.size, first.size), np.float32)
    seen[: rows.shape[0]] = rows
    seen[rows.shape[0] : rows.shape[0] + more.shape[0]] = more
    for kind in range(types.size):
        seen[rows.shape[0] + more.shape[0] + kind] = types[kind]
    second = scores(seen, features_2, thresholds_2, leaves_2, start_2)
    expert = scores(rows, features_a, thresholds_a, leaves_a, start_a)
    for k in range(second.size):
        second[k] += types[0] * (expert[k] - second[k])  # the more the page is an article, the more its expert is heard
    return first, logistic(second), types
