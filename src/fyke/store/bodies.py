"""Bodies by digest: which pages have a body, which only name it, and who inherits it when its page goes.

::

    default   "b" ‖ SHA-1 of the body (20) ‖ row ‖ 00 ‖ ¬stamp   → 01: this page has the body; 00: another page has it
              "b"                                               → nothing: every page of the tablet is listed
    counter   bodies:elsewhere                                  how many pages only name their body

Each tablet lists its own pages, in the batch that puts them, so that the list is right whenever the pages are there; a
digest is looked for in all tablets. A body is in the store as long as one page that names it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fyke.store.cells import (
    EXACT,
    META,
    OWN,
    PAGE,
    PAST,
    RowMeta,
    Version,
    after,
    cell_key,
    split_cell_key,
    unpack_page,
)
from fyke.store.cells import unpack_version as unpack
from fyke.url import Url

if TYPE_CHECKING:
    from fyke.store.batch import Batch
    from fyke.store.store import Store
    from fyke.store.tablet import Tablet

BODY_RECORD = b"b"
HERE, ELSEWHERE = b"\1", b"\0"
COUNTER = "bodies:elsewhere"
NOTHING = hashlib.sha1(b"", usedforsecurity=False).digest()
"""The digest of an empty body, as earlier imports wrote it."""
_STEP = 10_000


class Place(NamedTuple):
    """A page that has, or names, a body."""

    tablet: int
    row: bytes
    stamp: int
    here: bool


def is_digest(digest: bytes) -> bool:
    """Whether a version's digest names a body."""
    return len(digest) == 20 and digest != NOTHING


def body_key(digest: bytes, row: bytes, stamp: int) -> bytes:
    """Return the key under which a page is listed."""
    return BODY_RECORD + digest + cell_key(row, stamp)


def note(batch: Batch, digest: bytes, row: bytes, stamp: int, here: bool) -> None:
    """List a page that was not listed."""
    if is_digest(digest):
        batch.put(OWN, body_key(digest, row, stamp), HERE if here else ELSEWHERE)
        if not here:
            batch.count(COUNTER)


def move(batch: Batch, digest: bytes, row: bytes, stamp: int, here: bool) -> None:
    """List a page anew that lost its body, or got it."""
    if is_digest(digest):
        batch.put(OWN, body_key(digest, row, stamp), HERE if here else ELSEWHERE)
        batch.count(COUNTER, -1 if here else 1)


def forget(batch: Batch, row: bytes, page: int, version: Version) -> None:
    """Take a page off the list that ``version`` names."""
    digest = version.meta.digest
    if is_digest(digest):
        key = body_key(digest, row, page)
        if batch.get(OWN, key) == ELSEWHERE:
            batch.count(COUNTER, -1)
        batch.delete(OWN, key)


def places(tablet: Tablet, number: int, digest: bytes) -> list[Place]:
    """Return the pages of one tablet that have or name a body."""
    prefix = BODY_RECORD + digest
    found = []
    for key, value in tablet.few(OWN, prefix, after(prefix)):
        row, stamp = split_cell_key(key[len(prefix) :])
        found.append(Place(number, row, stamp, value == HERE))
    return found


def find(store: Store, digest: bytes, near: Iterable[int] = ()) -> Iterator[Place]:
    """Yield the pages that have or name a body, of the tablets that are ours; those of ``near`` come first."""
    for number in dict.fromkeys((*near, *store.owned)):
        if number in store.owned and store.exists(number):
            yield from places(store.tablet(number), number, digest)


def body_at(tablet: Tablet, row: bytes, stamp: int) -> bytes:
    """Return the body that a page has itself; empty where it has none, or is gone."""
    value = tablet.get(PAGE, cell_key(row, stamp))
    return b"" if value is None else unpack_page(tablet.decode(value)).body


def body_of(store: Store, href: str, digest: bytes) -> bytes:
    """Return the body with this digest; ``href`` is a document that may have it. Empty where it is not found."""
    near: tuple[int, ...] = ()
    if href:
        near = (store.tablet_of(href),)
    for place in find(store, digest, near):
        if place.here and (body := body_at(store.tablet(place.tablet), place.row, place.stamp)):
            return body
    return _by_name(store, href, digest)


def _by_name(store: Store, href: str, digest: bytes) -> bytes:
    """The body of an exact copy's original, for stores whose pages are not listed yet."""
    asked: set[str] = set()
    while href and href not in asked:
        asked.add(href)
        key = Url.parse(href).key
        number = store.tablet_of(key)
        if number not in store.owned or not store.exists(number):
            return b""
        tablet = store.tablet(number)
        version = next((v for v in tablet.versions(key) if v.page and v.meta.digest == digest), None)
        if version is None:
            return b""
        if body := body_at(tablet, key, version.page):
            return body
        href = version.meta.duplicate_of
    return b""


def list_pages(tablet: Tablet) -> None:
    """List every page of a tablet that an earlier fyke wrote; at once where that was done. REQUIRES: we write it."""
    with tablet.lock:
        if tablet.get(OWN, BODY_RECORD) is not None:
            return
        batch, naming = tablet.batch(), 0
        for family in (META, PAST):
            for key, value in tablet.items(family):
                version = unpack(value)
                row = key if family == META else split_cell_key(key)[0]
                if version.page == version.stamp and is_digest(version.meta.digest):
                    here = version.meta.duplicate_by != EXACT or bool(body_at(tablet, row, version.page))
                    batch.put(OWN, body_key(version.meta.digest, row, version.page), HERE if here else ELSEWHERE)
                    naming += not here
                if len(batch) >= _STEP:
                    tablet.write(batch)
                    batch = tablet.batch()
        if counted := naming - tablet.ledger.counter(COUNTER):
            batch.count(COUNTER, counted)
        batch.put(OWN, BODY_RECORD, b"")
        tablet.write(batch)


def elsewhere(store: Store) -> int:
    """Return how many pages only name their body. REQUIRES: we write the store."""
    for tablet in store.tablets():
        list_pages(tablet)
    return sum(tablet.ledger.counter(COUNTER) for tablet in store.tablets())


def fill_all(store: Store) -> None:
    """Give every page that only names its body the body itself: versions that may be pruned share none.

    REQUIRES: all tablets are ours.
    """
    if not elsewhere(store):
        return
    for tablet in store.tablets():
        for key, value in tablet.items(OWN, BODY_RECORD, after(BODY_RECORD)):
            if len(key) > 21 and value == ELSEWHERE:
                digest, (row, stamp) = key[1:21], split_cell_key(key[21:])
                body = body_of(store, "", digest)
                if body:
                    batch = tablet.batch()
                    batch.fill(row, stamp, body)
                    tablet.write(batch)
        tablet.sync()


def going(row: bytes, versions: Iterable[Version], kept: Iterable[Version] = ()) -> list[tuple[bytes, bytes, int]]:
    """Return (digest, row, stamp) of the pages that go when ``versions`` of a row go and ``kept`` stay."""
    needed = {version.page for version in kept}
    pages = {v.page: v for v in versions if v.page and v.page not in needed}
    return [(v.meta.digest, row, page) for page, v in pages.items() if is_digest(v.meta.digest)]


def bequeath(store: Store, bodies: list[tuple[bytes, bytes, int]], besides: Iterable[bytes] = ()) -> int:
    """Give each body that is about to go to the next page that names it; return how many were given.

    ``bodies`` are (digest, row, stamp); pages of the rows ``besides`` go, too, and inherit nothing. On return what
    was given is safe from a power cut. REQUIRES: the store's lock is held.
    """
    if not bodies:
        return 0
    if not elsewhere(store):
        return 0
    leaving = {(row, stamp) for _, row, stamp in bodies}
    gone, given, touched = frozenset(besides), 0, set()
    for digest, row, stamp in bodies:
        left = [p for p in find(store, digest) if (p.row, p.stamp) not in leaving and p.row not in gone]
        if not left or any(place.here for place in left):
            continue
        body = body_at(store.tablet(store.tablet_of(row)), row, stamp)  # empty where it only names the body
        heir = min(left, key=lambda place: (place.stamp, place.row))
        if body:
            _inherit(store, Url.from_key(row).href if row in gone else "", heir, left, body)
            given += 1
            touched |= {place.tablet for place in left}
    for number in touched:
        store.tablet(number).sync()
    return given


def _inherit(store: Store, former: str, heir: Place, left: list[Place], body: bytes) -> None:
    """Put a body into the page of ``heir``; where its original goes for good, the heir is the original from now on."""
    href = Url.from_key(heir.row).href
    for place in left:
        tablet = store.tablet(place.tablet)
        batch = tablet.batch()
        if place == heir:
            batch.fill(place.row, place.stamp, body)
        if former:
            for version in tablet.versions(place.row):
                if version.page == place.stamp and version.meta.duplicate_of == former:
                    current = batch.version(place.row, version.stamp) or version
                    batch.mark(place.row, current, _renamed(current.meta, "" if place.row == heir.row else href))
        tablet.write(batch)


def _renamed(meta: RowMeta, original: str) -> RowMeta:
    if original:
        return msgspec.structs.replace(meta, duplicate_of=original)
    return msgspec.structs.replace(meta, duplicate_of="", duplicate_by="", similarity=0.0)
