"""Whether one agent is too few: its loop has no time left, and what is queued will keep it so.

A crawl begins with one agent in its own process: most sites are politely served by a small part of a core. More agents
are processes that must start, so they come when there is work for them: the crawl stops cleanly, as for a
resume, and goes on with one agent for each core.
"""

from __future__ import annotations

import time
from collections import deque

from fyke.crawl.agent import Agent
from fyke.spawning import cores

BUSY = 0.75
"""The share of a core that a loop needs to be called busy: RocksDB and what waits for disks take the rest."""
BEATS = 5
"""Beats for which it must have been busy."""
WORTH = 20.0
"""Seconds of work that must be queued at least: to start further agents takes about five."""


class Growth:
    """Watches one agent, from its own loop."""

    def __init__(self) -> None:
        self._signs: deque[tuple[float, float, int]] = deque(maxlen=BEATS + 1)
        self.wanted = False
        """Whether more agents were found to be worth it."""

    def look(self, agent: Agent) -> None:
        """Take a look, about once a second, from the thread of the agent's loop."""
        self._signs.append((time.monotonic(), time.thread_time(), agent.tally.pages))
        if len(self._signs) > BEATS and cores() > 1:
            (began, cpu, pages), (now, cpu_now, pages_now) = self._signs[0], self._signs[-1]
            queued = agent.frontier.counts().queued + agent.queues.held
            self.wanted = is_worth((cpu_now - cpu) / (now - began), (pages_now - pages) / (now - began), queued)


def is_worth(share: float, rate: float, queued: int) -> bool:
    """Whether further agents pay, where a loop takes ``share`` of a core for ``rate`` pages a second."""
    return share > BUSY and queued > WORTH * rate
