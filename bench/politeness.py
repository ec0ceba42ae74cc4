"""Politeness by the server's log: a delay of 0.2 s over 50 hosts, the share of the possible rate, and who came early.

``python -m bench.politeness [--pages 3000] [--delay 0.2] [--agents 1]``. The possible rate is one request per
delay and host, in the middle of the crawl, when every host has something to fetch. A request is early if it starts
less than the delay less 1 ms after the end of the one before on its host, by the server's clock. Fails where one is.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

from bench import crawl_site
from bench.crawl import fyke_words
from bench.measure import figure, stolen

LOG_STEP = 0.001
"""nginx writes milliseconds: of both ends of a gap, so a gap is known to 2 ms."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--delay", type=float, default=0.2)
    parser.add_argument("--agents", type=int, default=1)
    options = parser.parse_args()
    with crawl_site.serve(options.pages) as log, tempfile.TemporaryDirectory(prefix="fyke-bench-") as folder:
        before = stolen()
        words = fyke_words(Path(folder) / "store", options.agents, options.delay)
        subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        others = stolen() - before
        time.sleep(1.5)  # the server writes its log once a second
        visits: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
        for line in log.read_text().splitlines():
            end, took, host = line.split("\t")[:3]
            visits[host].append((float(end) - float(took), float(end)))
    gaps = []
    for times in visits.values():
        times.sort()
        gaps += [start - end for (_, end), (start, _) in pairwise(times)]
    early = [gap for gap in gaps if gap < options.delay - 0.001 - 2 * LOG_STEP]
    requests = sum(map(len, visits.values()))
    starts = sorted(start for times in visits.values() for start, _ in times)
    first, last = starts[len(starts) // 10], starts[len(starts) * 8 // 10]
    rate = (len(starts) * 8 // 10 - len(starts) // 10) / (last - first)
    possible = len(visits) / options.delay
    print(f"{requests:,} requests to {len(visits)} hosts: {rate:.1f} a second, {rate / possible:.1%} of {possible:.0f}")
    figure("rate, of what politeness allows", "share", rate / possible, size=f"{options.delay} s between requests")
    figure("requests that came early", "count", len(early), size=f"{len(gaps):,} requests")
    print(f"least gap {min(gaps) * 1000:.1f} ms; {len(early)} of {len(gaps):,} requests early")
    print(f"others had {others:.1f} CPU seconds of the machine meanwhile")
    if early:
        sys.exit(1)


if __name__ == "__main__":
    main()
