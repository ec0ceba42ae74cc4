"""The documents of a store: url, status, type, length, fetched, duplicate-of."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from fyke.cli.echo import echo
from fyke.cli.options import Json, StorePath, address, print_json

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(name="list")
def list_(
    prefix: Annotated[
        str, typer.Argument(help="Only URLs that begin so, as in https://example.org/wiki/ or ~/notes/")
    ] = "",
    store: StorePath = Path("fyke-store"),
    host: Annotated[str, typer.Option(help="Only this host.")] = "",
    limit: Annotated[int | None, typer.Option(min=0, help="At most so many.")] = None,
    json: Json = False,
) -> None:
    """List the documents of a store: url, status, type, length, fetched, duplicate-of.

    Example: fyke list https://example.org/ --limit 10
    """
    from fyke.cli.get_ import facts
    from fyke.store import Store

    with Store.open(store, mode="r") as opened:
        for row in islice(opened.scan(address(prefix, store), host, parts=()), limit):
            known = facts(row)
            if json:
                print_json(known)
            else:
                shown = [known[name] for name in ("status", "type", "length", "fetched", "url")]
                if "duplicate_of" in known:
                    shown.append(f"= {known['duplicate_of']}")
                if "error" in known:
                    shown.append(f"({known['error']})")
                echo("\t".join(str(value) for value in shown))
