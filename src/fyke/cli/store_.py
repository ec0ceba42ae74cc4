"""Look after a store: check, stats, compact, split, delete, prune, merge, backup, restore, fetch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fyke.cli import store_rows
from fyke.cli.echo import echo
from fyke.cli.options import Json, StorePath, print_json
from fyke.errors import UserError

if TYPE_CHECKING:
    from fyke.store.fetching import DepotCheck
    from fyke.store.maintenance import Check

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    help="Look after a store: check it, count it, copy it, take things out.\n\nExample: fyke store check --store fish",
)
for _command in (store_rows.delete, store_rows.prune, store_rows.merge, store_rows.backup, store_rows.restore):
    app.command()(_command)


DepotUrl = Annotated[str, typer.Option("--depot", help="A depot: a directory, or s3://bucket/prefix.")]


@app.command()
def check(
    source: Annotated[str, typer.Argument(metavar="[DEPOT]", help="A depot, instead of a store.")] = "",
    store: StorePath = Path("fyke-store"),
    depot: DepotUrl = "",
    json: Json = False,
) -> None:
    """Verify checksums, digests and that every version has its cells; exit status 1 where something is wrong.

    Of a depot everything that makes up its tablets is read and compared with its checksums.

    Example: fyke store check --store fish
    """
    if source and depot:
        raise UserError("name one depot, not two")
    if source or depot:
        _check_depot(source or depot, json)
        return
    from fyke.cli.progress import bar
    from fyke.store import Store
    from fyke.store.maintenance import check as verify

    with Store.open(store, mode="r") as opened:
        total = sum(stats.rows for stats in opened.hosts())
        with bar("check", total, "rows") as progress:
            found = verify(opened, progress)
    said = f"{found.rows:,} rows, {found.versions:,} versions, {found.cells:,} cells, {found.anchors:,} anchors"
    _tell(found, said, json)


def _check_depot(url: str, json: bool) -> None:
    from fyke.cli.progress import bar
    from fyke.store.depot import Depot
    from fyke.store.fetching import check as verify

    depot = Depot.open(url)
    with bar("check", depot.about.tablets, "tablets") as progress:
        found = verify(depot, progress)
    said = f"{found.tablets:,} tablets, {found.files:,} files, {found.entries:,} entries, {found.bytes:,} bytes"
    _tell(found, said, json)


def _tell(found: Check | DepotCheck, said: str, json: bool) -> None:
    """Tell what a check has found; exit status 1 where that is faults."""
    if json:
        print_json(found)
    else:
        echo(f"{said}, {found.faults:,} faults")
        for fault in found.named:
            echo(fault, err=True)
    if found.faults:
        raise typer.Exit(1)


@app.command()
def fetch(
    depot: Annotated[str, typer.Argument(metavar="DEPOT", help="A directory, or s3://bucket/prefix.")],
    target: Annotated[Path, typer.Argument(metavar="DIR", help="The store to make: a new folder.")],
    json: Json = False,
) -> None:
    """Make a store of a depot, as it was at the last commit; `fyke resume` goes on there, and takes over.

    Example: fyke store fetch s3://bucket/crawl example
    """
    from fyke.cli.progress import bar
    from fyke.store.depot import Depot
    from fyke.store.fetching import fetch as copy

    opened = Depot.open(depot)
    with bar("fetch", opened.about.tablets, "tablets") as progress:
        size = copy(opened, target, progress)
    if json:
        print_json({"store": str(target), "tablets": opened.about.tablets, "bytes": size})
    else:
        echo(f"{target} has {opened.about.tablets} tablets, {size / 1e6:,.1f} MB of the depot {opened.url}")


@app.command()
def stats(
    store: StorePath = Path("fyke-store"),
    hosts: Annotated[bool, typer.Option(help="One line for each host.")] = False,
    json: Json = False,
) -> None:
    """Count rows, pages, hosts and bytes, and how well pages compress.

    Example: fyke store stats --hosts
    """
    import msgspec

    from fyke.store import Store
    from fyke.store.maintenance import stats as count

    with Store.open(store, mode="r") as opened:
        if hosts:
            for host in opened.hosts():
                if json:
                    print_json(msgspec.to_builtins(host) | {"ratio": host.ratio})
                else:
                    echo(f"{host.rows:>9,} rows {host.size:>14,} bytes {host.ratio:6.2f}x  {host.name}")
            return
        found = count(opened)
    facts = msgspec.to_builtins(found) | {"ratio": found.ratio}
    if json:
        print_json(facts)
        return
    counters = facts.pop("counters")
    for name, value in facts.items():
        echo(f"{name:18} {value:,.2f}" if isinstance(value, float) else f"{name:18} {value:,}")
    if counters:
        echo("counters")
        for name, value in sorted(counters.items()):
            echo(f"  {name:28} {value:,}")


@app.command()
def compact(store: StorePath = Path("fyke-store"), json: Json = False) -> None:
    """Merge a store's files and drop what was deleted; needs as much free space as the largest tablet.

    Example: fyke store compact --store fish
    """
    from fyke.cli.progress import bar
    from fyke.store import Store
    from fyke.store.maintenance import compact as merge

    with Store.open(store) as opened, bar("compact", opened.settings.tablets, "tablets") as progress:
        before, after = merge(opened, progress)
    if json:
        print_json({"bytes_before": before, "bytes_after": after})
    else:
        echo(f"{before:,} bytes before, {after:,} after")


@app.command()
def split(
    tablets: Annotated[int, typer.Option(min=1, max=4096, help="The new number of tablets.")],
    store: StorePath = Path("fyke-store"),
    json: Json = False,
) -> None:
    """Deal a store out to another number of tablets; needs free space for a copy. Interrupted, it goes on.

    Example: fyke store split --tablets 64
    """
    from fyke.cli.progress import bar
    from fyke.store.splitting import split as deal

    with bar("split", None, "cells") as progress:
        deal(store, tablets, progress)
    if json:
        print_json({"tablets": tablets})
    else:
        echo(f"{store} has {tablets} tablets")
