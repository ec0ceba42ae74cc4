"""Kernels compiled ahead: small real workloads (fyke.cli.workloads) in as many processes as there are cores.

What is compiled lies in the cache (bits/kernelcache.py), whole or not at all: a process that is killed loses the kernel
it was at and no more. A mark in the cache (bits/warmed.py) says that a set of workloads has been through; then nothing
is started.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from fyke.bits import warmed
from fyke.cli.echo import echo, note
from fyke.cli.progress import bar
from fyke.errors import StorageError
from fyke.scratch import Scratch
from fyke.spawning import python

SETS: dict[str, dict[str, int]] = {
    "extract": {"extract": 15},
    "convert": {"convert": 15},
    "crawl": {"crawl": 30, "closer": 15},
    "crawls": {"crawl": 30, "closer": 15, "crawls": 8, "revisits": 6},
    "demo": {"crawl": 30, "simulate": 25, "closer": 15, "reading": 8, "revisits": 6},
    "all": {
        "crawl": 30, "archive": 30, "closer": 15, "reading": 8, "simulate": 8, "dedupe": 8, "library": 8, "crawls": 8,
        "revisits": 6,
    },
}  # fmt: skip
"""Workloads of each set, the longest first, with about the CPU-seconds that each takes."""

POLL = 0.1


@functools.cache
def ahead(name: str) -> None:
    """Compile what the commands of a set need, visibly, unless that has been done."""
    if warmed.needed(name):
        try:
            warm(name)
        except StorageError as error:  # then they are compiled when they are needed
            echo(f"fyke: {error}", err=True)


def warm(name: str, processes: int = 0) -> dict[str, object]:
    """Run a set's workloads, at most ``processes`` at a time (0: one a core); return what was compiled.

    Nothing is run where that has been done.
    """
    if not warmed.needed(name):
        return {"compiled": 0, "cpu_seconds": 0.0, "seconds": 0.0}
    waiting, total = list(SETS[name]), sum(SETS[name].values())
    most = min(len(waiting), processes or os.cpu_count() or 1)
    with Scratch("warm") as folder, bar("compiling kernels, once", total, "s") as show:
        if not sys.stderr.isatty():
            note("fyke: compiling kernels, once; the next run starts at once")
        log = folder / "log"
        log.touch()
        began = time.monotonic()
        _run(waiting, most, log, lambda done: show(int(min(done, total))))
        lines = [line.split("\t") for line in log.read_text(encoding="utf-8").splitlines()]
    for covered in (other for other, works in SETS.items() if works.keys() <= SETS[name].keys()):
        warmed.mark(covered)
    seconds = sum(float(line[1]) for line in lines)
    return {"compiled": len(lines), "cpu_seconds": round(seconds, 1), "seconds": round(time.monotonic() - began, 1)}


def _run(waiting: list[str], most: int, log: Path, show: Callable[[float], None]) -> None:
    environment = {**os.environ, "FYKE_KERNEL_LOG": str(log), "TMPDIR": str(log.parent)}
    running: dict[str, subprocess.Popen[str]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < most:
                work = waiting.pop(0)
                running[work] = subprocess.Popen(  # noqa: S603 - ourselves
                    python("fyke.cli.workloads", work),
                    env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                )  # fmt: skip
            time.sleep(POLL)
            show(sum(float(line.split("\t")[1]) for line in log.read_text(encoding="utf-8").splitlines()))
            for work in [work for work, process in running.items() if process.poll() is not None]:
                process = running.pop(work)
                _, told = process.communicate()
                if process.returncode:
                    raise StorageError(f"kernels of {work!r} could not be compiled ahead: {told.strip()[-500:]}")
    finally:
        for process in running.values():
            process.terminate()
            process.wait()
