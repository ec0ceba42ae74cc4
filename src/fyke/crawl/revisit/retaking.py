"""Revisits, taken: what is learnt from asking for a page again, and whether it is to be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fyke.crawl.arrival import MAX_TRIES, PASSING, Arrival, contact_of
from fyke.crawl.capture import Processed
from fyke.crawl.revisit.revisits import Revisits
from fyke.interfaces import Clock
from fyke.values import Failed, Fetched, Moved, Outcome, Reason

if TYPE_CHECKING:
    from fyke.crawl.commit import Keeper


class Retaker:
    """The part of an agent that takes a page again; the keeper writes what follows."""

    def __init__(self, keeper: Keeper, revisits: Revisits, clock: Clock) -> None:
        self._keeper = keeper
        self._revisits = revisits
        self._clock = clock

    def settle(self, each: Arrival) -> bool:
        """Take a revisit in; return False where a document has changed, and is to be read (``finish``)."""
        lease, request, outcome = each.lease, each.request, each.outcome
        entry, now, keeper, revisits = lease.entry, self._clock.now(), self._keeper, self._revisits
        contact, tablet = contact_of(outcome, 0.0, now), keeper.queues.tablet(entry.url)
        keeper.tally.contacts += 1
        if request.method == "HEAD" and revisits.wants_body(outcome, tablet):
            keeper.queues.frontier.done(lease, now, contact, keep=True)
            return True
        passing = _passing(outcome)
        if passing is not None and entry.tries + 1 < MAX_TRIES:
            keeper.fail(lease, passing, contact, now)
            return True
        revisits.budget.done()
        keeper.tally.revisits += 1
        if isinstance(outcome, Moved) and outcome.permanent:
            revisits.gauge.drop(entry.href)
            keeper.keep(lease, keeper.processor.moved(outcome, entry.depth), contact)
            return True
        if isinstance(outcome, Fetched) and request.method == "GET":
            keeper.tally.pages += 1
            keeper.tally.bytes += len(outcome.exchange.body)
            expected = keeper.rendering is not None and keeper.rendering.expects(entry.url)
            if expected or not revisits.is_same(outcome, tablet):  # the shell of a scripted page is always the same
                return False
            keeper.keep_again(lease, revisits.same(outcome, tablet, now), contact)
            return True
        processed = keeper.processor.failed(outcome, entry.depth, now) if isinstance(outcome, Failed) else None
        keeper.keep_again(lease, revisits.seen(entry.url, outcome, processed, tablet, now), contact)
        return True

    def finish(self, each: Arrival, processed: Processed) -> None:
        """Learn from a document that was read again."""
        now, url = self._clock.now(), each.lease.entry.url
        seen = self._revisits.seen(url, each.outcome, processed, self._keeper.queues.tablet(url), now)
        self._keeper.keep_again(each.lease, seen, contact_of(each.outcome, 0.0, now))


def _passing(outcome: Outcome) -> Failed | None:
    """Return an outcome that says nothing of the page as the failure that it is: it was not there, or not all of it."""
    if isinstance(outcome, Failed) and outcome.reason in PASSING:
        return outcome
    if isinstance(outcome, Moved) and not outcome.permanent:  # to a login, or for maintenance
        return Failed(outcome.url, Reason.SERVER_ERROR, detail="moved for now")
    if isinstance(outcome, Fetched) and outcome.exchange.incomplete:
        return Failed(outcome.url, Reason.RESET, detail="cut short")
    return None
