"""The store by URL: what a user puts is what a user gets."""

from __future__ import annotations

import random
import time
import weakref
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fyke.errors import StorageError, UserError
from fyke.spawning import cores
from fyke.store import RowMeta, Settings, Store, manifest
from fyke.url import Url
from fyke.values import Link, Meta

URL = "http://www.example.com/test.html"
SMALL = Settings(tablets=2)


def test_put_and_get_every_part(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=SMALL) as store:
        store.put(
            URL,
            raw=b"<TITLE>Tropical Fish Store</TITLE>",
            text="Tropical Fish Store",
            title="Tropical Fish Store",
            links=["fish.html", ("/tank.html", "tanks"), Link(Url.parse("http://other.example/"), "o", "nofollow")],
            anchors={"http://a.example/": "fish shop"},
            fetched=datetime(1997, 1, 1, 1, 31, 45, tzinfo=UTC),
            response_head=b"HTTP/1.0 200 OK\r\nContent-type: text/html\r\n\r\n",
            columns={"rank:page": b"0.25"},
        )
    with Store.open(tmp_path / "s") as store:
        row = store.get(URL)
        assert row is not None
        assert (row.url, row.raw, row.text, row.title) == (
            URL, b"<TITLE>Tropical Fish Store</TITLE>", "Tropical Fish Store", "Tropical Fish Store")  # fmt: skip
        assert [(link.target.href, link.text, link.rel) for link in row.links] == [
            ("http://www.example.com/fish.html", "", ""),
            ("http://www.example.com/tank.html", "tanks", ""),
            ("http://other.example/", "o", "nofollow"),
        ]
        assert [(a.source, a.text) for a in row.anchors] == [("http://a.example/", "fish shop")]
        assert row.versions == [datetime(1997, 1, 1, 1, 31, 45, tzinfo=UTC)]
        assert (row.meta.status, row.meta.type, row.meta.length) == (200, "text/html", 34)
        assert row.columns == {"rank:page": b"0.25"}
        assert store.get("http://www.example.com/other") is None


def test_a_closed_store_leaves_no_log_to_replay_in_any_tablet(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=Settings(tablets=8)) as store:
        for n in range(40):
            store.put(f"http://h{n}.example/", raw=b"%d" % n * 1000, text="some words", links=["/x"])
        logs = [*(tmp_path / "s").rglob("*.log")]
        assert sum(path.stat().st_size for path in logs) > 8_000
    assert [path for path in (tmp_path / "s").rglob("*.log") if path.stat().st_size] == []
    with Store.open(tmp_path / "s", mode="r") as reader:
        assert {row.raw for row in reader.scan()} == {b"%d" % n * 1000 for n in range(40)}


def test_an_idle_moment_moves_what_is_much_to_files_and_leaves_what_is_little(tmp_path: Path) -> None:
    def files() -> int:
        return sum(path.stat().st_size for path in (tmp_path / "s").rglob("*.sst"))

    body = random.Random(0).randbytes(300_000)
    with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
        store.put(URL, raw=body)
        store.ease()
        assert store.get(URL).raw == body  # type: ignore[union-attr]
        for n in range(10):
            store.put(f"{URL}/{n}", raw=body)
        assert files() == 0
        store.ease()
        deadline = time.monotonic() + 60
        while files() < 3_000_000 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert files() > 3_000_000
        assert store.get(f"{URL}/9").raw == body  # type: ignore[union-attr]


def test_second_writer_is_refused_and_a_reader_is_not(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=SMALL) as store:
        with pytest.raises(StorageError, match="being written by process"):
            Store.open(tmp_path / "s")
        store.put(URL, raw=b"1")
        with Store.open(tmp_path / "s", mode="r") as reader:
            row = reader.get(URL)
            assert row is not None
            assert row.raw == b"1"
            with pytest.raises(StorageError, match="being written by process"):
                Store.open(tmp_path / "s", settings=Settings(tablets=2, keep_versions=7))
            assert manifest.read(tmp_path / "s").settings == SMALL, "nobody's settings who has not the lock"
            with pytest.raises(UserError, match="open for reading"):
                reader.put(URL, raw=b"2")
    Store.open(tmp_path / "s").close()


def test_text_that_utf8_cannot_hold(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=SMALL) as store:
        store.put(
            URL,
            raw=b"x",
            text="a\ud800b",
            title="t\udfff",
            links=[("/x", "l\ud800")],
            anchors={"http://a.example/": "n\ud800"},
            meta=RowMeta(document=Meta(author="m\ud800")),
        )
        row = store.get(URL)
        assert row is not None
        assert (row.text, row.title, row.links[0].text, row.anchors[0].text) == ("a\ud800b", "t?", "l?", "n?")
        assert row.meta.document == Meta(author="m?")


def test_a_row_that_only_has_anchors(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=SMALL) as store:
        store.put(URL, anchors={"http://a.example/": "one"})
        store.put(URL, anchors={"http://b.example/": "two"})
        row = store.get(URL)
        assert row is not None
        assert (row.raw, row.text, row.versions, row.version) == (None, None, [], None)
        assert [anchor.text for anchor in row.anchors] == ["one", "two"]
        assert list(store.scan()) == []


def test_scan_by_host_and_prefix_across_tablets(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=Settings(tablets=5)) as store:
        urls = [f"{scheme}://h{h}.example{port}/{path}" for scheme, port in (("http", ""), ("https", ":8443"))
                for h in range(6) for path in ("", "a", "a/b", "ab")]  # fmt: skip
        for url in urls:
            store.put(url, raw=url.encode())
        assert {row.url for row in store} == set(urls)
        assert {row.url for row in store.scan(host="h3.example")} == {u for u in urls if "//h3." in u}
        assert [row.url for row in store.scan("http://h3.example/a")] == [
            "http://h3.example/a", "http://h3.example/a/b", "http://h3.example/ab"]  # fmt: skip
        found = store.multi_get([*reversed(urls), "http://none.example/"])
        assert [row and row.url for row in found] == [*reversed(urls), None]


def test_local_files_are_one_range_in_one_tablet(tmp_path: Path) -> None:
    files = [f"file:///home/u/{name}" for name in ("a/1.html", "a/2.html", "a/b/3.pdf", "a%20b/4.txt", "b/5.txt")]
    with Store.open(tmp_path / "s", settings=Settings(tablets=8)) as store:
        for n, url in enumerate((*files, "http://host.example/home/u/a/", "ftp://host.example/a")):
            store.put(url, raw=b"%d" % n)
        assert len({store.tablet_of(url) for url in files}) == 1
        assert [row.url for row in store.scan(prefix="file:///home/u/a/")] == files[:3]
        assert sorted(row.url for row in store.scan(prefix="file:///")) == sorted(files)
        assert len(list(store.scan())) == 7


def test_settings_may_change_but_say_so(tmp_path: Path) -> None:
    Store.open(tmp_path / "s", settings=Settings(tablets=1)).close()
    with Store.open(tmp_path / "s", settings=Settings(tablets=1, keep_versions=2)) as store:
        for number in range(4):
            store.put(URL, raw=b"%d" % number)
    with Store.open(tmp_path / "s") as store:
        assert store.settings.keep_versions == 2
        row = store.get(URL)
        assert row is not None
        assert len(row.versions) == 2


def test_a_sync_that_comes_late_finds_a_closed_store(tmp_path: Path) -> None:
    """A timer's thread that waits for its turn while the store is closed: nothing is left to sync."""
    store = Store.open(tmp_path / "s", settings=Settings(tablets=1))
    store.put("http://a.test/", raw=b"x")
    tablets = list(store.tablets())
    store.close()
    store._tablets.update(enumerate(tablets))  # as the thread sees them that has begun
    Store._sync_now(weakref.ref(store))  # which used the closed database
    assert store._timer is None


def test_a_part_that_no_document_has_is_refused(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        with pytest.raises(TypeError, match=r"no txt; it has raw, .*text"):
            store.put("http://a.test/", txt="misspelt")  # type: ignore[call-arg]
        assert store.get("http://a.test/") is None


def test_a_store_has_a_tablet_for_each_core_and_keeps_their_number(tmp_path: Path) -> None:
    with Store.open(tmp_path / "new") as store:
        assert store.settings.tablets == len(store.owned) == min(cores(), 16)
    Store.open(tmp_path / "old", settings=Settings(tablets=5)).close()
    with Store.open(tmp_path / "old", settings=Settings(keep_versions=2)) as store:
        assert (store.settings.tablets, store.settings.keep_versions) == (5, 2)
    with pytest.raises(StorageError, match="has 5 tablets, not 4"):
        Store.open(tmp_path / "old", settings=Settings(tablets=4))
