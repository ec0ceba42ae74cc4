"""Go on with a stopped or crashed crawl, with the settings it was started with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from fyke.cli.crawl_ import Quiet, Verbose, run, verbosity
from fyke.cli.options import Json, StorePath
from fyke.errors import UserError
from fyke.units import parse_duration, parse_size

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def resume(
    store: StorePath = Path("fyke-store"),
    max_pages: Annotated[int | None, typer.Option(min=0, help="Another limit than before; 0 for none.")] = None,
    max_bytes: Annotated[str | None, typer.Option(metavar="SIZE", help="The same in bytes: 50GB.")] = None,
    max_time: Annotated[str | None, typer.Option(metavar="DURATION", help="The same in time from now: 2h.")] = None,
    verbose: Verbose = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Go on with a stopped or crashed crawl, with the settings it was started with.

    Example: fyke resume --store example
    """
    from fyke.crawl.run import plan

    try:
        limits: dict[str, Any] = {
            "max_pages": max_pages,
            "max_bytes": None if max_bytes is None else parse_size(max_bytes),
            "max_time": None if max_time is None else parse_duration(max_time),
        }
    except ValueError as error:
        raise UserError(str(error)) from None
    known = plan.read(store)
    if known is None:
        raise UserError(f"{store} holds no crawl; start one with `fyke crawl SEED --store {store}`")
    settings = replace(known.settings, **{name: value for name, value in limits.items() if value is not None})
    run([], store, settings, json, verbosity(verbose, quiet))
