"""The document slope curve as a picture: cumulative tags over tokens, the chosen sections, the weights of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fyke.clean import page
from fyke.clean.columns import FIRST, LAST
from fyke.clean.elements import WORD
from fyke.clean.extract import find

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(data: bytes, methods: Sequence[str]) -> Figure:
    """Return the picture of a page in UTF-8: the curve above, below it the weights of the blocks by each method."""
    from matplotlib.figure import Figure

    read = page.read(data)
    tags = np.cumsum(read.tokens.kinds != WORD)
    figure = Figure(figsize=(10, 4 + 0.7 * len(methods)), layout="constrained")
    curve, *strips = figure.subplots(
        1 + len(methods), 1, sharex=True, squeeze=False, height_ratios=[5, *[1] * len(methods)]
    )[:, 0]
    curve.plot(np.arange(1, tags.size + 1), tags, color="black", linewidth=1)
    curve.set_ylabel("tags so far")
    curve.set_title(read.title[:80].replace("$", r"\$") or "document slope curve", fontsize=10)
    sources = read.tokens.sources
    first, last = (np.searchsorted(sources, read.blocks[:, column]) for column in (FIRST, LAST))
    for number, (method, strip) in enumerate(zip(methods, strips, strict=True)):
        blocks = find(read.source, method).blocks
        weights = np.array([block.weight for block in blocks])
        strip.bar(first, weights, last - first, align="edge", color="tab:green")
        strip.set_ylim(0, 1)
        strip.set_yticks([])
        strip.set_ylabel(method, rotation=0, ha="right", va="center")
        if number == 0:
            for start, end, block in zip(first, last, blocks, strict=True):
                if block.main:
                    curve.axvspan(start, end, color="tab:green", alpha=0.25, linewidth=0)
    (strips[-1] if strips else curve).set_xlabel("tokens")
    return figure
