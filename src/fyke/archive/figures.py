"""The paper's two figures for an archive: how often terms occur by their rank, and how often gaps of ranks do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fyke.archive.archive import Archive

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

SAMPLE = 20_000
"""Documents whose gaps are counted; of a larger archive, a sample."""


def gaps_of(archive: Archive, sample: int = SAMPLE) -> NDArray[np.int64]:
    """Return how often each gap occurs between neighbouring ranks of summaries; the first rank counts from −1."""
    share = min(1.0, sample / max(1, len(archive)))
    read = archive.read(archive.sample(share))
    ranks = np.asarray(read.ranks, np.int64)
    firsts = np.asarray(read.starts[:-1])[np.diff(read.starts) > 0]
    gaps = np.diff(ranks, prepend=-1)
    gaps[firsts] = ranks[firsts] + 1
    return np.bincount(gaps, minlength=1)


def draw(archive: Archive) -> Figure:
    """Return both figures, doubly logarithmic: documents of a term by its rank, gaps by how often they occur."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    terms, gaps = figure.subplots(1, 2)
    documents = np.sort(np.asarray(archive.dictionary.documents))[::-1]
    terms.plot(np.arange(1, documents.size + 1), documents, ".", markersize=2, color="black")
    terms.set(xlabel="rank of the term", ylabel="documents", title="terms")
    counted = gaps_of(archive)
    seen = np.flatnonzero(counted)
    gaps.plot(seen, counted[seen], ".", markersize=2, color="black")
    gaps.set(xlabel="gap of ranks", ylabel="how often", title="gaps within summaries")
    for axes in (terms, gaps):
        axes.set(xscale="log", yscale="log")
    return figure
