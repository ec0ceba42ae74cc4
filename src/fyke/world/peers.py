"""Crawlers that are tried on a world: how each is started, with its own settings, and what it is said to be.

A peer gets the home pages as seeds, the world as its HTTP proxy (so that it needs no names), a gap between requests
where it can keep one, and robots.txt obeyed. All else is its own default. Programs of Python run in whatever Python has
them; none of them is a part of fyke.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fyke.errors import UserError

SCRAPY = """
import json, os, sys
import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
given = json.loads(sys.argv[1])
class Spider(scrapy.Spider):
    name = "bench"
    start_urls = given["seeds"]
    links = LinkExtractor()
    count = 0
    def parse(self, response):
        Spider.count += 1
        if hasattr(response, "text"):
            for link in self.links.extract_links(response):
                if not link.nofollow:
                    yield response.follow(link)
settings = {"LOG_LEVEL": "ERROR", "ROBOTSTXT_OBEY": True, "TELNETCONSOLE_ENABLED": False}
settings |= given.get("settings") or {"DOWNLOAD_DELAY": given["delay"], "RANDOMIZE_DOWNLOAD_DELAY": False,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1, "JOBDIR": "job"}
process = CrawlerProcess(settings)
process.crawl(Spider)
process.start()
print(Spider.count)
"""

CRAWLEE = """
import asyncio, json, os, sys
from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler
from crawlee.proxy_configuration import ProxyConfiguration
given = json.loads(sys.argv[1])
async def main():
    count = 0
    more = {}
    if given.get("proxy"):
        more["proxy_configuration"] = ProxyConfiguration(proxy_urls=[given["proxy"]])
        more["respect_robots_txt_file"] = True
    if given.get("concurrency"):
        n = given["concurrency"]
        more["concurrency_settings"] = ConcurrencySettings(min_concurrency=n, desired_concurrency=n, max_concurrency=n)
        more["max_request_retries"] = 0
    crawler = ParselCrawler(configure_logging=False, **more)
    @crawler.router.default_handler
    async def handle(context):
        nonlocal count
        count += 1
        await context.enqueue_links(strategy="all")
    await crawler.run(given["seeds"], purge_request_queue=False)
    print(count)
asyncio.run(main())
"""

SPIDER = """
const { Website } = require("@spider-rs/spider-rs");
const given = JSON.parse(process.argv[1]);
(async () => {
    const met = new Set();
    for (const seed of given.seeds) {
        if (met.has(seed)) continue;
        let site = new Website(seed).withRespectRobotsTxt(true).withExternalDomains(["*"]);
        if (given.proxy) site = site.withProxies([given.proxy]).withDelay(1000 * given.delay);
        site = site.build();
        await site.crawl();
        site.getLinks().forEach((each) => met.add(each));
    }
    console.log(met.size);
    process.exit(0);
})();
"""


@dataclass(frozen=True, slots=True)
class Task:
    """What a peer is to do."""

    seeds: list[str]
    hosts: list[str]
    proxy: str
    delay: float
    folder: Path
    """Its own, and the same when it is started again after it was killed."""
    python: str = sys.executable
    """The Python that has the peer."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A crawler."""

    words: Callable[[Task], list[str]]
    says: str
    """What it is told to do, and what it can not."""
    environment: Mapping[str, str] = field(default_factory=dict)
    package: str = ""
    """Of Python: asked for its version."""


def _python(script: str) -> Callable[[Task], list[str]]:
    def words(task: Task) -> list[str]:
        given = {"seeds": task.seeds, "proxy": task.proxy, "delay": task.delay}
        return [task.python, "-c", script, json.dumps(given)]

    return words


def _wget2(task: Task) -> list[str]:
    hosts = ",".join(task.hosts)
    words = ["wget2", "-q", "-r", "-l", "inf", "-H", "--domains", hosts, "-N", f"--wait={task.delay}"]
    return [*words, f"--http-proxy={task.proxy}", *task.seeds]


def _spider(task: Task) -> list[str]:
    return ["node", "-e", SPIDER, json.dumps({"seeds": task.seeds, "proxy": task.proxy, "delay": task.delay})]


def _fyke(task: Task) -> list[str]:
    words = [sys.executable, "-m", "fyke", "crawl", *task.seeds, "--scope", "any", "--allow-private", "--quiet"]
    words += [word for host in task.hosts for word in ("--resolve", f"{host}:127.0.0.1")]
    return [*words, "--delay", str(task.delay), "--patience", "30s", "--store", "store", "--json"]


PEERS = {
    "fyke": Peer(_fyke, "as users have it, with the gap, any host; names by --resolve"),
    "scrapy": Peer(
        _python(SCRAPY),
        "ROBOTSTXT_OBEY, DOWNLOAD_DELAY as the gap, one request a domain, JOBDIR; else its defaults",
        package="scrapy",
    ),
    "crawlee": Peer(
        _python(CRAWLEE),
        "ParselCrawler, respect_robots_txt_file; it knows no gap for each host; its storage is kept between runs",
        {"CRAWLEE_PURGE_ON_START": "0"},
        "crawlee",
    ),
    "wget2": Peer(_wget2, "-r -l inf -H, --wait as the gap (of a thread), -N; it has no state but its files"),
    "spider": Peer(
        _spider,
        "from Node: withRespectRobotsTxt, withDelay as the gap, external domains *; one home page after the other; "
        "it has no state",
    ),
}


def version_of(name: str, python: str) -> str:
    """Return a peer's version. Raises ``UserError`` where it is not installed, which says how."""
    peer = PEERS[name]
    if name == "wget2":
        if shutil.which("wget2") is None:
            raise UserError("wget2 is not installed; Debian has it: apt install wget2")
        said = subprocess.run(["wget2", "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S607
        return said.split(" - ")[0].removeprefix("GNU ").removeprefix("Wget2 ")
    if name == "spider":
        return _spider_version()
    if not peer.package:
        return ""
    asked = f"import importlib.metadata as m; print(m.version({peer.package!r}))"
    said = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603
    if not said:
        raise UserError(f"{python} has no {name}; make a venv with `pip install {name}` and give --python")
    return said


def _spider_version() -> str:
    asked = "require('@spider-rs/spider-rs'), require('@spider-rs/spider-rs/package.json').version"
    node = shutil.which("node")
    said = subprocess.run([node, "-p", asked], capture_output=True, text=True, check=False).stdout if node else ""  # noqa: S603
    if not said:
        raise UserError(
            "Node has no spider-rs; `npm install --prefix peers @spider-rs/spider-rs@0.0.157 "
            "@spider-rs/spider-rs-linux-x64-gnu@0.0.157`, and set NODE_PATH to the full path of peers/node_modules"
        )
    return said.strip()


def environment_of(name: str, task: Task) -> dict[str, str]:
    """The variables of a peer's process."""
    more = {} if name == "fyke" else {"http_proxy": task.proxy}
    return {**os.environ, **PEERS[name].environment, **more}
