"""How fresh a store's copies are: now, per host, and over the crawl."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from fyke.cli.echo import echo
from fyke.cli.options import Json, StorePath, drawing, needs_plot, print_json
from fyke.errors import UserError

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def freshness(
    store: StorePath = Path("fyke-store"),
    plot: Annotated[Path | None, typer.Option(metavar="OUT.png", help="Draw freshness and age over the crawl.")] = None,
    hosts: Annotated[int, typer.Option(min=0, help="Hosts to tell of, the largest first.")] = 20,
    json: Json = False,
) -> None:
    """Tell how fresh the copies of a continuous crawl are.

    Example: fyke freshness --store example --plot fresh.png
    """
    from fyke.cli.display import duration
    from fyke.crawl.revisit import freshness as rooms
    from fyke.store import Store

    needs_plot(plot)
    with Store.open(store, "r") as opened:
        found = rooms.collection(opened.scan(), time.time())
    lines = rooms.read(store)
    if plot is not None:
        if not lines:
            raise UserError(f"{store} has no freshness over time; crawl it with `fyke crawl --continuous`")
        with drawing(plot):
            rooms.plot(plot, lines)
    largest = sorted(found.hosts.items(), key=lambda pair: -pair[1].pages)[:hosts]
    if json:
        named = {host: {"pages": r.pages, "freshness": r.freshness, "age_days": r.age} for host, r in largest}
        whole = found.whole
        said = {"pages": whole.pages, "freshness": whole.freshness, "age_days": whole.age, "unknown": found.unknown}
        print_json(said | {"readings": len(lines), "hosts": named})
        return
    if not found.whole.pages:
        raise UserError(f"nothing is known of changes in {store}; crawl it with `fyke crawl --continuous`")
    for name, reading in [("all", found.whole), *largest]:
        echo(f"{name:40} {reading.pages:>9,} pages   {reading.freshness:6.1%} right   age {duration(reading.age)}")
    if found.unknown:
        echo(f"{found.unknown:,} pages have no history yet")
