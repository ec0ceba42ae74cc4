"""Measures of a simulated crawl: harvest rate, recall, cumulative PageRank, Kendall's τ; curves as CSV and plots."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fyke.simulate import kernels

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

POINTS = 200
"""Points of a curve: as many as a plot can show."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A crawl's progress, a row for each of some numbers of pages."""

    pages: Ints
    seconds: Floats
    """Virtual time."""
    harvest: Floats
    """Relevant pages among those fetched so far."""
    window_harvest: Floats
    """The same since the point before."""
    recall: Floats
    """Relevant pages fetched, of all relevant pages of the collection."""
    pagerank: Floats
    """PageRank of the fetched pages together, of the whole collection's."""


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """One policy's crawl."""

    policy: str
    order: Ints
    """Pages in the order of fetching."""
    seconds: Floats
    """When each was there, in virtual time."""
    failed: int
    waiting: int
    """Pages known but not fetched at the end."""
    curve: Curve
    kendall_tau: float
    """Between the order of fetching and that of PageRank: 1 is the same order, −1 the reverse."""
    seed: int
    settings: str
    """All that is needed to run it again."""


def curve(order: Ints, seconds: Floats, relevant: NDArray[np.bool_], pagerank: Floats) -> Curve:
    """Return the curve of a crawl."""
    pages = np.unique(np.linspace(1, len(order), min(len(order), POINTS)).astype(np.int64))
    if not len(order):
        pages = np.zeros(0, np.int64)
    hits = np.cumsum(relevant[order])[pages - 1].astype(np.float64)
    last_hits, last_pages = np.r_[0.0, hits[:-1]][: len(pages)], np.r_[0, pages[:-1]][: len(pages)]
    return Curve(
        pages,
        seconds[pages - 1],
        hits / pages,
        (hits - last_hits) / (pages - last_pages),
        hits / max(1, int(relevant.sum())),
        np.cumsum(pagerank[order])[pages - 1],
    )


def kendall_tau(order: Ints, values: Floats) -> float:
    """Return τ between the order of fetching and decreasing ``values`` of the fetched pages; ties by page number."""
    ideal = np.empty(len(order), np.int64)
    ideal[np.lexsort((order, -values[order]))] = np.arange(len(order))
    pairs = len(order) * (len(order) - 1) / 2
    return 1 - 2 * float(kernels.discordant(ideal)) / pairs if pairs else 1.0


COLUMNS = ("policy", "pages", "seconds", "harvest", "window_harvest", "recall", "pagerank")


def plain_cell(text: str) -> str:
    """Return a text as it may stand in a cell: spreadsheets take what begins with one of these signs for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def write_csv(file: Path, simulations: Sequence[Simulation]) -> None:
    """Write the curves, a row for each point."""
    with file.open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(COLUMNS)
        for simulation in simulations:
            columns = [getattr(simulation.curve, name).tolist() for name in COLUMNS[1:]]
            rows.writerows([plain_cell(simulation.policy), *row] for row in zip(*columns, strict=True))


def plot(file: Path, simulations: Sequence[Simulation], focused: bool) -> None:
    """Draw cumulative PageRank and, for a focused crawl, harvest rate and recall, a line for each policy."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    panels = [("pagerank", "share of PageRank")]
    if focused:
        panels += [("harvest", "harvest rate"), ("recall", "recall of relevant pages")]
    figure, axes = plt.subplots(1, len(panels), figsize=(5.5 * len(panels), 4.2), squeeze=False, layout="constrained")
    for axis, (name, label) in zip(axes[0], panels, strict=True):
        for simulation in simulations:
            axis.plot(simulation.curve.pages, getattr(simulation.curve, name), label=simulation.policy, linewidth=1.4)
        axis.set(xlabel="pages fetched", ylabel=label, ylim=(0, None), xlim=(0, None))
        axis.grid(alpha=0.3)
    axes[0][0].legend(fontsize=8)
    figure.savefig(file, dpi=130)
    plt.close(figure)
