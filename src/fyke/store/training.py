"""Training: zstd dictionaries from the pages of a host, or of a content type, made beside the writer.

A host gets a dictionary once it has 200 pages, or 50 with 2 MB, and a new, larger one whenever it has four times as
many (sixteen, where none helped): the first pages of a crawl are not typical of the rest. Hosts without one use that of
the content type, made from pages of many hosts. A dictionary is on disk before the first cell that needs it, and stays
for as long as the tablet.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fyke.errors import StorageError
from fyke.store import rocks
from fyke.store.cells import META, PAGE, cell_key, unpack_version
from fyke.store.codec import is_worth, may_be_worth, train

if TYPE_CHECKING:
    from fyke.store.tablet import Tablet

HOST_PAGES, LARGE_PAGES = 200, 50
"""Pages of a host before a dictionary is made; the few are enough where they have 2 MB, of which the smallest is the
share. Still fewer samples make a dictionary that fits only them."""
AGAIN, IN_VAIN = 4, 16
"""Times as many pages before the next is made; where none was worth its time, pages seldom become more alike."""
SAMPLE_BYTES = 256 * 1024
"""How much of one page is a sample."""
SAMPLING = 4
"""Samples have four times the bytes of the dictionary: more of them made it no better (docs/store.md)."""
SHARE = 32
"""A dictionary has 1/32 of the bytes of the pages that call for it: about a fifth of what they are compressed."""
SMALLEST, LARGEST = 64 << 10, 1 << 20
"""Training takes 60 ms and digesting 1 ms for each megabyte of dictionary."""
HELD_OUT = 12
"""One sample in so many shows whether the dictionary is worth its time."""
FIRST = 6
"""Samples by which it is seen whether training may be of use: two are compressed with four in a dictionary's place."""
TYPE_PAGES = 400
TYPES = 32
"""Content types that may have a dictionary in one tablet."""


class Trainer:
    """Makes dictionaries for one tablet on a thread of its own, one at a time."""

    def __init__(self, tablet: Tablet) -> None:
        self._tablet = tablet
        self._jobs: queue.SimpleQueue[bytes | tuple[str, list[bytes]] | None] = queue.SimpleQueue()
        self._waiting: set[bytes | str] = set()
        self._by_type: dict[str, list[bytes]] = {}
        self._thread: threading.Thread | None = None
        self.seconds = 0.0
        """CPU time spent so far."""

    def consider(self, prefixes: Iterable[bytes]) -> None:
        """Ask for a dictionary for each of these hosts that has become large enough."""
        for prefix in prefixes:
            totals = self._tablet.ledger.host(prefix)
            enough = LARGE_PAGES if totals.size >= SHARE * SMALLEST else HOST_PAGES
            again = AGAIN if totals.dictionary else IN_VAIN
            if totals.pages >= max(enough, again * totals.tried):
                self._ask(prefix, prefix)

    def sampled(self, row: bytes, stamp: int, media_type: str) -> None:
        """Note a page that may become a sample of its type."""
        keys = self._by_type.get(media_type)
        if keys is None:
            if not media_type or len(self._by_type) >= TYPES:
                return
            keys = self._by_type[media_type] = []
        if len(keys) < TYPE_PAGES:
            keys.append(cell_key(row, stamp))
            if len(keys) == TYPE_PAGES and not self._tablet.ledger.media_type(media_type).tried:
                self._ask(media_type, (media_type, keys))

    def finish(self) -> None:
        """Finish what was asked for and end the thread."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None

    def _ask(self, name: bytes | str, job: bytes | tuple[str, list[bytes]]) -> None:
        if name in self._waiting:
            return
        self._waiting.add(name)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="fyke dictionaries", daemon=True)
            self._thread.start()
        self._jobs.put(job)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            name = job if isinstance(job, bytes) else job[0]
            started = time.thread_time()
            try:
                self._train(name, self._cells_of_host(job) if isinstance(job, bytes) else job[1])
            except StorageError:
                return  # the writer meets the same fault and reports it
            finally:
                self._waiting.discard(name)
                rocks.HEAP.trim()
                self.seconds += time.thread_time() - started

    def _cells_of_host(self, prefix: bytes) -> list[bytes]:
        versions = self._tablet.items(META, prefix, prefix[:-1] + b"\1")
        return [cell_key(row, stamp) for row, value in versions if (stamp := unpack_version(value).page)]

    def _train(self, name: bytes | str, keys: list[bytes]) -> None:
        tablet = self._tablet
        whole = tablet.ledger.host(name).size if isinstance(name, bytes) else LARGEST * SHARE // 4
        size = max(SMALLEST, min(whole // SHARE, LARGEST, tablet.dictionary_room()))
        samples: list[bytes] = []
        room, by_host = SAMPLING * size, isinstance(name, bytes)  # six pages say little of a type
        step = max(1, whole // room)  # spread over the host
        for key in keys[::step]:
            value = tablet.get(PAGE, key)
            if value is not None:
                samples.append(tablet.decode(value)[: min(SAMPLE_BYTES, room)])
                room -= len(samples[-1])
            if room <= 0:
                break
            if by_host and len(samples) == FIRST and not may_be_worth(samples[2:], samples[:2]):
                tablet.put_dictionary(name, None)
                return
        unseen = samples[::HELD_OUT] if len(samples) > HELD_OUT else []
        dictionary = train([sample for i, sample in enumerate(samples) if i % HELD_OUT or not unseen], size)
        tablet.put_dictionary(name, dictionary if dictionary and is_worth(dictionary, unseen) else None)
