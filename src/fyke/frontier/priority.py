"""Which URL first: the default prioritizer, and the map from scores to Mercator's priorities 1 … K.

The default score is in [0, 1]: seeds 1; else ::

    0.45 / (1 + depth)  +  0.25 × sitemap priority  +  0.2 × inlinks/(inlinks + 4)  +  0.1 × changes/(changes + 1)

with the change rate per day: near the seeds first, then what the site calls important, what many pages point to, and
what changes often. Without a sitemap a URL counts as 0.5, the sitemap protocol's own default.

Any other ``Prioritizer`` may score as it likes; only the order of scores matters, since priorities are shares: the
best K-th of the scores seen lately is priority 1, and so on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache

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


def found(depths: Sequence[int], sitemap_priorities: Sequence[float], change_rates: Sequence[float]) -> Candidates:
    """Return URLs that were just found, each by one page, as a prioritizer gets them."""
    depth = np.array(depths, np.int32)
    return Candidates(
        depth=depth,
        inlinks=np.ones(len(depth), np.int32),
        parent_score=np.zeros(len(depth), np.float32),
        sitemap_priority=np.array(sitemap_priorities, np.float32),
        is_seed=depth == 0,
        change_rate=np.array(change_rates, np.float32),
    )


@lru_cache(maxsize=4096)
def usual_score(depth: int, sitemap_priority: float) -> float:
    """What ``DefaultPrioritizer`` says of a URL that was just found: most pages have one or two, of the same depth."""
    return float(DefaultPrioritizer().priority(found([depth], [sitemap_priority], [0.0]))[0])


class Levels:
    """Scores to priorities 1 … K by their rank among the scores seen lately; equal scores share the better one."""

    def __init__(self, priorities: int) -> None:
        self._priorities = priorities
        self._window: npt.NDArray[np.float64] = np.empty(0)
        self._fresh: list[float] = []
        self._cuts: list[float] = []

    def priorities(self, scores: Iterable[float]) -> list[int]:
        """Return the priority of each score, and remember the scores. What is not a number is 0."""
        scores = [score if score == score else 0.0 for score in scores]  # noqa: PLR0124
        self._fresh += scores
        if len(self._fresh) >= min(_REFRESH, max(len(self._window), 1)):
            self._measure()
        # a score gets 1 + the number of cuts that are above it
        return [1 + bisect_left(self._cuts, -score) for score in scores]

    def _measure(self) -> None:
        self._window = np.concatenate([self._window, self._fresh])[-_WINDOW:]
        self._fresh.clear()
        if len(self._window):
            ordered = np.sort(self._window)[::-1]
            places = np.arange(1, self._priorities) * len(ordered) // self._priorities
            self._cuts = (-ordered[places]).tolist()
