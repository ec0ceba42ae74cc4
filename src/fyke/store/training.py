"""Training: zstd dictionaries from the pages of a host, or of a content type, made beside the writer.

A host gets a dictionary once it has 200 pages, and a new, larger one whenever it has four times as many: the
first pages of a crawl are not typical of the rest. Hosts without one use that of the content type, made from
pages of many hosts. A dictionary is on disk before the first cell that needs it, and stays for as long as the tablet.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fyke.errors import StorageError
from fyke.store.cells import META, PAGE, cell_key, unpack_version
from fyke.store.codec import LEVEL, train

if TYPE_CHECKING:
    from fyke.store.tablet import Tablet

HOST_PAGES = 200
"""Pages of a host before a dictionary is worth its 100 KB: fewer samples make a dictionary that fits only them."""
AGAIN = 4
SAMPLES = 500
"""Pages that a dictionary is made from, spread evenly over the host's rows."""
SAMPLE_BYTES = 128 * 1024
"""How much of one page is a sample."""
ALL_SAMPLES = 16 << 20
"""Bytes of all samples together: what training holds in memory, twice."""
SHARE = 32
"""A dictionary has 1/32 of the bytes of the pages that call for it, which is about a fifth of them compressed."""
SMALLEST, LARGEST = 64 << 10, 1 << 20
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

    def consider(self, prefixes: Iterable[bytes]) -> None:
        """Ask for a dictionary for each of these hosts that has become large enough."""
        for prefix in prefixes:
            totals = self._tablet.ledger.host(prefix)
            if totals.pages >= HOST_PAGES and totals.pages >= AGAIN * totals.tried:
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
            name, keys = (job, self._keys_of_host(job)) if isinstance(job, bytes) else job
            try:
                self._train(name, keys)
            except StorageError:
                return  # the writer meets the same fault and reports it
            finally:
                self._waiting.discard(name)

    def _keys_of_host(self, prefix: bytes) -> list[bytes]:
        tablet = self._tablet
        versions = [
            (row, stamp)
            for row, value in tablet.items(META, prefix, prefix[:-1] + b"\1")
            if (stamp := unpack_version(value).page)
        ]
        step = max(1, len(versions) // SAMPLES)
        return [cell_key(row, stamp) for row, stamp in versions[::step][:SAMPLES]]

    def _train(self, name: bytes | str, keys: list[bytes]) -> None:
        tablet = self._tablet
        values = (tablet.get(PAGE, key) for key in keys)
        samples: list[bytes] = []
        room = ALL_SAMPLES
        for value in values:
            if value is not None and room > 0:
                samples.append(tablet.decode(value)[: min(SAMPLE_BYTES, room)])
                room -= len(samples[-1])
        whole = tablet.ledger.host(name).size if isinstance(name, bytes) else ALL_SAMPLES - room
        tablet.put_dictionary(name, train(samples, min(max(whole // SHARE, SMALLEST), LARGEST), LEVEL))
