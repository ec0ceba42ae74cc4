"""A crawl over machines, from its settings to what it came to: the same plan and summary as on one machine."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from fyke.assemble import check, parse_seed, settled
from fyke.cluster.copies import known_plan, make_depot
from fyke.cluster.head import Overview
from fyke.cluster.messages import Job
from fyke.cluster.registrar import LEASE
from fyke.cluster.view import NAME, View
from fyke.crawl.order.choice import FILE, prepare
from fyke.crawl.politeness.identity import identity_of, without_secrets
from fyke.crawl.run.ending import End
from fyke.crawl.run.plan import Plan
from fyke.crawl.run.runtime import Signals
from fyke.crawl.run.settings import CrawlSettings
from fyke.crawl.run.summary import Summary, summarize
from fyke.errors import UserError
from fyke.store import Settings
from fyke.store.depot import Depot
from fyke.store.manifest import MAX_TABLETS

TABLETS = 64
"""Of a new depot: enough for some ten machines, each of which opens a RocksDB for every tablet that it has."""
_POLL = 1.0

Progress = Callable[[Overview], None]


def job_of(
    seeds: Iterable[str],
    settings: CrawlSettings,
    *,
    tablets: int = TABLETS,
    lease: float = LEASE,
    verbose: bool = False,
) -> Job:
    """Make the depot ready; return the crawl that nodes are told of. Raises ``UserError`` and ``StorageError``."""
    settings = settled(settings)
    if not settings.depot:
        raise UserError("a crawl over machines needs a depot that all of them reach: give --depot URL")
    if settings.websub:
        raise UserError("--websub needs one machine that hubs can reach; crawl with `fyke crawl`")
    if not 1 <= tablets <= MAX_TABLETS:
        raise UserError(f"a depot cannot have {tablets} tablets; choose 1 to {MAX_TABLETS}")
    check(settings)
    named = list(seeds)
    known = known_plan(settings.depot)
    every = tuple(
        dict.fromkeys([*(known.seeds if known is not None else ()), *(parse_seed(seed).href for seed in named)])
    )
    if not every:
        raise UserError("no seed was given; name at least one URL")
    identity = identity_of(settings, [*every, *named])
    kept = Plan(every, without_secrets(settings))
    depot = make_depot(settings.depot, Settings(tablets=tablets, keep_versions=settings.keep_versions), kept)
    _put_topic(settings, depot)
    return Job(Plan(every, settings), settings.depot, depot.about, identity, lease, verbose)


def _put_topic(settings: CrawlSettings, depot: Depot) -> None:
    with tempfile.TemporaryDirectory(prefix="fyke-topic-") as folder:
        if why := prepare(settings, Path(folder)):
            print(f"fyke: {why}", file=sys.stderr, flush=True)
        depot.put_store_files(Path(folder), [FILE])


def crawl(
    job: Job, actors: ModuleType, progress: Progress = lambda overview: None, folder: Path | None = None
) -> Summary:
    """Crawl on the cluster that this process is connected with (``actors`` is fyke.cluster.actors); blocking.

    The view of it (fyke.cluster.view) is kept in ``folder``, that of this machine. Ctrl-C stops all machines cleanly.
    Raises ``UserError`` and ``FykeError``.
    """
    began = time.time()
    head: Any = actors.start_head(job)
    view = View(folder / NAME, Depot.open(job.depot)) if folder is not None else None
    running = head.run.remote()
    interrupted: list[int] = []
    seen, told = 0, False
    with Signals(interrupted.append):
        while True:
            overview: Overview = actors.call(head.overview, seen)
            seen += len(overview.events)
            progress(overview)
            if view is not None:
                view.show(overview.agents)
                if (asked := view.asked()) is not None:
                    actors.call(head.steer, asked)
            if overview.end:
                break
            if interrupted and not told:
                told = True
                actors.call(head.stop)
            time.sleep(_POLL)
    actors.wait(running)
    return summarize(
        job.plan, overview.status, End(overview.end), overview.failed or {},
        seconds=time.time() - began, cpu=overview.cpu, backed_up=overview.whole,
    )  # fmt: skip
