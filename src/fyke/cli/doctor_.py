"""What this machine offers and lacks: cores, disk, kernel cache, namespaces, browser, inotify watches."""

from __future__ import annotations

from pathlib import Path

import typer

from fyke.cli.echo import echo
from fyke.cli.options import Json, StorePath, print_json

app = typer.Typer(rich_markup_mode=None, add_completion=False)
_SIGNS = {"good": ("ok", "green"), "lacks": ("--", "yellow"), "wrong": ("!!", "red")}


@app.command()
def doctor(store: StorePath = Path("fyke-store"), json: Json = False) -> None:
    """Look at what fyke needs of this machine: ok, -- lacks for a part of fyke, !! wrong. Status 1 where one is wrong.

    Example: fyke doctor
    """
    from fyke.cli.machine import State, look

    checks = list(look(store))
    wrong = any(check.state is State.WRONG for check in checks)
    if json:
        print_json({"good": not wrong, "checks": checks})
    else:
        for check in checks:
            sign, colour = _SIGNS[check.state]
            echo(f"{sign}  {check.name:18} {check.value}", fg=colour if check.state is not State.GOOD else None)
            if check.remedy:
                echo(f"{'':22} {check.remedy}")
    if wrong:
        raise typer.Exit(1)
