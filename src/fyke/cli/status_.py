"""What a crawl is doing, and why it waits: pages, queue, hosts, errors by reason."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from fyke.cli.echo import console, echo, note, show
from fyke.cli.options import Json, StorePath, print_json
from fyke.errors import UserError

if TYPE_CHECKING:
    from fyke.crawl.run.status import Status

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def status(
    store: StorePath = Path("fyke-store"),
    watch: Annotated[bool, typer.Option("--watch", help="Show it anew each second, until the crawl ends.")] = False,
    json: Json = False,
) -> None:
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
    if watch:
        _watch(store, found, json)
    elif json:
        print_json(found)
    else:
        show(table(found))


def _watch(store: Path, found: Status, json: bool) -> None:
    """Show ``found``, and what comes after it each second, until the crawl ends or somebody has seen enough."""
    from rich.live import Live

    from fyke.cli.display import table
    from fyke.crawl.run import status as statuses

    shown = None if json else Live(table(found), console=console(), auto_refresh=False)
    with contextlib.suppress(KeyboardInterrupt), shown or contextlib.nullcontext():
        while True:
            if shown is not None:
                shown.update(table(found), refresh=True)
            else:
                print_json(found)
            if not found.running:
                return
            time.sleep(1.0)
            reports, _ = statuses.read_whole(store)  # one that is torn is whole again in a second
            found = statuses.total(reports, time.time()) if reports else found


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
        note("local files, never watched; `fyke desktop --watch` does")
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
