"""Revisits, resolved: which page has the payload that a revisit stands for, in whatever order they came.

::

    default   "u" ‖ row ‖ 00 ‖ ¬stamp   → nothing: a revisit that waits for its payload (column ``warc:refers-to``)

The digest that it states decides, of several pages with that payload the one at the URL and date that it names.
Archives may state the digest of the encoded payload: which page stated it is known as long as the import lasts. A
revisit that states none, or one that nobody knows, is resolved by URL and date, and one that says "not modified" by the
newest capture before it. What cannot be resolved waits for the next import.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from fyke.errors import UrlError
from fyke.formats.warc_exchange import Original
from fyke.store import bodies
from fyke.store.batch import Batch
from fyke.store.cells import (
    COLUMN,
    EXACT,
    OWN,
    Change,
    Page,
    Version,
    after,
    cell_key,
    column_key,
    split_cell_key,
)
from fyke.store.hosts import WAITING_RECORD
from fyke.store.imports.columns import REFERS_TO, unpack_reference
from fyke.store.imports.items import sha1_of
from fyke.store.spool import Payloads
from fyke.store.store import Store
from fyke.store.tablet import Tablet
from fyke.url import Url

Enrich = Callable[[Sequence[tuple[Url, Change]]], list[Change]]
Stored = Callable[[Sequence[tuple[Url, int, Change]]], None]
Found = tuple[bytes, Version]
"""A row, and its version that has the payload or names it."""


def waiting_key(row: bytes, stamp: int) -> bytes:
    """Return the key that says that a revisit waits for its payload."""
    return WAITING_RECORD + cell_key(row, stamp)


def resolve(store: Store, payloads: Payloads, enrich: Enrich | None, stored: Stored | None = None) -> int:
    """Resolve every revisit that waits, as far as can be; return how many still wait.

    ``payloads`` knows the pages whose archive states another digest than that of the decoded body. ``stored`` is told
    of copies, and says what is the original; without it, that is the page that has the payload.
    """
    left, before = waiting(store), -1
    while left and left != before:  # a revisit of a revisit is resolved after that one
        for tablet in store.tablets():
            for key, _ in tablet.items(OWN, WAITING_RECORD, after(WAITING_RECORD)):
                row, stamp = split_cell_key(key[1:])
                with store.lock:
                    _resolve_one(store, tablet, row, stamp, payloads, (enrich, stored))
        left, before = waiting(store), left
    store.sync()
    return left


def waiting(store: Store) -> int:
    """Return how many revisits wait for their payload."""
    kind = WAITING_RECORD
    return sum(1 for tablet in store.tablets() for _ in tablet.items(OWN, kind, after(kind)))


def _resolve_one(
    store: Store, tablet: Tablet, row: bytes, stamp: int, payloads: Payloads, tell: tuple[Enrich | None, Stored | None]
) -> None:
    reference = tablet.get(COLUMN, column_key(row, REFERS_TO.encode(), stamp))
    version = next((v for v in tablet.versions(row) if v.stamp == stamp == v.page), None)
    batch = tablet.batch()
    batch.delete(OWN, waiting_key(row, stamp))
    if version is None or reference is None:  # pruned, or deleted
        tablet.write(batch)
        return
    original, stated = unpack_reference(reference)
    found = _original_of(store, row, version, original, stated.lower(), payloads)
    if found is None:
        return
    source, page = found
    digest = page.meta.digest
    body = bodies.body_of(store, Url.from_key(source).href, digest)
    if not body:
        return
    batch.delete(COLUMN, column_key(row, REFERS_TO.encode(), stamp))
    enrich, stored = tell
    change = _complete(batch, row, version, found, body, enrich, marking=stored is None)
    tablet.write(batch)
    if stored is not None and source != row:
        stored([(Url.from_key(row), stamp, change)])
    if store.settings.keep_versions:  # what may be pruned shares no body
        batch = tablet.batch()
        batch.fill(row, stamp, body)
        tablet.write(batch)


def _complete(
    batch: Batch, row: bytes, version: Version, found: Found, body: bytes, enrich: Enrich | None, *, marking: bool
) -> Change:
    """Say of a revisit what its payload says; return what was said."""
    source, page = found
    meta = msgspec.structs.replace(
        version.meta,
        length=len(body),
        digest=page.meta.digest,
        status=page.meta.status if version.meta.status in (0, 304) else version.meta.status,
        type=version.meta.type or page.meta.type,
    )
    if source == row:
        like = page.meta
        meta = msgspec.structs.replace(
            meta, title=like.title, language=like.language, encoding=like.encoding, document=like.document,
            type=like.type,
        )  # fmt: skip
        change = Change(meta)
        batch.complete(row, version, change, page)
        return change
    if marking:
        original = Url.from_key(source).href
        meta = msgspec.structs.replace(meta, duplicate_of=original, duplicate_by=EXACT, similarity=1.0)
        batch.count("duplicates:exact")
    change = Change(meta, Page(b"", b"", body))
    if enrich is not None:
        change = enrich([(Url.from_key(row), change)])[0]
    batch.complete(row, version, change)
    return change


def _original_of(
    store: Store, row: bytes, version: Version, original: Original, stated: str, payloads: Payloads
) -> Found | None:
    named = _row_named(original.uri) or row
    digest = sha1_of(stated)
    if digest and bodies.is_digest(digest):
        near = (store.tablet_of(named),)
        found = [(p.row, _page_version(store, p)) for p in bodies.find(store, digest, near)]
        pages = [(key, page) for key, page in found if page is not None]
        if pages:
            return min(pages, key=lambda each: _far(each, named, original.date))
    alias = payloads.get(stated.encode()) if stated else None
    for key, when in ((named, original.date), (Url(alias.url).key if alias else b"", alias.date if alias else 0.0)):
        if key and when and (at := _at(store, key, when, (row, version.stamp))) is not None:
            return at
    if stated and "not-modified" not in original.profile:
        return None
    return _before(store, named, version, (row, version.stamp))


def _far(found: Found, row: bytes, date: float) -> tuple[bool, bool, int]:
    key, page = found
    return key != row, bool(date) and int(page.meta.fetched) != int(date), page.stamp


def _page_version(store: Store, place: bodies.Place) -> Version | None:
    """The version that a page was put with; else the oldest that names it."""
    versions = [v for v in store.tablet(place.tablet).versions(place.row) if v.page == place.stamp]
    return min(versions, key=lambda version: version.stamp, default=None)


def _captures(store: Store, row: bytes, but: tuple[bytes, int]) -> list[Version]:
    """The versions of a row whose digest is known, the newest first."""
    number = store.tablet_of(row)
    if not store.exists(number):
        return []
    versions = store.tablet(number).versions(row)
    return [v for v in versions if v.page and bodies.is_digest(v.meta.digest) and (row, v.stamp) != but]


def _at(store: Store, row: bytes, when: float, but: tuple[bytes, int]) -> Found | None:
    """The capture of a time; dates without a fraction name a second."""
    found = [v for v in _captures(store, row, but) if int(v.meta.fetched) == int(when)]
    return (row, min(found, key=lambda v: abs(v.meta.fetched - when))) if found else None


def _before(store: Store, row: bytes, version: Version, but: tuple[bytes, int]) -> Found | None:
    found = (v for v in _captures(store, row, but) if v.meta.fetched <= version.meta.fetched)
    newest = next(found, None)
    return None if newest is None else (row, newest)


def _row_named(uri: str) -> bytes:
    try:
        return Url.parse(uri).key if uri else b""
    except UrlError:
        return b""
