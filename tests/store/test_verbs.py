"""A store's everyday verbs: delete, prune, merge, backup, restore; and threads that share one."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from fyke.cli import run as fyke_command
from fyke.errors import UserError
from fyke.store import Settings, Store
from fyke.store import tablet as tablets
from fyke.store.copying import copy_store, merge
from fyke.store.deleting import delete, prune
from fyke.store.maintenance import check
from fyke.url import Url
from tests.store.copies import mark_copy

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
BODY = b"<p>the same words</p>" * 20
Seen = list[tuple[str, int, object, str | None, str]]


def filled(path: Path, tablets: int = 3) -> Store:
    """Three hosts with three pages of three versions each, a page that all share, one annotation, some anchors."""
    store = Store.open(path, settings=Settings(tablets=tablets))
    for host in ("a.test", "b.test", "c.test"):
        for number in range(3):
            for taken in range(3):
                body = b"%s %d %d" % (host.encode(), number, taken)
                store.put(f"http://{host}/{number}", raw=body, text=body.decode(), response_head=HEAD,
                          fetched=1000 * (taken + 1), links=[f"http://{host}/elsewhere"])  # fmt: skip
        store.put(f"http://{host}/same", raw=BODY, response_head=HEAD, fetched=5000)
        store.put(f"http://{host}/0", anchors={"http://x.test/": f"to {host}"})
    store.put("http://a.test/1", title="by hand", fetched=9000)
    for host in ("b.test", "c.test"):
        mark_copy(store, f"http://{host}/same", "http://a.test/same")
    return store


def seen(store: Store) -> Seen:
    return [
        (version.url, version.stamp, version.page, version.text, version.title)
        for row in store.scan()
        for version in row.history()
    ]


def test_delete_by_host_prefix_and_time(tmp_path: Path) -> None:
    with filled(tmp_path / "s") as store:
        assert delete(store, host="a.test") == 4
        assert {Url(row.url).host for row in store.scan()} == {"b.test", "c.test"}
        assert store.get("http://a.test/0") is None, "its anchors go, too"
        assert [store.get(f"http://{host}/same").raw for host in ("b.test", "c.test")] == [BODY, BODY]  # type: ignore[union-attr]
        assert delete(store, prefix="http://b.test/s") == 1
        assert store.get("http://c.test/same").raw == BODY  # type: ignore[union-attr]
        assert delete(store, before=4000) == 6
        assert [row.url for row in store.scan()] == ["http://c.test/same"]
        assert check(store).named == []


def test_prune_by_number_and_time(tmp_path: Path) -> None:
    with filled(tmp_path / "s") as store:
        assert prune(store, keep=2) == 10  # the annotated page has four
        assert prune(store, before=3000, host="b.test") == 3
        assert [len(row.versions) for row in store.scan(host="b.test")] == [1, 1, 1, 1]
        assert store.get("http://a.test/1").raw == b"a.test 1 2"  # type: ignore[union-attr]
        assert check(store).named == []


@pytest.mark.parametrize("keep", [0, 9])
def test_merge_takes_every_version_once(tmp_path: Path, keep: int) -> None:
    with filled(tmp_path / "s") as store:
        whole = seen(store)
        anchors = [row.anchors for row in store.scan()]
        with Store.open(tmp_path / "t", settings=Settings(tablets=5, keep_versions=keep)) as target:
            target.put("http://a.test/1", raw=b"between", response_head=HEAD, fetched=4000)
            first = merge(target, store)
            assert (first.rows, first.known) == (12, 0)
            mine = [each for each in seen(target) if each[1] != 4_000_000_000]
            assert sorted(mine, key=repr) == sorted(whole, key=repr)
            assert sorted((row.anchors for row in target.scan()), key=repr) == sorted(anchors, key=repr)
            before = seen(target)
            again = merge(target, store)
            assert (again.versions, again.known) == (0, first.versions)
            assert seen(target) == before
            assert check(target).named == []


def test_backup_and_restore(tmp_path: Path) -> None:
    with filled(tmp_path / "s") as store:
        whole = seen(store)
        stop = threading.Event()
        beside = threading.Thread(target=write_until, args=(store, stop))
        beside.start()
        try:
            copy_store(tmp_path / "s", tmp_path / "backup")  # while it is written
        finally:
            stop.set()
            beside.join()
    with pytest.raises(UserError, match="is there already"):
        copy_store(tmp_path / "s", tmp_path / "backup")
    copy_store(tmp_path / "backup", tmp_path / "restored")
    for path in (tmp_path / "backup", tmp_path / "restored"):
        with Store.open(path) as copy:
            assert check(copy).named == []
            assert [each for each in seen(copy) if "late.test" not in each[0]] == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup", "restored", "s"]


def write_until(store: Store, stop: threading.Event) -> None:
    number = 0
    while not stop.is_set():
        store.put(f"http://late.test/{number % 50}", raw=b"late %d" % number)
        number += 1


def test_the_commands(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    filled(tmp_path / "s").close()
    s, t, u = (str(tmp_path / name) for name in "stu")
    assert fyke_command(["store", "backup", t, "--store", s]) == 0
    assert fyke_command(["store", "delete", "--store", s]) == 2
    assert fyke_command(["store", "delete", "--host", "a.test", "--store", s]) == 2, "nobody is there to say yes"
    capfd.readouterr()
    assert fyke_command(["store", "delete", "--host", "a.test", "--store", s, "--yes", "--json"]) == 0
    assert capfd.readouterr().out == '{"rows":4}\n'
    assert fyke_command(["store", "prune", "--keep", "1", "--store", s, "--json"]) == 0
    assert capfd.readouterr().out == '{"versions":12}\n'
    assert fyke_command(["store", "merge", t, "--store", s, "--json"]) == 0
    assert '"rows":12,"versions":23' in capfd.readouterr().out
    assert fyke_command(["store", "restore", t, "--store", u]) == 0
    assert fyke_command(["store", "restore", t, "--store", u]) == 2
    assert fyke_command(["store", "check", "--store", s]) == 0


def test_a_new_store_is_its_owners_alone(tmp_path: Path) -> None:
    Store.open(tmp_path / "deep" / "s", settings=Settings(tablets=1)).close()
    assert (tmp_path / "deep" / "s").stat().st_mode & 0o777 == 0o700


def test_threads_share_a_store_from_its_first_touch(tmp_path: Path) -> None:
    for attempt in range(3):
        with Store.open(tmp_path / str(attempt), settings=Settings(tablets=4)) as store:
            gate = threading.Barrier(8)
            failed: list[object] = []

            def work(
                number: int, gate: threading.Barrier = gate, store: Store = store, failed: list[object] = failed
            ) -> None:
                gate.wait()
                try:
                    for page in range(5):
                        store.put(f"http://h{page}.test/{number}", raw=b"x")
                except Exception as error:
                    failed.append(error)

            threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert failed == []
            assert len(list(store.scan())) == 40


def test_a_put_is_synced_though_nothing_follows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = threading.Event()
    with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
        store.tablet(0)
        monkeypatch.setattr(tablets.Tablet, "sync", lambda _: synced.set())
        store.put("http://a.test/", raw=b"x")
        assert synced.wait(30)


def test_readers_leave_nothing_in_the_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    with Store.open(tmp_path / "s", settings=Settings(tablets=2)) as store:
        store.put("http://a.test/", raw=b"x")
        reader = Store.open(tmp_path / "s", mode="r")
        assert reader.get("http://a.test/") is not None
        assert list((tmp_path / "temporary").iterdir()) == [], "also if it were killed now"
        store.put("http://a.test/", raw=b"y")
        deadline = time.monotonic() + 30
        while reader.get("http://a.test/").raw != b"y" and time.monotonic() < deadline:  # type: ignore[union-attr]
            pass
        assert reader.get("http://a.test/").raw == b"y"  # type: ignore[union-attr]
        reader.close()


def test_what_cannot_be_read_again_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tablets, "MAX_CELL", 1000)
    with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
        store.put("http://a.test/", raw=b"x" * 900)
        with pytest.raises(UserError, match="too large"):
            store.put("http://a.test/", raw=b"x" * 2000)
        assert store.get("http://a.test/").raw == b"x" * 900  # type: ignore[union-attr]


def test_get_and_multi_get_agree_on_rows_with_anchors_alone(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=Settings(tablets=2)) as store:
        store.put("http://a.test/", anchors={"http://b.test/": "text"})
        store.put("http://c.test/", raw=b"x")
        urls = ["http://a.test/", "http://none.test/", "http://c.test/"]
        found = store.multi_get(urls)
        for url, row in zip(urls, found, strict=True):
            one = store.get(url)
            assert (row and (row.url, row.anchors, row.raw)) == (one and (one.url, one.anchors, one.raw))
        assert [row is not None for row in found] == [True, False, True]
