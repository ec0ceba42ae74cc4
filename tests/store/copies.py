"""Exact copies, marked as a crawl marks them."""

from __future__ import annotations

import msgspec

from fyke.store import EXACT, Store
from fyke.url import Url


def mark_copy(store: Store, url: str, original: str) -> None:
    """Mark a stored page as an exact copy of another, which keeps the body of both."""
    key = Url(url).key
    tablet = store.tablet(store.tablet_of(key))
    version = tablet.version(key)
    assert version is not None
    batch = tablet.batch()
    meta = msgspec.structs.replace(version.meta, duplicate_of=original, duplicate_by=EXACT, similarity=1.0)
    batch.mark(key, version, meta)
    assert batch.strip(key, version.stamp) > 0
    tablet.write(batch)
