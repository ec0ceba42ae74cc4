"""Push joined to the crawl: subscriptions kept in the store, hubs asked politely, what they push offered at once."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fyke.crawl.agent import Agent
from fyke.crawl.discovery.discovery import feed_offers
from fyke.crawl.discovery.push import Pushed, Subscriber
from fyke.crawl.run.settings import CrawlSettings
from fyke.interfaces import Clock
from fyke.sites.feed import parse_feed
from fyke.sites.websub import Subscription
from fyke.store import Store
from fyke.url import Url, host_key

TICK = 5.0
"""Seconds between two looks at what is due: leases last days."""
log = logging.getLogger("fyke")


@asynccontextmanager
async def serving(agent: Agent, settings: CrawlSettings, clock: Clock) -> AsyncIterator[None]:
    """Serve hubs while the agent runs, if the settings ask for it. REQUIRES: the agent owns all tablets."""
    if not settings.websub:
        yield
        return
    store = agent.queues.store

    def deliver(pushed: Pushed) -> None:
        url = Url.parse(pushed.topic)
        agent.push(url, feed_offers(parse_feed(pushed.body, url.href), url, clock.now()))

    def keep(subscription: Subscription) -> None:
        url = Url.parse(subscription.topic)
        tablet = store.tablet(store.tablet_of(url.key))
        batch = tablet.batch()
        batch.put("host", host_key(url.host) + _WEBSUB + url.href.encode(), subscription.encode())
        tablet.write(batch)

    earlier = known(store)
    subscriber = Subscriber(settings.public_url, agent.visits.fetch, clock, deliver, keep, earlier)
    agent.discovery.subscriber = subscriber
    port = await subscriber.start(_interface(settings.public_url), settings.websub)
    log.info("hubs are served on port %d; %d subscriptions are known", port, len(earlier))
    asking = asyncio.create_task(_ask(subscriber, clock))
    try:
        yield
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await subscriber.stop()
        for refusal, count in subscriber.refusals.items():
            log.warning("%d pushes or challenges were refused: %s", count, refusal)


_WEBSUB = b"websub "


def known(store: Store) -> list[Subscription]:
    """The subscriptions of earlier runs."""
    return [
        Subscription.decode(value)
        for tablet in store.tablets()
        for key, value in tablet.items("host")
        if b"\0" + _WEBSUB in key
    ]


async def _ask(subscriber: Subscriber, clock: Clock) -> None:
    while True:
        await subscriber.tick()
        await clock.sleep(TICK)


def _interface(public: str) -> str | None:
    """Where to listen: on loopback where the public URL is there, else on all interfaces."""
    host = Url.parse(public).host.strip("[]")
    try:
        return host if ipaddress.ip_address(host).is_loopback else None
    except ValueError:
        return "127.0.0.1" if host == "localhost" else None
