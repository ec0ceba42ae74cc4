"""The table as a seam: rows of versions, cells and anchors. ``Tablet`` is the one on disk; tests have one of dicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from fyke.store.cells import Anchor, Cell, Change, Version
from fyke.store.row import PARTS, Row


class Table(Protocol):
    """Rows by key. A row has versions by stamp; a version is made of parts; a part that is not put is inherited."""

    def put(self, row: bytes, change: Change, stamp: int) -> int:
        """Put a version, whole or not at all; return its stamp, the next free one if ``stamp`` was taken."""
        ...

    def put_anchors(self, row: bytes, source_tablet: int, group: int, anchors: Sequence[Anchor]) -> None:
        """Put or replace a group of anchor texts, whether or not the row has a version."""
        ...

    def delete(self, row: bytes) -> None:
        """Forget everything about the row."""
        ...

    def read(self, row: bytes, at: int | None = None, parts: Sequence[str] = PARTS) -> Row | None:
        """Return the newest version, or the newest up to the stamp ``at``."""
        ...

    def multi_read(self, rows: Sequence[bytes], parts: Sequence[str] = PARTS) -> list[Row | None]:
        """Return the newest versions of many rows."""
        ...

    def scan(self, start: bytes = b"", end: bytes = b"", parts: Sequence[str] = PARTS) -> Iterator[Row]:
        """Yield the newest versions of ``start`` ≤ row < ``end`` in order."""
        ...

    def versions(self, row: bytes) -> list[Version]:
        """Return all versions, the newest first."""
        ...

    def anchors(self, row: bytes) -> list[Anchor]:
        """Return the newest anchor text of each source, in the order of sources."""
        ...

    def cells(self, row: bytes, column: str = "", at: int | None = None, versions: int = 1) -> list[Cell]:
        """Return the sparse columns (or one), the newest cells of each up to ``at``."""
        ...

    def cell(self, row: bytes, version: Version, part: str) -> bytes:
        """Return a part of a version as it is stored."""
        ...

    def decode(self, value: bytes) -> bytes:
        """Return what ``cell`` returned, decompressed."""
        ...

    def body_of(self, href: str, digest: bytes) -> bytes:
        """Return the body with this digest that a document of the store has, or had; empty where it is not found."""
        ...
