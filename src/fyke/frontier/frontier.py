"""Mercator's frontier over queues that stand on disk: front queues by priority, back queues by host.

A URL's life, and who moves it::

    discovered ──add──▶ queued ──next──▶ leased ──done──▶ known
                          ▲                 │  └─done(keep=True)─▶ queued, at its place
                          └── add ── later ◀┘  (the engine writes a later entry, and adds it when it is due)

On disk a host has one FIFO, a *lane*, for each priority (fyke.frontier.keys). In memory:

- a **lane** is three numbers: ``low ≤ head ≤ tail``. Entries from ``low`` are on disk, those before ``head`` are
  in memory or leased, the next one is written at ``tail``. Seek from ``low``, never over deleted keys.
- K **front queues** hold, for each priority, the hosts with entries that are not in memory, first come first served.
- B **back queues** hold the next entries of one host each. A host without one waits in the front queues.
- the **heap** holds each back queue that can be served, by the earliest time of its host's next contact.

Invariants (tests/frontier/test_mercator.py): a host has at most one back queue and one lease; a back queue is never
empty; none is unused while a front queue holds a host; an entry whose host has a back
queue is appended to it, and another one is pulled. Within host and priority the order is that of ``add``.

A host whose next contact is further away than ``PARK`` gives up its back queue and is *parked*, so that hosts in
back-off hold up nobody.

The engine's part: write what ``add`` returns, delete ``lease.key`` of what is done, and write ``record(host)``, all in
the batch of the page. Then serve ``refills()``: read that many entries from that key on, and ``supply`` them.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from fyke.frontier.host import Host, Lane
from fyke.frontier.keys import Entry, HostRecord, queue_key
from fyke.frontier.leases import Counts, Idle, Lease, Refill, Why
from fyke.frontier.politeness import Contact, Pace, Politeness, after, base_delay
from fyke.frontier.selector import RoundRobin, Selector

CHUNK = 32
"""Entries read at a time: enough to make reads cheap, few enough that a new priority takes effect soon."""
PARK = 60.0
"""Seconds: a host that waits longer is not worth a back queue."""
PRIORITIES = 8
BACK_QUEUES = 768
"""Three for each of 256 concurrent fetches, as Mercator's authors recommend."""
_NEVER = float("inf")


class Frontier:
    """Which URL next. Times are seconds since 1970; ``now`` never decreases from call to call."""

    def __init__(
        self,
        politeness: Politeness = Politeness(),  # noqa: B008 - frozen
        *,
        priorities: int = PRIORITIES,
        back_queues: int = BACK_QUEUES,
        selector: Selector | None = None,
    ) -> None:
        self.politeness = politeness
        self.priorities = priorities
        self._room = back_queues
        self._selector = selector or RoundRobin()
        self._hosts: dict[str, Host] = {}
        self._front: list[deque[Host]] = [deque() for _ in range(priorities)]
        self._used = 0  # back queues that hold a host
        self._heap: list[tuple[float, int, Host]] = []
        self._parked: list[tuple[float, int, Host]] = []
        self._turn = 0  # makes heap entries comparable, first come first served
        self._refills: list[Refill] = []
        self._awaited = 0  # entries asked for and not yet supplied
        self._queued = 0
        self._leased = 0
        self._later = _NEVER

    # ---- URLs in ----------------------------------------------------------------------------------------------

    def add(self, host: str, entries: Iterable[Entry], now: float) -> list[tuple[bytes, bytes]]:
        """Queue ``entries`` of one host; return the keys and values to write. REQUIRES: 1 ≤ priority ≤ K."""
        record = self._host(host)
        puts = []
        taken = self._take(record, now)
        for entry in entries:
            lane = record.lane(entry.priority)
            sequence = lane.tail
            lane.tail += 1
            puts.append((queue_key(host, entry.priority, sequence), entry.encode()))
            back = record.back
            if back is not None and lane.head == sequence and not record.coming and len(back) < CHUNK:
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
        return puts

    def restore(self, record: HostRecord, now: float) -> None:
        """Take up a host after a restart, before anything else is asked of it. It waits its full delay once."""
        host = self._host(record.host)
        host.pace = Pace(record.crawl_delay, record.usual, record.failures)
        host.due = max(record.due, now + base_delay(host.pace, self.politeness))
        for priority, low, tail in record.lanes:
            if not 1 <= priority <= self.priorities:
                continue
            lane = host.lanes[priority - 1] = Lane(low, tail)
            self._queued += tail - low
            if low < tail:
                self._place(host, priority, lane)

    def record(self, host: str) -> HostRecord:
        """Return what to write of a host after its queue or its pace changed."""
        return self._host(host).record()

    # ---- URLs out ---------------------------------------------------------------------------------------------

    def next(self, now: float) -> Lease | Idle:
        """Hand out the URL whose host may be contacted first, or say what there is to wait for."""
        self._wake(now)
        if self._used < self._room:
            self._fill(now)
        if self._heap and self._heap[0][0] <= now:
            return self._lease(heapq.heappop(self._heap)[2], now)
        return self._idle()

    def done(
        self,
        lease: Lease,
        now: float,
        contact: Contact | None = None,
        *,
        keep: bool = False,
        not_before: float = 0.0,
    ) -> None:
        """Free the host of a lease. ``contact`` tells of its last contact; None where there was none.

        The URL is known now, unless ``keep`` says that it goes back to its place (only robots.txt was fetched,
        the address is busy until ``not_before``).
        """
        host = self._hosts[lease.host]
        assert host.lease is lease, f"{lease.entry.href} is not leased"
        host.lease = None
        self._leased -= 1
        if contact is not None:
            host.pace, due = after(host.pace, contact, self.politeness)
            host.due = max(host.due, due)
        host.due = max(host.due, not_before)
        lane = host.lane(lease.entry.priority)
        if not keep:
            # Without a back queue nothing of the lane is in memory: what lies before its head is gone.
            self._raise_low(lane, lease.sequence + 1 if host.back is not None else lane.head)
        elif host.back is not None:
            host.back.appendleft((lease.sequence, lease.entry))
        else:
            lane.head = lease.sequence
            if not lane.placed:
                self._place(host, lease.entry.priority, lane, first=True)
        if host.back is not None:
            if host.due > now + PARK:
                self._park(host)
            elif host.back:
                self._push(host)
        self._fill(now)

    def set_crawl_delay(self, host: str, seconds: float) -> None:
        """Note the Crawl-delay of a host's robots.txt, before ``done`` of its fetch; it counts from then on."""
        record = self._host(host)
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
        host = self._hosts[refill.host]
        if host.back is None or host.queue != refill.queue:
            return  # parked meanwhile: the entries stay on disk
        host.coming -= refill.count
        self._awaited -= refill.count
        was_empty = not host.back
        host.back.extend(entries)
        if host.back:
            if was_empty and host.lease is None:
                self._push(host)
        elif not host.coming:
            self._release(host)
            self._fill(now)

    # ---- what it looks like -----------------------------------------------------------------------------------

    def counts(self) -> Counts:
        """Return how much is where."""
        return Counts(self._queued, self._leased, len(self._hosts), self._used, len(self._parked))

    def queued(self, host: str) -> int:
        """Return how many entries of a host are on disk, the leased one included."""
        known = self._hosts.get(host)
        return sum(lane.tail - lane.low for lane in known.lanes if lane) if known else 0

    def is_parked(self, host: str) -> bool:
        """Return whether a host waits longer than ``PARK``."""
        known = self._hosts.get(host)
        return known is not None and known.parked

    def added(self, host: str) -> int:
        """Return how many entries of a host were ever queued."""
        known = self._hosts.get(host)
        return sum(lane.tail for lane in known.lanes if lane) if known else 0

    def back_queues(self) -> Iterator[tuple[str, int]]:
        """Yield the host of each back queue and its number of entries, those that are being read included."""
        for host in self._hosts.values():
            if host.back is not None:
                yield host.name, len(host.back) + host.coming

    def front_queues(self) -> list[list[str]]:
        """Return the hosts that wait in each front queue; the first has priority 1."""
        return [[host.name for host in queue] for queue in self._front]

    # ---- inside -----------------------------------------------------------------------------------------------

    def _host(self, name: str) -> Host:
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = Host(name, self.priorities)
        return host

    def _tick(self) -> int:
        self._turn += 1
        return self._turn

    def _place(self, host: Host, priority: int, lane: Lane, *, first: bool = False) -> None:
        lane.placed = True
        queue = self._front[priority - 1]
        if first:
            queue.appendleft(host)
        else:
            queue.append(host)

    def _push(self, host: Host) -> None:
        heapq.heappush(self._heap, (host.due, self._tick(), host))

    def _lease(self, host: Host, now: float) -> Lease:
        back = host.back
        assert back, f"{host.name} is in the heap without entries"
        sequence, entry = back.popleft()
        lease = host.lease = Lease(host.name, entry, sequence)
        self._leased += 1
        if not back and not host.coming:
            self._release(host)
            self._fill(now)
        elif host.aside and len(back) + host.coming < CHUNK // 2:
            self._return_aside(host)
            self._fill(now)
        return lease

    def _take(self, host: Host, now: float) -> bool:
        """Give a host a back queue at once where it would be the next one pulled, and spare reading what is at hand."""
        if host.back is not None or host.parked or self._used >= self._room or any(self._front):
            return False
        if host.due > now + PARK and host.lease is None:
            return False
        self._assign(host)
        return True

    def _assign(self, host: Host) -> None:
        host.back = deque()
        host.queue = self._tick()
        self._used += 1

    def _fill(self, now: float) -> None:
        """Pull from the front queues until every back queue holds a host or the front queues are empty."""
        while self._used < self._room:
            index = self._selector.pick(self._front)
            if index < 0:
                return
            host = self._front[index].popleft()
            lane = host.lane(index + 1)
            lane.placed = False
            if lane.head == lane.tail or host.parked:
                continue
            if host.due > now + PARK and host.lease is None:
                self._park(host)
                continue
            if host.back is None:
                self._assign(host)
            elif len(host.back) + host.coming >= CHUNK:
                lane.placed = True
                host.aside = (*host.aside, index + 1)
                continue
            self._wish(host, index + 1, lane)

    def _wish(self, host: Host, priority: int, lane: Lane) -> None:
        count = min(CHUNK, lane.tail - lane.head)
        self._refills.append(Refill(host.name, priority, lane.head, count, host.queue))
        lane.head += count
        host.coming += count
        self._awaited += count
        if lane.head < lane.tail:
            self._place(host, priority, lane)

    def _release(self, host: Host) -> None:
        host.back = None
        self._used -= 1
        for lane in host.lanes:
            if lane is not None and (host.lease is None or lane is not host.lanes[host.lease.entry.priority - 1]):
                self._raise_low(lane, lane.head)
        self._return_aside(host)

    def _return_aside(self, host: Host) -> None:
        for priority in host.aside:
            self._place(host, priority, host.lane(priority))
        host.aside = ()

    def _park(self, host: Host) -> None:
        """Take a host out of front and back queues until it is due. REQUIRES: it is not in the heap."""
        host.parked = True
        if host.back is not None:
            host.back = None
            self._used -= 1
            self._awaited -= host.coming
            host.coming = 0
        for priority in host.aside:
            host.lane(priority).placed = False
        host.aside = ()
        for lane in host.lanes:
            if lane is not None:
                lane.head = lane.low
        heapq.heappush(self._parked, (host.due, self._tick(), host))

    def _raise_low(self, lane: Lane, low: int) -> None:
        self._queued -= low - lane.low
        lane.low = low

    def _wake(self, now: float) -> None:
        while self._parked and self._parked[0][0] <= now:
            host = heapq.heappop(self._parked)[2]
            host.parked = False
            for index, lane in enumerate(host.lanes):
                if lane is not None and lane.head < lane.tail and not lane.placed:
                    self._place(host, index + 1, lane)

    def _idle(self) -> Idle:
        heap_due = self._heap[0][0] if self._heap else _NEVER
        parked_due = self._parked[0][0] if self._parked else _NEVER
        until = min(heap_due, parked_due, self._later)
        if self._awaited:
            return Idle(until, Why.REFILL)
        if until == _NEVER:
            return Idle(until, Why.IN_FLIGHT if self._leased else Why.EMPTY)
        if until == heap_due:
            return Idle(until, Why.DELAY, self._heap[0][2].name)
        if until == parked_due:
            return Idle(until, Why.BACKOFF, self._parked[0][2].name)
        return Idle(until, Why.LATER)
