"""Quality first: what many and important pages point to, on hosts of authority, near the root, and not spam.

The score is in [0, 1], 1 for seeds; else ::

    (1 − spam) × ( 0.45·s(cash) + 0.2·s(rank) + 0.15·s(inlinks) + 0.1·s(authority) + 0.05·sitemap + 0.05/(1 + depth) )

with s(x) = x/(x + the mean of x): ½ for an ordinary page, towards 1 for a great one, whatever the unit. Cash is OPIC's
(fyke.topic.opic), which knows of links from unimportant pages that they are worth little; rank is the PageRank over
what was crawled so far, from the last time it was computed; inlinks are links seen so far, authority is the mean rank
of the pages of the host, sitemap what the site itself says (½ where it says nothing). What is not known counts as ½.

``frontier.priority.Levels`` makes Mercator's 1 … K of any score.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fyke.values import Candidates

Floats = npt.NDArray[np.float64]

CASH, RANK, INLINKS, AUTHORITY, SITEMAP, DEPTH = 0.45, 0.2, 0.15, 0.1, 0.05, 0.05


class Quality:
    """The prioritizer of a crawl for quality; the simulator and the live crawl take the same one."""

    def priority(self, candidates: Candidates) -> Floats:
        """Return a score in [0, 1] for each candidate."""
        count = len(candidates.depth)
        sitemap = np.where(candidates.sitemap_priority < 0, 0.5, np.clip(candidates.sitemap_priority, 0, 1))
        score = (
            CASH * against(candidates.cash, candidates.mean_cash, count)
            + RANK * against(candidates.rank, candidates.mean_rank, count)
            + INLINKS * against(candidates.inlinks, candidates.mean_inlinks, count)
            + AUTHORITY * against(candidates.authority, candidates.mean_rank, count)
            + SITEMAP * sitemap
            + DEPTH / (1.0 + np.maximum(candidates.depth, 0))
        )
        if len(candidates.spam):
            score = score * (1 - np.clip(candidates.spam, 0, 1))
        return np.where(candidates.is_seed, 1.0, np.nan_to_num(score, nan=0.0))


def against(values: npt.NDArray[np.generic], mean: float, count: int) -> Floats:
    """s(x) of each value; ½ where there are none."""
    if not len(values) or mean <= 0:
        return np.full(count, 0.5)
    positive = np.maximum(values.astype(np.float64), 0.0)
    found: Floats = positive / (positive + mean)
    return found
