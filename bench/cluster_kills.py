"""kill -9 of single processes of a cluster in mid-crawl: three machines on loopback, in a network namespace.

``python -m bench.cluster_kills [agents crawler node raylet caller]`` (root, Linux). Killed is, of the third machine:
each of the agents' processes and the index's, one after another (``agents``); the process from which they are forked
(``crawler``); the actor (``node``); Ray's own (``raylet``). ``caller``: whoever crawls, and with it the head; the same
command goes on. By the truth of a synthetic web and its server's log: what is missing, stored twice, met early.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.cluster import DELAY, PLAIN, TABLETS, contents
from bench.measure import table
from fyke.cluster.crawl import crawl, job_of
from fyke.cluster.head import Overview
from fyke.cluster.loopback import Loopback
from fyke.cluster.machine import connected, descendants
from fyke.crawl.run.settings import CrawlSettings
from fyke.world.config import WorldConfig
from fyke.world.serve import Served, serve
from fyke.world.transport import Visit, early_visits

KINDS = ("agents", "crawler", "node", "caller", "raylet")
"""In this order: what a machine does not survive comes last."""
WORLD = WorldConfig(hosts=30, pages=400, **PLAIN)
AT = 60
"""Pages after which something is killed."""
BETWEEN = 4.0
"""Seconds between the agents' processes."""


def main() -> None:
    kinds = [kind for kind in KINDS if kind in (sys.argv[1:] or KINDS)]
    if "FYKE_BENCH_INSIDE" not in os.environ:
        command = ["unshare", "--net", "--pid", "--mount-proc", "--fork", "--kill-child", sys.executable]
        inside = {**os.environ, "FYKE_BENCH_INSIDE": "1"}
        sys.exit(subprocess.run([*command, "-m", "bench.cluster_kills", *kinds], check=False, env=inside).returncode)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.TemporaryDirectory(prefix="f") as name:  # short: sockets lie in it
        tempfile.tempdir = os.environ["TMPDIR"] = name
        folder = Path(name)
        with ThreadPoolExecutor(3) as pool, Loopback(folder) as machines:
            machines.start(1)
            list(pool.map(machines.start, (2, 3)))
            rows = [[kind, *play(folder / kind, machines, kind)] for kind in kinds]
    print(table(["killed", "processes", "pages", "missing", "stored twice", "faults", "hosts early", "s"], rows))


def play(folder: Path, machines: Loopback, kind: str) -> list[object]:
    """Crawl, kill, and look."""
    folder.mkdir()
    began, kills, before = time.time(), Kills(machines, kind), list[Visit]()
    with serve(WORLD) as served:
        served.log()
        settings = CrawlSettings(
            scope="any", delay=DELAY, patience=1.0, agents=1, resolve=tuple(served.resolve()),
            depot=str(folder / "depot"),
        )  # fmt: skip
        if kind == "caller":
            before = begin_and_kill(served, machines, settings)
            kills.killed = 1
        with connected(machines.machines[1]) as actors:
            job = job_of(served.world.seeds, settings, tablets=TABLETS, lease=4.0)
            summary = crawl(job, actors, kills.look)
        visits, expected = before + served.log(), served.world.expected(served.world.seeds)
    stored, doubled, faults = contents(folder)
    missing = {url for url in expected.pages if url.partition("://")[2] not in stored}
    early = len({visit.host for visit in early_visits(visits, DELAY)})
    found: list[object] = [
        kills.killed,
        len(expected.pages),
        len(missing),
        doubled,
        faults or 0,
        early,
        time.time() - began,
    ]
    print(f"{kind}: {summary.ended}, {found}", flush=True)
    return found


class Kills:
    """Kills what is to be killed, once pages have come."""

    def __init__(self, machines: Loopback, kind: str) -> None:
        self._machines, self._kind = machines, kind
        self._left: list[int] | None = [] if kind == "caller" else None
        self._next = 0.0
        self.killed = 0

    def look(self, overview: Overview) -> None:
        """See how the crawl goes."""
        for event in overview.events:
            print(f"  {event.what}", flush=True)
        if self._left is None and overview.status.pages >= AT and len(overview.nodes) == 3:
            self._left = of_kind(self._machines, self._kind)
            print(f"  {self._kind}: {self._left} at {overview.status.pages} pages", flush=True)
        if self._left and time.time() > self._next:
            os.kill(self._left.pop(), signal.SIGKILL)
            self.killed += 1
            self._next = time.time() + BETWEEN


def of_kind(machines: Loopback, kind: str) -> list[int]:
    """The processes of the third machine that are meant."""
    words = {process: words_of(process) for process in machines.processes(3)}
    if kind == "raylet":
        return [process for process, said in words.items() if said.split("\0")[0].endswith("raylet/raylet")]
    spawned = [process for process, said in words.items() if "spawn_main" in said]
    agents = {child for process in spawned for child in descendants(process)}
    if kind in ("agents", "crawler"):
        return [process for process in spawned if (process in agents) == (kind == "agents")]
    return [process for process, said in words.items() if said.startswith("ray::") and "Node" in said]


def words_of(process: int) -> str:
    """The command line of a process."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def begin_and_kill(served: Served, machines: Loopback, settings: CrawlSettings) -> list[Visit]:
    """Have another process crawl, and kill it when pages have come; return what it met when its agents have ended."""
    words = ["--depot", settings.depot, "--folder", machines.machines[1].folder, "--tablets", str(TABLETS)]
    words += ["--scope", "any", "--delay", str(DELAY), "--agents", "1"]
    words += [word for pair in settings.resolve for word in ("--resolve", pair)]
    command = [sys.executable, "-m", "fyke", "cluster", "crawl", *served.world.seeds, *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as caller:
        seen: list[Visit] = []
        while len(seen) < AT and caller.poll() is None:
            seen += served.log()
            time.sleep(0.5)
        caller.kill()
    while any("spawn_main" in words_of(process) for place in (1, 2, 3) for process in machines.processes(place)):
        time.sleep(0.5)
    return seen + served.log()


if __name__ == "__main__":
    main()
