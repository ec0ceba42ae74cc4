"""What `fyke dedupe --write` writes: the documents that are kept, each with those that it stands for, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fyke.errors import UserError

if TYPE_CHECKING:
    from fyke.cli.inputs import Document
    from fyke.dedupe.methods import Named
    from fyke.dedupe.paragraphs import Paragraphs


def refuse_ending(out: Path | None) -> None:
    """Raise ``UserError`` where a dataset cannot be written to a path."""
    from fyke.store.exports.dataset import FORMATS, kind_of

    if out is not None and not kind_of(out):
        raise UserError(f"{out} has no known ending; use one of {', '.join('.' + kind for kind in FORMATS)}")


def write_kept(found: Named, documents: Iterable[Document], out: Path, lines: Paragraphs | None) -> dict[str, object]:
    """Write the kept documents of a collection, which is read once more; return what is to be told of it.

    Columns: ``id``, ``text``, ``copies`` (each removed document, what it matched, how much and by which method), and
    with ``lines`` ``repeated`` (start and end of each paragraph that an earlier kept document has, and which).
    """
    from fyke.store.exports.columns import Column
    from fyke.store.exports.dataset import kind_of, write_dataset

    columns = [
        Column("id", "string", _nothing),
        Column("text", "string", _nothing),
        Column("copies", "copies", _nothing),
    ]
    if lines is not None:
        columns.append(Column("repeated", "repeated", _nothing))
    count, size = write_dataset(_rows(found, documents, lines), columns, out, kind_of(out))
    return {"file": str(out), "kept": count, "bytes": size}


def _nothing(record: object) -> None:
    """Rows come whole: no column is asked."""


def _rows(found: Named, documents: Iterable[Document], lines: Paragraphs | None) -> Iterator[list[Any]]:
    removed, stands_for = found.removed(), found.kept_for()
    # By digest, documents without text count too, so places differ: there names tell.
    exact = found.method == "exact"
    named = {found.names[number + found.offset]: number for number in {*removed, *stands_for}} if exact else {}
    for place, (name, text) in enumerate(documents):
        number = named.get(name, -1) if exact else place
        if number in removed:
            continue
        assert isinstance(text, str)
        copies = [
            {
                "id": found.names[copy],
                "matched": removed[copy].matched,
                "similarity": round(removed[copy].similarity, 6),
                "method": found.method,
            }
            for copy in stands_for.get(number, ())
        ]
        row: list[Any] = [name, text, copies]
        if lines is not None:
            row.append([each._asdict() for each in lines.repeated(name, text)])
        yield row
