"""Settings become agents: transport, rules, hooks and converters, each a concrete class, put together.

``agent_maker`` is called once for each agent, in its own process, with the ``Run`` that the supervisor sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fyke.clock import SystemClock
from fyke.crawl.agent import Agent
from fyke.crawl.capture import Processor, warm
from fyke.crawl.discovery.discovery import Discovery
from fyke.crawl.hooks import PATIENCE as HOOK_PATIENCE
from fyke.crawl.hooks import Hook
from fyke.crawl.means import Means
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
from fyke.crawl.run.archiving import WarcDir
from fyke.crawl.run.limit import PageLimit, Unlimited
from fyke.crawl.run.plugins import Plugins
from fyke.crawl.run.processes import Run
from fyke.crawl.run.runtime import log, telling
from fyke.crawl.run.settings import CrawlSettings
from fyke.crawl.run.supervisor import Quarantine
from fyke.crawl.run.ties import Ties, Ways
from fyke.errors import FykeError, UserError
from fyke.fetch.address import Veto
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

if TYPE_CHECKING:  # what shows pages is loaded by those who have it shown
    from fyke.crawl.discovery.rendering import Rendering


def agent_maker(
    run: Run, store: Store, prioritizer: Prioritizer | None = None, scope: Scope | None = None
) -> Callable[[Ties, PageLimit | None], tuple[Agent, HttpTransport]]:
    """Return what makes the agent of ``store``, once the event loop runs."""
    settings = run.plan.settings
    seeds = [Url(href) for href in run.plan.seeds]
    product = product_token(settings.user_agent)
    plugins = Plugins(settings.plugins)
    prioritizer, scope = prioritizer or plugins.load("prioritizer"), scope or plugins.load("scope")

    warm(Processor(product))  # loaded from the cache before the loop runs, which it would hold
    contacts = run.folder / "contacts" if run.agents > 1 else None
    politeness = Politeness(settings.delay, hosts=settings.host_delays())
    frontier = Frontier(politeness, back_queues=3 * settings.concurrency, only=run.only)

    def make(ties: Ties, limit: PageLimit | None) -> tuple[Agent, HttpTransport]:
        clock = SystemClock()
        named = {(seed.host, seed.port) for seed in seeds}
        veto = Veto((host for host, _ in named), settings.allow_private, named)
        kept, proxies = read_kept(store), run.identity.proxies
        sessions = run.identity.sessions(line for lines in kept.values() for line in lines)
        resolver = Resolver(clock, settings.fixed_addresses(), elsewhere=proxies.resolve)
        transport = HttpTransport(settings.fetch(), resolver, veto, clock, sessions, proxies)
        types = TypeFilter(settings.types) if settings.types else None
        processor = Processor(product, _converting(plugins.load("converter")), types, settings.host_selectors())
        machines = AddressUse(run.addresses).machines if run.addresses is not None else lambda key: 1
        gate = Gate(
            frontier.politeness, settings.fetch_timeout + 60, contacts, resolver.address, store.owned[0], machines,
            run.lease,
        )  # fmt: skip
        gate.take_over(clock.now())
        transport.on_sent = lambda host: gate.sent(host, clock.now())
        quarantine = Quarantine(run.store)
        means = Means(
            plugins.load("transport") or transport,
            Permissions(product, ignore=settings.no_robots),
            clock,
            gate,
            limit or Unlimited(),
            resolver,
            quarantine.read(),
            quarantine.suspects(),
            quarantine.acquit,
        )
        means.named = lambda url: veto.name(url.host, url.port)
        means.logins = Logins(run.identity.logins) if run.identity.logins else None
        means.lag = transport.lag
        means.remember = Cookies(store, sessions, kept).keep
        if run.verbose:
            means.start = telling(means.start)
        ways = Ways(
            settings.concurrency,
            float("inf") if settings.websub else settings.patience,
            prioritizer,
            order_of(settings, run.store, store) if not run.only else None,
            _revisits(settings, run.agents) if settings.continuous else None,
            settings.requisites,
            settings.form_requests if settings.forms != "off" else 0,
            settings.forms == "post",
        )
        # A page that only a sitemap tells is at no known distance from the seeds.
        discovery = Discovery(
            processor,
            sitemaps=settings.sitemaps and not settings.max_depth,
            poll=settings.continuous or bool(settings.websub),
        )
        rules = Rules.of(settings, seeds, scope, frontier.sites.added)
        if run.identity.origins:
            rules.refusals.append(run.identity.refuses)
        captures = WarcDir(Path(settings.warc_dir), _warc_fields(settings)) if settings.warc_dir else None
        ties = replace(ties, captures=captures)
        agent = Agent(store, frontier, means, rules, processor, discovery=discovery, ways=ways, ties=ties)
        if limit is not None:
            limit.fetched = lambda: agent.tally.bytes
        if hook := plugins.load("before-fetch"):
            means.before_fetch = Hook(plugins.place("before-fetch"), hook, agent.keeper.troubles.__setitem__)
        if hook := plugins.load("after-reading"):
            agent.keeper.after_reading = Hook(plugins.place("after-reading"), hook, agent.keeper.troubles.__setitem__)
        if settings.render != "never":
            agent.keeper.rendering = _rendering(run, agent, rules, captures)
        if settings.trace:
            trace.attach(agent, run.store, settings.trace)
        return agent, transport

    return make


# ---- small parts


def _warc_fields(settings: CrawlSettings) -> tuple[tuple[str, str], ...]:
    """What the files of --warc-dir say of the crawl that made them."""
    robots = "ignore" if settings.no_robots else "obey"
    sent = [(f"http-header-{line.partition(': ')[0].lower()}", settings.contact) for line in settings.from_header()]
    return (("http-header-user-agent", settings.agent), *sent, ("robots", robots))


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
    means, limits = agent.visits.means, limits_of(settings, settings.keep_subresources)
    how = How(settings.render == "always", limits, settings.agent, settings.keep_subresources)
    rendering = Rendering(
        browser, how, agent.queues, rules, agent.keeper.processor, means.permissions, agent.visits.fetch, means.clock
    )
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
