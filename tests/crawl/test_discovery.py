"""Sitemaps and feeds in a crawl: what they list is fetched, in good order, and nothing they do does harm."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from fyke.clock import VirtualClock
from fyke.convert import Source, convert_here
from fyke.crawl.agent import Agent
from fyke.crawl.capture import Processor
from fyke.crawl.context import FetchContext
from fyke.crawl.discovery import discovery, lister
from fyke.crawl.discovery.discovery import Discovery, places, redirected
from fyke.crawl.discovery.lister import Lister
from fyke.crawl.mail.outbox import Offer
from fyke.crawl.politeness.permissions import Permissions
from fyke.crawl.politeness.rules import Rules
from fyke.crawl.run.options import AgentCallbacks, AgentOptions
from fyke.crawl.run.settings import CrawlSettings
from fyke.errors import ConfigError, StorageError
from fyke.formats.http import build_head, outcome
from fyke.frontier.frontier import Frontier
from fyke.frontier.politeness import Politeness
from fyke.sites.standing import Permission, stand
from fyke.store import Batch, Settings, Store
from fyke.url import Url
from fyke.values import Document, Exchange, Outcome, Request

BASE = "http://a.example"
NOW = 1_794_700_800.0
Answer = tuple[int, str, bytes]
Place = Answer | Callable[[float], Answer]


class Web:
    """A transport of a few pages, some of which depend on the time; it keeps a log."""

    def __init__(self, clock: VirtualClock, places: dict[str, Place]) -> None:
        self._clock = clock
        self._places = places
        self.log: list[tuple[float, str]] = []
        self.validators = 0

    async def fetch(self, request: Request) -> Outcome:
        href = request.url.href
        now = self._clock.now()
        self.log.append((now, href))
        place = self._places.get(href.removeprefix(BASE), (404, "text/plain", b"no"))
        status, media_type, body = place(now) if callable(place) else place
        tag = f'"{hash(body)}"'
        self.validators += bool(request.validators.etag)
        if status == 200 and request.validators.etag == tag:
            status, body = 304, b""
        head = build_head(status, "x", [("Content-Type", media_type), ("ETag", tag)])
        return outcome(request.url, Exchange(b"", head, body, status, now, now, "192.0.2.1"))

    def fetched(self) -> list[str]:
        return [href.removeprefix(BASE) for _, href in self.log]


async def _convert(source: Source) -> Document:
    return convert_here(source)


def crawl(path: Path, places: dict[str, Place], *, days: float = 0.0, sitemaps: bool = True, **options: object) -> Web:
    """Crawl from the front page; with ``days``, for so long, and feeds are polled."""
    clock = VirtualClock(NOW)
    web = Web(clock, places)
    settings = CrawlSettings(**{"delay": 0.01, **options})  # type: ignore[arg-type]
    processor = Processor("fyke", _convert)
    seeds = [Url.parse(BASE + "/")]

    async def main() -> None:
        with Store.open(path, settings=Settings(tablets=2)) as store:
            agent = Agent(
                store,
                Frontier(Politeness(delay=settings.delay)),
                FetchContext(web, Permissions("fyke"), clock),
                Rules.of(settings, seeds),
                processor,
                discovery=Discovery(processor, sitemaps=sitemaps, poll=bool(days)),
                # Ten days have too many seconds.
                options=AgentOptions(patience=1e9 if days else settings.patience, beat_every=3600.0 if days else 1.0),
                callbacks=AgentCallbacks(lambda agent: not days or clock.now() < NOW + days * 86_400),
            )
            await agent.run(seeds)

    clock.run(main())
    return web


def page(text: str = "Hello", head: str = "") -> Answer:
    return 200, "text/html", f"<html><head><title>t</title>{head}</head><body><p>{text}</p></body></html>".encode()


def sitemap(*rows: str, root: str = "urlset") -> Answer:
    return 200, "application/xml", f"<{root}>{''.join(rows)}</{root}>".encode()


def url(path: str, more: str = "") -> str:
    return f"<url><loc>{BASE}{path}</loc>{more}</url>"


ROBOTS: Answer = (200, "text/plain", f"User-agent: *\nDisallow: /private\nSitemap: {BASE}/maps/index.xml\n".encode())


def test_sitemaps_of_robots_are_read_index_and_all(tmp_path: Path) -> None:
    parts = "".join(f"<sitemap><loc>{BASE}/maps/{x}</loc></sitemap>" for x in ("index.xml", "a.xml.gz", "b.txt"))
    web = crawl(
        tmp_path / "s",
        {
            "/robots.txt": ROBOTS,
            "/": page(),
            "/maps/index.xml": sitemap(parts, root="sitemapindex"),
            "/maps/a.xml.gz": (200, "application/gzip", gzip.compress(sitemap(url("/1"), url("/private/x"))[2])),
            "/maps/b.txt": (200, "text/plain", f"{BASE}/2\n{BASE}/1\nhttp://b.example/x\n".encode()),
            **{path: page(path) for path in ("/1", "/2", "/private/x")},
        },
    )
    assert sorted(web.fetched()) == sorted(
        ["/robots.txt", "/", "/maps/index.xml", "/maps/a.xml.gz", "/maps/b.txt", "/1", "/2"]
    )
    with Store.open(tmp_path / "s", "r") as store:
        row = store.get(BASE + "/maps/b.txt")
        assert row is not None
        assert row.meta.type == "text/plain"
        assert [link.target.href for link in row.links] == [BASE + "/2", BASE + "/1", "http://b.example/x"]
        counters = {name: n for t in store.tablets() for name, n in t.ledger.counters().items()}
    assert counters["sitemaps"] == 3
    assert counters["dropped:scope"] == 1


def test_the_well_known_place_is_tried_and_leaves_nothing_where_nothing_is(tmp_path: Path) -> None:
    web = crawl(tmp_path / "a", {"/": page()})
    assert web.fetched() == ["/robots.txt", "/", "/sitemap.xml"]
    assert stored(tmp_path / "a") == {"/"}
    web = crawl(tmp_path / "b", {"/": page(), "/sitemap.xml": page("soft 404")})
    assert stored(tmp_path / "b") == {"/"}
    web = crawl(tmp_path / "c", {"/": page(), "/sitemap.xml": sitemap(url("/hidden")), "/hidden": page()})
    assert stored(tmp_path / "c") == {"/", "/sitemap.xml", "/hidden"}
    web = crawl(tmp_path / "d", {"/": page(), "/sitemap.xml": sitemap(url("/hidden"))}, sitemaps=False)
    assert web.fetched() == ["/robots.txt", "/"]


def stored(path: Path) -> set[str]:
    with Store.open(path, "r") as store:
        return {row.url.removeprefix(BASE) for row in store.scan()}


def test_indexes_of_indexes_end(tmp_path: Path) -> None:
    def index(number: int) -> Answer:
        parts = [f"<sitemap><loc>{BASE}/i{number + 1}-{k}</loc></sitemap>" for k in range(2)]
        return sitemap(*parts, root="sitemapindex")

    deep: dict[str, Place] = {f"/i{n}-{k}": index(n) for n in range(1, 9) for k in range(2)}
    web = crawl(tmp_path / "s", {"/robots.txt": (404, "", b""), "/": page(), "/sitemap.xml": index(0), **deep})
    assert set(web.fetched()) == {"/robots.txt", "/", "/sitemap.xml", "/i1-0", "/i1-1", "/i2-0", "/i2-1"}


def test_priority_orders_and_news_does_not_starve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "NEWS_FIRST", 100)
    news = "<news:news><news:publication_date>2026-11-14T20:00:00Z</news:publication_date></news:news>"
    rows = [url(f"/news/{k}", news) for k in range(240)] + [url(f"/page/{k}") for k in range(60)]
    body = '<urlset xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">' + "".join(rows) + "</urlset>"
    places: dict[str, Place] = {"/": page(), "/sitemap.xml": (200, "application/xml", body.encode())}
    places |= {f"/news/{k}": page(f"news {k}") for k in range(240)} | {f"/page/{k}": page(f"{k}") for k in range(60)}
    web = crawl(tmp_path / "s", places)
    order = [path for path in web.fetched() if path.startswith(("/news", "/page"))]
    assert len(order) == 300
    first = order[:60]
    assert sum(path.startswith("/news") for path in first) > 40  # news goes first
    assert any(path.startswith("/page") for path in order[:160])  # and does not hold up the rest until it has ended


FEED = """<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>News</title>
<item><title>Told</title><link>/told</link><dc:creator>Ada</dc:creator><category>Nets</category>
<pubDate>Sat, 14 Nov 2026 20:00:00 GMT</pubDate></item></channel></rss>"""
ALTERNATE = '<link rel="alternate" type="application/rss+xml" href="/feed">'


def test_items_bring_their_metadata(tmp_path: Path) -> None:
    said = '<meta name="author" content="Grace">'
    crawl(
        tmp_path / "s",
        {"/": page(head=ALTERNATE), "/feed": (200, "application/rss+xml", FEED.encode()), "/told": page("x", said)},
    )
    with Store.open(tmp_path / "s", "r") as store:
        row = store.get(BASE + "/told")
        feed = store.get(BASE + "/feed")
    assert row is not None
    assert row.meta.document is not None
    assert row.meta.document.published == "2026-11-14T20:00:00Z"  # the feed's word, where the page has none
    assert row.meta.document.section == "Nets"
    assert row.meta.document.author == "Grace"  # the page's own
    assert feed is not None
    assert "Told" in (feed.text or "")


def test_polled_items_come_nearly_as_soon_as_they_can(tmp_path: Path) -> None:
    chance = np.random.default_rng(3)
    times = np.sort(NOW + chance.random(120) * 10 * 86_400)  # twelve a day

    def feed(now: float) -> Answer:
        newest = [k for k in range(len(times)) if times[k] <= now][-15:]
        rows = "".join(f"<item><link>{BASE}/item/{k}</link></item>" for k in reversed(newest))
        return 200, "application/rss+xml", f"<rss><channel>{rows}</channel></rss>".encode()

    places: dict[str, Place] = {"/": page(head=ALTERNATE), "/feed": feed}
    places |= {f"/item/{k}": page(f"item {k}") for k in range(120)}
    web = crawl(tmp_path / "s", places, days=10.0, sitemaps=False)
    came = {int(path.rpartition("/")[2]): when for when, path in web.log if "/item/" in path}
    polls = [when for when, path in web.log if path.endswith("/feed") and when > NOW + 2 * 86_400]
    late = [came[k] - times[k] for k in came if times[k] > NOW + 2 * 86_400]
    best = 8 * 86_400 / len(polls) / 2  # evenly spaced polls of a Poisson process
    assert len(came) >= 118
    assert np.mean(late) <= 1.2 * best
    assert web.validators >= len(polls)  # each asks whether anything changed
    assert 100 < len(polls) < 1000


def test_sitemaps_are_asked_again(tmp_path: Path) -> None:
    def growing(now: float) -> Answer:
        days = int((now - NOW) // 86_400)
        return sitemap(*(url(f"/day/{k}", "<lastmod>2026-11-01</lastmod>") for k in range(days + 1)))

    places: dict[str, Place] = {"/": page(), "/sitemap.xml": growing, **{f"/day/{k}": page(f"{k}") for k in range(9)}}
    web = crawl(tmp_path / "s", places, days=5)
    came = {path: when for when, path in web.log if "/day/" in path}
    assert set(came) >= {f"{BASE}/day/{k}" for k in range(5)}
    late = [came[f"{BASE}/day/{k}"] - (NOW + k * 86_400) for k in range(1, 5)]
    assert max(late) < 86_400
    assert 5 <= web.fetched().count("/sitemap.xml") <= 5 * 24
    web = crawl(tmp_path / "s", places)  # a crawl that does not poll keeps what it finds scheduled
    web = crawl(tmp_path / "s", places, days=7)  # the clock begins anew, before all that is due
    assert "/sitemap.xml" in web.fetched()


def test_a_feed_that_fails_and_one_that_changes_its_ids(tmp_path: Path) -> None:
    def broken(now: float) -> Answer:
        return (500, "text/plain", b"") if now > NOW + 3600 else (200, "application/rss+xml", FEED.encode())

    web = crawl(tmp_path / "a", {"/": page(head=ALTERNATE), "/feed": broken, "/told": page()}, days=6, sitemaps=False)
    polls = [when for when, path in web.log if path.endswith("/feed") and when > NOW + 2 * 86_400]
    assert 3 <= len(polls) <= 4 * 3 * 2  # about once a day, with retries

    def restless(now: float) -> Answer:
        body = FEED.replace("<link>", f"<guid isPermaLink='false'>{now}</guid><link>")
        return 200, "application/rss+xml", body.encode()

    web = crawl(tmp_path / "b", {"/": page(head=ALTERNATE), "/feed": restless, "/told": page()}, days=6, sitemaps=False)
    assert web.fetched().count("/told") == 1  # a published document is fetched once
    assert web.fetched().count("/feed") < 6 * 86_400 / 600


def test_a_crash_amid_a_long_sitemap_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places: dict[str, Place] = {f"/p/{k}": page(f"{k}") for k in range(260)}
    places |= {"/": page(), "/sitemap.xml": sitemap(*map(url, places))}
    steps = []
    monkeypatch.setattr(lister, "STEP", 100)

    def die(self: Lister, batch: Batch, offers: Sequence[Offer]) -> list[Offer]:
        steps.append(len(offers))
        if len(steps) == 4:  # places, two steps, and the rest
            raise StorageError("the disk is gone")
        return wanted(self, batch, offers)

    wanted = Lister.wanted
    monkeypatch.setattr(Lister, "wanted", die)
    with pytest.raises(StorageError):
        crawl(tmp_path / "s", places)
    assert steps == [1, 100, 100, 60]
    monkeypatch.undo()
    crawl(tmp_path / "s", places)
    assert stored(tmp_path / "s") >= {f"/p/{k}" for k in range(260)}


def test_places_obey_robots() -> None:
    site = Url.parse(BASE + "/x")

    def permission(status: int, body: bytes = b"") -> Permission:
        return Permission(stand(None, status, NOW, user_agent="fyke", body=body), "fyke")

    named = b"Sitemap: /a.xml\nSitemap: http://[\nSitemap: https://cdn.example/b.xml\n"
    assert [o.href for o in places(site, permission(200, named))] == [BASE + "/a.xml", "https://cdn.example/b.xml"]
    assert [o.kind for o in places(site, permission(404))] == ["sitemap?:"]
    assert places(site, permission(200, b"User-agent: *\nDisallow: /")) == []
    assert places(site, permission(503)) == []
    many = b"".join(b"Sitemap: /%d\n" % k for k in range(5000))
    assert len(places(site, permission(200, many))) == 200


def test_redirects_keep_the_kind() -> None:
    assert redirected("") == ("1", 1)
    assert redirected("1") == ("2", 2)
    assert redirected("sitemap1:") == ("sitemap1:1", 1)
    assert redirected("sitemap1:9") == ("sitemap1:10", 10)
    assert redirected("again")[1] == 1


def test_websub_wants_both_its_settings() -> None:
    from fyke.config import build

    with pytest.raises(ConfigError, match="public_url"):
        build(CrawlSettings, {"websub": 80})
    with pytest.raises(ConfigError, match="public_url"):
        build(CrawlSettings, {"websub": 80, "public_url": "you.example"})
