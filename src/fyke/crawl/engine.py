"""An agent: the textbook's crawler thread, many at once.

::

    procedure CRAWLERTHREAD(frontier)                          here
      while not frontier.done():                               run
        website ← frontier.nextSite()                          frontier.next: a lease on a host
        url ← website.nextURL()
        if website.permitsCrawl(url):                          permissions.known
          text ← retrieveURL(url)                              transport.fetch
          storeDocument(url, text)                             keeping: one batch for all that follows
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

from fyke.crawl.budget import RevisitSettings
from fyke.crawl.delivery import Delivery, Send
from fyke.crawl.discovery import Discovery, is_free, places
from fyke.crawl.duplicates import strip_all
from fyke.crawl.examination import Examination
from fyke.crawl.gate import Gate
from fyke.crawl.keeping import Keeper, Tally, contact_of
from fyke.crawl.lookalikes import Ask
from fyke.crawl.mail import Letter, Offer
from fyke.crawl.order import Order
from fyke.crawl.permissions import Permissions
from fyke.crawl.process import Processor, refused
from fyke.crawl.queues import AGAIN, Queues
from fyke.crawl.reserve import Reserve
from fyke.crawl.retaking import Retaker
from fyke.crawl.revisits import Revisits
from fyke.crawl.rules import Rules
from fyke.crawl.seenruns import SeenRuns
from fyke.frontier.frontier import Frontier
from fyke.frontier.leases import Idle, Lease, Why
from fyke.frontier.priority import DefaultPrioritizer
from fyke.frontier.seen import SeenSet
from fyke.interfaces import Clock, Prioritizer, Transport
from fyke.sites.standing import Permission, Verdict
from fyke.store import Store
from fyke.url import Url
from fyke.values import Drop, Failed, Outcome, Reason, Request

MAX_FETCH = 180.0
"""Seconds that a fetch holds its host at most, should its agent die."""
SYNC_EVERY = 1.0
"""Seconds between syncs of the log: what a power cut can lose."""

GATE_RETRY = 1.0
"""Seconds until a host that another contact holds is tried again."""

_NOBODY = frozenset({Reason.DNS, Reason.PRIVATE_ADDRESS})
"""Failures that are ours: no server was asked, so none has said anything of its rules."""


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
        self.idle = Idle(0.0, Why.EMPTY)
        """What the agent last waited for."""
        self.transport = transport
        self.permissions = permissions
        self.discovery = discovery or Discovery(processor, sitemaps=False)
        self._clock = clock
        self._gate = gate or Gate(frontier.politeness, MAX_FETCH)
        self._concurrency = concurrency
        self._patience = patience
        self._permit = permit
        self._beat = beat
        self._quarantined = quarantined
        self._send = send
        self._examination = Examination(self.queues, rules.learn, ask, thread)
        self.delivery = Delivery(self.queues, self._examination, clock, send, self._begin)
        self.revisits = Revisits(revisits) if revisits else None
        if self.revisits is not None:
            self.queues.judge = self.revisits.judge
        self.keeper = Keeper(
            self.queues, rules, processor, self.discovery, self._examination, clock,
            permit=permit, work_on=work_on, revisits=self.revisits,
        )  # fmt: skip
        self.tally = self.keeper.tally
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
        self.keeper.lister.push(url, offers)
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
            self.revisits.budget.passed(now, self.frontier.counts().hosts, self.tally.contacts - self.tally.revisits)
        self.queues.wake(now)
        self._deliver(now)
        self.queues.feed(now, self.tally.pages)
        while len(self._visits) < self._concurrency and not self._stopping and not self._examination.behind:
            self.queues.refill(now)
            if self.revisits is not None and (wait := self.revisits.budget.pace(now)):
                self.idle = Idle(now + wait, Why.BUDGET)
                return
            lease = self.frontier.next(now)
            if isinstance(lease, Idle):
                self.idle = lease
                if self.revisits is not None:
                    self.revisits.budget.spare()
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
        permission = self.permissions.known(url, tablet, self._clock.now())
        if permission is None:
            if self._enter(lease):
                await self._ask_permission(lease, url)
        elif permission.standing.verdict is Verdict.DENY:
            self._wait_for_site(lease, permission)
        elif not permission.allows(url):
            self.keeper.keep(lease, refused(lease.entry.depth, self._clock.now(), Drop.ROBOTS), None)
        elif url.href in self._quarantined:
            self.keeper.keep(lease, refused(lease.entry.depth, self._clock.now(), Reason.QUARANTINED), None)
        elif self._enter(lease):
            if lease.entry.kind == AGAIN and self.revisits is not None:
                request = self.revisits.request(lease.entry, tablet, self._clock.now())
                outcome = await self.transport.fetch(request)
                self._gate.leave(lease.host, self._clock.now())
                await Retaker(self.keeper, self.revisits, self._clock).take(lease, request, outcome)
                return
            if not is_free(lease.entry.kind) and not self._permit():
                self._gate.leave(lease.host, 0.0)
                self.frontier.done(lease, self._clock.now(), keep=True)
                self.stop()
                return
            validators = self.discovery.validators(lease.entry, tablet)
            outcome = await self.transport.fetch(Request(url, validators=validators))
            self._gate.leave(lease.host, self._clock.now())
            await self.keeper.take(lease, outcome)

    def _enter(self, lease: Lease) -> bool:
        """Pass the gate, or put the URL back until the host's address is free."""
        now = self._clock.now()
        busy = self._gate.enter(lease.host, now)
        if busy:
            self.frontier.done(lease, now, keep=True, not_before=busy)
        return not busy

    async def _ask_permission(self, lease: Lease, url: Url) -> None:
        started = self._clock.now()
        outcome = await self.permissions.ask(url, self._pass_gate)
        now = self._clock.now()
        self.tally.contacts += 1
        if isinstance(outcome, Failed) and outcome.reason in _NOBODY:
            self.keeper.fail(lease, Failed(url, outcome.reason, detail=outcome.detail), None, now)
            return
        tablet = self.queues.store.tablet(self.queues.tablet_of(url))
        batch = tablet.batch()
        permission = self.permissions.answered(batch, tablet, url, outcome, now)
        self.frontier.set_crawl_delay(lease.host, permission.delay)
        self.frontier.done(lease, now, contact_of(outcome, started, now), keep=True)
        self.queues.write_host(batch, lease.host)
        if self.discovery.sitemaps:
            self.queues.offer(
                batch, self.queues.tablet_of(url), self.keeper.lister.wanted(batch, places(url, permission)), now
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
            # A contact under way is claimed for as long as it may take, and mostly over in a moment.
            await self._clock.sleep(min(busy - self._clock.now(), GATE_RETRY))
        try:
            return await self.transport.fetch(request)
        finally:
            self._gate.leave(host, self._clock.now())

    def _wait_for_site(self, lease: Lease, permission: Permission) -> None:
        """The site's robots.txt cannot be had, so nothing may be fetched: the host waits until it is asked again."""
        now = self._clock.now()
        self.frontier.done(lease, now, keep=True, not_before=permission.standing.expires)
