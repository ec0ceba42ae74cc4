"""What an agent tells of itself: the status that `fyke status` reads, freshness over time, and a disk that is full."""

from __future__ import annotations

import os
import shutil
import time
from itertools import islice
from pathlib import Path

from fyke import limits
from fyke.crawl.agent import Agent
from fyke.crawl.revisit.freshness import Log
from fyke.crawl.run import status as statuses
from fyke.crawl.run.runtime import log
from fyke.crawl.run.status import AgentStatus


def starting(counters: dict[str, int]) -> AgentStatus:
    """The status of a crawl whose agents do not report yet; ``counters`` are the store's."""
    now = time.time()
    waiting = "resuming" if counters else "starting"
    return AgentStatus(statuses.VERSION, 0, os.getpid(), now, now, counters=dict(counters), waiting=waiting)


def report(number: int, agent: Agent, began: float, steering: int = 0) -> AgentStatus:
    """The status of an agent that began at ``began`` and follows the change ``steering``."""
    counts = agent.frontier.counts()
    counters: dict[str, int] = {}
    for tablet in agent.queues.store.tablets():
        for name, value in tablet.ledger.counters().items():
            counters[name] = counters.get(name, 0) + value
    counters |= {f"limits:{name}": count for name, count in limits.counted().items()}
    idle = agent.idle
    resting = counts.leased == 0
    sample, now = agent.revisits.sample if agent.revisits is not None else None, time.time()
    return AgentStatus(
        version=statuses.VERSION,
        agent=number,
        process=os.getpid(),
        when=time.time(),
        started=began,
        pages=agent.tally.pages,
        bytes=agent.tally.bytes,
        counters=counters,
        queued=counts.queued + agent.queues.held + agent.queues.later.retries,
        in_flight=counts.leased,
        hosts=counts.hosts,
        mail=agent.queues.outbox.pending,
        demoted=dict(islice(agent.queues.demoted.items(), statuses.MAX_DEMOTED)),
        waiting=idle.why if resting else "",
        waiting_host=idle.host if resting else "",
        waiting_until=idle.until if resting and idle.until != float("inf") else 0.0,
        waiting_detail=idle.detail if resting else "",
        troubles=agent.writer.troubles,
        steering=steering,
        lag=round(agent.visits.context.lag.lost, 3),
        fresh=sample.read(now) if sample is not None else None,
        fresh_hosts=sample.hosts(now) if sample is not None else {},
    )


def log_freshness(log_: Log, agent: Agent) -> None:
    """Note how fresh the collection is, where somebody keeps it fresh."""
    revisits, tally = agent.revisits, agent.tally
    if revisits is not None:
        log_.note(time.time(), revisits.sample, tally.revisits, tally.changed, revisits.budget.threshold.value)


def has_room(store: Path, least: int) -> bool:
    """Whether the disk under ``store`` has more than ``least`` bytes left; says so where it has not."""
    free = shutil.disk_usage(store).free
    if free < least:
        log.error("only %d bytes are free on the disk of %s", free, store)
        return False
    return True
