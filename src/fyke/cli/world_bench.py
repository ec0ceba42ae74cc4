"""``fyke world bench``: a crawler on the synthetic web, judged by the server's log."""

from __future__ import annotations

import dataclasses
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from fyke.cli.echo import echo, note
from fyke.cli.options import Json, flags, print_json
from fyke.world.config import WorldConfig

if TYPE_CHECKING:
    from fyke.world.trial import Result

ROWS = {
    "pages": "pages, of those that a correct crawl fetches",
    "requests": "requests for them",
    "forbidden": "requests that robots.txt forbids",
    "broken": "requests where robots.txt answers 503",
    "closed": "requests where robots.txt says Disallow: /",
    "early": "requests before half the gap was over",
    "early_delay": "requests before half the site's Crawl-delay was over",
    "trapped": "requests within traps",
    "again": "pages fetched again",
    "flaky": "pages of flaky hosts",
}


class PeerName(StrEnum):
    """What ``--peer`` takes."""

    FYKE = "fyke"
    SCRAPY = "scrapy"
    CRAWLEE = "crawlee"
    WGET2 = "wget2"
    SPIDER = "spider"


@flags(WorldConfig, hosts=25, pages=500)
def bench(
    settings: WorldConfig,
    peer: Annotated[list[PeerName], typer.Option(help="The crawler; repeatable.")],
    delay: Annotated[float, typer.Option(min=0, help="Seconds between requests to a host that peers are told.")] = 0.2,
    python: Annotated[str, typer.Option(metavar="PROGRAM", help="The Python that has the peer, if not this one.")] = "",
    kill: Annotated[bool, typer.Option(help="Kill it halfway, too, and start it again.")] = True,
    longest: Annotated[float, typer.Option(min=1, help="Seconds after which a crawl is ended.")] = 600.0,
    json: Json = False,
) -> None:
    """Try a crawler on the synthetic web, and judge it by what the server saw: robots, gaps, traps, kill -9.

    Peers are installed by you (Scrapy and Crawlee in a venv that --python names, wget2 from Debian).

    Example: fyke world bench --peer fyke --peer scrapy --python peers/bin/python
    """
    from fyke.cli.options import require_files
    from fyke.world.trial import try_peer

    require_files(python=python)
    program = python or sys.executable
    results = [
        try_peer(one.value, settings, delay=delay, python=program, kill=kill, longest=longest, told=note)
        for one in peer
    ]
    if json:
        for result in results:
            print_json(dataclasses.asdict(result))
        return
    for line in table(results):
        echo(line)


def table(results: list[Result]) -> list[str]:
    """The results as a table of Markdown: a row for each fact, a column for each peer."""
    lines = [
        "| | " + " | ".join(f"{r.peer} {r.version}".strip() for r in results) + " |",
        "|---" * (len(results) + 1) + "|",
    ]
    for name, told in ROWS.items():
        lines.append(f"| {told} | " + " | ".join(_cell(r, name) for r in results) + " |")
    lines.append("| CPU seconds | " + " | ".join(f"{r.cpu_seconds:.1f}" for r in results) + " |")
    ends = ["no: stopped" if r.stopped else f"after {r.seconds:.0f} s" for r in results]
    lines.append("| it ended by itself | " + " | ".join(ends) + " |")
    if any(r.killed for r in results):
        for told, name in (
            ("killed with -9 halfway and begun again: pages", "pages"),
            ("… of them fetched again", "again"),
        ):
            cells = [f"{getattr(r.killed, name):,}" if r.killed else "" for r in results]
            lines.append(f"| {told} | " + " | ".join(cells) + " |")
    return [*lines, "", *(f"{r.peer}: {r.settings}." for r in results)]


def _cell(result: Result, name: str) -> str:
    value = getattr(result.whole, name)
    if name == "pages":
        return f"{value:,} of {result.whole.expected:,}"
    return f"{value:.0%}" if name == "flaky" else f"{value:,}"
