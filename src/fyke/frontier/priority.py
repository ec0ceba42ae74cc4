"""Which URL first: the default prioritizer, and the map from scores to Mercator's priorities 1 … K.

The default score is in [0, 1]: seeds 1; else ::

    0.45 / (1 + depth)  +  0.25 × sitemap priority  +  0.2 × inlinks/(inlinks + 4)  +  0.1 × changes/(changes + 1)

with the change rate per day: near the seeds first, then what the site calls important, what many pages point to, and
what changes often. Without a sitemap a URL counts as 0.5, the sitemap protocol's own default.

Any other ``Prioritizer`` may score as it likes; only the order of scores matters, since priorities are shares: the
best K-th of the scores seen lately is priority 1, and so on.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fyke.values import Candidates

_WINDOW = 4096  # scores remembered; a share of 1/8 of them is known to within ±1 %
_REFRESH = 256  # new scores after which the shares are measured anew


class DefaultPrioritizer:
    """Seeds, depth, sitemap priority, inlinks seen so far, and the learnt change rate per day."""

    def priority(self, candidates: Candidates) -> npt.NDArray[np.float64]:
        """Return a score in [0, 1] for each candidate. A negative sitemap priority means that there is none."""
        sitemap = np.where(candidates.sitemap_priority < 0, 0.5, candidates.sitemap_priority)
        inlinks = np.maximum(candidates.inlinks, 0)
        changes = np.maximum(candidates.change_rate, 0)
        score = (
            0.45 / (1.0 + np.maximum(candidates.depth, 0))
            + 0.25 * np.clip(sitemap, 0, 1)
            + 0.2 * (inlinks / (inlinks + 4.0))
            + 0.1 * (changes / (changes + 1.0))
        )
        return np.where(candidates.is_seed, 1.0, np.fmax(score, 0.0))  # not a number is 0


class Levels:
    """Scores to priorities 1 … K by their rank among the scores seen lately; equal scores share the better one."""

    def __init__(self, priorities: int) -> None:
        self._priorities = priorities
        self._window: npt.NDArray[np.float64] = np.empty(0)
        self._fresh: list[npt.NDArray[np.float64]] = []
        self._count = 0
        self._cuts: npt.NDArray[np.float64] = np.empty(0)

    def priorities(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Return the priority of each score, and remember the scores."""
        scores = np.nan_to_num(scores)
        self._fresh.append(scores)
        self._count += len(scores)
        if self._count >= min(_REFRESH, max(len(self._window), 1)):
            self._measure()
        # a score gets 1 + the number of cuts that are above it
        return 1 + np.searchsorted(self._cuts, -scores, side="left")

    def _measure(self) -> None:
        self._window = np.concatenate([self._window, *self._fresh])[-_WINDOW:]
        self._fresh.clear()
        self._count = 0
        if len(self._window):
            ordered = np.sort(self._window)[::-1]
            places = np.arange(1, self._priorities) * len(ordered) // self._priorities
            self._cuts = -ordered[places]
