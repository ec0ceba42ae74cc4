"""A cluster in a network namespace of its own: `python -m tests.cluster.on_ray` plays the scenario, and prints facts.

Three machines on 127.0.1.1, .2 and .3 crawl a world; the third is killed in mid-crawl, a fourth joins. Everything waits
for what the head tells; nothing sleeps.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fyke.archive.combine import Coding
from fyke.archive.preprocess import Preprocessing
from fyke.cluster import jobs
from fyke.cluster.crawl import crawl, job_of
from fyke.cluster.head import Overview
from fyke.cluster.loopback import Loopback
from fyke.cluster.machine import Machine, connected
from fyke.collection import build
from fyke.collection.pages import Source
from fyke.crawl.duplicates.near import SKETCH
from fyke.crawl.run.settings import CrawlSettings
from fyke.dedupe import methods
from fyke.graph.graph import Graph
from fyke.graph.rank import pagerank
from fyke.reading.stored import documents_of
from fyke.store import Store
from fyke.store.depot import Depot
from fyke.store.exports.dataset import Dataset, rows_of, write_dataset
from fyke.store.fetching import check, fetch
from fyke.workers.rows import Store as RowsStore
from fyke.world.config import WorldConfig
from fyke.world.serve import serve
from fyke.world.transport import early_visits
from fyke.world.truth import Expected

WORLD = WorldConfig(hosts=8, pages=100, slow=False, flaky=False, traps=False)
DELAY = 0.05
BEGAN = time.monotonic()
DEDUPE = methods.Settings()
COMMON = Preprocessing(min_documents=2)


def say(what: str) -> None:
    """Tell whoever looks into a failure."""
    print(f"{time.monotonic() - BEGAN:.1f} {what}", file=sys.stderr, flush=True)


class Scenario:
    """What happens while the crawl goes on."""

    def __init__(self, machines: Loopback, pool: ThreadPoolExecutor) -> None:
        self.machines, self.pool = machines, pool
        self.killed = False
        self.fourth: Future[Machine] | None = None
        self.nodes: set[str] = set()
        self.events: list[str] = []

    def look(self, overview: Overview) -> None:
        """Kill a machine once pages have come, and let another join."""
        say(f"{overview.status.pages} {overview.nodes}")
        self.events += [event.what for event in overview.events]
        self.nodes |= overview.nodes.keys()
        if self.fourth is None and overview.status.pages:
            self.fourth = self.pool.submit(self.machines.start, 4)
        if not self.killed and overview.status.pages >= 10:
            self.killed = True
            self.machines.kill(3)


def play(folder: Path) -> dict[str, Any]:
    """Play it; return the facts."""
    with ThreadPoolExecutor(4) as pool, Loopback(folder) as machines:
        scenario = Scenario(machines, pool)
        machines.start(1)
        say("the head is up")
        list(pool.map(machines.start, (2, 3)))
        say("three machines are up")
        with serve(WORLD) as served, connected(machines.machines[1]) as actors:
            served.log()
            settings = CrawlSettings(
                scope="any", delay=DELAY, patience=1.0, agents=1, resolve=tuple(served.resolve()),
                depot=str(folder / "depot"),
            )  # fmt: skip
            job = job_of(served.world.seeds, settings, tablets=8, lease=4.0)
            summary = crawl(job, actors, scenario.look)
            expected, early = served.world.expected(served.world.seeds), early_visits(served.log(), DELAY)
            say(f"the crawl has ended: {summary.pages} pages")
            copies = jobs.duplicates(job.depot, DEDUPE, actors.run_tasks, quiet)
            say("its duplicates are found")
            jobs.export_to(folder / "export", job.depot, jobs.Export("jsonl", raw=True), actors.run_tasks, quiet)
            jobs.archive(folder / "archive", job.depot, jobs.Scan(COMMON), Coding(), actors.run_tasks, quiet)
            ranked = dict(jobs.ranks(job.depot, actors.run_tasks, 0.85, quiet))
            say("export, archive and ranks are made")
        if scenario.fourth is not None:
            scenario.fourth.result()
    facts = in_the_depot(folder, expected, copies, ranked)
    return facts | {
        "early": [(visit.host, visit.target, visit.started) for visit in early],
        "ended": summary.ended,
        "pages": summary.pages == facts["rows"],
        "backed_up": summary.backed_up,
        "nodes": sorted(scenario.nodes),
        "gone": sum("is gone" in what for what in scenario.events),
        "left": left_running(folder),
    }


def in_the_depot(folder: Path, expected: Expected, copies: methods.Named, ranked: dict[str, float]) -> dict[str, Any]:
    """What is stored, beside what should be; what the jobs made of it, beside what one machine makes."""
    depot = Depot.open(str(folder / "depot"))
    checked = check(depot)
    whole = folder / "whole" / "depot"  # the name of a store is in what is made of it
    whole.parent.mkdir()
    fetch(depot, whole)
    with Store.open(whole, "r") as store:
        rows = [row for row in store.scan(parts=()) if row.meta.status == 200 and not row.meta.error]
        stored, doubled = {row.url for row in rows}, sum(len(row.versions) > 1 for row in rows)
        same = methods.find(documents_of(store), DEDUPE)
        texts = [url for url, _ in documents_of(store)]
        sketched = [url for url in texts if (row := store.get(url)) is not None and SKETCH in row.columns]
        marked = {row.url for row in rows if row.meta.duplicate_of}
    families = [set(each["members"]) for each in same.cluster_rows()]
    return {
        "missing": sorted(expected.pages - stored),
        "forbidden": sorted(expected.disallowed & stored),
        "doubled": doubled,
        "rows": len(rows),
        "faults": checked.named,
        "jobs": differing(folder, whole, ranked),
        "copies": list(copies.pair_rows()) == list(same.pair_rows()) and len(copies.left) > 0,
        "sketched": (len(texts), len(sketched)),
        "families": (len(families), sum(len(family - marked) <= 1 for family in families)),
        "headless": [sorted(family) for family in families if family <= marked],
    }


def quiet(done: int) -> None:
    """Show nothing."""


def differing(folder: Path, whole: Path, ranked: dict[str, float]) -> list[str]:
    """What of export, archive and ranks made on many machines is not what one machine makes of the fetched store."""
    dataset, made = Dataset.of(None, raw=True), folder / "one"
    made.mkdir()
    with RowsStore.open(whole, "r") as store:
        rows = rows_of(dataset, store, store.derived())
        write_dataset(rows, list(dataset.columns), made / "rows.jsonl", "jsonl")
    build.build(Source(store=whole).pages(), made / "archive", COMMON, Coding())
    graph = Graph.open(made / "archive" / "graph")
    same = {
        "export": b"".join(path.read_bytes() for path in sorted((folder / "export").iterdir()))
        == (made / "rows.jsonl").read_bytes(),
        "archive": contents(folder / "archive") == contents(made / "archive"),
        "rank": ranked == dict(zip([url.decode() for url in graph.urls], pagerank(graph).tolist(), strict=True)),
    }
    return [what for what, is_same in same.items() if not is_same]


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def left_running(folder: Path) -> list[str]:
    """The processes that belong to a cluster in ``folder``, by their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                if str(folder).encode() in (entry / "environ").read_bytes():
                    found.append((entry / "cmdline").read_text().replace("\0", " "))
            except OSError:
                continue
    return found


if __name__ == "__main__":
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.TemporaryDirectory(prefix="f") as name:  # short: sockets lie in it
        tempfile.tempdir = os.environ["TMPDIR"] = name  # what a killed machine leaves goes with it
        facts = play(Path(name))
    sys.stdout.write(json.dumps(facts) + "\n")
