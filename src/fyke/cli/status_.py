"""What a crawl is doing, and why it waits: pages, queue, hosts, errors by reason."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from fyke.cli.echo import console
from fyke.cli.options import Json, StorePath, print_json
from fyke.errors import UserError

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def status(store: StorePath = Path("fyke-store"), json: Json = False) -> None:
    """Show what a crawl is doing, and why it waits.

    Example: fyke status --store example
    """
    from fyke.cli.display import table
    from fyke.crawl.run import status as statuses

    reports = statuses.read(store)
    if not reports:
        raise UserError(f"{store} holds no crawl; start one with `fyke crawl SEED --store {store}`")
    found = statuses.total(reports, time.time())
    if json:
        print_json(found)
        return
    console().print(table(found))
