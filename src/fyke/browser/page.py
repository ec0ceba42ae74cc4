"""One page in a browser: its requests answered, its growth watched until it has settled, its DOM written out.

A page's life: asked for → loading → settled (there, nothing under way, no growth for half a second, and a second old at
least) → scrolled, if that is wanted → written out. It ends early when its time is over or it asks for too much (what
there is by then is kept), when its scripts lead elsewhere, and when it crashes.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fyke.browser.process import END_SECONDS, Browser
from fyke.browser.scripts import BEFORE, GROWTH, SCROLL, WRITE
from fyke.browser.values import REQUISITES, Answer, Asked, Limits, Looks, Refusal, Rendered, Serve
from fyke.errors import UrlError
from fyke.formats.http import parse_head
from fyke.limits import note
from fyke.url import Url
from fyke.values import Exchange, Reason

if TYPE_CHECKING:
    from playwright.async_api import Frame, Page, Request, Route

QUIET = 0.5
"""Seconds without growth after which a page has settled."""
LEAST = 1.0
"""Seconds that a page is looked at at least: scripts wait before they begin."""
STEP = 0.2
"""Seconds between two looks."""
FLOOD = 4
"""Times the allowed requests, after which a page is taken as it is."""
DEAF = 2.0
"""Seconds for which a page whose time is over may not have answered: then a script of it runs on, and it is lost."""
MAX_FRAMES = 10
_OURS = frozenset(
    {
        "content-encoding",
        "content-length",
        "transfer-encoding",
        "alt-svc",
        "connection",
        "keep-alive",
        "content-disposition",
    }
)
"""Of headers: the body is decoded already, connections are none of the page's business, and nothing is saved."""
_WATCH_MEMORY = 1.0  # seconds between two looks


class BrowserGoneError(Exception):
    """The browser ended, perhaps by another page's fault."""


async def render(browser: Browser, url: str, serve: Serve, limits: Limits, looks: Looks) -> Rendered:
    """Show a page in a context of its own. Raises ``BrowserGoneError``; the page's own faults are values."""
    from playwright.async_api import Error

    began = time.monotonic()
    try:
        context = await _within(browser, browser.context(looks.agent), END_SECONDS)
    except (Error, TimeoutError):
        raise BrowserGoneError from None
    shown = _Shown(browser, url, serve, limits)
    try:
        await context.add_init_script(BEFORE.replace("MOST", str((FLOOD + 1) * limits.requests)))
        await context.route("**/*", shown.answer)
        page = await context.new_page()
        context.on("page", lambda other: shown.beside(other.close()))
        rendered = await shown.show(page, looks)
    except (Error, BrowserGoneError) as error:
        if browser.gone.is_set() and not shown.crashed:
            raise BrowserGoneError from None
        rendered = Rendered(url, error=Reason.RENDER_CRASH, detail=_line(error))
    finally:
        await shown.end()
        try:
            async with asyncio.timeout(END_SECONDS):
                await context.close()
        except (Error, TimeoutError):  # a renderer that does not even end
            browser.kill()
    if rendered.error is Reason.RENDER_CRASH and browser.gone.is_set() and not shown.crashed:
        raise BrowserGoneError  # or its driver, which nobody tells of
    return replace(rendered, answers=tuple(shown.answers), seconds=time.monotonic() - began)


async def _within(browser: Browser, work: Coroutine[Any, Any, Any], seconds: float) -> Any:
    """Wait for an answer of the browser. Raises ``TimeoutError``, and ``BrowserGoneError`` as soon as it is gone."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(browser.gone.wait())
    done, _ = await asyncio.wait({task, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    gone.cancel()
    if task in done:
        return task.result()
    task.cancel()
    task.add_done_callback(_forget)
    if browser.gone.is_set():
        raise BrowserGoneError
    raise TimeoutError


def _forget(task: asyncio.Future[Any]) -> None:
    """Let an error that nobody waits for be nobody's."""
    if not task.cancelled():
        task.exception()


class _Shown:
    """A page while it is shown."""

    def __init__(self, browser: Browser, url: str, serve: Serve, limits: Limits) -> None:
        self.answers: list[Answer] = []
        self._browser, self._url, self._serve, self._limits = browser, url, serve, limits
        self._page: Page | None = None
        self._asked = self._passed = self._waiting = 0
        self._moved = ""
        self._crashed = asyncio.Event()
        self._over = asyncio.Event()  # nothing more is to be waited for
        self._spent = self._waited = 0.0  # seconds of its own, and those in which it waited for us
        self._deaf = False  # it does not answer
        self._tasks: set[asyncio.Future[Any]] = set()

    @property
    def crashed(self) -> bool:
        """Whether the page itself ended its process, or the browser."""
        return self._crashed.is_set()

    def beside(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run what nobody waits for."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(_forget)

    async def end(self) -> None:
        """Leave nothing running."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # ---- its requests

    async def answer(self, route: Route) -> None:
        """Answer a request: by ``serve``, or not at all."""
        request = route.request
        self._asked += 1
        if self._asked > FLOOD * self._limits.requests:
            self._over.set()  # and no word on this one: thousands may follow
            return
        asked = Asked(request.url, request.resource_type, request.method, _headers(request))
        why = self._refuses(request, asked)
        if why:
            self.answers.append(Answer(asked, refused=why))
            # A navigation that was aborted leaves the page as it is; one that was blocked shows an error.
            await _quietly(route.abort("aborted" if request.is_navigation_request() else "blockedbyclient"))
            return
        place = len(self.answers)
        self.answers.append(Answer(asked))
        self._waiting += 1
        self._passed += 1
        try:
            came = await self._serve(asked)
        finally:
            self._waiting -= 1
        if isinstance(came, Refusal):
            self.answers[place] = Answer(asked, refused=came.why)
            await _quietly(route.abort("blockedbyclient"))
            return
        self.answers[place] = Answer(asked, came.status, len(came.body))
        await _quietly(route.fulfill(status=came.status, headers=_told(came), body=came.body))

    def _refuses(self, request: Request, asked: Asked) -> str:
        """Why a request is not even passed on."""
        if not asked.url.startswith(("http://", "https://")):
            return "scheme"
        if asked.method != "GET":
            return "method"
        if self._over.is_set() or self._passed >= self._limits.requests:
            return Reason.TOO_MANY_REQUESTS
        frame = _frame(request)
        if frame is None or self._page is None or frame.page != self._page:
            return "popup"
        if request.is_navigation_request():
            return self._navigates(frame, asked.url)
        if asked.kind in {"websocket", "eventsource", "ping", "cspviolationreport"}:
            return asked.kind
        return asked.kind if asked.kind in REQUISITES and not self._limits.everything else ""

    def _navigates(self, frame: Frame, url: str) -> str:
        """Let the page itself come, once, and frames of its own site."""
        if frame.parent_frame is None:
            if not self.answers:
                return ""
            if url.partition("#")[0] != self._url.partition("#")[0]:
                self._moved = self._moved or url
                self._over.set()
            return "navigation"
        if frame.parent_frame.parent_frame is not None and frame.parent_frame.parent_frame.parent_frame is not None:
            return "nested"
        return "" if _same_site(self._url, url) else "frame"

    # ---- its life

    async def show(self, page: Page, looks: Looks) -> Rendered:
        """Load the page, wait until it has settled, and write it out."""
        self._page = page
        page.on("dialog", lambda dialog: self.beside(dialog.dismiss()))
        page.on("crash", lambda _: self._crashed.set())
        self.beside(page.goto(self._url, wait_until="commit", timeout=0))
        self.beside(self._watch_memory())
        there = await self._settle(page)
        for _ in range(self._limits.scroll if there else 0):
            before = await self._ask(page.evaluate(GROWTH))
            await self._ask(page.evaluate(SCROLL))
            there = await self._settle(page, QUIET)
            if not there or await self._ask(page.evaluate(GROWTH)) == before:
                break
        if self._crashed.is_set():
            return Rendered(self._url, error=Reason.RENDER_CRASH, detail="the page's process ended")
        if self._moved:
            return Rendered(self._url, moved=self._moved)
        if not self._deaf:
            with contextlib.suppress(TimeoutError):
                return await self._written(page, looks, truncated=not there)
        if self._crashed.is_set():
            return Rendered(self._url, error=Reason.RENDER_CRASH, detail="the page's process ended")
        return Rendered(self._url, error=Reason.RENDER_TIMEOUT, detail="a script of the page runs on and on")

    async def _settle(self, page: Page, least: float = LEAST) -> bool:
        """Wait until the page has settled; False where its time is over, or it asks for too much."""
        limits, began = self._limits, time.monotonic()
        last, grown, looked = began, began, began
        size: object = None
        look: asyncio.Future[Any] | None = None
        try:
            while self._spent < limits.seconds and self._waited < limits.patience:
                await self._rest(STEP)
                now = time.monotonic()
                if self._waiting:
                    self._waited, grown = self._waited + now - last, now
                else:
                    self._spent += now - last
                last = now
                if self._crashed.is_set() or self._over.is_set():
                    return False
                if self._browser.gone.is_set():
                    raise BrowserGoneError
                if look is not None and look.done():
                    found, look = _result(look), None
                    if found is None or not found[0] or found != size:
                        size, grown = found, now
                    elif now - grown >= QUIET and now - began >= least and not self._waiting:
                        return True
                if look is None:
                    looked = now
                    look = asyncio.ensure_future(page.evaluate(GROWTH))
                    look.add_done_callback(_forget)
            self._deaf = look is not None and not look.done() and last - looked > DEAF
            return False
        finally:
            if look is not None:
                look.cancel()

    async def _rest(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._over.wait()

    async def _ask(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return what the page says; None where it is not there, or does not answer."""
        from playwright.async_api import Error

        try:
            return await _within(self._browser, work, self._limits.seconds)
        except (Error, TimeoutError):
            return None

    async def _written(self, page: Page, looks: Looks, truncated: bool) -> Rendered:
        if not page.url.startswith("http"):
            return Rendered(self._url, error=Reason.RENDER_CRASH, detail="the browser did not take the page")
        most = self._limits.max_html
        said = str(await self._ask(page.evaluate(looks.script)) or "") if looks.script else ""
        html, whole = await _within(self._browser, page.evaluate(WRITE, [most, False]), self._limits.seconds)
        origin = _origin(page.url)
        others = [each for each in page.frames[1:] if each.url.startswith("http") and _origin(each.url) != origin]
        if len(others) > MAX_FRAMES:
            note("frames")
        for frame in others[:MAX_FRAMES]:
            found = await self._ask(frame.evaluate(WRITE, [most - len(html), True]))
            if found is not None:
                at = html.rfind("</body>")
                html = f'{html[:at]}<div data-frame="{frame.url}">{found[0]}</div>{html[at:]}'
        shot = await self._ask(page.screenshot(full_page=True, timeout=0)) or b"" if looks.shot else b""
        return Rendered(self._url, html, truncated=truncated or not whole, shot=shot, said=said)

    async def _watch_memory(self) -> None:
        """Kill a browser that grows beyond all bounds."""
        while True:
            await asyncio.sleep(_WATCH_MEMORY)
            if self._browser.memory() > self._limits.memory:
                self._crashed.set()
                self._over.set()
                self._browser.kill()


# ---- small parts


def _result(task: asyncio.Future[Any]) -> Any:
    return None if task.cancelled() or task.exception() is not None else task.result()


async def _quietly(work: Coroutine[Any, Any, Any]) -> None:
    """Do what a page that has gone meanwhile does not need any more."""
    from playwright.async_api import Error

    with contextlib.suppress(Error):
        await work


def _frame(request: Request) -> Frame | None:
    from playwright.async_api import Error

    try:
        return request.frame
    except Error:  # a worker's, or of a page that is not there yet
        return None


def _headers(request: Request) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in request.headers.items() if name == "accept" or name.startswith("x-"))


def _told(came: Exchange) -> dict[str, str]:
    """The headers of an answer, as the page gets them."""
    told: dict[str, str] = {}
    for name, value in parse_head(came.response_head).headers:
        key = name.lower()
        if key not in _OURS:
            told[key] = told[key] + ("\n" if key == "set-cookie" else ", ") + value if key in told else value
    return told


def _same_site(one: str, other: str) -> bool:
    try:
        return Url(one).domain == Url(other).domain
    except UrlError:
        return False


def _origin(url: str) -> str:
    return "/".join(url.split("/", 3)[:3])


def _line(error: Exception) -> str:
    return str(error).partition("\n")[0]
