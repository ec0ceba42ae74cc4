"""Ten times kill -9 of a whole crawl at random moments, each followed by a resume: what is lost, what is fetched twice.

``python -m bench.crash [--pages 3000] [--kills 10] [--agents 2]``. The site is ``bench.crawl_site``; the server's log
says what was really fetched, and `fyke store check` what the store thinks of itself. Fails where a page is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bench import crawl_site
from bench.crawl import fyke_words
from bench.measure import figure
from fyke.store import Store

CONCURRENCY = 64


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--agents", type=int, default=2)
    options = parser.parse_args()
    with (
        crawl_site.serve(options.pages, prompt=True) as log,
        tempfile.TemporaryDirectory(prefix="fyke-bench-") as folder,
    ):
        store = Path(folder) / "store"
        words = [*fyke_words(store, options.agents), "--concurrency", str(CONCURRENCY)]
        kills = kill_often(words, store, log, options.pages, options.kills)
        resume = [sys.executable, "-m", "fyke", "resume", "--store", str(store), "--json"]
        summary = json.loads(subprocess.run(resume, capture_output=True, text=True, check=True).stdout)
        check = [sys.executable, "-m", "fyke", "store", "check", "--store", str(store), "--json"]
        checked = subprocess.run(check, capture_output=True, text=True, check=False)
        report(store, log, options.pages, kills, summary, checked)


def kill_often(words: list[str], store: Path, log: Path, pages: int, kills: int) -> int:
    """Kill the crawl that many times, each once it has fetched a random share of what is left; return the times."""
    chance, done = random.Random(1), 0
    for number in range(kills):
        crawl = subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        before = fetches(log)
        wanted = before + chance.randint(1, max(2, (pages - before) // (kills - number + 1)))
        while crawl.poll() is None and fetches(log) < wanted:
            time.sleep(0.02)
        done += crawl.poll() is None
        os.killpg(crawl.pid, signal.SIGKILL)
        crawl.wait()
        words = [sys.executable, "-m", "fyke", "resume", "--store", str(store), "--json"]
    return done


def fetches(log: Path) -> int:
    """Lines of the server's log so far."""
    return log.read_bytes().count(b"\n") if log.exists() else 0


def report(
    store: Path, log: Path, pages: int, kills: int, summary: dict[str, object],
    checked: subprocess.CompletedProcess[str],
) -> None:  # fmt: skip
    expected = {crawl_site.url(n) for n in range(pages)}
    with Store.open(store, "r") as reader:
        stored = {row.url for row in reader.scan(parts=()) if row.meta.status == 200 and not row.meta.error}
    lines = [line.split("\t") for line in log.read_text().splitlines()]
    visits = Counter((line[2], line[3]) for line in lines if line[3] != "/robots.txt")
    again = sum(count - 1 for count in visits.values())
    missing, strange, most = len(expected - stored), len(stored - expected), kills * crawl_site.HOSTS
    print(f"{kills} kills: {missing} of {pages:,} pages missing, {strange} not asked for; queued {summary['queued']}")
    figure("pages missing after kill -9 and resume", "count", missing, size=f"{kills} kills, {pages:,} pages")
    figure("pages fetched again", "count", again, size=f"{most} may be")
    print(f"{again} fetched again; at most {most} were in flight, one a host")
    print("fyke store check:", "clean" if checked.returncode == 0 else "NOT clean", checked.stdout.strip()[:300])
    if expected != stored or checked.returncode or again > most:
        sys.exit(1)


if __name__ == "__main__":
    main()
