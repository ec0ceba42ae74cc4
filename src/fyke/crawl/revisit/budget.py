"""The budget of a continuous crawl: requests a second, for new pages and for revisits.

Revisits come when they pass the threshold (fyke.frontier.revisit), which falls as fast as the budget allows. What is
asked for besides (new pages, robots.txt, feeds) is taken from that, up to their share: what one side leaves, the other
may use. A request that only waits, since its host is closed or far behind, takes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fyke.crawl.revisit.weights import Weights
from fyke.frontier.revisit import DAY, RevisitPolicy, Threshold

_BACKLOG = 8
"""Revisits, or a fiftieth of the pages: so many queued ones stop the threshold's fall; a queue knows no values."""

_TOGETHER = 4
_PART = 1 / 50
"""Looks at so many pages on average are taken together, over so small a part of the cycle at most."""


@dataclass(frozen=True, slots=True)
class RevisitSettings:
    """How an agent revisits."""

    policy: RevisitPolicy = field(default_factory=RevisitPolicy)
    share: float = 0.5
    """Of the requests, while new pages wait; all of them when none does."""
    budget: float = 0.0
    """Requests a second of this agent; 0 for a tenth of what politeness allows: hosts ÷ (10 × delay)."""
    delay: float = 1.0
    weights: Weights = field(default_factory=Weights)
    """How much each page matters."""


class Budget:
    """Spends the requests of one agent. Reads no clock."""

    def __init__(self, settings: RevisitSettings) -> None:
        self.settings = settings
        self.threshold = Threshold.guess(settings.policy, 1, DAY)
        self.outstanding = 0
        """Revisits that were queued and are not done."""
        self.pages = 0
        """Pages that are revisited."""
        self.cycle = 0.0
        """Seconds in which every page would be visited once if all were in turn."""
        self.grain = 0.0
        """Seconds: looks at pages that lie no further apart are taken together."""
        self._last = 0.0
        self._sized = 0
        self._allowance = 0.0
        self._others = 0
        self._owed = 0.0

    def passed(self, now: float, hosts: int, others: int) -> None:
        """Let time pass: the threshold falls at the rate of the budget.

        ``others``: requests so far that were no revisits; ``hosts``: those that are known.
        """
        seconds = max(now - self._last, 0.0) if self._last else 0.0
        budget = self.settings.budget or hosts / (10 * max(self.settings.delay, 0.01))
        self.cycle = self.pages / budget if budget > 0 else 0.0
        self.grain = self.cycle * min(_TOGETHER / max(self.pages, 1), _PART)
        self._grown(budget)
        budget -= self._taken(others, budget, seconds)
        backlog = self.outstanding / max(_BACKLOG, self.pages / 50)  # they wait for hosts, or for the budget
        budget *= max(1 - backlog * backlog, 0.0)
        self.threshold.budget, self.threshold.gain = budget * DAY, Threshold.gain_for(self.pages)
        self.threshold.passed(seconds / DAY)
        self._last = now

    def granted(self) -> None:
        """Tell that a revisit was queued."""
        self.threshold.visited()
        self.outstanding += 1

    def done(self) -> None:
        """Tell that it was made."""
        self.outstanding = max(self.outstanding - 1, 0)

    def pace(self, now: float) -> float:
        """Take one request of the budget; return 0, or for how many seconds there is none."""
        budget = self.settings.budget
        if not budget:
            return 0.0
        self._allowance = max(self._allowance, now - max(1.0, 1 / budget))  # at most a second's worth at once
        if self._allowance > now:
            return self._allowance - now
        self._allowance += 1 / budget
        return 0.0

    def spare(self) -> None:
        """Give back what ``pace`` granted last: there was nothing to ask for."""
        if self.settings.budget:
            self._allowance -= 1 / self.settings.budget

    def _grown(self, budget: float) -> None:
        """Where the collection grew there are fewer visits for each page, so the threshold is higher."""
        if self.pages and self.pages >= 2 * self._sized:
            guesses = [
                Threshold.guess(self.settings.policy, n, max(budget, 1e-9) * DAY) for n in (self.pages, self._sized)
            ]
            ratio = self.threshold.value / guesses[1].value if self._sized else 1.0
            self.threshold.value = guesses[0].value * ratio
            self._sized = self.pages

    def _taken(self, others: int, budget: float, seconds: float) -> float:
        """Return the requests a second that new pages take from revisits now: what they use, up to their share."""
        most = (1 - self.settings.share) * budget
        self._owed = min(self._owed + others - self._others, max(most, 1.0))  # at most a second's worth
        self._others = others
        taken = min(self._owed, most * seconds)
        self._owed -= taken
        return taken / seconds if seconds > 0 else 0.0
