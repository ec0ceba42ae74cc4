"""Offering what is listed: long lists in steps, pushed ones at once, and nothing for what turned out to be none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from fyke.crawl.discovery.discovery import Discovery, Listing, is_poll
from fyke.crawl.mail.outbox import Offer
from fyke.crawl.politeness.rules import Rules
from fyke.crawl.queue.queues import Queues
from fyke.frontier.leases import Lease
from fyke.frontier.politeness import Contact
from fyke.interfaces import Clock
from fyke.store import Batch
from fyke.url import Url

STEP = 500
"""Offers written at once: less than 50 ms, after which others have their turn."""


class Lister:
    """The part of an agent that sitemaps and feeds need."""

    def __init__(self, queues: Queues, rules: Rules, discovery: Discovery, clock: Clock) -> None:
        self._queues = queues
        self._rules = rules
        self._discovery = discovery
        self._clock = clock

    def wanted(self, batch: Batch, offers: Sequence[Offer]) -> list[Offer]:
        """Those of the offers that are new and that belong to the crawl; the others are counted in ``batch``."""
        urls = [Url(each.href) for each in offers]
        fresh = {url.href for url in self._queues.unseen(urls)}
        wanted = []
        for each, url in zip(offers, urls, strict=True):
            if each.href in fresh:
                fresh.discard(each.href)
                why = self._rules.belongs(url)
                if why is None:
                    wanted.append(each)
                else:
                    batch.count("dropped:" + why)
        return wanted

    async def offer_most(self, url: Url, listing: Listing) -> tuple[Listing, int]:
        """Offer all but the last step of what the document at ``url`` lists; return the rest, and how many were new.

        The rest belongs in the batch of the document's row: until that is written the document is still queued, so a
        crash loses nothing, and what was offered already is then known.
        """
        number = self._queues.tablet_of(url)
        tablet = self._queues.store.tablet(number)
        offers, new = listing.offers, 0
        while len(offers) > STEP:
            batch = tablet.batch()
            wanted = self.wanted(batch, offers[:STEP])
            self._queues.offer(batch, number, wanted, self._clock.now())
            tablet.write(batch)
            offers, new = offers[STEP:], new + len(wanted)
            await asyncio.sleep(0)
        return replace(listing, offers=offers), new

    def forget(self, lease: Lease, contact: Contact | None, *, unchanged: bool = False) -> None:
        """Free the host; nothing is kept of a visit: there is no sitemap, or a feed has nothing new."""
        entry, now = lease.entry, self._clock.now()
        batch = self._queues.tablet(entry.url).batch()
        self._queues.frontier.done(lease, now, contact)
        self._queues.finish(batch, lease)
        if is_poll(entry.kind):
            self._discovery.unanswered(batch, self._queues, entry, now, unchanged=unchanged)
        self._queues.commit(self._queues.tablet_of(entry.url), batch)

    def push(self, url: Url, offers: Sequence[Offer]) -> None:
        """Offer what was pushed from the feed at ``url``: queued, or in the mail to whoever owns it, on return."""
        number = self._queues.tablet_of(url)
        owned = self._queues.store.owned
        number = number if number in owned else owned[0]
        tablet = self._queues.store.tablet(number)
        batch = tablet.batch()
        batch.count("pushes")
        self._queues.offer(batch, number, self.wanted(batch, offers), self._clock.now())
        tablet.write(batch)
