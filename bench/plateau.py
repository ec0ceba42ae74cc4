"""The plateau by the three algorithms of the lecture, O(n³), O(n²) and O(n), in CPU ms a page of n tokens."""

from __future__ import annotations

import numpy as np

from bench.measure import best_cpu, figure, table
from fyke.clean.plateau_kernels import plateau

SIZES = (100, 200, 400, 4_000, 40_000)
LIMITS = {"O(n³), naïve": 200, "O(n²), incremental": 4_000, "O(n), fyke's kernel": 40_000}


def naive(bits: list[int]) -> int:
    """Sum up the objective for every i and j."""
    ends = range(len(bits) + 1)
    return max(sum(bits[:i]) + sum(1 - b for b in bits[i:j]) + sum(bits[j:]) for i in ends for j in ends[i:])


def incremental(bits: list[int]) -> int:
    """Keep the sum while j moves on."""
    best = tags = sum(bits)
    for i in range(len(bits)):
        value = tags
        for bit in bits[i:]:
            value += 1 - 2 * bit
            best = max(best, value)
    return best


def main() -> None:
    chance = np.random.default_rng(1)
    rows: dict[str, list[object]] = {name: [name] for name in LIMITS}
    for size in SIZES:
        array = (chance.random(size) < 0.5).astype(int)
        bits, gains = array.tolist(), 1.0 - 2.0 * array
        i, j = plateau(gains)
        if size <= LIMITS["O(n²), incremental"]:
            assert array.sum() + gains[i:j].sum() == incremental(bits)
        works = (lambda b=bits: naive(b), lambda b=bits: incremental(b), lambda g=gains: plateau(g))
        for (name, limit), work in zip(LIMITS.items(), works, strict=True):
            rows[name].append(best_cpu(work, 3) * 1e3 if size <= limit else "–")
    told = {size: [row[i] for row in rows.values()] for i, size in enumerate(SIZES, 1)}
    size = max(size for size, row in told.items() if row[1] != "–")
    figure(
        "the plateau in O(n), compiled",
        "ms",
        told[size][2],
        {"O(n²), in plain Python": told[size][1]},
        f"{size:,} tokens",
    )
    print(table(["algorithm", *(f"n = {size:,}" for size in SIZES)], list(rows.values())))


if __name__ == "__main__":
    main()
