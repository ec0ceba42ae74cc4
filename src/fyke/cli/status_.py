"""What a crawl is doing, and why it waits: pages, queue, hosts, errors by reason."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import typer

from fyke.cli.echo import console, echo
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
    if not reports and _desktop(store, json):
        return
    if not reports:
        raise UserError(f"{store} holds no crawl; start one with `fyke crawl SEED --store {store}`")
    found = statuses.total(reports, time.time())
    if json:
        print_json(found)
        return
    console().print(table(found))


def _desktop(store: Path, json: bool) -> bool:
    """Tell what the watch of local files does; return whether the store is one of these."""
    from fyke.desktop.plan import is_desktop

    if not is_desktop(store):
        return False
    from fyke.desktop.watching import is_running, read_status

    found = read_status(store)
    running = found is not None and is_running(store)
    if json:
        print_json({"running": running} | (msgspec.to_builtins(found) if found is not None else {}))
        return True
    if found is None:
        echo("local files, never watched; `fyke desktop --watch` does", err=True)
        return True
    echo(f"{found.state if running else 'not running'}{f', waits for {found.waits_for}' if found.waits_for else ''}")
    echo(f"{found.files:,} files, {found.queued:,} queued, {found.settling:,} settling")
    echo(f"{found.watched:,} folders watched, {found.unwatched:,} rescanned")
    for what, counts in (("left out", found.left_out), ("without text", found.errors)):
        if counts:
            echo(f"{what}: " + ", ".join(f"{reason} {count:,}" for reason, count in sorted(counts.items())))
    if found.complaint:
        echo(found.complaint)
    return True
