"""Export: a store as WARC (every version), TREC Web, JSON lines or Parquet (the newest versions), by the file's ending.

The file appears when it is whole: it is written under another name beside it and renamed. WARC gets its CDXJ index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from fyke.errors import StorageError, UserError
from fyke.outputs import replacing
from fyke.store.cells import LINKS, PAGE, TEXT
from fyke.store.exports.trec import to_trec
from fyke.store.exports.warc import PLAIN, WarcOptions, to_warc
from fyke.store.row import Row

ENDINGS = (".warc", ".warc.gz", ".warc.zst", ".trec", ".trec.gz", ".trec.zst")


Writer = Callable[[Iterator[Row], Path, str], int]
_WRITERS: dict[str, Writer] = {"trec": to_trec}


def export(
    rows: Iterable[Row], path: Path, progress: Callable[[int], None] | None = None, warc: WarcOptions = PLAIN
) -> int:
    """Write ``rows`` to ``path``; return how many documents. Raises ``UserError`` for an unknown ending."""
    ending = next((e for e in sorted(ENDINGS, key=len, reverse=True) if path.name.endswith(e)), None)
    if ending is None:
        raise UserError(f"{path.name} has no known ending; use one of {', '.join(ENDINGS)}")
    _, kind, *compression = ending.split(".")
    told = _told(rows, progress)
    try:
        if kind == "warc":
            return to_warc(told, path, warc)
        with replacing(path) as new:
            return _WRITERS[kind](told, new, "".join(compression))
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}; free space or give another path") from None


def parts_needed(path: Path) -> tuple[str, ...]:
    """Which parts of the rows an export to ``path`` reads."""
    if ".warc" in path.name:
        return (PAGE, LINKS)
    return (PAGE,) if ".trec" in path.name else (TEXT,)


def _told(rows: Iterable[Row], progress: Callable[[int], None] | None) -> Iterator[Row]:
    for number, row in enumerate(rows):
        if progress is not None and number % 64 == 0:
            progress(number)
        yield row
