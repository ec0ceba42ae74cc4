"""After ``fyke warm all`` no command compiles anything: the workloads know every kernel and its types."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fyke.bits import jit, kernelcache
from fyke.cli import warming, workloads

pytestmark = pytest.mark.skipif(not jit.JIT, reason="nothing is compiled")

Fyke = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def fyke(tmp_path: Path) -> Fyke:
    """Run a command; what it compiles is noted in ``log``."""

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "fyke", *map(str, words)],
            cwd=tmp_path, env={**os.environ, "FYKE_KERNEL_LOG": str(tmp_path / "log")},
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.mark.timeout(900)
def test_after_warm_no_command_compiles(fyke: Fyke, tmp_path: Path) -> None:
    """The cache is that of all tests, so that a warm one makes this quick."""
    told = json.loads(subprocess.run(
        [sys.executable, "-m", "fyke", "warm", "all", "--json"], capture_output=True, check=True, timeout=800
    ).stdout)  # fmt: skip
    assert told["for"] == "all"
    page = workloads.page(tmp_path, "page.html", 3)
    from fyke.world.config import WorldConfig
    from fyke.world.serve import serve

    with serve(WorldConfig(hosts=3, pages=30, slow=False, flaky=False)) as served:
        resolve = [word for pair in served.resolve() for word in ("--resolve", pair)]
        fyke(
            "crawl", *served.world.seeds, "--store", "store", "--scope", "any", "--delay", "0.01", "--patience", "1",
            "--agents", "2", *resolve,
        )  # fmt: skip
    fyke("extract", page)
    fyke("extract", page, "--method", "all")
    fyke("extract", page, "--favour", "precision", "--to", "markdown")
    fyke("convert", page)
    fyke("dedupe", "store")
    fyke("dedupe", "store", "--method", "simhash")
    fyke("archive", "build", "made", "--store", "store", "--min-documents", "2")
    fyke("archive", "show", "made")
    fyke("graph", "stats", "made/graph")
    fyke("graph", "rank", "made/graph")
    fyke("simulate", "made", "--policy", "bfs", "--policy", "opic")
    fyke("export", "out.warc.gz", "--store", "store")
    fyke("export", "out.jsonl", "--store", "store")
    log = tmp_path / "log"
    assert not log.exists(), log.read_text()


@pytest.mark.timeout(600)
def test_what_is_killed_while_it_compiles_leaves_a_cache_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed three times, whole tree: what is whole is used, what is not is compiled, no file is torn."""
    folder = tmp_path / "cache" / "kernels"
    monkeypatch.setenv("FYKE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # a killed process leaves its scratch folder behind
    workloads.page(tmp_path, "page.html", 0)
    for kernels, words in ((0, ("warm", "extract")), (1, ("warm", "extract")), (1, ("extract", "page.html"))):
        process = subprocess.Popen([sys.executable, "-m", "fyke", *words], cwd=tmp_path, start_new_session=True)
        while not folder.is_dir() or len(compiled(folder)) < kernels:
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(0.5 * kernels)  # in the middle of something
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert warming.needed("extract"), "no mark was left"
    kept = {path.name: path.stat().st_mtime_ns for path in compiled(folder)}
    done = subprocess.run(
        [sys.executable, "-m", "fyke", "extract", "page.html"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert workloads.text(0) in done.stdout
    assert kept.items() <= {path.name: path.stat().st_mtime_ns for path in compiled(folder)}.items()


def test_workloads_end_with_who_started_them(tmp_path: Path) -> None:
    """Killed with -9, ``fyke warm`` leaves nobody who goes on compiling."""
    own = {**os.environ, "FYKE_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    warm = subprocess.Popen([sys.executable, "-m", "fyke", "warm", "all"], env=own, start_new_session=True)
    children = Path(f"/proc/{warm.pid}/task/{warm.pid}/children")
    if not children.parent.is_dir():
        warm.kill()
        pytest.skip("who is whose child is read from /proc")
    while len(started := [int(pid) for pid in children.read_text().split()]) < 2 - (os.cpu_count() == 1):
        assert warm.poll() is None
        time.sleep(0.01)
    os.kill(warm.pid, signal.SIGKILL)
    warm.wait()
    while any(Path(f"/proc/{pid}").is_dir() and warm.pid == os.getpgid(pid) for pid in started):
        time.sleep(0.01)
    assert not list(tmp_path.glob("cache/kernels/fyke.*")), "they went on to the end"


def test_a_wheels_kernels_count_where_they_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of other sources, of another compiler or for another processor, they are as if they were not there."""
    monkeypatch.setenv("FYKE_CACHE_DIR", str(tmp_path / "own"))
    monkeypatch.setattr(kernelcache, "SHIPPED", tmp_path / "compiled")
    monkeypatch.setattr(jit, "is_portable", lambda: True)
    (tmp_path / "compiled").mkdir()
    (tmp_path / "compiled" / "warm-all-0123").touch()
    assert warming.needed("crawl")
    (tmp_path / "compiled" / warming._mark("all")).touch()
    assert not warming.needed("crawl")
    monkeypatch.setattr(jit, "is_portable", lambda: False)
    assert warming.needed("crawl")


def compiled(folder: Path) -> list[Path]:
    """List the kernels that are whole."""
    return [path for path in folder.iterdir() if not path.name.startswith(("lock-", "warm-")) and path.suffix != ".tmp"]


def test_a_mark_says_that_a_set_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FYKE_CACHE_DIR", str(tmp_path))
    assert warming.needed("crawl")
    kernelcache.save(warming._mark("all"), b"")
    assert not warming.needed("crawl")
    assert not warming.needed("extract")


def test_sets_name_workloads() -> None:
    assert {work for works in warming.SETS.values() for work in works} == set(workloads.WORKLOADS)
