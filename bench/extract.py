"""Main content: F1 and CPU time of fyke's methods beside trafilatura, readability, resiliparse, turbohtml and jusText.

    python -m bench.extract [--pages N] [--data DIR] [--models DIR]

F1 is the mean of the pages' 4-gram F1 (shared/tools/score_extract.py). ``auto`` was trained on these very pages, so its
row says so, unless ``--models`` names the folder of ``python -m bench.train_content --check folds --keep DIR``: then
every page is judged by the model that saw no page of its host.
"""

from __future__ import annotations

import argparse
import functools
import logging
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import justext
import lxml.html
import numpy as np
import trafilatura
import turbohtml
from readability import Document
from resiliparse.extract.html2text import extract_plain_text

import fyke
from bench.content_pages import FOLDS, SETS, host
from bench.measure import SHARED, best_cpu, figure, table
from fyke.clean import page as pages
from fyke.clean.container_kernels import fill_features
from fyke.clean.extract import Auto
from fyke.clean.feature_kernels import width_of
from fyke.clean.features import PAD, ROWS
from fyke.clean.furniture import Hosts
from fyke.clean.main import main_text
from fyke.clean.model import Model, shipped
from fyke.clean.slope import FINN, LAVRENKO
from fyke.formats.html import parse
from fyke.formats.markup import Markup

TIMED = 8
"""Pages of each size that are timed at least, if there are so many."""
LOOKED_AT = 400
"""Pages of a set among which they are looked for."""
SIZES = {"151 KB": (135_000, 167_000), "20 KB": (15_000, 25_000)}


def by_readability(html: str) -> str:
    return str(lxml.html.fromstring(Document(html).summary()).text_content())


def by_justext(html: str) -> str:
    found = justext.justext(html.encode(), justext.get_stoplist("English"), encoding="utf-8")
    return "\n".join(p.text for p in found if not p.is_boilerplate)


PEERS: dict[str, Callable[[str], str]] = {
    "trafilatura": lambda html: trafilatura.extract(html) or "",
    "readability-lxml": by_readability,
    "resiliparse": lambda html: str(extract_plain_text(html, main_content=True)),
    "turbohtml": lambda html: turbohtml.parse(html).main_text() or "",
    "jusText (English)": by_justext,
}
OWN: dict[str, Callable[[str], str]] = {
    "fyke plateau": lambda html: fyke.extract(html, "plateau").text,
    "fyke slices": lambda html: fyke.extract(html, "slices").text,
    "fyke dom": lambda html: fyke.extract(html, "dom").text,
    "fyke layout": lambda html: fyke.extract(html, "layout").text,
    "Finn's plateau, c = 1": lambda html: fyke.extract(html, FINN).text,
    "Lavrenko's plateau": lambda html: fyke.extract(html, LAVRENKO).text,
}


def attempt(work: Callable[[str], str], html: str) -> str:
    """A peer that fails on a page has found nothing."""
    try:
        return work(html) or ""
    except Exception:
        return ""


def autos(models: Path | None) -> tuple[str, list[Auto]]:
    if models is None:
        return "fyke auto (trained on these pages)", [Auto()] * FOLDS
    made = [Auto(model=Model.from_bytes((models / f"fold{k}.model").read_bytes())) for k in range(FOLDS)]
    return "fyke auto (other hosts)", made


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--pages", type=int, default=60, help="pages of each set; 0 takes all")
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--memory", type=int, metavar="N", help="instead: extract N pages, and tell the memory held")
    arguments = parser.parse_args()
    if not (arguments.data / "tools").is_dir():
        print(f"bench.extract: no public data at {arguments.data}; name its folder with --data")
        return 0
    sys.path.insert(0, str(arguments.data / "tools"))
    scorer: Any = __import__("score_extract")
    logging.disable(logging.CRITICAL)
    if arguments.memory:
        memory(arguments.data / "data" / "extract", arguments.memory)
        return 0
    name, ways = autos(arguments.models)
    scores: dict[str, list[float]] = {}
    timed: dict[str, list[str]] = {size: [] for size in SIZES}
    for dataset in SETS:
        folder = arguments.data / "data" / "extract" / dataset
        rows = scorer.truth(folder, arguments.pages or None)
        found: dict[str, dict[str, str]] = {}
        for row in rows:
            html = scorer.read_html(folder, row["id"])
            for size, (low, high) in SIZES.items():
                if low < len(html) < high and len(timed[size]) < 20:
                    timed[size].append(html)
            way = ways[zlib.crc32(host(row["url"], row["id"]).encode()) % FOLDS]
            found.setdefault(name, {})[row["id"]] = fyke.extract(html, way).text
            for other, work in {**OWN, **PEERS}.items():
                found.setdefault(other, {})[row["id"]] = attempt(work, html)
        for method, outputs in found.items():
            result = scorer.score_outputs(rows, outputs)
            scores.setdefault(method, []).append(result["mean_f1"])
            kinds = {kind: f"{v['mean_f1']:.3f}" for kind, v in result.get("by_type", {}).items()}
            if kinds:
                print(f"{method}: {kinds}", flush=True)
    fill_up(scorer, arguments.data / "data" / "extract", timed)
    report(name, scores, timed)
    return 0


def fill_up(scorer: Any, folder: Path, timed: dict[str, list[str]]) -> None:
    """Look for pages to time among those that were not scored, until there are some of each size."""
    for dataset in SETS:
        for row in scorer.truth(folder / dataset, LOOKED_AT):
            if all(len(some) >= TIMED for some in timed.values()):
                return
            html = scorer.read_html(folder / dataset, row["id"])
            for size, (low, high) in SIZES.items():
                if low < len(html) < high and len(timed[size]) < TIMED and html not in timed[size]:
                    timed[size].append(html)


def memory(folder: Path, pages: int) -> None:
    """Print the resident memory as pages are cleaned, hosts remembered: a process that runs for long must not grow."""
    import gzip

    import psutil

    files = sorted(folder.glob("*/html/*.gz"))
    some = [gzip.decompress(file.read_bytes())[:30_000] for file in files]
    hosts, process = Hosts(limit=64), psutil.Process()
    for n in range(pages + 1):
        if n % (pages // 10) == 0:
            print(f"{n:>8} pages: {process.memory_info().rss / 1e6:.1f} MB", flush=True)
        main_text(parse(some[n % len(some)]), hosts[str(n % 97)])


def milliseconds(work: Callable[[str], object], timed: dict[str, list[str]]) -> list[float]:
    """CPU ms a page, for each size of pages: every page's best of several, since others share the machine."""
    return [
        sum(best_cpu(functools.partial(work, html)) for html in some) / len(some) * 1e3 if some else float("nan")
        for some in timed.values()
    ]


def report(name: str, scores: dict[str, list[float]], timed: dict[str, list[str]]) -> None:
    runs: dict[str, Callable[[str], str]] = {name: lambda html: fyke.extract(html).text, **OWN, **PEERS}
    lines = [
        [
            method,
            *(f"{value:.3f}" for value in values),
            f"{sum(values) / len(values):.3f}",
            *milliseconds(functools.partial(attempt, runs[method]), timed),
        ]
        for method, values in scores.items()
    ]
    hand_back(name, lines, timed)
    print(table(["method", *SETS, "mean", *(f"ms, {size}" for size in SIZES)], lines))
    parts: dict[str, Callable[[str], object]] = {
        "to bytes": str.encode,
        "tokens": lambda html: Markup.of(html.encode()),
        "tokens, blocks": lambda html: pages.read(html.encode()),
        "tokens, blocks, features": _features,
        "all, as a crawl stores it (main_text)": lambda html: main_text(parse(html)),
    }
    rows = [[part, *milliseconds(work, timed)] for part, work in parts.items()]
    print("\n" + table(["one pass", *(f"ms, {size}" for size in SIZES)], rows))


def hand_back(name: str, lines: list[list[Any]], timed: dict[str, list[str]]) -> None:
    """Figures: F1 of a method that never saw the pages, and times for sizes of which there are pages."""
    told = {str(line[0]): line for line in lines}
    judged = "fyke plateau" if "trained on" in name else name
    mean = len(SETS) + 1
    peers = {peer: float(told[peer][mean]) for peer in PEERS}
    pages = "not trained; for the default method on pages it was not trained on, see docs/content.md"
    figure(f"main content: {judged}", "F1", float(told[judged][mean]), peers, pages if judged != name else "held out")
    for place, (size, some) in enumerate(timed.items(), mean + 1):
        if len(some) >= TIMED // 2:
            peers = {peer: float(told[peer][place]) for peer in PEERS}
            figure(f"main content: the default method, {size}", "ms", told[name][place], peers, f"{len(some)} pages")


def _features(html: str) -> None:
    read = pages.read(html.encode())
    if len(read.blocks):
        rows = np.zeros((len(ROWS), width_of(len(read.blocks)) + 2 * PAD), np.uint8)
        known = shipped()
        fill_features(read.blocks, read.tree, read.said, read.title_size, known.odds, known.said, rows)


if __name__ == "__main__":
    sys.exit(main())
