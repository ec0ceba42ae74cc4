"""A row: all that is known of one URL, at one version."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fyke.store.bodies import is_digest
from fyke.store.cells import (
    LINKS,
    PAGE,
    TEXT,
    Anchor,
    Cell,
    Page,
    RowMeta,
    Version,
    main_blocks,
    unpack_links,
    unpack_page,
    unpack_text,
)
from fyke.url import Url
from fyke.values import BLOCK_END, Links

if TYPE_CHECKING:
    from fyke.store.table import Table

PARTS = (PAGE, TEXT, LINKS)


class Row:
    """One version of a document, with the anchor texts that point at it. Parts are decompressed when first used."""

    __slots__ = ("_cells", "_links", "_page", "_table", "_text", "key", "version")

    def __init__(
        self, table: Table, key: bytes, version: Version | None, cells: dict[str, bytes | None] | None = None
    ) -> None:
        self.key = key
        """The row key (``Url.key``)."""
        self.version = version
        """The version record; None for a row that only has anchors so far."""
        self._table = table
        self._cells = cells
        self._page: Page | None = None
        self._text: tuple[str, bytes] | None = None
        self._links: Links | None = None

    @property
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

    @property
    def page(self) -> Page | None:
        """Request head, response head and decoded body; None where nothing was stored.

        A copy has the body that its digest names, wherever in the store that is.
        """
        if self._page is None and (data := self._part(PAGE)) is not None:
            page, meta = unpack_page(data), self.meta
            if not page.body and is_digest(meta.digest):
                page = replace(page, body=self._table.body_of(meta.duplicate_of, meta.digest))
            self._page = page
        return self._page

    def stored_page(self) -> Page:
        """Return the page as it is stored: a copy without the body that its digest names. REQUIRES: it has one."""
        data = self._part(PAGE)
        assert data is not None
        return unpack_page(data)

    @property
    def raw(self) -> bytes | None:
        """The decoded body; None where nothing was stored."""
        page = self.page
        return None if page is None else page.body

    @property
    def text(self) -> str | None:
        """The main text; the whole text where nobody asked the cleaner, or it found none; None where none is stored."""
        blocks = self.blocks
        return None if blocks is None else "\n".join(main_blocks(*blocks)) or self.whole

    @property
    def whole(self) -> str | None:
        """All text; None where nothing was stored."""
        blocks = self.blocks
        return None if blocks is None else blocks[0].replace(BLOCK_END, "\n")

    @property
    def weights(self) -> bytes:
        """How much each block of the page looks like content (fyke.clean.main); empty where nobody asked."""
        blocks = self.blocks
        return b"" if blocks is None else blocks[1]

    @property
    def blocks(self) -> tuple[str, bytes] | None:
        """All text, BLOCK_END between its blocks, and the weight of each; None where nothing was stored."""
        if self._text is None and (data := self._part(TEXT)) is not None:
            self._text = unpack_text(data)
        return self._text

    @property
    def title(self) -> str:
        """The document's title."""
        return self.meta.title

    @property
    def links(self) -> Links:
        """The links of the document, in its order."""
        if self._links is None:
            data = self._part(LINKS)
            self._links = Links() if data is None else unpack_links(data)
        return self._links

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """The texts of links that point here, by source; read without touching the page."""
        return tuple(self._table.anchors(self.key))

    @property
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
        version = self.version
        if version is None or not getattr(version, part):
            return None
        value = self._cells.get(part) if self._cells is not None else None
        return self._table.decode(self._table.cell(self.key, version, part) if value is None else value)

    def __repr__(self) -> str:
        return f"<Row {self.url} at {self.fetched.isoformat()}>"
