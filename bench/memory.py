"""Memory and CPU of a long crawl, as it goes on: neither should grow with the collection.

``python -m bench.memory [--pages 100000] [--agents 1]``, everything on, on the site of ``bench.crawl_site``. A row for
each tenth of the pages: the median and the most of the memory, looked at twice a second, and CPU per page. Memory is
the sum over all processes of the crawl of their proportional set sizes (PSS: what is shared counts once). While the
first fifth is crawled, write buffers and memos fill; the growth is that after it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from bench import crawl_site
from bench.crawl import fyke_words
from bench.measure import figure, table
from fyke.crawl.run import status
from fyke.errors import StorageError

ROWS = 10
PAUSE = 0.5


def tree(process: int) -> list[int]:
    """A process and all that it has started."""
    found = [process]
    for task in Path(f"/proc/{process}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += tree(int(child))
    return found


def pss(process: int) -> float:
    """MB of a process, where what it shares with others counts in part."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) / 1024


def cpu(process: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def watch(crawl: subprocess.Popen[bytes], store: Path) -> list[tuple[int, float, float]]:
    """(pages, MB, CPU seconds) of a crawl, again and again until it ends."""
    seen: list[tuple[int, float, float]] = []
    while crawl.poll() is None:
        time.sleep(PAUSE)
        try:
            pages, processes = sum(each.pages for each in status.read(store)), tree(crawl.pid)
            seen.append((pages, sum(map(pss, processes)), sum(map(cpu, processes))))
        except (StorageError, ValueError, OSError, StopIteration):  # it has not begun, or has just ended
            continue
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--agents", type=int, default=1)
    options = parser.parse_args()
    with crawl_site.serve(options.pages), tempfile.TemporaryDirectory(prefix="fyke-bench-") as folder:
        store = Path(folder) / "store"
        with subprocess.Popen(
            fyke_words(store, options.agents), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as crawl:
            seen = watch(crawl, store)
    step = options.pages // ROWS
    rows: list[tuple[str, float, float, float]] = []
    for start in range(0, options.pages, step):
        part = [each for each in seen if start <= each[0] < start + step]
        if len(part) > 1 and part[-1][0] > part[0][0]:
            memory = [each[1] for each in part]
            each_page = (part[-1][2] - part[0][2]) / (part[-1][0] - part[0][0]) * 1000
            rows.append((f"{start:,} to {start + step:,}", statistics.median(memory), max(memory), each_page))
    print(table(["pages", "median MB", "most MB", "CPU ms a page"], rows))
    most = max(memory for _, memory, _ in seen)
    figure("memory (PSS), the most", "MB", most, size=f"{options.pages:,} pages")
    print(f"the most: {most:.0f} MB")
    if len(rows) < ROWS // 2:  # over too soon to tell
        return
    growth = rows[-1][1] / rows[2][1] - 1
    print(f"memory of the last tenth beside the third: {growth:+.1%}")
    figure("memory (PSS), the last tenth beside the third", "share", growth, size=f"{options.pages:,} pages")


if __name__ == "__main__":
    main()
