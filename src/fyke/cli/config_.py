"""The settings that a crawl would have, or that of a store has: TOML for --config, or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fyke.cli.crawl_ import Seeds, show
from fyke.cli.options import Json, flags
from fyke.crawl.run.settings import CrawlSettings
from fyke.errors import UserError

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
@flags(CrawlSettings, lists=("seeds",))
def config(
    seeds: Seeds = None,
    store: Annotated[Path | None, typer.Option(metavar="DIR", help="Those of the crawl in this store.")] = None,
    json: Json = False,
    *,
    settings: CrawlSettings,
) -> None:
    """Print the settings that a crawl with these words would have, each with what it means.

    Example: fyke config --max-pages 1000 --delay 2s > crawl.toml
    """
    if store is None:
        show(seeds or [], settings, json)
        return
    from fyke.crawl.run import plan

    known = plan.read(store)
    if known is None:
        raise UserError(f"{store} holds no crawl; leave --store out, or name one that does")
    show(known.seeds, known.settings, json)
