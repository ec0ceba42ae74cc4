"""Export: a store as WARC (every version), TREC Web, JSON lines or Parquet (the newest versions), by the file's ending.

The file appears when it is whole: it is written under another name beside it and renamed. WARC gets its CDXJ index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from fyke.errors import StorageError, UserError
from fyke.outputs import replacing
from fyke.store.cells import PAGE, TEXT
from fyke.store.exports.trec import to_trec
from fyke.store.exports.warc import index_of, to_warc
from fyke.store.row import Row

ENDINGS = (".warc", ".warc.gz", ".warc.zst", ".trec", ".trec.gz", ".trec.zst")


def export(rows: Iterable[Row], path: Path, progress: Callable[[int], None] | None = None) -> int:
    """Write ``rows`` to ``path``; return how many documents. Raises ``UserError`` for an unknown ending."""
    writers: dict[str, Callable[[Iterator[Row], Path, str], int]] = {
        "warc": to_warc, "trec": to_trec}  # fmt: skip
    ending = next((e for e in sorted(ENDINGS, key=len, reverse=True) if path.name.endswith(e)), None)
    if ending is None:
        raise UserError(f"{path.name} has no known ending; use one of {', '.join(ENDINGS)}")
    _, kind, *compression = ending.split(".")
    index = index_of(path)
    if kind == "warc" and index.exists() and not path.exists():
        raise UserError(f"{index} is there, but {path.name} is not; move it, or name another file")
    try:
        with replacing(path) as new:
            try:
                count = writers[kind](_told(rows, progress), new, path.name if kind == "warc" else "".join(compression))
                if kind == "warc":
                    index_of(new).rename(index)
            finally:
                index_of(new).unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}; free space or give another path") from None
    return count


def parts_needed(path: Path) -> tuple[str, ...]:
    """Which parts of the rows an export to ``path`` reads."""
    return (PAGE,) if ".warc" in path.name or ".trec" in path.name else (TEXT,)


def _told(rows: Iterable[Row], progress: Callable[[int], None] | None) -> Iterator[Row]:
    for number, row in enumerate(rows):
        if progress is not None and number % 64 == 0:
            progress(number)
        yield row
