"""CPU seconds per 1,000 pages of whole crawls: fyke beside Scrapy, Crawlee, wget2 and spider-rs on the same site.

``python -m bench.crawl [--pages 5000] [--more 20000] [--repeat 3] [--only fyke]``. spider-rs runs where Node has it
(NODE_PATH). Each crawler runs ``--repeat`` times, all in turn, and its run with the least CPU counts.
The site is ``bench.crawl_site``: pages of 20 KB with 51 links over 50 loopback hosts, on nginx. With ``--more`` fyke
and spider-rs run on a larger site too: the slope between the two is the cost of a page, the rest is start-up.
"""

from __future__ import annotations

import argparse
import compileall
import contextlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import fyke
from bench import crawl_site
from bench.measure import figure, stolen, table
from fyke.errors import UserError
from fyke.world import peers

SCRAPY_SETTINGS = {"CONCURRENT_REQUESTS": 64, "CONCURRENT_REQUESTS_PER_DOMAIN": 2, "DOWNLOAD_DELAY": 0}

SLOPES = ("fyke", "spider-rs")
"""What runs on the larger site, too."""


@dataclass(frozen=True, slots=True)
class Run:
    """One crawl of one crawler."""

    name: str
    pages: int
    cpu: float
    seconds: float
    others: float
    """CPU seconds of the machine that others had meanwhile."""

    @property
    def cost(self) -> float:
        """CPU seconds per 1,000 pages."""
        return self.cpu / max(self.pages, 1) * 1000


def measure(name: str, words: list[str], folder: Path, pages: int, timeout: float) -> Run:
    """Run a crawler to its end; its output ends with the number of pages, or is fyke's summary."""
    before, others, began = _children(), stolen(), time.time()
    try:
        result = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=timeout, check=False)
        out = result.stdout.strip().split("\n")[-1]
        if result.returncode not in (0, 8):
            print(name, "failed:", result.stderr[-500:], file=sys.stderr)
    except subprocess.TimeoutExpired:
        out = "0"
    cpu, seconds, others = _children() - before, time.time() - began, stolen() - others
    if out.startswith("{"):
        pages = json.loads(out)["pages"]
    elif out.isdigit():
        pages = int(out)
    else:
        pages = sum(1 for _ in folder.rglob("*.html*"))
    return Run(name, pages, cpu, seconds, others)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fyke_words(store: Path, agents: int, delay: float = 0.0) -> list[str]:
    words = [sys.executable, "-m", "fyke", "crawl", crawl_site.url(0), "--store", str(store), "--json"]
    words += ["--scope", "any", "--allow-private", "--delay", str(delay), "--agents", str(agents), "--patience", "10"]
    return words


def crawlers(folder: Path, wanted: str) -> dict[str, list[str]]:
    """Each crawler's command line."""
    seed = crawl_site.url(0)
    hosts = ",".join(crawl_site.host(n) for n in range(crawl_site.HOSTS))
    found = {
        "fyke, 1 agent": fyke_words(folder / "fyke-1", 1),
        "fyke, 2 agents": fyke_words(folder / "fyke-2", 2),
        "Scrapy": [sys.executable, "-c", peers.SCRAPY, json.dumps({"seeds": [seed], "settings": SCRAPY_SETTINGS})],
        "Crawlee": [sys.executable, "-c", peers.CRAWLEE, json.dumps({"seeds": [seed], "concurrency": 32})],
    }
    with contextlib.suppress(UserError):
        peers.version_of("spider", "")
        # It follows links to other hosts only from pages that link to their own: of twenty pages one does.
        seeds = [crawl_site.url(n) for n in range(20)]
        found["spider-rs"] = ["node", "-e", peers.SPIDER, json.dumps({"seeds": seeds})]
    if shutil.which("wget2"):
        found["wget2"] = ["wget2", "-q", "-r", "-l", "inf", "-H", "--domains", hosts, "--max-threads=16", seed]
    return {name: words for name, words in found.items() if wanted in name}


def best_runs(sizes: list[int], repeat: int, wanted: str) -> list[Run]:
    """Crawl with each crawler in turn, at each size in turn, ``repeat`` times; of each the run with the least CPU."""
    best: dict[tuple[int, str], Run] = {}
    for _ in range(repeat):
        for crawler in crawlers(Path(), wanted):
            for count in sizes if crawler.startswith(SLOPES) else sizes[:1]:
                with crawl_site.serve(count), tempfile.TemporaryDirectory(prefix="fyke-bench-") as name:
                    run = measure(crawler, crawlers(Path(name), crawler)[crawler], Path(name), count, 600)
                print(
                    f"{crawler}: {run.pages} pages, {run.cpu:.2f} CPU s, {run.seconds:.2f} s, others {run.others:.1f}",
                    file=sys.stderr,
                )
                best[count, crawler] = min(best.get((count, crawler), run), run, key=lambda each: each.cpu)
    return [best[key] for key in sorted(best, key=lambda key: key[0])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--more", type=int, default=0, help="a larger site for the slope")
    parser.add_argument(
        "--repeat", type=int, default=1, help="runs of each, of which the one with the least CPU counts"
    )
    parser.add_argument("--only", default="", help="crawlers whose names contain this")
    options = parser.parse_args()
    compileall.compile_dir(Path(fyke.__file__).parent, quiet=1)  # as who installs it does: so are the peers
    sizes = [options.pages, *([options.more] if options.more else [])]
    runs = best_runs(sizes, options.repeat, options.only)
    rows = [[r.name, r.pages, r.cpu, r.seconds, r.pages / r.seconds, r.cost, r.others] for r in runs]
    print(table(["crawler", "pages", "CPU s", "seconds", "pages/s", "CPU s per 1,000 pages", "CPU s of others"], rows))
    costs = {r.name: r.cost for r in runs if 0 < r.pages < 1.5 * options.pages}
    if "fyke, 1 agent" in costs:
        figure(
            "a page with start-up; fyke with everything on, peers fetch and follow links",
            "CPU ms",
            costs.pop("fyke, 1 agent"),
            costs,
            f"{options.pages:,} pages",
        )
    for crawler in dict.fromkeys(r.name for r in runs if r.name.startswith(SLOPES)):
        both = [r for r in runs if r.name == crawler and r.pages]
        if len(both) == 2:
            slope = (both[1].cpu - both[0].cpu) / (both[1].pages - both[0].pages) * 1000
            start = both[0].cpu - slope * both[0].pages / 1000
            if crawler.startswith("fyke"):
                size = f"between {both[0].pages:,} and {both[1].pages:,}"
                figure(f"a further page, {crawler.removeprefix('fyke, ')}", "CPU ms", slope, size=size)
            print(f"{crawler}: {slope:.3f} CPU s per 1,000 pages between the two sizes; start-up {start:.1f} s")


if __name__ == "__main__":
    main()
