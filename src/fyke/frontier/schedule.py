"""A schedule of revisits in memory: a million pages in arrays, each decision a microsecond or two.

What the simulator runs, and what the crawler does with its queue on disk (crawl/revisit): the queue holds a lower
bound of each page's due time; what is popped is judged anew under the threshold of the moment, and put back if early.
Times are days from any origin; ``now`` never decreases.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fyke.frontier import schedule_kernels as kernels
from fyke.frontier.change_kernels import BINS, defaults
from fyke.frontier.revisit import DEFAULT_PRIOR, DEFAULT_RATE, MOST_QUIET, RevisitPolicy, Threshold

Floats = npt.NDArray[np.float64]
Pages = npt.NDArray[np.int64]


class Schedule:
    """Pages 0 … n − 1, all of them visited once. ``rates`` are known ones; without, they are learnt."""

    def __init__(
        self,
        pages: int,
        budget: float,
        policy: RevisitPolicy | None = None,
        *,
        rates: Floats | None = None,
        weights: Floats | None = None,
        hosts: Pages | None = None,
        kinds: Pages | None = None,
        last: Floats | None = None,
        quiet: Floats | None = None,
    ) -> None:
        """``budget`` is visits per day of all pages together; ``hosts`` and ``kinds`` number the pages' groups.

        ``last`` is when each page was visited last, at time 0 where it is not given; ``quiet`` for how many days it
        says to have been quiet then, where that is believed.
        """
        self.policy = policy or RevisitPolicy()
        self.threshold = Threshold.guess(self.policy, pages, budget)
        self.known = rates is not None
        block = np.zeros((pages, 8))  # what a look reads of a page is one line of the cache
        self._looks = kernels.Looks(*block.T)
        self.rate, self.weight, self.last, self._due, self._signalled, self._trust, self._recall, _ = self._looks
        self.rate[:] = DEFAULT_RATE if rates is None else rates
        self.weight[:] = 1.0 if weights is None else weights
        self.last[:] = 0.0 if last is None else last
        self._signalled[:] = -1.0
        self.hosts = np.zeros(pages, np.int64) if hosts is None else hosts
        self.kinds = np.zeros(pages, np.int64) if kinds is None else kinds
        self._now = 0.0
        self._theta = np.array([self.threshold.value, 0.0])
        learnt = 0 if self.known else pages
        learning = np.zeros((learnt, 6))
        changes = np.zeros((learnt, 2 * BINS), np.float32)
        self._learnt = kernels.Learnt(
            facts=learning[:, :3],
            counts=changes[:, :BINS],
            sums=changes[:, BINS:],
            beliefs=learning[:, 3:],
            host=self.hosts,
            kind=self.kinds,
            hosts=np.zeros((int(self.hosts.max(initial=0)) + 1, 4)),
            kinds=np.zeros((int(self.kinds.max(initial=0)) + 1, 4)),
            default=defaults(*DEFAULT_PRIOR),
        )
        if quiet is not None and learnt:
            self._learnt.facts[:, 1] = np.minimum(quiet, MOST_QUIET)
        room = 2 * pages + 16
        self._heap = kernels.Heap(np.empty(room), np.empty(room, np.int64), np.zeros(1, np.int64))
        self._put_back(np.arange(pages))

    def due(self, now: float, limit: int = 1 << 16) -> Pages:
        """Take the pages that are due at ``now``. Each is to be told to ``visited``."""
        self.threshold.passed(now - self._now)
        self._now = max(self._now, now)
        self._theta[:] = self.threshold.value, 0.0
        out = np.empty(limit, np.int64)
        found = kernels.take_due(
            self._heap, self._looks, self._learnt, self._theta, now, self.policy.code, self.threshold.step, out
        )
        self.threshold.raised(found, float(self._theta[0]))
        self.threshold.early(int(self._theta[1]))
        return out[:found]

    def visited(self, pages: Pages, now: float, changed: npt.NDArray[np.bool_], modified: Floats | None = None) -> None:
        """Tell what visits found. ``modified``: days since the last change where that is believed, else −1."""
        interval = now - self.last[pages]
        if not self.known:
            since = np.full(len(pages), -1.0) if modified is None else modified
            told = changed & (self._signalled[pages] >= 0) & (self._trust[pages] > 0.5)
            since = np.where(told, self._signalled[pages] - self.last[pages], since)  # quiet until the signal
            kernels.learn(pages, interval, changed, since, self.rate, self._learnt)
        self.last[pages] = now
        self._signalled[pages] = -1.0
        self._put_back(pages)

    def signalled(self, pages: Pages, when: Floats, now: float) -> None:
        """Tell that pages are said to have changed at ``when``; they are judged again at once."""
        fresh = (self._signalled[pages] < 0) & (when > self.last[pages])
        pages, when = pages[fresh], when[fresh]
        self._signalled[pages] = when
        self._reserve(len(pages))
        self._due[pages] = now
        for page in pages.tolist():
            kernels.push(*self._heap, now, page)

    def trusted(self, trust: Floats, recall: Floats) -> None:
        """Set what signals are worth, by host number."""
        self._trust[:], self._recall[:] = trust[self.hosts], recall[self.hosts]

    def pending(self, pages: Pages) -> npt.NDArray[np.bool_]:
        """Return which of the pages have a signal that no visit followed yet."""
        return self._signalled[pages] >= 0

    def _put_back(self, pages: Pages) -> None:
        self._reserve(len(pages))
        kernels.put_back(self._heap, self._looks, self._theta, self.policy.code, pages)

    def _reserve(self, more: int) -> None:
        times, pages, size = self._heap.times, self._heap.pages, int(self._heap.size[0])
        if size + more <= len(times):
            return
        keep = times[:size] == self._due[pages[:size]]  # the others would be dropped when popped
        times, pages = times[:size][keep], pages[:size][keep]
        order = np.argsort(times, kind="stable")  # a sorted array is a heap
        room = max(2 * len(self._due), len(order) + more) + 16
        self._heap = kernels.Heap(np.empty(room), np.empty(room, np.int64), np.array([len(order)]))
        self._heap.times[: len(order)], self._heap.pages[: len(order)] = times[order], pages[order]
