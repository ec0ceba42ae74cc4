"""Commands that change what a store holds: delete, prune, merge, backup, restore."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fyke.cli.echo import echo
from fyke.cli.options import Json, StorePath, Yes, confirmed, print_json
from fyke.errors import UserError

if TYPE_CHECKING:
    from fyke.store import Store

Host = Annotated[str, typer.Option(help="Of this host.")]
Prefix = Annotated[str, typer.Option(help="Of URLs that begin so.")]
Before = Annotated[str, typer.Option(metavar="TIME", help="Of what was fetched before then: 2026-01-31.")]


def delete(
    store: StorePath = Path("fyke-store"),
    host: Host = "",
    prefix: Prefix = "",
    before: Before = "",
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Delete rows with their history: of a host, below a URL, or last fetched before a time. Copies keep their bodies.

    Example: fyke store delete --host old.example --store fish --yes
    """
    from fyke.cli.progress import bar
    from fyke.crawl.duplicates import exact, near
    from fyke.store import Store
    from fyke.store.deleting import delete as remove

    when = _moment(before)
    if not (host or prefix or when):
        raise UserError("nothing says what to delete; give --host, --prefix or --before")
    with Store.open(store) as opened:
        if not confirmed(f"Delete {_described(opened, host, prefix, before)}?", yes):
            raise typer.Exit(1)
        with bar("delete", None, "rows") as progress:
            count = remove(opened, host=host, prefix=prefix, before=when, progress=progress)
            exact.forget_deleted(opened)
            near.forget_deleted(opened)
    if json:
        print_json({"rows": count})
    else:
        echo(f"{count:,} rows deleted; `fyke store compact` gives their space back")


def prune(
    store: StorePath = Path("fyke-store"),
    keep: Annotated[int, typer.Option(min=0, help="Newest versions of each row to keep; 0 for all.")] = 0,
    before: Before = "",
    host: Host = "",
    prefix: Prefix = "",
    json: Json = False,
) -> None:
    """Drop older versions of rows: beyond a number, or fetched before a time. The newest always stays.

    Example: fyke store prune --keep 3 --store fish
    """
    from fyke.cli.progress import bar
    from fyke.store import Store
    from fyke.store.deleting import prune as drop

    when = _moment(before)
    if not (keep or when):
        raise UserError("nothing says what to prune; give --keep or --before")
    with Store.open(store) as opened, bar("prune", None, "rows") as progress:
        count = drop(opened, keep=keep, before=when, host=host, prefix=prefix, progress=progress)
    if json:
        print_json({"versions": count})
    else:
        echo(f"{count:,} versions dropped; `fyke store compact` gives their space back")


def merge(
    others: Annotated[list[Path], typer.Argument(metavar="OTHER...", help="Stores whose rows to take.")],
    store: StorePath = Path("fyke-store"),
    json: Json = False,
) -> None:
    """Put the rows of other stores into a store: every version, with columns and anchors. Done twice, it is done once.

    Queues and other marks of a crawl stay where they are.

    Example: fyke store merge monday tuesday --store week
    """
    from fyke.cli.progress import bar
    from fyke.store import Store
    from fyke.store.copying import merge as put_together

    with Store.open(store) as opened:
        for path in others:
            if path.resolve() == store.resolve():
                raise UserError(f"{path} is the store itself; name another")
            with Store.open(path, mode="r") as other, bar(f"merge {path}", None, "rows") as progress:
                done = put_together(opened, other, progress)
            if json:
                print_json({"store": str(path), "rows": done.rows, "versions": done.versions, "known": done.known})
            else:
                echo(f"{path}: {done.rows:,} rows, {done.versions:,} new versions, {done.known:,} known already")


def backup(
    out: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder: a store itself.")],
    store: StorePath = Path("fyke-store"),
    json: Json = False,
) -> None:
    """Copy a store to a new folder, also while a crawl writes it. The copy is a store, and can be read as one.

    Example: fyke store backup /backups/fish-monday --store fish
    """
    _copy(store, out, "backup", json)


def restore(
    backup: Annotated[Path, typer.Argument(metavar="FOLDER", help="What `fyke store backup` wrote.")],
    store: StorePath = Path("fyke-store"),
    json: Json = False,
) -> None:
    """Make a store of a backup; the store must not be there yet.

    Example: fyke store restore /backups/fish-monday --store fish
    """
    _copy(backup, store, "restore", json)


def _copy(source: Path, target: Path, what: str, json: bool) -> None:
    from fyke.cli.progress import bar
    from fyke.store.copying import copy_store

    with bar(what, None, "keys") as progress:
        keys = copy_store(source, target, progress)
    if json:
        print_json({"store": str(target), "keys": keys})
    else:
        echo(f"{target}: {keys:,} keys of {source}")


def _moment(text: str) -> float:
    from fyke.cli.get_ import parse_time

    return parse_time(text).timestamp() if text else 0.0


def _described(store: Store, host: str, prefix: str, before: str) -> str:
    """What would be deleted, in words."""
    rows = next((stats.rows for stats in store.hosts() if stats.name == host), 0) if host else 0
    what = [f"the {rows:,} rows of {host}" if host else f"rows below {prefix}" if prefix else "all rows"]
    if before:
        what.append(f"fetched before {before}")
    return " ".join([*what, f"from {store.path}"])
