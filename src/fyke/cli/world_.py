"""Serve a synthetic web with ground truth on loopback, for anyone's crawler."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fyke.cli import world_bench
from fyke.cli.common import by_default
from fyke.cli.echo import echo, note
from fyke.cli.options import Json, flags, print_json
from fyke.world.config import START, WorldConfig

if TYPE_CHECKING:
    from fyke.world import Host, World

EXPECT_AT_MOST = 20_000
"""Pages: beyond, working out what a crawl would fetch takes longer than a user waits for a server."""

app = typer.Typer(cls=by_default("serve", bare=True), rich_markup_mode=None, add_completion=False)
app.command()(world_bench.bench)


@app.callback()
def _group() -> None:
    """Serve a synthetic web with ground truth on loopback (`serve`, the default), or try a crawler on it (`bench`).

    Example: fyke world --pages 10000 --port 8080 --write web
    """


@app.command(name="serve")
@flags(WorldConfig)
def world(
    settings: WorldConfig,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port on 127.0.0.1; 0 takes one that is free.")] = 0,
    speed: Annotated[float, typer.Option(min=0, help="Seconds that pass in the world for each second.")] = 1.0,
    facts: Annotated[bool, typer.Option("--facts", help="Print what there is, and serve nothing.")] = False,
    truth: Annotated[str, typer.Option(metavar="URL", help="Print what is true of a URL, and serve nothing.")] = "",
    write: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write seeds.txt and crawl.toml there, for `fyke crawl`.")
    ] = None,
    json: Json = False,
) -> None:
    """Serve a synthetic web with ground truth on loopback, for anyone's crawler.

    Prints its hosts, a --resolve HOST:ADDRESS line for each, and serves until Ctrl-C.

    Example: fyke world --pages 10000 --port 8080 --write web
    """
    from fyke.world import World
    from fyke.world.serve import serve

    if truth:
        known = World(settings, port or 80).truth(truth)
        if json:
            print_json(known)
            return
        for name in known.__slots__:
            echo(f"{name:18} {getattr(known, name)}")
        return
    if facts:
        _print_facts(World(settings, port or 80), [], json)
        return
    with contextlib.suppress(KeyboardInterrupt), serve(settings, port, speed) as served:
        if write is not None:
            served.write(write)
            note(f"crawl it with: fyke crawl @{write}/seeds.txt --config {write}/crawl.toml")
        _print_facts(served.world, served.resolve(), json)
        note(f"serving on {served.address}; Ctrl-C ends it")
        while True:
            time.sleep(3600)


def _print_facts(world: World, resolve: list[str], json: bool) -> None:
    """What there is in a world: one line, or one object, a host."""
    if json:
        places = resolve or [""] * len(world.seeds)
        for host, base, where in zip(world.hosts, world.bases, places[: len(world.hosts)], strict=True):
            print_json({"url": base + "/", "resolve": where, **dataclasses.asdict(host)})
        for each, where in zip(world.catalogues, places[len(world.hosts) :], strict=True):
            print_json({"url": each.base + "/", "resolve": where, "name": each.name, "records": len(each.records)})
        return
    pages = sum(host.pages for host in world.hosts)
    echo(f"seed {world.config.seed}: {len(world.hosts)} hosts, {pages:,} pages")
    if pages <= EXPECT_AT_MOST:
        expected = world.expected(world.seeds, START)
        echo(
            f"a correct crawl from the home pages fetches {len(expected.pages):,} pages, meets {len(expected.others):,}"
            f" redirects and errors, leaves {len(expected.disallowed):,} addresses to robots.txt"
        )
    for host, base in zip(world.hosts, world.bases, strict=True):
        echo(f"{base + '/':44} {host.pages:6,} pages  {host.language}  {host.topic:10} {', '.join(oddities(host))}")
    for each in world.catalogues:
        echo(f"{each.base + '/':44} {len(each.records):6,} records behind a form")
    if resolve:
        echo("\n" + "\n".join(f"--resolve {line}" for line in resolve))


def oddities(host: Host) -> list[str]:
    """What is peculiar about a host, in words."""
    from fyke.world import RobotsKind, Validity

    told = {
        "mirror": host.mirror_of is not None,
        f"robots.txt {host.robots}": host.robots is not RobotsKind.RULES,
        f"crawl-delay {host.crawl_delay}": host.crawl_delay > 0,
        f"validators: {host.validity}": host.validity is not Validity.HONEST,
        "soft errors": host.soft_errors,
        "traps": host.traps,
        "slow": host.latency > 0,
        "flaky": host.flaky,
        "no sitemap": not host.sitemap,
    }
    return [words for words, true in told.items() if true]
