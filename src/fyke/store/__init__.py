"""The document store: rows of versioned, compressed documents by URL, in tablets on RocksDB.

A user opens a ``Store`` and gets and puts documents by URL. A crawl writes through the tablets that it owns, one
atomic batch for all that follows from one page::

    store = Store.open(path, settings=Settings(keep_versions=3), tablets=[0, 1])   # this agent's tablets
    tablet = store.tablet(store.tablet_of(url.key))

    batch = tablet.batch()
    batch.put_row(
        url.key,
        Change(
            RowMeta(status=200, type="text/html", length=len(body), fetched=now, digest=sha1),
            page=Page(request_head, response_head, body),
            text=text,                                        # None: no text; a new page never inherits the old one's
            links=links,                                      # Sequence[values.Link]
            columns=(("crawl:history", history),),            # sparse columns, any number, opaque bytes
        ),
        stamp=int(now * 1e6),                                 # µs; the next free one is taken if it is in use
    )
    batch.put("queue", key, value)                            # queue, host, seen, outbox: keys of the crawl's making
    batch.delete("queue", done)
    batch.delete_range("outbox", first, last)
    batch.put_anchors(target.key, source_tablet, group, [Anchor(url.href, "text", now)])
    batch.count("errors:dns")                                 # exact counters: tablet.ledger.counter("errors:dns")
    tablet.write(batch)                                       # all or nothing; survives kill -9 on return
    tablet.sync()                                             # about once a second: survives a power cut

    tablet.get("seen", key); tablet.multi_get("host", keys)
    for key, value in tablet.items("queue", low_water_mark, end): ...    # ordered; start at the mark, not at the front
    tablet.version(url.key)                                   # → Version | None: .stamp, .meta (validators, digest)
    tablet.read(url.key)                                      # → Row | None, never torn

A page that is unchanged is ``put_row`` with ``page=None``: a new version that names the old cells. Rows of other
tablets are never written: they go to the outbox. ``store.mode == "r"`` follows a live writer.
"""

from fyke.store.batch import Batch
from fyke.store.cells import EXACT, SEEN_MARK, Anchor, Cell, Change, Page, RowMeta, Version
from fyke.store.codec import Codec
from fyke.store.hosts import HostStats
from fyke.store.manifest import Settings
from fyke.store.row import Row
from fyke.store.store import Store
from fyke.store.tablet import Tablet

__all__ = [
    "EXACT",
    "SEEN_MARK",
    "Anchor",
    "Batch",
    "Cell",
    "Change",
    "Codec",
    "HostStats",
    "Page",
    "Row",
    "RowMeta",
    "Settings",
    "Store",
    "Tablet",
    "Version",
]
