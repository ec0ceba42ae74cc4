"""What small tasks cost from the start of a process to its end, beside numba's own start and peers: CPU seconds.

``python -m bench.startup [--repeat N]``. Warm: each is run once before, so every kernel is in the cache. Peers that are
not installed are left out. The whole process tree is counted, by what the kernel says of the children of this process.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

from bench.measure import figure, table

PAGE = (
    "<html><head><title>A page</title></head><body><nav><a href=/a>One</a> <a href=/b>Two</a></nav>"
    "<article><h1>A page</h1>"
    + "".join(
        f"<p>This is paragraph {n} of a page that says a few things about the world, at some length.</p>"
        for n in range(30)
    )
    + "</article><footer>Imprint</footer></body></html>"
)
ONE_KERNEL = """import numba, numpy

@numba.njit(cache=True)
def total(values):
    found = 0
    for value in values:
        found += value
    return found

total(numpy.arange(9))
"""
NUMBA, EXTRACT, CRAWL = "import numba, load one cached kernel", "fyke extract FILE", "fyke crawl, one page"
PEERS = {
    "trafilatura": "import sys, trafilatura; print(trafilatura.extract(open('page.html').read()))",
    "scrapy": "from scrapy.cmdline import execute; execute(['scrapy', 'fetch', '--nolog', '{url}'])",
}
"""Package to the program that does the same: main content of a page, one page fetched."""


class _OnePage(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/" else 404)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE.encode() if self.path == "/" else b"")

    def log_message(self, format: str, *words: object) -> None:  # noqa: A002 - the name it has
        pass


@contextmanager
def one_page() -> Iterator[str]:
    """Serve a site of one page; yield its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _OnePage) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def cpu(tasks: dict[str, list[str]], folder: Path, repeat: int) -> dict[str, float]:
    """CPU seconds of commands with all that they start: the best of ``repeat`` rounds, after one to warm up."""
    best = dict.fromkeys(tasks, float("inf"))
    for turn in range(repeat + 1):
        for name, words in tasks.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if turn:
                best[name] = min(best[name], after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            shutil.rmtree(folder / "store", ignore_errors=True)
    return best


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    python, fyke = sys.executable, [sys.executable, "-m", "fyke"]
    with tempfile.TemporaryDirectory(prefix="fyke-bench-") as named, one_page() as url:
        folder = Path(named)
        (folder / "page.html").write_text(PAGE)
        (folder / "robots.txt").write_text("User-agent: *\nDisallow: /private\n")
        (folder / "one_kernel.py").write_text(ONE_KERNEL)
        tasks = {
            NUMBA: [python, "one_kernel.py"],
            "fyke --help": [*fyke, "--help"],
            "fyke url": [*fyke, "url", url],
            "fyke robots FILE": [*fyke, "robots", "robots.txt"],
            EXTRACT: [*fyke, "extract", "page.html"],
            CRAWL: [*fyke, "crawl", url, "--store", "store"],
        }
        peers = {name: [python, "-c", code.replace("{url}", url)] for name, code in PEERS.items() if find_spec(name)}
        took = cpu(tasks | peers, folder, repeat)
    print(table(["task", "CPU s", "× numba"], [[name, value, value / took[NUMBA]] for name, value in took.items()]))
    print(f"\nload {os.getloadavg()[0]:.1f}")
    beside = {"numba with one kernel": took[NUMBA]} | {name: took[name] for name in peers}
    figure(f"start: `{EXTRACT}`", "CPU s", took[EXTRACT], beside)
    figure(f"start: `{CRAWL}`", "CPU s", took[CRAWL], beside)


if __name__ == "__main__":
    main()
