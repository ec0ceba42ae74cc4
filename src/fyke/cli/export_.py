"""A store as one file: WARC, TREC Web, JSON lines or Parquet, by its ending."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fyke.cli.echo import echo
from fyke.cli.options import Json, StorePath, needs_parquet, print_json

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def export(
    out: Annotated[Path, typer.Argument(help=".warc.gz .warc.zst .trec.gz .jsonl.zst .parquet and their kin.")],
    store: StorePath = Path("fyke-store"),
    prefix: Annotated[str, typer.Option(help="Only URLs that begin so.")] = "",
    host: Annotated[str, typer.Option(help="Only this host.")] = "",
    json: Json = False,
) -> None:
    """Write a store to one file, by its ending: WARC has every version, the others the newest.

    Example: fyke export pages.jsonl.zst --store fish
    """
    from fyke.cli.progress import bar
    from fyke.store import Store
    from fyke.store.exporting import export as write
    from fyke.store.exporting import parts_needed

    needs_parquet(out)
    with Store.open(store, mode="r") as opened:
        total = sum(stats.rows for stats in opened.hosts()) if not prefix and not host else None
        with bar(f"export {out.name}", total, "rows") as progress:
            count = write(opened.scan(prefix, host, parts_needed(out)), out, progress)
    if json:
        print_json({"file": str(out), "documents": count, "bytes": out.stat().st_size})
    else:
        echo(f"{out}: {count:,} documents, {out.stat().st_size:,} bytes")
