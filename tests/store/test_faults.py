"""kill -9, full disks, foreign and damaged directories: nothing acknowledged is lost, nothing is torn, all is named."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from fyke.errors import StorageError, UserError
from fyke.store import Settings, Store
from fyke.store.maintenance import check
from fyke.store.manifest import NAME, VERSION
from tests.store.writer_process import body, row_url

ROOT = Path(__file__).parents[2]
ROUNDS = 20


def start_writer(path: Path, first: int, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.store.writer_process", str(path), str(first), str(count)],
        stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip


def test_twenty_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    chance = random.Random(20)
    path = tmp_path / "s"
    acknowledged: set[int] = set()
    first = 0
    for _ in range(ROUNDS):
        writer = start_writer(path, first, 100_000)
        assert writer.stdout is not None
        wanted = chance.randrange(1, 150)
        for line in writer.stdout:
            acknowledged.add(int(line))
            first = int(line) + 1
            wanted -= 1
            if wanted == 0:
                break
        writer.send_signal(signal.SIGKILL)
        rest = writer.stdout.read().split("\n")
        acknowledged.update(int(line) for line in rest[:-1])
        first = max(acknowledged) + 2  # the one after may have been written, too
        writer.wait()
        writer.stdout.close()
    with Store.open(path) as store:
        for number in acknowledged:
            row = store.get(row_url(number))
            assert row is not None, f"row {number} is lost"
            assert (row.raw, row.text, row.meta.depth) == (body(number), f"text {number}", number)
            assert row.links[0].text == row.anchors[0].text == str(number)
        rows = list(store.scan(parts=()))
        assert len(acknowledged) <= len(rows) <= len(acknowledged) + ROUNDS
        queued = sum(1 for tablet in store.tablets() for _ in tablet.items("queue"))
        counted = sum(tablet.ledger.counter("rows") for tablet in store.tablets())
        assert queued == counted == len(rows)  # all families have the same batches
        found = check(store)
        assert (found.faults, found.named) == (0, [])


def test_a_reader_follows_a_writer_of_twenty_thousand_rows(tmp_path: Path) -> None:
    path, count = tmp_path / "s", 20_000
    with Store.open(path, settings=Settings(tablets=2)):
        pass
    writer = start_writer(path, 0, count)
    assert writer.stdout is not None
    seen_early = lag = 0
    with Store.open(path, mode="r") as reader:
        for line in writer.stdout:
            number = int(line)
            if number % 2000 == 1999:
                # What was acknowledged is seen at the next look, which is at most STALE seconds away.
                for tablet in reader.tablets():
                    tablet.refresh()
                row = reader.get(row_url(number))
                assert row is not None
                assert (row.raw, row.text) == (body(number), f"text {number}")
                rows = reader.multi_get([row_url(n) for n in range(number - 50, number)])
                assert [r and r.meta.depth for r in rows] == list(range(number - 50, number))
                scanned = sum(1 for _ in reader.scan(host="host3.example", parts=()))
                lag = max(lag, (number + 1) // 7 - scanned)
                seen_early += 1
        writer.wait()
        writer.stdout.close()
        for tablet in reader.tablets():
            tablet.refresh()
        assert sum(1 for _ in reader.scan(parts=())) == count
    assert seen_early == 10
    assert lag <= 1


class Late:
    """A family of which a reader sees nothing before it has looked again: its writer puts its log into a file."""

    def __init__(self, tablet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self._family, self._refresh, self._seen = tablet._db.families["page"], tablet._db.refresh, False
        monkeypatch.setitem(tablet._db.families, "page", self)
        monkeypatch.setattr(tablet._db, "refresh", self.refresh)

    def refresh(self) -> None:
        self._refresh()
        self._seen = True

    def get(self, key: bytes) -> bytes | None:
        return self._family.get(key) if self._seen else None


def test_a_reader_that_sees_a_row_before_its_page_looks_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
        store.put("http://a.example/1", raw=b"1")
        with Store.open(tmp_path / "s", mode="r") as reader:
            Late(next(reader.tablets()), monkeypatch)
            row = reader.get("http://a.example/1")
            assert row is not None
            assert row.raw == b"1"


class Overtaken:
    """A reader's database, which read the list of files just before its writer moved the log into a file."""

    def __init__(self, db: Any, writer: Any) -> None:
        self._db, self._writer = db, writer

    def try_catch_up_with_primary(self) -> None:
        if self._writer is None:
            self._db.try_catch_up_with_primary()
        else:
            for family in self._writer.families.values():
                family.flush()
            self._writer = None


def test_a_reader_misses_nothing_that_moves_while_it_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
        store.put("http://a.example/1", raw=b"1")
        with Store.open(tmp_path / "s", mode="r") as reader:
            (own,), (followed,) = (list(each.tablets()) for each in (store, reader))
            store.put("http://a.example/2", raw=b"2")
            monkeypatch.setattr(followed._db, "_db", Overtaken(followed._db._db, own._db))
            followed.refresh()
            assert reader.get("http://a.example/2") is not None
            monkeypatch.undo()


def test_a_reader_looks_again_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
        store.put("http://a.example/1", raw=b"1")
        with Store.open(tmp_path / "s", mode="r") as reader:
            assert reader.get("http://a.example/1") is not None
            store.put("http://a.example/2", raw=b"2")
            now[0] += 1.0
            assert [r is not None for r in reader.multi_get(["http://a.example/1", "http://a.example/2"])] == [
                True,
                True,
            ]
            assert len(list(reader.scan())) == 2


def test_a_row_is_never_seen_torn(tmp_path: Path) -> None:
    """One thread rewrites a row, keeping one version; another reads it: every read is one of the writes, whole."""
    url = "http://a.example/"
    with Store.open(tmp_path / "s", settings=Settings(tablets=1, keep_versions=1)) as store:
        store.put(url, raw=b"0", text="0", title="0")
        ended = threading.Event()

        def write() -> None:
            for n in range(1, 600):
                store.put(url, raw=b"%d" % n, text=f"{n}", title=f"{n}")
            ended.set()

        thread = threading.Thread(target=write)
        thread.start()
        reads = 0
        while not ended.is_set() or reads < 50:
            for row in (store.get(url), next(iter(store.scan())), store.multi_get([url])[0]):
                assert row is not None
                assert row.raw is not None
                assert row.raw.decode() == row.text == row.title
                reads += 1
        thread.join()


def test_read_modify_write_cannot_interleave(tmp_path: Path) -> None:
    url = "http://a.example/"
    with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
        store.put(url, raw=b"0")

        def count() -> None:
            for _ in range(100):
                with store.locked(url):
                    row = store.get(url)
                    assert row is not None
                    assert row.raw is not None
                    store.put(url, raw=b"%d" % (int(row.raw) + 1))

        threads = [threading.Thread(target=count) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        row = store.get(url)
        assert row is not None
        assert row.raw == b"300"
        assert len(row.versions) == 301


FULL = """
import os, resource, signal, sys
from pathlib import Path
from typing import Any
from fyke.errors import StorageError
from fyke.store import Settings, Store

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = Store.open(Path(sys.argv[1]), settings=Settings(tablets=1))
store.put("http://a.example/first", raw=b"first", sync=True)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
number = 0
try:
    while number < 1000:
        store.put(f"http://a.example/{number}", raw=os.urandom(5000))
        number += 1
        print(number, flush=True)
except StorageError as error:
    print(error, file=sys.stderr)
    os._exit(3)
"""


def test_a_full_disk_stops_the_writer_and_loses_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "s")], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 3, done.stderr
    assert "full; free some space" in done.stderr
    acknowledged = int(done.stdout.split()[-1])
    assert 10 < acknowledged < 1000
    with Store.open(tmp_path / "s") as store:
        for number in range(acknowledged):
            row = store.get(f"http://a.example/{number}")
            assert row is not None
            assert row.raw is not None
            assert len(row.raw) == 5000
        assert check(store).faults == 0
        store.put("http://a.example/after", raw=b"goes on")


def test_directories_that_are_no_store_are_named(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("x")
    with pytest.raises(StorageError, match="other things in it"):
        Store.open(foreign)
    with pytest.raises(StorageError, match="does not exist"):
        Store.open(tmp_path / "nowhere", mode="r")
    with pytest.raises(StorageError, match="is not a store"):
        Store.open(foreign, mode="r")
    assert [file.name for file in foreign.iterdir()] == ["thesis.tex"]


def test_manifests_that_cannot_be_understood_are_named(tmp_path: Path) -> None:
    path = tmp_path / "s"
    Store.open(path, settings=Settings(tablets=1)).close()
    whole = (path / NAME).read_text()
    for manifest, message in [
        (whole.replace(f'"version": {VERSION}', '"version": 9'), "has version 9 of the format"),
        (whole.replace('"fyke-store"', '"other"'), "is of the format 'other'"),
        (whole[:20], "is damaged"),
        (whole.replace('"tablets": 1', '"tablets": "one"'), "is damaged"),
    ]:
        assert manifest != whole
        (path / NAME).write_text(manifest)
        for mode in ("r", "w"):
            with pytest.raises(StorageError, match=message):
                Store.open(path, mode=mode)


def test_a_missing_tablet_is_named(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with Store.open(path, settings=Settings(tablets=2)) as store:
        store.put("http://a.example/", raw=b"x")
    (path / "tablet-01").rename(tmp_path / "lost")
    for mode in ("r", "w"):
        with pytest.raises(StorageError, match="tablet-01 is missing"):
            Store.open(path, mode=mode)


def test_a_flipped_bit_is_found(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with Store.open(path, settings=Settings(tablets=1)) as store:
        for number in range(40):
            store.put(f"http://a.example/{number}", raw=os.urandom(3000))
    largest = max((path / "tablet-00").glob("*.sst"), key=lambda file: file.stat().st_size)
    data = bytearray(largest.read_bytes())
    data[len(data) // 2] ^= 1
    largest.write_bytes(data)
    with Store.open(path, mode="r") as store:
        found = check(store)
    assert found.faults
    assert "damaged" in found.named[0]


def test_large_bodies_and_long_urls(tmp_path: Path) -> None:
    large = b"0123456789" * 10_000_000
    long = "http://a.example/" + "x" * 32_000
    with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
        store.put("http://a.example/large", raw=large)
        store.put(long, raw=b"long")
        with pytest.raises(UserError, match="the limit is"):
            store.put("http://a.example/" + "x" * 64_000, raw=b"")
        row = store.get("http://a.example/large")
        assert row is not None
        assert row.raw == large
        row = store.get(long)
        assert row is not None
        assert row.raw == b"long"


def test_the_limit_of_open_files_is_raised(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
    try:
        with Store.open(tmp_path / "s", settings=Settings(tablets=1)):
            assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == hard
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_file_system_without_direct_writes_holds_a_store(tmp_path: Path) -> None:
    if shutil.which("unshare") is None or os.geteuid():
        pytest.skip("a file system of its own needs Linux and root")
    mount = f'mount -t ramfs ramfs "{tmp_path}"'
    if subprocess.run(["unshare", "--mount", "sh", "-c", mount], capture_output=True, check=False).returncode:
        pytest.skip("no ramfs can be mounted here")
    write = f'"{sys.executable}" -m tests.store.writer_process "{tmp_path}/s" 0 50'
    look = f'"{sys.executable}" -m fyke store check --store "{tmp_path}/s" --json'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f"{mount} && {write} >/dev/null && {look}"],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["rows"], told["faults"]) == (50, 0)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["more", "fewer"])
def test_a_split_killed_at_any_step_loses_nothing(kind: str) -> None:
    """Rows written and deleted after the crash, where that is allowed, are those of the model when it is finished."""
    memory = Path("/dev/shm")  # kill -9 spares what the system holds, and syncing to a disk is what would take time
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        done = subprocess.run(
            [sys.executable, "-m", "tests.store.split_process", folder, kind],
            capture_output=True, text=True, cwd=ROOT, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    assert {name for _, name, _ in steps} >= {"mkdir", "rename", "fsync", "write", "unlink"}
    assert [step for step in steps if step[2]] == []
