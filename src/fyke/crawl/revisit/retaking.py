"""Revisits, taken: what follows from asking for a page again, in one batch."""

from __future__ import annotations

from fyke.crawl.capture import Processed
from fyke.crawl.commit import MAX_TRIES, PASSING, Keeper, contact_of
from fyke.crawl.revisit.revisits import Revisits, Seen
from fyke.frontier.leases import Lease
from fyke.frontier.politeness import Contact
from fyke.interfaces import Clock
from fyke.store import Change
from fyke.values import Failed, Fetched, Moved, Outcome, Reason, Request


class Retaker:
    """The part of an agent that takes a page again."""

    def __init__(self, keeper: Keeper, revisits: Revisits, clock: Clock) -> None:
        self._keeper = keeper
        self._revisits = revisits
        self._clock = clock

    async def take(self, lease: Lease, request: Request, outcome: Outcome) -> None:
        """Make of a revisit what follows from it."""
        entry, now, keeper, revisits = lease.entry, self._clock.now(), self._keeper, self._revisits
        contact, tablet = contact_of(outcome, 0.0, now), keeper.queues.store.tablet(keeper.queues.tablet_of(entry.url))
        keeper.tally.contacts += 1
        processed: Processed | None = None
        if request.method == "HEAD" and revisits.wants_body(outcome, tablet):
            keeper.queues.frontier.done(lease, now, contact, keep=True)
            return
        passing = _passing(outcome)
        if passing is not None and entry.tries + 1 < MAX_TRIES:
            keeper.fail(lease, passing, contact, now)
            return
        revisits.budget.done()
        keeper.tally.revisits += 1
        if isinstance(outcome, Moved) and outcome.permanent:
            revisits.gauge.drop(entry.href)
            keeper.keep(lease, keeper.processor.moved(outcome, entry.depth), contact)
            return
        if isinstance(outcome, Fetched) and request.method == "GET":
            keeper.tally.pages += 1
            keeper.tally.bytes += len(outcome.exchange.body)
            if revisits.is_same(outcome, tablet):
                self._settle(lease, revisits.same(outcome, tablet, now), contact)
                return
            keeper.work_on(entry.href)
            processed = await keeper.processor.fetched(outcome, entry.depth)
            keeper.work_on("")
        elif isinstance(outcome, Failed):
            processed = keeper.processor.failed(outcome, entry.depth, now)
        self._settle(lease, revisits.seen(entry.url, outcome, processed, tablet, now), contact)

    def _settle(self, lease: Lease, seen: Seen, contact: Contact) -> None:
        """Write all that follows from a revisit in one batch, and free the host."""
        entry, now, keeper, revisits = lease.entry, self._clock.now(), self._keeper, self._revisits
        number = keeper.queues.tablet_of(entry.url)
        tablet = keeper.queues.store.tablet(number)
        batch = tablet.batch()
        if seen.processed is not None:
            stamp = batch.put_row(entry.url.key, seen.processed.change, int(now * 1e6))
            keeper.sight(batch, number, entry, stamp, seen.processed)
            keeper.tally.changed += 1
        else:
            batch.put_meta(entry.url.key, seen.meta)
        for name, count in seen.counts:
            batch.count(name, count)
        keeper.queues.frontier.done(lease, now, contact)
        keeper.queues.finish(batch, lease)
        revisits.write(batch, keeper.queues, entry, seen)
        offered = seen.processed or Processed(Change(seen.meta), seen.links)
        keeper.queues.offer(batch, number, keeper.offers(batch, lease, offered), now)
        tablet.write(batch)


def _passing(outcome: Outcome) -> Failed | None:
    """Return an outcome that says nothing of the page as the failure that it is: it was not there, or not all of it."""
    if isinstance(outcome, Failed) and outcome.reason in PASSING:
        return outcome
    if isinstance(outcome, Moved) and not outcome.permanent:  # to a login, or for maintenance
        return Failed(outcome.url, Reason.SERVER_ERROR, detail="moved for now")
    if isinstance(outcome, Fetched) and outcome.exchange.incomplete:
        return Failed(outcome.url, Reason.RESET, detail="cut short")
    return None
