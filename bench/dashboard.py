"""The live page: how soon it is there at many rows, what it costs while somebody looks, what a crawl loses by it.

``python -m bench.dashboard [--rows 1000000] [--looks 30] [--rounds 3]``. Rows have a title, a type, a language and a
line of text. The crawl beside it is of ``bench.crawl_site``, with and without a page that follows its events.
"""

from __future__ import annotations

import argparse
import json
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from bench import crawl_site
from bench.crawl import Run, fyke_words, measure
from bench.measure import figure, table
from fyke.store import Change, RowMeta, Settings, Store
from fyke.url import Url

STEP = 2_000


def fill(path: Path, rows: int) -> None:
    """Make a store of so many rows."""
    with Store.open(path, settings=Settings(tablets=8)) as store:
        for begin in range(0, rows, STEP):
            for number in range(begin, min(begin + STEP, rows)):
                url = Url(f"http://h{number % 997}.example/{number:07}")
                meta = RowMeta(title=f"Page {number}", status=200, type="text/html", language="en", fetched=1.7e9)
                tablet = store.tablet(store.tablet_of(url.key))
                tablet.put(url.key, Change(meta=meta, text=f"The line of page {number}."), 1_700_000_000_000_000)


@contextmanager
def served(store: Path) -> Iterator[tuple[psutil.Process, int, str]]:
    """A dashboard: its process, port and cookie."""
    words = [sys.executable, "-m", "fyke", "dashboard", "--store", str(store), "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            told = json.loads(process.stdout.readline())
            port = int(told["origin"].rstrip("/").rpartition(":")[2])
            head = ask(port, f"/?t={told['token']}").partition(b"\r\n\r\n")[0].decode()
            cookie = next(line for line in head.split("\r\n") if line.lower().startswith("set-cookie"))
            yield psutil.Process(process.pid), port, cookie.split(": ", 1)[1].partition(";")[0]
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()


def ask(port: int, path: str, cookie: str = "") -> bytes:
    """Ask for a page, and return all that comes."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(_request(port, path, cookie))
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def _request(port: int, path: str, cookie: str) -> bytes:
    lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: close", "Sec-Fetch-Site: same-origin"]
    return "\r\n".join([*lines, *([f"Cookie: {cookie}"] if cookie else []), "", ""]).encode()


def follow(port: int, cookie: str, until: threading.Event) -> threading.Thread:
    """Read the events of a page as a tab does, until told."""

    def read() -> None:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.settimeout(0.5)
            connection.sendall(_request(port, "/events", cookie))
            while not until.is_set():
                try:
                    if not connection.recv(65_536):
                        return
                except TimeoutError:
                    continue

    thread = threading.Thread(target=read)
    thread.start()
    return thread


def pages(store: Path, looks: float) -> None:
    """The time of each page, then CPU and memory while one is open."""
    rows: list[list[object]] = []
    with served(store) as (process, port, cookie):
        url = "http://h1.example/0000001"
        for path in ("/", "/hosts", "/errors", "/search", "/duplicates", "/search?words=77777", f"/doc?url={url}"):
            times = []
            for _ in range(3):
                began = time.perf_counter()
                answer = ask(port, path, cookie)
                times.append(time.perf_counter() - began)
                assert answer.startswith(b"HTTP/1.1 200"), answer[:200]
            rows.append([path, f"{times[0]:.3f}", f"{min(times):.3f}", f"{len(answer) / 1000:.0f}"])
        until = threading.Event()
        thread = follow(port, cookie, until)
        time.sleep(3)
        before = sum(process.cpu_times()[:2])
        time.sleep(looks)
        cpu = (sum(process.cpu_times()[:2]) - before) / looks
        until.set()
        thread.join()
        memory = process.memory_full_info()
    print(table(["page", "seconds, first time", "seconds, best of 3", "KB"], rows))
    print(
        f"one tab open: {cpu:.2%} of a core; memory {memory.rss / 1e6:.0f} MB resident, {memory.pss / 1e6:.0f} MB PSS"
    )
    figure("the live page, one tab open", "MB", memory.rss / 1e6)


def beside(folder: Path, count: int, rounds: int) -> None:
    """Pages a second and CPU of a crawl, alone and with a tab open; the best of some rounds."""
    runs: dict[str, list[Run]] = {"alone": [], "with a tab open": []}
    with crawl_site.serve(count):
        for number in range(rounds):
            for name, found in runs.items():
                found.append(_crawl(folder / f"crawl-{number}-{len(name)}", count, name != "alone"))
    rates = {name: max(run.pages / run.seconds for run in found) for name, found in runs.items()}
    rows: list[list[object]] = [[name, f"{rate:.0f}"] for name, rate in rates.items()]
    print(table(["a crawl, 1 agent", "pages/s, best"], rows))
    print(f"lost: {1 - rates['with a tab open'] / rates['alone']:.1%}")


def _crawl(store: Path, count: int, looked_at: bool) -> Run:
    until = threading.Event()
    looking: list[threading.Thread] = []

    def look() -> None:
        while not (store / "status").exists() and not until.is_set():
            time.sleep(0.05)
        if until.is_set():
            return
        with served(store) as (_, port, cookie):
            follow(port, cookie, until).join()

    if looked_at:
        looking.append(threading.Thread(target=look))
        looking[0].start()
    try:
        return measure("fyke", fyke_words(store, 1), store.parent, count, 600)
    finally:
        until.set()
        for thread in looking:
            thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--looks", type=float, default=30.0)
    parser.add_argument("--pages", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.rows:
            began = time.process_time()
            fill(Path(folder) / "store", given.rows)
            print(f"{given.rows:,} rows made in {time.process_time() - began:.0f} CPU s", flush=True)
            pages(Path(folder) / "store", given.looks)
        if given.rounds:
            beside(Path(folder), given.pages, given.rounds)


if __name__ == "__main__":
    main()
