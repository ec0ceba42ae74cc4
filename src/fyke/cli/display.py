"""The live display of a crawl, on stderr; quiet where nobody looks."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from fyke.cli.echo import console, plain

if TYPE_CHECKING:  # rich is loaded where somebody looks
    from rich.live import Live
    from rich.table import Table

    from fyke.crawl.run.status import DepotStatus, Status


def table(status: Status) -> Table:
    """A status for a person."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    _row(grid, "pages", f"{status.pages:,}  ({status.rate:,.1f}/s, {status.bytes / 1e6:,.1f} MB)")
    _row(grid, "queue", f"{status.queued:,} URLs of {status.hosts:,} hosts, {status.in_flight:,} in flight")
    if status.requisites:
        _row(grid, "requisites", f"{status.requisites:,} images, styles, scripts and fonts")
    if status.relevant:
        _row(grid, "harvest", f"{status.harvest:.1%}  ({status.relevant:,} pages are about the topic)")
    if status.mail:
        _row(grid, "mail", f"{status.mail:,} letters between tablets")
    if status.depot is not None:
        _row(grid, "depot", backed_up(status.depot))
    for name, counts in (
        ("errors", status.errors),
        ("dropped", status.dropped),
        ("limits", status.limits),
        ("forms", status.forms),
        ("copies", status.duplicates),
    ):
        if counts:
            _row(grid, name, ", ".join(f"{reason} {count:,}" for reason, count in counts.items()))
    for place, reason in status.demoted.items():
        _row(grid, "last", f"{place}: {reason}")
    if status.freshness is not None and status.age is not None:
        _row(grid, "freshness", f"{status.freshness:.1%} of copies are right; mean age {duration(status.age)}")
        _row(grid, "revisits", ", ".join(f"{what} {count:,}" for what, count in status.revisits.items()))
        for host, reading in sorted(status.fresh_hosts.items(), key=lambda pair: -pair[1].pages)[:5]:
            _row(grid, "", f"{host}: {reading.pages:,} pages, {reading.freshness:.1%}, {duration(reading.age)}")
    for line in status.idle if status.running else ():
        _row(grid, "idle", line)
    if not status.running:
        _row(grid, "", "not running")
    return grid


def backed_up(depot: DepotStatus) -> str:
    """How a depot does, in words."""
    if depot.silent:
        why = f" ({depot.error})" if depot.error else ""
        return (
            f"{depot.url} has taken nothing for {depot.behind:,.0f} s{why}; the crawl goes on, and it catches up later"
        )
    said = f"{depot.url} is {depot.behind:,.1f} s behind"
    return f"{said}, {depot.backlog / 1e6:,.1f} MB wait" if depot.backlog > 1e6 else said


def _row(grid: Table, name: str, said: str) -> None:
    """Hosts, paths and reasons are others' words."""
    from rich.text import Text

    grid.add_row(name, Text(plain(said)))


def duration(days: float) -> str:
    """Days in the unit that suits them."""
    for unit, size in (("days", 1.0), ("hours", 1 / 24), ("minutes", 1 / 1440)):
        if days >= size:
            return f"{days / size:.1f} {unit}"
    return f"{days * 86_400:.1f} seconds"


def _live() -> Live | None:
    from rich.live import Live

    err = console(stderr=True)
    return Live(console=err, auto_refresh=False, transient=True) if err.is_terminal else None


class Display:
    """Shows a status as it changes. A context manager."""

    def __init__(self, shown: bool = True) -> None:
        self._live = _live() if shown and sys.stderr.isatty() else None

    def show(self, status: Status) -> None:
        """Replace what is shown."""
        if self._live is not None:
            self._live.update(table(status), refresh=True)

    def __enter__(self) -> Display:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
