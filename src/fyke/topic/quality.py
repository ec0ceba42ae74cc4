"""Quality first: what many and important pages point to, on hosts of authority, near the root, and not spam.

The score is in [0, 1], 1 for seeds; else ::

    (1 − spam) × ( 0.5·s(rank) + 0.17·s(cash) + 0.17·10/(10 + host's pages) + 0.02·s(authority) + 0.02·s(inlinks)
                   + 0.04·sitemap + 0.04/(1 + depth) + 0.04/(1 + path depth) )

with s(x) = x/(x + the mean of x): ½ for an ordinary page, towards 1 for a great one, whatever the unit. Rank is the
PageRank over what was crawled so far (fyke.topic.rank), from the last time it was computed; cash is OPIC's
(fyke.topic.opic), which knows what came since. Inlinks are links seen so far, authority is the mean rank of the pages
of the host, path depth the segments of the URL's path, sitemap what the site itself says (½ where it says nothing).
A host of which little was fetched goes before one that is well known: its first pages tell which of its pages matter,
and where else there is to go. What is not known counts as ½.

``frontier.priority.Levels`` makes Mercator's 1 … K of any score.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fyke.values import Candidates

Floats = npt.NDArray[np.float64]

RANK, CASH, NOVELTY, AUTHORITY, INLINKS, SITEMAP, DEPTH, PATH = 0.5, 0.17, 0.17, 0.02, 0.02, 0.04, 0.04, 0.04
FEW = 10
"""Pages after which a host is half known."""


class Quality:
    """The prioritizer of a crawl for quality; the simulator and the live crawl take the same one."""

    def priority(self, candidates: Candidates) -> Floats:
        """Return a score in [0, 1] for each candidate."""
        count = len(candidates.depth)
        sitemap = np.where(candidates.sitemap_priority < 0, 0.5, np.clip(candidates.sitemap_priority, 0, 1))
        score = (
            RANK * against(candidates.rank, candidates.mean_rank, count)
            + CASH * against(candidates.cash, candidates.mean_cash, count)
            + NOVELTY * (FEW / (FEW + candidates.host_pages) if len(candidates.host_pages) else 0.5)
            + AUTHORITY * against(candidates.authority, candidates.mean_rank, count)
            + INLINKS * against(candidates.inlinks, candidates.mean_inlinks, count)
            + SITEMAP * sitemap
            + DEPTH / (1.0 + np.maximum(candidates.depth, 0))
            + PATH * (1.0 / (1.0 + candidates.path_depth) if len(candidates.path_depth) else 0.5)
        )
        if len(candidates.spam):
            score = score * (1 - np.clip(candidates.spam, 0, 1))
        return np.where(candidates.is_seed, 1.0, np.nan_to_num(score, nan=0.0))


def path_depth(href: str) -> int:
    """Segments of a URL's path, a query being one more; 0 for a home page."""
    path, query, _ = href.partition("?")
    return path.count("/") - 3 + (not path.endswith("/")) + len(query)


def against(values: npt.NDArray[np.generic], mean: float, count: int) -> Floats:
    """s(x) of each value; ½ where there are none."""
    if not len(values) or mean <= 0:
        return np.full(count, 0.5)
    positive = np.maximum(values.astype(np.float64), 0.0)
    found: Floats = positive / (positive + mean)
    return found
