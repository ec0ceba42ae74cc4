"""Settings become agents: transport, rules, hooks and converters, each a concrete class, put together.

``AgentMaker`` is made once for each agent, in its own process, with the ``Run`` that the supervisor sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fyke.clock import SystemClock
from fyke.crawl.agent import Agent
from fyke.crawl.capture import Processor, warm
from fyke.crawl.context import FetchContext
from fyke.crawl.discovery.discovery import Discovery
from fyke.crawl.hooks import PATIENCE as HOOK_PATIENCE
from fyke.crawl.hooks import Hook
from fyke.crawl.order.choice import order_of
from fyke.crawl.politeness.addresses import AddressUse
from fyke.crawl.politeness.cookies import Cookies, read_kept
from fyke.crawl.politeness.gate import Gate
from fyke.crawl.politeness.login import Logins
from fyke.crawl.politeness.permissions import Permissions
from fyke.crawl.politeness.rules import Rules
from fyke.crawl.revisit.budget import RevisitSettings
from fyke.crawl.revisit.weights import Weights
from fyke.crawl.run import trace
from fyke.crawl.run.limit import PageLimit, Unlimited
from fyke.crawl.run.options import AgentCallbacks, AgentOptions
from fyke.crawl.run.plugins import Plugins
from fyke.crawl.run.processes import Run
from fyke.crawl.run.runtime import log, telling
from fyke.crawl.run.settings import CrawlSettings
from fyke.crawl.run.supervisor import Quarantine
from fyke.errors import FykeError, UserError
from fyke.fetch.address import AddressPolicy
from fyke.fetch.dns import Resolver
from fyke.fetch.http import HttpTransport
from fyke.formats.media_types import TypeFilter
from fyke.frontier.frontier import Frontier
from fyke.frontier.politeness import Politeness
from fyke.frontier.revisit import RevisitPolicy
from fyke.interfaces import Prioritizer
from fyke.reading.conversion import Source, convert_here, failed
from fyke.sites.robots import product_token
from fyke.sites.scope import Scope
from fyke.store import Store
from fyke.url import Url
from fyke.values import Document, Reason
from fyke.workers.conversion import FROM_THE_WEB, needs_worker, shared_pool

if TYPE_CHECKING:  # loaded by those who want them
    from fyke.crawl.discovery.rendering import Rendering
    from fyke.crawl.run.archiving import WarcDir


class Network(NamedTuple):
    """What reaches the web for an agent."""

    clock: SystemClock
    veto: AddressPolicy
    resolver: Resolver
    transport: HttpTransport
    remember: Callable[[], None]
    """Keeps the cookies of sites."""


class AgentMaker:
    """Makes the agent of ``store``: called once the event loop runs, and made before it, which kernels would hold."""

    def __init__(
        self, run: Run, store: Store, prioritizer: Prioritizer | None = None, scope: Scope | None = None
    ) -> None:
        self._run, self._store, self._settings = run, store, run.plan.settings
        self._seeds = [Url(href) for href in run.plan.seeds]
        self._product = product_token(self._settings.user_agent)
        self._plugins = Plugins(self._settings.plugins)
        self._prioritizer = prioritizer or self._plugins.load("prioritizer")
        self._scope = scope or self._plugins.load("scope")
        warm(Processor(self._product))  # loaded from the cache
        politeness = Politeness(self._settings.delay, hosts=self._settings.host_delays())
        self._frontier = Frontier(politeness, back_queues=3 * self._settings.concurrency, only=run.only)

    def __call__(self, callbacks: AgentCallbacks, limit: PageLimit | None) -> tuple[Agent, HttpTransport]:
        """Return the agent and its transport, which the caller closes."""
        run, settings = self._run, self._settings
        network = self._network()
        processor = self._processor()
        rules = Rules.of(settings, self._seeds, self._scope, self._frontier.sites.added)
        if run.identity.origins:
            rules.refusals.append(run.identity.refuses)
        captures = _captures(settings) if settings.warc_dir else None
        agent = Agent(
            self._store,
            self._frontier,
            self._context(network, limit),
            rules,
            processor,
            discovery=self._discovery(processor),
            options=self._options(),
            callbacks=replace(callbacks, captures=captures),
        )
        if limit is not None:
            limit.fetched = lambda: agent.tally.bytes
        self._hook(agent)
        if settings.render != "never":
            agent.writer.rendering = _rendering(run, agent, rules, captures)
        if settings.trace:
            trace.attach(agent, run.store, settings.trace)
        return agent, network.transport

    def _network(self) -> Network:
        clock, settings, identity = SystemClock(), self._settings, self._run.identity
        named = {(seed.host, seed.port) for seed in self._seeds}
        veto = AddressPolicy((host for host, _ in named), settings.allow_private, named)
        kept = read_kept(self._store)
        sessions = identity.sessions(line for lines in kept.values() for line in lines)
        resolver = Resolver(clock, settings.fixed_addresses(), elsewhere=identity.proxies.resolve)
        transport = HttpTransport(settings.fetch(), resolver, veto, clock, sessions, identity.proxies)
        return Network(clock, veto, resolver, transport, Cookies(self._store, sessions, kept).keep)

    def _processor(self) -> Processor:
        types = TypeFilter(self._settings.types) if self._settings.types else None
        converting = _converting(self._plugins.load("converter"))
        return Processor(self._product, converting, types, self._settings.host_selectors())

    def _gate(self, network: Network) -> Gate:
        run, clock = self._run, network.clock
        gate = Gate(
            self._frontier.politeness,
            self._settings.fetch_timeout + 60,
            run.folder / "contacts" if run.agents > 1 else None,
            network.resolver.address,
            self._store.owned[0],
            AddressUse(run.addresses).machines if run.addresses is not None else lambda key: 1,
            run.lease,
        )
        gate.take_over(clock.now())
        network.transport.on_sent = lambda host: gate.sent(host, clock.now())
        return gate

    def _context(self, network: Network, limit: PageLimit | None) -> FetchContext:
        quarantine, identity = Quarantine(self._run.store), self._run.identity
        context = FetchContext(
            self._plugins.load("transport") or network.transport,
            Permissions(self._product, ignore=self._settings.no_robots),
            network.clock,
            self._gate(network),
            limit or Unlimited(),
            network.resolver,
            quarantine.read(),
            quarantine.suspects(),
            quarantine.acquit,
        )
        context.named = lambda url: network.veto.name(url.host, url.port)
        context.logins = Logins(identity.logins) if identity.logins else None
        context.lag = network.transport.lag
        context.remember = network.remember
        if self._run.verbose:
            context.start = telling(context.start)
        return context

    def _options(self) -> AgentOptions:
        run, settings = self._run, self._settings
        return AgentOptions(
            settings.concurrency,
            float("inf") if settings.websub else settings.patience,
            self._prioritizer,
            order_of(settings, run.store, self._store) if not run.only else None,
            _revisits(settings, run.agents) if settings.continuous else None,
            settings.requisites,
            settings.form_requests if settings.forms != "off" else 0,
            settings.forms == "post",
        )

    def _discovery(self, processor: Processor) -> Discovery:
        settings = self._settings
        return Discovery(
            processor,
            sitemaps=settings.sitemaps and not settings.max_depth,  # a page that only they tell is at no known depth
            poll=settings.continuous or bool(settings.websub),
        )

    def _hook(self, agent: Agent) -> None:
        """Attach the user's own code."""
        plugins, note = self._plugins, agent.writer.troubles.__setitem__
        if hook := plugins.load("before-fetch"):
            agent.visits.context.before_fetch = Hook(plugins.place("before-fetch"), hook, note)
        if hook := plugins.load("after-reading"):
            agent.writer.after_reading = Hook(plugins.place("after-reading"), hook, note)


# ---- small parts


def _warc_fields(settings: CrawlSettings) -> tuple[tuple[str, str], ...]:
    """What the files of --warc-dir say of the crawl that made them."""
    robots = "ignore" if settings.no_robots else "obey"
    sent = [(f"http-header-{line.partition(': ')[0].lower()}", settings.contact) for line in settings.from_header()]
    return (("http-header-user-agent", settings.agent), *sent, ("robots", robots))


def _captures(settings: CrawlSettings) -> WarcDir:
    """What writes every exchange beside the store."""
    from fyke.crawl.run.archiving import WarcDir

    return WarcDir(Path(settings.warc_dir), _warc_fields(settings))


def _rendering(run: Run, agent: Agent, rules: Rules, captures: WarcDir | None) -> Rendering | None:
    """What shows pages; None where there is no browser, which whoever began the crawl has said."""
    from fyke.browser.chromium import AT_ONCE, Chromium
    from fyke.browser.process import find_program
    from fyke.crawl.discovery.rendering import How, Rendering
    from fyke.rendering import limits_of

    settings = run.plan.settings
    try:  # of several agents each has a browser, and shows one page at a time: so many as there are agents in all
        browser = Chromium(find_program(settings.browser), AT_ONCE if run.agents == 1 else 1)
    except UserError:
        return None
    context, limits = agent.visits.context, limits_of(settings, settings.keep_subresources)
    how = How(settings.render == "always", limits, settings.agent, settings.keep_subresources)
    rendering = Rendering(
        browser, how, agent.queues, rules, agent.writer.processor, context.permissions, agent.visits.fetch,
        context.clock,
    )  # fmt: skip
    rendering.captures, rendering.close = captures, browser.close
    return rendering


def _revisits(settings: CrawlSettings, agents: int) -> RevisitSettings:
    """An agent's part of the budget; the threshold that they share evens out what its hosts are worth."""
    policy = RevisitPolicy(settings.revisit_policy)
    weights = Weights(settings.weights)
    return RevisitSettings(policy, settings.revisit_share, settings.request_rate / agents, settings.delay, weights)


def _converting(own: Callable[[Source], Document | None] | None) -> Callable[[Source], Awaitable[Document]]:
    """Return how documents are converted: by the user's converter first, where there is one."""
    if own is None:
        return _convert

    async def convert(source: Source) -> Document:
        try:
            made = await asyncio.wait_for(asyncio.to_thread(own, source), HOOK_PATIENCE)
        except Exception as error:  # it is somebody's code
            log.warning("the converter failed for %s: %s: %s", source.url, type(error).__name__, error)
            made = None
        return made if isinstance(made, Document) else await _convert(source)

    return convert


async def _convert(source: Source) -> Document:
    """Convert what is not plain HTML: in a worker that can be killed where that may be needed."""
    if not needs_worker(source):
        return convert_here(source)
    try:
        return await shared_pool(FROM_THE_WEB).aconvert(source)
    except (FykeError, TimeoutError) as error:  # no worker could be had: the document is kept as it came
        log.warning(
            "%s was not converted: %s", source.url or "a document", str(error) or "a worker did not start in time"
        )
        return failed(source, Reason.UNREADABLE, str(error))
