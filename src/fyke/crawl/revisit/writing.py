"""Revisits, taken: what is learnt from asking for a page again, and whether it is to be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fyke.crawl.arrival import MAX_TRIES, PASSING, Arrival, contact_of
from fyke.crawl.capture import Processed, page_of
from fyke.crawl.revisit.revisits import Revisits, Seen
from fyke.frontier.leases import Lease
from fyke.frontier.politeness import Contact
from fyke.interfaces import Clock
from fyke.store import Change
from fyke.values import Failed, Fetched, Moved, Outcome, Reason

if TYPE_CHECKING:
    from fyke.crawl.commit import PageWriter


class RevisitWriter:
    """The part of an agent that takes a page again, and writes what is learnt of it."""

    def __init__(self, writer: PageWriter, revisits: Revisits, clock: Clock) -> None:
        self._writer = writer
        self._revisits = revisits
        self._clock = clock

    def settle(self, each: Arrival) -> bool:
        """Take a revisit in; return False where a document has changed, and is to be read (``finish``)."""
        lease, request, outcome = each.lease, each.request, each.outcome
        entry, now, writer, revisits = lease.entry, self._clock.now(), self._writer, self._revisits
        contact, tablet = contact_of(outcome, 0.0, now), writer.queues.tablet(entry.url)
        writer.tally.contacts += 1
        if request.method == "HEAD" and revisits.wants_body(outcome, tablet):
            writer.queues.frontier.done(lease, now, contact, keep=True)
            return True
        passing = _passing(outcome)
        if passing is not None and entry.tries + 1 < MAX_TRIES:
            writer.fail(lease, passing, contact, now)
            return True
        revisits.budget.done()
        writer.tally.revisits += 1
        if isinstance(outcome, Moved) and outcome.permanent:
            revisits.sample.drop(entry.href)
            writer.keep(lease, writer.processor.moved(outcome, entry.depth), contact)
            return True
        if isinstance(outcome, Fetched) and request.method == "GET":
            writer.tally.pages += 1
            writer.tally.bytes += len(outcome.exchange.body)
            expected = writer.rendering is not None and writer.rendering.expects(entry.url)
            if expected or not revisits.is_same(outcome, tablet):  # the shell of a scripted page is always the same
                return False
            self._keep(lease, revisits.same(outcome, tablet, now), contact)
            return True
        processed = writer.processor.failed(outcome, entry.depth, now) if isinstance(outcome, Failed) else None
        self._keep(lease, revisits.seen(entry.url, outcome, processed, tablet, now), contact)
        return True

    def finish(self, each: Arrival, processed: Processed) -> None:
        """Learn from a document that was read again."""
        now, url = self._clock.now(), each.lease.entry.url
        seen = self._revisits.seen(url, each.outcome, processed, self._writer.queues.tablet(url), now)
        self._keep(each.lease, seen, contact_of(each.outcome, 0.0, now))

    def _keep(self, lease: Lease, seen: Seen, contact: Contact) -> None:
        """Commit all that follows from a revisit in one batch, and free the host."""
        entry, now, writer, queues = lease.entry, self._clock.now(), self._writer, self._writer.queues
        number = queues.tablet_of(entry.url)
        batch = queues.store.tablet(number).batch()
        if seen.processed is not None:
            if writer.follow is not None:
                writer.follow(page_of(entry.href, seen.processed))
            stamp = batch.put_row(entry.url.key, seen.processed.change, int(now * 1e6))
            writer.sight(batch, number, entry, stamp, seen.processed)
            writer.tally.changed += 1
        else:
            batch.put_meta(entry.url.key, seen.meta)
        for name, count in seen.counts:
            batch.count(name, count)
        queues.frontier.done(lease, now, contact)
        queues.finish(batch, lease)
        self._revisits.write(batch, queues, entry, seen)
        offered = seen.processed or Processed(Change(seen.meta), seen.links)
        offers = writer.offers(batch, lease, offered)
        if writer.requisites is not None:
            offers += writer.requisites.offers(batch, entry, offered)
        queues.offer(batch, number, offers, now)
        queues.commit(number, batch)


def _passing(outcome: Outcome) -> Failed | None:
    """Return an outcome that says nothing of the page as the failure that it is: it was not there, or not all of it."""
    if isinstance(outcome, Failed) and outcome.reason in PASSING:
        return outcome
    if isinstance(outcome, Moved) and not outcome.permanent:  # to a login, or for maintenance
        return Failed(outcome.url, Reason.SERVER_ERROR, detail="moved for now")
    if isinstance(outcome, Fetched) and outcome.exchange.incomplete:
        return Failed(outcome.url, Reason.RESET, detail="cut short")
    return None
