"""One page as a browser shows it, beside what its server sent, by the rules of a fetch: ``fyke render``.

::

    URL ─▶ fetched (fyke.fetching) ─▶ shown (fyke.browser); each of its requests is fetched by the same rules
                                        └─ its scripts lead elsewhere: the next URL
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from fyke.browser.chromium import Chromium
from fyke.browser.process import find_program
from fyke.browser.values import Asked, Limits, Looks, Refusal, Rendered, Renderer
from fyke.clock import SystemClock
from fyke.crawl.run.settings import CrawlSettings
from fyke.errors import UrlError
from fyke.fetching import MAX_REDIRECTS, Fetcher, Refused, Waiting, open_transport, parse_url, run
from fyke.formats.http import NO_HEAD
from fyke.reading.conversion import MARKUP
from fyke.reading.page import Page
from fyke.reading.reading import read
from fyke.sites.scripted import gained, signs_of, suspect
from fyke.url import Url
from fyke.values import Drop, Exchange, Fetched, Links, Reason


@dataclass(frozen=True, slots=True)
class Shown:
    """A page that was rendered."""

    server: Page
    """What the server sent."""
    page: Page
    """The page as it was shown; where it was not, ``error`` says why."""
    rendered: Rendered
    suspect: str
    """Why the server's page looks as if scripts made it; empty where it does not."""

    @property
    def new_links(self) -> int:
        """Links that the server's page does not have."""
        return len({link.target.href for link in self.page.links} - {link.target.href for link in self.server.links})

    @property
    def gained(self) -> bool:
        """Whether a crawl would call it worth the while."""
        return gained(len(self.server.text.encode()), len(self.page.text.encode()), self.new_links)


def limits_of(settings: CrawlSettings, everything: bool) -> Limits:
    """What a page may take, by the settings."""
    return Limits(
        settings.render_timeout,
        requests=settings.render_requests,
        scroll=settings.render_scroll,
        everything=everything,
        max_html=settings.max_body,
    )


def render(
    url: str,
    settings: CrawlSettings,
    looks: Looks | None = None,
    *,
    everything: bool = False,
    waiting: Waiting = lambda host, seconds: None,
) -> Shown:
    """Show one page; blocking. ``everything``: with images and styles. Raises ``UserError`` where no browser is there.

    What the web does is a value: a page that did not come has an ``error``.
    """
    program, address = find_program(settings.browser), parse_url(url)

    async def work() -> Shown:
        clock = SystemClock()
        transport = open_transport([url], settings, clock)
        fetcher = Fetcher(transport, settings, clock)
        fetcher.waiting = waiting
        browser = Chromium(program, 1)
        agent = replace(looks or Looks(), agent=settings.agent)
        try:
            return await show(address, fetcher, browser, limits_of(settings, everything), agent)
        finally:
            await asyncio.to_thread(browser.close)
            await transport.close()

    return run(work())


async def show(url: Url, fetcher: Fetcher, renderer: Renderer, limits: Limits, looks: Looks) -> Shown:
    """Show the page at ``url``, or where its server and its scripts lead."""
    passed: tuple[str, ...] = ()
    while True:
        outcome, more = await fetcher.follow(url)
        server = await fetcher.read(url, outcome, more)
        passed += more
        if server.error or not isinstance(outcome, Fetched):
            return Shown(server, server, Rendered(server.url), "")
        if server.type not in MARKUP:
            kept = replace(server, error=str(Reason.UNSUPPORTED), detail=f"{server.type} is nothing that scripts make")
            return Shown(server, kept, Rendered(server.url), "")
        serving = Serving(fetcher, outcome.exchange)
        rendered = await renderer.render(server.url, serving, limits, looks)
        if not rendered.moved:
            break
        passed += (server.url,)
        if len(passed) > MAX_REDIRECTS:
            failed = replace(server, error=str(Drop.REDIRECTS), detail=f"more than {MAX_REDIRECTS} redirects in a row")
            return Shown(server, failed, rendered, "")
        url = parse_url(rendered.moved)
    why = suspect(signs_of(server.raw, len(server.text.encode()), len(server.links)))
    server = replace(server, redirects=passed, requested=server.requested if not passed else passed[0])
    return Shown(server, _page(server, rendered), rendered, why)


class Serving:
    """Answers a page's requests: the first is the page's own, which has come already; the others are fetched."""

    def __init__(self, fetcher: Fetcher, page: Exchange) -> None:
        self._fetcher = fetcher
        self._page: Exchange | None = page

    async def __call__(self, asked: Asked) -> Exchange | Refusal:
        """See ``browser.values.Serve``."""
        page, self._page = self._page, None
        if page is not None:
            return page
        try:
            url = parse_url(asked.url)
        except UrlError as error:
            return Refusal(str(error))
        outcome, _ = await self._fetcher.follow(url, asked.headers)
        if isinstance(outcome, Refused):
            return Refusal(str(Drop.ROBOTS))
        if outcome.exchange is None:
            return Refusal(str(getattr(outcome, "reason", Reason.PROTOCOL)))
        return outcome.exchange


def _page(server: Page, rendered: Rendered) -> Page:
    """The page as it was shown."""
    if rendered.error is not None:
        return replace(server, error=str(rendered.error), detail=rendered.detail, text="", links=Links(), raw=b"")
    body = rendered.html.encode("utf-8", "replace")
    found = read(body, NO_HEAD, Url(server.url))
    return replace(
        server,
        raw=body,
        content_type="text/html; charset=utf-8",
        title=found.title,
        language=found.language,
        text=found.text,
        meta=found.meta,
        links=found.links,
        truncated=rendered.truncated,
    )
