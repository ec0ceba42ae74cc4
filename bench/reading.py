"""Reading pages: CPU a page for all that a crawl needs, beside an older commit of fyke, in one run.

    git worktree add ../old 6cba1ff
    python -m bench.reading [../old]

A page of 20 KB with 51 links (bench.crawl_site): type, encoding, links, main text, document, digests, sketch, 32 pages
at a time; then ``fyke.extract`` of pages of 20 KB and 151 KB. Both versions take turns, each in a process of its own,
and each figure is the best of its rounds: others share the machine. ``--profile`` tells how much of the time the
interpreter has.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import crawl_site
from bench.measure import best_cpu, table

PAGES, ROUNDS, TURNS = 32, 15, 3
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
ROOT = Path(__file__).parents[1]


def pages() -> list[tuple[bytes, str]]:
    chance = random.Random(0)
    words = ["".join(chance.choices("abcdefghijklmnoprstuvw", k=chance.randint(2, 11))) for _ in range(5000)]
    return [(crawl_site.page(n, 5000, words).encode(), crawl_site.url(n)) for n in range(PAGES)]


def whole_reading() -> Callable[[], object]:
    """Return what reads PAGES pages with the fyke that is imported, whichever it is."""
    from fyke.formats.http import parse_head
    from fyke.url import Url

    given = [(body, Url.parse(url)) for body, url in pages()]
    try:
        from fyke.reading.reading import Reader
    except ImportError:  # before the room was there
        return _old_reading(given)
    reader, head = Reader(), parse_head(HEAD)

    def read() -> None:
        for found in reader.read_many([(body, head, url) for body, url in given]):
            _ = found.text, found.document, found.links, found.digests, found.sketch

    return read


def _old_reading(given: Sequence[tuple[bytes, object]]) -> Callable[[], object]:
    import importlib

    process, maintext = importlib.import_module("fyke.crawl.process"), importlib.import_module("fyke.crawl.maintext")
    links, http = importlib.import_module("fyke.sites.links"), importlib.import_module("fyke.formats.http")
    sniff = importlib.import_module("fyke.formats.sniff").sniff
    minhash = importlib.import_module("fyke.dedupe.sketch").minhash
    memo = links.LinkMemo()

    def read() -> None:
        for body, url in given:
            head = http.parse_head(HEAD)
            sniff(body, head.get("content-type"), url.path)  # type: ignore[attr-defined]
            found = process.read(body, head, url, memo)
            maintext.Material(body, found.main.text).digests()
            minhash(found.main.text)

    return read


def extraction(size: int) -> Callable[[], object]:
    """Return what extracts a page of about ``size`` bytes."""
    import fyke

    body, text = pages()[0][0].decode(), ""
    start, end = body.index("<p>"), body.index("</main>")
    while len(text) < size - (len(body) - end + start):
        text += body[start:end]
    page = body[:start] + text[: size - len(body) + end - start] + body[end:]
    return lambda: fyke.extract(page).text


def microseconds(work: Callable[[], object], times: int) -> float:
    return best_cpu(work, ROUNDS) / times * 1e6


def measure() -> dict[str, float]:
    return {
        "reading a page of 20 KB": microseconds(whole_reading(), PAGES),
        "extract, 20 KB": microseconds(extraction(20_000), 1),
        "extract, 151 KB": microseconds(extraction(151_000), 1),
    }


def run(source: Path) -> dict[str, float]:
    """Measure the fyke at ``source`` in a process of its own."""
    own = {**os.environ, "PYTHONPATH": f"{source / 'src'}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-m", "bench.reading", "--measure"],
        env=own,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def profile() -> None:
    """Print what share of the time is the interpreter's: all but kernels and digests, which let go of its lock."""
    work = whole_reading()
    work()
    found = cProfile.Profile(builtins=True)
    found.enable()
    for _ in range(20):
        work()
    found.disable()
    stats = pstats.Stats(found).stats  # type: ignore[attr-defined]
    free = sum(row[2] for (file, _, name), row in stats.items() if "kernels" in file or "sha256" in name)
    whole = sum(row[2] for row in stats.values())
    print(f"interpreter: {1 - free / whole:.0%} of the time, as a profiler sees it (which slows the interpreter down)")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("old", nargs="?", type=Path, help="a worktree of another commit")
    parser.add_argument("--measure", action="store_true", help="print this version's figures as JSON")
    parser.add_argument("--profile", action="store_true")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure()))
        return 0
    if arguments.profile:
        profile()
        return 0
    sources = {"new": ROOT, **({"old": arguments.old} if arguments.old else {})}
    best: dict[str, dict[str, float]] = {name: {} for name in sources}
    for _ in range(TURNS):
        for name, source in sources.items():
            for what, spent in run(source.resolve()).items():
                best[name][what] = min(best[name].get(what, spent), spent)
    rows = [
        [what, spent, best["old"][what], f"{spent / best['old'][what]:.2f}"] if arguments.old else [what, spent, "", ""]
        for what, spent in best["new"].items()
    ]
    print(table(["CPU µs", "this version", "the other", "ratio"], rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
