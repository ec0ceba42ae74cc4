"""Search by example: the stored near-duplicates of one document."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fyke.cli.echo import echo, note
from fyke.cli.options import Json, StorePath, address, print_json

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def similar(
    url: Annotated[str, typer.Argument(help="The document: https://example.org/page, or a local file.")],
    store: StorePath = Path("fyke-store"),
    threshold: Annotated[float, typer.Option(help="Least Jaccard coefficient.", min=0.05, max=1.0)] = 0.8,
    limit: Annotated[int | None, typer.Option(min=0, help="At most so many.")] = None,
    json: Json = False,
) -> None:
    """Show the stored documents that are like one: exact copies, copies of its text, near copies.

    Example: fyke similar https://example.org/ --store example
    """
    from fyke.cli.progress import bar
    from fyke.crawl.duplicates.similar import similar as find
    from fyke.store import Store

    with Store.open(store, mode="r") as opened, bar("looking", None, "rows") as progress:
        found = find(opened, address(url, store), threshold, progress)
    for each in found[:limit]:
        if json:
            print_json(each)
        else:
            echo(f"{each.similarity:.3f}  {each.method:8}  {each.url}")
    if not found and not json:
        note(f"nothing in {store} is like {url} at {threshold}")
