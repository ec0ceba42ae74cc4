"""An agent: the textbook's crawler thread, many at once.

::

    procedure CRAWLERTHREAD(frontier)                          here
      while not frontier.done():                               run
        website ← frontier.nextSite()                          frontier.next: a lease on a host
        url ← website.nextURL()
        if website.permitsCrawl(url):                          permissions.known
          text ← retrieveURL(url)                              transport.fetch
          storeDocument(url, text)                             _keep: one batch for all that follows
          for each url in parse(text): frontier.addURL(url)    queues.offer
        frontier.releaseSite(website)                          frontier.done

What was leased is still queued on disk until its batch is written, so a crash loses nothing: it is fetched again.
No step between two awaits takes longer than a page.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import msgspec

from fyke.crawl.delivery import Delivery, Send
from fyke.crawl.discovery import Discovery, Listing, is_free, is_guess, is_poll, places, redirected, tell
from fyke.crawl.duplicates import strip_all
from fyke.crawl.examination import Examination
from fyke.crawl.gate import Gate
from fyke.crawl.lister import Lister
from fyke.crawl.lookalikes import Ask
from fyke.crawl.mail import Letter, Offer
from fyke.crawl.order import Order, Visit
from fyke.crawl.permissions import Permissions
from fyke.crawl.process import Processed, Processor, refused
from fyke.crawl.queues import AGAIN, Queues
from fyke.crawl.reserve import Reserve
from fyke.crawl.revisits import Revisits, RevisitSettings, Seen
from fyke.crawl.rules import Rules
from fyke.crawl.seenruns import SeenRuns
from fyke.frontier.frontier import Frontier
from fyke.frontier.keys import Entry
from fyke.frontier.leases import Idle, Lease, Why
from fyke.frontier.politeness import Contact
from fyke.frontier.priority import DefaultPrioritizer
from fyke.frontier.seen import SeenSet
from fyke.interfaces import Clock, Prioritizer, Transport
from fyke.sites.standing import Permission, Verdict
from fyke.sites.traps import seen_form
from fyke.store import Batch, Change, Store
from fyke.url import Url
from fyke.values import Drop, Failed, Fetched, Moved, Outcome, Reason, Request, Unchanged

MAX_TRIES = 3
"""Fetches of a URL whose host does not answer, before it is given up."""
MAX_HOPS = 10
"""Redirects in a row, as browsers allow twice as many."""
RETRY_DELAY = 30.0
"""Seconds before the second try, and four times as many before the third."""
MAX_FETCH = 180.0
"""Seconds that a fetch holds its host at most, should its agent die."""
SYNC_EVERY = 1.0
"""Seconds between syncs of the log: what a power cut can lose."""

_PASSING = frozenset(
    {Reason.DNS, Reason.CONNECT, Reason.TIMEOUT, Reason.RESET, Reason.SERVER_ERROR, Reason.TOO_MANY_REQUESTS}
)
"""Failures that may pass."""
_NOBODY = frozenset({Reason.DNS, Reason.PRIVATE_ADDRESS})
"""Failures that are ours: no server was asked, so none has said anything of its rules."""
_OVERLOAD = frozenset({Reason.CONNECT, Reason.TIMEOUT, Reason.RESET, Reason.TOO_MANY_REQUESTS, Reason.SERVER_ERROR})


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


class Agent:
    """Crawls the hosts of its tablets until nothing is left to do, or until it is told to stop."""

    def __init__(
        self,
        store: Store,
        frontier: Frontier,
        transport: Transport,
        rules: Rules,
        permissions: Permissions,
        processor: Processor,
        clock: Clock,
        *,
        gate: Gate | None = None,
        prioritizer: Prioritizer | None = None,
        discovery: Discovery | None = None,
        concurrency: int = 256,
        patience: float = 60.0,
        permit: Callable[[], bool] = lambda: True,
        beat: Callable[[Agent], bool] = lambda agent: True,
        work_on: Callable[[str], None] = lambda href: None,
        quarantined: frozenset[str] = frozenset(),
        send: Send | None = None,
        ask: Ask | None = None,
        thread: Executor | None = None,
        revisits: RevisitSettings | None = None,
        beat_every: float = SYNC_EVERY,
        order: Callable[[Reserve], Order] | None = None,
    ) -> None:
        """``permit`` is asked before each fetch of a page whether another one is wanted.

        ``beat`` is called about once a second; where it returns False the agent stops cleanly. ``work_on`` is told
        what is about to be parsed, so that what kills an agent is known; ``quarantined`` URLs did. ``send(tablet,
        letters)`` brings letters to the agent of a tablet that is not ours and returns once they are applied; with
        it the agent is one of several, and runs until it is told to stop. ``ask`` is the index of near copies;
        ``thread`` is where pages are examined. With ``revisits`` the crawl is continuous: it never ends by itself.
        ``order`` makes the order in which pages are wanted; without it ``prioritizer`` decides for each host.
        """
        seen = SeenSet()
        self.queues = Queues(store, frontier, prioritizer or DefaultPrioritizer(), seen, rules.worth)
        self._seen_runs = SeenRuns(seen, store.path)
        self.frontier = frontier
        if order is not None:
            self.queues.order = order(Reserve(store, frontier, self.queues.write_host, concurrency))
        self.tally = Tally()
        self.idle = Idle(0.0, Why.EMPTY)
        """What the agent last waited for."""
        self._transport = transport
        self._rules = rules
        self._permissions = permissions
        self._processor = processor
        self.discovery = self._discovery = discovery or Discovery(processor, sitemaps=False)
        self._lister = Lister(self.queues, rules, self._discovery, clock)
        self._clock = clock
        self._gate = gate or Gate(frontier.politeness, MAX_FETCH)
        self._concurrency = concurrency
        self._patience = patience
        self._permit = permit
        self._beat = beat
        self._work_on = work_on
        self._quarantined = quarantined
        self._send = send
        self._examination = Examination(self.queues, rules.learn, ask, thread)
        self.delivery = Delivery(self.queues, self._examination, clock, send, self._begin)
        self.revisits = Revisits(revisits) if revisits else None
        if self.revisits is not None:
            self.queues.judge = self.revisits.judge
        self._beat_every = beat_every
        self._visits: set[asyncio.Task[None]] = set()
        self._awake = asyncio.Event()
        self._stopping = False
        self._failure: BaseException | None = None
        self._next_beat = 0.0
        self._settled = False  # ``idle`` is what the frontier says now
        self._restored = False
        self._syncing: asyncio.Future[None] | None = None

    def _seed(self, urls: Sequence[Url]) -> None:
        """Offer the seeds of this agent's tablets."""
        now = self._clock.now()
        for url in self.queues.unseen(urls):
            number = self.queues.tablet_of(url)
            if number in self.queues.store.owned:
                tablet = self.queues.store.tablet(number)
                batch = tablet.batch()
                self.queues.offer(batch, number, [Offer(url.href, 0, 1.0)], now)
                tablet.write(batch)

    def stop(self) -> None:
        """Ask the agent to stop: what is in flight is finished, nothing new is begun."""
        self._stopping = True
        self._awake.set()

    def restore(self) -> None:
        """Take up what an earlier run left; ``run`` does it if nobody has."""
        if not self._restored:
            self._restored = True
            self.queues.restore(self._clock.now())
            if self.revisits is not None:
                self.revisits.take_up(self.queues, self._clock.now())

    def push(self, url: Url, offers: Sequence[Offer]) -> None:
        """Take in what a hub pushed from the feed at ``url``."""
        self._lister.push(url, offers)
        self._settled = False
        self._awake.set()

    @property
    def stopped(self) -> bool:
        """Whether it was told to stop before it was done."""
        return self._stopping

    async def run(self, seeds: Sequence[Url] = ()) -> Tally:
        """Go on where an earlier run stopped, and crawl from ``seeds``. Raises what a disk or a bug raised."""
        self.restore()
        self._seed(seeds)
        try:
            while not self._done():
                self._begin_visits()
                await self._rest()
                self._housekeep()
                if self._failure is not None:
                    raise self._failure
        finally:
            for visit in self._visits:
                visit.cancel()
            await asyncio.gather(*self._visits, return_exceptions=True)
            await self._seen_runs.finish()
            if self._syncing is not None:
                await asyncio.wait([self._syncing])
        self.queues.anchors.step(self._clock.now(), everything=True)
        await self.delivery.finish(self._clock.now())
        self.queues.post.clear()
        if self.queues.order is not None:
            self.queues.order.checkpoint(force=True)
        self.queues.store.sync()
        if self._send is None and not self._stopping:  # all tablets are ours, and synced: nothing to wait for
            strip_all(self.queues.store)
        return self.tally

    def _done(self) -> bool:
        if self._visits:
            return False
        return self._stopping or (self._send is None and self.resting(self._clock.now()))

    def resting(self, now: float) -> bool:
        """Whether nothing is under way, nothing is in the mail, and nothing is due within the patience."""
        if self.revisits is not None:
            return False
        waits = self.idle.why not in {Why.REFILL, Why.IN_FLIGHT} and self.idle.until > now + self._patience
        return waits and self._settled and not self._visits and not self.queues.pending

    def _begin_visits(self) -> None:
        """Begin as many visits as may be."""
        now = self._clock.now()
        self._settled = True
        if self.revisits is not None:
            counts = self.frontier.counts()
            self.revisits.passed(now, counts.hosts, counts.queued)
        self.queues.wake(now)
        self._deliver(now)
        self.queues.feed(now, self.tally.pages)
        while len(self._visits) < self._concurrency and not self._stopping and not self._examination.behind:
            self.queues.refill(now)
            if self.revisits is not None and (wait := self.revisits.pace(now)):
                self.idle = Idle(now + wait, Why.BUDGET)
                return
            lease = self.frontier.next(now)
            if isinstance(lease, Idle):
                self.idle = lease
                if self.revisits is not None:
                    self.revisits.spare()
                if lease.why is Why.REFILL:
                    continue
                return
            self._begin(self._visit(lease))

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        visit = asyncio.create_task(work)
        self._visits.add(visit)
        visit.add_done_callback(self._ended)

    def _ended(self, visit: asyncio.Task[None]) -> None:
        self._visits.discard(visit)
        self._settled = False  # what it found may have changed what there is to wait for
        self._awake.set()
        if not visit.cancelled() and visit.exception() is not None:
            self._failure = visit.exception()

    async def _rest(self) -> None:
        """Wait until something may have changed: a visit ends, a host becomes due, a second has passed."""
        pause = min(self._next_beat - self._clock.now(), self.idle.until - self._clock.now())
        if not self._awake.is_set() and pause > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._awake.wait()
        else:
            await asyncio.sleep(0)
        self._awake.clear()

    def _housekeep(self) -> None:
        now = self._clock.now()
        if now < self._next_beat:
            return
        self._next_beat = now + self._beat_every
        self._deliver(now, beat=True)
        self.queues.post.clear()
        if self.queues.order is not None:
            self.queues.order.checkpoint()
        self.queues.duplicates.strip(now)
        self._seen_runs.relieve()
        if self._syncing is None or self._syncing.done():
            if self._syncing is not None:
                self._syncing.result()  # a disk that fails is heard of here
            # In a thread: a slow disk must not hold up the fetches.
            self._syncing = asyncio.get_running_loop().run_in_executor(None, self.queues.store.sync)
        if not self._beat(self):
            self.stop()

    def _deliver(self, now: float, beat: bool = False) -> None:
        self.queues.anchors.step(now, everything=not self._visits and self.idle.until > now + self._patience)
        if not self._stopping:  # what is left over stays in the outbox
            self.delivery.deliver(now, eager=beat or not self._visits)

    async def receive(self, letters: list[Letter]) -> None:
        """Take letters of another agent in; they have taken effect, and are synced, when this returns."""
        await self.delivery.receive(letters)
        self._settled = False
        self._awake.set()

    async def _visit(self, lease: Lease) -> None:
        """Contact a host once: for its robots.txt, or for the page."""
        url = lease.entry.url
        tablet = self.queues.store.tablet(self.queues.tablet_of(url))
        permission = self._permissions.known(url, tablet, self._clock.now())
        if permission is None:
            if self._enter(lease):
                await self._ask_permission(lease, url)
        elif permission.standing.verdict is Verdict.DENY:
            self._wait_for_site(lease, permission)
        elif not permission.allows(url):
            self._keep(lease, refused(lease.entry.depth, self._clock.now(), Drop.ROBOTS), None)
        elif url.href in self._quarantined:
            self._keep(lease, refused(lease.entry.depth, self._clock.now(), Reason.QUARANTINED), None)
        elif self._enter(lease):
            if lease.entry.kind == AGAIN and self.revisits is not None:
                request = self.revisits.request(lease.entry, tablet, self._clock.now())
                outcome = await self._transport.fetch(request)
                self._gate.leave(lease.host, self._clock.now())
                await self._take_again(lease, request, outcome)
                return
            if not is_free(lease.entry.kind) and not self._permit():
                self._gate.leave(lease.host, 0.0)
                self.frontier.done(lease, self._clock.now(), keep=True)
                self.stop()
                return
            validators = self._discovery.validators(lease.entry, tablet)
            outcome = await self._transport.fetch(Request(url, validators=validators))
            self._gate.leave(lease.host, self._clock.now())
            await self._take(lease, outcome)

    def _enter(self, lease: Lease) -> bool:
        """Pass the gate, or put the URL back until the host's address is free."""
        now = self._clock.now()
        busy = self._gate.enter(lease.host, now)
        if busy:
            self.frontier.done(lease, now, keep=True, not_before=busy)
        return not busy

    async def _ask_permission(self, lease: Lease, url: Url) -> None:
        started = self._clock.now()
        outcome = await self._permissions.ask(url, self._pass_gate)
        now = self._clock.now()
        self.tally.contacts += 1
        if isinstance(outcome, Failed) and outcome.reason in _NOBODY:
            self._fail(lease, Failed(url, outcome.reason, detail=outcome.detail), None, now)
            return
        tablet = self.queues.store.tablet(self.queues.tablet_of(url))
        batch = tablet.batch()
        permission = self._permissions.answered(batch, tablet, url, outcome, now)
        self.frontier.set_crawl_delay(lease.host, permission.delay)
        self.frontier.done(lease, now, _contact(outcome, started, now), keep=True)
        self.queues.write_host(batch, lease.host)
        if self._discovery.sitemaps:
            self.queues.offer(
                batch, self.queues.tablet_of(url), self._lister.wanted(batch, places(url, permission)), now
            )
        tablet.write(batch)

    async def fetch(self, request: Request) -> Outcome:
        """Fetch what is no page of the crawl (a hub is asked), once its host may be contacted."""
        self.tally.contacts += 1
        return await self._pass_gate(request, waits=True)

    async def _pass_gate(self, request: Request, *, waits: bool) -> Outcome:
        """Fetch, where the host is ours already; else wait for it (``waits``): it may be another agent's."""
        host = request.url.host
        while waits and (busy := self._gate.enter(host, self._clock.now())):
            await self._clock.sleep(busy - self._clock.now())
        try:
            return await self._transport.fetch(request)
        finally:
            self._gate.leave(host, self._clock.now())

    def _wait_for_site(self, lease: Lease, permission: Permission) -> None:
        """The site's robots.txt cannot be had, so nothing may be fetched: the host waits until it is asked again."""
        now = self._clock.now()
        self.frontier.done(lease, now, keep=True, not_before=permission.standing.expires)

    async def _take(self, lease: Lease, outcome: Outcome) -> None:
        """Make of an outcome what is kept of it."""
        entry, now = lease.entry, self._clock.now()
        contact = _contact(outcome, 0.0, now)
        self.tally.contacts += 1
        self._work_on(entry.href)
        if isinstance(outcome, Fetched):
            listing = await self._discovery.read(outcome, entry, now)
            self.tally.pages += 1
            self.tally.bytes += len(outcome.exchange.body)
            if is_guess(entry.kind) and (listing is None or not self._permit()):
                self._lister.forget(lease, contact)
            elif listing is not None:
                listing, new = await self._lister.offer_most(entry.url, listing)
                self._keep(lease, listing.processed, contact, listing, new)
            else:
                processed = await self._processor.fetched(outcome, entry.depth)
                self._keep(lease, processed if entry.told is None else tell(processed, entry.told), contact)
        elif isinstance(outcome, Moved):
            self._keep(lease, self._processor.moved(outcome, entry.depth), contact)
        elif isinstance(outcome, Unchanged) and is_poll(entry.kind):
            self._lister.forget(lease, contact, unchanged=True)
        elif isinstance(outcome, Unchanged):  # nobody asked: we sent no validators
            failure = Failed(outcome.url, Reason.PROTOCOL, detail="304 without being asked", exchange=outcome.exchange)
            self._fail(lease, failure, contact, now)
        else:
            self._fail(lease, outcome, contact, now)
        self._work_on("")

    async def _take_again(self, lease: Lease, request: Request, outcome: Outcome) -> None:
        """Make of a revisit what follows from it."""
        entry, now, revisits = lease.entry, self._clock.now(), self.revisits
        assert revisits is not None
        contact, tablet = _contact(outcome, 0.0, now), self.queues.store.tablet(self.queues.tablet_of(entry.url))
        self.tally.contacts += 1
        processed: Processed | None = None
        listing: Listing | None = None
        if isinstance(outcome, Failed) and outcome.reason in _PASSING and entry.tries + 1 < MAX_TRIES:
            self._fail(lease, outcome, contact, now)
            return
        if request.method == "HEAD" and revisits.wants_body(outcome, tablet):
            self.frontier.done(lease, now, contact, keep=True)
            return
        revisits.outstanding = max(revisits.outstanding - 1, 0)
        self.tally.revisits += 1
        if isinstance(outcome, Moved):
            revisits.gauge.drop(entry.href)
            self._keep(lease, self._processor.moved(outcome, entry.depth), contact)
            return
        if isinstance(outcome, Fetched) and request.method == "GET":
            self._work_on(entry.href)
            self.tally.pages += 1
            self.tally.bytes += len(outcome.exchange.body)
            listing = await self._discovery.read(outcome, msgspec.structs.replace(entry, kind=""), now)
            if listing is not None:
                listing, _ = await self._lister.offer_most(entry.url, listing)
                processed = listing.processed
            else:
                processed = await self._processor.fetched(outcome, entry.depth)
            self._work_on("")
        elif isinstance(outcome, Failed):
            processed = self._processor.failed(outcome, entry.depth, now)
        self._settle(lease, revisits.seen(entry.url, outcome, processed, tablet, now), contact, listing)

    def _settle(self, lease: Lease, seen: Seen, contact: Contact, listing: Listing | None) -> None:
        """Write all that follows from a revisit in one batch, and free the host."""
        entry, now, revisits = lease.entry, self._clock.now(), self.revisits
        assert revisits is not None
        number = self.queues.tablet_of(entry.url)
        tablet = self.queues.store.tablet(number)
        batch = tablet.batch()
        if seen.processed is not None:
            stamp = batch.put_row(entry.url.key, seen.processed.change, int(now * 1e6))
            self._sight(batch, number, entry, stamp, seen.processed)
            self.tally.changed += 1
        else:
            batch.put_meta(entry.url.key, seen.meta)
        for name, count in seen.counts:
            batch.count(name, count)
        self.frontier.done(lease, now, contact)
        self.queues.finish(batch, lease)
        revisits.write(batch, self.queues, entry, seen)
        offered = seen.processed or Processed(Change(seen.meta), seen.links)
        offers = self._lister.wanted(batch, listing.offers) if listing is not None else []
        self.queues.offer(batch, number, offers + self._offers(batch, lease, offered), now)
        tablet.write(batch)
        if listing is not None:
            revisits.told(self.queues, listing.signals, "sitemap", now)

    def _fail(self, lease: Lease, outcome: Failed, contact: Contact | None, now: float) -> None:
        entry = lease.entry
        if outcome.reason in _PASSING and entry.tries + 1 < MAX_TRIES and not is_guess(entry.kind):
            due = max(now + RETRY_DELAY * 4**entry.tries, outcome.retry_at or 0.0)
            tablet = self.queues.store.tablet(self.queues.tablet_of(outcome.url))
            batch = tablet.batch()
            self.queues.postpone(batch, msgspec.structs.replace(entry, tries=entry.tries + 1), due)
            self.frontier.done(lease, now, contact)
            self.queues.finish(batch, lease)
            tablet.write(batch)
        elif is_guess(entry.kind) or (is_poll(entry.kind) and outcome.reason is not Reason.GONE):
            self._lister.forget(lease, contact)
        else:
            self._keep(lease, self._processor.failed(outcome, entry.depth, now), contact)

    def _keep(
        self, lease: Lease, processed: Processed, contact: Contact | None, listing: Listing | None = None, new: int = 0
    ) -> None:
        """Write all that follows from a visit in one batch, and free the host."""
        entry, now = lease.entry, self._clock.now()
        number = self.queues.tablet_of(entry.url)
        tablet = self.queues.store.tablet(number)
        batch = tablet.batch()
        if self.queues.order is not None:
            processed = self.queues.order.read(batch, entry, processed)
        meta = processed.change.meta
        # Sitemaps and feeds are asked again in their own rhythm.
        if self.revisits is not None and listing is None and 200 <= meta.status < 300 and not meta.error:
            processed = self.revisits.first(batch, self.queues, entry, processed, now)
        stamp = batch.put_row(entry.url.key, processed.change, int(now * 1e6))
        if meta.error:
            batch.count("errors:" + meta.error)
        if processed.redirected:
            batch.count("moved")
        elif 200 <= meta.status < 400 and not is_poll(entry.kind):  # which is counted already
            batch.count("pages")
            batch.count("bytes", meta.length)
        for why, count in processed.dropped:
            batch.count("dropped:" + why, count)
        self.frontier.done(lease, now, contact)
        self.queues.finish(batch, lease)
        self._sight(batch, number, entry, stamp, processed)
        offers: list[Offer] = []
        if listing is not None:
            offers = self._lister.wanted(batch, listing.offers)
            for name, count in listing.counts:
                batch.count(name, count)
            self._discovery.polled(batch, self.queues, entry, now, listing=listing, new=new + len(offers))
        self.queues.offer(batch, number, offers + self._offers(batch, lease, processed), now)
        tablet.write(batch)
        if listing is not None and self.revisits is not None:
            self.revisits.told(self.queues, listing.signals, listing.kind.rstrip("0123456789?:"), now)

    def _sight(self, batch: Batch, number: int, entry: Entry, stamp: int, processed: Processed) -> None:
        """Have it found out whether a document is a copy, and its anchor texts brought to their targets."""
        self.queues.anchors.note(number, entry.href, stamp, processed.change.links or ())
        if processed.material is not None:
            self._examination.stored(batch, number, entry.url, stamp, processed.material)

    def _offers(self, batch: Batch, lease: Lease, processed: Processed) -> list[Offer]:
        """The links that are new and that belong to the crawl."""
        entry = lease.entry
        depth, kind, hops, told = entry.depth + 1, "", 0, None
        if processed.redirected:  # as far from the seeds as the page that sent us there
            depth, told = entry.depth, entry.told
            kind, hops = redirected(entry.kind)
        offers = []
        targets = [link.target for link in processed.links]
        fresh = self.queues.unseen(targets, processed.keys)
        if processed.redirected and not fresh and seen_form(targets[0]) == seen_form(entry.url):
            fresh = targets  # from one session id of the page to another: follow it, as far as the hops go
        if self.queues.order is not None:
            refusal = self._rules.belongs if hops <= MAX_HOPS else lambda url: Drop.REDIRECTS
            visit = Visit.of(batch, self.queues.tablet_of(entry.url), entry, processed, fresh, depth, kind, refusal)
            return self.queues.order.offers(visit)
        for url in fresh:
            why = self._rules.belongs(url)
            if hops > MAX_HOPS:
                why = Drop.REDIRECTS
            if why is None:
                offers.append(Offer(url.href, depth, kind=kind, told=told))
            else:
                batch.count("dropped:" + why)
        return offers


def _contact(outcome: Outcome, started: float, finished: float) -> Contact:
    """What politeness must know of an outcome."""
    exchange = outcome.exchange
    if exchange is not None:
        started, finished = exchange.started, exchange.finished
    reason = outcome.reason if isinstance(outcome, Failed) else None
    retry_at = outcome.retry_at if isinstance(outcome, Failed) and outcome.retry_at else 0.0
    return Contact(finished, finished - (started or finished), reason in _OVERLOAD, retry_at)
