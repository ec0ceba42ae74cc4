"""Whole crawls over real sockets, as processes: several agents, kill -9 and resume, clean stops."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from fyke.store import Store
from fyke.world.config import WorldConfig
from fyke.world.serve import Served, serve

# What takes time on purpose is off: delays, slow hosts, retries, formats that worker processes convert.
QUICK = WorldConfig(hosts=25, pages=250, formats=False, robots=False, slow=False, flaky=False, changes=False)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve(QUICK) as served:
        yield served


def command(served: Served, store: Path, *options: str) -> list[str]:
    words = [sys.executable, "-m", "fyke", "crawl", *served.world.seeds, "--store", str(store), "--json"]
    words += ["--scope", "any", "--delay", "0", "--patience", "1", *options]
    return words + [word for pair in served.resolve() for word in ("--resolve", pair)]


def stored(store: Path) -> set[str]:
    with Store.open(store, "r") as reader:
        return {row.url for row in reader.scan(parts=()) if row.meta.status == 200 and not row.meta.error}


def run(words: list[str]) -> dict[str, object]:
    result = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    assert result.returncode == 0, result.stderr
    summary: dict[str, object] = json.loads(result.stdout)
    return summary


@pytest.mark.parametrize("agents", [1, 4])
def test_all_that_is_expected_is_fetched_once(served: Served, tmp_path: Path, agents: int) -> None:
    served.log()
    summary = run(command(served, tmp_path / "s", "--agents", str(agents)))
    expected = served.world.expected(served.world.seeds)
    assert expected.pages <= stored(tmp_path / "s")
    assert summary["queued"] == 0
    assert summary["pages"] == len(stored(tmp_path / "s"))
    visits = Counter((visit.host, visit.target) for visit in served.log())
    assert [v for v, count in visits.items() if count > 1] == []


def test_kill_9_of_the_whole_tree_loses_nothing(served: Served, tmp_path: Path) -> None:
    served.log()
    chance = random.Random(5)
    words = command(served, tmp_path / "s", "--agents", "2")
    kills = 0
    for _ in range(2):
        crawl = subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wanted = len(served.log()) + chance.randrange(20, 120)
        seen = 0
        while crawl.poll() is None and seen < wanted:
            seen += len(served.log())
            time.sleep(0.02)
        kills += crawl.poll() is None
        os.killpg(crawl.pid, signal.SIGKILL)
        crawl.wait()
        words = [sys.executable, "-m", "fyke", "resume", "--store", str(tmp_path / "s"), "--json"]
    assert kills, "at least one run was really killed"
    run(words)
    assert served.world.expected(served.world.seeds).pages <= stored(tmp_path / "s")


def test_max_pages_is_a_total_and_the_rest_stays_queued(served: Served, tmp_path: Path) -> None:
    for total, agents in ((30, 2), (70, 1)):
        summary = run(command(served, tmp_path / "s", "--agents", str(agents), "--max-pages", str(total)))
        assert summary["pages"] == total
    assert isinstance(summary["queued"], int)
    assert summary["queued"] > 0


def test_ctrl_c_stops_cleanly_and_status_tells(served: Served, tmp_path: Path) -> None:
    words = command(served, tmp_path / "s", "--agents", "2", "--delay", "0.2")
    crawl = subprocess.Popen(words, start_new_session=True, stdout=subprocess.PIPE, text=True)
    status = [sys.executable, "-m", "fyke", "status", "--store", str(tmp_path / "s"), "--json"]
    for _ in range(200):
        asked = subprocess.run(status, capture_output=True, text=True, check=False)
        if asked.returncode == 0 and json.loads(asked.stdout)["pages"] > 5:
            break
        time.sleep(0.1)
    assert json.loads(asked.stdout)["running"]
    os.killpg(crawl.pid, signal.SIGINT)
    out, _ = crawl.communicate(timeout=10)
    assert crawl.returncode == 0
    summary = json.loads(out)
    assert not summary["finished"]
    assert summary["pages"] == len(stored(tmp_path / "s"))
