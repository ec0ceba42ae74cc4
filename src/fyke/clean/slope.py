"""The textbooks' methods on the document slope curve: plateau (Finn, Lavrenko) and slices (Pinto).

Let b_n = 1 if the n-th token is a tag, and N the number of tokens. ``Plateau`` maximises over i ≤ j

    Σ_{n<i} b_n + c Σ_{i≤n≤j} (1 − b_n) + Σ_{n>j} b_n

Finn's c is 1; Lavrenko's is tags / non-tags, with which the whole page scores as much as nothing and the plateau is
the greatest deviation from the mean slope. ``Slices`` keeps every slice of k tokens whose slope (its share of tags) is
low, so that content may be in several places.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fyke.clean import plateau_kernels
from fyke.clean.elements import WORD, Array
from fyke.clean.page import Tokens


@dataclass(frozen=True, slots=True)
class Plateau:
    """The plateau and its weights. The defaults are the tuned ones of docs/content.md; FINN and LAVRENKO are plain."""

    c: float | None = 1.0
    """Weight of a word against a tag's 1; None is Lavrenko's tags / non-tags."""
    link: float = -1.0
    """Factor on c for words inside links: they count against content."""
    inline: float = -0.3
    """Weight of a tag that breaks no line: emphasis inside a paragraph is no sign of furniture."""
    ideographs: bool = True
    """Count each Chinese, Japanese or Korean character as half a word: such text has no spaces."""

    def marks(self, tokens: Tokens) -> Array:
        """Mark the tokens of the plateau."""
        first, last = self.run(tokens)
        marked = np.zeros(tokens.kinds.size, np.uint8)
        marked[first:last] = 1
        return marked

    def run(self, tokens: Tokens) -> tuple[int, int]:
        """Return (i, j): the plateau is tokens i .. j − 1."""
        c = self.c
        if c is None:
            words = int(np.count_nonzero(tokens.kinds == WORD))
            c = (tokens.kinds.size - words) / max(1, words)
        return plateau_kernels.plateau(self.gains(tokens, c))

    def gains(self, tokens: Tokens, c: float) -> Array:
        """Return what each token adds to a run."""
        return plateau_kernels.token_gains(
            tokens.page, tokens.starts, tokens.ends, tokens.kinds, c, c * self.link, self.inline, self.ideographs
        )


FINN = Plateau(c=1.0, link=1.0, inline=-1.0, ideographs=False)
LAVRENKO = Plateau(c=None, link=1.0, inline=-1.0, ideographs=False)


@dataclass(frozen=True, slots=True)
class Slices:
    """Low-slope sections of the curve, in slices of ``size`` tokens."""

    size: int = 40
    """Tokens of a slice: a short paragraph; less follows every link, more blurs short paragraphs."""
    slope: float = 0.45
    """Keep slices with a smaller share of tags. Furniture is mostly above 0.5, running text below 0.2."""

    def marks(self, tokens: Tokens) -> Array:
        """Mark the tokens of low-slope slices."""
        return plateau_kernels.low_slope(tokens.page, tokens.starts, tokens.ends, tokens.kinds, self.size, self.slope)
