"""Why a crawl ended, and what it came to: the exit status that scripts rely on, and the seeds that gave nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import islice

from fyke.store import Store
from fyke.url import Url
from fyke.values import Drop

MAX_SEEDS = 10_000
"""Seeds that are looked at."""
NOT_YET = "not asked for yet"


class End(StrEnum):
    """Why a crawl ended."""

    DONE = "done"
    """Nothing is left to do, or what is left is due beyond the patience."""
    LIMIT = "limit"
    """As many pages or bytes as were asked for have come, or the time is over."""
    INTERRUPTED = "interrupted"
    NO_ROOM = "no-room"
    """The disk is full."""


def failed_seeds(store: Store, seeds: Iterable[str], troubles: Mapping[str, str]) -> dict[str, str]:
    """The seeds that could not be had, each with its reason; ``troubles`` are those of sites that are still queued."""
    failed = {}
    for href in islice(seeds, MAX_SEEDS):
        row = store.get(href)
        if row is None or not row.stamp:
            failed[href] = troubles.get(Url(href).site, NOT_YET)
        elif row.meta.error and row.meta.error != Drop.TYPE:  # which came, and is not kept
            failed[href] = troubles.get(Url(href).site, row.meta.error)
    return failed


def exit_status(end: End, *, pages: int, queued: int, seeds: int, failed: Mapping[str, str], continuous: bool) -> int:
    """The exit status of a crawl: 0 nothing left to do now, 1 failed, 3 interrupted with work left.

    A seed whose turn did not come before the end of ``--max-time`` has not failed.
    """
    if end is End.NO_ROOM:
        return 1
    if end is End.INTERRUPTED:
        return 3 if queued and not continuous else 0
    tried = sum(not (end is End.LIMIT and why == NOT_YET) for why in failed.values())
    return 1 if tried >= seeds and not pages else 0
