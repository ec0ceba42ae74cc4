"""Start a small web on loopback and show fyke at work on it; ends by itself."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from fyke.cli.echo import plain
from fyke.cli.options import Json, flags, print_json
from fyke.errors import StorageError, UserError
from fyke.scratch import Scratch
from fyke.world.config import WorldConfig

app = typer.Typer(rich_markup_mode=None, add_completion=False)

MARK = "README.txt"
"""The file that tells what the demo's folder is, and that its store is the demo's own."""
_TOLD = "The store and the pictures that `fyke demo` made. The next demo replaces them.\n"
NEXT = """Explore the store of this web:
  fyke list --store {store}
  fyke get {url} --store {store}
  fyke dedupe {store}
Then crawl a site of your own:
  fyke crawl https://your.site/ --max-pages 100 --store mine
`fyke --help` lists every command, and `fyke COMMAND --help` shows each with an example.
Look at it all in a browser:{install}
  fyke dashboard --open --store {store}"""


@app.command()
@flags(WorldConfig, hosts=25, pages=600, slow=False, flaky=False)
def demo(
    settings: WorldConfig,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the store and the pictures go.")] = Path("fyke-demo"),
    json: Json = False,
) -> None:
    """Start a small web on loopback, crawl it, and show what became of it, with pictures; ends by itself.

    The store and the pictures stay in fyke-demo.

    Example: fyke demo --seed 7
    """
    from rich.console import Console

    from fyke.cli import warming
    from fyke.cli.demo_acts import ACTS, Stage
    from fyke.world.serve import serve

    _make_room(out)
    warming.ahead("demo")
    console = Console(stderr=json, highlight=False)
    found = {}
    with Scratch("demo") as folder, serve(settings) as served:
        stage = Stage(served, console, folder, out)
        for number, act in enumerate(ACTS, 1):
            title = (act.__doc__ or "").split("\n")[0].rstrip(".")
            console.print(f"\n[b]{number}. {title}[/b]")
            found[act.__name__] = act(stage)
        url = served.world.seeds[0]
    pictures = ", ".join(sorted(path.name for path in out.glob("*.png")))
    missing = "No pictures were drawn: add matplotlib with pip install 'fyke[plot]'."
    drawn = f"The pictures are in {plain(out)}/: {plain(pictures)}." if find_spec("matplotlib") else missing
    install = "" if find_spec("starlette") else " pip install 'fyke[dashboard]', then"
    hints = NEXT.format(store=out / "store", url=url, install=install)
    (out / MARK).write_text(f"{_TOLD}\n{hints}\n", encoding="utf-8")
    console.print(f"\n{drawn}\n{plain(hints)}", markup=False)
    if json:
        print_json(found)


def _make_room(out: Path) -> None:
    """Make the folder, without the store of an earlier demo; refuse to touch a store that is somebody else's."""
    import shutil

    mark, store = out / MARK, out / "store"
    try:
        own = mark.is_file() and mark.read_text(encoding="utf-8", errors="replace").startswith(_TOLD)
        if not own and (os.path.lexists(store) or os.path.lexists(mark)):
            raise UserError(f"{out} holds what no demo made; name another folder with --out")
        out.mkdir(parents=True, exist_ok=True)
        mark.write_text(_TOLD, encoding="utf-8")
        if store.is_dir() and not store.is_symlink():
            shutil.rmtree(store)
    except OSError as error:
        raise StorageError(f"{out} can not be made ({error.strerror}): name another folder with --out") from None
