"""A continuous crawl in virtual time, and a site of one page for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fyke.clock import VirtualClock
from fyke.crawl.agent import Agent
from fyke.crawl.capture import Processor
from fyke.crawl.context import FetchContext
from fyke.crawl.discovery.discovery import Discovery
from fyke.crawl.order.order import Order
from fyke.crawl.order.reserve import Reserve
from fyke.crawl.politeness.permissions import Permissions
from fyke.crawl.politeness.rules import Rules
from fyke.crawl.revisit import freshness
from fyke.crawl.revisit.budget import RevisitSettings
from fyke.crawl.run.options import AgentCallbacks, AgentOptions
from fyke.crawl.run.settings import CrawlSettings
from fyke.formats.http import build_head, outcome
from fyke.frontier.frontier import Frontier
from fyke.frontier.politeness import Politeness
from fyke.frontier.revisit import DAY
from fyke.interfaces import Transport
from fyke.store import Settings, Store
from fyke.url import Url
from fyke.values import Exchange, Outcome, Request


@dataclass
class Ended:
    agent: Agent
    counters: Counter[str]


def crawl(
    path: Path, transport: Transport, seeds: list[str], clock: VirtualClock, days: float,
    settings: RevisitSettings | None, *, sitemaps: bool = False,
    order: Callable[[Store, Reserve], Order] | None = None,
) -> Ended:  # fmt: skip
    urls = [Url.parse(seed) for seed in seeds]
    until = clock.now() + days * DAY
    log = freshness.Log(path, 0)

    def beat(agent: Agent) -> bool:
        if agent.revisits is not None:
            log.note(clock.now(), agent.revisits.sample, agent.tally.revisits, agent.tally.changed, 1.0)
        return clock.now() < until

    processor = Processor("fyke")

    async def main() -> Ended:
        with Store.open(path, settings=Settings(tablets=2)) as store:
            agent = Agent(
                store, Frontier(Politeness(delay=1.0)), FetchContext(transport, Permissions("fyke"), clock),
                Rules.of(CrawlSettings(scope="any"), urls), processor,
                discovery=Discovery(processor, sitemaps=sitemaps, poll=sitemaps),
                options=AgentOptions(
                    revisits=settings, beat_every=1200.0,
                    order=None if order is None else lambda reserve: order(store, reserve),
                ),
                callbacks=AgentCallbacks(beat),
            )  # fmt: skip
            await agent.run(urls)
            counters: Counter[str] = Counter()
            for tablet in store.tablets():
                counters.update(tablet.ledger.counters())
            return Ended(agent, counters)

    return clock.run(main())


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


def page(text: str, size: int = 0) -> str:
    return f"<title>t</title><body><p>{text} {'word ' * size}</p><a href=/other>more</a></body>"
