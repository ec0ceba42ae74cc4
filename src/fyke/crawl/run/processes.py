"""Several agents: one process each, a supervisor over them, and one index of duplicates for all."""

from __future__ import annotations

import asyncio
import atexit
import gc
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from fyke.crawl.agent import Agent
from fyke.crawl.capture import Processor, warm
from fyke.crawl.duplicates.exact import strip_all
from fyke.crawl.duplicates.near import FOLDER, RANKED, NearIndex, NearIndexClient, serve
from fyke.crawl.duplicates.sketched import Sketched
from fyke.crawl.mail.carrier import MailTransport
from fyke.crawl.mail.outbox import Letter
from fyke.crawl.mail.remote import RemoteMail
from fyke.crawl.politeness.identity import Identity
from fyke.crawl.revisit.freshness import Log
from fyke.crawl.run import status as statuses
from fyke.crawl.run.backup import Backup
from fyke.crawl.run.board import Board, Heartbeat, SharedLimit
from fyke.crawl.run.ending import End
from fyke.crawl.run.history import History
from fyke.crawl.run.limit import Bounds, PageLimit
from fyke.crawl.run.options import AgentCallbacks
from fyke.crawl.run.plan import Plan
from fyke.crawl.run.report import has_room, log_freshness, report
from fyke.crawl.run.room import is_full
from fyke.crawl.run.runtime import Signals, log, logging_to
from fyke.crawl.run.runtime import run as run_loop
from fyke.crawl.run.status import Status
from fyke.crawl.run.steering import SteeringReader
from fyke.crawl.run.supervisor import FAILED, FAILURE, FULL, Death, HelperProcess, Quarantine, supervise
from fyke.errors import FykeError
from fyke.scratch import Scratch
from fyke.spawning import has_one_thread, safe_path
from fyke.store import Store
from fyke.store.shipping import Shipping
from fyke.url import Url

NOTE = "run"
"""The file of a store that names the folder of the run that is under way."""

_REPORT_EVERY = 0.5  # seconds between two reports of an agent at least

Progress = Callable[[Status], None]
Make = Callable[["Run", Store], Callable[[AgentCallbacks, PageLimit | None], tuple[Agent, Any]]]
"""Returns what makes the agent of a store, and its transport, once the event loop runs; processes get it by name."""


def alone() -> int:
    """The nodes of a crawl on one machine."""
    return 0


def for_ever() -> bool:
    """The lease of a crawl on one machine."""
    return True


def shared_limit(board: Board, left: Bounds) -> PageLimit | None:
    """The limit of an agent, where anything is bounded."""
    return SharedLimit(board, left) if left else None


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a crawl; sent to the agents' processes."""

    store: Path
    plan: Plan
    agents: int
    left: Bounds = Bounds()  # noqa: RUF009 - frozen
    """What this run may still come to."""
    only: str = ""
    """Only sites whose names begin so are served (``Frontier``)."""
    folder: Path = Path()
    """Board and sockets of several agents."""
    identity: Identity = Identity()  # noqa: RUF009 - frozen
    """As whom it goes."""
    backup: Backup = Backup()  # noqa: RUF009 - frozen
    """Where it is backed up."""
    verbose: bool = False
    """Whether agents tell on stderr what they do."""
    parent: int = 0
    """The process that started them: without it they end. (Asked for here: it may die before they could ask.)"""
    owned: tuple[int, ...] | None = None
    """The tablets of this machine, where other machines have the rest (fyke.cluster): then it ends when it is told."""
    office: Path | None = None
    """The socket that takes mail to other machines' tablets."""
    addresses: Path | None = None
    """The table of addresses that other machines use too (fyke.crawl.politeness.addresses)."""
    limit: Callable[[Board, Bounds], PageLimit | None] = shared_limit
    """Makes the permits of an agent."""
    members: Callable[[], int] = alone
    """Tells the number of the set of nodes, which changes with each that comes or goes; 0 where there are none."""
    lease: Callable[[], bool] = for_ever
    """Whether hosts may be contacted now."""

    def tablets(self, agent: int, count: int) -> Sequence[int]:
        """The tablets of an agent: an even share, side by side."""
        mine = range(count) if self.owned is None else self.owned
        return mine[agent * len(mine) // self.agents : (agent + 1) * len(mine) // self.agents]

    def agent_of(self, tablet: int, count: int) -> int | None:
        """The agent of a tablet; None where it is another machine's."""
        return next((agent for agent in range(self.agents) if tablet in self.tablets(agent, count)), None)


def crawl_in_processes(run: Run, make: Make, progress: Progress) -> End:
    """Crawl with ``run.agents`` processes; return why it ended.

    REQUIRES: this process has no threads where other machines have the rest of the tablets.
    """
    scratch = Scratch("run")  # not in the store: paths of sockets must be short
    folder = scratch.path
    (run.store / NOTE).write_text(str(folder), encoding="utf-8")
    interrupted: list[int] = []
    board = Board(folder / "board", run.agents)
    board.clear()
    apart = replace(run, folder=folder, parent=os.getpid())
    last = 0.0

    def poll() -> bool:
        nonlocal last
        index.keep()
        if helm.look().stop:
            interrupted.append(0)
        if time.time() - last >= 1:
            last = time.time()
            progress(statuses.total(statuses.read(run.store), last))
        return not interrupted

    if has_one_thread():
        warm(Processor(""))  # once for all that are forked
    helm = SteeringReader(run.store)
    start = partial(_started, _agent_process, apart, make)
    index = HelperProcess(partial(_started, _index_process, apart), "the index of duplicates")
    try:
        with Signals(interrupted.append):
            supervise(board, start, Quarantine(run.store), poll, _tell_of, alone=run.owned is None)
        progress(told := statuses.total(statuses.read(run.store), time.time()))
        copies = told.duplicates.get("exact", 0) > 0  # else there is no body to drop, and no store to open
        if copies and not interrupted and run.owned is None and run.backup.is_whole(run.store):
            with Store.open(run.store) as store:
                strip_all(store)
        if board.reached(run.left):
            return End.LIMIT
        if interrupted:
            return End.INTERRUPTED
        return End.DONE if has_room(run.store, run.plan.settings.min_free_disk) else End.NO_ROOM
    finally:
        index.end()
        board.close()
        scratch.close()
        (run.store / NOTE).unlink(missing_ok=True)


def _started(target: Callable[..., None], run: Run, *arguments: Any) -> Any:
    """Start a process that ends with this one: by a fork, so that it begins at once, where no other thread is torn."""
    forks = run.owned is not None or has_one_thread()
    context: Any = multiprocessing.get_context("fork" if forks else "spawn")
    process = context.Process(target=target, args=(run, *arguments), daemon=True)
    with safe_path():
        process.start()
    return process


def _tell_of(death: Death) -> None:
    urls = " ".join(death.urls) or "nothing"
    log.warning("agent %d died with status %s while working on %s", death.agent, death.status, urls)


def _begin() -> None:
    """Be a process of a crawl: a Ctrl-C is the supervisor's, and so is what a fork has brought along."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    atexit.register(gc.freeze)  # no look for cycles at the end
    log.handlers.clear()


def _agent_process(run: Run, make: Make, number: int) -> None:
    """What an agent's process does."""
    _begin()
    with logging_to(run.store, run.plan.settings.log_format, run.verbose):
        try:
            run_loop(_agent_main(run, make, number))
        except (FykeError, OSError) as error:  # a disk; the supervisor tells
            log.error("agent %d ends: %s", number, error)
            (run.folder / FAILURE).write_text(str(error), encoding="utf-8")
            sys.exit(FULL if is_full(error) else FAILED)
        except Exception:
            log.exception("agent %d ends", number)
            sys.exit(1)


def _index_process(run: Run) -> None:
    """What the process of the index of duplicates does: answer until it is told to end, or its parent is gone."""
    _begin()

    async def main(index: NearIndex) -> None:
        done, loop = asyncio.Event(), asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, done.set)

        def watch() -> None:
            done.set() if os.getppid() != run.parent else loop.call_later(1.0, watch)

        watch()
        await serve(run.folder, index, done)

    form = run.plan.settings.log_format
    with logging_to(run.store, form, run.verbose), Store.open(run.store, "r") as store:
        try:
            with closing(NearIndex(run.store / (FOLDER if run.owned is None else RANKED), store)) as index:
                run_loop(main(index))
        except Exception:
            log.exception("the index of duplicates ends")
            sys.exit(1)


def _sign_of(agent: Agent, now: float, *, rests: bool) -> Heartbeat:
    """A sign of life, and until when the agent rests, where it ``rests`` beside its work, too."""
    resting = agent.idle.until if rests and agent.resting(now) else 0.0
    return Heartbeat(now, resting, agent.delivery.received, agent.tally.pages)


def _may_go_on(run: Run) -> bool:
    """Whether whoever started this agent is there, and there is room on the disk."""
    return os.getppid() == run.parent and has_room(run.store, run.plan.settings.min_free_disk)


class _Reporter:
    """What an agent says of itself in the store, and what it reads there of those who steer it."""

    def __init__(self, run: Run, board: Board, number: int) -> None:
        self._run, self._board, self._number, self._began = run, board, number, time.time()
        self._log, self.helm, self._past = Log(run.store, number), SteeringReader(run.store), History(run.store, number)
        self._next = 0.0

    def report_if_due(self, agent: Agent, shipping: Shipping | None) -> None:
        """Report, unless that was just done: an agent that rests beats often."""
        if time.time() >= self._next:
            self.report(agent, shipping)

    def report(self, agent: Agent, shipping: Shipping | None) -> None:
        """Do as those who steer have said, and tell what is done."""
        self._next = time.time() + _REPORT_EVERY
        self.helm.look(agent)
        told = self._run.backup.tell(report(self._number, agent, self._began, self.helm.number), shipping)
        statuses.write(self._run.store, told)
        self._past.note(told)
        log_freshness(self._log, agent)
        if agent.revisits is not None:  # all agents measure by one threshold
            threshold = agent.revisits.budget.threshold
            threshold.value = self._board.threshold(self._number, threshold.value)


async def _agent_main(run: Run, make: Make, number: int) -> None:
    board = Board(run.folder / "board", run.agents)
    with Store.open(run.store, "r") as reader:
        count = reader.settings.tablets
    reporter, limit = _Reporter(run, board, number), run.limit(board, run.left)

    def beat(agent: Agent) -> bool:
        reporter.report_if_due(agent, shipping)
        sketched.stop() if board.stopping else sketched.nodes_changed(run.members())
        board.show(number, _sign_of(agent, time.time(), rests=not sketched.busy))
        return not board.stopping and not (limit is not None and limit.reached) and _may_go_on(run)

    async def send(tablet: int, letters: list[Letter]) -> None:
        to = run.agent_of(tablet, count)
        await (remote.send(tablet, letters) if to is None else exchange.send(to, letters))

    with (
        closing(board),
        Store.open(run.store, tablets=run.tablets(number, count), log_ttl=run.backup.log_ttl) as store,
        run.backup.of(store) as shipping,
        closing(NearIndexClient(run.folder)) as line,
        closing(RemoteMail(run.office)) as remote,
        closing(Sketched(store, remote.ask)) as sketched,
    ):
        callbacks = AgentCallbacks(
            beat, lambda hrefs: board.work_on(number, hrefs), send=send,
            ask=line.ask if run.owned is None else sketched.ask,
            durable=shipping.settle if shipping is not None else None,
        )  # fmt: skip
        agent, transport = make(run, store)(callbacks, limit)
        agent.queues.outbox.ask_late, sketched.duplicates = run.owned is not None, agent.queues.duplicates
        reporter.helm.look(agent)
        exchange = MailTransport(run.folder, number, agent.receive)
        try:
            agent.restore()
            await exchange.open()
            await agent.run([Url(href) for href in run.plan.seeds])
        finally:
            await exchange.close()
            await transport.close()
            reporter.report(agent, shipping)
            beat(agent)
