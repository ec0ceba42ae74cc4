"""Which URL next: Mercator's frontier over queues on disk, front queues by priority, back queues by site.

A URL's life, and who moves it::

    discovered ──add──▶ queued ──next──▶ leased ──done──▶ known
                          ▲                 │  └─done(keep=True)─▶ queued, at its place
                          └── add ── later ◀┘  (the engine writes a later entry, and adds it when it is due)

What is queued, permitted and what fails is a **site** (scheme, host, port); what is left in peace is its **host**.
On disk a site has one FIFO, a *lane*, for each priority (fyke.frontier.keys). In memory:

- a **lane** is three numbers: ``low ≤ head ≤ tail``. Entries from ``low`` are on disk, those before ``head`` are
  in memory or leased, the next one is written at ``tail``. Seek from ``low``, never over deleted keys.
- K **front queues** hold, for each priority, the sites with entries that are not in memory, first come first served.
- B **back queues** hold the next entries of one site each. A site without one waits in the front queues. There are
  more of them where all wait for their hosts while others could be served: delays are long, or answers quick.
- the **heap** holds each back queue that can be served, by the earliest time of its site's next contact. One whose host
  is contacted for another site waits at the host until that contact has ended.

Invariants (tests/frontier/test_mercator.py): a site has at most one back queue, a host one lease; a back queue is never
empty; none is unused while a front queue holds a site; an entry whose site has a back
queue is appended to it, and another one is pulled. Within site and priority the order is that of ``add``.

A site whose next contact is further away than ``PARK`` gives up its back queue and is *parked*, so that sites in
back-off hold up nobody. Sites of which nothing is queued live on disk (fyke.frontier.sites).

The engine's part: write what ``add`` returns, delete ``lease.key`` of what is done, and write ``record(site)``, all in
the batch of the page. Then serve ``refills()``: read that many entries from that key on, and ``supply`` them.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from fyke.frontier.host import Lane, Site
from fyke.frontier.keys import Entry, SiteRecord, queue_key
from fyke.frontier.leases import Counts, Idle, Lease, Refill, Why
from fyke.frontier.politeness import Contact, Politeness, after
from fyke.frontier.selector import RoundRobin, Selector
from fyke.frontier.sites import SiteTable

CHUNK = 32
"""Entries read at a time: enough to make reads cheap, few enough that a new priority takes effect soon."""
PARK = 60.0
"""Seconds: a site that waits longer is not worth a back queue."""
PRIORITIES = 8
BACK_QUEUES = 768
"""Three for each of 256 concurrent fetches, as Mercator's authors recommend."""
MOST_BACK_QUEUES = 8192
"""So many hosts are served in turn: 400 contacts a second where each is left in peace for 20 s."""
_MANY = 3072  # back queues, beyond which each holds a quarter of a chunk: the memory of all is bounded
_NEVER = float("inf")


class Frontier:
    """Which URL next. Times are seconds since 1970; ``now`` never decreases from call to call."""

    def __init__(
        self,
        politeness: Politeness = Politeness(),  # noqa: B008 - frozen
        *,
        priorities: int = PRIORITIES,
        back_queues: int = BACK_QUEUES,
        most: int = MOST_BACK_QUEUES,
        selector: Selector | None = None,
        only: str = "",
    ) -> None:
        """``back_queues`` become up to ``most``. ``only`` sites whose names begin so are served; others stay queued."""
        self.politeness = politeness
        self.priorities = priorities
        self._room, self._most, self._chunk = back_queues, most, CHUNK
        self._only = only
        self._selector = selector or RoundRobin()
        self.sites = SiteTable(priorities, politeness)
        self._front: list[deque[str]] = [deque() for _ in range(priorities)]
        self._placed = 0  # names in the front queues
        self._used = 0  # back queues that hold a site
        self._heap: list[tuple[float, int, Site]] = []
        self._parked: list[tuple[float, int, Site]] = []
        self._turn = 0  # makes heap entries comparable, first come first served
        self._refills: list[Refill] = []
        self._awaited = 0  # entries asked for and not yet supplied
        self._queued = 0
        self._leased = 0
        self._later = _NEVER

    # ---- URLs in ----------------------------------------------------------------------------------------------

    def add(self, site: str, entries: Iterable[Entry], now: float) -> list[tuple[bytes, bytes]]:
        """Queue ``entries`` of one site; return the keys and values to write. REQUIRES: 1 ≤ priority ≤ K."""
        record = self.sites.site(site)
        puts = []
        taken = self._take(record, now)
        for entry in entries:
            lane = record.lane(entry.priority)
            sequence = lane.tail
            lane.tail += 1
            puts.append((queue_key(site, entry.priority, sequence), entry.encode()))
            back = record.back
            if back is not None and lane.head == sequence and not record.coming and len(back) < self._chunk:
                back.append((sequence, entry))
                lane.head += 1
            elif not lane.placed and not record.parked:
                self._place(record, entry.priority, lane)
        self._queued += len(puts)
        if taken and not record.back:
            self._release(record)
        elif taken and record.lease is None:
            self._push(record)
        self._fill(now)
        self.sites.forget(record, now)
        return puts

    def restore(self, record: SiteRecord, now: float) -> None:
        """Take up a site after a restart, before anything else is asked of it. Its host waits its full delay once."""
        site = self.sites.restore(record, now)
        if site is None:
            return
        for index, lane in enumerate(site.lanes):
            if lane is not None:
                self._queued += lane.tail - lane.low
                if lane.low < lane.tail:
                    self._place(site, index + 1, lane)
        self.sites.forget(site, now)

    def record(self, site: str) -> SiteRecord:
        """Return what to write of a site after its queue or its pace changed."""
        return self.sites.site(site).record()

    # ---- URLs out ---------------------------------------------------------------------------------------------

    def next(self, now: float) -> Lease | Idle:
        """Hand out the URL whose site may be contacted first, or say what there is to wait for."""
        self._wake(now)
        if self._used < self._room:
            self._fill(now)
        while self._heap and self._heap[0][0] <= now:
            site = heapq.heappop(self._heap)[2]
            if site.host.lease is not None:
                site.host.waiting.append(site)
            elif site.due > now + PARK:
                self._park(site)
                self._fill(now)
            elif site.due > now:
                self._push(site)
            else:
                return self._lease(site, now)
        if not self._awaited and self._placed and self._room <= self._used < self._most:
            self._room = min(2 * self._room, self._most)
            self._chunk = CHUNK if self._room <= _MANY else CHUNK // 4
            self._fill(now)
        return self._idle()

    def done(
        self, lease: Lease, now: float, contact: Contact | None = None, *, keep: bool = False, not_before: float = 0.0
    ) -> None:
        """Free the host of a lease. ``contact`` tells of its last contact; None where there was none.

        The URL is known now, unless ``keep`` says that it goes back to its place (only robots.txt was fetched,
        the address is busy until ``not_before``).
        """
        site = self.sites[lease.site]
        host = site.host
        assert host.lease is lease, f"{lease.entry.href} is not leased"
        host.lease = site.lease = None
        self._leased -= 1
        if contact is not None:
            wanted = self.politeness.of(host.name) if self.politeness.hosts else self.politeness
            host.pace, due, asked = after(host.pace, contact, wanted)
            host.due, host.asked = max(host.due, due), max(host.asked, asked)
        host.due = max(host.due, not_before)
        lane = site.lane(lease.entry.priority)
        if not keep:
            # Without a back queue nothing of the lane is in memory: what lies before its head is gone.
            self._raise_low(lane, lease.sequence + 1 if site.back is not None else lane.head)
        elif site.back is not None:
            site.back.appendleft((lease.sequence, lease.entry))
        else:
            lane.head = lease.sequence
            if not lane.placed:
                self._place(site, lease.entry.priority, lane, first=True)
        for each in [*host.waiting, site]:
            if each.back is not None:
                if each.due > now + PARK:
                    self._park(each)
                elif each.back:
                    self._push(each)
        host.waiting.clear()
        self._fill(now)
        self.sites.forget(site, now)

    def holds(self, lease: Lease) -> bool:
        """Return whether a lease is still out."""
        site = self.sites.get(lease.site)
        return site is not None and site.lease is lease

    def open(self, why: str, now: float) -> int:
        """Open every site in memory that is closed for ``why``, as the reason has gone; return how many."""
        opened = [site for site in self.sites if site.why == why and site.until > now]
        for site in opened:
            site.until, site.failures = 0.0, 0
        parked = [site for _, _, site in self._parked]
        self._parked = [(site.due, self._tick(), site) for site in parked]
        heapq.heapify(self._parked)
        return len(opened)

    def set_crawl_delay(self, host: str, seconds: float) -> None:
        """Note the Crawl-delay of a host's robots.txt, before ``done`` of its fetch; it counts from then on."""
        record = self.sites.host(host)
        if record is not None:
            record.pace = record.pace._replace(crawl_delay=seconds)

    def set_least_delay(self, host: str, seconds: float) -> None:
        """Leave at least so much between two contacts of a host, whatever its robots.txt says."""
        record = self.sites.host(host)
        if record is not None and (record.pace.crawl_delay or 0.0) < seconds:
            record.pace = record.pace._replace(crawl_delay=seconds)

    def note_later(self, due: float) -> None:
        """Say when the first of the later entries is due (infinity for none); ``Idle`` takes it into account."""
        self._later = due

    # ---- chunks -----------------------------------------------------------------------------------------------

    def refills(self) -> list[Refill]:
        """Return the wishes since the last call. Each is answered by one ``supply``."""
        wishes, self._refills = self._refills, []
        return wishes

    def supply(self, refill: Refill, entries: Sequence[tuple[int, Entry]], now: float) -> None:
        """Give what was read for a wish: (sequence, entry) in order. Fewer than wished means that they are gone."""
        site = self.sites[refill.site]
        if site.back is None or site.queue != refill.queue:
            return  # parked meanwhile: the entries stay on disk
        site.coming -= refill.count
        self._awaited -= refill.count
        was_empty = not site.back
        site.back.extend(entries)
        if site.back:
            if was_empty and site.lease is None:
                self._push(site)
        elif not site.coming:
            self._release(site)
            self._fill(now)
            self.sites.hold(site)

    # ---- what it looks like -----------------------------------------------------------------------------------

    def counts(self) -> Counts:
        """Return how much is where."""
        return Counts(self._queued, self._leased, self.sites.hosts_known, self._used, len(self._parked))

    def back_queues(self) -> Iterator[tuple[str, int]]:
        """Yield the site of each back queue and its number of entries, those that are being read included."""
        for site in self.sites:
            if site.back is not None:
                yield site.name, len(site.back) + site.coming

    # ---- inside -----------------------------------------------------------------------------------------------

    def _tick(self) -> int:
        self._turn += 1
        return self._turn

    def _place(self, site: Site, priority: int, lane: Lane, *, first: bool = False) -> None:
        if not site.name.startswith(self._only):
            return
        lane.placed = True
        self._placed += 1
        queue = self._front[priority - 1]
        if first:
            queue.appendleft(site.name)
        else:
            queue.append(site.name)

    def _push(self, site: Site) -> None:
        heapq.heappush(self._heap, (site.due, self._tick(), site))

    def _lease(self, site: Site, now: float) -> Lease:
        back = site.back
        assert back, f"{site.name} is in the heap without entries"
        sequence, entry = back.popleft()
        lease = site.lease = site.host.lease = Lease(site.name, entry, sequence)
        self._leased += 1
        if not back and not site.coming:
            self._release(site)
            self._fill(now)
        elif site.aside and len(back) + site.coming < self._chunk // 2:
            self._return_aside(site)
            self._fill(now)
        return lease

    def _take(self, site: Site, now: float) -> bool:
        """Give a site a back queue at once where it would be the next one pulled, and spare reading what is at hand."""
        if site.back is not None or site.parked or self._used >= self._room or self._placed:
            return False
        if not site.name.startswith(self._only):
            return False
        if site.due > now + PARK and site.lease is None:
            return False
        self._assign(site)
        return True

    def _assign(self, site: Site) -> None:
        site.back = deque()
        site.queue = self._tick()
        self._used += 1

    def _fill(self, now: float) -> None:
        """Pull from the front queues until every back queue holds a site or the front queues are empty."""
        while self._placed and self._used < self._room:
            index = self._selector.pick(self._front)
            self._placed -= 1
            site = self.sites.site(self._front[index].popleft())
            lane = site.lane(index + 1)
            lane.placed = False
            if lane.head == lane.tail or site.parked:
                continue
            if site.due > now + PARK and site.lease is None:
                self._park(site)
                continue
            if site.back is None:
                self._assign(site)
            elif len(site.back) + site.coming >= self._chunk:
                lane.placed = True
                site.aside = (*site.aside, index + 1)
                continue
            self._wish(site, index + 1, lane)

    def _wish(self, site: Site, priority: int, lane: Lane) -> None:
        count = min(self._chunk, lane.tail - lane.head)
        self._refills.append(Refill(site.name, priority, lane.head, count, site.queue))
        lane.head += count
        site.coming += count
        self._awaited += count
        if lane.head < lane.tail:
            self._place(site, priority, lane)

    def _release(self, site: Site) -> None:
        site.back = None
        self._used -= 1
        for lane in site.lanes:
            if lane is not None and (site.lease is None or lane is not site.lanes[site.lease.entry.priority - 1]):
                self._raise_low(lane, lane.head)
        self._return_aside(site)

    def _return_aside(self, site: Site) -> None:
        for priority in site.aside:
            self._place(site, priority, site.lane(priority))
        site.aside = ()

    def _park(self, site: Site) -> None:
        """Take a site out of front and back queues until it is due. REQUIRES: it is not in the heap."""
        site.parked = True
        if site.back is not None:
            site.back = None
            self._used -= 1
            self._awaited -= site.coming
            site.coming = 0
        for priority in site.aside:
            site.lane(priority).placed = False
        site.aside = ()
        for lane in site.lanes:
            if lane is not None:
                lane.head = lane.low
        heapq.heappush(self._parked, (site.due, self._tick(), site))

    def keeps_a_gap(self) -> bool:
        """Return whether some site waits for nothing but the gap that we keep ourselves, or for a back queue."""
        waiting = ((due, site) for heap in (self._heap, self._parked) for due, _, site in heap)
        return self._placed > 0 or any(site.waits_for(due).why is Why.DELAY for due, site in waiting)

    def _raise_low(self, lane: Lane, low: int) -> None:
        self._queued -= low - lane.low
        lane.low = low

    def _wake(self, now: float) -> None:
        while self._parked and self._parked[0][0] <= now:
            site = heapq.heappop(self._parked)[2]
            site.parked = False
            for index, lane in enumerate(site.lanes):
                if lane is not None and lane.head < lane.tail and not lane.placed:
                    self._place(site, index + 1, lane)

    def _idle(self) -> Idle:
        heap_due = self._heap[0][0] if self._heap else _NEVER
        parked_due = self._parked[0][0] if self._parked else _NEVER
        until = min(heap_due, parked_due, self._later)
        if self._awaited:
            return Idle(until, Why.REFILL)
        if until == _NEVER:
            return Idle(until, Why.IN_FLIGHT if self._leased else Why.EMPTY)
        if until < self._later:
            site = (self._heap if until == heap_due else self._parked)[0][2]
            return site.waits_for(until)
        return Idle(until, Why.LATER)
