"""Where concrete classes are named: settings become transports, agents and processes.

``crawl`` runs a crawl to its end: with one agent in this process, with several each in a process of its own. Both
ways write the same store, so a crawl may be resumed with another number of agents.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from fyke.clock import SystemClock
from fyke.config import build
from fyke.convert import Source, convert_here
from fyke.crawl import plan as plans
from fyke.crawl import status as statuses
from fyke.crawl.board import Board, Sign
from fyke.crawl.discovery import Discovery
from fyke.crawl.duplicates import strip_all
from fyke.crawl.engine import Agent
from fyke.crawl.exchange import Exchange
from fyke.crawl.focusing import order_of, prepare
from fyke.crawl.freshness import Log
from fyke.crawl.gate import Gate
from fyke.crawl.lookalikes import FOLDER, Beside, Line, LookAlikes, serve
from fyke.crawl.mail import Letter
from fyke.crawl.permissions import Permissions
from fyke.crawl.plan import Plan
from fyke.crawl.process import Processor, warm
from fyke.crawl.revisits import RevisitSettings
from fyke.crawl.rules import Rules
from fyke.crawl.settings import CrawlSettings
from fyke.crawl.status import AgentStatus, Status
from fyke.crawl.subscriptions import serving
from fyke.crawl.supervisor import Death, Kept, Quarantine, supervise
from fyke.crawl.surroundings import Signals, log, logging_to
from fyke.crawl.surroundings import run as run_loop
from fyke.errors import StorageError, UserError
from fyke.fetch.address import Veto
from fyke.fetch.dns import Resolver
from fyke.fetch.http import HttpTransport
from fyke.frontier.frontier import Frontier
from fyke.frontier.politeness import Politeness
from fyke.frontier.revisit import RevisitPolicy
from fyke.interfaces import Prioritizer
from fyke.sites.robots import product_token
from fyke.sites.scope import Scope
from fyke.store import Settings, Store
from fyke.url import Url
from fyke.values import Document
from fyke.workers.conversion import needs_worker, shared_pool

PERMITS = 16
"""Pages that an agent is allowed at a time: a crawl exceeds ``max_pages`` by none, and asks seldom."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a crawl came to."""

    pages: int
    """Documents in the store."""
    bytes: int
    seconds: float
    cpu_seconds: float
    """Of this process and its agents."""
    errors: dict[str, int]
    dropped: dict[str, int]
    duplicates: int
    queued: int
    hosts: int
    relevant: int
    """Documents about the crawl's topic, where it has one."""
    harvest: float
    """Of the documents that were classified, the share that is relevant."""
    finished: bool
    """Nothing is left to do now; False where the crawl was stopped."""


Progress = Callable[[Status], None]


def crawl(
    seeds: Iterable[str],
    store: str | Path = "fyke-store",
    *,
    settings: CrawlSettings | None = None,
    prioritizer: Prioritizer | None = None,
    scope: Scope | str | None = None,
    progress: Progress = lambda status: None,
    **options: Any,
) -> Summary:
    """Crawl from ``seeds`` into ``store``, and return once nothing is left to do; blocking.

    ``options`` are fields of ``CrawlSettings`` (``max_pages=100``). The same call on an existing store goes on where
    it stopped. ``prioritizer`` says which URL first, ``scope`` which URLs belong (``"host"``, ``"domain"``, ``"any"``
    or an object that judges); with such an object there is one agent. Raises ``UserError`` and ``StorageError``.
    """
    if isinstance(scope, str):
        options["scope"], scope = scope, None
    settings = settings or build(CrawlSettings, options, "the options of crawl")
    urls = [Url.parse(seed) for seed in seeds]
    path = Path(store)
    known = plans.read(path)
    every = tuple(dict.fromkeys([*(known.seeds if known else ()), *(url.href for url in urls)]))
    if not every:
        raise UserError("no seed was given; name at least one URL")
    Store.open(path, settings=_store_settings(path, settings)).close()
    if why := prepare(settings, path):
        print(f"fyke: {why}", file=sys.stderr, flush=True)
    plan = Plan(every, settings)
    plans.write(path, plan)
    statuses.clear(path)
    agents = 1 if prioritizer or scope or settings.websub else settings.agents or os.cpu_count() or 1
    with Store.open(path, "r") as reader:
        agents = min(agents, reader.settings.tablets)
        pages = sum(tablet.ledger.counter("pages") for tablet in reader.tablets())
    began, cpu = time.time(), _cpu()
    left = max(settings.max_pages - pages, 0) if settings.max_pages else 0
    run = _Run(path, plan, agents, left)
    warm(Processor(""))  # once, here: what is compiled is cached for the agents
    with logging_to(path):
        finished = _crawl_here(run, prioritizer, scope, progress) if agents == 1 else _crawl_apart(run, progress)
    return _summary(path, began, cpu, finished)


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of a crawl; sent to the agents' processes."""

    store: Path
    plan: Plan
    agents: int
    pages_left: int
    """With ``max_pages``: what this run may still fetch."""
    folder: Path = Path()
    """Board and sockets of several agents."""
    parent: int = 0
    """The process that started them: without it they end. (Asked for here: it may die before they could ask.)"""

    def tablets(self, agent: int, count: int) -> range:
        """The tablets of an agent: an even share, side by side."""
        return range(agent * count // self.agents, (agent + 1) * count // self.agents)

    def agent_of(self, tablet: int, count: int) -> int:
        """The agent of a tablet."""
        return next(agent for agent in range(self.agents) if tablet in self.tablets(agent, count))


def _crawl_here(run: _Run, prioritizer: Prioritizer | None, scope: Scope | None, progress: Progress) -> bool:
    with ExitStack() as stack:
        store = stack.enter_context(Store.open(run.store))
        index = stack.enter_context(closing(Beside(run.store / FOLDER, store)))
        permits = iter(range(run.pages_left))
        limited = bool(run.plan.settings.max_pages)

        def beat(agent: Agent) -> bool:
            report = _report(run, 0, agent, began)
            statuses.write(run.store, report)
            _log_freshness(log_, agent)
            progress(statuses.total([report], time.time()))
            return not interrupted and _has_room(run)

        interrupted: list[int] = []
        began, log_ = time.time(), Log(run.store, 0)
        agent_maker = _agent_maker(run, store, prioritizer, scope)
        with Signals(interrupted.append):
            return run_loop(
                _run_agent(
                    run,
                    agent_maker,
                    permit=(lambda: next(permits, None) is not None) if limited else lambda: True,
                    beat=beat,
                    ask=index.ask,
                    thread=stack.enter_context(ThreadPoolExecutor(1, "fyke-examination")),
                )
            )


async def _run_agent(run: _Run, make: Callable[..., tuple[Agent, HttpTransport]], **options: Any) -> bool:
    agent, transport = make(**options)
    try:
        async with serving(agent, run.plan.settings, SystemClock()):
            await agent.run([Url(href) for href in run.plan.seeds])
    finally:
        await transport.close()
    options["beat"](agent)
    return not agent.stopped


def _agent_maker(
    run: _Run, store: Store, prioritizer: Prioritizer | None = None, scope: Scope | None = None
) -> Callable[..., tuple[Agent, HttpTransport]]:
    """Return what makes the agent of ``store``, once the event loop runs."""
    settings = run.plan.settings
    seeds = [Url(href) for href in run.plan.seeds]
    product = product_token(settings.user_agent)

    contacts = run.folder / "contacts" if run.agents > 1 else None
    frontier = Frontier(Politeness(delay=settings.delay), back_queues=3 * settings.concurrency)

    def make(**options: Any) -> tuple[Agent, HttpTransport]:
        clock = SystemClock()
        veto = Veto(frozenset(seed.host for seed in seeds), settings.allow_private)
        resolver = Resolver(clock, settings.fixed_addresses())
        transport = HttpTransport(settings.fetch(), resolver, veto, clock)
        processor = Processor(product, _convert)
        agent = Agent(
            store,
            frontier,
            transport,
            Rules.of(settings, seeds, scope, frontier.added),
            Permissions(product, ignore=settings.no_robots),
            processor,
            clock,
            # A page that only a sitemap tells is at no known distance from the seeds.
            discovery=Discovery(
                processor,
                sitemaps=settings.sitemaps and not settings.max_depth,
                poll=settings.continuous or bool(settings.websub),
            ),
            gate=Gate(frontier.politeness, settings.fetch_timeout + 60, contacts, resolver.address),
            prioritizer=prioritizer,
            concurrency=settings.concurrency,
            patience=float("inf") if settings.websub else settings.patience,
            quarantined=Quarantine(run.store).read(),
            revisits=_revisits(settings, run.agents) if settings.continuous else None,
            order=order_of(settings, run.store, store),
            **options,
        )
        agent.queues.prefetch = resolver.prefetch
        return agent, transport

    return make


# ---- several agents


def _crawl_apart(run: _Run, progress: Progress) -> bool:
    context = multiprocessing.get_context("spawn")
    folder = Path(tempfile.mkdtemp(prefix="fyke-run-"))
    interrupted: list[int] = []
    board = Board(folder / "board", run.agents)
    board.clear()
    apart = _Run(run.store, run.plan, run.agents, run.pages_left, folder, os.getpid())
    last = 0.0

    def start(number: int) -> Any:
        process = context.Process(target=_agent_process, args=(apart, number), daemon=True)
        process.start()
        return process

    def start_index() -> Any:
        process = context.Process(target=_index_process, args=(apart,), daemon=True)
        process.start()
        return process

    def poll() -> bool:
        nonlocal last
        index.keep()
        if time.time() - last >= 1:
            last = time.time()
            progress(statuses.total(statuses.read(run.store), last))
        return not interrupted

    def died(death: Death) -> None:
        log.warning(
            "agent %d died with status %s while working on %s", death.agent, death.status, death.url or "nothing"
        )

    index = Kept(start_index, "the index of duplicates")
    try:
        with Signals(interrupted.append):
            supervise(board, start, Quarantine(run.store), poll, died)
        progress(statuses.total(statuses.read(run.store), time.time()))
        if not interrupted:
            with Store.open(run.store) as store:
                strip_all(store)
        limit_reached = bool(run.plan.settings.max_pages) and board.permits(1, run.pages_left) == 0
        return not interrupted and not limit_reached
    finally:
        index.end()
        board.close()
        shutil.rmtree(folder, ignore_errors=True)


def _agent_process(run: _Run, number: int) -> None:
    """What an agent's process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the supervisor's
    with logging_to(run.store):
        try:
            run_loop(_agent_main(run, number))
        except Exception:
            log.exception("agent %d ends", number)
            raise


def _index_process(run: _Run) -> None:
    """What the process of the index of duplicates does: answer until it is told to end, or its parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    async def main(index: LookAlikes) -> None:
        done, loop = asyncio.Event(), asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, done.set)

        def watch() -> None:
            done.set() if os.getppid() != run.parent else loop.call_later(1.0, watch)

        watch()
        await serve(run.folder, index, done)

    with logging_to(run.store), Store.open(run.store, "r") as store:
        try:
            with closing(LookAlikes(run.store / FOLDER, store)) as index:
                run_loop(main(index))
        except Exception:
            log.exception("the index of duplicates ends")
            raise


async def _agent_main(run: _Run, number: int) -> None:
    board = Board(run.folder / "board", run.agents)
    with Store.open(run.store, "r") as reader:
        count = reader.settings.tablets
    began = time.time()
    limited = bool(run.plan.settings.max_pages)
    granted, log_ = 0, Log(run.store, number)

    def permit() -> bool:
        nonlocal granted
        if limited and granted == 0:
            granted = board.permits(min(PERMITS, max(1, run.pages_left // (4 * run.agents))), run.pages_left)
            if granted == 0:
                board.stop()
                return False
        granted -= 1
        return True

    def beat(agent: Agent) -> bool:
        now = time.time()
        statuses.write(run.store, _report(run, number, agent, began))
        _log_freshness(log_, agent)
        if agent.revisits is not None:
            threshold = agent.revisits.threshold
            threshold.value = board.threshold(number, threshold.value)
        resting = agent.idle.until if agent.resting(now) else 0.0
        board.show(number, Sign(now, resting, agent.delivery.sent, agent.delivery.applied, agent.tally.pages))
        return not board.stopping and os.getppid() == run.parent and _has_room(run)

    async def send(tablet: int, letters: list[Letter]) -> None:
        await exchange.send(run.agent_of(tablet, count), letters)

    with (
        Store.open(run.store, tablets=run.tablets(number, count)) as store,
        closing(Line(run.folder)) as line,
        ThreadPoolExecutor(1, "fyke-examination") as thread,
    ):
        agent, transport = _agent_maker(run, store)(
            permit=permit,
            beat=beat,
            send=send,
            work_on=lambda href: board.work_on(number, href),
            ask=line.ask,
            thread=thread,
        )
        exchange = Exchange(run.folder, number, agent.receive)
        try:
            agent.restore()
            await exchange.open()
            await agent.run([Url(href) for href in run.plan.seeds])
        finally:
            await exchange.close()
            await transport.close()
            beat(agent)
    board.close()


# ---- small parts


def _revisits(settings: CrawlSettings, agents: int) -> RevisitSettings:
    """An agent's part of the budget; the threshold that they share evens out what its hosts are worth."""
    policy = RevisitPolicy(settings.revisit_policy)
    return RevisitSettings(policy, settings.revisit_share, settings.request_rate / agents, settings.delay)


def _log_freshness(log_: Log, agent: Agent) -> None:
    revisits, tally = agent.revisits, agent.tally
    if revisits is not None:
        log_.note(time.time(), revisits.gauge, tally.revisits, tally.changed, revisits.threshold.value)


async def _convert(source: Source) -> Document:
    """Convert what is not plain HTML: in a worker that can be killed where that may be needed."""
    return await shared_pool().aconvert(source) if needs_worker(source) else convert_here(source)


def _store_settings(path: Path, settings: CrawlSettings) -> Settings:
    """The store's settings: those that it has, with the versions that this crawl keeps."""
    try:
        with Store.open(path, "r") as reader:
            return msgspec.structs.replace(reader.settings, keep_versions=settings.keep_versions)
    except StorageError:
        if path.exists() and any(path.iterdir()):
            raise
        return Settings(keep_versions=settings.keep_versions)


def _has_room(run: _Run) -> bool:
    free = shutil.disk_usage(run.store).free
    if free < run.plan.settings.min_free_disk:
        log.error("only %d bytes are free on the disk of %s; free some and resume", free, run.store)
        return False
    return True


def _report(run: _Run, number: int, agent: Agent, began: float) -> AgentStatus:
    counts = agent.frontier.counts()
    counters: dict[str, int] = {}
    for tablet in agent.queues.store.tablets():
        for name, value in tablet.ledger.counters().items():
            counters[name] = counters.get(name, 0) + value
    idle = agent.idle
    resting = counts.leased == 0
    gauge, now = agent.revisits.gauge if agent.revisits is not None else None, time.time()
    return AgentStatus(
        version=statuses.VERSION,
        agent=number,
        process=os.getpid(),
        when=time.time(),
        started=began,
        pages=agent.tally.pages,
        bytes=agent.tally.bytes,
        counters=counters,
        queued=counts.queued + agent.queues.pending - agent.queues.post.pending,
        in_flight=counts.leased,
        hosts=counts.hosts,
        mail=agent.queues.post.pending,
        demoted=dict(islice(agent.queues.demoted.items(), statuses.MAX_DEMOTED)),
        waiting=idle.why if resting else "",
        waiting_host=idle.host if resting else "",
        waiting_until=idle.until if resting and idle.until != float("inf") else 0.0,
        fresh=gauge.read(now) if gauge is not None else None,
        fresh_hosts=gauge.hosts(now) if gauge is not None else {},
    )


def _summary(path: Path, began: float, cpu: float, finished: bool) -> Summary:
    status = statuses.total(statuses.read(path), time.time())
    return Summary(
        pages=status.pages,
        bytes=status.bytes,
        seconds=round(time.time() - began, 3),
        cpu_seconds=round(_cpu() - cpu, 3),
        errors=status.errors,
        dropped=status.dropped,
        duplicates=sum(status.duplicates.values()),
        queued=status.queued,
        hosts=status.hosts,
        relevant=status.relevant,
        harvest=round(status.harvest, 4),
        finished=finished,
    )


def _cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
