"""Local files into a store, once or from now on; why a file is or is not in it; a path gone for good."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fyke.cli.common import by_default
from fyke.cli.echo import echo, note
from fyke.cli.options import Json, StorePath, Yes, confirmed, grouped, print_json
from fyke.errors import DiskFullError, UserError

if TYPE_CHECKING:
    from fyke.desktop.plan import Plan, Root
    from fyke.desktop.run import Report
    from fyke.store import Store

INTERRUPTED = 3
RETRY = 60.0
"""Seconds until a watch looks whether a full disk has room."""
PRIVATE = 0o077
"""From the first byte on, no file that these commands make can be read by others."""


app = typer.Typer(cls=by_default("scan"), rich_markup_mode=None, add_completion=False, no_args_is_help=True)


@app.callback()
def _desktop() -> None:
    """Put local files into a store of their own, and keep it up to date.

    `fyke desktop DIR...` is `fyke desktop scan DIR...`.

    Example: fyke desktop ~/Documents --store ~/.local/share/fyke --watch
    """


@dataclass(frozen=True, slots=True)
class Choice:
    """Which files, and what of them; what is not said is as before."""

    exclude: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Leave out, as a line of .gitignore does; repeatable.")
    ] = None
    include_hidden: Annotated[
        bool | None, typer.Option("--include-hidden/--no-include-hidden", help="Names that begin with a dot, too.")
    ] = None
    keep_raw: Annotated[
        bool | None, typer.Option("--keep-raw/--no-keep-raw", help="Keep the bytes of files beside their text.")
    ] = None
    max_file: Annotated[str, typer.Option(metavar="SIZE", help="Of larger files only the name [default: 50MB].")] = ""

    def given(self) -> dict[str, Any]:
        """Return what was said, by the names of the settings."""
        exclude = tuple(self.exclude) if self.exclude else None
        return {**asdict(self), "exclude": exclude, "max_file": _size(self.max_file)}


@app.command()
@grouped
def scan(
    folders: Annotated[
        list[str] | None, typer.Argument(metavar="DIR...", help="Folders; none: those that the store knows.")
    ] = None,
    *,
    store: StorePath = Path("fyke-store"),
    watch: Annotated[bool, typer.Option("--watch", help="Go on: take changes as they are made.")] = False,
    choice: Choice,
    keep_versions: Annotated[int, typer.Option(min=0, help="Versions kept of each file; 0 for all.")] = 1,
    cpu: Annotated[
        float | None,
        typer.Option(min=0.01, max=1.0, help="Share of a core [default: 1; of the backlog of --watch 0.25]."),
    ] = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Put the files of folders into a store: what is new, changed, moved or gone since the last time.

    Hidden files, keys, password stores, browser profiles and caches are left out, and what .gitignore, .ignore and
    .fykeignore say. The store can be read by nobody else.

    Example: fyke desktop scan ~/Documents ~/notes --store ~/.local/share/fyke
    """
    from fyke.desktop import plan, throttle

    os.umask(PRIVATE)
    if not folders and not plan.is_desktop(store):
        raise UserError(f"{store} knows no folders yet; give some: fyke desktop ~/Documents --store {store}")
    roots = _roots(folders or [], store)
    throttle.be_quiet()

    def once() -> None:
        with plan.open_store(store, keep_versions) as opened:
            settings = plan.read(store).extended(roots, opened.secret, **choice.given())
            plan.write(store, settings)
            chosen = roots or list(settings.roots)
            if watch:
                _watch(opened, settings, chosen, cpu or 0.25, yes, json)
            else:
                _tell(_scan(opened, settings, chosen, cpu or 1.0, yes), json)

    try:
        once() if not watch else again_when_full(once)
    except KeyboardInterrupt:
        if not watch:
            note(f"interrupted; the same command goes on: fyke desktop --store {store}")
            raise typer.Exit(INTERRUPTED) from None


def again_when_full(once: Callable[[], None]) -> None:
    """Do it again while the disk is full: a watch outlives that, and what it could not store it finds anew."""
    while True:
        try:
            once()
        except DiskFullError as error:
            echo(f"fyke: {error}; tried again in {RETRY:.0f} s", err=True)
            time.sleep(RETRY)
        else:
            return


def _roots(folders: list[str], store: Path) -> list[Root]:
    """The folders that were asked for; one that is not there must be known of the store."""
    from fyke.desktop import plan
    from fyke.desktop.run import root_of
    from fyke.desktop.state import outermost

    known = {root.path: root for root in plan.read(store).roots} if plan.is_desktop(store) else {}
    found = {}
    for folder in folders:
        path = os.path.realpath(Path(folder).expanduser())
        found[path] = known[path] if path in known and not Path(path).exists() else root_of(folder)
    return [found[path] for path in outermost(found)]


def _size(words: str) -> int | None:
    from fyke.units import parse_size

    return parse_size(words) if words else None


def _scan(store: Store, plan: Plan, roots: list[Root], cpu: float, yes: bool) -> Report:
    from fyke.cli.progress import bar
    from fyke.desktop.run import Desktop
    from fyke.desktop.throttle import Throttle

    with Desktop(store, plan) as desktop, bar("desktop", None, "files") as shown:
        throttle = Throttle(cpu, pauses=False)
        return desktop.scan(roots, lambda question: confirmed(question, yes), lambda done, total: shown(done), throttle)


def _watch(store: Store, plan: Plan, roots: list[Root], cpu: float, yes: bool, json: bool) -> None:
    from fyke.desktop.run import Desktop
    from fyke.desktop.throttle import Throttle
    from fyke.desktop.watch import Watcher
    from fyke.desktop.watching import Watching

    with Desktop(store, plan) as desktop, Watcher() as watcher:
        watching = Watching(desktop, watcher, Throttle(cpu, pauses=True), store.path)
        watching.begin(roots, lambda question: confirmed(question, yes))
        _tell(desktop.told(), json)
        if watcher.complaint:
            echo(watcher.complaint, err=True)
        watching.run()


def _tell(done: Report, json: bool) -> None:
    if json:
        print_json(done)
        return
    said = [f"{done.files:,} files", f"{done.new:,} new", f"{done.changed:,} changed", f"{done.moved:,} moved",
            f"{done.gone:,} gone", f"{done.unchanged:,} as they were"]  # fmt: skip
    if done.purged:
        said.append(f"{done.purged:,} taken out")
    echo(", ".join(said))
    for what, counts in (("left out", done.left_out), ("without text", done.errors)):
        if counts:
            echo(f"{what}: " + ", ".join(f"{reason} {count:,}" for reason, count in sorted(counts.items())))


@app.command()
def check(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A file or folder.")],
    store: StorePath = Path("fyke-store"),
    json: Json = False,
) -> None:
    """Tell whether a file is in the store, since when, and why not.

    Example: fyke desktop check ~/Documents/plan.docx --store ~/.local/share/fyke
    """
    from fyke.desktop.check import check as look
    from fyke.store import Store

    with Store.open(store, mode="r") as opened:
        found = look(opened, path)
    if json:
        print_json(found)
        return
    state = "is in the store" if found.stored else "is not in the store"
    since = f" since {found.since}" if found.since else ""
    echo(f"{path} {state}{since}{': ' if found.reason else ''}{found.reason}")
    if found.detail:
        echo(found.detail)


@app.command()
def purge(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A file or folder; none with --all.")] = "",
    store: StorePath = Path("fyke-store"),
    everything: Annotated[bool, typer.Option("--all", help="All that the store holds.")] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Take all of a path out of the store, so that no file of the store holds a byte of it, and leave it out.

    The files themselves stay. To have them again, name the path as DIR of `fyke desktop`.

    Example: fyke desktop purge ~/Documents/private --store ~/.local/share/fyke --yes
    """
    from fyke.desktop import plan
    from fyke.desktop.purge import count
    from fyke.desktop.purge import purge as take_out

    if bool(path) == everything:
        raise UserError("nothing says what to purge; give a PATH, or --all" if not path else "give PATH or --all")
    plan.read(store)
    rows = count(store, path)
    if not confirmed(f"Purge {rows:,} rows of {path or store} for good?", yes):
        raise typer.Exit(1)
    before = os.umask(PRIVATE)
    try:
        take_out(store, path)
    finally:
        os.umask(before)
    if json:
        print_json({"rows": rows})
    else:
        echo(f"{rows:,} rows are gone, and no file of {store} holds them")
