"""What a depot costs: the CPU of crawls with and without ``--depot``, and how long a tablet takes to be fetched.

``python -m bench.depot [--pages 1500] [--more 6000] [--repeat 2]``. The site is ``bench.crawl_site``, the depot a
directory, one agent, no politeness. Crawls with and without a depot take turns, on a small and a larger site: the slope
is the cost of a page, the rest is the start (claims, first bases). What the shipping's own threads take is measured
beside: no noise of other processes hides that.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import crawl_site
from bench.crawl import fyke_words, measure
from bench.measure import figure, table
from fyke.store import Settings, Store
from fyke.store.depot import Depot
from fyke.store.fetching import fetch
from fyke.store.shipping import LOG_TTL, Shipping, prepare


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1500)
    parser.add_argument("--more", type=int, default=6000)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--megabytes", type=int, default=100, help="of the tablet that is fetched")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fyke-bench-") as folder:
        cost(Path(folder), options.pages, options.more, options.repeat)
        takeover(Path(folder), options.megabytes)


def cost(folder: Path, few: int, many: int, repeat: int) -> None:
    """The same crawls with and without a depot, in turns."""
    rows, slopes = [], []
    spent = {pages: crawls(folder, pages, repeat) for pages in (few, many)}
    for place, what in enumerate(("without a depot", "with one", "the shipping's own threads")):
        slope = (spent[many][place] - spent[few][place]) / (many - few)
        slopes.append(slope)
        rows.append([what, *(f"{spent[pages][place]:.2f}" for pages in spent), f"{1e3 * slope:.3f}"])
    print(f"CPU-seconds, least of {repeat}")
    print(table(["", f"{few:,} pages", f"{many:,} pages", "ms a page, by the slope"], rows))
    looks = [spent[pages][3] for pages in spent]
    print(f"tablets were looked at {looks[0]:,.0f} and {looks[1]:,.0f} times: every two seconds each")
    print(f"the difference of the slopes: {1e3 * (slopes[1] - slopes[0]):.3f} ms a page\n")
    figure("crawl --depot: the shipping's own threads", "ms CPU a page", 1e3 * slopes[2], size=f"{many:,} pages")


def crawls(folder: Path, pages: int, repeat: int) -> tuple[float, float, float, float]:
    """CPU-seconds of a crawl without a depot, with one, of the threads of its shipping; tablets looked at by these."""
    store, depot = folder / "store", folder / "depot"
    plain, backed, own = [], [], []
    with crawl_site.serve(pages):
        for _ in range(repeat):
            plain.append(measure("fyke", fyke_words(store, 1), folder, pages, 900).cpu)
            shutil.rmtree(store)
            words = [*fyke_words(store, 1), "--depot", str(depot)]
            backed.append(measure("fyke", words, folder, pages, 900).cpu)
            for made in (store, depot):
                shutil.rmtree(made)
            done = subprocess.run(
                [sys.executable, "-c", OWN, *words[3:]], capture_output=True, text=True, check=True, cwd=folder
            )
            own.append(json.loads(done.stderr.splitlines()[-1]))
            for made in (store, depot):
                shutil.rmtree(made)
    return min(plain), min(backed), *min(own)


OWN = """
import sys, threading, time, json
from fyke.store import shipping, shipper
spent, lock = {}, threading.Lock()
calls = []
def timed(of, name):
    work = getattr(of, name)
    def call(*args):
        began = time.thread_time()
        try:
            return work(*args)
        finally:
            with lock:
                spent[name] = spent.get(name, 0.0) + time.thread_time() - began
                calls.append(name)
    setattr(of, name, call)
timed(shipper.Shipper, "step"); timed(shipper.Shipper, "_sweep")
timed(shipping.Shipping, "_put_store_files"); timed(shipping.Shipping, "_rest")
from fyke.cli import main
try:
    main()
finally:
    print(json.dumps([sum(spent.values()), calls.count("step")]), file=sys.stderr)
"""


def takeover(folder: Path, megabytes: int) -> None:
    """How long a tablet takes from the depot until it can be written."""
    store, url, chance = folder / "store", str(folder / "depot"), random.Random(1)
    shutil.rmtree(url, ignore_errors=True)
    Store.open(store, settings=Settings(tablets=1)).close()
    with Store.open(store, log_ttl=LOG_TTL) as opened, Shipping(opened, prepare(store, url)) as shipping:
        for number in range(megabytes * 50):
            opened.put(f"http://host-{number % 50}.test/{number}", raw=chance.randbytes(20_000))
            if number % 500 == 0:
                shipping.settle()
    shutil.rmtree(store)
    os.sync()
    began, cpu = time.perf_counter(), time.process_time()
    size = fetch(Depot.open(url), folder / "fetched")
    with Store.open(folder / "fetched") as opened:
        rows = sum(1 for _ in opened.scan(parts=()))
    took, spent = time.perf_counter() - began, time.process_time() - cpu
    print(
        f"a tablet of {size / 1e6:,.0f} MB ({rows:,} rows) fetched, replayed and open: {took:.1f} s, {spent:.1f} s CPU"
    )
    figure("a tablet fetched from a depot and opened", "s", took, size=f"{size / 1e6:,.0f} MB")


if __name__ == "__main__":
    main()
