"""Processes of ours run no code of the current folder, and a forked process converts as any other."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest

from fyke.convert import prepare
from fyke.spawning import safe_path
from fyke.workers.pool import Pool
from fyke.world.serve import serve

RTF = b"{\\rtf1\\ansi Hello \\b world\\b0 .}"
PLANTED = "import pathlib; pathlib.Path('ran').touch(); raise SystemExit(3)"
FORKED = """
import os, sys
import fyke
data = {data!r}
assert "Hello" in fyke.convert(data).text
child = os.fork()
if child == 0:
    os._exit(0 if "Hello" in fyke.convert(data).text else 1)
status = os.waitpid(child, 0)[1]
assert "Hello" in fyke.convert(data).text  # the parent's workers are still its own
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.fixture
def hostile_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with modules named like the standard library's."""
    for name in ("bz2", "zipfile", "csv", "signal", "pickle", "socket", "selectors"):
        (tmp_path / f"{name}.py").write_text(PLANTED)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_workers_run_no_code_of_the_current_folder(hostile_folder: Path) -> None:
    with Pool(size=1) as pool:
        assert "Hello" in pool.convert(prepare(RTF)).text
    assert not (hostile_folder / "ran").exists()


def test_a_world_runs_no_code_of_the_current_folder(hostile_folder: Path) -> None:
    with serve() as served:
        assert served.port
    assert not (hostile_folder / "ran").exists()


def test_spawned_agents_run_no_code_of_the_current_folder(hostile_folder: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(target=sys.exit, args=(7,))
    with safe_path():
        process.start()
    process.join()
    assert process.exitcode == 7
    assert not (hostile_folder / "ran").exists()


def test_a_forked_process_converts() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED.format(data=RTF)], timeout=800, check=False, capture_output=True
    )
    assert done.returncode == 0, done.stderr
