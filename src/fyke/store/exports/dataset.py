"""Datasets out: documents in typed columns, as Arrow batches, Parquet, Arrow IPC and JSON lines, in one file or shards.

A batch holds at most so many rows and bytes, so memory is bounded whatever the store's size; in Parquet a batch is a
row group. A file appears when it is whole; so does a folder of shards (``part-00000.parquet``, …).
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

import msgspec

from fyke.errors import StorageError, UserError
from fyke.formats.streams import compressed
from fyke.outputs import making, replacing
from fyke.store.cells import PAGE, TEXT
from fyke.store.exports.columns import TEXTS, Column, Derived, Record, Source, Stored, arrow_type, choose, iso
from fyke.store.row import Row
from fyke.store.where import Where

if TYPE_CHECKING:
    from fyke.store.store import Store

FORMATS = ("jsonl", "jsonl.gz", "jsonl.zst", "ndjson", "ndjson.gz", "ndjson.zst", "parquet", "arrow")
BATCH_ROWS, BATCH_BYTES = 1000, 16 << 20
"""Of a batch that is handed to somebody."""
GROUP_ROWS, GROUP_BYTES = 10_000, 2 << 20
"""Of a row group, as it is held: the writer holds one about ten times over, in an export that takes 275 MB; groups of
16 MB make it 350, and the file 4 % smaller. But a writer keeps 44 KB of each group until its file is whole, so in long
files they grow: twice as large after each GROUPS, up to LARGEST_GROUP."""
GROUPS, LARGEST_GROUP = 200, 16 << 20
LINES = 1 << 20
"""Bytes of JSON lines that are collected before they are written."""
_EACH = 300
"""Bytes of an element of a list, as it is held: a link, a block."""
SHARD = 1 << 30
"""Bytes of a shard where a folder is written and nobody says."""
_PART = re.compile(r"part-\d{5,}\.[a-z.]+")

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Dataset:
    """What a dataset is to hold: its columns, its rows, its text."""

    columns: tuple[Column, ...]
    where: Where
    text: str = "main"

    @classmethod
    def of(
        cls,
        columns: Iterable[str] | None = None,
        where: Where | Mapping[str, Any] | None = None,
        *,
        schema: str = "fyke",
        text: str = "main",
        raw: bool = False,
    ) -> Dataset:
        """Return the dataset of these columns of a schema, by name; all but ``raw`` where none is named.

        ``where`` is a ``Where``, or its fields (``{"host": "example.org", "language": "en"}``). ``schema`` is ``fyke``,
        ``fineweb`` or ``cc-index``, ``text`` ``main``, ``whole`` or ``markdown`` (which only ``fyke.Store`` makes).
        Raises ``UserError`` for what is unknown.
        """
        if text not in TEXTS:
            raise UserError(f"{text!r} is no text; use {', '.join(TEXTS)}")
        return cls(tuple(choose(schema, list(columns or ()), raw)), Where.of(where), text)

    def records(self, store: Store, derived: Derived, progress: Progress | None = None) -> Iterator[Record]:
        """Yield the rows that are chosen, ready for the columns."""
        wanted = {part for column in self.columns for part in column.parts}
        wanted |= {PAGE} if self.text == "markdown" else set()
        parts, source = tuple(sorted(wanted | {TEXT})), self.source(store, derived)
        for row in self.where.rows(store, parts, derived.signals, progress):
            yield Record(row, source)

    def source(self, store: Store, derived: Derived) -> Source:
        """Return what the columns are made from beside the row."""
        return Source(store.path.resolve().name, derived, lambda href: _original(store, href), self.text)

    def values(self, record: Record) -> list[Any]:
        """Return what the columns say of a record."""
        return [column.value(record) for column in self.columns]

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return [column.name for column in self.columns]


def _original(store: Store, href: str) -> str:
    number = store.tablet_of(href)
    row = store.get(href) if number in store.owned and store.exists(number) else None
    return row.meta.duplicate_of if row is not None else ""


# ---- batches


def batches(
    columns: list[Column], rows: Iterable[list[Any]], most: int = BATCH_ROWS, size: int = BATCH_BYTES
) -> Iterator[Any]:
    """Yield Arrow record batches of at most ``most`` rows and about ``size`` bytes. REQUIRES: pyarrow."""
    import pyarrow as pa

    schema = pa.schema([(column.name, arrow_type(column.type)) for column in columns])
    for group in _groups(rows, most, size):
        yield _batch(pa, schema, group)


def _groups(rows: Iterable[list[Any]], most: int, size: int) -> Iterator[list[list[Any]]]:
    held: list[list[Any]] = []
    weight = count = 0
    for row in rows:
        held.append(row)
        weight += sum(map(_weight, row))
        if len(held) >= most or weight >= size:
            yield held
            held, weight, count = [], 0, count + 1
            if count % GROUPS == 0 and GROUP_BYTES <= size < LARGEST_GROUP:
                size *= 2
    if held:
        yield held


def _weight(value: Any) -> int:
    if isinstance(value, str | bytes):
        return sys.getsizeof(value)  # a character has one to four bytes
    return _EACH * len(value) if isinstance(value, list) else 8


def _batch(pa: Any, schema: Any, rows: list[list[Any]]) -> Any:
    arrays = []
    for field, values in zip(schema, zip(*rows, strict=True), strict=True):
        try:
            arrays.append(pa.array(values, field.type))
        except UnicodeEncodeError:  # lone surrogates
            arrays.append(pa.array(encodable(values), field.type))
    return pa.record_batch(arrays, schema=schema)


def encodable(value: Any) -> Any:
    """Return a value with question marks for lone surrogates, which UTF-8 cannot hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {key: encodable(each) for key, each in value.items()}
    return [encodable(each) for each in value] if isinstance(value, list | tuple) else value


def needs_pyarrow(what: str) -> None:
    """Raise ``UserError`` where pyarrow is not installed."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise UserError(f"{what} needs pyarrow; install it with: pip install 'fyke[parquet]'") from None


def to_arrow(store: Store, dataset: Dataset, derived: Derived | None = None) -> Iterator[Any]:
    """Yield the documents of a live store as Arrow record batches (``Store.to_arrow``)."""
    needs_pyarrow("Arrow")
    rows = (dataset.values(record) for record in dataset.records(store, derived or Stored()))
    return batches(list(dataset.columns), rows)


# ---- files


class Writer(Protocol):
    """A file of a dataset that is being written."""

    def write(self, rows: list[list[Any]]) -> int:
        """Write rows; return how many bytes the file has now."""
        ...

    def close(self) -> None:
        """Finish the file."""
        ...


class _JsonLines:
    def __init__(self, file: IO[bytes], names: list[str], compression: str) -> None:
        self._file, self._names, self._written = file, names, 0
        self._stack = contextlib.ExitStack()
        self._out = self._stack.enter_context(compressed(file, compression))
        self._encode = msgspec.json.Encoder(enc_hook=str).encode

    def write(self, rows: list[list[Any]]) -> int:
        for row in rows:
            line = dict(zip(self._names, map(_plain, row), strict=True))
            try:
                data = self._encode(line)
            except UnicodeEncodeError:
                data = self._encode(encodable(line))
            self._out.write(data + b"\n")
            self._written += len(data) + 1
        return self._file.tell() if self._file.seekable() else self._written

    def close(self) -> None:
        self._stack.close()


def _plain(value: Any) -> Any:
    return iso(value) if isinstance(value, datetime) else value


class _Arrow:
    """Parquet, or Arrow's IPC stream."""

    def __init__(self, file: IO[bytes], columns: list[Column], kind: str) -> None:
        import pyarrow as pa
        from pyarrow import ipc, parquet

        self._columns = columns
        self._sink = pa.PythonFile(file, "w")
        schema = pa.schema([(column.name, arrow_type(column.type)) for column in columns])
        self._writer: Any
        if kind == "parquet":
            self._writer = parquet.ParquetWriter(self._sink, schema, compression="zstd", use_dictionary=_REPEATED)
        else:
            self._writer = ipc.new_stream(self._sink, schema, options=ipc.IpcWriteOptions(compression="zstd"))

    def write(self, rows: list[list[Any]]) -> int:
        for batch in batches(self._columns, rows, len(rows), sys.maxsize):
            self._writer.write_batch(batch)
        return int(self._sink.tell())

    def close(self) -> None:
        self._writer.close()


_REPEATED = [
    "host", "status", "type", "site", "language", "duplicate_by", "error", "encoding", "dump", "file_path", "crawl",
    "subset", "links.list.element.url", "links.list.element.rel", "anchors.list.element.text",
    "blocks.list.element.kind", "blocks.list.element.weight", "robots.list.element",
]  # fmt: skip
"""Columns whose values come again and again."""


def write_dataset(
    rows: Iterable[list[Any]], columns: list[Column], out: Path | None, kind: str, shard: int = 0
) -> tuple[int, int]:
    """Write rows to ``out`` (None: to stdout) as ``kind``, one of FORMATS; return how many rows and bytes.

    With ``shard``, or where ``out`` is a folder, into a folder of files of about so many bytes each. Raises
    ``StorageError`` where the disk is full: what was there before is there still, and nothing half-written.
    """
    if kind in ("parquet", "arrow"):
        needs_pyarrow(f"{out or kind}")
    try:
        if out is None:
            return _write_shards(iter(rows), columns, kind, lambda number: contextlib.nullcontext(sys.stdout.buffer), 0)
        if shard or out.is_dir():
            with making(out, "dataset", _own_parts) as folder:
                return _write_shards(
                    iter(rows), columns, kind, lambda number: (folder / f"part-{number:05}.{kind}").open("wb"),
                    shard or SHARD,
                )  # fmt: skip
        with replacing(out) as new:
            return _write_shards(iter(rows), columns, kind, lambda number: new.open("wb"), 0)
    except BrokenPipeError:
        raise
    except OSError as error:
        why = error.strerror or error
        raise StorageError(f"cannot write {out or 'stdout'}: {why}; free space or give another path") from None


def _own_parts(folder: Path) -> frozenset[str]:
    if not folder.is_dir():
        return frozenset()
    return frozenset(entry.name for entry in folder.iterdir() if _PART.fullmatch(entry.name))


def _write_shards(
    rows: Iterator[list[Any]],
    columns: list[Column],
    kind: str,
    opened: Callable[[int], contextlib.AbstractContextManager[Any]],
    shard: int,
) -> tuple[int, int]:
    count = total = number = 0
    size = GROUP_BYTES if kind in ("parquet", "arrow") else LINES
    size = min(size, shard or size)
    group = next(groups := _groups(rows, GROUP_ROWS, size), [])
    while True:
        with opened(number) as file:
            writer = _writer(file, columns, kind)
            try:
                while group:
                    count += len(group)
                    size = writer.write(group)
                    group = next(groups, [])
                    if shard and size >= shard:
                        break
            except BaseException:
                with contextlib.suppress(Exception):
                    writer.close()
                raise
            writer.close()
            total += file.tell() if file.seekable() else 0
        if not group:
            return count, total
        number += 1


def _writer(file: IO[bytes], columns: list[Column], kind: str) -> Writer:
    if kind in ("parquet", "arrow"):
        return _Arrow(file, columns, kind)
    return _JsonLines(file, [column.name for column in columns], kind.partition(".")[2])


def kind_of(out: Path) -> str:
    """Return the format that the ending of a path names; empty where it is none of a dataset."""
    return next((kind for kind in sorted(FORMATS, key=len, reverse=True) if out.name.endswith(f".{kind}")), "")


def rows_of(dataset: Dataset, store: Store, derived: Derived, progress: Progress | None = None) -> Iterator[list[Any]]:
    """Yield the values of the documents of a store."""
    return (dataset.values(record) for record in dataset.records(store, derived, progress))


__all__ = [
    "FORMATS", "Dataset", "Row", "batches", "encodable", "kind_of", "rows_of", "to_arrow", "write_dataset",
]  # fmt: skip
