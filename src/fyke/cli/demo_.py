"""Start a small web on loopback and show fyke at work on it; ends by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fyke.cli.options import Json, flags, print_json
from fyke.errors import StorageError
from fyke.world.config import WorldConfig

app = typer.Typer(rich_markup_mode=None, add_completion=False)

NEXT = """Try next, on a site of your own:
  fyke crawl https://your.site/ --max-pages 100 --store mine
  fyke list --store mine
  fyke dedupe mine
docs/tour.md walks through every command."""


@app.command()
@flags(WorldConfig, hosts=25, pages=600, slow=False, flaky=False)
def demo(
    settings: WorldConfig,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the pictures go.")] = Path("fyke-demo"),
    json: Json = False,
) -> None:
    """Start a small web on loopback, crawl it, and show what became of it, with pictures; ends by itself.

    Example: fyke demo --seed 7
    """
    import tempfile

    from rich.console import Console

    from fyke.cli import warming
    from fyke.cli.demo_acts import ACTS, Stage
    from fyke.world.serve import serve

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{out} can not be made ({error.strerror}): name another folder with --out") from None
    warming.ahead("demo")
    console = Console(stderr=json, highlight=False)
    found = {}
    with tempfile.TemporaryDirectory(prefix="fyke-demo-") as folder, serve(settings) as served:
        stage = Stage(served, console, Path(folder), out)
        for number, act in enumerate(ACTS, 1):
            title = (act.__doc__ or "").split("\n")[0].rstrip(".")
            console.print(f"\n[b]{number}. {title}[/b]")
            found[act.__name__] = act(stage)
    pictures = ", ".join(sorted(path.name for path in out.glob("*.png")))
    console.print(f"\nThe pictures are in {out}/: {pictures}.\n{NEXT}")
    if json:
        print_json(found)
