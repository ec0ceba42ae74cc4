"""Datasets out: documents as JSON lines and Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from fyke.errors import UserError
from fyke.formats.streams import compressed
from fyke.formats.warc_record import sha1_text
from fyke.store.row import Row

PARQUET_ROWS = 2000
"""Rows of a group: what the writer holds in memory."""


class Flat(msgspec.Struct, frozen=True):
    """A document as JSON lines and Parquet have it."""

    url: str
    fetched: str
    """ISO 8601 in UTC."""
    status: int
    type: str
    title: str
    text: str
    language: str
    length: int
    digest: str
    """SHA-1 of the body, as WARC writes it."""
    duplicate_of: str


def flat(row: Row) -> Flat:
    """A row as JSON lines and Parquet have it."""
    meta = row.meta
    return Flat(
        row.url,
        row.fetched.isoformat().replace("+00:00", "Z"),
        meta.status,
        meta.type,
        meta.title,
        (row.text or "").encode("utf-8", "replace").decode(),
        meta.language,
        meta.length,
        sha1_text(meta.digest) if len(meta.digest) == 20 else "",
        meta.duplicate_of,
    )


def to_jsonl(rows: Iterator[Row], path: Path, compression: str) -> int:
    """Write ``rows`` to ``path``, a line each; return how many."""
    encode = msgspec.json.Encoder().encode
    count = 0
    with path.open("wb") as file, compressed(file, compression) as out:
        for count, row in enumerate(rows, 1):  # noqa: B007 - the last one is the result
            out.write(encode(flat(row)) + b"\n")
    return count


def to_parquet(rows: Iterator[Row], path: Path, compression: str) -> int:
    """Write ``rows`` to ``path``; return how many. Raises ``UserError`` without pyarrow."""
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise UserError("Parquet needs pyarrow; install it with: pip install 'fyke[parquet]'") from None
    names = Flat.__struct_fields__
    integers = {"status", "length"}
    schema = arrow.schema([(name, arrow.int64() if name in integers else arrow.string()) for name in names])
    count = 0
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        while group := [flat(row) for row, _ in zip(rows, range(PARQUET_ROWS), strict=False)]:
            columns: dict[str, list[Any]] = {name: [getattr(record, name) for record in group] for name in names}
            writer.write_table(arrow.table(columns, schema=schema))
            count += len(group)
    return count
