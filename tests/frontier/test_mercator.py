"""Mercator's invariants, held by a state machine that drives the frontier as an engine does, with a dict for a disk."""

from __future__ import annotations

from collections import deque

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fyke.frontier.frontier import CHUNK, PARK, Frontier
from fyke.frontier.host import GIVE_UP
from fyke.frontier.keys import Entry, SiteRecord, host_of, sequence_of
from fyke.frontier.leases import Idle, Lease, Refill, Why
from fyke.frontier.politeness import Contact, Politeness
from fyke.frontier.selector import Randomised, RoundRobin

SITES = ["http://h0.test", "https://h0.test", "http://h0.test:81", *(f"http://h{i}.test" for i in range(1, 4))]
HOSTS = sorted({host_of(site) for site in SITES})
K = 3
B = 3
DELAY = 1.0


def read(disk: dict[bytes, bytes], wish: Refill) -> list[tuple[int, Entry]]:
    return [(sequence_of(key), Entry.decode(disk[key])) for key in sorted(disk) if wish.key <= key < wish.end]


class Mercator(RuleBasedStateMachine):
    most = B
    """Back queues."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.disk: dict[bytes, bytes] = {}
        self.records: dict[str, SiteRecord] = {}
        self.model: dict[tuple[str, int], deque[str]] = {}
        self.leases: list[Lease] = []
        self.allowed_from: dict[str, float] = {}
        self.closed_until: dict[str, float] = {}
        self.wishes: list[Refill] = []
        self.serial = 0
        self.restored = False  # hosts wait in the front queues until something is asked for

    @initialize(seed=st.none() | st.integers(0, 9))
    def start(self, seed: int | None) -> None:
        self.seed = seed
        self.frontier = self.make()

    def make(self) -> Frontier:
        selector = RoundRobin() if self.seed is None else Randomised(np.random.default_rng(self.seed))
        politeness = Politeness(delay=DELAY, factor=10)
        made = Frontier(politeness, priorities=K, back_queues=B, most=self.most, selector=selector)
        made.sites.load = self.records.get
        return made

    # ---- what an engine does ----

    @rule(
        site=st.sampled_from(SITES),
        priorities=st.lists(st.integers(1, K), min_size=1, max_size=5)
        | st.integers(1, K).map(lambda priority: [priority] * (CHUNK + 8)),
    )
    def add(self, site: str, priorities: list[int]) -> None:
        entries = []
        for priority in priorities:
            self.serial += 1
            entries.append(Entry(f"{site}/{self.serial}", priority))
            self.model.setdefault((site, priority), deque()).append(entries[-1].href)
        self.disk.update(self.frontier.add(site, entries, self.now))
        self.restored = False
        self.records[site] = self.frontier.record(site)

    @rule()
    def serve(self) -> None:
        self.wishes += self.frontier.refills()
        for wish in self.wishes:
            self.frontier.supply(wish, read(self.disk, wish), self.now)
        self.wishes.clear()

    @rule(late=st.booleans())
    def lease(self, late: bool) -> None:
        if late:  # the engine has taken the wishes and is still reading
            self.wishes += self.frontier.refills()
        else:
            self.serve()
        found = self.frontier.next(self.now)
        self.restored = False
        if isinstance(found, Idle) and found.why in {Why.DELAY, Why.BACKOFF, Why.CLOSED}:
            assert found.until > self.now
            self.now = found.until
            found = self.frontier.next(self.now)
        if isinstance(found, Idle):
            self.wishes += self.frontier.refills()
            assert (found.why is Why.REFILL) == bool(self.awaited()), "waits for a read that nobody makes"
            if found.why is Why.EMPTY:
                assert not self.leases
                assert not self.disk
            return
        if not self.frontier.sites.dead(found.site, self.now):
            assert self.now >= self.allowed_from.get(found.host, 0.0), "contacted early"
            assert self.now >= self.closed_until.get(found.site, 0.0), "contacted while closed"
        assert found.host not in {lease.host for lease in self.leases}, "two fetches of one host"
        assert self.model[found.site, found.entry.priority][0] == found.entry.href, "not first in, first out"
        assert Entry.decode(self.disk[found.key]) == found.entry
        self.leases.append(found)

    @precondition(lambda self: self.leases)
    @rule(
        data=st.data(),
        duration=st.sampled_from([0.0, 0.05, 3.0]),
        fate=st.sampled_from(["fetched", "fetched", "overloaded", "robots", "robots", "dropped", "busy", "closed"]),
    )
    def done(self, data: st.DataObject, duration: float, fate: str) -> None:
        lease = self.leases.pop(data.draw(st.integers(0, len(self.leases) - 1)))
        self.now += duration
        keep = fate in {"robots", "busy", "closed"}
        contact = None
        if self.frontier.sites.dead(lease.site, self.now):
            fate, keep = "dropped", False
        if fate == "closed":
            self.closed_until[lease.site] = self.now + data.draw(st.sampled_from([5.0, 2 * PARK]))
            self.frontier.sites.close(
                lease.site, self.closed_until[lease.site], "connect", data.draw(st.integers(0, 1))
            )
        elif fate == "fetched":
            self.frontier.sites.reached(lease.site)
        if fate not in {"dropped", "busy", "closed"}:
            contact = Contact(self.now, duration, overloaded=fate == "overloaded")
            self.allowed_from[lease.host] = self.now + max(DELAY, 10 * duration)
        self.frontier.done(
            lease, self.now, contact, keep=keep, not_before=self.now + 2 * PARK if fate == "busy" else 0.0
        )
        if not keep:
            del self.disk[lease.key]
            self.model[lease.site, lease.entry.priority].popleft()
        self.records[lease.site] = self.frontier.record(lease.site)

    def awaited(self) -> list[Refill]:
        """Wishes whose back queue was not given up since."""
        backs = dict(self.frontier.back_queues())
        return [wish for wish in self.wishes if wish.site in backs]

    @rule(seconds=st.sampled_from([0.1, 1.0, 30.0, 4000.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(keep=st.integers(0, 2))
    def forget(self, keep: int) -> None:
        """All is written: sites at rest live on disk."""
        self.frontier.sites.shrink(keep)

    @rule()
    def crash(self) -> None:
        """kill -9: what is on disk is all there is."""
        self.frontier = self.make()
        self.leases.clear()
        self.wishes.clear()
        self.restored = True
        for record in self.records.values():
            self.frontier.restore(SiteRecord.decode(record.encode()), self.now)
            self.allowed_from[host_of(record.site)] = self.now + DELAY

    # ---- what must hold ----

    @invariant()
    def counts_are_exact(self) -> None:
        if not hasattr(self, "frontier"):
            return
        counts = self.frontier.counts()
        assert counts.queued == len(self.disk) == sum(map(len, self.model.values()))
        assert counts.leased == len(self.leases)
        for host in HOSTS:
            queued = sum(len(q) for (s, _), q in self.model.items() if host_of(s) == host)
            records = [record for site, record in self.records.items() if host_of(site) == host]
            assert sum(tail - low for record in records for _, low, tail in record.lanes) == queued

    @invariant()
    def back_queues_are_mercators(self) -> None:
        if not hasattr(self, "frontier"):
            return
        backs = list(self.frontier.back_queues())
        sites = [site for site, _ in backs]
        assert len(sites) == len(set(sites)) == self.frontier.counts().back_queues <= self.most, "one site per queue"
        assert all(size > 0 for _, size in backs), "an empty back queue"
        if not self.restored:
            waiting = [site for queue in self.frontier._front for site in queue]
            assert len(sites) >= B or not waiting, "a back queue is unused while the front queues hold URLs"
        assert all(size <= 2 * CHUNK + 1 for _, size in backs), "a back queue without bound"

    def teardown(self) -> None:
        """Everything that was queued comes out in the end, in bounded time."""
        if not hasattr(self, "frontier"):
            return
        for lease in list(self.leases):
            self.leases.remove(lease)
            self.frontier.done(lease, self.now)
            del self.disk[lease.key]
        rounds = 4 * len(self.disk) + 20
        while self.disk and rounds:
            rounds -= 1
            self.serve()
            found = self.frontier.next(self.now)
            if isinstance(found, Idle):
                assert found.why is not Why.EMPTY, "entries were lost"
                if found.why is not Why.REFILL:
                    self.now = max(self.now, found.until)
            else:
                self.frontier.done(found, self.now, Contact(self.now, 0.0))
                del self.disk[found.key]
        assert not self.disk


Mercator.TestCase.settings = settings(max_examples=100, stateful_step_count=50)
TestMercator = Mercator.TestCase


class Growing(Mercator):
    """The same where there are more back queues when all wait for their hosts."""

    most = 3 * B


Growing.TestCase.settings = settings(max_examples=50, stateful_step_count=50)
TestGrowing = Growing.TestCase


def test_no_back_queue_is_unused_while_a_front_queue_holds_a_host() -> None:
    """Ten hosts, three back queues: they are full whatever is leased and done, until fewer hosts are left."""
    frontier = Frontier(Politeness(delay=0.0), priorities=K, back_queues=B, most=B)
    disk: dict[bytes, bytes] = {}
    for i in range(10):
        disk.update(frontier.add(f"h{i}", [Entry(f"http://h{i}/{j}", 1 + j % K) for j in range(5)], 0.0))
    done = 0
    while done < 50:
        for wish in frontier.refills():
            frontier.supply(wish, read(disk, wish), 0.0)
        waiting = {site for queue in frontier._front for site in queue}
        backs = {host for host, _ in frontier.back_queues()}
        assert len(backs) == B or not waiting, "the front queues hold hosts and a back queue is unused"
        lease = frontier.next(0.0)
        if isinstance(lease, Lease):
            frontier.done(lease, 0.0)
            del disk[lease.key]
            done += 1
    assert not disk
    assert frontier.next(0.0) == Idle(float("inf"), Why.EMPTY)


def test_entry_of_a_host_with_a_back_queue_is_appended_there() -> None:
    frontier = Frontier(Politeness(delay=0.0), priorities=K, back_queues=2)
    for host in ("a", "b"):
        frontier.add(host, [Entry(f"http://{host}/1", 1)], 0.0)
    frontier.add("a", [Entry("http://a/2", 2)], 0.0)
    assert dict(frontier.back_queues()) == {"a": 2, "b": 1}
    assert frontier.refills() == []


def test_hosts_in_back_off_hold_up_nobody() -> None:
    frontier = Frontier(Politeness(delay=1.0), back_queues=1, most=1)
    disk = dict(frontier.add("slow", [Entry("http://slow/1", 1), Entry("http://slow/2", 1)], 0.0))
    disk.update(frontier.add("quick", [Entry("http://quick/1", 8)], 0.0))

    def serve() -> None:
        for wish in frontier.refills():
            frontier.supply(wish, read(disk, wish), 0.0)

    serve()
    lease = frontier.next(0.0)
    assert isinstance(lease, Lease)
    assert lease.host == "slow"
    frontier.done(lease, 1.0, Contact(1.0, 1.0, overloaded=True, retry_at=5000.0))
    del disk[lease.key]
    serve()
    other = frontier.next(1.0)
    assert isinstance(other, Lease)
    assert other.host == "quick"
    frontier.done(other, 1.0, Contact(1.0, 0.0))
    assert frontier.next(2.0) == Idle(5000.0, Why.BACKOFF, "slow")
    assert frontier.next(5000.0) == Idle(float("inf"), Why.REFILL)
    serve()
    again = frontier.next(5000.0)
    assert isinstance(again, Lease)
    assert again.entry.href == "http://slow/2"


def test_entries_that_are_gone_from_disk_are_passed_over() -> None:
    frontier = Frontier(Politeness(delay=0.0))
    for host in ("a", "b"):
        frontier.restore(SiteRecord(1, host, ((1, 0, 4),)), 0.0)
    assert frontier.next(0.0) == Idle(float("inf"), Why.REFILL)
    for wish in frontier.refills():
        frontier.supply(wish, [(1, Entry("http://a/1", 1))] if wish.host == "a" else [], 0.0)
    assert frontier.sites["b"].queued == 0
    lease = frontier.next(0.0)
    assert isinstance(lease, Lease)
    frontier.done(lease, 0.0)
    assert frontier.counts().queued == 0
    assert frontier.next(0.0) == Idle(float("inf"), Why.EMPTY)


def test_entries_read_for_a_back_queue_that_was_given_up_are_not_taken_twice() -> None:
    frontier = Frontier(Politeness(delay=0.0))
    disk = dict(frontier.add("a", [Entry(f"http://a/{i}", 1) for i in range(40)], 0.0))

    order: list[str] = []
    stale: list[tuple[Refill, list[tuple[int, Entry]]]] = []
    now = 0.0
    while disk:
        lease = frontier.next(now)
        assert isinstance(lease, Lease), lease
        order.append(lease.entry.href)
        del disk[lease.key]
        wishes = frontier.refills()
        if wishes and not stale:  # read, and parked before it is supplied
            stale = [(wish, read(disk, wish)) for wish in wishes]
            frontier.done(lease, now, Contact(now, 0.0, overloaded=True, retry_at=5000.0))
            assert frontier.next(now) == Idle(5000.0, Why.BACKOFF, "a")
            now = 5000.0
            frontier.next(now)
            wishes = frontier.refills()
            for old, entries in stale:
                frontier.supply(old, entries, now)
        else:
            frontier.done(lease, now)
        for wish in wishes:
            frontier.supply(wish, read(disk, wish), now)
    assert stale
    assert order == [f"http://a/{i}" for i in range(40)]


def test_a_site_that_is_closed_holds_up_no_other_of_its_host() -> None:
    frontier = Frontier(Politeness(delay=1.0))
    disk = dict(frontier.add("https://h", [Entry("https://h/a", 1), Entry("https://h/b", 1)], 0.0))
    disk.update(frontier.add("http://h", [Entry("http://h/a", 1)], 0.0))
    for wish in frontier.refills():
        frontier.supply(wish, read(disk, wish), 0.0)
    dead = frontier.next(0.0)
    assert isinstance(dead, Lease)
    assert dead.site == "https://h"
    assert frontier.next(0.0) == Idle(float("inf"), Why.IN_FLIGHT), "one contact of a host at a time"
    frontier.sites.close("https://h", 500.0, "connect", 1)
    frontier.done(dead, 0.0, Contact(0.0, 0.0), keep=True)
    assert frontier.next(0.5) == Idle(1.0, Why.DELAY, "h"), "the gap is the host's"
    other = frontier.next(1.0)
    assert isinstance(other, Lease)
    assert other.site == "http://h"
    frontier.done(other, 1.0, Contact(1.0, 0.0))
    assert frontier.next(3.0) == Idle(500.0, Why.CLOSED, "h", "connect")


def test_the_urls_of_a_dead_site_come_at_once_until_it_gets_another_chance() -> None:
    frontier = Frontier(Politeness(delay=1.0))
    frontier.add("http://h", [Entry(f"http://h/{i}", 1) for i in range(3)], 0.0)
    first = frontier.next(0.0)
    assert isinstance(first, Lease)
    assert frontier.sites.close("http://h", 100.0, "connect", GIVE_UP)
    frontier.done(first, 0.0)
    second = frontier.next(0.0)
    assert isinstance(second, Lease), "nobody is contacted, so nobody waits"
    assert frontier.sites.dead("http://h", 0.0) == "connect"
    frontier.done(second, 0.0)
    third = frontier.next(100.0)
    assert isinstance(third, Lease)
    assert frontier.sites.dead("http://h", 100.0) == "", "asked again"


def test_why_a_site_waits_is_told_before_it_is_parked() -> None:
    """A short wait that a site causes is its own, not our gap, so that patience counts it."""
    frontier = Frontier(Politeness(delay=1.0))
    for site in ("http://closed", "http://busy", "http://ours"):
        frontier.add(site, [Entry(f"{site}/{i}", 1) for i in range(2)], 0.0)
    for _ in range(3):
        lease = frontier.next(0.0)
        assert isinstance(lease, Lease)
        busy = lease.site == "http://busy"
        if lease.site == "http://closed":
            frontier.sites.close(lease.site, 10.0, "robots.txt")
        frontier.done(lease, 0.0, Contact(0.0, 0.2, overloaded=busy, retry_at=30.0 if busy else 0.0))
    assert frontier.next(0.0) == Idle(2.0, Why.DELAY, "ours")
    assert frontier.keeps_a_gap()
    ours = frontier.next(2.0)
    assert isinstance(ours, Lease)
    frontier.done(ours, 2.0, Contact(2.0, 0.2))
    assert frontier.next(2.0) == Idle(10.0, Why.CLOSED, "closed", "robots.txt")
    assert not frontier.keeps_a_gap()
    closed = frontier.next(10.0)
    assert isinstance(closed, Lease)
    frontier.done(closed, 10.0, Contact(10.0, 0.2))
    assert frontier.next(10.0) == Idle(30.0, Why.BACKOFF, "busy")
