"""``fyke.convert``: any document to tagged text, what is dangerous or large in a worker process, the rest at once."""

from __future__ import annotations

import atexit
import os
import threading

from fyke.formats.tags import TABLE, Table
from fyke.reading.conversion import LIMITS, Limits, Source, convert_here, is_isolated, prepare
from fyke.url import Url
from fyke.values import Document
from fyke.workers.pool import Pool

AT_ONCE = 1_000_000
"""Bytes of HTML, XML or text that are converted in the caller's own process: some 10 ms."""

FROM_THE_WEB = 150_000_000
"""Bytes that a converter of what strangers sent may take beyond its start: it has 300 MB then, and no file of the
public set of 36 formats needs as much. What somebody wants converted himself has ``LIMITS.memory``."""

_lock = threading.Lock()
_shared: dict[int, Pool] = {}


def _unlock() -> None:
    """A forked child may have been forked while another thread held the lock."""
    global _lock  # noqa: PLW0603 - its own
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_unlock)


def convert(
    data: bytes,
    media_type: str | None = None,
    url: str | Url | None = None,
    *,
    name: str = "",
    limits: Limits = LIMITS,
    table: Table = TABLE,
) -> Document:
    """Return ``data`` as tagged text: ``.html .text .title .meta .links``, and ``.failure`` if it went wrong.

    ``media_type`` is the Content-Type that came with it, ``url`` where it is from (links are joined with it), ``name``
    a file name. Never raises for what the document is; computes for ``limits.seconds`` at most.
    """
    source = prepare(
        data, media_type, Url.parse(url) if isinstance(url, str) else url, name=name, limits=limits, table=table
    )
    return convert_source(source)


def convert_source(source: Source, memory: int = LIMITS.memory) -> Document:
    """The same for a source that is prepared; ``memory`` is what a worker may take."""
    return shared_pool(memory).convert(source) if needs_worker(source) else convert_here(source)


def needs_worker(source: Source) -> bool:
    """Whether a source belongs into a worker: its format may hang or crash, or it is large."""
    size = len(source.data)
    return 0 < size <= source.limits.max_bytes and (is_isolated(source) or size > AT_ONCE)


def shared_pool(memory: int = LIMITS.memory) -> Pool:
    """Return the process's own pool of workers of that ``memory``, made when asked for, ended with the process."""
    with _lock:
        if memory not in _shared:
            _shared[memory] = Pool(memory=memory)
            atexit.register(_shared[memory].kill)
        return _shared[memory]
