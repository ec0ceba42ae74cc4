"""Start a small web on loopback and show fyke at work on it; ends by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from fyke.cli.options import Json, flags, print_json
from fyke.world.config import WorldConfig

if TYPE_CHECKING:
    from rich.console import Console

    from fyke.world.serve import Served

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@dataclass(frozen=True, slots=True)
class Stage:
    """What every act has at hand."""

    served: Served
    """The world, on loopback; ``served.world`` knows what is true."""
    console: Console
    """Where it shows itself; silent under ``--json``."""


Facts = dict[str, object]
"""What an act found, for ``--json``."""


def hosts(stage: Stage) -> Facts:
    """Show the hosts: sizes, languages, topics, peculiarities."""
    from rich.table import Table

    from fyke.cli.world_ import oddities

    world = stage.served.world
    table = Table("host", "pages", "language", "topic", "peculiar", title="Hosts")
    for host in world.hosts[:25]:
        table.add_row(host.name, f"{host.pages:,}", host.language, host.topic, ", ".join(oddities(host)))
    stage.console.print(table)
    pages = sum(host.pages for host in world.hosts)
    stage.console.print(f"{len(world.hosts)} hosts, {pages:,} pages, all at {stage.served.address}\n")
    return {"hosts": len(world.hosts), "pages": pages, "address": stage.served.address}


def pages(stage: Stage) -> Facts:
    """Show what a correct crawl would find, and ask the server for some of it."""
    from http.client import HTTPConnection

    world = stage.served.world
    expected = world.expected(world.seeds)
    stage.console.print(
        f"A correct crawl from the home pages fetches [b]{len(expected.pages):,}[/b] pages, meets "
        f"{len(expected.others):,} redirects and errors, leaves {len(expected.disallowed):,} addresses alone because "
        f"robots.txt says so, and gives up at {len(expected.traps)} doors of traps.\n"
    )
    connection = HTTPConnection("127.0.0.1", stage.served.port, timeout=10)
    started, asked, size = time.perf_counter(), 0, 0
    for url in sorted(expected.pages)[:1000]:
        _, _, authority, target = url.split("/", 3)
        host = world.host(authority.partition(":")[0])
        if host and not host.flaky and not host.latency:
            connection.request("GET", "/" + target, headers={"Host": authority})
            size += len(connection.getresponse().read())
            asked += 1
    connection.close()
    rate = asked / (time.perf_counter() - started)
    stage.console.print(
        f"{asked:,} of them fetched one after another: {size / 1e6:.1f} MB, {rate:,.0f} pages a second.\n"
    )
    return {"expected": len(expected.pages), "fetched": asked, "bytes": size}


def page(stage: Stage) -> Facts:
    """Show one page and what is known of it."""
    from rich.panel import Panel

    world = stage.served.world
    url = next(u for u in world.pages(world.hosts[0].name) if world.truth(u).jaccard not in (0.0, 1.0))
    truth = world.truth(url)
    stage.console.print(Panel(truth.main_text[:700] + " …", title=url, width=100))
    stage.console.print(
        f"topic {truth.topic}, language {truth.language}, {len(truth.links)} links, Jaccard {truth.jaccard:.2f} with "
        f"{truth.copy_of}\n"
    )
    return {"url": url, "topic": truth.topic, "copy_of": truth.copy_of, "jaccard": truth.jaccard}


def crawl(stage: Stage) -> Facts:
    """Crawl the world into a fresh store, and compare with what is true."""
    import tempfile
    from pathlib import Path

    from fyke import assemble
    from fyke.cli.display import Display
    from fyke.store import Store
    from fyke.world.transport import shortest_gaps

    world = stage.served.world
    expected = world.expected(world.seeds)
    stage.served.log()
    stage.console.print("Crawling it, politely, into a store…")
    with tempfile.TemporaryDirectory(prefix="fyke-demo-") as folder:
        store = Path(folder) / "store"
        with Display() as display:
            summary = assemble.crawl(
                world.seeds,
                store,
                scope="any",
                delay=DELAY,
                patience=PATIENCE,
                agents=1,  # starts at once; a world this small needs no more
                resolve=tuple(stage.served.resolve()),
                progress=display.show,
            )
        with Store.open(store, "r") as reader:
            rows = [row for row in reader.scan(parts=()) if row.meta.status == 200 and not row.meta.error]
        stored = {row.url for row in rows}
        marked = {row.url: row.meta.duplicate_of for row in rows if row.meta.duplicate_of and row.url in expected.pages}
    gaps = shortest_gaps(stage.served.log())
    early = sum(gap < DELAY - 0.001 for gap in gaps.values())
    found = len(expected.pages & stored)
    dropped = ", ".join(f"{count:,} {why}" for why, count in summary.dropped.items())
    stage.console.print(
        f"[b]{found:,} of {len(expected.pages):,}[/b] expected pages are in the store, after {summary.seconds:.0f} s; "
        f"{len(stored & expected.disallowed)} of {len(expected.disallowed):,} forbidden ones; "
        f"{early} of {len(gaps)} hosts were contacted early.\nNot followed: {dropped}."
    )
    facts: Facts = {"expected": len(expected.pages), "found": found, "early": early, "pages": summary.pages}
    return facts | _copies(stage, expected.pages & stored, marked)


def _copies(stage: Stage, pages: frozenset[str], marked: dict[str, str]) -> Facts:
    """Compare the duplicates that a crawl has marked with those that there are."""
    from fyke.world.pairs import resembling

    truth = {(pair.first, pair.second) for pair in resembling(stage.served.world, pages)}
    recall = sum(first in marked or second in marked for first, second in truth) / max(1, len(truth))
    right = sum((min(pair), max(pair)) in truth for pair in marked.items()) / max(1, len(marked))
    stage.console.print(
        f"[b]{len(marked):,}[/b] pages are marked as copies or near copies of others, {right:.1%} of them rightly; "
        f"of {len(truth):,} pairs that resemble each other {recall:.1%} are known.\n"
    )
    return {"copies": len(marked), "copy_precision": right, "copy_recall": recall}


DELAY = 0.05
"""Seconds between contacts of a host in the demo: polite in kind, short in time."""
PATIENCE = 2.0

ACTS: tuple[Callable[[Stage], Facts], ...] = (hosts, pages, page, crawl)
"""The acts in order. A room adds its own: a function that shows the room at work and returns what it found."""


@app.command()
@flags(WorldConfig, hosts=25, pages=600, slow=False, flaky=False)
def demo(settings: WorldConfig, json: Json = False) -> None:
    """Start a small web on loopback and show fyke at work on it; ends by itself.

    Example: fyke demo --seed 7
    """
    from rich.console import Console

    from fyke.world.serve import serve

    with serve(settings) as served:
        stage = Stage(served, Console(quiet=json, highlight=False))
        found = {act.__name__: act(stage) for act in ACTS}
    if json:
        print_json(found)
    else:
        stage.console.print("Try next: fyke crawl https://your.site/ --max-pages 100, then fyke list and fyke status.")
