"""Scratch folders and stores: nobody else's, and nothing of a killed process stays."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fyke import scratch
from fyke.errors import StorageError
from fyke.scratch import Scratch
from fyke.store import Store

KILLED = """
import sys, time
from fyke.scratch import Scratch
kept = Scratch("test", sys.argv[1])
(kept.path / "data").write_text("x")
print(kept.path, flush=True)
time.sleep(1000)
"""


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    words = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        left = Path(process.stdout.readline().strip())
        with Scratch("test", tmp_path) as own:
            assert (left / "data").exists(), "it is in use"
            assert stat.S_IMODE(own.stat().st_mode) == 0o700
        process.send_signal(signal.SIGKILL)
    scratch._swept.clear()  # what another process would do
    (tmp_path / "fyke-mine").mkdir()
    with Scratch("test", tmp_path) as own:
        assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted(["fyke-mine", own.name])
    assert [entry.name for entry in tmp_path.iterdir()] == ["fyke-mine"], "what is no scratch folder stays"


def test_a_store_is_its_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with Store.open(tmp_path / "store") as store:
            store.put("http://a.test/", text="secret")
        with Store.open(tmp_path / "store", "r") as store:
            assert store.get("http://a.test/")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "store").stat().st_mode) == 0o700


def test_a_folder_that_everybody_may_write_to_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store").chmod(0o777)
    with pytest.raises(StorageError, match="chmod o-w"):
        Store.open(tmp_path / "store")


def test_a_folder_of_another_user_is_no_store_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "store").mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(StorageError, match="belongs to another user"):
        Store.open(tmp_path / "store")


def test_one_that_was_swept_before_it_was_locked_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = fcntl.flock
    swept: list[Path] = []

    def late(file: int, how: int) -> None:
        if not swept:  # another process looks just now
            swept.extend(tmp_path.glob("fyke-*"))
            shutil.rmtree(swept[0])
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with Scratch("test", tmp_path) as own:
        assert own.exists()
        assert own not in swept
