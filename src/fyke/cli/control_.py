"""Steer a crawl: pause, resume, stop, add seeds, slow a host down, exclude URLs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fyke.cli.echo import echo
from fyke.cli.options import Json, StorePath, print_json
from fyke.errors import FykeError, UserError

if TYPE_CHECKING:
    from fyke.crawl.run.steering import Steering

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True)

_PATIENCE = 15.0
"""Seconds until agents that are alive follow: they look each second, unless the machine is very busy."""


@app.callback()
def control() -> None:
    """Steer a crawl that is running; what is added, slowed down and excluded holds for later runs too.

    Example: fyke control pause --store example
    """


@app.command()
def pause(store: StorePath = Path("fyke-store"), json: Json = False) -> None:
    """Begin no further fetch until `fyke control resume`.

    Example: fyke control pause --store example
    """
    _ask(store, json, "paused", running=True, paused=True)


@app.command()
def resume(store: StorePath = Path("fyke-store"), json: Json = False) -> None:
    """Go on after a pause.

    Example: fyke control resume --store example
    """
    _ask(store, json, "going on", running=True, paused=False)


@app.command()
def stop(store: StorePath = Path("fyke-store"), json: Json = False) -> None:
    """End the crawl cleanly, as Ctrl-C does; `fyke resume` goes on.

    Example: fyke control stop --store example
    """
    _ask(store, json, "stopping", running=True, stop=True)


@app.command()
def add(
    urls: Annotated[list[str], typer.Argument(metavar="URL...", help="Further seeds.")],
    store: StorePath = Path("fyke-store"),
    json: Json = False,
) -> None:
    """Crawl from further seeds, too.

    Example: fyke control add https://example.org/new --store example
    """
    import msgspec

    from fyke.assemble import parse_seed
    from fyke.crawl.run import plan

    hrefs = [parse_seed(url).href for url in urls]
    known = _plan(store)
    plan.write(store, msgspec.structs.replace(known, seeds=tuple(dict.fromkeys([*known.seeds, *hrefs]))))
    _ask(store, json, f"{len(hrefs)} seeds added", add=hrefs)


@app.command()
def slow(
    host: Annotated[str, typer.Argument(help="A host, as in its URLs.")],
    gap: Annotated[str, typer.Argument(metavar="SECONDS", help="Least time between two requests to it: 10, 1m.")],
    store: StorePath = Path("fyke-store"),
    json: Json = False,
) -> None:
    """Ask a host less often.

    Example: fyke control slow example.org 10 --store example
    """
    from fyke.units import parse_duration

    seconds = parse_duration(gap)
    _ask(store, json, f"{host} is asked every {seconds:g} s at most", slow={host.lower(): seconds})


@app.command()
def exclude(
    pattern: Annotated[str, typer.Argument(metavar="REGEX", help="Of URLs that are not wanted.")],
    store: StorePath = Path("fyke-store"),
    json: Json = False,
) -> None:
    """Neither follow nor fetch what matches; what is queued is dropped.

    Example: fyke control exclude /calendar/
    """
    from fyke.patterns import Pattern

    try:
        Pattern(pattern)
    except ValueError as error:
        raise UserError(f"{pattern!r} is no regular expression ({error})") from None
    _ask(store, json, f"what matches {pattern!r} is excluded", exclude=[pattern])


def _plan(store: Path) -> Any:
    from fyke.crawl.run import plan

    known = plan.read(store)
    if known is None:
        raise UserError(f"{store} holds no crawl; start one with `fyke crawl SEED --store {store}`")
    return known


def _ask(store: Path, json: bool, said: str, *, running: bool = False, **changes: Any) -> None:
    """Ask for ``changes``, wait until the agents follow, and say so. With ``running`` there must be some."""
    from fyke.crawl.run import status as statuses
    from fyke.crawl.run import steering

    _plan(store)
    is_running = statuses.total(statuses.read(store), time.time()).running
    if running and not is_running:
        raise FykeError(f"no crawl is running in {store}; `fyke resume --store {store}` starts one")
    asked = steering.change(store, lambda known: steering.merged(known, **changes))
    followed = is_running and _followed(store, asked.number)
    if json:
        print_json({"running": is_running, "followed": followed, **_facts(asked)})
    elif not is_running:
        echo(f"{said}, once the crawl goes on: none is running")
    else:
        echo(said if followed else f"{said}, as soon as the agents look: they have not yet")


def _followed(store: Path, number: int) -> bool:
    from fyke.crawl.run import status as statuses

    deadline = time.time() + _PATIENCE
    while time.time() < deadline:
        reports = statuses.read(store)
        if not statuses.total(reports, time.time()).running or all(each.steering >= number for each in reports):
            return True
        time.sleep(0.1)
    return False


def _facts(asked: Steering) -> dict[str, Any]:
    return {
        "paused": asked.paused, "stop": asked.stop, "add": list(asked.add), "exclude": list(asked.exclude),
        "slow": asked.slow,
    }  # fmt: skip
