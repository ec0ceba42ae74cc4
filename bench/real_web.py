"""A crawl of real documentation sites on loopback, compared with what a plain link walk of the same server reaches.

``python -m bench.real_web TOOL FOLDER [--packages git-doc sqlite3-doc] [--agents 2] [--kills 0] [--store DIR]``,
where TOOL is ../shared/tools/real-web/real-web and FOLDER what its ``fetch`` made. Without ``--packages`` all sites are
crawled.
The walk is independent of fyke: http.client, lexbor and urllib. With ``--kills`` the whole crawl is killed that often
on the way and resumed. Fails where a page is missing or was never linked.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urldefrag, urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser

from fyke.store import Store
from fyke.store.rocks import disk_bytes
from fyke.url import Url

PORT = 8095
INDEX = "127.0.1.254"
_SOURCES = (("a", "href"), ("area", "href"), ("frame", "src"), ("iframe", "src"), ("embed", "src"), ("object", "data"))
_RELATIONS = {"next", "prev", "previous", "canonical", "alternate", "index", "contents", "start", "up", "first", "last"}


def links(url: str, body: bytes) -> Iterator[str]:
    """Every address that a page names as a document to go to, joined."""
    tree = LexborHTMLParser(body)
    base = tree.css_first("base[href]")
    root = urljoin(url, base.attributes["href"] or "") if base is not None else url
    found = [node.attributes.get(name) for tag, name in _SOURCES for node in tree.css(tag)]
    found += [
        node.attributes["href"]
        for node in tree.css("link[href]")
        if _RELATIONS & set((node.attributes.get("rel") or "").lower().split())
    ]
    found += [
        (node.attributes.get("content") or "").partition("=")[2].strip("'\" ")
        for node in tree.css("meta[http-equiv]")
        if (node.attributes.get("http-equiv") or "").lower() == "refresh"
    ]
    for href in found:
        if href:
            try:
                yield urldefrag(urljoin(root, href.strip()))[0]
            except ValueError:
                continue


def walk(hosts: set[str], seeds: list[str]) -> tuple[set[str], set[str]]:
    """The addresses of all HTML pages on ``hosts`` that links from ``seeds`` reach, and of what is served otherwise."""
    connections: dict[str, http.client.HTTPConnection] = {}
    seen, queue, pages, others = set(seeds), list(seeds), set(), set()
    while queue:
        url = queue.pop()
        parts = urlsplit(url)
        connection = connections.setdefault(parts.netloc, http.client.HTTPConnection(parts.netloc, timeout=10))
        path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._") + ("?" + parts.query if parts.query else "")
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        found: list[str] = []
        if answer.status in (301, 302):
            found = [urljoin(url, answer.headers["Location"])]
        elif answer.status == 200 and answer.headers.get_content_type() in ("text/html", "application/xhtml+xml"):
            pages.add(Url.parse(url).href)
            found = list(links(url, body))
        elif answer.status == 200:
            others.add(Url.parse(url).href)
        for target in found:
            if target not in seen and target.startswith("http://") and urlsplit(target).netloc in hosts:
                seen.add(target)
                if not urlsplit(target).path.startswith("/doc-base/"):
                    queue.append(target)
    for connection in connections.values():
        connection.close()
    return pages, others


def crawl(store: Path, seeds: list[str], agents: int, kills: int) -> tuple[dict[str, object], float]:
    """Crawl to the end, killing the whole tree on the way; return the summary and CPU seconds."""
    words = [sys.executable, "-m", "fyke", "crawl", *seeds, "--store", str(store), "--json", "--scope", "any"]
    words += ["--max-body", "20000000"]  # one index of an API has 13 MB
    words += [
        "--allow-private",
        "--exclude",
        r"^(?!http://127\.0\.1\.)",
        "--delay",
        "0",
        "--patience",
        "10",
        "--no-sitemaps",
    ]
    words += ["--agents", str(agents)]
    before = _children()
    chance = random.Random(3)
    for _ in range(kills):
        process = subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(8, 25))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        words = [sys.executable, "-m", "fyke", "resume", "--store", str(store), "--json"]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(result.stderr[-2000:])
    return json.loads(result.stdout), _children() - before


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--packages", nargs="*", default=[])
    parser.add_argument("--agents", type=int, default=2)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--store", type=Path, help="keep the store there")
    options = parser.parse_args()
    names = sorted(path.name for path in (options.folder / "roots").iterdir())
    chosen = [f"127.0.1.{names.index(name) + 1}" for name in options.packages]
    hosts = {f"{host}:{PORT}" for host in chosen or [INDEX, *(f"127.0.1.{n + 1}" for n in range(len(names)))]}
    seeds = [f"http://{host}:{PORT}/" for host in chosen or [INDEX]]
    server = subprocess.Popen(
        [options.tool, "serve", options.folder, "--port", str(PORT)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex((urlsplit(seeds[0]).hostname or "", PORT)) == 0:
                    break
            time.sleep(0.1)
        with tempfile.TemporaryDirectory(prefix="fyke-bench-") as folder:
            compare(options.store or Path(folder) / "store", seeds, hosts, options.agents, options.kills)
    finally:
        server.terminate()
        server.wait()


def compare(store: Path, seeds: list[str], hosts: set[str], agents: int, kills: int) -> None:
    began = time.time()
    summary, cpu = crawl(store, seeds, agents, kills)
    seconds = time.time() - began
    with Store.open(store, "r") as reader:
        rows = [(row.url, row.meta) for row in reader.scan(parts=())]
    html = {url for url, meta in rows if meta.status == 200 and meta.type in ("text/html", "application/xhtml+xml")}
    found = {url for url in html if urlsplit(url).netloc in hosts}
    expected, others = walk(hosts, seeds)
    size = sum(meta.length for _, meta in rows)
    print(f"{summary['pages']:,} documents, {len(html):,} of them HTML, {size / 1e6:,.0f} MB in {seconds:.0f} s, "
          f"{kills} kills: {len(rows) / seconds:.0f} a second, {cpu / len(rows) * 1000:.2f} CPU s per 1,000, "
          f"{disk_bytes(store) / len(rows) / 1000:.1f} KB of store each")  # fmt: skip
    print(f"peak memory of a process {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000:.0f} MB")
    missing, strange = expected - found, found - expected - others
    print(f"linked pages: {len(expected):,}; missing {len(missing)}, never linked {len(strange)}; "
          f"HTML that the server calls something else: {len(found & others)}")  # fmt: skip
    for name, some in (("missing", missing), ("never linked", strange)):
        for url in sorted(some)[:10]:
            why = next((meta.error for known, meta in rows if known == url), "no row")
            print(f"  {name}: {url} ({why})")
    check = [sys.executable, "-m", "fyke", "store", "check", "--store", str(store)]
    clean = subprocess.run(check, capture_output=True, check=False).returncode == 0
    print("fyke store check:", "clean" if clean else "NOT clean", "· dropped", json.dumps(summary.get("dropped")),
          "· errors", json.dumps(summary.get("errors")))  # fmt: skip
    if missing or strange or not clean:
        sys.exit(1)


if __name__ == "__main__":
    main()
