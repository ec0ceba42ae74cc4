"""Microseconds of CPU per page and room, in a whole crawl with everything on.

``python -m bench.rooms [--pages 5000]``. The crawl runs in this process, one agent, on the site of
``bench.crawl_site``; a clock stands at each room's doors (the functions that other rooms call), and what a room spends
in another counts there. What no door sees is the event loop, dictionaries that are made beside it and the rest of the
crawl's code. The first fifth of the pages, in which kernels are loaded, is left out. The clocks cost some µs a call.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import os
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import crawl_site
from bench.measure import table

DOORS = {
    "fetch: asking, reading the answer, decoding": (
        "fyke.fetch.transfer:Transfer.begin",
        "fyke.fetch.transfer:Transfer.result",
    ),
    "fetch: curl and its sockets": ("fyke.fetch.driver:Driver._read", "fyke.fetch.driver:Driver._on_timeout"),
    "formats: type, encoding, tags": (
        "fyke.crawl.capture:parse_head",
        "fyke.crawl.capture:sniff",
        "fyke.reading.reading:as_utf8",
        "fyke.reading.reading:parse_many",
    ),
    "sites: links, robots, traps": (
        "fyke.sites.memo:LinkMemo.look_up",
        "fyke.sites.links:_page_links",
        "fyke.crawl.politeness.permissions:Permissions.known",
        "fyke.crawl.politeness.rules:Rules.belongs",
        "fyke.crawl.politeness.rules:Rules.worth",
    ),
    "text: language": ("fyke.reading.reading:identify",),
    "convert: metadata": ("fyke.reading.reading:text_document", "fyke.reading.reading:undated"),
    "clean: main content, text": ("fyke.reading.reading:main_texts",),
    "dedupe: digests, sketch, index": (
        "fyke.reading.reading:Material.digests",
        "fyke.crawl.duplicates.near:NearIndex.ask",
    ),
    "frontier: queues, politeness, seen-set": (
        *(f"fyke.frontier.frontier:Frontier.{name}" for name in ("next", "done", "add", "record", "supply")),
        "fyke.frontier.seen:SeenSet.add",
        "fyke.frontier.priority:DefaultPrioritizer.priority",
    ),
    "store: rows and cells": ("fyke.store.batch:Batch.put_row", "fyke.store.tablet:merged"),
    "store: compression": ("fyke.store.tablet:Tablet.encode",),
    "store: RocksDB's write": ("fyke.store.tablet:Tablet._write",),
    "crawl: anchors, mail": ("fyke.crawl.mail.anchors:Anchors.step", "fyke.crawl.queue.queues:Queues.apply"),
    "crawl: the row and the batch of a page": (
        "fyke.crawl.capture:Processor.read_many",
        "fyke.crawl.commit:PageWriter.keep",
        "fyke.crawl.duplicates.examination:Examination._write",
    ),
    "crawl: visits, ticks": ("fyke.crawl.agent:Agent._take", "fyke.crawl.agent:Agent._begin_visits"),
}


class Clocks:
    """Exclusive CPU time of each room, over all threads."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self._stack = threading.local()

    def at(self, door: str, room: str) -> None:
        """Put a clock at a door, ``module:name`` or ``module:class.name``."""
        module, _, path = door.partition(":")
        holder: Any = importlib.import_module(module)
        *holders, name = path.split(".")
        for each in holders:
            holder = getattr(holder, each)
        setattr(holder, name, self._timed(getattr(holder, name), room))

    def _timed(self, function: Callable[..., Any], room: str) -> Callable[..., Any]:
        spent, local, clock = self.spent, self._stack, time.thread_time

        @functools.wraps(function)
        def timed(*args: Any, **options: Any) -> Any:
            inner: list[float] = local.__dict__.setdefault("inner", [])
            inner.append(0.0)
            started = clock()
            try:
                return function(*args, **options)
            finally:
                whole = clock() - started
                spent[room] += whole - inner.pop()
                if inner:
                    inner[-1] += whole

        return timed


def rocksdb_seconds() -> float:
    """CPU seconds of RocksDB's own threads so far."""
    spent = 0
    for path in Path("/proc/self/task").glob("*/stat"):
        name, _, rest = path.read_text().rpartition(")")
        if "(rocksdb" in name:
            spent += sum(map(int, rest.split()[11:13]))
    return spent / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=5000)
    options = parser.parse_args()
    clocks = Clocks()
    for room, doors in DOORS.items():
        for door in doors:
            clocks.at(door, room)
    from fyke.assemble import crawl

    began: list[tuple[int, float, float]] = []

    def progress(status: Any) -> None:
        if not began and status.pages >= options.pages // 5:
            began.append((status.pages, time.process_time(), rocksdb_seconds()))
            clocks.spent.clear()

    with crawl_site.serve(options.pages), tempfile.TemporaryDirectory(prefix="fyke-bench-") as folder:
        crawl(
            [crawl_site.url(0)], Path(folder) / "store", progress=progress,
            scope="any", allow_private=True, delay=0.0, agents=1, patience=2.0,
        )  # fmt: skip
        whole, beside = time.process_time(), rocksdb_seconds()
    pages, since = options.pages - began[0][0], began[0][1]
    total = (whole - since) / pages * 1e6
    costs = {room: clocks.spent[room] / pages * 1e6 for room in DOORS}
    costs["store: RocksDB's threads"] = (beside - began[0][2]) / pages * 1e6
    costs["the event loop, dictionaries, all else"] = total - sum(costs.values())
    rows = [[room, round(cost), f"{cost / total:.0%}"] for room, cost in costs.items()]
    print(table(["room", "µs per page", "share"], rows))
    print(f"{total:,.0f} µs per page over {pages:,} pages")


if __name__ == "__main__":
    main()
