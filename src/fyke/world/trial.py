"""A crawler on a world: a whole crawl, and one that is killed halfway and begun again; the server's log judges."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fyke.scratch import Scratch
from fyke.world.config import WorldConfig
from fyke.world.judge import Verdict, judge
from fyke.world.peers import PEERS, Task, environment_of, version_of
from fyke.world.serve import Served, serve
from fyke.world.transport import Visit

POLL = 0.2
PATIENCE = 5
"""So many times as many requests as there are pages: a crawler that goes on is stopped, for traps have no end."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a peer."""

    peer: str
    version: str
    settings: str
    whole: Verdict
    seconds: float
    cpu_seconds: float
    stopped: bool
    """It would have gone on: the bench ended it."""
    killed: Verdict | None
    """Of both halves together, where it was killed with -9 halfway and started again."""


@dataclass(frozen=True, slots=True)
class _Run:
    visits: list[Visit]
    seconds: float
    cpu: float
    stopped: bool


def try_peer(
    name: str,
    config: WorldConfig,
    *,
    delay: float,
    python: str,
    kill: bool,
    longest: float,
    told: Callable[[str], None],
) -> Result:
    """Run a peer on the world of ``config``; ``longest`` bounds each of its runs, in seconds."""
    version = version_of(name, python)
    killed = None
    whole, verdict = _crawl(name, config, delay, python, longest, None)
    told(f"{name}: {verdict.pages:,} of {verdict.expected:,} pages by {verdict.requests:,} requests")
    if kill:
        _, killed = _crawl(name, config, delay, python, longest, whole.visits)
        told(f"{name}, killed halfway and started again: {killed.pages:,} pages, {killed.again:,} of them again")
    return Result(name, version, PEERS[name].says, verdict, whole.seconds, whole.cpu, whole.stopped, killed)


def _crawl(
    name: str, config: WorldConfig, delay: float, python: str, longest: float, before: Sequence[Visit] | None
) -> tuple[_Run, Verdict]:
    """One crawl of a fresh server; where ``before`` is given, killed after half as many requests, and begun again."""
    with serve(config) as served, Scratch("peer") as folder:
        world = served.world
        hosts = [host.name for host in world.hosts]
        task = Task(list(world.seeds), hosts, f"http://{served.address}", delay, folder, python)
        expected = world.expected(world.seeds, served.time())
        most = PATIENCE * (len(expected.pages) + len(expected.others))
        visits: list[Visit] = []
        if before is not None:
            visits += _run(name, task, served, longest, len(before) // 2).visits
        run = _run(name, task, served, longest, most)
        visits += run.visits
        return run, judge(world, expected, visits, delay)


def _run(name: str, task: Task, served: Served, longest: float, most: int) -> _Run:
    """Run a peer to its end, or kill it once it has made ``most`` requests or the time is over."""
    used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    visits: list[Visit] = []
    with (Path(task.folder) / "peer.log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - a crawler that the user names
            PEERS[name].words(task), cwd=task.folder, env=environment_of(name, task), stdin=subprocess.DEVNULL,
            stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        try:
            while process.poll() is None and len(visits) < most and time.monotonic() - began < longest:
                time.sleep(POLL)
                visits += served.log()
            stopped = process.poll() is None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    visits += served.log()
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return _Run(visits, time.monotonic() - began, cpu, stopped)
