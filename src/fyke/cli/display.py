"""The live display of a crawl, on stderr; quiet where nobody looks."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.table import Table

if TYPE_CHECKING:
    from fyke.crawl.status import Status


def table(status: Status) -> Table:
    """A status for a person."""
    grid = Table.grid(padding=(0, 2))
    grid.add_row("pages", f"{status.pages:,}  ({status.rate:,.1f}/s, {status.bytes / 1e6:,.1f} MB)")
    grid.add_row("queue", f"{status.queued:,} URLs of {status.hosts:,} hosts, {status.in_flight:,} in flight")
    if status.relevant:
        grid.add_row("harvest", f"{status.harvest:.1%}  ({status.relevant:,} pages are about the topic)")
    if status.mail:
        grid.add_row("mail", f"{status.mail:,} letters between tablets")
    for name, counts in (
        ("errors", status.errors),
        ("dropped", status.dropped),
        ("copies", status.duplicates),
    ):
        if counts:
            grid.add_row(name, ", ".join(f"{reason} {count:,}" for reason, count in counts.items()))
    for place, reason in status.demoted.items():
        grid.add_row("last", f"{place}: {reason}")
    if status.freshness is not None and status.age is not None:
        grid.add_row("freshness", f"{status.freshness:.1%} of copies are right; mean age {duration(status.age)}")
        grid.add_row("revisits", ", ".join(f"{what} {count:,}" for what, count in status.revisits.items()))
        for host, reading in sorted(status.fresh_hosts.items(), key=lambda pair: -pair[1].pages)[:5]:
            grid.add_row("", f"{host}: {reading.pages:,} pages, {reading.freshness:.1%}, {duration(reading.age)}")
    for line in status.idle:
        grid.add_row("idle", line)
    if not status.running:
        grid.add_row("", "not running")
    return grid


def duration(days: float) -> str:
    """Days in the unit that suits them."""
    for unit, size in (("days", 1.0), ("hours", 1 / 24), ("minutes", 1 / 1440)):
        if days >= size:
            return f"{days / size:.1f} {unit}"
    return f"{days * 86_400:.1f} seconds"


class Display:
    """Shows a status as it changes. A context manager."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None

    def show(self, status: Status) -> None:
        """Replace what is shown."""
        if self._live is not None:
            self._live.update(table(status))

    def __enter__(self) -> Display:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
