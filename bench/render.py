"""Rendered pages: CPU of all processes for each, memory, and how many plain pages one is worth.

``python -m bench.render [--pages 24] [--json]``. The page is a shell with a script of 80 KB, a style, an image and a
request for data that becomes twenty links; every request is answered from memory. CPU for each page is that of
``--pages`` pages less that of four, divided: the start of the browser is not counted. Memory is what browser and driver
hold beside each other (PSS) while pages are shown.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

from bench.measure import best_cpu, figure, table
from fyke.browser.chromium import Chromium
from fyke.browser.process import find_program
from fyke.browser.values import Asked, Limits, Looks, Refusal
from fyke.formats.http import NO_HEAD
from fyke.reading.reading import Reader
from fyke.url import Url
from fyke.values import Exchange

FIRST = 4
SHELL = (
    "<!doctype html><title>loading</title><link rel=stylesheet href=/app.css><script defer src=/app.js></script>"
    "<div id=app></div><noscript>Enable JavaScript</noscript><img src=/logo.png>"
)
APP = (
    """fetch('/api' + location.pathname).then(r => r.json()).then(d => { document.title = d.title;
  app.innerHTML = '<h1>' + d.title + '</h1>' + d.texts.map(t => '<p>' + t + '</p>').join('')
    + d.links.map(l => '<a href="/p/' + l + '">page ' + l + '</a>').join(' ') });//"""
    + "x" * 80_000
)
WORDS = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "zeta",
    "eta",
    "theta",
    "iota",
    "kappa",
    "lambda",
    "mu",
    "nu",
    "xi",
]


def answer(body: str, kind: str) -> Exchange:
    return Exchange(b"", f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode(), body.encode(), 200, 1.0, 1.0)


async def serve(asked: Asked) -> Exchange | Refusal:
    path = "/" + asked.url.split("/", 3)[3]
    if path == "/app.js":
        return answer(APP, "text/javascript")
    if path.startswith("/api/"):
        number = int(path.rpartition("/")[2])
        texts = [" ".join(WORDS[(number + i * j) % 14] for j in range(60)) for i in range(8)]
        links = [(number * 7 + k) % 1000 for k in range(20)]
        return answer(json.dumps({"title": f"Page {number}", "texts": texts, "links": links}), "application/json")
    return answer(SHELL, "text/html") if path.startswith("/p/") else Refusal("not there")


def work(count: int) -> None:
    """Show so many pages; prints the most memory of the browser and its driver, in MB."""
    browser = Chromium(find_program())
    most, over = [0.0], threading.Event()

    def watch() -> None:
        while not over.wait(0.3):
            most[0] = max(most[0], sum(map(pss, descendants(os.getpid()))))

    async def show() -> None:
        urls = (f"http://site.test/p/{number}" for number in range(count))
        for found in await asyncio.gather(*(browser.render(url, serve, Limits(), Looks("bench")) for url in urls)):
            assert found.html.count("<a href=") == 20, found

    watching = threading.Thread(target=watch)
    watching.start()
    asyncio.run(show())
    over.set()
    watching.join()
    browser.close()
    print(round(most[0] / 1e6, 1))


def descendants(pid: int) -> list[int]:
    found = [pid]
    for each in found:
        for children in Path(f"/proc/{each}/task").glob("*/children"):
            try:
                found += map(int, children.read_text().split())
            except OSError:
                continue
    return found[1:]


def pss(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) * 1024.0 for line in lines if line.startswith("Pss:"))


def measured(count: int) -> tuple[float, float]:
    """CPU seconds of showing so many pages, and the most memory in MB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [sys.executable, "-P", "-m", "bench.render", "--work", str(count)]
    said = subprocess.run(words, check=True, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": "."})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, float(said.stdout)


def plain() -> float:
    """CPU seconds of reading a page of the same content without a browser."""
    made = asyncio.run(serve(Asked("http://site.test/api/p/7", "fetch")))
    assert isinstance(made, Exchange)
    found = json.loads(made.body)
    anchors = "".join(f'<a href="/p/{link}">page {link}</a> ' for link in found["links"])
    body = f"<h1>{found['title']}</h1>{''.join(f'<p>{text}</p>' for text in found['texts'])}{anchors}".encode()
    reader, url = Reader(), Url("http://site.test/p/7")
    return best_cpu(lambda: [reader.read(body, NO_HEAD, url) for _ in range(20)]) / 20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, default=24)
    parser.add_argument("--work", type=int, default=0)
    asked = parser.parse_args()
    if asked.work:
        work(asked.work)
        return
    began = time.time()
    few, _ = measured(FIRST)
    many, memory = measured(asked.pages)
    each = 1000 * (many - few) / (asked.pages - FIRST)
    without = 1000 * plain()
    print(table(["", "ms of CPU", "MB (PSS)"], [
        ["a rendered page, all processes", each, memory],
        ["the same page, read without a browser", without, ""],
        ["start and end of the browser", 1000 * few - FIRST * each, ""],
    ]))  # fmt: skip
    print(f"\n{asked.pages} pages; {time.time() - began:.0f} s in all")
    size = f"{asked.pages} pages"
    figure("a page rendered in a browser, all processes", "ms of CPU", each, size=size)
    figure("browser and driver while pages are rendered", "MB", memory, size=size)


if __name__ == "__main__":
    main()
