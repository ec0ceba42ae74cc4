"""What a frontier costs and reaches: bytes per host, the possible rate under a delay, fairness among hosts."""

from __future__ import annotations

import heapq
import tracemalloc
from collections import Counter

from fyke.frontier.frontier import Frontier
from fyke.frontier.host import Site
from fyke.frontier.keys import Entry, SiteRecord
from fyke.frontier.leases import Idle, Lease, Why
from fyke.frontier.politeness import Contact, Politeness


def serve(frontier: Frontier, now: float) -> None:
    """Answer every wish as a disk that holds whatever is asked for."""
    for wish in frontier.refills():
        sequences = range(wish.start, wish.start + wish.count)
        entries = [(s, Entry(f"http://{wish.host}/{wish.priority}/{s}", wish.priority)) for s in sequences]
        frontier.supply(wish, entries, now)


def crawl(frontier: Frontier, until: float, duration: float, concurrency: int) -> list[tuple[float, float, str]]:
    """Run until a time; return start, end and host of every fetch."""
    now = 0.0
    fetches: list[tuple[float, float, str]] = []
    flying: list[tuple[float, int, Lease]] = []
    while now < until:
        found = frontier.next(now) if len(flying) < concurrency else None
        serve(frontier, now)
        if isinstance(found, Lease):
            heapq.heappush(flying, (now + duration, len(fetches), found))
            fetches.append((now, now + duration, found.host))
            continue
        if isinstance(found, Idle) and found.why is Why.REFILL:
            continue
        waits = [found.until] if isinstance(found, Idle) else []
        now = min([*waits, *(end for end, _, _ in flying[:1])])
        while flying and flying[0][0] <= now:
            end, _, lease = heapq.heappop(flying)
            frontier.done(lease, now, Contact(end, duration))
    return fetches


def test_the_possible_rate_and_not_one_request_early() -> None:
    """50 hosts with a delay of 0.2 s and answers in 4 ms: 245 pages/s are possible."""
    frontier = Frontier(Politeness(delay=0.2))
    for i in range(50):
        frontier.add(f"h{i}", [Entry(f"http://h{i}/{j}", 1 + j % 8) for j in range(200)], 0.0)
        serve(frontier, 0.0)
    fetches = crawl(frontier, 10.0, 0.004, 100)
    assert len(fetches) >= 0.95 * 10.0 * 50 / 0.204
    ends: dict[str, float] = {}
    for start, end, host in fetches:
        assert start - ends.get(host, -1.0) >= 0.2 - 1e-9
        ends[host] = end


def test_many_hosts_share_few_back_queues() -> None:
    """300 hosts of 40 URLs through 9 back queues, which are always in use: all is fetched at the possible rate."""
    frontier = Frontier(Politeness(delay=0.1), back_queues=9)
    for i in range(300):
        frontier.restore(SiteRecord(1, f"h{i}", ((1 + i % 8, 0, 40),)), -1.0)
    fetches = crawl(frontier, 1000.0, 0.01, 9)
    assert Counter(host for _, _, host in fetches) == {f"h{i}": 40 for i in range(300)}
    assert fetches[-1][1] <= 300 * 40 * 0.11 / 9 * 1.05


def test_long_delays_leave_nobody_waiting_for_a_back_queue() -> None:
    """400 hosts that are left in peace for 20 s each, ten fetches at a time: 20 pages/s are possible."""
    frontier = Frontier(Politeness(delay=20.0), back_queues=30)
    for i in range(400):
        frontier.restore(SiteRecord(1, f"h{i}", ((1 + i % 8, 0, 40),)), -21.0)
    fetches = crawl(frontier, 200.0, 0.2, 10)
    assert len(fetches) >= 0.95 * 200.0 * 400 / 20.2
    assert len(list(frontier.back_queues())) <= 480


def test_back_queues_are_no_more_than_are_wanted() -> None:
    """Nobody waits for one where fetches take all the time there is."""
    frontier = Frontier(Politeness(delay=0.0), back_queues=9, most=100)
    for i in range(300):
        frontier.restore(SiteRecord(1, f"h{i}", ((1, 0, 40),)), -1.0)
    crawl(frontier, 50.0, 1.0, 9)
    assert frontier.counts().back_queues <= 9


def test_a_host_that_waits_costs_little_more_than_its_name() -> None:
    """So that a million hosts fit in 250 MB, however many URLs they have on disk."""
    frontier = Frontier()
    tracemalloc.start()
    for i in range(20_000):
        lanes = ((3, 0, 10**6), (1 + i % 8, 10**7, 10**8))
        frontier.restore(SiteRecord(1, f"www.host-number-{i}.example.org", lanes, 1e9, 2.0, 0.1, 1), 1e9)
        frontier.sites.shrink(1000)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used / 20_000 < 250
    assert frontier.counts().hosts == 20_000


def test_sites_with_nothing_to_do_live_on_disk() -> None:
    frontier = Frontier(Politeness(delay=1.0))
    records: dict[str, SiteRecord] = {}
    frontier.sites.load = records.get
    now = 0.0
    for i in range(50):
        site = f"http://h{i}"
        frontier.add(site, [Entry(f"{site}/", 1)], now)
        lease = frontier.next(now)
        assert isinstance(lease, Lease)
        frontier.done(lease, now, Contact(now, 0.5))
        records[site] = frontier.record(site)
        frontier.sites.shrink(10)
    assert len(frontier.sites) == 10
    assert frontier.counts().hosts == 50
    frontier.add("http://h0", [Entry("http://h0/2", 1)], now)
    assert frontier.sites.added("h0") == 2
    assert frontier.next(now) == Idle(5.0, Why.DELAY, "h0"), "its pace is remembered"
    assert frontier.counts().hosts == 50


def test_sites_that_must_stay_are_not_looked_at_again_and_again() -> None:
    """Thousands of closed sites, which stay in memory: each write looks at some of them."""
    frontier = Frontier(Politeness(delay=0.0))
    looked = 0

    class Counted(dict[str, Site]):
        def __getitem__(self, name: str) -> Site:
            nonlocal looked
            looked += 1
            return super().__getitem__(name)

    for i in range(5000):
        frontier.sites.close(f"http://h{i}", 50.0, "connect")
        frontier.sites.forget(frontier.sites[f"http://h{i}"], 1.0)
    frontier.sites._sites = Counted(frontier.sites._sites)
    for _ in range(10):
        frontier.sites.shrink(10)
    assert looked <= 1000
    assert len(frontier.sites) == 5000
