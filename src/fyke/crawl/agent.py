"""An agent: the textbook's crawler thread, many visits at once, in ticks.

::

    procedure CRAWLERTHREAD(frontier)                          here
      while not frontier.done():                               run: a tick each time round
        website ← frontier.nextSite()                          _begin_visits: frontier.next, a lease on a site
        url ← website.nextURL()
        if website.permitsCrawl(url):                          visits.begin: permission, gate
          text ← retrieveURL(url)                              visits.begin: the fetch; it arrives some ticks later
          storeDocument(url, text)                             _take: writer.take reads all that arrived, commits them
          for each url in parse(text): frontier.addURL(url)    writer.offers, queues.offer
        frontier.releaseSite(website)                          frontier.done

A tick takes a few of the visits that have arrived, reads their pages in one call, writes one batch for each tablet,
begins as many visits as may be, and sleeps until something is due. What was leased is still queued on disk until its
batch is written, so a crash loses nothing: it is fetched again. No tick reads for longer than some milliseconds.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from math import inf

from fyke.clock import boot_time
from fyke.crawl.arrival import AT_ONCE, BYTES_AT_ONCE
from fyke.crawl.capture import Processor
from fyke.crawl.commit import PageWriter
from fyke.crawl.context import FetchContext
from fyke.crawl.discovery.discovery import Discovery
from fyke.crawl.discovery.requisites import Requisites
from fyke.crawl.duplicates.examination import Examination
from fyke.crawl.mail.delivery import Delivery
from fyke.crawl.mail.durability import Durability
from fyke.crawl.mail.outbox import Letter, Offer
from fyke.crawl.order.reserve import Reserve
from fyke.crawl.politeness.gate import Gate
from fyke.crawl.politeness.rules import Rules
from fyke.crawl.queue.queues import Queues
from fyke.crawl.queue.seen_runs import SeenRuns
from fyke.crawl.revisit.revisits import Revisits
from fyke.crawl.run.board import ROOM
from fyke.crawl.run.options import AgentCallbacks, AgentOptions
from fyke.crawl.run.tally import Tally
from fyke.crawl.visit import Visits
from fyke.frontier.frontier import Frontier
from fyke.frontier.leases import Idle, Why
from fyke.frontier.priority import DefaultPrioritizer
from fyke.frontier.seen import SeenSet
from fyke.reading.page import Page
from fyke.store import Store
from fyke.url import Url
from fyke.values import Drop

MAX_FETCH = 180.0
"""Seconds that a fetch holds its host at most, should its agent die."""
_PERMIT_RETRY = 0.1  # seconds until it is seen whether what is under way comes to documents
_REST_BEAT = 0.02  # seconds between the beats of one of several agents that rests: so all soon know that they are done


class Agent:
    """Crawls the hosts of its tablets until nothing is left to do, or until it is told to stop."""

    def __init__(
        self,
        store: Store,
        frontier: Frontier,
        context: FetchContext,
        rules: Rules,
        processor: Processor,
        *,
        discovery: Discovery | None = None,
        options: AgentOptions = AgentOptions(),  # noqa: B008 - frozen
        callbacks: AgentCallbacks = AgentCallbacks(),  # noqa: B008 - frozen
    ) -> None:
        """``context`` is what contacts are made with; ``discovery`` reads sitemaps and feeds, where wanted."""
        processor.key_by(store.secret)
        self.frontier = frontier
        self._options, self._callbacks, self._clock, self._limit = options, callbacks, context.clock, context.limit
        self._seen_runs = SeenRuns(seen := SeenSet(), store.path)
        self.revisits = Revisits(options.revisits) if options.revisits else None
        self.queues = self._make_queues(store, context, rules, seen)
        self.idle = Idle(0.0, Why.EMPTY)
        """What the agent last waited for."""
        self.discovery = discovery or Discovery(processor, sitemaps=False)
        self._examination = Examination(self.queues, rules.learn, callbacks.ask)
        self.delivery = Delivery(self.queues, self._examination, context.clock, callbacks.send, self._begin)
        self._stored: list[Page] = []  # committed, and not yet told of
        self.writer = self._make_writer(rules, processor)
        self.tally = self.writer.tally
        context.gate = context.gate or Gate(frontier.politeness, MAX_FETCH)
        queues, writer = self.queues, self.writer
        self.visits = Visits(context, queues, writer, self.discovery, self.revisits, self._begin, self._notice)
        writer.ended, writer.fault, writer.beside = self.visits.end, self.visits.fault, self._begin
        self.network = self.visits.network
        self._beside: set[asyncio.Task[None]] = set()  # what waits for somebody
        self._awake = asyncio.Event()
        self._stopping = self._paused = False
        self._failure: BaseException | None = None
        self._next_beat = 0.0
        self._settled = False  # ``idle`` is what the frontier says now
        self._restored = False
        self._durability = Durability(store, self.queues.outbox, callbacks.durable)

    def _make_queues(self, store: Store, context: FetchContext, rules: Rules, seen: SeenSet) -> Queues:
        options = self._options
        queues = Queues(store, self.frontier, options.prioritizer or DefaultPrioritizer(), seen, rules.worth)
        queues.outbox.strict = self._callbacks.durable is not None
        queues.admit = rules.admit
        if context.names is not None:
            queues.prefetch = context.names.prefetch
        if options.order is not None:
            queues.order = options.order(Reserve(store, self.frontier, queues.write_site, options.concurrency))
            queues.anchors.shown = defaultdict(list)
        if self.revisits is not None:
            queues.judge, queues.rate = self.revisits.judge, self.revisits.rate
        return queues

    def _make_writer(self, rules: Rules, processor: Processor) -> PageWriter:
        options, callbacks = self._options, self._callbacks
        writer = PageWriter(
            self.queues, rules, processor, self.discovery, self._examination, self._clock,
            work_on=callbacks.work_on, revisits=self.revisits,
        )  # fmt: skip
        writer.captures = callbacks.captures
        if options.requisites:
            writer.requisites = Requisites(self.queues, rules)
        if options.form_requests:
            from fyke.crawl.discovery.forms import Forms

            post, budget = options.post_forms, options.form_requests
            writer.forms = Forms(self.queues, rules, self._permits, post=post, budget=budget)
        if callbacks.follow is not None:
            writer.follow = self._stored.append
        return writer

    def _permits(self, url: Url) -> bool:
        """Whether robots.txt, as far as it is known, allows a URL of one of this agent's hosts."""
        known = self.visits.context.permissions.known(url, self.queues.tablet, self._clock.now())
        return known is None or known.allows(url)

    def _seed(self, urls: Sequence[Url]) -> None:
        """Offer the seeds of this agent's tablets."""
        for url in self.queues.unseen(urls):
            number = self.queues.tablet_of(url)
            if number in self.queues.store.owned:
                batch = self.queues.store.tablet(number).batch()
                self.queues.offer(batch, number, [Offer(url.href, 0, 1.0)], self._clock.now())
                self.queues.store.tablet(number).write(batch)

    def stop(self) -> None:
        """Ask the agent to stop: what is in flight is finished, nothing new is begun."""
        self._stopping = True
        self._awake.set()

    def pause(self, paused: bool) -> None:
        """Begin nothing new while ``paused``; what is in flight is finished."""
        self._paused = paused
        self._notice()

    def exclude(self, judge: Callable[[Url], Drop | None]) -> None:
        """Neither follow nor fetch what ``judge`` has a reason against, in the place of what was excluded so before."""
        refusals = self.writer.rules.refusals
        if self.visits.refuses is not None:
            refusals.remove(self.visits.refuses)
        refusals.append(judge)
        self.visits.refuses = judge

    def add(self, seeds: Sequence[Url]) -> None:
        """Crawl from further seeds."""
        for url in seeds:
            self.writer.rules.admit(url)
            self.visits.context.named(url)
        self._seed(seeds)
        self._notice()

    def restore(self) -> None:
        """Take up what an earlier run left; ``run`` does it if nobody has."""
        if not self._restored:
            self._restored = True
            self.idle = Idle(self._clock.now(), Why.RESUMING)
            self.queues.restore(self._clock.now(), self._beat_if_due)
            if self.revisits is not None:
                self.revisits.take_up(self.queues, self._clock.now())

    def _beat_if_due(self) -> None:
        """Show a sign of life during a long step."""
        now = self._clock.now()
        if now >= self._next_beat:
            self._next_beat = now + self._options.beat_every
            if not self._callbacks.beat(self):
                self.stop()

    def push(self, url: Url, offers: Sequence[Offer]) -> None:
        """Take in what a hub pushed from the feed at ``url``."""
        self.writer.lister.push(url, offers)
        self._notice()

    async def run(self, seeds: Sequence[Url] = ()) -> Tally:
        """Go on where an earlier run stopped, and crawl from ``seeds``. Raises what a disk or a bug raised."""
        self.restore()
        self._seed(seeds)
        if self._callbacks.follow is not None:
            self._callbacks.follow.wake = partial(asyncio.get_running_loop().call_soon_threadsafe, self._notice)
        try:
            while not self._done():
                self._take()
                self._begin_visits()
                await self._rest()
                self._housekeep()
                if self._failure is not None:
                    raise self._failure
        finally:
            for task in self._beside:
                task.cancel()
            await asyncio.gather(*self._beside, return_exceptions=True)
            await self._seen_runs.finish()
            if self.writer.rendering is not None:
                await asyncio.to_thread(self.writer.rendering.close)
            await self._durability.end()
            if self._callbacks.captures is not None:
                self._callbacks.captures.close()
        self.queues.anchors.finish(self._clock.now())
        await self.delivery.finish(self._clock.now())
        self.visits.context.remember()
        if self.queues.order is not None:
            self.queues.order.checkpoint(force=True)
        durable = await self._durability.settle()
        while durable and self.queues.deliver(self._clock.now()):  # what waited for that
            durable = await self._durability.settle()
        # All tablets are ours, and durable: nothing to wait for.
        if durable and self._callbacks.send is None and not self._stopping:
            self.queues.duplicates.strip_all()
        return self.tally

    def _done(self) -> bool:
        return not self._busy and (self._stopping or (self._callbacks.send is None and self.resting(self._clock.now())))

    @property
    def _busy(self) -> bool:
        """Whether anything is under way."""
        return bool(self.visits.under_way or self._beside)

    def resting(self, now: float) -> bool:
        """Whether nothing is under way, nothing is in the mail, and nothing is due within the patience."""
        if self._busy or self.revisits is not None or self._paused or self.network.expects_end(now):
            return False
        waits = self.idle.why not in {Why.REFILL, Why.IN_FLIGHT} and self._waits_long(now)
        return waits and self._settled and not self.queues.pending

    def _waits_long(self, now: float) -> bool:
        """Whether what the agent waits for is beyond the patience. Our own gap between two contacts never is."""
        long = self.idle.why is not Why.DELAY and self.idle.until > now + self._options.patience
        return long and not self.frontier.keeps_a_gap()

    def _take(self) -> None:
        """Take some of the visits that have arrived: read, commit, free their hosts."""
        visits, arrived = self.visits, self.visits.arrived.waiting
        if visits.arrived.due(visits.under_way) > self._clock.now():
            return
        count, size, room = 0, 0, ROOM
        for each in arrived:
            href = each.lease.entry.href
            size += len(each.outcome.exchange.body) if each.outcome.exchange is not None else 0
            room -= len(href.encode()) + 1
            alone = href in visits.context.suspects
            if count and (alone or size > BYTES_AT_ONCE or room < 0):
                break
            count += 1
            if alone or count == AT_ONCE:
                break
        some, visits.arrived.waiting = arrived[:count], arrived[count:]
        began = boot_time()
        self.writer.take(visits.take(some))
        self.queues.flush()
        self._tell()
        visits.context.lag.hold(boot_time() - began)
        self._settled = False  # what they found may have changed what there is to wait for

    def _tell(self) -> None:
        """Hand over the documents that are written. REQUIRES: nothing is committed that is not."""
        follow = self._callbacks.follow
        if follow is not None:
            if self._stored:
                some, self._stored[:] = self._stored[:], []
                follow.take(some)
            if follow.over:
                self.stop()

    def _begin_visits(self) -> None:
        """Begin as many visits as may be."""
        now = self._clock.now()
        self._settled = True
        if self.revisits is not None:
            self.revisits.budget.passed(now, self.frontier.counts().hosts, self.tally.contacts - self.tally.revisits)
        self.queues.wake(now)
        self._deliver(now)
        self.queues.feed(now, self.tally.pages)
        behind = self._is_behind()
        while not behind and self.visits.under_way < self._options.concurrency and not self._stopping:
            if self._paused:
                self.idle = Idle(now + self._options.beat_every, Why.PAUSED)
                return
            self.queues.refill(now)
            if self.revisits is not None and (wait := self.revisits.budget.pace(now)):
                self.idle = Idle(now + wait, Why.BUDGET)
                return
            if until := self.network.waits(now, self._busy):
                self.idle = Idle(until, Why.OUTAGE)
                return
            if not self._limit.take():  # what is under way may come to nothing, and leave room for another
                self.idle = Idle(now + _PERMIT_RETRY, Why.LIMIT)
                if self._limit.reached:
                    self.stop()
                return
            lease = self.frontier.next(now)
            if isinstance(lease, Idle):
                self._limit.give_back()
                self.idle = lease
                if self.revisits is not None:
                    self.revisits.budget.spare()
                if lease.why is Why.REFILL:
                    continue
                return
            self.visits.begin(lease)
        self.idle = Idle(inf, Why.IN_FLIGHT)  # who ends, or catches up, wakes us

    def _is_behind(self) -> bool:
        """Whether so much is under way that no more should come; what is received is taken in all the same."""
        follow = self._callbacks.follow
        return self._examination.behind or self.queues.outbox.is_full or (follow is not None and follow.behind)

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        """Run what must wait for somebody: names, robots.txt, converters, mail."""
        task = asyncio.create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._beside.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._failure = task.exception()
        self._notice()

    def _notice(self) -> None:
        """Something has come: look again."""
        self._settled = False
        self._awake.set()

    async def _rest(self) -> None:
        """Wait until something may have changed: a visit arrives, a host becomes due, a second has passed."""
        self.queues.flush()
        self._tell()
        now = self._clock.now()
        if self._callbacks.send is not None and self.resting(now):
            self._next_beat = min(self._next_beat, now + _REST_BEAT)
        pause = min(self._next_beat, self.idle.until, self.visits.arrived.due(self.visits.under_way)) - now
        if not self._awake.is_set() and pause > 0 and not self._done():
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
        self._next_beat = now + self._options.beat_every
        self._deliver(now, beat=True)
        self.visits.context.remember()
        if self.queues.order is not None:
            self.queues.order.checkpoint()
        self.queues.duplicates.strip(now)
        self._seen_runs.relieve()
        self._durability.begin(not self._busy and self.queues.outbox.waits_for_sync)
        if not self._callbacks.beat(self):
            self.stop()

    def _deliver(self, now: float, beat: bool = False) -> None:
        idle = not self._busy and self._waits_long(now)
        if idle:
            self.queues.store.ease()
        if self.queues.anchors.step(now, eager=idle) and idle:
            self._awake.set()
        if self._stopping:  # what is left over stays in the outbox
            return
        self.delivery.deliver(now, eager=beat or not self._busy)
        if not self._busy and self.queues.outbox.waits_for_sync and not self._durability.is_under_way:
            self._next_beat = now  # nothing else is to be done: sync at once

    async def receive(self, letters: list[Letter]) -> None:
        """Take letters of another agent in; they have taken effect, and are synced, when this returns."""
        await self.delivery.receive(letters)
        self._notice()
