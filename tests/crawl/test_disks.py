"""A disk that fills or fails in the middle of a crawl: nothing is lost.

The crawl waits for room on a full disk and goes on by itself; one that fails ends it with a sentence, and a resume goes
on.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.crawl.disks import FAULTS, PAGES

ROOT = Path(__file__).parent.parent.parent


def crawled(words: list[str], **environment: str) -> Any:
    done = subprocess.run(
        words, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=800
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def came_to(told: Any) -> tuple[int, int, int, int, int, int]:
    """How the crawl ended and in how many lines, what the check said, how the resume ended and with which pages."""
    faults = json.loads(told["check"])["faults"]
    lines = len(told["said"].strip().splitlines())
    return told["ended"], lines, told["checked"], faults, told["resumed"], told["pages"]


SURVIVED = (1, 1, 0, 0, 0, PAGES + 1)


def test_a_disk_that_fills_and_is_freed(tmp_path: Path) -> None:
    tried = ["unshare", "--mount", "mount", "-t", "tmpfs", "-o", "size=60m", "tmpfs", str(tmp_path)]
    if shutil.which("unshare") is None or subprocess.run(tried, capture_output=True, check=False).returncode:
        pytest.skip("a small file system needs Linux and root")
    script = 'mount -t tmpfs -o size=60m tmpfs "$0" && exec "$1" -m tests.crawl.disks full "$0"'
    told = crawled(["unshare", "--mount", "sh", "-c", script, str(tmp_path), sys.executable])
    said = [line for line in told["said"].splitlines() if "compiling kernels" not in line]
    assert ["is full; the crawl goes on once there is room" in said[0], "the crawl goes on" in said[-1]] == [True, True]
    assert came_to(told) == (0, 2, 0, 0, 0, PAGES + 1), told["said"]


def test_a_disk_that_fails_and_is_mended(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("a disk that fails needs Linux and a C compiler")
    (tmp_path / "faults.c").write_text(FAULTS)
    library = tmp_path / "faults.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, tmp_path / "faults.c", "-ldl"], check=True)
    told = crawled(
        [sys.executable, "-m", "tests.crawl.disks", "broken", str(tmp_path)],
        LD_PRELOAD=str(library),
        FAULTY_FOLDER=str(tmp_path),
    )
    assert "fails (IO error" in told["said"]
    assert came_to(told) == SURVIVED, told["said"]
