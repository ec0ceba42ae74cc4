"""Load on the small internet of the tests: slow connections, a host of a million URLs, a million hosts.

``python -m bench.load [slow|urls|hosts]… [--write]`` (Linux, root: it makes a network namespace). ``slow``: 2,000 hosts
whose pages drip a byte a second, half in the head, half in the body, and 50 hosts that are fine. ``urls``: pages of one
host that link to 20,000 new URLs each. ``hosts``: pages that link to 20,000 new hosts each, of a domain where every
name resolves, and whose pages link to ever new ones. Each crawl is a real ``fyke crawl`` by one agent; once all is
known it is stopped and resumed. Memory is anonymous (RssAnon) of all its processes. ``--write`` puts the tables into
docs/security.md.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import statistics
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from bench.hostile import tree
from bench.measure import table
from bench.memory import cpu
from bench.soak import PAGE, look
from tests.crawl.internet import net as internet
from tests.crawl.internet.net import Internet, Request, answer, page, run_inside, site

SLOW, FINE, FINE_PAGES, FINE_DELAY = 2000, 50, 120, 0.5
LINKS = 20_000
"""Of a page: as many as are followed."""
LONGEST = 720.0
"""Seconds after which a crawl is stopped that does not know all yet."""
WORDS = ("--agents", "1", "--no-sitemaps", "--json", "--quiet", "--yes")
Point = tuple[float, int, float, int]
"""Seconds since the start, how much is known, MB, descriptors."""


class Anyone(dict[str, Any]):
    """A table where every name below a domain has the same value."""

    def __init__(self, domain: str, value: Any, **others: Any) -> None:
        super().__init__(others)
        self._domain, self._value = domain, value

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key, self._value if key.endswith(self._domain) else default)


@contextlib.asynccontextmanager
async def watched(net: Internet, known: Callable[[], int], *words: str) -> AsyncIterator[tuple[Any, list[Point]]]:
    """A crawl that runs, and what it takes, looked at four times a second."""
    crawl = await net.start("crawl", *words, "--store", str(net.store), *WORDS)
    began, points = time.monotonic(), [(0.0, 0, 0.0, 0)]

    async def look_on() -> None:
        while True:
            now = time.monotonic() - began
            _, _, memory, descriptors, _, _ = look(tree(crawl.pid), now / 60, 0, net.folder / "nowhere")
            points.append((now, known(), memory, descriptors))
            await asyncio.sleep(0.25)

    looking = asyncio.create_task(look_on())
    try:
        yield crawl, points
    finally:
        looking.cancel()


def connections() -> int:
    """Connections of our web servers that are open."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(line[1].endswith(":0050") and line[3] == "01" for line in lines)


async def slow(net: Internet, hosts: int) -> Any:
    """Crawl hosts that are slow beside some that are fine; return what it took, and when fine ones were contacted."""
    dripping = [part for _ in range(600) for part in (1.0, b"x")]
    begun = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"

    def drip(request: Request) -> Any:
        if request.target == "/robots.txt":
            return answer("nothing", "404 Not Found")
        return [begun, *dripping] if request.host < "s5" else [begun + b"\r\n<p>", *dripping]

    for i in range(hosts):
        net.host(f"s{i}.example", f"93.184.{i // 250 + 1}.{i % 250 + 1}", drip)
    for i in range(FINE):
        net.host(f"f{i}.example", f"93.184.100.{i + 1}", site(FINE_PAGES))
    await net.open()
    seeds = net.folder / "seeds.txt"
    seeds.write_text("".join(f"http://{name}/\n" for name in net.names))
    words = [f"@{seeds}", "--concurrency", str(SLOW + 200), "--delay", str(FINE_DELAY)]
    words += ["--stall-timeout", "30s", "--max-time", "5m"]
    began = time.time()
    async with watched(net, connections, *words) as (crawl, points):
        out, err = await crawl.communicate()
    fine = [each.at for each in net.log if each.host.startswith("f")]
    told = json.loads(out.splitlines()[-1])
    return {"points": points, "fine": fine, "began": began, "told": told, "err": err.decode()[-500:]}


def run_slow() -> list[list[object]]:
    rows: list[list[object]] = []
    for hosts in (0, SLOW):
        found = run_inside(slow, hosts=hosts)
        points, told = found["points"], found["told"]
        crowded = [at for at, known, _, _ in points if known >= 0.95 * hosts] or [0.0]
        began = found["began"]
        middle = [at - began for at in found["fine"]]
        low, high = (crowded[0], crowded[-1]) if hosts else (middle[len(middle) // 10], middle[len(middle) * 8 // 10])
        high = min(high, middle[-1])
        rate = sum(low <= at <= high for at in middle) / (high - low)
        failed = [f"{why} × {count}" for why, count in told["errors"].items()]
        ended = "; ".join([told["ended"], *filter(None, [told["limit"]]), *failed])
        most = [max(column) for column in zip(*points, strict=True)]
        rows.append([hosts, most[1], most[0], most[2], most[3], rate, told["pages"], ended])
        print(*rows[-1], sep="\t", flush=True)
    return rows


async def known_much(net: Internet, pages: int, hosts: bool) -> Any:
    """Crawl pages that link to new URLs or hosts until all are known, stop, resume; return what each took."""

    def hub(request: Request) -> bytes:
        name = request.target.strip("/")
        if not name:
            return page("hub", [f"/{i}" for i in range(pages)])
        if not name.isdigit() or int(name) >= pages:
            return page(request.target)
        first = int(name) * LINKS
        return page(name, (f"http://h{i}.w.example/" if hosts else f"/leaf/{i}" for i in range(first, first + LINKS)))

    def wild(request: Request) -> bytes:
        if request.target == "/robots.txt":
            return answer("nothing", "404 Not Found")
        return page(request.host, [f"http://{request.host[:40].partition('.')[0]}-{i}.w.example/" for i in range(20)])

    net.names = Anyone(".w.example", "93.184.2.1", **{"hub.example": "93.184.1.1"})
    net.handlers = Anyone(".w.example", wild, **{"hub.example": hub})
    await net.open()

    def known() -> int:
        asked = {each.target for each in net.log if each.host == "hub.example"}
        return LINKS * sum(target[1:].isdigit() for target in asked)

    words = ("http://hub.example/", "--scope", "any", "--delay", "0", "--concurrency", "8")
    async with watched(net, known, *words) as (crawl, points):
        while known() < pages * LINKS and points[-1][0] < LONGEST and crawl.returncode is None:
            await asyncio.sleep(0.2)
        await asyncio.sleep(3.0)  # the last is written
        crawl.send_signal(signal.SIGINT)
        out, err = await crawl.communicate()
    disk = sum(file.stat().st_size for file in net.store.rglob("*") if file.is_file())
    before, began = len(net.log), time.monotonic()
    async with watched(net, lambda: len(net.log) - before, *words) as (again, resumed):
        while len(net.log) == before and again.returncode is None:
            await asyncio.sleep(0.05)
        first, used = time.monotonic() - began, sum(map(cpu, tree(again.pid)))
        await asyncio.sleep(5.0)
        again.send_signal(signal.SIGINT)
        await again.communicate()
    return {"points": points, "resumed": resumed, "first": first, "cpu": used, "disk": disk, "err": err.decode()[-500:],
            "told": json.loads(out.splitlines()[-1]), "fetched": before}  # fmt: skip


def run_known(what: str, pages: int) -> list[list[object]]:
    found = run_inside(known_much, pages=pages, hosts=what == "hosts")
    points = [each for each in found["points"] if each[1] and each[2]]
    rows: list[list[object]] = []
    for share in (0.1, 0.25, 0.5, 0.75, 1.0):  # memory moves by the second: the median of the last twentieth
        some = [p for p in points if 0.95 * share <= p[1] / (pages * LINKS) <= share]
        if some:
            second, known, memory, descriptors = (statistics.median_high(column) for column in zip(*some, strict=True))
            rows.append([f"{known:,}", second, memory, descriptors, "", "", ""])
    _, known, memory, descriptors = (max(column) for column in zip(*points, strict=True))
    known = max(known, found["told"]["hosts"])  # such as pages of new hosts told of beside
    rows.append([f"{known:,}, the most", "", memory, descriptors, found["disk"] / known, "", ""])
    _, _, memory, descriptors = (max(column) for column in zip(*found["resumed"], strict=True))
    rows.append([f"{known:,}, resumed", "", memory, descriptors, "", found["first"], found["cpu"]])
    for row in rows:
        print(*row, sep="\t", flush=True)
    print(found["told"], found["err"])
    return rows


_SLOW = "slow hosts|open at once|seconds|anonymous MB|descriptors|fine contacts a second|pages|ended"
_KNOWN = "known|second|anonymous MB|descriptors|bytes of disk each|seconds to the first fetch|CPU s of these"
HEADS = {"slow": _SLOW.split("|"), "urls": _KNOWN.split("|"), "hosts": _KNOWN.split("|")}


def write(title: str, rows: Sequence[Sequence[object]]) -> None:
    """Put a table between its marks in the page."""
    begin, end = f"<!-- load {title}: begin (python -m bench.load --write) -->", f"<!-- load {title}: end -->"
    before, _, rest = PAGE.read_text().partition(begin)
    PAGE.write_text(f"{before}{begin}\n{table(HEADS[title], rows)}\n{end}{rest.partition(end)[2]}")


def main() -> None:
    """Load; print or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="slow|urls|hosts")
    parser.add_argument("--pages", type=int, default=50, help=f"pages of {LINKS:,} links")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    internet.DEADLINE = 3600.0
    names = options.names or ["slow", "urls", "hosts"]
    for name in names:
        rows = run_slow() if name == "slow" else run_known(name, options.pages)
        if options.write:
            write(name, rows)


if __name__ == "__main__":
    main()
