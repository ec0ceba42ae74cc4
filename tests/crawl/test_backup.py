"""Crawls that are backed up to a depot (``--depot``): the machine is lost, and nothing that was crawled is."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fyke.cli import run as fyke_command
from fyke.crawl.run import status as statuses
from fyke.store import EXACT, Store
from fyke.world.serve import Served, serve
from tests.crawl.test_crawl import QUICK, command, run, run_here, stored
from tests.json_schemas import faults


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve(QUICK) as served:
        yield served


def rows(path: Path) -> dict[str, tuple[object, ...]]:
    """Every document, its body, its links and what points at it."""
    with Store.open(path, "r") as store:
        return {
            row.url: (row.meta.status, row.meta.digest, row.raw, row.text, len(row.links), len(row.anchors))
            for row in store
        }


def test_a_machine_that_is_lost_loses_no_page(
    served: Served, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Several agents, kill -9 and the store gone, twice; the last run has everything, and so has the depot."""
    chance, depot = random.Random(11), str(tmp_path / "depot")
    for turn in range(2):
        store = tmp_path / f"s{turn}"
        words = command(served, store, "--agents", "2", "--depot", depot, "--delay", "1")
        crawl = subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        served.log()
        wanted = chance.randrange(30, 60)
        while wanted > 0:
            assert crawl.poll() is None, crawl.stderr and crawl.stderr.read()
            wanted -= len(served.log())
            time.sleep(0.02)
        told = statuses.total(statuses.read(store), time.time()).depot
        assert told is not None
        assert (told.url, told.silent) == (depot, False)
        os.killpg(crawl.pid, signal.SIGKILL)
        crawl.communicate()
        shutil.rmtree(store)
        assert fyke_command(["store", "fetch", depot, str(tmp_path / f"s{turn + 1}"), "--json"]) == 0
        said = capfd.readouterr().out
        assert json.loads(said)["bytes"] > 0
        assert faults("store-fetch", said) == []
        assert len(stored(tmp_path / f"s{turn + 1}")) >= 5 * turn
    store = tmp_path / "s2"
    summary = run(command(served, store, "--agents", "2", "--depot", depot))
    assert summary["backed_up"] is True
    assert served.world.expected(served.world.seeds).pages <= stored(store)
    assert summary["queued"] == 0
    assert fyke_command(["store", "check", "--depot", depot, "--json"]) == 0
    assert faults("store-check", capfd.readouterr().out) == []
    assert fyke_command(["store", "fetch", depot, str(tmp_path / "last")]) == 0
    assert rows(tmp_path / "last") == rows(store)
    with Store.open(store, "r") as reader:
        copies = [row for row in reader.scan(parts=()) if row.meta.duplicate_by == EXACT]
        assert copies
        for row in copies:
            original = reader.get(row.meta.duplicate_of)
            assert original is not None
            assert row.raw == original.raw


def test_a_resume_goes_on_with_the_depot_and_an_old_copy_does_not(
    served: Served, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    summary = run_here(served, tmp_path / "s", depot="depot", max_pages=20)  # from any folder it is this one
    assert summary["backed_up"] is True
    shutil.copytree(tmp_path / "s", tmp_path / "old")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    summary = run_here(served, tmp_path / "s", depot=str(tmp_path / "depot"), max_pages=40)
    assert (summary["pages"], summary["backed_up"]) == (40, True)
    capfd.readouterr()
    assert fyke_command(["resume", "--store", str(tmp_path / "old")]) == 1
    assert "is not what the depot" in capfd.readouterr().err
    assert not list((tmp_path / "elsewhere").iterdir())
    assert fyke_command(["status", "--store", str(tmp_path / "s"), "--json"]) == 0
    said = capfd.readouterr().out
    assert json.loads(said)["depot"]["url"] == str(tmp_path / "depot")
    assert faults("status", said) == []
    assert fyke_command(["status", "--store", str(tmp_path / "s")]) == 0
    said = capfd.readouterr().out
    assert "s behind" in said
    assert all(line == line.rstrip() for line in said.splitlines()), "another program reads it: no blanks at the end"
    assert fyke_command(["store", "fetch", str(tmp_path / "depot"), str(tmp_path / "back")]) == 0
    assert rows(tmp_path / "back") == rows(tmp_path / "s")


def test_a_depot_that_cannot_be_had_is_told_at_once(
    served: Served, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    for depot, status in (("ftp://x/y", 2), (str(tmp_path / "file" / "x"), 1)):
        assert fyke_command(["crawl", *served.world.seeds, "--store", str(tmp_path / "s"), "--depot", depot]) == status
        assert "depot" in capfd.readouterr().err
    for words in (["check", str(tmp_path)], ["fetch", str(tmp_path), str(tmp_path / "n")]):
        assert fyke_command(["store", *words]) == 1
        assert "holds no depot" in capfd.readouterr().err
