"""A user's code at two places of a visit: before the fetch, and after the document was read.

It runs in one thread beside the loop, so it may take its time; but one that has not answered after ``PATIENCE`` seconds
is turned off, and its page goes on without it. One that raises is named in the status and counted, and the page goes
on. None of this can end a crawl, and a crawl without hooks does none of it.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from fyke.crawl.capture import Processed, page_of, refused
from fyke.crawl.run.runtime import log
from fyke.errors import FykeError
from fyke.fetch.sessions import parse_header
from fyke.frontier.keys import Entry
from fyke.reading.page import Page
from fyke.url import Url
from fyke.values import Drop, Link

PATIENCE = 10.0
"""Seconds that a hook may take."""
MAX_REASON = 60


@dataclass(frozen=True, slots=True)
class Edit:
    """What a hook wants of a page that was read."""

    drop: str = ""
    """Why it is not kept."""
    annotate: tuple[tuple[str, bytes], ...] = ()
    """Sparse columns of its row."""
    links: tuple[Url, ...] = ()
    """Further addresses that it leads to."""


class HookError(Exception):
    """What a hook returned is none of what it may return."""


class Hook:
    """One function of a user's."""

    def __init__(self, name: str, function: Callable[[Any], Any], trouble: Callable[[str, str], None]) -> None:
        """``trouble(name, why)`` hears of what is wrong with it."""
        self.name, self._function, self._trouble = name, function, trouble
        self.failures = 0
        self._asked: queue.SimpleQueue[tuple[Any, asyncio.AbstractEventLoop, asyncio.Future[Any]]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._off = False

    async def __call__(self, given: Any) -> Any:
        """Return what it says of ``given``; None where it fails, or is off."""
        if self._off:
            return None
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=f"hook {self.name}", daemon=True)
            self._thread.start()
        self._asked.put((given, loop, future))
        try:
            return await asyncio.wait_for(future, PATIENCE)
        except TimeoutError:
            self._off = True
            self.failed(f"has not answered for {PATIENCE:g} s, and is off")
        except Exception as error:  # it is somebody's code
            self.failed(f"{type(error).__name__}: {error}")
        return None

    def failed(self, why: str) -> None:
        """Note that it went wrong."""
        self.failures += 1
        self._trouble(f"hook {self.name}", f"{why} ({self.failures} times)")
        log.warning("hook %s: %s", self.name, why)

    def _work(self) -> None:
        while True:
            given, loop, future = self._asked.get()
            try:
                said, error = self._function(given), None
            except Exception as raised:
                said, error = None, raised
            try:
                loop.call_soon_threadsafe(_answer, future, said, error)
            except RuntimeError:  # the crawl is over
                return


def _answer(future: asyncio.Future[Any], said: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(said)
    else:
        future.set_exception(error)


async def before_fetch(hook: Hook, url: Url) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return why a URL is not fetched, or what headers go with it."""
    said = await hook(url.href)
    try:
        if said is None:
            return "", ()
        if isinstance(said, str):
            return said[:MAX_REASON] or "hook", ()
        if isinstance(said, Mapping):
            return "", tuple(parse_header(f"{name}: {value}") for name, value in said.items())
        raise HookError(f"returned {type(said).__name__}; it may be None, a dict of headers, or a reason")
    except (HookError, FykeError) as error:
        hook.failed(str(error))
        return "", ()


async def after_reading(hook: Hook, page: Page) -> Edit:
    """Return what a hook wants of a page."""
    said = await hook(page)
    if said is None:
        return Edit()
    try:
        if not isinstance(said, Mapping) or not said.keys() <= {"drop", "annotate", "links"}:
            raise HookError("may return None, or a dict with drop, annotate, links")
        columns = tuple((f"hook:{name}", _bytes(value)) for name, value in said.get("annotate", {}).items())
        links = tuple(Url.parse(str(link)) for link in said.get("links", ()))
        return Edit(str(said.get("drop") or "")[:MAX_REASON], columns, links)
    except (HookError, FykeError, TypeError, AttributeError, ValueError) as error:
        hook.failed(str(error))
        return Edit()


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


async def edited(hook: Hook, entry: Entry, processed: Processed, now: float) -> Processed:
    """Return a document that was read as the hook wants it."""
    if processed.change.meta.error:
        return processed
    edit = await after_reading(hook, page_of(entry.href, processed))
    if edit.drop:
        gone = refused(entry.depth, now, Drop.HOOK)
        return replace(gone, links=processed.links, keys=processed.keys)
    links, keys = processed.links, processed.keys
    if edit.links:
        links, keys = [*links, *(Link(url, "", "hook") for url in edit.links)], None
    change = replace(processed.change, columns=processed.change.columns + edit.annotate)
    return replace(processed, change=change, links=links, keys=keys)
