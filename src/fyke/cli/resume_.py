"""Go on with a stopped or crashed crawl, with the settings it was started with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fyke.cli.crawl_ import Quiet, Verbose, loudness, run
from fyke.cli.options import Json, StorePath
from fyke.errors import UserError
from fyke.units import parse_size

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def resume(
    store: StorePath = Path("fyke-store"),
    max_pages: Annotated[int | None, typer.Option(min=0, help="Another limit than before; 0 for none.")] = None,
    max_bytes: Annotated[str | None, typer.Option(metavar="SIZE", help="The same in bytes: 50GB.")] = None,
    verbose: Verbose = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Go on with a stopped or crashed crawl, with the settings it was started with.

    Example: fyke resume --store example
    """
    from fyke.crawl.run import plan

    try:
        size = None if max_bytes is None else parse_size(max_bytes)
    except ValueError as error:
        raise UserError(str(error)) from None
    known = plan.read(store)
    if known is None:
        raise UserError(f"{store} holds no crawl; start one with `fyke crawl SEED --store {store}`")
    settings = known.settings
    if max_pages is not None:
        settings = replace(settings, max_pages=max_pages)
    if size is not None:
        settings = replace(settings, max_bytes=size)
    run([], store, settings, json, loudness(verbose, quiet))
