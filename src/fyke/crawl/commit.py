"""What follows from a visit: the row, the links, the letters, the next visit, all in one batch, and the host is free.

::

    take ─┬─ a document ──▶ keep ──▶ one batch: row, queue, counters, offers, questions
          ├─ a sitemap or feed: its pages are offered first, in steps
          ├─ moved: a row that says where
          └─ failed ──▶ fail: tried again later, or a row that says why
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from fyke.crawl.capture import Processed, Processor
from fyke.crawl.discovery.discovery import Discovery, Listing, is_guess, is_poll, is_sitemap, redirected, tell
from fyke.crawl.discovery.lister import Lister
from fyke.crawl.duplicates.examination import Examination
from fyke.crawl.mail.outbox import Offer
from fyke.crawl.order.order import Visit
from fyke.crawl.politeness.rules import Rules
from fyke.crawl.queue.queues import Queues
from fyke.crawl.revisit.revisits import Revisits
from fyke.crawl.run.runtime import log
from fyke.errors import FykeError
from fyke.frontier.keys import Entry
from fyke.frontier.leases import Lease
from fyke.frontier.politeness import Contact
from fyke.interfaces import Clock
from fyke.sites.traps import seen_form
from fyke.store import Batch
from fyke.values import Drop, Failed, Fetched, Links, Moved, Outcome, Reason, Unchanged

MAX_TRIES = 3
"""Fetches of a URL whose host does not answer, before it is given up."""
MAX_HOPS = 10
"""Redirects in a row, as browsers allow twice as many."""
RETRY_DELAYS = 10.0
"""Of the host's delay, before the second try, and four times as many before the third: 10 and 40 s by default."""
LEAST_RETRY = 1.0
"""Seconds before the second try where the delay is shorter."""

PASSING = frozenset(
    {Reason.DNS, Reason.CONNECT, Reason.TIMEOUT, Reason.RESET, Reason.SERVER_ERROR, Reason.TOO_MANY_REQUESTS}
)
"""Failures that may pass."""
_SILENT = frozenset({Reason.TIMEOUT, Reason.RESET})
_OVERLOAD = frozenset({429, 502, 503, 504})
_TROUBLES = 1000
"""Sites whose last trouble is remembered, so that a crawl can tell why it came to nothing."""


@dataclass(slots=True)
class Tally:
    """What an agent has done since it started."""

    pages: int = 0
    """Documents fetched."""
    bytes: int = 0
    contacts: int = 0
    """Requests sent, robots.txt included."""
    revisits: int = 0
    """Pages asked for again."""
    changed: int = 0
    """Of these, those that had changed."""


class Keeper:
    """The part of an agent that writes."""

    def __init__(
        self,
        queues: Queues,
        rules: Rules,
        processor: Processor,
        discovery: Discovery,
        examination: Examination,
        clock: Clock,
        *,
        work_on: Callable[[str], None],
        revisits: Revisits | None,
    ) -> None:
        """See ``Agent``, which has the same arguments."""
        self.queues = queues
        self.tally = Tally()
        self.lister = Lister(queues, rules, discovery, clock)
        self.processor = processor
        self.discovery = discovery
        self.work_on = work_on
        self.rules = rules
        self._examination = examination
        self._clock = clock
        self._revisits = revisits
        self._documents: set[int] = set()
        self.troubles: dict[str, str] = {}
        """Sites that could not be reached, and why."""

    def came_to_document(self, lease: Lease) -> bool:
        """Whether a visit that has ended was kept as a document. REQUIRES: it is asked once."""
        known = id(lease) in self._documents
        self._documents.discard(id(lease))
        return known

    def troubled(self, site: str, outcome: Failed, what: str = "") -> None:
        """Remember why a site could not be reached."""
        if len(self.troubles) < _TROUBLES or site in self.troubles:
            self.troubles[site] = f"{what}{outcome.reason}" + (f": {outcome.detail}" if outcome.detail else "")

    async def take(self, lease: Lease, outcome: Outcome) -> None:
        """Make of an outcome what is kept of it."""
        entry, now = lease.entry, self._clock.now()
        contact = contact_of(outcome, 0.0, now)
        self.tally.contacts += 1
        self.work_on(entry.href)
        if isinstance(outcome, Fetched) and outcome.exchange.incomplete and self._again(entry):
            self.fail(lease, Failed(outcome.url, Reason.RESET, detail="cut short"), contact, now)
        elif isinstance(outcome, Fetched):
            await self._take_document(lease, outcome, contact)
        elif isinstance(outcome, Moved):
            self.keep(lease, self.processor.moved(outcome, entry.depth), contact)
        elif isinstance(outcome, Unchanged) and is_poll(entry.kind):
            self.lister.forget(lease, contact, unchanged=True)
        elif isinstance(outcome, Unchanged):  # nobody asked: we sent no validators
            failure = Failed(outcome.url, Reason.PROTOCOL, detail="304 without being asked", exchange=outcome.exchange)
            self.fail(lease, failure, contact, now)
        else:
            self.fail(lease, outcome, contact, now)
        self.work_on("")

    async def _take_document(self, lease: Lease, outcome: Fetched, contact: Contact) -> None:
        entry, now = lease.entry, self._clock.now()
        self.tally.pages += 1
        self.tally.bytes += len(outcome.exchange.body)
        listing: Listing | None = None
        try:
            listing = await self.discovery.read(outcome, entry, now)
            if listing is None and not is_guess(entry.kind):
                processed = await self.processor.fetched(outcome, entry.depth)
        except (FykeError, OSError):
            raise
        except Exception:  # a fault of ours: the document is kept as it came
            log.exception("%s could not be read", entry.href)
            failure = Failed(outcome.url, Reason.UNREADABLE, exchange=outcome.exchange)
            self.keep(lease, self.processor.failed(failure, entry.depth, now), contact)
            return
        if listing is not None:
            listing, new = await self.lister.offer_most(entry.url, listing)
            self.keep(lease, listing.processed, contact, listing, new)
        elif is_guess(entry.kind):
            self.lister.forget(lease, contact)
        else:
            # All that have come are read, then all are kept: 6 % quicker, as what a step needs is in the caches.
            await asyncio.sleep(0)
            self.work_on(entry.href)
            self.keep(lease, processed if entry.told is None else tell(processed, entry.told), contact)

    def _again(self, entry: Entry) -> bool:
        """Whether a URL that failed is tried again."""
        return entry.tries + 1 < MAX_TRIES and not is_guess(entry.kind)

    def fail(self, lease: Lease, outcome: Failed, contact: Contact | None, now: float, *, final: bool = False) -> None:
        """Nothing usable came: it is tried again later, or (``final``: at once) its row says why there is nothing."""
        entry = lease.entry
        if outcome.reason in PASSING and self._again(entry) and not final:
            wait = max(RETRY_DELAYS * self.queues.frontier.politeness.delay, LEAST_RETRY) * 4**entry.tries
            due = outcome.retry_at or now + wait  # what the server asks decides
            if not entry.depth:
                self.troubled(lease.site, outcome)
            tablet = self.queues.store.tablet(self.queues.tablet_of(outcome.url))
            batch = tablet.batch()
            self.queues.postpone(batch, msgspec.structs.replace(entry, tries=entry.tries + 1), due)
            self.queues.frontier.done(lease, now, contact)
            self.queues.finish(batch, lease)
            tablet.write(batch)
        elif is_guess(entry.kind) or (is_poll(entry.kind) and outcome.reason is not Reason.GONE):
            self.lister.forget(lease, contact)
        else:
            self.keep(lease, self.processor.failed(outcome, entry.depth, now), contact)

    def keep(
        self, lease: Lease, processed: Processed, contact: Contact | None, listing: Listing | None = None, new: int = 0
    ) -> None:
        """Write all that follows from a visit in one batch, and free the host."""
        entry, now = lease.entry, self._clock.now()
        number = self.queues.tablet_of(entry.url)
        tablet = self.queues.store.tablet(number)
        batch = tablet.batch()
        if self.queues.order is not None:
            processed = self.queues.order.read(batch, entry, processed, self.queues.anchors.texts(entry.href))
        meta = processed.change.meta
        # Sitemaps and feeds are asked again in their own rhythm.
        if self._revisits is not None and listing is None and 200 <= meta.status < 300 and not meta.error:
            processed = self._revisits.first(batch, self.queues, entry, processed, now)
        stamp = batch.put_row(entry.url.key, processed.change, int(now * 1e6))
        if meta.error:
            batch.count("errors:" + meta.error)
        if processed.redirected:
            batch.count("moved")
        elif 200 <= meta.status < 400 and not is_poll(entry.kind):  # which is counted already
            batch.count("pages")
            batch.count("bytes", meta.length)
            self._documents.add(id(lease))
        for why, count in processed.dropped:
            batch.count("dropped:" + why, count)
        self.queues.frontier.done(lease, now, contact)
        self.queues.finish(batch, lease)
        self.sight(batch, number, entry, stamp, processed)
        offers: list[Offer] = []
        if listing is not None:
            offers = self.lister.wanted(batch, listing.offers)
            for name, count in listing.counts:
                batch.count(name, count)
            self.discovery.polled(batch, self.queues, entry, now, listing=listing, new=new + len(offers))
        self.queues.offer(batch, number, offers + self.offers(batch, lease, processed), now)
        tablet.write(batch)
        if listing is not None and self._revisits is not None:
            self._revisits.told(self.queues, listing.signals, "sitemap" if is_sitemap(listing.kind) else "feed", now)

    def sight(self, batch: Batch, number: int, entry: Entry, stamp: int, processed: Processed) -> None:
        """Have it found out whether a document is a copy, and its anchor texts brought to their targets."""
        self.queues.anchors.note(number, entry.href, stamp, processed.change.links or ())
        if processed.material is not None:
            self._examination.stored(batch, number, entry.url, stamp, processed.material)

    def offers(self, batch: Batch, lease: Lease, processed: Processed) -> list[Offer]:
        """The links that are new and that belong to the crawl."""
        entry = lease.entry
        depth, kind, hops, told = entry.depth + 1, "", 0, None
        if processed.redirected:  # as far from the seeds as the page that sent us there
            depth, told = entry.depth, entry.told
            kind, hops = redirected(entry.kind)
            if not entry.depth and not is_sitemap(entry.kind):  # a seed is where it leads
                self.rules.admit(processed.links[0].target)
        offers = []
        targets = Links.of(processed.links).targets
        keys = self.queues.keys(targets) if processed.keys is None else processed.keys
        fresh = self.queues.unseen(targets, keys)
        if processed.redirected and not fresh and seen_form(targets[0]) == seen_form(entry.url):
            fresh = [*targets]  # from one session id of the page to another: follow it, as far as the hops go
        if self.queues.order is not None:
            refusal = self.rules.belongs if hops <= MAX_HOPS else lambda url: Drop.REDIRECTS
            number = self.queues.tablet_of(entry.url)
            visit = Visit.of(batch, number, entry, processed, keys, fresh, depth, kind, refusal)
            return self.queues.order.offers(visit)
        for url in fresh:
            why = self.rules.belongs(url)
            if hops > MAX_HOPS:
                why = Drop.REDIRECTS
            if why is None:
                offers.append(Offer(url.href, depth, kind=kind, told=told))
            else:
                batch.count("dropped:" + why)
        return offers


def contact_of(outcome: Outcome, started: float, finished: float) -> Contact:
    """What politeness must know of an outcome."""
    exchange = outcome.exchange
    if exchange is not None:
        started, finished = exchange.started, exchange.finished
    reason = outcome.reason if isinstance(outcome, Failed) else None
    retry_at = outcome.retry_at if isinstance(outcome, Failed) and outcome.retry_at else 0.0
    overloaded = exchange is not None and exchange.status in _OVERLOAD
    silent = reason in _SILENT or (exchange is not None and exchange.incomplete)
    return Contact(finished, finished - (started or finished), overloaded, silent, retry_at)
