"""Local files: what a first scan costs, a scan of nothing new, a save under ``--watch``, and doing nothing.

``python -m bench.desktop [--files 50000] [--folder DIR] [--saves 60] [--idle 60]``. Without ``--folder`` the files are
small texts in folders of a hundred; with it, a copy of that folder (files are saved in it). CPU seconds are those of
all processes; *start-up* is what ``fyke desktop`` costs on an empty folder.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from bench.measure import figure, table
from fyke.desktop.plan import is_desktop
from fyke.desktop.watching import read_status
from fyke.store import Store
from fyke.store.imports.files import file_url

WORDS = [first + middle + last for first in "bcdfghkl" for middle in ("ar", "el", "in", "o") for last in ("d", "st")]
FYKE = [sys.executable, "-P", "-m", "fyke"]


def make(folder: Path, count: int) -> None:
    """Write so many small texts, some with the tags of a page."""
    chance = random.Random(7)
    for number in range(count):
        if number % 100 == 0:
            (here := folder / f"{number // 10_000:02}" / f"{number // 100:04}").mkdir(parents=True)
        lines = [" ".join(chance.choices(WORDS, k=12)) for _ in range(chance.randrange(5, 35))]
        (here / f"{number}.txt").write_text(f"Note {number}\n\n" + "\n".join(lines) + "\n")


def cpu_of(words: list[str]) -> tuple[float, dict[str, object], int]:
    """CPU seconds of a command and of all that it started, what it printed, and its most memory in MB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*FYKE, *words], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, msgspec.json.decode(done.stdout or b"{}"), after.ru_maxrss // 1024


def cpu_now(process: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(process: int) -> tuple[float, float]:
    """MB of a process and its children: resident, and its part of what is shared (PSS)."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    rss = pss = 0.0
    for each in (str(process), *children):
        for line in Path(f"/proc/{each}/smaps_rollup").read_text().splitlines():
            rss += int(line.split()[1]) / 1024 if line.startswith("Rss:") else 0
            pss += int(line.split()[1]) / 1024 if line.startswith("Pss:") else 0
    return rss, pss


def saves(folder: Path, store: Path, count: int) -> list[float]:
    """Seconds from the end of a save until a reader of the store has what was saved."""
    chance, took = random.Random(3), []
    files = sorted(path for path in folder.rglob("*.txt") if path.is_file() and not path.is_symlink())
    chance.shuffle(files)  # each once: a file that is saved every other second is left until it rests
    with Store.open(store, mode="r") as opened:
        for number in range(count):
            mark = f"saved {number} {chance.random()}"
            path = files.pop() if number % 2 else folder / f"new {number}.txt"
            path.write_text(f"{mark}\nand more\n")
            began = time.monotonic()
            while True:
                for tablet in opened.tablets():
                    tablet.refresh()
                row = opened.get(file_url(path))
                if row is not None and (row.whole or "").startswith(mark):
                    break
                time.sleep(0.01)
            took.append(time.monotonic() - began)
            time.sleep(chance.random() * 0.3)
    return took


def watch(folder: Path, store: Path, count: int, idle: float) -> dict[str, float]:
    """Watch a folder while files are saved, then while nothing happens."""
    process = subprocess.Popen([*FYKE, "desktop", str(folder), "--store", str(store), "--watch"])
    try:
        while not is_desktop(store) or (found := read_status(store)) is None or found.process != process.pid:
            time.sleep(0.1)
        while (found := read_status(store)) is None or found.state != "watching":
            time.sleep(0.2)
        took = sorted(saves(folder, store, count))
        time.sleep(30)  # it comes to rest, and gives memory back
        before = cpu_now(process.pid)
        time.sleep(idle)
        rss, pss = memory(process.pid)
        return {
            "median": statistics.median(took),
            "p95": took[int(len(took) * 0.95) - 1],
            "slowest": took[-1],
            "idle": (cpu_now(process.pid) - before) / idle * 100,
            "rss": rss,
            "pss": pss,
            "watched": found.watched,
        }
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--saves", type=int, default=60)
    parser.add_argument("--idle", type=float, default=60.0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home, store, empty = Path(scratch) / "home", Path(scratch) / "store", Path(scratch) / "empty"
        if chosen.folder is not None:
            shutil.copytree(chosen.folder, home, symlinks=True)
        else:
            make(home, chosen.files)
        empty.mkdir()
        time.sleep(2)
        cpu_of(["desktop", str(empty), "--store", str(empty / "s"), "--json"])
        start = min(cpu_of(["desktop", str(empty), "--store", str(empty / "s"), "--json"])[0] for _ in range(3))
        first, report, peak = cpu_of(["desktop", str(home), "--store", str(store), "--json"])
        again = min(cpu_of(["desktop", str(home), "--store", str(store), "--json"])[0] for _ in range(3))
        size = sum(file.stat().st_size for file in store.rglob("*") if file.is_file())
        found = watch(home, store, chosen.saves, chosen.idle)
    files = int(str(report["files"]))
    rows = [
        ["first scan, CPU s", first], ["start-up, CPU s", start], ["nothing new, CPU s beyond start-up", again - start],
        ["most memory of a process of the first scan, MB", peak], ["store, MB", size / 1e6],
        ["save → stored, s, median", found["median"]], ["save → stored, s, p95", found["p95"]],
        ["save → stored, s, slowest", found["slowest"]], ["idle, % of a core", found["idle"]],
        ["idle, MB resident", found["rss"]], ["idle, MB (PSS)", found["pss"]], ["folders watched", found["watched"]],
    ]  # fmt: skip
    print(table([f"{files:,} files, {int(str(report['bytes'])) / 1e6:,.1f} MB", "fyke"], rows))
    print(f"\nleft out: {report['left_out']}\nwithout text: {report['errors']}")
    figure("local files: first scan", "CPU s", first, size=f"{files:,} files")
    figure("local files: a scan of nothing new", "CPU s", again - start, size=f"{files:,} files")
    figure("local files: save to stored, p95", "s", found["p95"], size=f"{files:,} files")


if __name__ == "__main__":
    main()
