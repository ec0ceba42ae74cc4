"""A disk that fills, or fails, in the middle of a crawl: it ends with a sentence, nothing is lost, a resume goes on."""

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
        words, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def is_as_it_should(told: Any, sentence: str) -> None:
    assert told["ended"] == 1
    assert sentence in told["said"]
    assert "Traceback" not in told["said"]
    assert len(told["said"].strip().splitlines()) == 1, told["said"]
    assert told["checked"] == 0
    assert json.loads(told["check"])["faults"] == 0
    assert told["resumed"] == 0
    assert told["pages"] == PAGES + 1


def test_a_disk_that_fills_and_is_freed(tmp_path: Path) -> None:
    tried = ["unshare", "--mount", "mount", "-t", "tmpfs", "-o", "size=60m", "tmpfs", str(tmp_path)]
    if shutil.which("unshare") is None or subprocess.run(tried, capture_output=True, check=False).returncode:
        pytest.skip("a small file system needs Linux and root")
    script = 'mount -t tmpfs -o size=60m tmpfs "$0" && exec "$1" -m tests.crawl.disks full "$0"'
    told = crawled(["unshare", "--mount", "sh", "-c", script, str(tmp_path), sys.executable])
    is_as_it_should(told, "is full; free some space")


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
    is_as_it_should(told, "fails (IO error")
