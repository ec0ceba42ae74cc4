"""What many machines cost and give: several on loopback, in a network namespace of their own (`unshare`: root, Linux).

``python -m bench.cluster takeover [--megabytes 100] [--lease 10]``: three machines crawl a synthetic web into a depot
whose tablets hold so many megabytes each already; one is killed. By the web server's log: how long its hosts rested,
what was fetched twice, who was met early. By the truth of that web: what is missing, what is stored twice.

``python -m bench.cluster one [--few 500] [--many 2500]``: a cluster of one machine beside ``fyke crawl --depot``, two
agents each, on the site of ``bench.crawl_site``. What a page costs is the slope; Ray's own processes are told apart.

``python -m bench.cluster zombie [--lease 4]``: one of three machines is stopped (SIGSTOP of every process) until its
tablets are at work elsewhere, then wakes: by the server's log, who was met early.

``python -m bench.cluster rates``: requests a second with 1, 2 and 3 machines: where each may make only two (twelve at
a time, answers that take six seconds: what a busy machine is late by is little beside these), and where hosts bound it
(thirty, one contact each five seconds). ``--rate capped`` or ``bound``: one of them.

``python -m bench.cluster outage``: the depot cannot be had for a minute in mid-crawl. ``… disk``: the disk of one of
three machines is full. What is missing, doubled or early at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench import crawl_site
from bench.crawl import fyke_words, measure
from bench.measure import figure, table
from fyke.cluster.crawl import crawl, job_of
from fyke.cluster.head import Overview
from fyke.cluster.loopback import Loopback
from fyke.cluster.machine import connected
from fyke.crawl.run.settings import CrawlSettings
from fyke.crawl.run.summary import Summary
from fyke.store import Settings, Store
from fyke.store.depot import Depot
from fyke.store.fetching import check, fetch
from fyke.store.shipping import LOG_TTL, Shipping, prepare
from fyke.world.config import WorldConfig
from fyke.world.serve import serve
from fyke.world.transport import Visit, early_visits
from fyke.world.truth import Expected

TABLETS = 6
DELAY = 0.1
PLAIN = {"slow": False, "flaky": False, "traps": False, "redirects": False, "errors": False}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["takeover", "one", "zombie", "rates", "site", "outage", "disk"])
    parser.add_argument("--few", type=int, default=500)
    parser.add_argument("--many", type=int, default=2500)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--megabytes", type=int, default=100, help="in each tablet at the start")
    parser.add_argument("--lease", type=float, default=10.0)
    parser.add_argument("--rate", choices=["capped", "bound", "both"], default="both")
    parser.add_argument("--least", type=int, default=1, help="machines")
    parser.add_argument("--most", type=int, default=3)
    options = parser.parse_args()
    if options.what == "site":
        asyncio.run(site())
    if "FYKE_BENCH_INSIDE" not in os.environ:
        command = ["unshare", "--net", "--pid", "--mount-proc", "--fork", "--kill-child", sys.executable]
        done = subprocess.run(
            [*command, "-m", "bench.cluster", *sys.argv[1:]], check=False, env={**os.environ, "FYKE_BENCH_INSIDE": "1"}
        )
        sys.exit(done.returncode)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.TemporaryDirectory(prefix="f") as name:  # short: sockets lie in it
        if options.what == "rates":
            rates(Path(name), options.least, options.most, options.rate)
        elif options.what in ("outage", "disk"):
            tempfile.tempdir = os.environ["TMPDIR"] = name
            trouble(Path(name), full=options.what == "disk")
        elif options.what in ("takeover", "zombie"):
            tempfile.tempdir = os.environ["TMPDIR"] = name  # what a killed machine leaves goes with it
            takeover(Path(name), options.megabytes, options.lease, zombie=options.what == "zombie")
        else:
            one(Path(name), options.few, options.many, options.repeat)


# ---- take-over


class Watch:
    """Kills a machine once pages have come, or stops it for a while, and notes when what happened."""

    def __init__(self, machines: Loopback, victim: int, at: int, zombie: bool) -> None:
        self._machines, self._victim, self._at, self._zombie = machines, victim, at, zombie
        self._name, self._frozen = f"127.0.1.{victim}", list[int]()
        self.killed = self.gone = self.whole = self.woken = 0.0
        self.owners: dict[int, str] = {}
        self.took: dict[str, dict[str, float]] = {}

    def __call__(self, overview: Overview) -> None:
        for event in overview.events:
            print(f"  {event.when - (self.killed or event.when):6.1f} s  {event.what}", flush=True)
            if "is gone" in event.what:
                self.gone = event.when
        working = all(told["ready"] and told["agents"] for told in overview.nodes.values())
        if not self.killed and overview.status.pages >= self._at and working:
            self.owners = overview.owners
            if self._zombie:
                self._frozen = self._machines.processes(self._victim)
                self._machines.freeze(self._frozen, True)
            else:
                self._machines.kill(self._victim)
            self.killed = time.time()
            print(f"          ended at {overview.status.pages} pages", flush=True)
        elif self.gone and not self.whole and working and not overview.free and self._name not in overview.nodes:
            self.whole = time.time()
            self.took = {name: told["took"] for name, told in overview.nodes.items()}
            self.woken = time.time() + 1.0
        elif self._frozen and self.woken and time.time() > self.woken:
            print(f"  {time.time() - self.killed:6.1f} s  it wakes", flush=True)
            self._machines.freeze(self._frozen, False)
            self._frozen, self.woken = [], time.time()


def takeover(folder: Path, megabytes: int, lease: float, zombie: bool = False) -> None:
    """Kill one of three machines in mid-crawl, or let it hang for a while."""
    megabytes = 1 if zombie else megabytes
    depot = str(folder / "depot")
    fill(folder, depot, megabytes)
    with three_machines(folder) as machines:
        watch = Watch(machines, 3, 200, zombie)
        summary, visits, expected = crawled(folder, machines, 1500, lease, watch)
    judge(folder, watch, visits, expected.pages, megabytes)
    print(f"{summary.pages:,} pages, ended: {summary.ended}, backed up: {summary.backed_up}")


@contextlib.contextmanager
def three_machines(folder: Path) -> Iterator[Loopback]:
    with ThreadPoolExecutor(3) as pool, Loopback(folder) as machines:
        machines.start(1)
        list(pool.map(machines.start, (2, 3)))
        yield machines


def crawled(
    folder: Path, machines: Loopback, pages: int, lease: float, look: Callable[[Overview], None]
) -> tuple[Summary, list[Visit], Expected]:
    """Crawl a world of thirty hosts into ``folder / "depot"``: what came of it, the server's log, the truth."""
    world = WorldConfig(hosts=30, pages=pages, **PLAIN)
    with serve(world) as served, connected(machines.machines[1]) as actors:
        served.log()
        settings = CrawlSettings(
            scope="any", delay=DELAY, patience=1.0, agents=1, resolve=tuple(served.resolve()),
            depot=str(folder / "depot"),
        )  # fmt: skip
        summary = crawl(job_of(served.world.seeds, settings, tablets=TABLETS, lease=lease), actors, look)
        return summary, served.log(), served.world.expected(served.world.seeds)


def fill(folder: Path, depot: str, megabytes: int) -> None:
    """Make a depot of tablets that hold so many megabytes each."""
    store, chance = folder / "fill", random.Random(1)
    Store.open(store, settings=Settings(tablets=TABLETS)).close()
    with Store.open(store, log_ttl=LOG_TTL) as opened, Shipping(opened, prepare(store, depot)):
        for number in range(megabytes * TABLETS * 50):
            opened.put(f"http://filler-{number % 500}.test/{number}", raw=chance.randbytes(20_000))
    subprocess.run(["rm", "-r", str(store)], check=True)


def judge(folder: Path, watch: Watch, visits: list[Visit], expected: frozenset[str] | set[str], megabytes: int) -> None:
    """Print what the server and the depot tell."""
    stored, doubled, faults = contents(folder)
    with Store.open(folder / "store", "r") as store:
        lost = {v.host for v in visits if watch.owners.get(store.tablet_of(f"http://{v.host}/")) == "127.0.1.3"}
    missing = {url for url in expected if url.partition("://")[2] not in stored}
    after = {host: min((v.started for v in visits if v.host == host and v.started > watch.killed), default=0.0)
             for host in lost}  # fmt: skip
    first = sorted(when - watch.killed for when in after.values() if when)
    times = Counter((v.host, v.target) for v in visits if "robots.txt" not in v.target and v.status == 200)
    again = sum(count - 1 for (host, _), count in times.items() if count > 1 and host in lost)
    last = sum(watch.killed - 2.5 < v.ended <= watch.killed for v in visits if v.host in lost)
    early = early_visits(visits, DELAY)
    if watch.woken:
        print("early:", [f"{visit.host} {visit.started - watch.woken:+.2f} s after it woke" for visit in early])
        late = Counter(v.host for v in visits if v.host in lost and watch.woken <= v.started < watch.woken + 0.5)
        print(f"contacts of its hosts in the half second after it woke: {dict(late)}")
    rows_: list[list[object]] = [
        ["silence noticed", watch.gone - watch.killed],
        ["all its tablets at work elsewhere, by the registrar", watch.whole - watch.killed],
        ["first contact of a host of its", first[0] if first else "none"],
        ["half of its hosts", first[len(first) // 2] if first else "none"],
    ]
    print(table(["take-over", "s after the death"], rows_))
    print(f"steps: {watch.took}; {len(lost)} hosts, {again} pages fetched twice, {last} answers in its last 2.5 s")
    print(f"{len(missing)} of {len(expected)} missing, {doubled} stored twice, faults: {faults}, early: {len(early)}")
    figure("a dead machine's tablets at work elsewhere", "s", watch.whole - watch.killed, size=f"{megabytes} MB each")


# ---- a depot that is silent, a disk that is full


class Silence:
    """Takes the depot away for a minute once pages have come."""

    def __init__(self, depot: Path) -> None:
        self._depot, self._away = depot, depot.with_name("away")
        self.began = self.ended = 0.0

    def __call__(self, overview: Overview) -> None:
        for event in overview.events:
            print(f"  {event.what}", flush=True)
        if not self.began and overview.status.pages >= 150:
            self._depot.rename(self._away)
            self._depot.touch()  # a file: whoever looks into it is told that it is no folder
            self.began = time.time()
            print(f"  the depot is gone at {overview.status.pages} pages", flush=True)
        elif self.began and not self.ended and time.time() > self.began + 60:
            self._depot.unlink()
            self._away.rename(self._depot)
            self.ended = time.time()
            print(f"  the depot is back at {overview.status.pages} pages; behind: {overview.status.depot}", flush=True)


def trouble(folder: Path, full: bool) -> None:
    """Crawl on three machines, one of which has no room, or whose depot is silent for a minute."""
    if full:
        (folder / "machine-2").mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(folder / "machine-2")], check=True)
    watch = Silence(folder / "depot")
    if full:
        watch.began = watch.ended = 1.0
    with three_machines(folder) as machines:
        began = time.time()
        summary, visits, expected = crawled(folder, machines, 600, 4.0, watch)
    print(f"{summary.pages:,} pages in {time.time() - began:.0f} s, {summary.ended}, backed up: {summary.backed_up}")
    if full:
        subprocess.run(["umount", "-l", str(folder / "machine-2")], check=True)
    stored, doubled, faults = contents(folder)
    early = dict(Counter(visit.host for visit in early_visits(visits, DELAY)))
    missing = {url for url in expected.pages if url.partition("://")[2] not in stored}
    print(f"{len(missing)} of {len(expected.pages)} missing, {doubled} stored twice, faults: {faults}, early: {early}")


def contents(folder: Path) -> tuple[set[str], int, list[str]]:
    """The documents of the depot, how many are stored twice, and what is wrong with it."""
    depot = Depot.open(str(folder / "depot"))
    faults = check(depot).named
    fetch(depot, folder / "store")
    with Store.open(folder / "store", "r") as store:
        rows = [row for row in store.scan(parts=()) if row.meta.status == 200 and not row.meta.error]
        stored = {row.url.partition("://")[2].replace(":80/", "/") for row in rows}
        return stored, sum(len(row.versions) > 1 for row in rows), faults


# ---- rates

PORT = 28_181
CAPPED = (900, 3.0, 12, 6.0)
BOUND = (30, 5.0, 256, 0.0)
"""Hosts (one that took six seconds rests for a minute), the gap of each, visits of a machine, what an answer takes."""
RATES = {"capped": [CAPPED], "bound": [BOUND], "both": [CAPPED, BOUND]}
WARM, LOOK = 12, 40
"""Seconds until the rate is steady, and for which it is looked at."""


async def site() -> None:
    """Serve hosts 127.3.0.1 … on every address; each request is a line of time and host in the file ``site.log``."""
    folder = Path(os.environ["FYKE_BENCH_SITE"])
    with (folder / "site.log").open("w", buffering=1) as log:

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                while head := await reader.readuntil(b"\r\n\r\n"):
                    target, host = head.split(b" ", 2)[1].decode(), writer.get_extra_info("sockname")[0]
                    log.write(f"{time.time():.4f} {host} {target}\n")
                    if target == "/robots.txt":
                        writer.write(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")
                        continue
                    await asyncio.sleep(float((folder / "latency").read_text()))
                    number = int(target.strip("/"))
                    links = "".join(f"<a href=/{2 * number + more}>{more}</a> " for more in (1, 2))
                    body = f"<title>{host} {number}</title><p>{links}".encode()
                    kind = b"Content-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body)
                    writer.write(b"HTTP/1.1 200 OK\r\n" + kind + body)
            writer.close()

        server = await asyncio.start_server(talk, "0.0.0.0", PORT, backlog=1000)
        await server.serve_forever()


def rates(folder: Path, least: int, most: int, which: str) -> None:
    """The rate of so many machines."""
    found: list[list[object]] = []
    server = subprocess.Popen(
        [sys.executable, "-m", "bench.cluster", "site"], env={**os.environ, "FYKE_BENCH_SITE": str(folder)}
    )
    try:
        with Loopback(folder) as machines:
            for number in range(1, most + 1):
                machines.start(number)
                if number < least:
                    continue
                row: list[object] = [number]
                for hosts, delay, concurrency, latency in RATES[which]:
                    (folder / "latency").write_text(str(latency))
                    row.append(rate(folder, machines, hosts, delay, concurrency, latency or 0.001))
                found.append(row)
                print(row, flush=True)
    finally:
        server.terminate()
        server.wait()
    heads = {CAPPED: "twelve visits of six seconds each", BOUND: "thirty hosts, one contact each five seconds"}
    print(table(["machines", *(heads[each] for each in RATES[which])], found))


def rate(folder: Path, machines: Loopback, hosts: int, delay: float, concurrency: int, lasts: float) -> float:
    """Requests a second of all machines, by the server's log: in bursts, so each counts for as much as it ``lasts``."""
    begun: list[float] = []
    ended: list[float] = []
    depot = folder / f"depot-{time.time()}"
    with connected(machines.machines[1]) as actors:

        def look(overview: Overview) -> None:
            ready = [told["ready"] and told["agents"] for told in overview.nodes.values()]
            if not begun and len(ready) == len(machines.machines) and not overview.free and all(ready):
                begun.append(time.time() + WARM)
            elif begun and not ended and time.time() > begun[0] + LOOK:
                ended.append(time.time())
                actors.call(actors.find_head().stop)

        settings = CrawlSettings(
            scope="any", delay=delay, patience=5.0, agents=1, allow_private=True, concurrency=concurrency,
            depot=str(depot), sitemaps=False, no_robots=True,
        )  # fmt: skip
        seeds = [f"http://127.3.{number // 250}.{number % 250 + 1}:{PORT}/0" for number in range(hosts)]
        crawl(job_of(seeds, settings, tablets=48, lease=4.0), actors, look)
    times = [float(line.split()[0]) for line in (folder / "site.log").read_text().splitlines() if "robots" not in line]
    parts = [max(0.0, min(when + lasts, ended[0]) - max(when, begun[0])) / lasts for when in times]
    return round(sum(parts) / (ended[0] - begun[0]), 2)


# ---- a cluster of one


def one(folder: Path, few: int, many: int, repeat: int) -> None:
    """The same crawls by ``fyke crawl --depot`` and by a cluster of one machine, in turns."""
    spent: dict[int, list[tuple[float, float, float]]] = {few: [], many: []}
    for pages in [few, many] * repeat:
        with crawl_site.serve(pages):
            words = [*fyke_words(folder / "store", 2), "--depot", str(folder / "depot")]
            alone = measure("fyke", words, folder, pages, 900)
            nodes, ray = cluster_of_one(folder, pages)
        spent[pages].append((alone.cpu, nodes, ray))
        print(f"{pages} pages: {alone.cpu:.1f} CPU-s alone; {nodes:.1f} as a node, {ray:.1f} of Ray's", flush=True)
        for made in ("store", "depot", "depot-1"):
            subprocess.run(["rm", "-rf", str(folder / made)], check=True)
    least = {pages: [min(each[place] for each in spent[pages]) for place in range(3)] for pages in spent}
    rows = []
    for place, what in enumerate(("fyke crawl --depot", "a cluster of one: node and agents", "Ray, head, caller")):
        slope = (least[many][place] - least[few][place]) / (many - few)
        rows.append([what, least[few][place], least[many][place], 1e3 * slope])
    print(table(["CPU-s", f"{few:,} pages", f"{many:,} pages", "ms a page, by the slope"], rows))
    figure("a page of a cluster of one", "ms CPU", rows[1][3], {"fyke crawl --depot": rows[0][3]}, size=f"{many} pages")


def cluster_of_one(folder: Path, pages: int) -> tuple[float, float]:
    """CPU-seconds of the node with its agents, and of everything else on the machine."""
    with Loopback(folder) as machines:
        machines.start(1)
        with connected(machines.machines[1]) as actors:
            settings = CrawlSettings(
                scope="any", delay=0.0, patience=10.0, agents=2, allow_private=True, depot=str(folder / "depot-1")
            )
            before = time.process_time()
            summary = crawl(job_of([crawl_site.url(0)], settings, tablets=16), actors)
            caller = time.process_time() - before
            assert summary.pages == pages, summary
            return summary.cpu_seconds, caller + sum(map(cpu_beside, machines.processes(1)))


def cpu_beside(process: int) -> float:
    """CPU-seconds of a process that is neither the node, which may have ended already, nor a child of its."""
    try:
        told = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        command = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return 0.0
    return 0.0 if b"RayNode" in command else sum(map(int, told[11:13])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
