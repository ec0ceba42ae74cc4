"""Documents into a store: WARC, WACZ, WET, ARC, TREC, JSON lines, Parquet, folders, parts of an archive."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fyke.cli.echo import echo, note
from fyke.cli.export_ import Several, moment, several
from fyke.cli.options import Json, StorePath, grouped, print_json

if TYPE_CHECKING:
    from fyke.store.importing import Imported, Importer
    from fyke.store.imports.cdx import Range
    from fyke.store.imports.tables import Mapped

app = typer.Typer(rich_markup_mode=None, add_completion=False)

_NAMED = 10
"""Places of damage that are shown; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Captures:
    """Which captures of a CDX index."""

    tree: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Of a CDX index: the folder its WARC files are named from."),
    ] = None
    host: Annotated[Several, typer.Option(help="Of a CDX index: only this host.")] = None
    prefix: Annotated[Several, typer.Option(help="Of a CDX index: only URLs that begin so.")] = None
    since: Annotated[str, typer.Option(metavar="TIME", help="Of a CDX index: only captures since then.")] = ""
    until: Annotated[str, typer.Option(metavar="TIME", help="Of a CDX index: only captures before.")] = ""
    status: Annotated[Several, typer.Option(help="Of a CDX index: only these, as 200 or 3xx.")] = None
    type_: Annotated[Several, typer.Option("--type", help="Of a CDX index: only this media type.")] = None

    def wanted(self) -> Range:
        """Return the choice."""
        from fyke.store.imports.cdx import Range
        from fyke.store.where import Where

        where = Where(
            status=tuple(several(self.status)),
            type=tuple(several(self.type_)),
            since=moment(self.since),
            until=moment(self.until),
            host=tuple(self.host or ()),
            prefix=tuple(self.prefix or ()),
        )
        return Range(where, self.tree or Path())


@app.command(name="import")
@grouped
def import_(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help=".warc .wacz .arc .trec .jsonl .parquet .cdxj, or folders.")
    ],
    *,
    store: StorePath = Path("fyke-store"),
    no_text: Annotated[
        bool, typer.Option("--no-read", "--no-text", help="Pages alone: make no text and links of them.")
    ] = False,
    map_: Annotated[
        Several, typer.Option("--map", metavar="FIELD=COLUMN", help="Which column of JSON lines or Parquet holds what.")
    ] = None,
    captures: Captures,
    json: Json = False,
) -> None:
    """Put documents into a store, made if need be, with their texts and links.

    Files are archives (WARC, WACZ, WET, ARC, TREC), tables (JSON lines, Parquet), or CDX indexes of WARC files. Of a
    folder, these are read as such, and every other file (PDF, docx, html …) is a document.

    Example: fyke import crawl.warc.gz papers/ --store fish
    """
    from fyke.crawl.imported import Settled
    from fyke.errors import UserError
    from fyke.reading.importing import Enricher
    from fyke.store import Store
    from fyke.store.importing import Importer
    from fyke.store.imports.tables import Mapped
    from fyke.workers.conversion import convert_source

    for path in files:
        if not path.exists():
            raise UserError(f"{path} does not exist; give archives, tables, indexes or folders")
    mapped, wanted = Mapped.parse(several(map_)), captures.wanted()
    enricher = Enricher(convert_source)
    refused: list[UserError] = []
    with (
        Store.open(store) as opened,
        contextlib.nullcontext() if no_text else Settled(opened) as settled,
        Importer(opened, None if no_text else enricher, settled) as importer,
    ):
        for path in files:
            try:
                for part, done in _imported(importer, path, mapped, wanted, named_tree=captures.tree is not None):
                    _tell(part, done, enricher.take(), json)
            except UserError as error:  # the others are read all the same
                if refused:
                    echo(f"fyke: {refused[-1]}", err=True)
                refused.append(error)
    if importer.unresolved:
        note(f"{importer.unresolved:,} revisits wait for a payload that is in none of the files")
    if refused:
        raise refused[-1]


def _imported(
    importer: Importer, path: Path, mapped: Mapped, wanted: Range, *, named_tree: bool
) -> Iterator[tuple[Path, Imported]]:
    """Import a file, or what a folder holds; yield what was done, by file or folder."""
    from fyke.cli.progress import bar
    from fyke.formats.damage import Report
    from fyke.store.imports.cdx import is_index, range_records
    from fyke.store.imports.files import file_items, files_of
    from fyke.store.imports.tables import is_table, table_items

    report = Report()
    if path.is_dir():
        found = list(files_of(path))
        own = [file for file in found if _is_collection(file)]
        for file in own:
            yield from _imported(importer, file, mapped, wanted, named_tree=named_tree)
        others = [file for file in found if file not in set(own)]
        if others or not own:
            with bar(f"import {path}", len(others), "files") as shown:
                yield path, importer.items(file_items(_watched(others, shown), report), report)
        return
    with bar(f"import {path.name}", path.stat().st_size) as progress:
        if is_index(path) and (named_tree or path.name.endswith(("cdxj", "cluster.idx"))):
            yield (
                path,
                importer.records(range_records(path, _rooted(wanted, path, named_tree), report, progress), report),
            )
        elif is_table(path):
            yield path, importer.items(table_items(path, mapped, report, progress), report)
        else:
            yield path, importer.file(path, progress)


def _is_collection(path: Path) -> bool:
    from fyke.store.imports.tables import is_table

    archives = (".warc", ".arc", ".wacz", ".trec", ".wet")
    name = path.name.lower().removesuffix(".gz").removesuffix(".zst").removesuffix(".z")
    return name.endswith(archives) or is_table(path)


def _rooted(wanted: Range, index: Path, named: bool) -> Range:
    """An index that nobody gave a tree: its WARC files are beside it."""
    from dataclasses import replace

    return wanted if named else replace(wanted, tree=index.parent)


def _watched(files: list[Path], progress: object) -> Iterator[Path]:
    for number, file in enumerate(files):
        progress(number)  # type: ignore[operator]
        yield file


def _tell(path: Path, done: Imported, texts: int, json: bool) -> None:
    report = done.report
    if json:
        print_json({
            "file": str(path), "documents": done.rows, "known": done.known, "bytes": done.body_bytes,
            "revisits": done.revisits, "texts": texts, "records": report.records, "damage": dict(report.counts),
        })  # fmt: skip
    else:
        known = f", {done.known:,} known already" if done.known else ""
        echo(f"{path}: {done.rows:,} documents, {done.body_bytes:,} bytes{known}")
    for damage in report.damages[:_NAMED]:
        echo(f"{path}: at {damage.offset:,}: {damage.reason} {damage.detail}".rstrip(), err=True)
    if sum(report.counts.values()) > _NAMED:
        counts = ", ".join(f"{reason} {count:,}" for reason, count in report.counts.items())
        echo(f"{path}: in all: {counts}", err=True)
