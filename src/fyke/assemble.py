"""``fyke.crawl``: a whole crawl, from its settings to what it came to; fyke.outfit makes its agents.

``crawl`` runs a crawl to its end: with one agent in this process, with several each in a process of its own. Both
ways write the same store, so a crawl may be resumed with another number of agents.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from fyke.bits import warmed
from fyke.clock import SystemClock
from fyke.config import build
from fyke.crawl.agent import Agent
from fyke.crawl.capture import Processor, warm
from fyke.crawl.discovery.subscriptions import serving
from fyke.crawl.duplicates.near import FOLDER, LocalNearIndex
from fyke.crawl.order.choice import prepare
from fyke.crawl.politeness.identity import Identity, identity_of, without_secrets
from fyke.crawl.revisit.freshness import Log
from fyke.crawl.run import history, steering, steps
from fyke.crawl.run import plan as plans
from fyke.crawl.run import status as statuses
from fyke.crawl.run.backup import Backup
from fyke.crawl.run.ending import End, failed_seeds
from fyke.crawl.run.growth import Growth
from fyke.crawl.run.limit import Bounds, Limit
from fyke.crawl.run.options import AgentCallbacks, Follow
from fyke.crawl.run.plan import Plan
from fyke.crawl.run.plugins import Plugins
from fyke.crawl.run.processes import Progress, Run, crawl_in_processes
from fyke.crawl.run.report import has_room, log_freshness, report, starting
from fyke.crawl.run.room import is_full, wait_for_room
from fyke.crawl.run.runtime import Signals, log, logging_to
from fyke.crawl.run.runtime import run as run_loop
from fyke.crawl.run.settings import CrawlSettings
from fyke.crawl.run.steering import SteeringReader
from fyke.crawl.run.summary import Summary, summarize
from fyke.crawl.run.supervisor import Suspect
from fyke.errors import FykeError, StorageError, UserError
from fyke.fetch.http import HttpTransport
from fyke.fetching import parse_url
from fyke.frontier.keys import REQUISITE
from fyke.interfaces import Prioritizer
from fyke.outfit import AgentMaker
from fyke.sites.scope import Scope
from fyke.spawning import cores, python
from fyke.store import Settings, Store
from fyke.store.manifest import usual_tablets
from fyke.store.objects import absolute
from fyke.url import Url


def crawl(
    seeds: Iterable[str],
    store: str | Path = "fyke-store",
    *,
    settings: CrawlSettings | None = None,
    prioritizer: Prioritizer | None = None,
    scope: Scope | str | None = None,
    progress: Progress = lambda status: None,
    follow: Follow | None = None,
    verbose: bool = False,
    **options: Any,
) -> Summary:
    """Crawl from ``seeds`` into ``store``, and return once nothing is left to do; blocking.

    ``options`` are fields of ``CrawlSettings`` (``max_pages=100``). The same call on an existing store goes on where
    it stopped. ``prioritizer`` says which URL first, ``scope`` which URLs belong (as ``--scope`` has them,
    or an object that judges), ``follow`` takes every document once it is stored (``fyke.pages`` is made of it); with
    such an object there is one agent. ``verbose`` tells each fetch on stderr.
    Raises ``UserError`` and ``StorageError``.
    """
    if isinstance(scope, str):
        options["scope"], scope = scope, None
    settings = settled(settings or build(CrawlSettings, options, "the options of crawl"))
    path, own = Path(store), Own(prioritizer, scope, follow)
    plan, identity = _plan(path, list(seeds), settings)
    backup = _begin(path, plan)
    agents, most = _agents(path, settings, own)
    counters = _counters(path)
    statuses.write(path, starting(counters))
    began, cpu = time.time(), _cpu()
    compile_ahead("crawls" if settings.topic or settings.order != "breadth" or settings.continuous else "crawl")
    warm(Processor(""))  # once, here: what is compiled is cached for the agents
    until = time.time() + settings.max_time if settings.max_time else float("inf")
    left = _left(settings, counters, until)
    run = Run(path, plan, agents, left, verbose=verbose, identity=identity, backup=backup)
    with logging_to(path, settings.log_format, verbose):
        while True:
            end = _crawl_while_room(run, own, progress, most)
            if end is not End.NO_ROOM:
                break
            if not wait_for_room(path, settings.min_free_disk, settings.wait_for_room, _tell):
                break
            run = replace(run, left=_left(settings, _counters(path), until))
        if end is End.LIMIT and settings.requisites and not settings.continuous:
            end = _finish_requisites(run, replace(own, prioritizer=None), progress)
    return _summary(run, began, cpu, end)


def _plan(path: Path, seeds: list[str], settings: CrawlSettings) -> tuple[Plan, Identity]:
    """What is crawled, with the seeds that the store at ``path`` knows already, and as whom."""
    urls = [parse_seed(seed) for seed in seeds]
    known = plans.read(path)
    every = tuple(dict.fromkeys([*(known.seeds if known else ()), *(url.href for url in urls)]))
    if not every:
        raise UserError("no seed was given; name at least one URL")
    return Plan(every, settings), identity_of(settings, [*every, *seeds])


def _begin(path: Path, plan: Plan) -> Backup:
    """Make the store where there is none, and write down what is to be crawled; return its depot."""
    settings = plan.settings
    check(settings)
    Store.open(path, settings=_store_settings(path, settings)).close()
    backup = Backup.begin(path, settings.depot)
    if why := prepare(settings, path):
        _tell(why)
    steering.begin(path)
    statuses.clear(path)
    history.begin(path, time.time())
    statuses.write(path, starting({}))
    plans.write(path, msgspec.structs.replace(plan, settings=without_secrets(settings)))
    if settings.trace:
        steps.begin(path)
    return backup


def _agents(path: Path, settings: CrawlSettings, own: Own) -> tuple[int, int]:
    """With how many agents a crawl begins, and how many it may grow to; objects of the caller's own bind it to one."""
    if settings.websub and settings.agents > 1:
        _tell("one agent serves the hubs (--websub), so --agents is not heeded")
    if own.any or settings.websub:
        return 1, 1
    with Store.open(path, "r") as reader:
        tablets = reader.settings.tablets
    if settings.agents > tablets:
        _tell(f"{path} has {tablets} tablets, so {tablets} agents; once it has ended, `fyke store split` makes more")
    return min(settings.agents or 1, tablets), 1 if settings.agents else min(cores(), tablets)


def _tell(said: str) -> None:
    print(f"fyke: {said}", file=sys.stderr, flush=True)


def _crawl_while_room(run: Run, own: Own, progress: Progress, most: int) -> End:
    """Crawl until the end, or until the disk is full; one agent becomes ``most`` where there is work for them."""
    settings, end = run.plan.settings, None
    try:
        if run.agents == 1:
            end = _crawl_here(run, own, progress, Growth() if most > 1 else None)
            if end is None:
                log.info("one agent is busy: the crawl goes on with %d", most)
                run = replace(run, agents=most, left=_left(settings, _counters(run.store), run.left.until))
        return crawl_in_processes(run, AgentMaker, progress) if end is None else end
    except (FykeError, OSError) as error:
        if not is_full(error) or not settings.wait_for_room:
            raise
        return End.NO_ROOM


def settled(settings: CrawlSettings) -> CrawlSettings:
    """Settings that mean the same from every folder, so that a crawl may be resumed from another one."""
    return replace(settings, depot=absolute(settings.depot))


def _finish_requisites(run: Run, own: Own, progress: Progress) -> End:
    """Fetch what the pages of a crawl that has reached its limit still need, and no further page."""
    unlimited = replace(run.plan.settings, max_pages=0)
    left = replace(run.left, documents=Bounds().documents)
    rest = replace(run, only=REQUISITE, left=left, plan=msgspec.structs.replace(run.plan, settings=unlimited))
    end = _crawl_here(rest, own, progress, None) if rest.agents == 1 else crawl_in_processes(rest, AgentMaker, progress)
    return End.LIMIT if end in (None, End.DONE) else end


def compile_ahead(kernels: str) -> None:
    """Have what the event loop will call compiled before it runs: a kernel would hold it for seconds."""
    if warmed.needed(kernels):
        try:
            subprocess.run(python("fyke", "warm", kernels), stdout=subprocess.DEVNULL, check=False)  # noqa: S603
        except OSError as error:  # then each is compiled when it is called
            log.warning("kernels are not compiled ahead: %s", error)


def parse_seed(seed: str) -> Url:
    """Return the URL of a seed. Raises ``UserError`` for what names no document that fyke fetches."""
    return parse_url(seed, "is no seed")


@dataclass(frozen=True, slots=True)
class Own:
    """Objects of the caller's own."""

    prioritizer: Prioritizer | None = None
    scope: Scope | None = None
    follow: Follow | None = None

    @property
    def any(self) -> bool:
        """Whether there is one."""
        return any(each is not None for each in (self.prioritizer, self.scope, self.follow))


def _crawl_here(run: Run, own: Own, progress: Progress, growth: Growth | None) -> End | None:
    """Crawl with one agent in this process; return why it ended, None where ``growth`` wants more agents."""
    with ExitStack() as stack:
        store = stack.enter_context(Store.open(run.store, log_ttl=run.backup.log_ttl))
        shipping = stack.enter_context(run.backup.of(store))
        index = stack.enter_context(closing(LocalNearIndex(run.store / FOLDER, store)))
        began, log, helm = time.time(), Log(run.store, 0), SteeringReader(run.store)
        past = history.History(run.store, 0)
        limit = Limit(run.left) if run.left else None
        interrupted: list[int] = []

        def beat(agent: Agent) -> bool:
            if helm.look(agent).stop:
                interrupted.append(0)
            told = run.backup.tell(report(0, agent, began, helm.number), shipping)
            statuses.write(run.store, told)
            past.note(told)
            log_freshness(log, agent)
            progress(statuses.total([told], time.time()))
            if growth is not None:
                growth.look(agent)
                if growth.wanted:
                    return False
            if limit is not None and limit.reached:
                return False
            return not interrupted and has_room(run.store, run.plan.settings.min_free_disk)

        suspect = stack.enter_context(closing(Suspect(run.store)))
        suspect.judge()
        make = AgentMaker(run, store, own.prioritizer, own.scope)
        durable = shipping.settle if shipping is not None else None
        callbacks = AgentCallbacks(beat, suspect.work_on, ask=index.ask, follow=own.follow, durable=durable)
        with Signals(interrupted.append):
            run_loop(_run_agent(run, lambda: make(callbacks, limit), beat))
        if limit is not None and limit.reached:
            return End.LIMIT
        if interrupted or (own.follow is not None and own.follow.over):
            return End.INTERRUPTED
        if not has_room(run.store, run.plan.settings.min_free_disk):
            return End.NO_ROOM
        return None if growth is not None and growth.wanted else End.DONE


def _counters(store: Path) -> Counter[str]:
    """What was counted in all tablets."""
    counters: Counter[str] = Counter()
    with Store.open(store, "r") as reader:
        for tablet in reader.tablets():
            counters.update(tablet.ledger.counters())
    return counters


def _left(settings: CrawlSettings, counters: Counter[str], until: float) -> Bounds:
    """What a run may still come to; ``counters`` are of what is in the store already."""
    left = Bounds(until=until)
    if settings.max_pages:
        left = replace(left, documents=max(settings.max_pages - counters["pages"], 0))
    if settings.max_bytes:
        left = replace(left, bytes=max(settings.max_bytes - counters["bytes"], 0))
    return left


async def _run_agent(run: Run, make: Callable[[], tuple[Agent, HttpTransport]], beat: Callable[[Agent], bool]) -> None:
    agent, transport = make()
    SteeringReader(run.store).look(agent)
    try:
        async with serving(agent, run.plan.settings, SystemClock()):
            await agent.run([Url(href) for href in run.plan.seeds])
    finally:
        await transport.close()
    beat(agent)


def check(settings: CrawlSettings) -> None:
    """Look for the user's code and the browser, and say once what is to be known. Raises ``UserError``."""
    Plugins(settings.plugins).check()
    if settings.render == "never":
        return
    from fyke.browser.chromium import warning
    from fyke.browser.process import find_program

    try:
        find_program(settings.browser)
        said = warning()
    except UserError as error:
        if settings.render == "always" or settings.browser:
            raise
        said = f"{error}; the crawl goes on without"
    if said:
        _tell(said)


def _store_settings(path: Path, settings: CrawlSettings) -> Settings:
    """The store's settings: those that it has, with the versions that this crawl keeps."""
    try:
        with Store.open(path, "r") as reader:
            return msgspec.structs.replace(reader.settings, keep_versions=settings.keep_versions)
    except StorageError:
        if path.exists() and any(path.iterdir()):
            raise
        return Settings(max(settings.agents, usual_tablets()), settings.keep_versions)


def _summary(run: Run, began: float, cpu: float, end: End) -> Summary:
    path = run.store
    status = statuses.total(statuses.read(path), time.time())
    with Store.open(path, "r") as store:
        failed = failed_seeds(store, run.plan.seeds, status.troubles)
    backed_up = run.backup.is_whole(path) if run.backup.url else None
    return summarize(run.plan, status, end, failed, seconds=time.time() - began, cpu=_cpu() - cpu, backed_up=backed_up)


def _cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
