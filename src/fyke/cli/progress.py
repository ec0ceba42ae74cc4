"""A progress bar on stderr with rate and time left, for work that takes long; silent where nobody looks."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from fyke.cli.echo import console, is_quiet, plain


@contextlib.contextmanager
def stages() -> Iterator[Callable[[str, float, float | None], None]]:
    """Show a line for each stage of a work; the block receives a function of (stage, how far, of how much if known)."""
    if is_quiet() or not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    from rich import progress

    columns = progress.TextColumn("{task.description}", markup=False), progress.BarColumn()
    more = progress.MofNCompleteColumn(), progress.TimeRemainingColumn()
    with progress.Progress(*columns, *more, console=console(stderr=True), transient=True) as display:
        tasks: dict[str, progress.TaskID] = {}

        def show(what: str, done: float, total: float | None) -> None:
            if what not in tasks:
                tasks[what] = display.add_task(plain(what), total=total)
            display.update(tasks[what], completed=int(done))

        yield show


@contextlib.contextmanager
def bar(what: str, total: int | None, unit: str = "bytes") -> Iterator[Callable[[int], None]]:
    """Show a bar while the block runs; it receives a function that is told how far the work is."""
    if is_quiet() or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich import progress

    class Rate(progress.ProgressColumn):
        def render(self, task: progress.Task) -> str:
            return f"{task.speed or 0:,.0f} {unit}/s"

    columns: list[progress.ProgressColumn] = [
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
    ]
    if unit == "bytes":
        columns += [progress.DownloadColumn(), progress.TransferSpeedColumn()]
    else:
        columns += [progress.MofNCompleteColumn(), Rate()]
    columns.append(progress.TimeRemainingColumn())
    with progress.Progress(*columns, console=console(stderr=True), transient=True) as display:
        task = display.add_task(plain(what), total=total)
        yield lambda done: display.update(task, completed=done)
