"""Batches: the rows and cells that one event writes to a tablet, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from fyke.errors import UserError
from fyke.store import bodies
from fyke.store.cells import (
    ANCHOR,
    COLUMN,
    LINKS,
    MAX_QUALIFIER,
    META,
    OWN,
    PAGE,
    PAST,
    TEXT,
    Anchor,
    Change,
    Page,
    RowMeta,
    Version,
    after,
    anchor_key,
    cell_key,
    column_key,
    host_prefix,
    pack_anchors,
    pack_links,
    pack_page,
    pack_text,
    pack_version,
    unpack_page,
)
from fyke.store.hosts import WAITING_RECORD, Totals
from fyke.store.steps import Steps

if TYPE_CHECKING:
    from fyke.store.tablet import Tablet


class Batch(Steps):
    """What ``Tablet.write`` will write, or nothing of it: it is collected first.

    Make it with ``Tablet.batch``. REQUIRES: between ``put_row`` of a row and ``Tablet.write`` nobody else writes that
    row (build and write without awaiting, or hold ``Tablet.lock``).
    """

    __slots__ = ("_columns", "_dropped", "_rows", "_tablet")

    def __init__(self, tablet: Tablet) -> None:
        super().__init__()
        self._tablet = tablet
        self._rows: dict[bytes, dict[int, Version]] = {}  # versions that this batch puts, and the one before them
        self._columns: dict[bytes, set[bytes]] = {}  # cells that a pruned column will have
        self._dropped: set[tuple[bytes, int]] = set()

    @property
    def rows(self) -> int:
        """Rows put so far."""
        return len(self._rows)

    def get(self, family: str, key: bytes) -> bytes | None:
        """Return what the tablet has under a key; what this batch puts is not seen."""
        return self._tablet.get(family, key)

    def put_anchors(self, row: bytes, source_tablet: int, group: int, anchors: Iterable[Anchor]) -> None:
        """Put a group of anchor texts that point at ``row``, without reading; the row need not have a page.

        ``(source_tablet, group)`` names the group: putting it again replaces it.
        """
        self.put_packed_anchors([(row, pack_anchors(anchors))], source_tablet, group)

    def put_packed_anchors(self, cells: Iterable[tuple[bytes, bytes]], source_tablet: int, group: int) -> None:
        """The same for anchors of many rows that are packed already (``cells.pack_anchor_records``)."""
        put, name = self.put, anchor_key(b"", source_tablet, group)
        for row, packed in cells:
            put(ANCHOR, row + name, packed)

    def put_row(self, row: bytes, change: Change, stamp: int, like: Version | None = None) -> int:
        """Put a version of a row, made at ``stamp`` (µs since 1970). Return its stamp: the next free one if taken.

        A stamp older than the row's newest adds to its history and leaves its current version. What is not given is
        inherited from the version before, or from ``like``.
        """
        tablet, put = self._tablet, self.put
        with tablet.lock:
            known = self._known(row)
            current = max(known.values(), key=_by_stamp, default=None)
            while current is not None and self._taken(row, stamp, current):
                stamp += 1
            base = current
            if current is not None and stamp < current.stamp:
                older = [version for version in self._versions(row).values() if version.stamp < stamp]
                base = max(older, key=_by_stamp, default=None)
            base = like or (None if change.fresh else base)
            version = self._put_cells(row, change, stamp, base)
            if current is None or stamp > current.stamp:
                put(META, row, pack_version(version))
                if current is not None:
                    put(PAST, cell_key(row, current.stamp), pack_version(current))
            else:
                put(PAST, cell_key(row, stamp), pack_version(version))
            totals = self._totals_of(row)
            if current is None:
                totals.rows += 1
            known[stamp] = version
            self._dropped.discard((row, stamp))
            if change.columns:
                self.put_columns(row, change.columns, stamp)
            if tablet.keep_versions and current is not None:
                self.prune(row, tablet.keep_versions)
        return stamp

    def at_time(self, row: bytes, when: float) -> list[Version]:
        """Return the versions of a row that were fetched at that time, put by this batch or before."""
        if not self._known(row):
            return []
        wanted = round(when * 1e6)
        return [version for version in self._versions(row).values() if round(version.meta.fetched * 1e6) == wanted]

    def complete(self, row: bytes, version: Version, change: Change, like: Version | None = None) -> None:
        """Add to a version that is there what became known of it: its meta, text and links; its page stays.

        ``like`` is a version of the same row whose text and links it shares. REQUIRES: as ``put_row``; a page without
        a body is listed by the digest of ``change`` from now on, and was not before.
        """
        text, links = (like.text, like.links) if like is not None else (version.text, version.links)
        with self._tablet.lock:
            text, links = self._put_made(row, change, version.stamp, text, links)
            if version.meta.digest != change.meta.digest and version.page == version.stamp:
                bodies.note(self, change.meta.digest, row, version.page, here=False)
            self._put_version(row, msgspec.structs.replace(version, text=text, links=links, meta=change.meta))

    def known_version(self, row: bytes, stamp: int) -> Version:
        """Return a version that this batch has put. Raises ``KeyError``."""
        return self._known(row)[stamp]

    def version(self, row: bytes, stamp: int) -> Version | None:
        """Return the version of that stamp, put by this batch or before."""
        return self._known(row).get(stamp) or self._versions(row).get(stamp)

    def mark(self, row: bytes, version: Version, meta: RowMeta) -> None:
        """Replace what is said of a version that is there; its cells and its stamp stay. REQUIRES: as ``put_row``."""
        self._put_version(row, msgspec.structs.replace(version, meta=meta))

    def strip(self, row: bytes, stamp: int) -> int:
        """Drop the body of the page that was put at ``stamp`` and keep its heads; return the bytes saved.

        For exact copies: ``Row.page`` takes the body from the original. REQUIRES: as ``put_row``, and the original's
        page is kept.
        """
        tablet = self._tablet
        with tablet.lock:
            sharing = [version for version in self._versions(row).values() if version.page == stamp]
            if not sharing:
                return 0
            page = unpack_page(tablet.decode(tablet.cell(row, sharing[0], PAGE)))
            if not page.body:
                return 0
            bodies.move(self, sharing[0].meta.digest, row, stamp, here=False)
            return -self._rewrite(row, sharing, Page(page.request_head, page.response_head))

    def fill(self, row: bytes, stamp: int, body: bytes) -> None:
        """Put the body into the page of ``stamp`` that only named it. REQUIRES: as ``put_row``."""
        tablet = self._tablet
        with tablet.lock:
            sharing = [version for version in self._versions(row).values() if version.page == stamp]
            if not sharing:
                return
            page = unpack_page(tablet.decode(tablet.cell(row, sharing[0], PAGE)))
            bodies.move(self, sharing[0].meta.digest, row, stamp, here=True)
            self._rewrite(row, sharing, Page(page.request_head, page.response_head, body))

    def _rewrite(self, row: bytes, sharing: list[Version], page: Page) -> int:
        """Write another page in the place of the one that versions share; return by how many bytes it is larger."""
        data = pack_page(page)
        value = self._tablet.encode(PAGE, row, sharing[0].meta.type, data)
        self.put(PAGE, cell_key(row, sharing[0].page), value)
        size, stored = sharing[0].size, sharing[0].stored
        totals = self._totals_of(row)
        totals.size += len(data) - size
        totals.stored += len(value) - stored
        for version in sharing:
            self._put_version(row, msgspec.structs.replace(version, size=len(data), stored=len(value)))
        return len(value) - stored

    def _put_version(self, row: bytes, version: Version) -> None:
        known = self._known(row)
        if version.stamp == max(known):
            self.put(META, row, pack_version(version))
        else:
            self.put(PAST, cell_key(row, version.stamp), pack_version(version))
        known[version.stamp] = version

    def _known(self, row: bytes) -> dict[int, Version]:
        """The versions of a row that this batch puts, and the one that was current before."""
        known = self._rows.get(row)
        if known is None:
            current = self._tablet.version(row)
            known = self._rows[row] = {} if current is None else {current.stamp: current}
        return known

    def put_meta(self, row: bytes, meta: RowMeta) -> None:
        """Replace what is said of a row's current version (``mark``). REQUIRES: it has one."""
        with self._tablet.lock:
            known = self._known(row)
            self.mark(row, known[max(known)], meta)

    def delete_row(self, row: bytes) -> None:
        """Delete all cells of a row, its history and its anchors too. REQUIRES: this batch does not put the row."""
        assert row not in self._rows
        tablet = self._tablet
        with tablet.lock:
            versions = tablet.versions(row)
            if versions:
                totals = self._totals_of(row)
                totals.rows -= 1
                pages = {version.page: version for version in versions if version.page}
                self._count_out(pages, totals)
                for page, version in pages.items():
                    bodies.forget(self, row, page, version)
            self.delete(META, row)
            for family in (PAST, PAGE, TEXT, LINKS, ANCHOR, COLUMN):
                for key, _ in tablet.items(family, row + b"\0", row + b"\1"):
                    self.delete(family, key)
            for key, _ in tablet.few(OWN, WAITING_RECORD + row + b"\0", WAITING_RECORD + row + b"\1"):
                self.delete(OWN, key)

    def _put_cells(self, row: bytes, change: Change, stamp: int, base: Version | None) -> Version:
        put, media_type = self.put, change.meta.type
        key = cell_key(row, stamp)
        meta = change.meta
        page, text, links, size, stored = (
            (base.page, base.text, base.links, base.size, base.stored) if base is not None else (0, 0, 0, 0, 0)
        )
        if base is not None and base.page and change.page is None and meta.digest != base.meta.digest:
            meta = msgspec.structs.replace(
                meta, digest=base.meta.digest, length=base.meta.length
            )  # they are the page's
        if change.page is not None:
            bodies.note(self, meta.digest, row, stamp, bool(change.page.body))
            value, size = self._tablet.encode_page(row, media_type, change.page)
            put(PAGE, key, value)
            page, text, links, stored = stamp, 0, 0, len(value)
            totals = self._totals_of(row)
            totals.pages += 1
            totals.size += size
            totals.stored += stored
            self._tablet.sampled(row, stamp, media_type)
        text, links = self._put_made(row, change, stamp, text, links)
        return Version(stamp, page, text, links, size, stored, meta)

    def _put_made(self, row: bytes, change: Change, stamp: int, text: int, links: int) -> tuple[int, int]:
        """Put the text and links of ``change``; return the stamps of those that the version has."""
        key, encode = cell_key(row, stamp), self._tablet.encode
        if change.text is not None:
            value = encode(TEXT, row, change.meta.type, pack_text(change.text, change.weights))
            self.put(TEXT, key, value)
            text = stamp
        if change.links is not None:
            self.put(LINKS, key, encode(LINKS, row, change.meta.type, pack_links(change.links)))
            links = stamp
        return text, links

    def put_columns(self, row: bytes, columns: tuple[tuple[str, bytes], ...], stamp: int) -> None:
        """Put sparse columns of a row, beside any version."""
        tablet = self._tablet
        for name, value in columns:
            column = name.encode()
            if not column or b"\0" in column or len(column) > MAX_QUALIFIER:
                raise UserError(f"column {name[:40]!r} cannot be named; use 1 to {MAX_QUALIFIER} bytes without NUL")
            self.put(COLUMN, column_key(row, column, stamp), value)
            if tablet.keep_versions:
                prefix = b"%b\0%b\0" % (row, column)
                keys = self._columns.get(prefix)
                if keys is None:
                    keys = self._columns[prefix] = {key for key, _ in tablet.items(COLUMN, prefix, after(prefix))}
                keys.add(column_key(row, column, stamp))
                for key in sorted(keys)[tablet.keep_versions :]:  # newest first
                    self.delete(COLUMN, key)
                    keys.remove(key)

    def _taken(self, row: bytes, stamp: int, current: Version) -> bool:
        """Whether a version, or a cell that one is made of, has this stamp."""
        if stamp >= current.stamp:
            return stamp == current.stamp
        return any(stamp in (v.stamp, v.page, v.text, v.links) for v in self._versions(row).values())

    def _versions(self, row: bytes) -> dict[int, Version]:
        """All versions that the row will have once this batch is written, by stamp."""
        versions = {version.stamp: version for version in self._tablet.versions(row)} | self._rows.get(row, {})
        return {stamp: version for stamp, version in versions.items() if (row, stamp) not in self._dropped}

    def prune(self, row: bytes, keep: int, before: float = 0.0) -> int:
        """Delete the versions beyond the newest ``keep`` (0: all stay), and those fetched ``before``; not the newest.

        With them go the cells that only they are made of. Returns how many went. REQUIRES: as ``put_row``.
        """
        newest_first = sorted(self._versions(row).values(), key=_by_stamp, reverse=True)
        kept = [
            version
            for place, version in enumerate(newest_first)
            if not place or ((not keep or place < keep) and (version.meta.fetched or version.stamp / 1e6) >= before)
        ]
        stay = {version.stamp for version in kept}
        dropped = [version for version in newest_first if version.stamp not in stay]
        if dropped:
            self._drop(row, kept, dropped)
        return len(dropped)

    def _drop(self, row: bytes, kept: list[Version], dropped: list[Version]) -> None:
        self._tablet.bequeath(self._inherited(row, bodies.going(row, dropped, kept), kept))
        delete = self.delete
        for version in dropped:
            delete(PAST, cell_key(row, version.stamp))
            self._dropped.add((row, version.stamp))
        for family in (PAGE, TEXT, LINKS):
            needed = {getattr(version, family) for version in kept}
            surplus = {getattr(version, family): version for version in dropped}
            surplus = {stamp: version for stamp, version in surplus.items() if stamp and stamp not in needed}
            for stamp in surplus:
                delete(family, cell_key(row, stamp))
            if family == PAGE:
                self._count_out(surplus, self._totals_of(row))
                for stamp, version in surplus.items():
                    bodies.forget(self, row, stamp, version)

    def _inherited(
        self, row: bytes, going: list[tuple[bytes, bytes, int]], kept: list[Version]
    ) -> list[tuple[bytes, bytes, int]]:
        """Give bodies that go to versions of the same row that only name them; return the others."""
        left = []
        for digest, _, page in going:
            heirs = {version.page for version in kept if version.meta.digest == digest} - {0, page}
            heir = next(
                (h for h in sorted(heirs) if self.get(OWN, bodies.body_key(digest, row, h)) == bodies.ELSEWHERE), 0
            )
            body = bodies.body_at(self._tablet, row, page) if heir else b""
            if body:
                self.fill(row, heir, body)
            else:
                left.append((digest, row, page))
        return left

    def _count_out(self, pages: dict[int, Version], totals: Totals) -> None:
        for version in pages.values():
            totals.pages -= 1
            totals.size -= version.size
            totals.stored -= version.stored

    def _totals_of(self, row: bytes) -> Totals:
        prefix = host_prefix(row)
        totals = self.totals.get(prefix)
        if totals is None:
            totals = self.totals[prefix] = Totals()
        return totals


def _by_stamp(version: Version) -> int:
    return version.stamp
