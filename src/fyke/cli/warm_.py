"""Compile the kernels ahead, for one command or for all; later runs start at once."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from fyke.cli.echo import echo
from fyke.cli.options import Json, print_json

app = typer.Typer(rich_markup_mode=None, add_completion=False)


class Workload(StrEnum):
    """What ``fyke warm`` takes."""

    EXTRACT = "extract"
    CONVERT = "convert"
    CRAWL = "crawl"
    CRAWLS = "crawls"
    DEMO = "demo"
    ALL = "all"


HELP = "extract, convert, crawl, crawls (by topic, by quality, continuous), demo or all."


@app.command()
def warm(
    what: Annotated[Workload, typer.Argument(metavar="FOR", help=HELP)] = Workload.ALL,
    processes: Annotated[int, typer.Option(help="Processes; 0 for one per core.", min=0)] = 0,
    json: Json = False,
) -> None:
    """Compile the kernels that a command needs, or all, in several processes; what is compiled already is not again.

    Example: fyke warm crawl
    """
    from fyke.bits.kernelcache import cache_directory
    from fyke.cli import warming

    made = warming.warm(what.value, processes)
    if json:
        print_json({"for": what.value, "cache": str(cache_directory()), **made})
        return
    echo(
        f"{made['compiled']} kernels compiled in {made['seconds']} s ({made['cpu_seconds']} s of CPU); "
        f"they are in {cache_directory()}"
    )
