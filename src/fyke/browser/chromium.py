"""``Chromium``: a ``Renderer``; its browser lives beside the caller's loop, is started when needed, and replaced.

All of it happens in a thread with a loop of its own, so that no page holds the caller's. A page that ends the browser
has a reason; those that were shown beside it are shown once more.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from concurrent.futures import Future
from pathlib import Path

from fyke.browser.page import BrowserGoneError, render
from fyke.browser.process import PAGES, Browser, may_isolate
from fyke.browser.values import Asked, Limits, Looks, Refusal, Rendered, Serve
from fyke.errors import UserError
from fyke.values import Exchange, Reason

log = logging.getLogger(__name__)

AT_ONCE = 2
"""Pages shown at once: they mostly wait for answers, and each takes some 40 MB."""
TRIES = 2
"""Of a page whose browser ended."""
STARTS = 3
"""Of a browser that ends while it starts, as one may on a busy machine."""
_CLOSE_SECONDS = 20.0


class Chromium:
    """Shows pages in the browser that ``program`` is (``process.find_program``)."""

    def __init__(self, program: Path, at_once: int = AT_ONCE) -> None:
        self._program = program
        self._slots = at_once
        self._loop = asyncio.SelectorEventLoop()
        # What Playwright leaves unheard when its driver ends: whoever waited for a page has heard of it.
        self._loop.set_exception_handler(lambda _, context: log.debug("%s", context.get("exception", context)))
        self._thread: threading.Thread | None = None
        self._browser: Browser | None = None
        self._isolate: bool | None = None
        self._free = asyncio.Semaphore(at_once)
        self._starting = asyncio.Lock()
        self._showing = 0

    async def render(self, url: str, serve: Serve, limits: Limits, looks: Looks) -> Rendered:
        """Show a page; see ``Renderer``. Raises ``UserError`` where the browser does not start."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="fyke-browser", daemon=True)
            self._thread.start()
        here = asyncio.get_running_loop()

        async def ask(asked: Asked) -> Exchange | Refusal:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_served(serve, asked), here))

        work = asyncio.run_coroutine_threadsafe(self._render(url, ask, limits, looks), self._loop)
        return await asyncio.wrap_future(work)

    def close(self) -> None:
        """End the browser, and leave no process behind; blocks for a moment."""
        if self._thread is None:
            self._loop.close()
            return
        ended: Future[None] = asyncio.run_coroutine_threadsafe(self._end(), self._loop)
        try:
            ended.result(_CLOSE_SECONDS)
        except TimeoutError:
            if self._browser is not None:
                self._browser.kill()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_SECONDS)
        self._thread = None

    def _run(self) -> None:
        # Ctrl-C is the caller's to handle: the driver inherits this.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    async def _end(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        if self._browser is not None:
            await self._browser.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _render(self, url: str, serve: Serve, limits: Limits, looks: Looks) -> Rendered:
        async with self._free:
            for _ in range(TRIES):
                browser = await self._ready()
                self._showing += 1
                try:
                    return await render(browser, url, serve, limits, looks)
                except BrowserGoneError:
                    continue
                finally:
                    self._showing -= 1
        return Rendered(url, error=Reason.RENDER_CRASH, detail="the browser ended")

    async def _ready(self) -> Browser:
        """Return the browser, a new one where it is gone or has shown many pages."""
        async with self._starting:
            old = self._browser
            if old is not None and not old.gone.is_set() and (old.pages < PAGES or self._showing):
                return old
            if old is not None:
                self._browser = None
                await old.close()
            if self._isolate is None:
                self._isolate = may_isolate()
            for left in reversed(range(STARTS)):
                try:
                    self._browser = await Browser.start(self._program, isolate=self._isolate)
                except UserError:
                    if not left:
                        raise
                else:
                    break
            assert self._browser is not None
            return self._browser


async def _served(serve: Serve, asked: Asked) -> Exchange | Refusal:
    """What ``serve`` answers; a fault of ours is a refusal."""
    try:
        return await serve(asked)
    except Exception as error:
        return Refusal(f"{type(error).__name__}: {error}")


def warning() -> str:
    """What a user is to know before pages are rendered; empty where there is nothing."""
    said = "Chromium runs without its sandbox, which it has not for root; another user is safer"
    return said if os.geteuid() == 0 else ""
