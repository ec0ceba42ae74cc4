"""Go on with a stopped or crashed crawl, with the settings it was started with."""

from __future__ import annotations

from pathlib import Path

import typer

from fyke.cli.crawl_ import Quiet, Verbose, loudness, run
from fyke.cli.options import Json, StorePath
from fyke.errors import UserError

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def resume(
    store: StorePath = Path("fyke-store"), verbose: Verbose = False, quiet: Quiet = False, json: Json = False
) -> None:
    """Go on with a stopped or crashed crawl, with the settings it was started with.

    Example: fyke resume --store example
    """
    from fyke.crawl.run import plan

    known = plan.read(store)
    if known is None:
        raise UserError(f"{store} holds no crawl; start one with `fyke crawl SEED --store {store}`")
    run([], store, known.settings, json, loudness(verbose, quiet))
