"""A continuous crawl of the changing world in virtual time; the world's truth says what it should have noticed."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from fyke.cli import run
from fyke.clock import VirtualClock
from fyke.crawl.agent import Agent
from fyke.crawl.capture import Processor
from fyke.crawl.context import FetchContext
from fyke.crawl.politeness.gate import Gate
from fyke.crawl.politeness.permissions import Permissions
from fyke.crawl.politeness.rules import Rules
from fyke.crawl.queue.queues import Queues
from fyke.crawl.revisit import freshness
from fyke.crawl.revisit.budget import RevisitSettings
from fyke.crawl.revisit.revisits import Revisits
from fyke.crawl.run.settings import CrawlSettings
from fyke.frontier.frontier import Frontier
from fyke.frontier.keys import Entry
from fyke.frontier.politeness import Politeness
from fyke.frontier.priority import DefaultPrioritizer
from fyke.frontier.revisit import DAY, ChangeState, Signal, visited
from fyke.frontier.seen import SeenSet
from fyke.store import Settings, Store, Tablet
from fyke.url import Url
from fyke.values import Exchange, Request, Unchanged
from fyke.world.config import START, WorldConfig
from fyke.world.transport import WorldTransport, shortest_gaps
from fyke.world.truth import Validity
from fyke.world.world import World
from tests.crawl.continuous import Ended, OnePage, crawl, page


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, WorldTransport, Ended, Path, float]:
    """Twelve days of a world, a little more than a visit per page and day."""
    world = World(WorldConfig(hosts=10, pages=120, formats=False, languages=False, encodings=False, traps=False))
    clock = VirtualClock(START)
    transport = WorldTransport(world, clock)
    path = tmp_path_factory.mktemp("continuous") / "s"
    ended = crawl(path, transport, world.seeds, clock, 12, RevisitSettings(budget=150 / DAY))
    return world, transport, ended, path, clock.now()


Crawled = tuple[World, WorldTransport, Ended, Path, float]


def test_the_budget_is_kept_and_hosts_are_not_hurried(crawled: Crawled) -> None:
    _, transport, ended, _, _ = crawled
    assert len(transport.log) <= 150 * 12 * 1.05
    assert ended.agent.tally.revisits > 0.5 * 150 * 12, "the rest are new pages, robots.txt, and what fails"
    assert min(shortest_gaps(transport.log).values()) >= 0.999


def test_most_changes_are_noticed_and_few_are_imagined(crawled: Crawled) -> None:
    world, _, _, path, now = crawled
    fresh = stale = versions = true = 0
    with Store.open(path, "r") as store:
        for row in store.scan():
            state = ChangeState.decode(row.meta.change)
            if row.meta.error or not state.seen or "?" in row.url or world.version(row.url, now) is None:
                continue
            seen, held = world.version(row.url, state.seen), world.version(row.url, row.stamp / 1e6)
            host = world.host(Url(row.url).host)
            assert host is not None
            if host.validity is not Validity.FROZEN:
                fresh += seen == held
                stale += seen != held
            versions += len(row.versions) - 1
            times = [when.timestamp() for when in reversed(row.versions)]
            true += sum(world.version(row.url, a) != world.version(row.url, b) for a, b in pairwise(times))
    assert stale <= 0.03 * (fresh + stale), f"{stale} of {fresh + stale} pages had changed when last seen, unnoticed"
    assert true >= 0.9 * versions, f"{versions - true} of {versions} versions show no change of the main text"


def test_rates_are_learnt_and_visits_follow_them(crawled: Crawled) -> None:
    world, transport, _, path, now = crawled
    late = [visit for visit in transport.log if visit.started > START + 6 * DAY]
    visits = Counter(f"http://{visit.host}{visit.target}" for visit in late)
    slow: list[int] = []
    quick: list[int] = []
    with Store.open(path, "r") as store:
        for row in store.scan():
            if world.version(row.url, now) is not None and "?" not in row.url:
                rate = world.truth(row.url, now).rate
                (quick if rate > 1 else slow if rate < 0.1 else []).append(visits[row.url])
    assert sum(quick) / len(quick) > 1.5 * sum(slow) / len(slow)


def test_honest_validators_save_bodies_and_liars_are_found_out(crawled: Crawled) -> None:
    world, transport, ended, _, _ = crawled
    assert ended.counters["revisits:unchanged"] > 0.2 * ended.agent.tally.revisits
    for host in world.hosts:
        unchanged = [v for v in transport.log if v.host == host.name and v.status == 304]
        late = [v for v in unchanged if v.started > START + 8 * DAY]
        if host.validity is Validity.FROZEN and host.mirror_of is None:
            assert len(late) <= 3, f"{host.name} says 304 to everything, and is still believed"


def test_freshness_is_told_now_and_over_time(crawled: Crawled, tmp_path: Path) -> None:
    _, _, ended, path, now = crawled
    with Store.open(path, "r") as store:
        found = freshness.collection(store.scan(), now)
    assert ended.agent.revisits is not None
    gauged = ended.agent.revisits.sample.read(now)
    assert found.whole.pages == gauged.pages
    assert found.whole.freshness == pytest.approx(gauged.freshness, abs=1e-6)
    assert found.whole.age == pytest.approx(gauged.age, abs=1e-6)
    assert 0.5 < found.whole.freshness < 1
    assert len(found.hosts) >= 5
    when, fresh, age = freshness.over_time(freshness.read(path))
    assert len(when) > 100
    assert fresh[-1] == pytest.approx(gauged.freshness, abs=0.05)
    assert age.min() >= 0
    freshness.plot(tmp_path / "f.png", freshness.read(path))
    assert (tmp_path / "f.png").stat().st_size > 10_000


def test_a_trusted_signal_brings_the_visit_forward(tmp_path: Path) -> None:
    clock = VirtualClock(START)
    site = OnePage(clock, lambda request, now: (200, "", page("new" if now > START + 4 * DAY else "old")))
    crawl(tmp_path / "s", site, ["http://one.test/"], clock, 4, None)
    clock.advance(4 * DAY)
    with Store.open(tmp_path / "s", settings=Settings(tablets=2)) as store:
        revisits = Revisits(RevisitSettings())
        revisits.budget.threshold.value = 30.0
        queues = Queues(store, Frontier(), DefaultPrioritizer(), SeenSet(), lambda url, depth, now: None)
        queues.judge = revisits.judge
        revisits.take_up(queues, clock.now())
        url, now = Url("http://one.test/"), clock.now() + 5
        tablet = store.tablet(queues.tablet_of(url))
        old = [entry for entry in _entries(tablet) if entry.href == url.href]
        alone = revisits.policy.due_after(ChangeState.decode(store.get(url.href).meta.change).rate, 30.0)  # type: ignore[union-attr]
        early = START + 0.9 * alone * DAY
        assert revisits.judge(old[0], tablet, early) > early, "its rate alone would let it wait"
        assert revisits.signal(queues, url, Signal(now + 99, "push", 1.0), now)  # from a clock that goes wrong
        assert not revisits.signal(queues, url, Signal(now, "push", 1.0), now), "said already"
        assert not revisits.signal(queues, Url("http://one.test/x"), Signal(now, "push", 1.0), now), "a page we lack"
        assert not revisits.signal(queues, url, Signal(START, "sitemap", 1.0), now), "older than our copy"
        entries = [entry for entry in _entries(tablet) if entry.href == url.href]
        assert len(entries) == 2
        stale, fresh = sorted(entries, key=lambda entry: entry.generation)
        assert stale in old
        assert revisits.judge(stale, tablet, now + 300 * DAY) == float("inf"), "its time was moved"
        again = revisits.judge(fresh, tablet, now)
        assert again == 0.0 or now < again <= now + DAY
        assert revisits.judge(fresh, tablet, early) == 0.0


def test_a_page_is_judged_by_what_is_known_of_its_like_by_now(tmp_path: Path) -> None:
    """Two quiet looks, when nothing was known yet, must not put a page off for ever."""
    clock = VirtualClock(START)
    site = OnePage(clock, lambda request, now: (200, "", page("old")))
    crawl(tmp_path / "s", site, ["http://one.test/"], clock, 2, None)
    with Store.open(tmp_path / "s", settings=Settings(tablets=2)) as store:
        revisits = Revisits(RevisitSettings(budget=10.0))
        queues = Queues(store, Frontier(), DefaultPrioritizer(), SeenSet(), lambda url, depth, now: None)
        url, now = Url("http://one.test/"), START + 5
        tablet = store.tablet(queues.tablet_of(url))
        revisits.take_up(queues, now)
        same = Unchanged(url, Exchange(b"", b"", b"", 304, now, now))
        for seconds in (1, 3):
            seen = revisits.seen(url, same, None, tablet, now + seconds)
            batch = tablet.batch()
            batch.put_meta(url.key, seen.meta)
            tablet.write(batch)
        entry = next(entry for entry in _entries(tablet) if entry.href == url.href)
        revisits.budget.threshold.value = revisits.policy.value(20_000.0, 10 / DAY)
        assert revisits.judge(entry, tablet, now + 60) > now + 60, "once in ten days, for all that is known"
        for number in range(50):  # pages of its host change every few seconds
            state = ChangeState(seen=now, text=b"%d" % number)
            for turn in range(1, 6):
                state = visited(state, now + 4 * turn, True)
            revisits.priors.learn(state, url.host, seen.meta.type)
        assert revisits.judge(entry, tablet, now + 60) == 0.0


def test_what_a_sitemap_says_is_weighed_by_what_visits_find(tmp_path: Path) -> None:
    """An honest sitemap is asked again, its new pages are found, and its host comes to be trusted."""
    clock = VirtualClock(START)

    def at(number: int, now: float) -> float:
        return START + DAY * (1 + number % 5) * int((now - START) / DAY / (1 + number % 5))

    def answer(request: Request, now: float) -> tuple[int, str, str]:
        path = request.url.path
        if path == "/sitemap.xml":
            count = 40 if now > START + 3 * DAY else 30
            pages = ((number, at(number, now)) for number in range(count))
            rows = (f"<url><loc>http://one.test/{n}</loc><lastmod>{_iso(t)}</lastmod></url>" for n, t in pages)
            return 200, "", f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{''.join(rows)}</urlset>"
        if not path[1:].isdigit():
            return 200, "", page("home")
        return 200, "", f"<title>t</title><p>page {path} as of {at(int(path[1:]), now):.0f}</p>"

    site = OnePage(clock, answer, "application/xml")
    crawl(tmp_path / "s", site, ["http://one.test/"], clock, 30, RevisitSettings(budget=30 / DAY), sitemaps=True)
    asked = Counter(request.url.path for request in site.requests)
    assert asked["/sitemap.xml"] >= 3
    assert asked["/35"] >= 1, "a page that the sitemap told of later"
    with Store.open(tmp_path / "s", settings=Settings(tablets=2)) as store:
        number = store.tablet_of(Url("http://one.test/").key)
        memory = Revisits(RevisitSettings()).memory("one.test", store.tablet(number))
        assert store.tablet(number).ledger.counter("signals:sitemap") >= 10
    assert memory.trust.trust > 0.3, "its signals were right more often than chance"


def _iso(t: float) -> str:
    return datetime.fromtimestamp(t, UTC).isoformat()


def _entries(tablet: Tablet) -> list[Entry]:
    return [Entry.decode(value) for key, value in tablet.items("queue") if key.startswith(b"t")]


def test_the_command_tells_and_draws(crawled: Crawled, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = crawled[3]
    assert run(["freshness", "--store", str(path), "--plot", str(tmp_path / "f.png"), "--json"]) == 0
    said = msgspec.json.decode(capsys.readouterr().out)
    assert said["pages"] > 80
    assert 0 <= said["freshness"] <= 1
    assert said["hosts"]
    assert (tmp_path / "f.png").exists()
    assert run(["freshness", "--store", str(path), "--plot", str(tmp_path / "no" / "f.png")]) == 2


def test_a_hub_waits_for_a_contact_and_not_for_the_longest_there_could_be(tmp_path: Path) -> None:
    clock = VirtualClock(START)
    site = OnePage(clock, lambda request, now: (200, "", page("hub")))
    gate = Gate(Politeness(delay=1.0), 180.0)

    async def main() -> float:
        with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
            agent = Agent(
                store, Frontier(), FetchContext(site, Permissions("fyke"), clock, gate), Rules.of(CrawlSettings(), []),
                Processor("fyke"),
            )  # fmt: skip
            assert gate.enter("one.test", clock.now()) == 0.0
            asyncio.get_running_loop().call_later(2.0, lambda: gate.leave("one.test", clock.now()))
            await agent.visits.fetch(Request(Url("http://one.test/hub"), "POST"))
            return clock.now() - START

    assert 3.0 <= clock.run(main()) <= 5.0
