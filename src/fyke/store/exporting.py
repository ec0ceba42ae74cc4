"""Export: a store as WARC or WACZ (every capture), WET or TREC Web (the newest versions), by the file's ending.

The file appears when it is whole: it is written under another name beside it and renamed. WARC gets its CDXJ index.
Datasets are fyke.store.exports.dataset's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

from fyke.errors import StorageError, UserError
from fyke.outputs import replacing
from fyke.store.cells import LINKS, PAGE, TEXT
from fyke.store.exports.trec import to_trec
from fyke.store.exports.wacz import stream_wacz
from fyke.store.exports.warc import PLAIN, WarcOptions, stream_warc, to_warc
from fyke.store.exports.wet import stream_wet
from fyke.store.row import Row

ENDINGS = (
    ".warc", ".warc.gz", ".warc.zst", ".wacz", ".wet", ".wet.gz", ".wet.zst", ".trec", ".trec.gz", ".trec.zst",
)  # fmt: skip


def export(
    rows: Iterable[Row], path: Path, progress: Callable[[int], None] | None = None, warc: WarcOptions = PLAIN
) -> int:
    """Write ``rows`` to ``path``; return how many documents. Raises ``UserError`` for an unknown ending."""
    kind = ending_of(path.name)
    told = _told(rows, progress)
    try:
        if kind.startswith(".warc") and not _is_stream(path):
            return to_warc(told, path, warc)
        with replacing(path) as new, new.open("wb") as out:
            return stream(told, out, path.name, warc, path.parent)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}; free space or give another path") from None


def stream(
    rows: Iterator[Row], out: IO[bytes], name: str, warc: WarcOptions = PLAIN, folder: Path | None = None
) -> int:
    """Write ``rows`` to a stream, as to a file of that name; WARC without its index. ``folder`` has room for notes."""
    _, kind, *compression = ending_of(name).split(".")
    if kind == "warc":
        return stream_warc(rows, out, name, warc, folder=folder)
    if kind == "wacz":
        return stream_wacz(rows, out, warc, folder)
    if kind == "wet":
        return stream_wet(rows, out, name, warc)
    return to_trec(rows, out, "".join(compression))


def ending_of(name: str) -> str:
    """Return which of the endings a name has. Raises ``UserError``."""
    ending = next((e for e in sorted(ENDINGS, key=len, reverse=True) if name.endswith(e)), None)
    if ending is None:
        raise UserError(f"{name} has no known ending; use one of {', '.join(ENDINGS)}")
    return ending


def _is_stream(path: Path) -> bool:
    return path.exists() and not path.is_file()


def parts_needed(path: Path) -> tuple[str, ...]:
    """Which parts of the rows an export to ``path`` reads."""
    kind = ending_of(path.name)
    if kind.startswith((".warc", ".wacz")):
        return (PAGE, LINKS)
    return (TEXT,) if kind.startswith(".wet") else (PAGE,)


def _told(rows: Iterable[Row], progress: Callable[[int], None] | None) -> Iterator[Row]:
    for number, row in enumerate(rows):
        if progress is not None and number % 64 == 0:
            progress(number)
        yield row
