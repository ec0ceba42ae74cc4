"""What commands read collections from: stores, folders of files, JSON lines, Parquet, WARC. One at a time."""

from __future__ import annotations

import gzip
import io
import zlib
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec
import zstandard

from fyke.cli.options import needs_parquet
from fyke.errors import UNREADABLE, UserError
from fyke.formats.warc_record import ENDINGS

if TYPE_CHECKING:
    from fyke.values import Document as Converted

MAX_LINE = 256 << 20
"""A longer line of JSON is refused: it would not fit in memory beside its parts."""

JSON_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".jsonl.zst", ".ndjson.zst")
ID_FIELDS = ("id", "url", "name", "path")
TEXT_FIELDS = ("text", "content", "body")

Document = tuple[str, str | bytes]
Body = tuple[str, bytes, str]
"""Name or URL, bytes, declared media type."""
AHEAD = 8
"""Documents that wait for their turn while workers convert."""


def documents(
    inputs: Iterable[Path],
    id_field: str = "",
    text_field: str = "",
    *,
    raw: bool = False,
    skipped: Counter[str] | None = None,
) -> Iterator[Document]:
    """Yield (id, text) of every document of the inputs, in order; a folder's files by path, hidden ones left out.

    A page comes as its main content, a document of another format as the text that conversion makes of it, or with
    ``raw`` all as their bytes. What has no text is left out, and counted in ``skipped`` by its reason.
    """
    skipped = Counter() if skipped is None else skipped
    for path in inputs:
        if (path / "fyke-store.json").exists():
            yield from _store(path, raw)
        elif path.is_dir():
            files = [
                file
                for file in sorted(path.rglob("*"))
                if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
            ]
            bodies = ((str(file.relative_to(path)), file.read_bytes(), "") for file in files)
            yield from _given(bodies, raw, skipped)
        elif not path.exists():
            raise UserError(f"{path} does not exist; give a store, a folder, or a .jsonl, .parquet, WARC or text file")
        elif path.name.endswith(JSON_LINES):
            yield from _json_lines(path, id_field, text_field)
        elif path.suffix == ".parquet":
            yield from _parquet(path, id_field, text_field)
        elif path.name.endswith(ENDINGS):
            yield from _given(_warc(path), raw, skipped)
        else:
            yield from _given([(str(path), path.read_bytes(), "")], raw, skipped)


def _store(path: Path, raw: bool) -> Iterator[Document]:
    from fyke.reading.stored import documents_of
    from fyke.store import Store

    with Store.open(path, mode="r") as store:
        yield from documents_of(store, raw)


def _given(bodies: Iterable[Body], raw: bool, skipped: Counter[str]) -> Iterator[Document]:
    if not raw:
        return _texts(bodies, skipped)
    return ((name, data) for name, data, _ in bodies)


def _texts(bodies: Iterable[Body], skipped: Counter[str]) -> Iterator[Document]:
    """Yield the main texts of bodies, in order; what needs a worker is converted while others are read."""
    from fyke.reading.conversion import convert_here, prepare
    from fyke.workers.conversion import needs_worker, shared_pool

    ahead: deque[tuple[str, Converted | Future[Converted]]] = deque()

    def first() -> Iterator[Document]:
        name, found = ahead.popleft()
        made = found.result() if isinstance(found, Future) else found
        if made.text:
            yield name, made.text
        else:
            skipped[made.failure.value if made.failure is not None else "empty"] += 1

    for name, data, media_type in bodies:
        source = prepare(data, media_type or None, name=name)
        ahead.append((name, shared_pool().submit(source) if needs_worker(source) else convert_here(source)))
        if len(ahead) > AHEAD or not isinstance(ahead[0][1], Future):
            yield from first()
    while ahead:
        yield from first()


def _warc(path: Path) -> Iterator[Body]:
    """Yield the bodies of an archive by URL; revisits hold none."""
    from fyke.formats.warc import read_records
    from fyke.formats.warc_exchange import read_captures

    with path.open("rb") as stream:
        for capture in read_captures(read_records(stream)):
            if capture.original is not None or capture.exchange.status not in {0, 200}:
                continue
            yield capture.url.href, capture.exchange.body, capture.media_type


def _json_lines(path: Path, id_field: str, text_field: str) -> Iterator[Document]:
    decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
    value = msgspec.json.Decoder()
    id_name, text_name = id_field, text_field
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            row = decoder.decode(line)
            id_name = id_name or _named(row, ID_FIELDS)
            text_name = text_name or _named(row, TEXT_FIELDS)
            text = value.decode(row[text_name])
            name = str(value.decode(row[id_name])) if id_name in row else f"{path}:{number}"
        except (*UNREADABLE, KeyError) as error:
            what = f"has no field {error}" if isinstance(error, KeyError) else f"is not JSON ({error})"
            raise UserError(
                f"line {number} of {path} {what}; each line is an object with id and text, or name the fields "
                "with --id-field and --text-field"
            ) from None
        yield name, text if isinstance(text, str) else ""


def _parquet(path: Path, id_field: str, text_field: str) -> Iterator[Document]:
    needs_parquet(path)
    from pyarrow import ArrowException, parquet

    try:
        file = parquet.ParquetFile(path)
        columns = dict.fromkeys(file.schema_arrow.names)
        id_name = id_field or _named(columns, ID_FIELDS)
        text_name = text_field or _named(columns, TEXT_FIELDS)
        if text_name not in columns:
            raise UserError(f"{path} has no column {text_name!r}; name the one that holds the text with --text-field")
        chosen = [text_name, id_name] if id_name in columns else [text_name]
        row = 0
        for batch in file.iter_batches(batch_size=1024, columns=chosen):
            texts = batch.column(0).to_pylist()
            names = batch.column(1).to_pylist() if len(chosen) > 1 else None
            for i, text in enumerate(texts):
                yield str(names[i]) if names else f"{path}:{row + i}", text or ""
            row += len(texts)
    except ArrowException as error:
        raise UserError(f"{path} is not a Parquet file that can be read ({error}); write it anew") from None


def _named(row: Iterable[str], candidates: tuple[str, ...]) -> str:
    present = set(row)
    return next((name for name in candidates if name in present), candidates[0])


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with _opened(path) as lines:
            while line := lines.readline(MAX_LINE):
                yield line
    except (gzip.BadGzipFile, EOFError, zlib.error, zstandard.ZstdError) as error:
        raise UserError(f"{path} is damaged ({error}); fetch or write it anew") from None


def _opened(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return io.BufferedReader(gzip.open(path), 1 << 20)
    if path.suffix == ".zst":
        return io.BufferedReader(zstandard.open(path, "rb"), 1 << 20)
    return path.open("rb", buffering=1 << 20)
