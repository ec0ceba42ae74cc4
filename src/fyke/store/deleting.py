"""Deleting and pruning: rows, hosts, what lies before a time; so that no copy loses the body that it shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fyke.store import bodies
from fyke.store.cells import SEEN_MARK
from fyke.store.store import Store

STEP = 256
"""Rows that go, or are pruned, at once."""
Progress = Callable[[int], None]


def delete_rows(store: Store, keys: Sequence[bytes]) -> None:
    """Delete rows with their history, anchors and columns. Bodies that other rows name go to the next of these."""
    with store.lock:
        going = []
        for key in keys:
            tablet = store.writable(store.tablet_of(key))
            going += bodies.going(key, tablet.versions(key))
        bodies.bequeath(store, going, keys)
        for number in {store.tablet_of(key) for key in keys}:
            tablet = store.writable(number)
            batch = tablet.batch()
            batch.delete("queue", SEEN_MARK)
            for key in keys:
                if store.tablet_of(key) == number:
                    batch.delete_row(key)
            tablet.write(batch)


def delete(
    store: Store, *, host: str = "", prefix: str = "", before: float = 0.0, progress: Progress | None = None
) -> int:
    """Delete the rows of a host, below a URL, or all; with ``before`` only those that were last fetched earlier.

    Returns how many. Rows that only have anchors go, too, unless a time is asked for. REQUIRES: one of them is given.
    """
    assert host or prefix or before
    count = 0
    for keys in _steps(_matching(store, host, prefix, before)):
        delete_rows(store, keys)
        count += len(keys)
        if progress is not None:
            progress(count)
    store.sync()
    return count


def _matching(store: Store, host: str, prefix: str, before: float) -> Iterator[bytes]:
    for row in store.scan(prefix, host, parts=()):
        if not before or (row.meta.fetched or row.stamp / 1e6) < before:
            yield row.key
    if not before:
        yield from store.anchored(prefix, host)


def _steps(keys: Iterator[bytes]) -> Iterator[list[bytes]]:
    held: list[bytes] = []
    for key in keys:
        held.append(key)
        if len(held) >= STEP:
            yield held
            held = []
    if held:
        yield held


def prune(
    store: Store,
    *,
    keep: int = 0,
    before: float = 0.0,
    host: str = "",
    prefix: str = "",
    progress: Progress | None = None,
) -> int:
    """Drop the versions beyond the newest ``keep`` of each row, and those fetched ``before``; the newest always stays.

    Returns how many went.
    """
    count = rows = 0
    for keys in _steps(row.key for row in store.scan(prefix, host, parts=())):
        with store.lock:
            for key in keys:
                tablet = store.writable(store.tablet_of(key))
                batch = tablet.batch()
                count += batch.prune(key, keep, before)
                tablet.write(batch)
        rows += len(keys)
        if progress is not None:
            progress(rows)
    store.sync()
    return count
