"""Frontier, robots, links and traps together, in a loop of sixty lines, against the ground truth of a synthetic web."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

from fyke.formats.html import parse
from fyke.formats.http import parse_head
from fyke.frontier.frontier import Frontier
from fyke.frontier.keys import Entry, sequence_of
from fyke.frontier.leases import Idle, Why
from fyke.frontier.politeness import Contact, Politeness
from fyke.frontier.seen import SeenSet
from fyke.sites.links import LinkMemo, find_links
from fyke.sites.standing import Permission, stand
from fyke.sites.traps import HostHistory, TrapJudge, seen_key
from fyke.url import Url
from fyke.values import Drop
from fyke.world import World, WorldConfig
from fyke.world.config import START
from fyke.world.http import Fault
from fyke.world.transport import Visit, response_head, shortest_gaps

AGENT = "fyke"
DELAY = 1.0


class Crawl:
    """The textbook's loop with one fetch at a time, a dict for a disk, and time that passes when it is told to."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.now = START
        self.frontier = Frontier(Politeness(delay=DELAY, factor=1.0))
        self.disk: dict[bytes, bytes] = {}
        self.seen, self.judge, self.memo = SeenSet(), TrapJudge(), LinkMemo()
        self.histories: dict[str, HostHistory] = defaultdict(HostHistory)
        self.permissions: dict[str, Permission] = {}
        self.dropped: Counter[Drop] = Counter()
        self.fetched: dict[str, int] = {}
        self.visits: list[Visit] = []

    def offer(self, urls: list[Url], keys: np.ndarray[tuple[int], np.dtype[np.uint64]], depth: int) -> None:
        for url, fresh in zip(urls, self.seen.add(keys), strict=True):
            if not fresh or self.world.host(url.host) is None:
                continue
            reason = self.judge.judge(url, depth, self.now, self.histories[url.host])
            if reason is None:
                self.disk.update(self.frontier.add(url.host, [Entry(url.href, 1, depth)], self.now))
            else:
                self.dropped[reason] += 1

    def ask(self, url: Url) -> tuple[int, bytes, bytes, Contact]:
        answer = self.world.answer(url.host, url.target, self.now)
        started, self.now = self.now, self.now + answer.latency + 0.001
        status = 0 if answer.fault is Fault.RESET else answer.status
        self.visits.append(Visit(url.host, url.target, status, started, self.now))
        return (
            status,
            response_head(answer),
            answer.body,
            Contact(self.now, self.now - started, status in {0, 503, 429}),
        )

    def ask_permission(self, url: Url) -> Contact:
        target, hops = Url(url.site + "/robots.txt"), 0
        status, head, body, contact = self.ask(target)
        while status in {301, 302} and hops < 5:  # politely: each hop waits
            self.now += DELAY
            target, hops = target.join(parse_head(head).get("location")), hops + 1
            status, head, body, contact = self.ask(target)
        previous = self.permissions[url.site].standing if url.site in self.permissions else None
        lifetime = parse_head(head).get("cache-control")
        standing = stand(previous, status, self.now, user_agent=AGENT, body=body, cache_control=lifetime)
        self.permissions[url.site] = Permission(standing, AGENT)
        self.frontier.set_crawl_delay(url.host, self.permissions[url.site].delay)
        return contact

    def run(self, seeds: list[Url]) -> None:
        self.offer(seeds, np.array([seen_key(seed) for seed in seeds], np.uint64), 0)
        while True:
            for wish in self.frontier.refills():
                keys = sorted(key for key in self.disk if wish.key <= key < wish.end)
                found = [(sequence_of(key), Entry.decode(self.disk[key])) for key in keys]
                self.frontier.supply(wish, found, self.now)
            lease = self.frontier.next(self.now)
            if isinstance(lease, Idle):
                if lease.why is Why.EMPTY:
                    return
                self.now = self.now if lease.why is Why.REFILL else lease.until
                continue
            url, permission = lease.entry.url, self.permissions.get(lease.entry.url.site)
            if permission is None:
                self.frontier.done(lease, self.now, self.ask_permission(url), keep=True)
                continue
            contact = None
            if permission.allows(url):
                status, head, body, contact = self.ask(url)
                if contact.overloaded and len(self.visits) < 20_000:
                    self.frontier.done(lease, self.now, contact, keep=True)
                    continue
                self.take(url, status, head, body, lease.entry.depth)
            else:
                self.dropped[Drop.ROBOTS] += 1
            self.frontier.done(lease, self.now, contact)
            del self.disk[lease.key]

    def take(self, url: Url, status: int, head: bytes, body: bytes, depth: int) -> None:
        self.fetched[url.href] = status
        answer = parse_head(head)
        if status in {301, 302}:
            target = url.join(answer.get("location"))
            self.offer([target], np.array([seen_key(target)], np.uint64), depth)
        elif answer.media_type == "text/html":
            found = find_links(parse(body.decode()), url, self.memo, agent=AGENT, head=answer)
            self.offer([link.target for link in found.links], found.keys, depth + 1)
            self.dropped.update(dict(found.dropped))


@pytest.fixture(scope="module")
def crawl() -> Crawl:
    world = World(WorldConfig(hosts=26, pages=400, encodings=False, formats=False, changes=False))
    crawl = Crawl(world)
    crawl.run([Url.parse(seed) for seed in world.seeds])
    return crawl


def test_every_reachable_allowed_page_and_no_other(crawl: Crawl) -> None:
    expected = crawl.world.expected(crawl.world.seeds)
    fetched = set(crawl.fetched)
    assert expected.pages - fetched == set()
    assert fetched & expected.disallowed == set()
    more = fetched - expected.pages - expected.others  # feeds are not counted among the expected
    assert {url for url in more if not crawl.world.truth(url).trap and not url.endswith("/feed.xml")} == set()
    assert crawl.dropped[Drop.ROBOTS]


def test_traps_are_cut_off(crawl: Crawl) -> None:
    traps = Counter(str(crawl.world.truth(url).trap) for url in crawl.fetched if crawl.world.truth(url).trap)
    hosts = sum(crawl.world.host(Url(seed).host).traps for seed in crawl.world.seeds)  # type: ignore[union-attr]
    assert hosts
    assert traps["calendar"] <= 200 * hosts
    assert traps["growing"] <= 100 * hosts
    assert traps["session"] <= hosts
    assert crawl.dropped[Drop.CALENDAR]
    assert crawl.dropped[Drop.REPETITION]


def test_no_host_was_contacted_early(crawl: Crawl) -> None:
    gaps = shortest_gaps(crawl.visits)
    assert len(gaps) > 20
    assert min(gaps.values()) >= DELAY - 1e-6
    for host, gap in gaps.items():
        robots = crawl.permissions["http://" + host]
        assert gap >= min(robots.delay, DELAY)
