"""WARC, ARC and TREC files into a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fyke.cli.echo import echo
from fyke.cli.options import Json, StorePath, print_json

app = typer.Typer(rich_markup_mode=None, add_completion=False)

_NAMED = 10
"""Places of damage that are shown; the rest is counted."""


@app.command(name="import")
def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files: .warc .arc .trec, also .gz .zst .Z")],
    store: StorePath = Path("fyke-store"),
    no_text: Annotated[bool, typer.Option("--no-text", help="Pages alone: make no text and links of them.")] = False,
    json: Json = False,
) -> None:
    """Put the documents of WARC, ARC and TREC files into a store, made if need be, with their texts and links.

    Example: fyke import crawl.warc.gz WTX001.trec.Z --store fish
    """
    from fyke.cli.progress import bar
    from fyke.errors import UserError
    from fyke.reading.importing import Enricher
    from fyke.store import Store
    from fyke.store.importing import import_file

    for path in files:
        if not path.is_file():
            raise UserError(f"{path} is no file; give WARC, ARC or TREC files")
    enricher = Enricher()
    with Store.open(store) as opened:
        for path in files:
            before = enricher.texts
            with bar(f"import {path.name}", path.stat().st_size) as progress:
                done = import_file(opened, path, None if no_text else enricher, progress)
            report = done.report
            if json:
                print_json({
                    "file": str(path), "documents": done.rows, "bytes": done.body_bytes, "revisits": done.revisits,
                    "texts": enricher.texts - before, "records": report.records, "damage": dict(report.counts),
                })  # fmt: skip
            else:
                echo(f"{path}: {done.rows:,} documents, {done.body_bytes:,} bytes")
            for damage in report.damages[:_NAMED]:
                echo(f"{path}: at byte {damage.offset:,}: {damage.reason} {damage.detail}".rstrip(), err=True)
            if sum(report.counts.values()) > _NAMED:
                counts = ", ".join(f"{reason} {count:,}" for reason, count in report.counts.items())
                echo(f"{path}: in all: {counts}", err=True)
