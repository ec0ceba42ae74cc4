"""The seen-set in the tablets: the keys of the URLs that a tablet owns, as chunks in the batches of their effect.

::

    queue   "k" ‖ number (8)    → keys: 64-bit integers, little-endian
            "m"                 → empty: the chunks hold every URL of rows and queues

A chunk is written with the queue entries that it tells of, so no URL is known that is not queued, and a restart reads
eight bytes a URL instead of its row. Whoever writes rows without a crawl (``fyke import``, ``Store.put``) deletes the
mark; where it is absent the chunks are made anew from rows and queues.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from fyke.frontier.seen import Keys, url_keys
from fyke.sites.traps import seen_form
from fyke.store import SEEN_MARK, Batch, Tablet
from fyke.url import Url

_CHUNK = b"k"
_CHUNKS = (_CHUNK, bytes((_CHUNK[0] + 1,)))
_AT_ONCE = 10_000


class SeenChunks:
    """The chunks of one tablet."""

    def __init__(self, tablet: Tablet, secret: int) -> None:
        self._tablet = tablet
        self._secret = secret
        self._next = 0

    def add(self, batch: Batch, urls: Iterable[Url]) -> None:
        """Write in ``batch`` that these URLs are known."""
        self._put(batch, url_keys(map(seen_form, urls), self._secret))

    def read(self) -> Iterator[Keys] | None:
        """Yield the keys of the tablet's URLs; None where the chunks do not hold them all."""
        return self._chunks() if self._tablet.get("queue", SEEN_MARK) is not None else None

    def rebuild(self, urls: Iterable[Url]) -> Iterator[Keys]:
        """Write the chunks anew from all URLs of rows and queues; yields their keys on the way."""
        batch = self._tablet.batch()
        for key, _ in self._tablet.items("queue", *_CHUNKS):
            batch.delete("queue", key)
        self._tablet.write(batch)
        self._next = 0
        urls = iter(urls)
        while some := list(islice(urls, _AT_ONCE)):
            keys = url_keys(map(seen_form, some), self._secret)
            batch = self._tablet.batch()
            self._put(batch, keys)
            self._tablet.write(batch)
            yield keys
        batch = self._tablet.batch()
        batch.put("queue", SEEN_MARK, b"")
        self._tablet.write_first(batch)

    def _put(self, batch: Batch, keys: Keys) -> None:
        batch.put("queue", _CHUNK + self._next.to_bytes(8, "big"), keys.astype("<u8").tobytes())
        self._next += 1

    def _chunks(self) -> Iterator[Keys]:
        pending: list[bytes] = []
        for key, value in self._tablet.items("queue", *_CHUNKS):
            self._next = int.from_bytes(key[1:], "big") + 1
            pending.append(value[: len(value) // 8 * 8])
            if len(pending) == _AT_ONCE:
                yield np.frombuffer(b"".join(pending), "<u8").astype(np.uint64)
                pending = []
        if pending:
            yield np.frombuffer(b"".join(pending), "<u8").astype(np.uint64)
