"""A crawl on the small internet of the tests, by its servers' logs: rates that politeness allows, and a minute's stop.

``python -m bench.internet [rates|shared|stop|tls]…`` (Linux, root: it makes a network namespace). A rate is counted
over the middle of a crawl, while every host has something to fetch; the possible one is one contact per gap and host,
or per gap and address where hosts share one, as if answers took no time. A contact is early if it comes less than the
gap after the one before (starts, by the server's clock, less 2 ms). ``stop`` stops the whole tree for a minute
(SIGSTOP), as a laptop is suspended, and looks at every gap afterwards. ``tls`` crawls 2,000 hosts as people do: names
to resolve, a handshake for each contact, answers after 100 ms, pages of 20 KB with 51 links; CPU is the crawler's,
the rate that of hosts which all keep the mean gap of all.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from collections import defaultdict
from itertools import pairwise
from typing import Any

from bench.measure import figure, stolen
from tests.crawl.internet.net import NXDOMAIN, Handler, Internet, Request, answer, run_inside, site

DELAY, ADDRESS_DELAY = 0.2, 0.2
CLOCK = 0.002


async def crawled(net: Internet, hosts: int, pages: int, addresses: int, agents: int) -> Any:
    """Crawl hosts spread over addresses; return the starts of contacts by host and by address."""
    names = [f"h{i}.example" for i in range(hosts)]
    for i, name in enumerate(names):
        net.host(name, f"93.184.{i % addresses // 250}.{i % addresses % 250 + 1}", site(pages))
    await net.open()
    words = ("--delay", str(DELAY), "--agents", str(agents), "--no-sitemaps")
    ended = await net.crawl(*(f"http://{name}/" for name in names), *words)
    assert not ended.status, ended.stderr
    by: dict[str, dict[str, list[float]]] = {"host": defaultdict(list), "address": defaultdict(list)}
    for request in net.log:
        by["host"][request.host].append(request.at)
        by["address"][request.address].append(request.at)
    return {**by, "missing": hosts * pages - len(net.pages())}


def rates(title: str, hosts: int, pages: int, addresses: int, agents: int = 1) -> None:
    """Print the share of the possible rate, and who came early."""
    found = run_inside(crawled, hosts=hosts, pages=pages, addresses=addresses, agents=agents)
    starts = sorted(at for times in found["host"].values() for at in times)
    low, high = len(starts) // 10, len(starts) * 8 // 10
    rate = (high - low) / (starts[high] - starts[low])
    possible = min(hosts / DELAY, addresses / ADDRESS_DELAY)
    early = 0
    for key, least in (("host", DELAY), ("address", ADDRESS_DELAY)):
        for times in found[key].values():
            early += sum(later - at < least - CLOCK for at, later in pairwise(sorted(times)))
    print(f"{title}: {rate:.2f} contacts a second, {rate / possible:.1%} of {possible:.0f}")
    print(f"    {early} of {len(starts):,} early, {found['missing']} pages missing")
    figure("rate, of what politeness allows", "share", rate / possible, size=title)
    figure("contacts that came early", "count", early, size=f"{len(starts):,} contacts")


async def stopped(net: Internet, seconds: float) -> Any:
    """Stop the whole tree in mid-crawl; return what is missing, what failed, and the longest gap afterwards."""
    hosts, pages = 5, 60
    for i in range(hosts):
        net.host(f"h{i}.example", f"93.184.4.{i + 1}", site(pages))
    await net.open()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "fyke", "crawl", *(f"http://h{i}.example/" for i in range(hosts)),
        *("--store", str(net.store), "--json", "--delay", str(DELAY), "--no-sitemaps", "--agents", "2"),
        stdout=asyncio.subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    while len(net.log) < hosts * pages // 3:
        await asyncio.sleep(0.05)
    os.killpg(process.pid, signal.SIGSTOP)
    await asyncio.sleep(seconds)
    os.killpg(process.pid, signal.SIGCONT)
    again = net.log[-1].at + seconds / 2
    out, _ = await process.communicate()
    gaps = []
    for i in range(hosts):
        times = sorted(r.at for r in net.log if r.host == f"h{i}.example" and r.at > again)
        gaps += [later - at for at, later in pairwise(times)]
    return {
        "missing": hosts * pages - len(net.pages()),
        "errors": json.loads(out.splitlines()[-1])["errors"],
        "gaps": gaps,
    }


def stop(seconds: float = 60.0) -> None:
    found = run_inside(stopped, seconds=seconds)
    gaps = sorted(found["gaps"])
    print(f"stopped for {seconds:.0f} s: {found['missing']} pages missing, failed rows: {found['errors']}")
    print(f"{len(gaps)} gaps afterwards: median {gaps[len(gaps) // 2]:.3f} s, longest {gaps[-1]:.3f} s")


TLS_HOSTS, TLS_DELAY, LATENCY = 2000, 20.0, 0.1


def many(pages: int) -> Handler:
    """Sites of ``pages`` pages each, all alike: 51 links, most to the pages of others."""
    chance = random.Random(0)
    words = ["".join(chance.choices("abcdefghijklmnoprstuvw", k=chance.randint(2, 11))) for _ in range(5000)]

    def handle(request: Request) -> Any:
        if request.target == "/robots.txt":
            return [LATENCY, answer("nothing", "404 Not Found")]
        own = random.Random(request.url)
        near = [f"/{i}" for i in range(1, pages)]
        far = [f"https://h{own.randrange(TLS_HOSTS)}.many.example/" for _ in range(51 - len(near))]
        links = "".join(f'<li><a href="{link}">{own.choice(words)}</a></li>' for link in near + far)
        text = "".join(f"<p>{' '.join(own.choices(words, k=60))}.</p>" for _ in range(36))
        title = f"{request.host} {request.target}"
        html = f"<html><head><title>{title}</title></head><body><ul>{links}</ul><main>{text}</main></body></html>"
        return [LATENCY, answer(html)]

    return handle


async def over_tls(net: Internet, pages: int) -> Any:
    """Crawl many hosts over TLS; return the crawler's CPU, its pages, and when it made its contacts."""
    net.names["*.many.example"] = NXDOMAIN  # one short certificate for all
    await net.open(ports=(), tls_ports=(443,))
    handler = many(pages)
    for i in range(TLS_HOSTS):
        net.host(f"h{i}.many.example", f"93.184.{i // 250}.{i % 250 + 1}", handler)
    seeds = net.folder / "seeds.txt"
    seeds.write_text("".join(f"https://h{i}.many.example/\n" for i in range(TLS_HOSTS)))
    words = ("--delay", str(TLS_DELAY), "--agents", "1", "--concurrency", "250", "--no-sitemaps", "--scope", "host")
    ended = await net.crawl(f"@{seeds}", *words)
    assert not ended.status, ended.stderr
    told = ended.summary
    log = [(each.host, each.at) for each in net.log]
    return {"cpu": told["cpu_seconds"], "pages": told["pages"], "told": told, "log": log}


def tls() -> None:
    less, more = (run_inside(over_tls, pages=pages) for pages in (1, 4))
    cost = (more["cpu"] - less["cpu"]) / (more["pages"] - less["pages"]) * 1000
    times: defaultdict[str, list[float]] = defaultdict(list)
    for host, at in more["log"]:
        times[host].append(at)
    gaps = sorted(after - before for each in times.values() for before, after in pairwise(sorted(each)))
    rate, possible = TLS_HOSTS * len(gaps) / sum(gaps), TLS_HOSTS / (TLS_DELAY + LATENCY)
    print(f"{TLS_HOSTS:,} hosts over TLS: {more['pages']:,} pages, {cost:.2f} CPU ms a further page")
    print(f"    {rate:.1f} contacts a second, {rate / possible:.1%} of {possible:.1f}; gaps of a host: median ", end="")
    print(f"{gaps[len(gaps) // 2]:.2f} s, shortest {gaps[0]:.2f}, longest {gaps[-1]:.2f}")
    if more["pages"] < 4 * TLS_HOSTS:
        print(f"    {4 * TLS_HOSTS - more['pages']} pages missing: {more['told']}")
    figure("a further page over TLS, 2,000 hosts, 100 ms", "CPU ms", cost, size=f"{more['pages']:,} pages")


def main(names: list[str]) -> None:
    for name in names or ["rates", "shared", "stop"]:
        before = stolen()
        if name == "rates":
            rates("50 hosts, each with an address", 50, 60, 50)
        elif name == "shared":
            rates("20 hosts on one address", 20, 15, 1)
        elif name == "stop":
            stop()
        elif name == "tls":
            tls()
        print(f"    others had {stolen() - before:.1f} CPU seconds of the machine meanwhile")


if __name__ == "__main__":
    main(sys.argv[1:])
