"""All benches in about ten minutes, one process each, and one table of their figures: ``make bench``.

``python -m bench [NAME...] [--out docs/benchmarks.md] [--tiny]``. Sizes are small; each bench alone takes larger ones.
A bench that fails is told, and the others go on. With NAMEs, the page keeps its rows of the others.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from bench.measure import FIGURES, Figure, number, table

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"

CRAWLERS = "## Crawlers on the synthetic web"

RUNS: dict[str, tuple[str, list[str], list[str]]] = {
    "startup": ("the start of small tasks", [], ["--repeat", "1"]),
    "crawl": ("a whole crawl", ["--pages", "1000", "--more", "4000"], ["--pages", "150", "--more", "300"]),
    "politeness": ("politeness, by the server's log", ["--pages", "1000"], ["--pages", "400"]),
    "crash": ("kill -9 and resume", ["--pages", "1500", "--kills", "4"], ["--pages", "300", "--kills", "1"]),
    "url": ("URLs", [], []),
    "frontier": ("frontier, robots.txt, links", [], []),
    "feeds": ("feeds", ["--feeds", "100", "--days", "20"], ["--feeds", "20", "--days", "10"]),
    "freshness": ("freshness", ["--days", "20", "policies"], ["--days", "6", "policies"]),
    "convert": ("conversion", [], []),
    "extract": ("main content", ["--pages", "30"], ["--pages", "2"]),
    "metadata": ("metadata", [], []),
    "dates": ("dates of publication", [], []),
    "language": ("languages", [], []),
    "plateau": ("the plateau", [], []),
    "dedupe": ("duplicates", ["--documents", "5000"], ["--documents", "600"]),
    "store": ("the store", ["--pages", "2000"], ["--pages", "600"]),
    "warc": ("WARC and TREC", [], []),
    "archive": ("archives", [], []),
    "graph": ("graphs", [], []),
    "simulate": ("simulated crawls", [], []),
    "focused": ("focused crawls", ["--hosts", "60", "--pages", "2500"], ["--hosts", "50", "--pages", "2000"]),
}
"""Bench to its title and its arguments here, and for ``--tiny``."""

PEERS = (
    "scrapy", "crawlee", "protego", "w3lib", "yarl", "lxml", "selectolax", "resiliparse", "trafilatura",
    "readability-lxml", "jusText", "fastwarc", "warcio", "rocksdict", "datasketch", "rensa", "gaoya", "feedparser",
    "fastfeedparser", "webgraph", "numpy", "numba",
)  # fmt: skip
"""Packages whose versions the page names."""

COLUMNS = ["bench", "what", "unit", "fyke", "peers (× fyke, or fyke ÷)"]
HEADLINES = (
    "a page with start-up", "a further page, 1 agent", "main content: the default method",
    "text to sketch", "get a page by URL", "a summary in the archive",
    "mean age ÷ the least possible: the world",
)  # fmt: skip
"""Figures that README shows too, by how they begin."""

HEAD = """# Benchmarks

`make bench` wrote this page: every bench at a small size, beside its peers in the same run. CPU time, best of several.
The machine was shared, so ratios count; each bench alone (`python -m bench.NAME`) takes larger sizes, and the pages of
the rooms tell what the figures mean.
"""


def main() -> int:
    """Run them; write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(RUNS)}")
    parser.add_argument("--out", type=Path, default=PAGE)
    parser.add_argument("--tiny", action="store_true", help="see that they run; write no page")
    given = parser.parse_args()
    unknown = set(given.names) - set(RUNS)
    if unknown:
        parser.error(f"no bench is called {', '.join(sorted(unknown))}")
    names = given.names or list(RUNS)
    began, status = time.monotonic(), 0
    rows = {} if given.tiny else kept(given.out, names)
    for name in names:
        figures, ended = run(name, given.tiny)
        status |= ended
        rows[name] = table([], [[f"`{name}`", *row(figure)] for figure in figures]).splitlines()[2:]
    text = page([line for name in RUNS for line in rows.get(name, [])], time.monotonic() - began, names)
    text += crawlers(given.out)
    print(text)
    if not given.tiny:
        given.out.write_text(text, encoding="utf-8")
    if not given.tiny and given.out == PAGE:
        readme = ROOT / "README.md"
        readme.write_text(with_headlines(readme.read_text(encoding="utf-8"), text), encoding="utf-8")
    return status


def with_headlines(readme: str, text: str) -> str:
    """README with the headlines of docs/benchmarks.md between its two marks."""
    begin, end = readme.index("-->\n", readme.index("<!-- figures: begin")) + 4, readme.index("<!-- figures: end")
    chosen = [line for what in HEADLINES for line in text.splitlines() if f"| {what}" in line]
    return readme[:begin] + "\n".join([table(COLUMNS, []), *chosen, ""]) + readme[end:]


def kept(out: Path, names: Sequence[str]) -> dict[str, list[str]]:
    """The rows that the page has of benches that are not run now."""
    rows: dict[str, list[str]] = {}
    for line in out.read_text(encoding="utf-8").splitlines() if out.exists() else []:
        name = line.split("`")[1] if line.startswith("| `") else ""
        if name in RUNS and name not in names:
            rows.setdefault(name, []).append(line)
    return rows


def run(name: str, tiny: bool) -> tuple[list[Figure], int]:
    """Run one bench; return its figures and its status."""
    title, usual, small = RUNS[name]
    print(f"\n## {title}: python -m bench.{name} {' '.join(small if tiny else usual)}\n", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fyke-bench-") as folder:
        file = Path(folder) / "figures.jsonl"
        words = [sys.executable, "-m", f"bench.{name}", *(small if tiny else usual)]
        env = {**os.environ, FIGURES: str(file)}
        if tiny:
            env.setdefault("FYKE_BENCH_PAGES", "800")
        ended = subprocess.run(words, check=False, env=env, cwd=ROOT).returncode
        lines = file.read_bytes().splitlines() if file.exists() else []
    print(f"\n{name}: {time.monotonic() - began:.0f} s, status {ended}, {len(lines)} figures", file=sys.stderr)
    return [msgspec.json.decode(line, type=Figure) for line in lines], ended


def row(figure: Figure) -> list[object]:
    """A figure as a row: peers with their ratio to fyke."""
    peers = [
        f"{name} {number(value)}" + (f" ({ratio(value / figure.fyke)})" if figure.fyke and value else "")
        for name, value in figure.peers.items()
    ]
    what = figure.what + (f" ({figure.size})" if figure.size else "")
    return [what, figure.unit, f"**{number(figure.fyke)}**", ", ".join(peers)]


def ratio(times: float) -> str:
    """How many times fyke's figure a peer's is: ``3.3 ×``, or ``÷ 16`` where it is smaller; none is to be inverted."""
    return f"{number(times)} ×" if times >= 1 else f"÷ {number(1 / times)}"


def page(rows: list[str], seconds: float, names: Sequence[str]) -> str:
    """docs/benchmarks.md."""
    words = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT).stdout.strip() or "unknown"
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {memory():.0f} GB"
    load = f"load {os.getloadavg()[2]:.1f}"
    some = "" if set(names) == set(RUNS) else f"; of this run: {', '.join(names)}, other rows are of earlier ones"
    facts = [
        f"- {datetime.now(UTC):%Y-%m-%d}, commit {commit}, {seconds / 60:.0f} minutes{some}",
        f"- {machine}, {load} over the last quarter of an hour, Python {platform.python_version()}",
        "- " + ", ".join(f"{name} {found}" for name in PEERS if (found := installed(name))),
    ]
    return "\n".join([HEAD, *facts, "", table(COLUMNS, []), *rows, ""])


def crawlers(out: Path) -> str:
    """What the page says of crawlers on the synthetic web: `fyke world bench` measured that, no bench here does."""
    said = out.read_text(encoding="utf-8") if out.exists() else ""
    return said[said.index(CRAWLERS) - 1 :] if CRAWLERS in said else ""


def memory() -> float:
    """Gigabytes of the machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def installed(name: str) -> str:
    """The version of a package; empty where it is not there."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


if __name__ == "__main__":
    sys.exit(main())
