"""What follows from a visit is written: the row, links, letters, the next visit, in one batch; and the host is free.

::

    take ─┬─ pages ──▶ read, all in one call ──▶ keep ──▶ one batch for each: row, queue, counters, offers, questions
          ├─ other documents, sitemaps, feeds: beside, one by one ──▶ keep
          ├─ moved: a row that says where
          └─ failed ──▶ fail: tried again later, or a row that says why

A batch is committed when it is complete, and those of a tick are written together (``Queues.flush``).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from fyke.crawl.arrival import MAX_TRIES, PASSING, Arrival, contact_of
from fyke.crawl.capture import Processed, Processor, page_of
from fyke.crawl.discovery.discovery import Discovery, Listing, completed, is_guess, is_poll, is_sitemap, redirected
from fyke.crawl.discovery.lister import Lister
from fyke.crawl.discovery.requisites import Requisites
from fyke.crawl.duplicates.examination import Examination
from fyke.crawl.hooks import Hook, edited
from fyke.crawl.mail.outbox import Offer
from fyke.crawl.order.order import Visit
from fyke.crawl.politeness.rules import Rules
from fyke.crawl.queue.later import REVISIT
from fyke.crawl.queue.queues import Queues
from fyke.crawl.revisit.revisits import Revisits
from fyke.crawl.revisit.writing import RevisitWriter
from fyke.crawl.run.runtime import log
from fyke.crawl.run.tally import Tally
from fyke.errors import FykeError
from fyke.frontier.keys import Entry, is_form, is_requisite
from fyke.frontier.leases import Lease
from fyke.frontier.politeness import Contact
from fyke.interfaces import Clock
from fyke.reading.page import Page as PageOfRow
from fyke.sites.traps import seen_form
from fyke.store import Batch
from fyke.url import Url
from fyke.values import Drop, Failed, Fetched, Links, Moved, Reason, Unchanged

if TYPE_CHECKING:  # loaded by those who want them
    from fyke.crawl.discovery.forms import Forms
    from fyke.crawl.discovery.rendering import Rendering
    from fyke.crawl.run.archiving import WarcDir

MAX_HOPS = 10
"""Redirects in a row, as browsers allow twice as many."""
RETRY_DELAYS = 10.0
"""Of the host's delay, before the second try, and four times as many before the third: 10 and 40 s by default."""
LEAST_RETRY = 1.0
"""Seconds before the second try where the delay is shorter."""

_TROUBLES = 1000
"""Sites whose last trouble is remembered, so that a crawl can tell why it came to nothing."""


class PageWriter:
    """The part of an agent that writes: the rows of first visits, and (with ``revisits``) of further ones."""

    def __init__(
        self,
        queues: Queues,
        rules: Rules,
        processor: Processor,
        discovery: Discovery,
        examination: Examination,
        clock: Clock,
        *,
        work_on: Callable[[Iterable[str]], None],
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
        self.ended: Callable[[Lease], None] = lambda lease: None
        """Told when all that follows from a visit is committed."""
        self.captures: WarcDir | None = None
        """Takes every exchange before anything follows from it."""
        self.requisites: Requisites | None = None
        """Finds what pages need to be shown, where that is wanted."""
        self.rendering: Rendering | None = None
        """Shows pages in a browser, where that is wanted and worth it."""
        self.forms: Forms | None = None
        """Asks forms for what is behind them, where that is wanted."""
        self.after_reading: Hook | None = None
        """A user's, asked of each document that was read."""
        self.follow: Callable[[PageOfRow], None] | None = None
        """Told of each document once it is committed; what it is told is written by the next ``flush``."""
        self.fault: Callable[[Lease], None] = lambda lease: None
        """Told of a fault of ours with a visit, while it is handled."""
        self.beside: Callable[[Coroutine[None, None, None]], None] = lambda work: work.close()
        """Runs what must wait for somebody."""
        self._revisit_writer = RevisitWriter(self, revisits, clock) if revisits is not None else None
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

    def take(self, arrivals: Sequence[Arrival]) -> None:
        """Make of arrivals what is kept of them: the pages among them are read in one call."""
        pages: list[tuple[Arrival, str]] = []
        if self.captures is not None:
            for each in arrivals:
                self.captures.add(each.outcome)
            self.captures.flush()
        for each in arrivals:
            try:
                page = self._sort(each)
            except (FykeError, OSError):
                raise
            except Exception:
                self.fault(each.lease)
            else:
                pages += [(each, page)] if page else []
        if not pages:
            return
        self.work_on([each.lease.entry.href for each, _ in pages])
        for (each, _), processed in zip(pages, self._read(pages), strict=True):
            self._conclude(each, processed)
        self.queues.flush()
        self.work_on(())

    def _sort(self, each: Arrival) -> str:
        """Settle an arrival that needs no reading, or have it read beside; of a page, return its type."""
        outcome, entry = each.outcome, each.lease.entry
        revisit = self._revisit(entry)
        if self._settle(each) if revisit is None else revisit.settle(each):
            self.ended(each.lease)
            return ""
        assert isinstance(outcome, Fetched)
        page = "" if self.discovery.may_list(outcome, entry) else self.processor.page_type(outcome)
        if not page:
            self.beside(self._take_beside(each, outcome))
        return page

    def _revisit(self, entry: Entry) -> RevisitWriter | None:
        return self._revisit_writer if entry.kind == REVISIT else None

    def _settle(self, each: Arrival) -> bool:
        """Take an outcome in; return False of a document, which is to be read."""
        lease, outcome, now = each.lease, each.outcome, self._clock.now()
        self.tally.contacts += 1
        cut_short = isinstance(outcome, Fetched) and outcome.exchange.incomplete and self._again(lease.entry)
        if isinstance(outcome, Fetched) and not cut_short and not is_requisite(lease.entry.kind):
            self.tally.pages += 1
            self.tally.bytes += len(outcome.exchange.body)
            return False
        contact = contact_of(outcome, 0.0, now)
        if cut_short:
            self.fail(lease, Failed(outcome.url, Reason.RESET, detail="cut short"), contact, now)
        elif isinstance(outcome, Fetched):
            self.keep(lease, self.processor.requisite(outcome, lease.entry.depth), contact)
        elif isinstance(outcome, Moved):
            self.keep(lease, self.processor.moved(outcome, lease.entry.depth), contact)
        elif isinstance(outcome, Unchanged) and is_poll(lease.entry.kind):
            self.lister.forget(lease, contact, unchanged=True)
        elif isinstance(outcome, Unchanged):  # nobody asked: we sent no validators
            failure = Failed(outcome.url, Reason.PROTOCOL, detail="304 without being asked", exchange=outcome.exchange)
            self.fail(lease, failure, contact, now)
        else:
            self.fail(lease, outcome, contact, now)
        return True

    def _read(self, pages: Sequence[tuple[Arrival, str]]) -> list[Processed]:
        given = [(each.outcome, each.lease.entry.depth, kind) for each, kind in pages]
        try:
            return self.processor.read_many(given)  # type: ignore[arg-type]
        except (FykeError, OSError):
            raise
        except Exception:
            if len(pages) > 1:  # who of them is it?
                return [self._read([each])[0] for each in pages]
            return [self._unreadable(pages[0][0])]

    def _unreadable(self, each: Arrival) -> Processed:
        """A fault of ours, which has just been raised: the document is kept as it came."""
        log.exception("%s could not be read", each.lease.entry.href)
        failure = Failed(each.outcome.url, Reason.UNREADABLE, exchange=each.outcome.exchange)
        return self.processor.failed(failure, each.lease.entry.depth, self._clock.now())

    def _conclude(self, each: Arrival, processed: Processed) -> None:
        """Commit a page that was read: now, or beside where a browser or a hook is to see it first."""
        try:
            processed, why = self._look(each, processed)
            if why or self.after_reading is not None:
                self.beside(self._finish_made(each, processed, why))
                return
            self._finish(each, processed)
        except (FykeError, OSError):
            raise
        except Exception:
            self.fault(each.lease)
        else:
            self.ended(each.lease)

    def _look(self, each: Arrival, processed: Processed) -> tuple[Processed, str]:
        """Why a browser is to show a page; empty where it is not."""
        return (processed, "") if self.rendering is None else self.rendering.look(each, processed)

    async def _finish_made(self, each: Arrival, processed: Processed, why: str) -> None:
        """Commit a document as a browser and the user's hook have it."""
        try:
            self._finish(*await self._made(each, processed, why))
            self.ended(each.lease)
        except (FykeError, OSError):
            raise
        except Exception:
            self.fault(each.lease)
        finally:
            self.queues.flush()

    async def _made(self, each: Arrival, processed: Processed, why: str) -> tuple[Arrival, Processed]:
        """What is kept of a document: as a browser shows it, if there is a reason, and as the user's hook wants it."""
        if why and self.rendering is not None:
            each, processed = await self.rendering.render(each, processed, why)
        if self.after_reading is not None:
            processed = await edited(self.after_reading, each.lease.entry, processed, self._clock.now())
        return each, processed

    def _finish(self, each: Arrival, processed: Processed) -> None:
        """Commit what was read of a document."""
        lease, entry = each.lease, each.lease.entry
        if (revisit := self._revisit(entry)) is not None and processed.change.meta.error != Reason.UNREADABLE:
            revisit.finish(each, processed)
        else:
            contact = contact_of(each.outcome, 0.0, self._clock.now())
            self.keep(lease, processed if entry.from_feed is None else completed(processed, entry.from_feed), contact)

    async def _take_beside(self, each: Arrival, outcome: Fetched) -> None:
        """Read a document that is no page, or a large one, or one that lists pages; commit what follows."""
        lease, entry = each.lease, each.lease.entry
        try:
            self.work_on([entry.href])
            listing = await self._listing(each, outcome)
            if listing is None and not is_guess(entry.kind):
                try:
                    processed = await self.processor.fetched(outcome, entry.depth)
                except (FykeError, OSError):
                    raise
                except Exception:
                    processed = self._unreadable(each)
                self._finish(*await self._made(each, *self._look(each, processed)))
            elif listing is None:
                self.lister.forget(lease, contact_of(outcome, 0.0, self._clock.now()))
            self.ended(lease)
        except (FykeError, OSError):
            raise
        except Exception:
            self.fault(lease)
        finally:
            self.queues.flush()
            self.work_on(())

    async def _listing(self, each: Arrival, outcome: Fetched) -> Listing | None:
        """Commit what a sitemap or feed lists, where the document is one."""
        lease, entry = each.lease, each.lease.entry
        if self._revisit(entry) is not None:
            return None
        listing = await self.discovery.read(outcome, entry, self._clock.now())
        if listing is None:
            return None
        listing, new = await self.lister.offer_most(entry.url, listing)
        self.keep(lease, listing.processed, contact_of(outcome, 0.0, self._clock.now()), listing, new)
        self.queues.flush()
        if self._revisits is not None:
            kind = "sitemap" if is_sitemap(listing.kind) else "feed"
            self._revisits.told(self.queues, listing.signals, kind, self._clock.now())
        return listing

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
            number = self.queues.tablet_of(outcome.url)
            batch = self.queues.store.tablet(number).batch()
            self.queues.postpone(batch, msgspec.structs.replace(entry, tries=entry.tries + 1), due)
            self.queues.frontier.done(lease, now, contact)
            self.queues.finish(batch, lease)
            self.queues.commit(number, batch)
        elif is_guess(entry.kind) or (is_poll(entry.kind) and outcome.reason is not Reason.GONE):
            self.lister.forget(lease, contact)
        else:
            self.keep(lease, self.processor.failed(outcome, entry.depth, now), contact)

    def keep(
        self, lease: Lease, processed: Processed, contact: Contact | None, listing: Listing | None = None, new: int = 0
    ) -> None:
        """Commit all that follows from a visit in one batch, and free the host."""
        entry, url, now = lease.entry, lease.entry.url, self._clock.now()
        number = self.queues.tablet_of(url)
        batch = self.queues.store.tablet(number).batch()
        is_page = not is_requisite(entry.kind)
        if self.queues.order is not None and is_page:
            processed = self.queues.order.read(batch, entry, processed, self.queues.anchors.texts(entry.href))
        meta = processed.change.meta
        # Sitemaps and feeds are asked again in their own rhythm; answers to forms are not.
        again = listing is None and is_page and not is_form(entry.kind)
        if self._revisits is not None and again and 200 <= meta.status < 300 and not meta.error:
            processed = self._revisits.first(batch, self.queues, entry, processed, now)
        stamp = batch.put_row(url.key, processed.change, int(now * 1e6))
        if meta.error:
            batch.count("errors:" + meta.error)
        if processed.redirected:
            batch.count("moved")
        elif 200 <= meta.status < 400 and not is_page:
            batch.count("requisites")
        elif 200 <= meta.status < 400 and not is_poll(entry.kind):  # which is counted already
            batch.count("pages")
            batch.count("bytes", meta.length)
            self._documents.add(id(lease))
        for name, count in processed.counted():
            batch.count(name, count)
        self.queues.frontier.done(lease, now, contact)
        self.queues.finish(batch, lease)
        self.sight(batch, number, entry, stamp, processed)
        offers: list[Offer] = []
        if listing is not None:
            offers = self.lister.wanted(batch, listing.offers)
            for name, count in listing.counts:
                batch.count(name, count)
            self.discovery.polled(batch, self.queues, entry, now, listing=listing, new=new + len(offers))
        shown = processed if self.forms is None else self.forms.sift(entry, processed)
        offers += self.offers(batch, lease, shown) if is_page else []
        if self.forms is not None:
            self.forms.take(batch, entry, processed, offers, now)
        if self.requisites is not None:
            offers += self.requisites.offers(batch, entry, processed)
        self.queues.offer(batch, number, offers, now)
        self.queues.commit(number, batch)
        if self.follow is not None and is_page and listing is None and 200 <= meta.status < 300 and not meta.error:
            self.follow(page_of(entry.href, processed))

    def sight(self, batch: Batch, number: int, entry: Entry, stamp: int, processed: Processed) -> None:
        """Have it found out whether a document is a copy, and its anchor texts brought to their targets."""
        self.queues.anchors.note(number, entry.href, stamp, processed.change.links or ())
        if processed.material is not None:
            self._examination.stored(batch, number, entry.url, stamp, processed.material)

    def offers(self, batch: Batch, lease: Lease, processed: Processed) -> list[Offer]:
        """The links that are new and that belong to the crawl."""
        entry = lease.entry
        depth, kind, hops, from_feed = entry.depth + 1, "", 0, None
        if processed.redirected:  # as far from the seeds as the page that sent us there
            depth, from_feed = entry.depth, entry.from_feed
            kind, hops = redirected(entry.kind)
            if not entry.depth and not is_sitemap(entry.kind):  # a seed is where it leads
                self.rules.admit(processed.links[0].target)
        links = Links.of(processed.links)
        keys = self.queues.keys(links.targets) if processed.keys is None else processed.keys
        fresh = [*map(Url, self.queues.unseen_by_key(links, keys))]
        if processed.redirected and not fresh and seen_form(links.targets[0]) == seen_form(entry.url):
            fresh = [*links.targets]  # from one session id of the page to another: follow it, as far as the hops go
        hop = self.rules.next_hop(entry, processed.redirected) if self.rules.hops_off else 0
        within = self.rules.belongs_or_is_near if hop else self.rules.belongs
        belongs = within if hops <= MAX_HOPS else lambda url: Drop.REDIRECTS
        offers: list[Offer] = []
        if self.queues.order is not None:
            number = self.queues.tablet_of(entry.url)
            visit = Visit.of(batch, number, entry, processed, keys, fresh, depth, kind, belongs)
            offers, fresh = self.queues.order.offers(visit), []
        for url in fresh:
            why = belongs(url)
            if why is None:
                offers.append(Offer(url.href, depth, kind=kind, from_feed=from_feed))
            else:
                batch.count("dropped:" + why)
        return self.rules.numbered(offers, hop) if hop else offers
