"""``fyke.pages``: a crawl, page by page, as they are stored.

::

    for page in fyke.pages(["https://example.org/"], max_pages=100):
        print(page.url, page.title, len(page.text))

The crawl runs in a thread of this process; where the loop that takes its pages is slower, it waits. ``break`` ends it
cleanly, and the same call goes on where it stopped.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from fyke.assemble import crawl
from fyke.reading.page import Page

AT_HAND = 64
"""Pages that wait to be taken, before the crawl begins no further visit."""

_Item = Page | BaseException | None


class _Stream:
    """What a crawl hands to whoever follows it."""

    def __init__(self) -> None:
        self.pages: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        self.over = False
        self.wake: Callable[[], object] = lambda: None

    def take(self, pages: list[Page]) -> None:
        """Take documents, which are written."""
        for page in pages:
            self.pages.put(page)

    @property
    def behind(self) -> bool:
        """Whether no more should come for now."""
        return self.pages.qsize() >= AT_HAND

    def next(self) -> Page | None:
        """Wait for the next page; None where the crawl has ended. Raises what ended it."""
        item = self.pages.get()
        if isinstance(item, BaseException):
            raise item
        if self.pages.qsize() == AT_HAND - 1:
            self._wake()
        return item

    def end(self) -> None:
        """Want no more."""
        self.over = True
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(RuntimeError):  # its loop has ended
            self.wake()


def pages(seeds: Iterable[str], store: str | Path = "fyke-store", **options: Any) -> Iterator[Page]:
    """Crawl as ``fyke.crawl`` does, and yield every document once it is stored: ``.url .status .text .markdown .meta``.

    Leaving the loop stops the crawl cleanly; the same call goes on with what was queued. ``options`` are those of
    ``fyke.crawl``. Raises what ``fyke.crawl`` raises.
    """
    stream, thread = _begin(seeds, store, options)
    try:
        while (page := stream.next()) is not None:
            yield page
    finally:
        stream.end()
        thread.join()


async def pages_async(seeds: Iterable[str], store: str | Path = "fyke-store", **options: Any) -> AsyncIterator[Page]:
    """Yield as ``fyke.pages`` does, in a program with an event loop of its own."""
    stream, thread = _begin(seeds, store, options)
    try:
        while (page := await asyncio.to_thread(stream.next)) is not None:
            yield page
    finally:
        stream.end()
        await asyncio.to_thread(thread.join)


def _begin(seeds: Iterable[str], store: str | Path, options: dict[str, Any]) -> tuple[_Stream, threading.Thread]:
    stream, urls = _Stream(), list(seeds)

    def run() -> None:
        try:
            crawl(urls, store, follow=stream, **options)
            stream.pages.put(None)
        except BaseException as error:  # whoever follows hears of it
            stream.pages.put(error)

    thread = threading.Thread(target=run, name="fyke-crawl", daemon=True)
    thread.start()
    return stream, thread
