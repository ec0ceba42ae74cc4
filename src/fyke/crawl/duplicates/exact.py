"""Exact copies in the crawl: who was first is known to the digest's owner, and mailed back to the copy's row.

The life of a page: its row is stored; when it has been examined (`examination`), a `Sighting` goes to the tablet that
owns its digest (the tablet of the digest taken as a key: any tablet finds it without asking). The owner keeps who was
first; of two the lesser (time, URL) is the original, so the order of the mail does not matter; one that says that its
true address is another (rel=canonical) comes after all that do not. The other gets a `Mark`,
which its own tablet writes into the row. A copy's surplus body goes later, once the original's is safely on the disk.

::

    seen      digest (32) ‖ "t"   → [[stamp, href, digest of the body], …]: the first of each body with these words
              digest (32) ‖ "r"   → the same for bodies without words
    outbox    "s" ‖ row ‖ stamp (8)   → nothing: the body of this version is to go

The digest is SHA-256: of the words of the main text, or where it has none of the body. So bodies that differ only in
furniture meet at one owner, which tells exact copies (one body) from copies of the text.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable

import msgspec

from fyke.crawl.mail.outbox import Mark, Note, Outbox, Sighting
from fyke.store import EXACT, Batch, RowMeta, Store, bodies
from fyke.url import Url

TEXT = "text"
"""The method of a copy that has the same words in the same order, and other bytes."""
MAX_BODIES = 8
"""Bodies with the same words that are remembered; exact copies of further ones count as copies of the text."""
STRIP_DELAY = 5_000_000
"""µs from the fetch until the body goes: by then the log of the original's tablet has been synced several times."""
STRIPPED_AT_ONCE = 200
"""Bodies that go in one step: about 20 ms."""

_FIRMNESS = {"": 0, "minhash": 1, "jaccard": 1, TEXT: 2, EXACT: 3}
_STRIP = b"s"


class _First(msgspec.Struct, frozen=True, array_like=True):
    stamp: int
    href: str
    raw: bytes
    elsewhere: bool = False

    def __lt__(self, other: _First) -> bool:
        return (self.elsewhere, self.stamp, self.href, self.raw) < (
            other.elsewhere,
            other.stamp,
            other.href,
            other.raw,
        )


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[_First]).decode


class Duplicates:
    """The first-seen tables of the tablets that ``store`` owns, and the marks in their rows."""

    def __init__(self, store: Store, outbox: Outbox) -> None:
        self._store = store
        self._outbox = outbox
        self._surplus: dict[int, deque[bytes]] = {}

    def restore(self) -> None:
        """Take up what an earlier run left: bodies that are to go."""
        for number in self._store.owned:
            keys = self._store.tablet(number).items("outbox", _STRIP, bytes((_STRIP[0] + 1,)))
            self._surplus[number] = deque(key for key, _ in keys)

    def sighted(self, batch: Batch, here: int, sightings: list[Sighting]) -> None:
        """Tell the owners of the digests of pages of tablet ``here``, whose ``batch`` is."""
        owners: defaultdict[int, list[Note]] = defaultdict(list)
        for note in sightings:
            if note.raw:  # a body that was cut off is no copy of another
                owners[self._store.tablet_of(_key(note))].append(note)
        for owner, notes in owners.items():
            if owner == here:
                self.apply(batch, here, notes)
            else:
                self._outbox.write(batch, here, owner, [], notes)

    def apply(self, batch: Batch, here: int, notes: list[Note]) -> None:
        """Let notes to tablet ``here`` take effect with ``batch``, which is of it."""
        sightings = [note for note in notes if isinstance(note, Sighting)]
        marks = [note for note in notes if isinstance(note, Mark)]
        if sightings:
            marks += self._sight(batch, here, sightings)
        self.tell(batch, here, marks)

    def tell(self, batch: Batch, here: int, marks: Iterable[Mark]) -> None:
        """Write marks of rows of tablet ``here`` with its ``batch``, and mail those of others."""
        for mark in marks:
            owner = self._store.tablet_of(Url(mark.href).key)
            if owner == here:
                self.mark(batch, here, mark)
            else:
                self._outbox.write(batch, here, owner, [], [mark])

    def _sight(self, batch: Batch, here: int, sightings: list[Sighting]) -> list[Mark]:
        """Enter sightings; return the marks that follow."""
        keys = [_key(sighting) for sighting in sightings]
        known = dict(zip(keys, self._store.tablet(here).multi_get("seen", keys), strict=True))
        tables = {key: [] if value is None else _decode(value) for key, value in known.items()}
        marks: list[Mark] = []
        for key, sighting in zip(keys, sightings, strict=True):
            found, changed = _enter(tables[key], sighting)
            if changed:
                batch.put("seen", key, _encode(tables[key]))
            marks += found
        return marks

    def mark(self, batch: Batch, here: int, mark: Mark) -> None:
        """Write into a row of tablet ``here`` that it is a copy, unless it is known by a firmer method."""
        row = Url(mark.href).key
        version = batch.version(row, mark.stamp)
        if version is None or _FIRMNESS.get(version.meta.duplicate_by, 0) >= _FIRMNESS[mark.method]:
            return
        meta = version.meta
        if meta.duplicate_by:
            batch.count(_counter(meta), -1)
        meta = msgspec.structs.replace(
            meta, duplicate_of=mark.original, similarity=mark.similarity, duplicate_by=mark.method
        )
        batch.count(_counter(meta))
        batch.mark(row, version, meta)
        # Versions that are pruned would take the only body of their copies with them.
        if mark.method == EXACT and version.page and not self._store.settings.keep_versions:
            key = _STRIP + row + version.page.to_bytes(8, "big")
            batch.put("outbox", key, b"")
            self._surplus.setdefault(here, deque()).append(key)

    def strip(self, now: float) -> bool:
        """Drop the bodies of copies that are old enough at ``now``; return whether there are more of them.

        REQUIRES: what was written ``STRIP_DELAY`` before is synced.
        """
        latest, more = int(now * 1e6) - STRIP_DELAY, False
        for number, keys in self._surplus.items():
            if not keys:
                continue
            tablet = self._store.tablet(number)
            batch = tablet.batch()
            going: set[tuple[bytes, int]] = set()
            for _ in range(min(STRIPPED_AT_ONCE, len(keys))):
                key = keys[0]
                stamp = int.from_bytes(key[-8:], "big")
                if stamp > latest:
                    break
                if not self._is_last(number, key[1:-8], stamp, going):
                    going.add((key[1:-8], stamp))
                    batch.strip(key[1:-8], stamp)
                batch.delete("outbox", keys.popleft())
            if len(batch):
                tablet.write(batch)
                more = more or bool(keys)
        return more

    def strip_all(self) -> None:
        """Drop the body of every copy. REQUIRES: all tablets are ours, and synced."""
        while self.strip(float(1 << 40)):
            pass

    def _is_last(self, number: int, row: bytes, stamp: int, going: set[tuple[bytes, int]]) -> bool:
        """Whether the other pages with this body only name it, as imported revisits do, or will: then it stays."""
        versions = self._store.tablet(number).versions(row)
        meta = next((version.meta for version in versions if version.page == stamp), RowMeta())
        digest = meta.digest
        if not bodies.is_digest(digest):
            return False
        if meta.duplicate_of and self._store.tablet_of(Url(meta.duplicate_of).key) not in self._store.owned:
            return False  # another agent's, who has it
        others = [place for place in bodies.find(self._store, digest) if (place.row, place.stamp) != (row, stamp)]
        return bool(others) and not any(place.here and (place.row, place.stamp) not in going for place in others)


def strip_all(store: Store) -> None:
    """Drop every body that is to go. REQUIRES: the store is all ours, and synced."""
    duplicates = Duplicates(store, Outbox(store))
    duplicates.restore()
    duplicates.strip_all()


def forget_deleted(store: Store) -> None:
    """Forget the originals that were deleted: else a later copy would be stripped for a body that is gone.

    REQUIRES: the store is all ours.
    """
    for tablet in store.tablets():
        batch = tablet.batch()
        for key, value in tablet.items("seen"):
            table = _decode(value)
            left = [first for first in table if store.tablet(store.tablet_of(first.href)).version(Url(first.href).key)]
            if len(left) != len(table):
                if left:
                    batch.put("seen", key, _encode(left))
                else:
                    batch.delete("seen", key)
        tablet.write(batch)


def _key(sighting: Sighting) -> bytes:
    """The key of a document's words, or of its body: also what says which tablet owns it."""
    return sighting.text + b"t" if sighting.text else sighting.raw + b"r"


def _enter(table: list[_First], sighting: Sighting) -> tuple[list[Mark], bool]:
    """Enter a sighting into the table of its digest; return who is a copy now, and whether the table has changed."""
    new = _First(sighting.stamp, sighting.href, sighting.raw, sighting.elsewhere)
    former = min(table, default=new)
    rival = next((first for first in table if first.raw == new.raw), None)
    marks: list[Mark] = []
    changed = False
    if rival is None:
        changed = len(table) < MAX_BODIES
        if changed:
            table.append(new)
    elif rival > new:
        table[table.index(rival)] = new
        changed = True
        if rival.href != new.href:
            # What came before its original keeps its body: the original's is not yet sure to be on the disk.
            marks.append(_copy(rival, new, EXACT if rival.stamp >= new.stamp else TEXT))
    elif rival.href != new.href:
        return [_copy(new, rival, EXACT)], False
    if former > new:
        if former.raw != new.raw and former.href != new.href:
            marks.append(_copy(former, new, TEXT))
    elif former.href != new.href:
        marks.append(_copy(new, former, TEXT))
    return marks, changed


def _copy(copy: _First, original: _First, method: str) -> Mark:
    return Mark(copy.href, copy.stamp, original.href, 1.0, method)


def _counter(meta: RowMeta) -> str:
    return "duplicates:exact" if meta.duplicate_by == EXACT else "duplicates:near"
