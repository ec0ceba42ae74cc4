"""After ``fyke warm all`` no command compiles anything: the workloads know every kernel and its types."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fyke import assemble
from fyke.bits import jit, warmed
from fyke.cli import warming, workloads

pytestmark = pytest.mark.skipif(not jit.JIT, reason="nothing is compiled")

COMMANDS = """
import sys
from fyke.cli import run

if __name__ == "__main__":  # agents import this anew
    for words in {commands}:
        assert run(list(words)) == 0, words
"""


@pytest.mark.timeout(900)
def test_after_warm_no_command_compiles(tmp_path: Path) -> None:
    """The cache is that of all tests, so that a warm one makes this quick."""
    told = json.loads(subprocess.run(
        [sys.executable, "-m", "fyke", "warm", "all", "--json"], capture_output=True, check=True, timeout=800
    ).stdout)  # fmt: skip
    assert told["for"] == "all"
    page = str(workloads.page(tmp_path, "page.html", 3))
    from fyke.world.config import WorldConfig
    from fyke.world.serve import serve

    with serve(WorldConfig(hosts=3, pages=30, slow=False, flaky=False)) as served:
        resolve = [word for pair in served.resolve() for word in ("--resolve", pair)]
        commands = [
            ("crawl", *served.world.seeds, "--store", "store", "--scope", "any", "--delay", "0.01", "--patience", "1",
             "--agents", "2", *resolve),
            ("extract", page),
            ("extract", page, "--method", "all"),
            ("extract", page, "--favour", "precision", "--to", "markdown"),
            ("convert", page),
            ("dedupe", "store"),
            ("dedupe", "store", "--method", "simhash"),
            ("archive", "build", "made", "--store", "store", "--min-documents", "2"),
            ("archive", "show", "made"),
            ("graph", "stats", "made/graph"),
            ("graph", "rank", "made/graph"),
            ("simulate", "made", "--policy", "bfs", "--policy", "opic"),
            ("export", "out.warc.gz", "--store", "store"),
            ("export", "out.jsonl", "--store", "store"),
        ]  # fmt: skip
        log = tmp_path / "log"
        (tmp_path / "commands.py").write_text(COMMANDS.format(commands=commands))
        subprocess.run(
            [sys.executable, "commands.py"], cwd=tmp_path, env={**os.environ, "FYKE_KERNEL_LOG": str(log)},
            stdout=subprocess.DEVNULL, check=True, timeout=850,
        )  # fmt: skip
    assert not log.exists(), log.read_text()


NOTING = """
import sys
from fyke.bits import kernelcache, warmed
warmed.become_workload()
real = kernelcache.load
noted = open("noted", "w", buffering=1)
kernelcache.load = lambda name, shipped: (print(name, file=noted), real(name, shipped))[1]
"""
WORKLOADS = """
from fyke.cli import warming, workloads
for name in ("crawl", "crawls"):
    assert not workloads.main([*warming.SETS[name]])
    print(file=noted)
"""
READING = """
import gzip
from pathlib import Path
from fyke.crawl.capture import Processor
from fyke.url import Url
from fyke.values import Exchange, Fetched

HEAD = b"HTTP/1.1 200 OK\\r\\nContent-Type: text/html; charset=utf-8\\r\\n\\r\\n"
for body in {pages}:
    exchange = Exchange(b"", HEAD, body, 200, 0.0, 0.0)
    Processor("").read_many([(Fetched(Url("http://a.test/"), exchange), 0, "text/html")])
print(file=noted)
"""
CRAWL = """
import fyke
from fyke.world.config import WorldConfig
from fyke.world.serve import serve

with serve(WorldConfig(hosts=3, pages=30, slow=False, flaky=False)) as served:
    common = dict(scope="any", delay=0.01, patience=1, agents=1, resolve=tuple(served.resolve()))
    for name, more in {"plain": {}, "quality": {"order": "quality"}, "topic": {"topic": "topic.toml"}}.items():
        assert fyke.crawl(served.world.seeds, name, **common, **more).pages > 30
        with fyke.DuplicateIndex(f"{name}/duplicates") as index:  # as a resumed crawl opens it
            assert len(index) > 10
        if name != "quality":
            print(file=noted)
"""


def looked_for(script: str, folder: Path) -> list[set[str]]:
    """Run a program; return the names of the kernels that it looked for by the end of each of its parts."""
    subprocess.run([sys.executable, "-c", NOTING + script], cwd=folder, check=True, timeout=850)
    *parts, rest = (folder / "noted").read_text().split("\n\n")
    assert not rest
    names: set[str] = set()
    return [names := names | {line for line in part.splitlines() if line.startswith("fyke.")} for part in parts]


@pytest.fixture(scope="module")
def ahead(tmp_path_factory: pytest.TempPathFactory) -> list[set[str]]:
    """The kernels that are compiled ahead of a plain crawl, and of any."""
    folder = tmp_path_factory.mktemp("ahead")
    return looked_for(WORKLOADS, folder)


def test_a_crawl_calls_no_kernel_that_its_workloads_do_not(tmp_path: Path, ahead: list[set[str]]) -> None:
    """Else it would be compiled in the middle of a first crawl, and hold its event loop."""
    (tmp_path / "topic.toml").write_text('name = "cooking"\nwords = ["recipe", "sauce"]\n')
    called = looked_for(CRAWL, tmp_path)
    assert 5 < len(called[0]) < len(called[1]), "a plain crawl, and those by other orders"
    assert [sorted(those - made) for those, made in zip(called, ahead, strict=True)] == [[], []]


def test_pages_that_want_a_closer_look_call_no_other_kernel(tmp_path: Path, ahead: list[set[str]]) -> None:
    """One real page in ten has text in noscript, an articleBody, comments that mark content, or no text."""
    pages = [markup.encode() for markup in workloads.ODD]
    called = looked_for(READING.format(pages=pages), tmp_path)[0]
    assert any(name.startswith("fyke.clean.model_kernels.judge") for name in called)
    assert sorted(called - ahead[0]) == []


def test_real_pages_call_no_other_kernel(tmp_path: Path, ahead: list[set[str]], shared_data: Path) -> None:
    files = sorted((shared_data / "extract").rglob("*.html.gz"))[::8]
    pages = f"[gzip.decompress(Path(file).read_bytes()) for file in {[str(file) for file in files]}]"
    called = looked_for(READING.format(pages=pages), tmp_path)[0]
    assert sorted(called - ahead[0]) == []


def test_a_crawl_of_the_library_is_warmed_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of the command: nothing is compiled once its loop runs."""
    asked: list[list[str]] = []

    def run(words: list[str], **options: object) -> subprocess.CompletedProcess[bytes]:
        asked.append(words[-2:])
        raise OSError("no process can be had")  # then it goes on all the same

    monkeypatch.setattr(warmed, "needed", lambda name: True)
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(assemble, "_crawl_here", stop)
    for order in ("breadth", "quality"):
        with pytest.raises(KeyboardInterrupt):
            assemble.crawl(["http://127.0.0.1/"], tmp_path / "s", agents=1, order=order)
    assert asked == [["warm", "crawl"], ["warm", "crawls"]]


def stop(*arguments: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.timeout(600)
def test_what_is_killed_while_it_compiles_leaves_a_cache_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed three times, whole tree: what is whole is used, what is not is compiled, no file is torn."""
    folder = tmp_path / "cache" / "kernels"
    monkeypatch.setenv("FYKE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # a killed process leaves its scratch folder behind
    (tmp_path / "texts").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "texts" / name).write_text(" ".join(workloads.WORDS))
    dedupe = ("dedupe", "texts", "--method", "simhash")  # a few kernels that are compiled soon
    for kernels, words in ((0, ("warm", "crawl")), (1, ("warm", "crawl")), (1, dedupe)):
        process = subprocess.Popen([sys.executable, "-m", "fyke", *words], cwd=tmp_path, start_new_session=True)
        while not folder.is_dir() or len(compiled(folder)) < kernels:
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(0.5 * kernels)  # in the middle of something
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert warmed.needed("crawl"), "no mark was left"
    kept = {path.name: path.stat().st_mtime_ns for path in compiled(folder)}
    done = subprocess.run(
        [sys.executable, "-m", "fyke", *dedupe], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "2 documents, 1 pairs" in done.stdout
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

    def is_of_warm(pid: int) -> bool:
        try:
            return os.getpgid(pid) == warm.pid
        except ProcessLookupError:
            return False

    os.kill(warm.pid, signal.SIGKILL)
    warm.wait()
    while any(map(is_of_warm, started)):
        time.sleep(0.01)
    assert not list(tmp_path.glob("cache/kernels/fyke.*")), "they went on to the end"


def compiled(folder: Path) -> list[Path]:
    """List the kernels that are whole."""
    return [path for path in folder.iterdir() if not path.name.startswith(("lock-", "warm-")) and path.suffix != ".tmp"]


def test_a_set_covers_those_within_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The crawl of a demo compiles nothing again."""
    monkeypatch.setenv("FYKE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(warming, "_run", lambda *arguments: None)
    assert warmed.needed("crawl")
    warming.warm("demo")
    assert [name for name in warming.SETS if warmed.needed(name)] == ["extract", "convert", "crawls", "all"]


def test_sets_name_workloads() -> None:
    assert {work for works in warming.SETS.values() for work in works} == set(workloads.WORKLOADS)
