"""``--watch``: real files, the real inotify; what is told is stored, and what is not told is found all the same."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from fyke.cli import desktop_
from fyke.desktop import plan as plans
from fyke.desktop.run import Desktop, root_of
from fyke.desktop.throttle import Machine, Throttle, give_back
from fyke.desktop.watch import SYSCTL, Events, Watcher
from fyke.desktop.watching import Watching, is_running, read_status
from fyke.errors import DiskFullError
from fyke.store import Store
from fyke.store.imports.files import path_of
from fyke.url import Url
from tests.desktop.helpers import CONVERTER, refuse

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify is Linux's")


class Watched:
    """A watch over a folder, in this process."""

    def __init__(self, folder: Path, limit: int | None = None, pressed: bool = False) -> None:
        self.root, self.path = folder / "home", folder / "store"
        self.store: Store = plans.open_store(self.path)
        self.plan = plans.read(self.path).extended([root_of(str(self.root))], self.store.secret)
        plans.write(self.path, self.plan)
        self.desktop = Desktop(self.store, self.plan, CONVERTER)
        self.watcher = Watcher(limit)
        (folder / "cpu").write_text(f"some avg10={90 if pressed else 0}.00 avg60=0.00 avg300=0.00 total=1\n")
        self.watching = Watching(
            self.desktop, self.watcher, Throttle(1.0, True, Machine(folder / "none", folder)), self.path
        )
        self.watching.begin(list(self.plan.roots), refuse)

    def live(self) -> dict[str, str]:
        rows = [row for row in self.store.scan() if row.meta.error != "gone" and "!/" not in row.url]
        return {str(path_of(Url(row.url)).relative_to(self.root)): (row.whole or "").strip() for row in rows}

    def until(self, wanted: Callable[[dict[str, str]], bool]) -> dict[str, str]:
        """Take turns until it is so; pytest's own deadline ends what never is."""
        while not wanted(found := self.live()):
            self.watching.turn(0.5)
        return found

    def close(self) -> None:
        self.watcher.__exit__()
        self.store.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / "sub" / "inner").mkdir(parents=True)
    (folder / "a.txt").write_text("the first text")
    (folder / "sub" / "b.txt").write_text("the second text")
    (folder / "sub" / "inner" / "c.txt").write_text("the third text")
    return folder


@pytest.fixture
def watched(home: Path) -> Iterator[Watched]:
    made = Watched(home.parent)
    made.until(lambda live: len(live) == 3)
    yield made
    made.close()


def test_what_is_done_to_files_is_followed(watched: Watched) -> None:
    home = watched.root
    (home / "a.txt").write_text("written anew")
    watched.until(lambda live: live["a.txt"] == "written anew")
    (home / "x" / "y" / "z").mkdir(parents=True)
    (home / "x" / "y" / "z" / "deep.txt").write_text("in folders that came at once")
    watched.until(lambda live: "x/y/z/deep.txt" in live)
    (home / "x" / "y" / "z" / "deep.txt").write_text("these are watched, too")
    watched.until(lambda live: live["x/y/z/deep.txt"].startswith("these"))
    (home / "sub" / "b.txt").rename(home / "b2.txt")
    watched.until(lambda live: "b2.txt" in live and "sub/b.txt" not in live)
    (home / "sub").rename(home / "other")
    watched.until(lambda live: "other/inner/c.txt" in live and "sub/inner/c.txt" not in live)
    assert watched.desktop.report.moved == 2
    (home / "other" / "inner" / "c.txt").write_text("after the move")
    watched.until(lambda live: live["other/inner/c.txt"] == "after the move")
    (home / "b2.txt").unlink()
    shutil.rmtree(home / "other")
    assert set(watched.until(lambda live: len(live) == 2)) == {"a.txt", "x/y/z/deep.txt"}
    (home / "a.new").write_text("saved as editors do")
    (home / "a.new").rename(home / "a.txt")
    watched.until(lambda live: live == {"a.txt": "saved as editors do", "x/y/z/deep.txt": "these are watched, too"})


def test_what_is_ignored_is_neither_watched_nor_kept(watched: Watched) -> None:
    home = watched.root
    watches = len(watched.watcher)
    (home / "node_modules" / "deep").mkdir(parents=True)
    (home / "node_modules" / "deep" / "x.txt").write_text("nobody wants this")
    (home / ".fykeignore").write_text("inner/\n")
    watched.until(lambda live: set(live) == {"a.txt", "sub/b.txt"})
    assert len(watched.watcher) <= watches
    (home / ".fykeignore").unlink()
    watched.until(lambda live: set(live) == {"a.txt", "sub/b.txt", "sub/inner/c.txt"})
    (home / "sub" / ".nosearch").touch()
    watched.until(lambda live: set(live) == {"a.txt"})


def test_what_the_kernel_dropped_is_found(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        (watched.root / f"{number}.txt").write_text("while nobody listened")
    (watched.root / "a.txt").unlink()
    watched.watcher.events(0)  # they are lost
    events = watched.watcher.events
    monkeypatch.setattr(watched.watcher, "events", lambda wait: Events(overflow=True))
    watched.watching.turn(0)
    monkeypatch.setattr(watched.watcher, "events", events)
    found = watched.until(lambda live: len(live) == 22)
    assert "a.txt" not in found


def test_a_root_that_is_away_is_no_deletion(watched: Watched) -> None:
    away = watched.root.rename(watched.root.with_name("away"))
    for _ in range(3):
        watched.watching.turn(0.2)
    assert len(watched.live()) == 3
    assert watched.watching.status().waits_for == "folder"
    watched.watching._look_at_all()
    assert len(watched.live()) == 3
    (away / "a.txt").write_text("written elsewhere")
    away.rename(watched.root)
    watched.watching._rescan_some()
    watched.until(lambda live: live["a.txt"] == "written elsewhere")
    (watched.root / "a.txt").write_text("and watched again")
    watched.until(lambda live: live["a.txt"] == "and watched again")


def test_folders_beyond_the_limit_are_rescanned_and_told(home: Path) -> None:
    os.utime(home / "sub" / "inner", (2e9, 2e9))
    watched = Watched(home.parent, limit=1)
    try:
        watched.until(lambda live: len(live) == 3)
        assert SYSCTL in watched.watching.status().complaint
        assert (len(watched.watcher), watched.watching.status().unwatched) == (1, 2)
        (home / "sub" / "inner" / "c.txt").write_text("the folder that changed last is watched")
        watched.until(lambda live: live["sub/inner/c.txt"].startswith("the folder"))
        (home / "a.txt").write_text("and this one is not")
        watched.watching.turn(0.1)
        watched.watching._rescan_some()
        watched.until(lambda live: live["a.txt"] == "and this one is not")
    finally:
        watched.close()


def test_what_is_saved_goes_before_the_backlog(home: Path) -> None:
    for number in range(100):
        (home / f"{number}.txt").write_text(f"number {number}")
    watched = Watched(home.parent, pressed=True)
    try:
        (home / "saved.txt").write_text("saved while the machine is busy")
        assert watched.until(lambda live: "saved.txt" in live) == {"saved.txt": "saved while the machine is busy"}
        status = watched.watching.status()
        assert (status.state, status.waits_for, status.queued) == ("waiting", "cpu", 103)
        (home.parent / "cpu").write_text("some avg10=0.00")
        watched.until(lambda live: len(live) == 104)
    finally:
        watched.close()


def test_memory_that_is_given_back_comes_again(watched: Watched) -> None:
    give_back()
    (watched.root / "p.html").write_text("<title>T</title><p>a page that is read after a rest</p>")
    found = watched.until(lambda live: "p.html" in live)
    assert "read after a rest" in found["p.html"]


def test_a_watch_outlives_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("fyke.cli.desktop_.time.sleep", waits.append)
    failures = [DiskFullError("the disk is full"), DiskFullError("the disk is full")]

    def once() -> None:
        if failures:
            raise failures.pop()

    desktop_.again_when_full(once)
    assert len(waits) == 2


def test_a_watch_of_its_own_process(home: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    command = [sys.executable, "-P", "-m", "fyke", "desktop", str(home), "--store", str(store), "--watch", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, umask=0o022)
    try:
        assert process.stdout is not None
        assert msgspec.json.decode(process.stdout.readline())["new"] == 3
        (home / "saved.txt").write_text("saved by the user")

        def stored() -> bool:
            with Store.open(store, mode="r") as opened:
                return opened.get((home / "saved.txt").as_uri()) is not None

        while not stored():
            assert process.poll() is None
        assert is_running(store)
        readable = [path for path in (store, *store.rglob("*")) if path.stat().st_mode & 0o077]
        assert readable == [], "nobody else reads what is private"
        assert os.getpriority(os.PRIO_PROCESS, process.pid) == 19
        while (found := read_status(store)) is None or found.state != "watching":
            time.sleep(0.05)
        assert found.watched == 3
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
        assert not is_running(store)
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
