"""What a crawl must not lose on a real network: every fault of the first round has its scenario."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from itertools import pairwise
from typing import Any

from tests.crawl.internet.net import SILENT, Internet, Request, answer, page, run_inside, site

QUICK = ("--delay", "0.05", "--agents", "1")


def test_an_odd_byte_in_an_etag_does_not_end_a_crawl() -> None:
    found = run_inside(odd_etag)
    assert found["status"] == 0, found
    assert found["visits"] >= 2, "the page is asked again, without the validator that cannot be sent"


async def odd_etag(net: Internet) -> Any:
    def handle(request: Request) -> bytes:
        if request.target == "/robots.txt":
            return answer("", "404 Not Found")
        words = page("home").partition(b"\r\n\r\n")[2]
        return answer(words, "200 OK", 'ETag: "caf\xe9"').replace('"café"'.encode(), b'"caf\xe9"')

    net.host("odd.example", "93.184.1.1", handle)
    await net.open()
    process = await net.start(
        "crawl", "http://odd.example/", "--store", str(net.store), "--continuous", "--request-rate", "20", *QUICK
    )
    async with asyncio.timeout(700):
        while sum(each.target == "/" for each in net.log) < 4 and process.returncode is None:
            await asyncio.sleep(0.05)
    if process.returncode is None:
        process.terminate()
    _, err = await process.communicate()
    visits = sum(each.target == "/" for each in net.log)
    return {"status": process.returncode, "visits": visits, "stderr": err.decode()[-2000:]}


def test_hosts_on_one_address_are_all_crawled() -> None:
    found = run_inside(shared_address, hosts=6, pages=4)
    assert found["missing"] == []
    assert found["gap_of_hosts"] >= 0.3
    # Of single contacts a server on a busy machine learns late, and then of two at once; of most it does not.
    assert found["gaps_of_address"][len(found["gaps_of_address"]) // 2] >= 0.15
    assert sum(found["gaps_of_address"]) >= 0.18 * len(found["gaps_of_address"])


async def shared_address(net: Internet, hosts: int, pages: int) -> Any:
    names = [f"h{i}.example" for i in range(hosts)]
    for name in names:
        net.host(name, "93.184.1.1", site(pages))
    await net.open()
    await net.crawl(*(f"http://{name}/" for name in names), "--delay", "0.3", "--agents", "1", "--no-sitemaps")
    wanted = {f"http://{name}/{i or ''}" for name in names for i in range(pages)}
    return {
        "missing": sorted(wanted - net.pages()),
        "gap_of_hosts": net.gaps(lambda r: r.host),
        "gaps_of_address": sorted(after - before for before, after in pairwise(sorted(each.at for each in net.log))),
    }


def test_a_dead_https_closes_no_http_site() -> None:
    found = run_inside(dead_https)
    assert found["missing"] == []
    assert found["told"] == "connect"


async def dead_https(net: Internet) -> Any:
    net.host("mixed.example", "93.184.1.2", site(12, ["https://mixed.example/secure", "http://mixed.example:8080/x"]))
    await net.open()
    await net.crawl("http://mixed.example/", *QUICK, "--no-sitemaps")
    wanted = {f"http://mixed.example/{i or ''}" for i in range(12)}
    return {"missing": sorted(wanted - net.pages()), "told": net.rows().get("https://mixed.example/secure")}


def test_an_outage_of_the_name_server_loses_nothing() -> None:
    found = run_inside(outage)
    assert found["missing"] == [], found
    assert found["errors"] == {}
    assert "outage" in found["said"]


async def outage(net: Internet) -> Any:
    """Eight hosts; in the middle of the crawl names are no longer answered and servers are silent, then all is back."""
    names = [f"h{i}.example" for i in range(8)]
    down = [False]

    def resolve(address: str) -> Any:
        return lambda: SILENT if down[0] else address

    def handle(request: Request) -> Any:
        return [60.0] if down[0] else site(6, [f"http://{name}/" for name in names])(request)

    for i, name in enumerate(names):
        net.host(name, resolve(f"93.184.2.{i}"), handle)
    net.ttl = 1
    await net.open()
    words = ("--delay", "0.5", "--agents", "1", "--no-sitemaps", "--connect-timeout", "1", "--stall-timeout", "2")
    process = await net.start(
        "crawl", "http://h0.example/", "--scope", "any", "--store", str(net.store), "--json", *words
    )
    said = ""
    async with asyncio.timeout(700):
        while len(net.log) < 12:
            await asyncio.sleep(0.05)
        down[0] = True
        while "outage" not in said and process.returncode is None:
            await asyncio.sleep(0.2)
            said = json.dumps(status_of(net))
        down[0] = False
        out, _ = await process.communicate()
    wanted = {f"http://{name}/{i or ''}" for name in names for i in range(6)}
    summary = json.loads(out.splitlines()[-1])
    return {"missing": sorted(wanted - net.pages()), "errors": summary["errors"], "said": said}


def status_of(net: Internet) -> Any:
    from fyke.crawl.run import status

    return [report.waiting for report in status.read(net.store)] if net.store.exists() else []


def test_what_a_server_asks_decides_when_it_is_asked_again() -> None:
    found = run_inside(retry_after)
    assert found["missing"] == []
    assert 2.9 <= found["waited"] < 25, "three seconds, not the thirty of our own"


async def retry_after(net: Internet) -> Any:
    seen: dict[str, int] = {}

    def handle(request: Request) -> bytes:
        seen[request.target] = seen.get(request.target, 0) + 1
        if request.target == "/robots.txt":
            return answer("", "404 Not Found")
        if seen[request.target] < 3:
            return answer("", "503 Busy", "Retry-After: 3")
        return page("home")

    net.host("busy.example", "93.184.1.3", handle)
    await net.open()
    await net.crawl("http://busy.example/", *QUICK, "--no-sitemaps")
    times = [each.at for each in net.log if each.target == "/"]
    return {"missing": sorted({"http://busy.example/"} - net.pages()), "waited": times[1] - times[0]}


def test_one_silent_url_holds_up_nobody() -> None:
    found = run_inside(silent_url)
    assert found["missing"] == []
    asked = found["asked"]
    assert asked.count("/1") > 1
    first, last = asked.index("/1"), len(asked) - 1 - asked[::-1].index("/1")
    # On a machine so busy that the crawl itself was away, a fetch that died meanwhile is made again at once.
    assert set(asked[first:last]) > {"/1"}, "its host goes on between two tries"


async def silent_url(net: Internet) -> Any:
    pages = site(10)

    def handle(request: Request) -> Any:
        return [100.0] if request.target == "/1" else pages(request)

    net.host("one.example", "93.184.1.4", handle)
    await net.open()
    await net.crawl("http://one.example/", *QUICK, "--no-sitemaps", "--stall-timeout", "3", "--patience", "5")
    wanted = {f"http://one.example/{i or ''}" for i in range(10) if i != 1}
    return {"missing": sorted(wanted - net.pages()), "asked": [each.target for each in net.log]}


def test_links_to_closed_ports_hold_up_nobody() -> None:
    found = run_inside(closed_ports)
    assert found["missing"] == []
    assert found["bad"] == [], "ports of other protocols are never contacted"


async def closed_ports(net: Internet) -> Any:
    ports = [f"http://victim.example:{port}/" for port in (8081, 8082, 8083, 25, 22, 6667)]
    net.host("bad.example", "93.184.1.5", site(2, [*ports, "http://victim.example/"]))
    net.host("victim.example", "93.184.1.6", site(8))
    await net.open(ports=(80, 25))
    await net.crawl("http://bad.example/", *QUICK, "--no-sitemaps", "--scope", "any", "--patience", "3")
    wanted = {f"http://victim.example/{i or ''}" for i in range(8)}
    return {
        "missing": sorted(wanted - net.pages()),
        "bad": [each.url for each in net.log if each.port == 25],
    }


def test_a_seed_that_moves_is_followed() -> None:
    found = run_inside(moved_seed)
    assert found["missing"] == []
    assert found["resumed"] == [], "what a seed led to is remembered"


async def moved_seed(net: Internet) -> Any:
    """By one agent at once; by two, of which each has one of the hosts, and a resume by one."""
    net.host(
        "example.com", "93.184.1.7", lambda r: answer("", "301 Moved", f"Location: https://www.example.com{r.target}")
    )
    net.host("www.example.com", "93.184.1.8", site(8))
    await net.open(tls_ports=(443,))
    wanted = {f"https://www.example.com/{i or ''}" for i in range(8)}
    words = ("--delay", "0.05", "--no-sitemaps")
    await net.crawl("http://example.com/", *words, "--agents", "1")
    missing = sorted(wanted - net.pages())
    shutil.rmtree(net.store)
    await net.crawl("http://example.com/", *words, "--agents", "2", "--max-pages", "3")
    await net.crawl("http://example.com/", *words, "--agents", "1")
    return {"missing": missing, "resumed": sorted(wanted - net.pages())}


def test_a_limit_counts_documents_exactly() -> None:
    for agents in (1, 2):
        found = run_inside(limited, agents=agents)
        assert found["pages"] == found["stored"] == 15, agents
        assert found["status"] == 0


async def limited(net: Internet, agents: int) -> Any:
    dead = [f"/dead{i}" for i in range(20)]
    for i in range(4):
        net.host(f"h{i}.example", f"93.184.3.{i}", site(10, [*dead, f"http://h{(i + 1) % 4}.example/"]))
    await net.open()
    words = ("--delay", "0.05", "--agents", str(agents), "--no-sitemaps", "--scope", "any", "--max-pages", "15")
    crawl = await net.crawl("http://h0.example/", *words)
    return {"pages": crawl.summary["pages"], "stored": len(net.pages()), "status": crawl.status}


def test_time_that_we_lost_ourselves_loses_no_page() -> None:
    found = run_inside(stopped)
    assert found["missing"] == []
    assert found["errors"] == {}


async def stopped(net: Internet) -> Any:
    """The whole tree is stopped in mid-crawl, as a laptop is suspended; connections die meanwhile."""
    handler = site(30)
    for i in range(3):
        net.host(f"h{i}.example", f"93.184.4.{i}", handler)
    await net.open()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "fyke", "crawl", *(f"http://h{i}.example/" for i in range(3)),
        *("--store", str(net.store), "--json", "--delay", "0.2", "--no-sitemaps", "--agents", "2"),
        *("--stall-timeout", "3", "--connect-timeout", "2", "--fetch-timeout", "4"),
        stdout=asyncio.subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    async with asyncio.timeout(700):
        while len(net.log) < 20:
            await asyncio.sleep(0.05)
        os.killpg(process.pid, signal.SIGSTOP)
        await asyncio.sleep(8)
        os.killpg(process.pid, signal.SIGCONT)
        out, _ = await process.communicate()
    wanted = {f"http://h{i}.example/{j or ''}" for i in range(3) for j in range(30)}
    return {"missing": sorted(wanted - net.pages()), "errors": json.loads(out.splitlines()[-1])["errors"]}


def test_a_page_that_moved_for_now_is_asked_for_again() -> None:
    found = run_inside(moved_for_now)
    assert found["row"] == "200", "the copy that we hold stays"
    assert found["visits"] >= 3


async def moved_for_now(net: Internet) -> Any:
    """A continuous crawl meets a redirect to a login, once."""
    visits = [0]

    def handle(request: Request) -> bytes:
        if request.target == "/robots.txt":
            return answer("", "404 Not Found")
        if request.target == "/":
            visits[0] += 1
            return answer("", "302 Found", "Location: /login") if visits[0] == 2 else page(f"home {visits[0]}")
        return page("log in")

    net.host("login.example", "93.184.1.9", handle)
    await net.open()
    words = ("--store", str(net.store), "--continuous", "--request-rate", "20", "--no-sitemaps", *QUICK)
    process = await net.start("crawl", "http://login.example/", *words)
    async with asyncio.timeout(700):
        while visits[0] < 3 and process.returncode is None:
            await asyncio.sleep(0.05)
    process.terminate()
    await process.communicate()
    return {"row": net.rows().get("http://login.example/"), "visits": visits[0]}
