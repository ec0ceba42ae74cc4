"""A table of dicts: the model that says what a table does (fyke.store.table.Table)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fyke.store.cells import Anchor, Cell, Change, Version, pack_links, pack_page, pack_text
from fyke.store.codec import sha1
from fyke.store.row import PARTS, Row
from fyke.url import Url


class MemoryTable:
    """Rows, each a dict of versions by stamp."""

    def __init__(self, keep_versions: int = 0) -> None:
        self._keep = keep_versions or None
        self._versions: dict[bytes, dict[int, Version]] = {}
        self._parts: dict[tuple[bytes, int, str], bytes] = {}
        self._columns: dict[bytes, dict[str, dict[int, bytes]]] = {}
        self._anchors: dict[bytes, dict[tuple[int, int], Sequence[Anchor]]] = {}

    def put(self, row: bytes, change: Change, stamp: int) -> int:
        versions = self._versions.setdefault(row, {})
        while any(stamp in (v.stamp, v.page, v.text, v.links) for v in versions.values()):
            stamp += 1  # a cell may outlive its version
        base = versions[max(older)] if (older := [s for s in versions if s < stamp]) else None
        stamps = {
            part: getattr(base, part) if base and change.page is None and not change.fresh else 0 for part in PARTS
        }
        given = {
            "page": None if change.page is None else pack_page(change.page),
            "text": None if change.text is None else pack_text(change.text, change.weights),
            "links": None if change.links is None else pack_links(change.links),
        }
        for part, value in given.items():
            if value is not None:
                stamps[part] = stamp
                self._parts[row, stamp, part] = value
        versions[stamp] = Version(stamp, **stamps, size=0, stored=0, meta=change.meta)
        for stamp_ in sorted(versions, reverse=True)[self._keep or len(versions) :]:
            del versions[stamp_]
        for name, value in change.columns:
            cells = self._columns.setdefault(row, {}).setdefault(name, {})
            cells[stamp] = value
            for stamp_ in sorted(cells, reverse=True)[self._keep or len(cells) :]:
                del cells[stamp_]
        return stamp

    def put_anchors(self, row: bytes, source_tablet: int, group: int, anchors: Sequence[Anchor]) -> None:
        self._anchors.setdefault(row, {})[source_tablet, group] = tuple(anchors)

    def delete(self, row: bytes) -> None:
        for rows in (self._versions, self._columns, self._anchors):
            rows.pop(row, None)

    def read(self, row: bytes, at: int | None = None, parts: Sequence[str] = PARTS) -> Row | None:
        versions = [v for v in self.versions(row) if at is None or v.stamp <= at]
        return Row(self, row, versions[0]) if versions else None

    def multi_read(self, rows: Sequence[bytes], parts: Sequence[str] = PARTS) -> list[Row | None]:
        return [self.read(row) for row in rows]

    def scan(self, start: bytes = b"", end: bytes = b"", parts: Sequence[str] = PARTS) -> Iterator[Row]:
        for row in sorted(self._versions):
            if row >= start and (not end or row < end):
                yield Row(self, row, self.versions(row)[0])

    def versions(self, row: bytes) -> list[Version]:
        return [version for _, version in sorted(self._versions.get(row, {}).items(), reverse=True)]

    def anchors(self, row: bytes) -> list[Anchor]:
        groups = sorted(self._anchors.get(row, {}).items())
        every = [anchor for _, anchors in groups for anchor in anchors]
        newest = {anchor.source: anchor for anchor in sorted(every, key=lambda anchor: anchor.when)}
        return [newest[source] for source in sorted(newest)]

    def cells(self, row: bytes, column: str = "", at: int | None = None, versions: int = 1) -> list[Cell]:
        return [
            Cell(name, stamp, cells[stamp])
            for name, cells in sorted(self._columns.get(row, {}).items(), key=lambda item: item[0].encode())
            if not column or name == column
            for stamp in sorted((s for s in cells if at is None or s <= at), reverse=True)[:versions]
        ]

    def cell(self, row: bytes, version: Version, part: str) -> bytes:
        return self._parts[row, getattr(version, part), part]

    def decode(self, value: bytes) -> bytes:
        return value

    def body_of(self, href: str, digest: bytes) -> bytes:
        bodies = (row.raw for row in (Row(self, Url(href).key, v) for v in self.versions(Url(href).key)) if row.page)
        return next((body for body in bodies if body and sha1(body) == digest), b"")
