"""How a crawl ends: its exit status, what it says of seeds, and that nothing but the user ends it early."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from fyke.cli import run as fyke_command
from tests.crawl.internet.net import NXDOMAIN, RESET, Internet, Request, answer, page, run_inside, site

QUICK = ("--delay", "0.05", "--agents", "1", "--no-sitemaps")


def test_every_dead_seed_has_its_reason() -> None:
    found = run_inside(dead_seeds)
    assert found["status"] == 1, "no seed could be had"
    reasons = found["failed"]
    assert reasons["http://nobody.example/"].startswith("dns")
    assert reasons["http://refused.example/"].startswith("connect")
    assert found["mixed_status"] == 0, "one seed could be had"
    assert list(found["mixed_failed"]) == ["http://nobody.example/"]


async def dead_seeds(net: Internet) -> Any:
    net.names["nobody.example"] = NXDOMAIN
    net.names["refused.example"] = "93.184.5.1"
    net.host("fine.example", "93.184.5.2", site(2))
    await net.open(ports=(8080,))
    dead = await net.crawl("http://nobody.example/", "http://refused.example/", *QUICK)
    net.handlers["fine.example"] = site(2)
    mixed = await net.crawl("http://fine.example:8080/", "http://nobody.example/", *QUICK)
    return {
        "status": dead.status,
        "failed": dead.summary["failed_seeds"],
        "mixed_status": mixed.status,
        "mixed_failed": {k: v for k, v in mixed.summary["failed_seeds"].items() if "refused" not in k},
    }


@pytest.mark.parametrize("seed", ["ftp://example.org/", "file:///etc/passwd", "http://example.org:25/"])
def test_what_is_no_seed_is_refused_at_once(seed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fyke_command(["crawl", seed, "--store", str(tmp_path / "s")]) == 2
    assert seed in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


def test_lines_that_are_no_url_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("# a comment\n\nnot a url\nftp://example.org/\n")
    assert fyke_command(["crawl", f"@{seeds}", "--store", str(tmp_path / "s")]) == 2
    told = capsys.readouterr().err
    assert "line 3" in told
    assert "line 4" in told


def test_a_crawl_stopped_while_starting_is_a_crawl() -> None:
    found = run_inside(stopped_while_starting)
    assert found["told"][0] == 0, found
    assert found["missing"] == []


async def stopped_while_starting(net: Internet) -> Any:
    net.host("fine.example", "93.184.5.2", site(4))
    await net.open()
    process = await net.start("crawl", "http://fine.example/", "--store", str(net.store), *QUICK)
    async with asyncio.timeout(700):
        while not (net.store / "crawl.json").exists():
            await asyncio.sleep(0.001)
    process.kill()
    await process.communicate()
    told = await net.fyke("status", "--store", str(net.store))
    await net.fyke("resume", "--store", str(net.store))
    return {"told": told, "missing": sorted({f"http://fine.example/{i or ''}" for i in range(4)} - net.pages())}


def test_an_agent_that_died_ends_no_crawl_and_the_crawl_ends() -> None:
    found = run_inside(dead_agent)
    assert found["missing"] == []
    assert found["status"] == 0


async def dead_agent(net: Internet) -> Any:
    """One agent of three is killed; hosts link to one another, so letters are under way all the time."""
    names = [f"h{i}.example" for i in range(12)]
    for i, name in enumerate(names):
        net.host(name, f"93.184.6.{i}", site(6, [f"http://{other}/" for other in names]))
    await net.open()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "fyke", "crawl", "http://h0.example/", "--scope", "any",
        *("--store", str(net.store), "--json", "--delay", "0.3", "--no-sitemaps", "--agents", "3"),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(700):
        while len(net.log) < 40:
            await asyncio.sleep(0.05)
        reports = [json.loads(path.read_bytes()) for path in (net.store / "status").glob("agent-1.json")]
        os.kill(reports[0]["process"], signal.SIGKILL)
        await process.communicate()
    wanted = {f"http://{name}/{i or ''}" for name in names for i in range(6)}
    return {"missing": sorted(wanted - net.pages()), "status": process.returncode}


def test_servers_that_lie_cost_their_own_page_alone() -> None:
    found = run_inside(lying)
    assert found["missing"] == []
    assert all(found["told"].values()), found["told"]


async def lying(net: Internet) -> Any:
    """On each host /1 misbehaves in another way, for good; all other pages are fine."""
    pages, body = site(6), page("one")
    replies: dict[str, Any] = {
        "cut": [body.replace(b"Content-Length: ", b"Content-Length: 9")[:-40]],
        "reset": [body[:60], RESET],
        "stall": [body[:60], 30.0],
        "silent": [30.0],
        "lie": [body.replace(b"Content-Length: ", b"Content-Length: -")],
        "head": [b"HTTP/1.1 200 OK\r\nContent-Ty"],
        "late": [b"HTTP/1.1 200 OK\r\n\r\n"] + [b"x", 0.2] * 60,
        "other": [answer("", "304 Not Modified")],
        "nothing": [b""],
    }

    def handle(request: Request) -> Any:
        return replies[request.host.split(".")[0]] if request.target == "/1" else pages(request)

    for i, name in enumerate(replies):
        net.host(f"{name}.example", f"93.184.7.{i}", handle)
    await net.open()
    seeds = [f"http://{name}.example/" for name in replies]
    await net.crawl(*seeds, *QUICK, "--stall-timeout", "2", "--fetch-timeout", "4", "--patience", "45")
    wanted = {f"{seed}{i or ''}" for seed in seeds for i in range(6) if i != 1}
    rows = net.rows()
    return {"missing": sorted(wanted - net.pages()), "told": {seed: rows.get(f"{seed}1") for seed in seeds}}


def test_a_second_family_is_used_where_the_first_is_broken() -> None:
    found = run_inside(two_families)
    assert found["missing"] == []
    assert found["addresses"] == ["2606:2800::7"]


async def two_families(net: Internet) -> Any:
    """IPv4 leads nowhere (nobody is routed there), IPv6 works."""
    net.host("both.example", ["93.185.0.7", "2606:2800::7"], site(4))
    await net.open()
    await net.crawl("http://both.example/", *QUICK, "--connect-timeout", "2")
    wanted = {f"http://both.example/{i or ''}" for i in range(4)}
    return {"missing": sorted(wanted - net.pages()), "addresses": sorted({each.address for each in net.log})}


def test_a_page_that_cannot_be_read_ends_nothing(tmp_path: Path) -> None:
    found = run_inside(unreadable)
    assert found["missing"] == []
    assert found["told"] == "unreadable"
    assert found["status"] == 0


async def unreadable(net: Internet) -> Any:
    """A fault of ours: reading one page raises."""
    net.host("fine.example", "93.184.5.2", site(6))
    await net.open()
    script = faulty(net, "raise ZeroDivisionError('a fault of ours')")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(script), "crawl", "http://fine.example/", "--store", str(net.store), *QUICK)
    )
    await process.wait()
    wanted = {f"http://fine.example/{i or ''}" for i in range(6) if i != 1}
    told = net.rows().get("http://fine.example/1")
    return {"missing": sorted(wanted - net.pages()), "told": told, "status": process.returncode}


def faulty(net: Internet, deed: str) -> Path:
    """fyke as a script, whose reading of the page ``/1`` does ``deed``."""
    script = net.folder / "faulty.py"
    script.write_text(
        "import os, signal, sys\n"
        "from fyke.reading.reading import Reader\n"
        "read = Reader.pages\n"
        "def pages(self, given, kinds):\n"
        "    if any(url.path == '/1' for _, _, url in given):\n"
        f"        {deed}\n"
        "    return read(self, given, kinds)\n"
        "Reader.pages = pages\n"
        "from fyke.cli import main\n"
        "main(sys.argv[1:])\n"
    )
    return script


def test_a_page_that_kills_the_process_twice_is_not_met_again() -> None:
    found = run_inside(deadly)
    assert found["statuses"] == [-signal.SIGKILL, -signal.SIGKILL, 0]
    assert found["missing"] == []
    assert found["told"] == "quarantined"


async def deadly(net: Internet) -> Any:
    """Reading one page ends the process, as a fault of a native library would. One agent."""
    net.host("fine.example", "93.184.5.2", site(6))
    await net.open()
    script = faulty(net, "os.kill(os.getpid(), signal.SIGKILL)")
    statuses = []
    for _ in range(3):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(script), "crawl", "http://fine.example/", "--store", str(net.store), *QUICK)
        )
        statuses.append(await process.wait())
    wanted = {f"http://fine.example/{i or ''}" for i in range(6) if i != 1}
    told = net.rows().get("http://fine.example/1")
    return {"missing": sorted(wanted - net.pages()), "told": told, "statuses": statuses}


def test_without_a_network_a_crawl_ends_and_says_why() -> None:
    found = run_inside(no_network)
    assert found["queued"] == 1, "it may be had another day"
    assert "dns" in found["failed"]["http://far.example/"]


async def no_network(net: Internet) -> Any:
    """Not even a name server answers."""
    found = await net.crawl("http://far.example/", *QUICK, "--patience", "30")
    return {"failed": found.summary["failed_seeds"], "queued": found.summary["queued"]}
