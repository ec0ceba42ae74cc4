"""Deleting: rows, hosts and what lies before a time, so that no copy loses the body that it shares."""

from __future__ import annotations

from collections.abc import Sequence

from fyke.store import bodies
from fyke.store.cells import SEEN_MARK
from fyke.store.store import Store


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
