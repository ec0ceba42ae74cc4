"""A tablet is made by its first write: until then it is an empty folder, which reads as empty."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rocksdict import Options, Rdict

from fyke.errors import StorageError
from fyke.store import Settings, Store, Tablet

URLS = [f"http://host-{n}.example/" for n in range(40)]


def made(store: Path) -> list[str]:
    return sorted(path.parent.name for path in store.glob("tablet-*/CURRENT"))


def test_a_store_of_one_host_has_one_tablet_made(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=Settings(tablets=16)) as store:
        assert [store.tablet(n).get("queue", b"m") for n in store.owned] == [None] * 16
        assert (list(store), store.get(URLS[0]), list(store.hosts()), list(store.tablets())) == ([], None, [], [])
        store.sync()
        for number in store.owned:
            store.tablet(number).compact()
        store.put(URLS[0], raw=b"1")
        own = f"tablet-{store.tablet_of(URLS[0]):02}"
        assert [tablet.path.name for tablet in store.tablets()] == [own]
    assert made(tmp_path / "s") == [own]
    with Store.open(tmp_path / "s", mode="r") as reader:
        assert [row.raw for row in reader] == [b"1"]
        assert reader.get(URLS[1]) is None
    with Store.open(tmp_path / "s") as store:
        assert [row.raw for row in store] == [b"1"]
        for url in URLS:
            store.put(url, raw=b"2")
    with Store.open(tmp_path / "s", mode="r") as reader:
        assert sorted(row.url for row in reader) == sorted(URLS)


def test_what_comes_first_is_there_with_the_first_write_and_not_before(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
        tablet = store.tablet(0)
        put_first(tablet, b"one")
        put_first(tablet, b"two")
        assert (made(tmp_path / "s"), tablet.get("queue", b"one")) == ([], None)
        tablet.write(tablet.batch())  # which holds nothing
        assert not tablet.was_written
        store.put(URLS[0], raw=b"1")
        assert (tablet.get("queue", b"one"), tablet.get("queue", b"two")) == (b"", b"")
        put_first(tablet, b"three")
        assert tablet.get("queue", b"three") == b""


def put_first(tablet: Tablet, key: bytes) -> None:
    batch = tablet.batch()
    batch.put("queue", key, b"")
    tablet.write_first(batch)


def test_what_comes_first_is_not_lost_where_it_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(raw: object, sync: bool) -> None:
        raise StorageError("the disk is full")

    with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
        tablet = store.tablet(0)
        put_first(tablet, b"one")
        with monkeypatch.context() as patched:
            patched.setattr(tablet._db, "write", fail)
            with pytest.raises(StorageError, match="full"):
                store.put(URLS[0], raw=b"1")
        store.put(URLS[0], raw=b"2")
        assert tablet.get("queue", b"one") == b""


def test_a_tablet_that_is_being_made_reads_as_empty(tmp_path: Path) -> None:
    """What a reader meets beside a writer, or after one that was killed: a RocksDB without its families."""
    Store.open(tmp_path / "s", settings=Settings(tablets=1)).close()
    folder = tmp_path / "s" / "tablet-00"
    Rdict(str(folder), Options(raw_mode=True)).close()
    for options in folder.glob("OPTIONS-*"):
        options.unlink()
    with Store.open(tmp_path / "s", mode="r") as reader:
        assert (list(reader), reader.get(URLS[0])) == ([], None)
        with Store.open(tmp_path / "s") as store:
            assert list(store) == []
            store.put(URLS[0], raw=b"1")
            assert [row.raw for row in reader] == [b"1"]


WRITER = """
import sys
from fyke.store import Store
store = Store.open(sys.argv[1])
print("open", flush=True)
for n in range(40):
    store.put(f"http://host-{n}.example/", raw=b"%d" % n)
    print(n, flush=True)
"""


@pytest.mark.parametrize("seen", [0, 1, 2, 5, 11])
def test_a_writer_killed_while_tablets_are_made_loses_nothing_that_was_put(tmp_path: Path, seen: int) -> None:
    path = tmp_path / "s"
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for _ in range(seen + 1):
            writer.stdout.readline()
        os.kill(writer.pid, signal.SIGKILL)
        put = seen + len(writer.stdout.read().split())
    with Store.open(path, mode="r") as reader:
        found = [row and row.raw for row in reader.multi_get(URLS[:put])]
        assert found == [b"%d" % n for n in range(put)]
    with Store.open(path) as store:
        for url in URLS:
            store.put(url, raw=b"x")
        assert len(list(store)) == len(URLS)
