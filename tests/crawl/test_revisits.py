"""A continuous crawl of the changing world in virtual time; the world's truth says what it should have noticed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from fyke.cli import run
from fyke.clock import VirtualClock
from fyke.crawl import freshness
from fyke.crawl.budget import RevisitSettings
from fyke.crawl.discovery import Discovery
from fyke.crawl.engine import Agent
from fyke.crawl.gate import Gate
from fyke.crawl.permissions import Permissions
from fyke.crawl.process import Processor
from fyke.crawl.queues import Queues
from fyke.crawl.revisits import Revisits
from fyke.crawl.rules import Rules
from fyke.crawl.settings import CrawlSettings
from fyke.formats.http import build_head, outcome
from fyke.frontier.frontier import Frontier
from fyke.frontier.keys import Entry
from fyke.frontier.politeness import Politeness
from fyke.frontier.priority import DefaultPrioritizer
from fyke.frontier.revisit import DAY, ChangeState, Signal, visited
from fyke.frontier.seen import SeenSet
from fyke.store import Settings, Store, Tablet
from fyke.url import Url
from fyke.values import Exchange, Outcome, Request, Unchanged
from fyke.world.config import START, WorldConfig
from fyke.world.transport import WorldTransport, shortest_gaps
from fyke.world.truth import Validity
from fyke.world.world import World


@dataclass
class Ended:
    agent: Agent
    counters: Counter[str]


def crawl(
    path: Path, transport: object, seeds: list[str], clock: VirtualClock, days: float,
    settings: RevisitSettings | None, *, sitemaps: bool = False,
) -> Ended:  # fmt: skip
    urls = [Url.parse(seed) for seed in seeds]
    until = clock.now() + days * DAY
    log = freshness.Log(path, 0)

    def beat(agent: Agent) -> bool:
        if agent.revisits is not None:
            log.note(clock.now(), agent.revisits.gauge, agent.tally.revisits, agent.tally.changed, 1.0)
        return clock.now() < until

    processor = Processor("fyke")

    async def main() -> Ended:
        with Store.open(path, settings=Settings(tablets=2)) as store:
            agent = Agent(
                store, Frontier(Politeness(delay=1.0)), transport, Rules.of(CrawlSettings(scope="any"), urls),  # type: ignore[arg-type]
                Permissions("fyke"), processor, clock, revisits=settings, beat=beat, beat_every=1200.0,
                discovery=Discovery(processor, sitemaps=sitemaps, poll=sitemaps),
            )  # fmt: skip
            await agent.run(urls)
            counters: Counter[str] = Counter()
            for tablet in store.tablets():
                counters.update(tablet.ledger.counters())
            return Ended(agent, counters)

    return clock.run(main())


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, WorldTransport, Ended, Path, float]:
    """Ten days of a world of three hosts' worth of difficulties, a visit per page and day."""
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
    assert ended.agent.tally.revisits > 0.6 * 150 * 12
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
    gauged = ended.agent.revisits.gauge.read(now)
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


class OnePage:
    """A site of one page, answered by a function of (request, time)."""

    def __init__(
        self, clock: VirtualClock, answer: Callable[[Request, float], tuple[int, str, str]], sitemap: str = ""
    ) -> None:
        """``sitemap`` is the media type of its sitemap, where it has one."""
        self._clock, self._answer, self._sitemap = clock, answer, sitemap
        self.requests: list[Request] = []

    async def fetch(self, request: Request) -> Outcome:
        now = self._clock.now()
        media = "text/html"
        if request.url.path == "/robots.txt":
            status, etag, body = (
                (404, "", "") if not self._sitemap else (200, "", "Sitemap: http://one.test/sitemap.xml")
            )
        elif request.url.path == "/sitemap.xml" and not self._sitemap:
            status, etag, body = 404, "", ""
        else:
            self.requests.append(request)
            status, etag, body = self._answer(request, now)
            media = self._sitemap if request.url.path == "/sitemap.xml" else media
        headers = [("Content-Type", media), ("Content-Length", str(len(body)))]
        if etag:
            headers.append(("ETag", etag))
        sent = b"" if request.method == "HEAD" or status == 304 else body.encode()
        head = build_head(status, "-", headers)
        return outcome(request.url, Exchange(b"GET", head, sent, status, now, now + 0.1))


def _page(text: str, size: int = 0) -> str:
    return f"<title>t</title><body><p>{text} {'word ' * size}</p><a href=/other>more</a></body>"


def test_a_304_keeps_the_copy_and_offers_its_links_again(tmp_path: Path) -> None:
    clock = VirtualClock(START)
    site = OnePage(
        clock, lambda request, now: (304, '"a"', "") if request.validators.etag else (200, '"a"', _page("x"))
    )
    ended = crawl(tmp_path / "s", site, ["http://one.test/"], clock, 3, RevisitSettings(budget=20 / DAY))
    assert ended.counters["revisits:unchanged"] >= 5
    with Store.open(tmp_path / "s", "r") as store:
        row = store.get("http://one.test/")
        assert row is not None
        assert len(row.versions) == 1
        assert [link.target.href for link in row.links] == ["http://one.test/other"]
        assert ChangeState.decode(row.meta.change).seen > START + 2 * DAY


def test_large_pages_of_honest_hosts_are_asked_for_by_head(tmp_path: Path) -> None:
    clock = VirtualClock(START)

    def answer(request: Request, now: float) -> tuple[int, str, str]:
        version = int((now - START) / (DAY / 3))
        etag = f'"{version}"'
        if request.validators.etag == etag:
            return 304, etag, ""
        return 200, etag, _page(f"version {version}", 120_000)

    site = OnePage(clock, answer)
    crawl(tmp_path / "s", site, ["http://one.test/"], clock, 8, RevisitSettings(budget=12 / DAY))
    methods = [request.method for request in site.requests]
    first = methods.index("HEAD")
    assert methods[:first].count("GET") >= 4, "validators are tried before they are believed"
    assert Counter(methods[first:])["HEAD"] >= 0.4 * len(methods[first:])
    with Store.open(tmp_path / "s", "r") as store:
        row = store.get("http://one.test/")
        assert row is not None
        assert len(row.versions) >= 10, "what a HEAD says to have changed is fetched"


def test_pages_that_are_gone_are_retired_after_repeated_proof(tmp_path: Path) -> None:
    clock = VirtualClock(START)
    site = OnePage(clock, lambda request, now: (410, "", "gone") if now > START + DAY else (200, "", _page("x")))
    ended = crawl(tmp_path / "s", site, ["http://one.test/"], clock, 12, RevisitSettings(budget=20 / DAY))
    assert ended.counters["revisits:retired"] == 2
    assert ended.counters["pages"] == 0
    assert len(site.requests) <= 2 * 20 + 2 * 3, "what is retired is not asked for again"
    with Store.open(tmp_path / "s", "r") as store:
        row = store.get("http://one.test/")
        assert row is not None
        assert (row.meta.error, row.meta.status) == ("gone", 410)
        assert len(row.versions) == 2, "the last copy is kept"
        assert freshness.collection(store.scan(), clock.now()).whole.pages == 0


def test_a_page_that_comes_back_is_not_retired(tmp_path: Path) -> None:
    clock = VirtualClock(START)
    bad = (START + DAY, START + 2.5 * DAY)
    site = OnePage(clock, lambda request, now: (404, "", "") if bad[0] < now < bad[1] else (200, "", _page("x")))
    ended = crawl(tmp_path / "s", site, ["http://one.test/"], clock, 8, RevisitSettings(budget=20 / DAY))
    assert ended.counters["revisits:absent"] >= 1
    assert ended.counters["revisits:retired"] == 0
    assert ended.counters["pages"] == 2


def test_pages_that_all_say_sorry_are_gone_too(tmp_path: Path) -> None:
    clock = VirtualClock(START)

    def answer(request: Request, now: float) -> tuple[int, str, str]:
        own = f"the page {request.url.path} tells of its own matters and of nothing else"
        return 200, "", _page(own if now < START + DAY else "sorry, we cannot find what you asked for")

    site = OnePage(clock, answer)
    ended = crawl(tmp_path / "s", site, ["http://one.test/"], clock, 14, RevisitSettings(budget=20 / DAY))
    assert ended.counters["revisits:retired"] == 2


def test_a_crawl_that_is_not_continuous_is_taken_up_and_ends_by_itself(tmp_path: Path) -> None:
    clock = VirtualClock(START)
    site = OnePage(clock, lambda request, now: (200, "", _page(f"at {now:.0f}")))
    crawl(tmp_path / "s", site, ["http://one.test/"], clock, 1, None)
    before = len(site.requests)
    assert before == 2  # the page and its link
    ended = crawl(tmp_path / "s", site, ["http://one.test/"], clock, 2, RevisitSettings(budget=20 / DAY))
    assert ended.counters["revisits:changed"] >= 5
    again = len(site.requests)
    crawl(tmp_path / "s", site, ["http://one.test/"], clock, 1, None)
    assert len(site.requests) <= again + 2, "a crawl without revisits makes none"


def test_a_trusted_signal_brings_the_visit_forward(tmp_path: Path) -> None:
    clock = VirtualClock(START)
    site = OnePage(clock, lambda request, now: (200, "", _page("new" if now > START + 4 * DAY else "old")))
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
    site = OnePage(clock, lambda request, now: (200, "", _page("old")))
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
            return 200, "", _page("home")
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
    site = OnePage(clock, lambda request, now: (200, "", _page("hub")))
    gate = Gate(Politeness(delay=1.0), 180.0)

    async def main() -> float:
        with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
            agent = Agent(
                store, Frontier(), site, Rules.of(CrawlSettings(), []), Permissions("fyke"), Processor("fyke"), clock,
                gate=gate,
            )  # fmt: skip
            assert gate.enter("one.test", clock.now()) == 0.0
            asyncio.get_running_loop().call_later(2.0, lambda: gate.leave("one.test", clock.now()))
            await agent.fetch(Request(Url("http://one.test/hub"), "POST"))
            return clock.now() - START

    assert 3.0 <= clock.run(main()) <= 5.0
