"""A row: all that is known of one URL, at one version."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from fyke.store.cells import (
    LINKS,
    PAGE,
    TEXT,
    Anchor,
    Cell,
    Page,
    RowMeta,
    Version,
    unpack_links,
    unpack_page,
    unpack_text,
)
from fyke.url import Url
from fyke.values import Link

if TYPE_CHECKING:
    from fyke.store.table import Table

PARTS = (PAGE, TEXT, LINKS)


class Row:
    """One version of a document, with the anchor texts that point at it. Parts are decompressed when first used."""

    def __init__(
        self, table: Table, key: bytes, version: Version | None, cells: dict[str, bytes | None] | None = None
    ) -> None:
        self.key = key
        """The row key (``Url.key``)."""
        self.version = version
        """The version record; None for a row that only has anchors so far."""
        self._table = table
        self._cells = cells or {}

    @cached_property
    def url(self) -> str:
        """The document's address in normal form."""
        return Url.from_key(self.key).href

    @property
    def meta(self) -> RowMeta:
        """Status, type, title and what else is known of this version."""
        return self.version.meta if self.version is not None else RowMeta()

    @property
    def stamp(self) -> int:
        """When this version was made, in µs since 1970; 0 for a row without a version."""
        return self.version.stamp if self.version is not None else 0

    @property
    def fetched(self) -> datetime:
        """When this version was made, in UTC."""
        return datetime.fromtimestamp(self.stamp / 1e6, UTC)

    @cached_property
    def page(self) -> Page | None:
        """Request head, response head and decoded body; None where nothing was stored."""
        data = self._part(PAGE)
        return None if data is None else unpack_page(data)

    @property
    def raw(self) -> bytes | None:
        """The decoded body; None where nothing was stored."""
        return self.page.body if self.page is not None else None

    @cached_property
    def text(self) -> str | None:
        """The converted text; None where nothing was stored."""
        data = self._part(TEXT)
        return None if data is None else unpack_text(data)

    @property
    def title(self) -> str:
        """The document's title."""
        return self.meta.title

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """The links of the document, in its order."""
        data = self._part(LINKS)
        return () if data is None else unpack_links(data)

    @cached_property
    def anchors(self) -> tuple[Anchor, ...]:
        """The texts of links that point here, by source; read without touching the page."""
        return tuple(self._table.anchors(self.key))

    @cached_property
    def columns(self) -> dict[str, bytes]:
        """The sparse columns as of this version."""
        return {cell.column: cell.value for cell in self._table.cells(self.key, at=self.stamp)}

    @property
    def versions(self) -> list[datetime]:
        """When each version that is kept was made, the newest first."""
        return [datetime.fromtimestamp(v.stamp / 1e6, UTC) for v in self._table.versions(self.key)]

    def history(self) -> Iterator[Row]:
        """Every version of this row that is kept, the oldest first."""
        for version in reversed(self._table.versions(self.key)):
            yield self if version == self.version else Row(self._table, self.key, version)

    def cells_at(self, stamp: int) -> list[Cell]:
        """The sparse columns that were put with the version of that stamp."""
        return [cell for cell in self._table.cells(self.key, at=stamp) if cell.stamp == stamp]

    def _part(self, part: str) -> bytes | None:
        if self.version is None or not getattr(self.version, part):
            return None
        value = self._cells.get(part)
        if value is None:
            value = self._table.cell(self.key, self.version, part)
        return self._table.decode(value)

    def __repr__(self) -> str:
        return f"<Row {self.url} at {self.fetched.isoformat()}>"
