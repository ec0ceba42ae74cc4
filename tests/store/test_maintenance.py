"""Dictionaries, statistics, check, compact and split."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from fyke.errors import StorageError
from fyke.frontier.keys import later_key, queue_key
from fyke.store import SEEN_MARK, Codec, Settings, Store, training
from fyke.store.cells import PAGE, cell_key, host_prefix
from fyke.store.maintenance import check, compact, scrub, stats
from fyke.store.manifest import tablet_of
from fyke.store.splitting import split
from fyke.url import Url

WORDS = [f"word{n}" for n in random.Random(1).sample(range(10**6), 3000)]


def templated(host: int, number: int) -> bytes:
    """A page of a site: the same furniture, words of its own."""
    furniture = " ".join(random.Random(host).choices(WORDS, k=250))
    own = " ".join(random.Random(number + 1).choices(WORDS, k=60))
    return f"<html><nav>{furniture}</nav><p>{own}</p></html>".encode()


def fill(store: Store, hosts: int, pages: int) -> None:
    for number in range(pages):
        for host in range(hosts):
            store.put(f"http://h{host}.example/{number}", raw=templated(host, number), text=f"t{number}")


def same(store: Store, hosts: int, pages: int) -> bool:
    rows = list(store.scan())
    expected = {f"http://h{h}.example/{n}": templated(h, n) for h in range(hosts) for n in range(pages)}
    return {row.url: row.raw for row in rows} == expected and [r.key for r in rows] == sorted(r.key for r in rows)


def test_a_host_gets_a_dictionary_and_old_cells_stay_readable(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
        fill(store, 1, 210)
        tablet = store.tablet(0)
        assert tablet.trainer is not None
        tablet.trainer.finish()
        before = next(iter(store.hosts()))
        assert before.dictionary
        for number in range(210, 260):
            store.put(f"http://h0.example/{number}", raw=templated(0, number))
        after = next(iter(store.hosts()))
        plain, packed = before.stored / before.pages, (after.stored - before.stored) / 50
        assert packed < plain / 1.6  # pages that the dictionary was not made from
        kinds = {value[0] for _, value in tablet.items(PAGE)}
        assert kinds == {2, 3}
        assert len(list(tablet.ledger.dictionaries())) == 1
        assert check(store).faults == 0
    with Store.open(tmp_path / "s", mode="r") as store:
        for number in (0, 259):
            row = store.get(f"http://h0.example/{number}")
            assert row is not None
            assert row.raw == templated(0, number)


def test_a_host_whose_pages_share_nothing_is_tried_again_at_sixteen_times_as_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "HOST_PAGES", 20)
    chance = random.Random(2)
    tried = []
    with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
        for number in range(520):
            store.put(f"http://h.example/{number}", raw=chance.randbytes(2000).hex().encode())
            if number in (30, 200, 519):
                tablet = store.tablet(0)
                assert tablet.trainer is not None
                tablet.trainer.finish()
                tried.append(tablet.ledger.host(host_prefix(Url("http://h.example/").key)).tried)
        assert not next(iter(store.hosts())).dictionary
    assert 20 <= tried[0] == tried[1] <= 31
    assert tried[2] >= 16 * tried[0]


def test_hosts_without_a_dictionary_use_that_of_the_type(tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
        for number in range(400):
            store.put(f"http://h{number}.example/", raw=templated(0, number), response_head=head)
        tablet = store.tablet(0)
        assert tablet.trainer is not None
        tablet.trainer.finish()
        store.put("http://new.example/", raw=templated(0, 1000), response_head=head)
        row = store.get("http://new.example/")
        assert row is not None
        assert row.raw == templated(0, 1000)
        value = tablet.get(PAGE, cell_key(row.key, row.stamp))
        assert value is not None
        assert value[0] == 3


@pytest.mark.parametrize(("codec", "kind"), [(Codec.PLAIN, 0), (Codec.DEFLATE, 1), (Codec.ZSTD, 2)])
def test_each_codec_of_a_family(tmp_path: Path, codec: Codec, kind: int) -> None:
    with Store.open(tmp_path / "s", settings=Settings(tablets=1, page=codec)) as store:
        store.put("http://a.example/", raw=templated(0, 0))
        assert next(iter(store.tablet(0).items(PAGE)))[1][0] == kind
    with Store.open(tmp_path / "s", settings=Settings(tablets=1, page=Codec.ZSTD)) as store:
        row = store.get("http://a.example/")
        assert row is not None
        assert row.raw == templated(0, 0)


def test_statistics_and_counters(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=Settings(tablets=2)) as store:
        fill(store, 3, 4)
        store.delete("http://h0.example/0")
        batch = store.tablet(1).batch()
        batch.count("errors:dns", 2)
        store.tablet(1).write(batch)
    with Store.open(tmp_path / "s", mode="r") as store:
        found = stats(store)
        assert (found.rows, found.pages, found.hosts) == (11, 11, 3)
        assert found.page_bytes == sum(h.size for h in store.hosts()) > found.stored_bytes > 0
        assert found.counters == {"errors:dns": 2}
        assert {h.name: h.rows for h in store.hosts()} == {"h0.example": 3, "h1.example": 4, "h2.example": 4}


def test_compact_keeps_everything(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=Settings(tablets=2)) as store:
        fill(store, 2, 30)
        compact(store)
        assert same(store, 2, 30)
        assert check(store).faults == 0


def test_scrubbing_leaves_no_trace_of_what_was_deleted(tmp_path: Path) -> None:
    """Neither in data, nor in the log, nor in the list of files, which names the first and last keys of each."""
    path, gone = tmp_path / "s", "http://zebra.example/page"
    with Store.open(path, settings=Settings(tablets=1)) as store:
        store.put("http://a.example/", raw=b"stays", text="stays")
        store.put(gone, raw=b"goes", text="goes")
        compact(store)
        store.delete(gone)

    def traces() -> list[Path]:
        return [file for file in path.rglob("*") if file.is_file() and b"zebra" in file.read_bytes()]

    assert any(file.name.startswith("MANIFEST") for file in traces())
    scrub(path)
    assert traces() == []
    with Store.open(path, mode="r") as store:
        assert [row.url for row in store.scan()] == ["http://a.example/"]


def test_check_finds_what_does_not_belong_together(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
        fill(store, 1, 5)
        tablet = store.tablet(0)
        rows = list(store.scan())
        batch = tablet.batch()
        batch.delete("page", cell_key(rows[0].key, rows[0].stamp))  # a version without its page
        batch.put("text", cell_key(rows[1].key, 7), b"\0text")  # a text without a version
        batch.put("page", cell_key(rows[2].key, rows[2].stamp), b"\0" + bytes(8) + b"other")  # not what was hashed
        batch.put("page", cell_key(rows[3].key, rows[3].stamp), b"\2broken")
        tablet.write(batch)
        found = check(store)
    assert found.rows == 5
    joined = "\n".join(found.named)
    for expected in ("is missing", "belongs to no version", "does not match its digest", "is damaged", "totals say"):
        assert expected in joined
    assert found.faults == 5


@pytest.mark.parametrize("tablets", [1, 5])
def test_split_deals_everything_out(tmp_path: Path, tablets: int) -> None:
    path = tmp_path / "s"
    with Store.open(path, settings=Settings(tablets=3)) as store:
        fill(store, 6, 40)
        for number in range(250):
            store.put(f"http://h0.example/d{number}", raw=templated(0, number))
        store.put("http://h1.example/0", anchors={"http://x.example/": "anchor"})
        batch = store.tablet(2).batch()
        batch.count("n", 7)
        store.tablet(2).write(batch)
    split(path, tablets)
    with Store.open(path, settings=Settings(tablets=tablets)) as store:
        assert sum(1 for _ in store.scan(parts=())) == 6 * 40 + 250
        found = check(store)
        assert (found.faults, found.named, found.anchors) == (0, [], 1)
        assert stats(store).counters == {"n": 7}
        for number in range(250):
            row = store.get(f"http://h0.example/d{number}")
            assert row is not None
            assert row.raw == templated(0, number)
        store.put("http://h0.example/after", raw=templated(0, 5))
    assert sorted(f.name for f in path.iterdir() if f.is_dir()) == [f"tablet-{n:02}" for n in range(tablets)]


def test_split_goes_on_after_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s"
    with Store.open(path, settings=Settings(tablets=3)) as store:
        fill(store, 6, 10)

    class CrashError(Exception):
        pass

    from fyke.store import splitting

    real_deal, real_rmtree = splitting._deal, shutil.rmtree
    dealt = []

    def deal(*arguments: object) -> int:
        dealt.append(1)
        if len(dealt) == 2:
            raise CrashError
        return real_deal(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(splitting, "_deal", deal)
    with pytest.raises(CrashError):
        split(path, 4)
    with Store.open(path, mode="r") as store:
        assert same(store, 6, 10)

    def rmtree(directory: Path, **_: object) -> None:
        if directory.name.startswith("split"):
            raise CrashError
        real_rmtree(directory)

    monkeypatch.setattr(shutil, "rmtree", rmtree)
    with pytest.raises(CrashError):
        split(path, 4)
    assert len(dealt) == 4  # one before the crash, one that crashed, the other two after it
    with pytest.raises(StorageError, match=r"split of .* is unfinished"):
        Store.open(path)
    monkeypatch.undo()
    split(path, 4)
    with Store.open(path) as store:
        assert store.settings.tablets == 4
        assert same(store, 6, 10)
        assert check(store).faults == 0


def test_split_refuses_letters_between_tablets(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
        batch = store.tablet(0).batch()
        batch.put("outbox", b"o\0\0", b"")
        store.tablet(0).write(batch)
    with pytest.raises(StorageError, match="letters between its tablets"):
        split(tmp_path / "s", 2)


def test_split_takes_filled_queues_along(tmp_path: Path) -> None:
    urls = [Url(f"http://h{i}.test/{j}") for i in range(20) for j in range(5)]
    with Store.open(tmp_path / "s", settings=Settings(tablets=2)) as store:
        for url in urls:
            tablet = store.tablet(store.tablet_of(url.key))
            batch = tablet.batch()
            batch.put("queue", queue_key(url.site, 1, int(url.path[1:])), url.href.encode())
            batch.put("queue", later_key(50.0, url), url.href.encode())
            batch.put("queue", SEEN_MARK, b"")
            tablet.write(batch)
    split(tmp_path / "s", 7)
    with Store.open(tmp_path / "s") as store:
        found = [
            (number, key[:1], value.decode())
            for number in store.owned
            for key, value in store.tablet(number).items("queue")
        ]
    assert sorted(href for _, kind, href in found if kind == b"s") == sorted(url.href for url in urls)
    assert sorted(href for _, kind, href in found if kind == b"t") == sorted(url.href for url in urls)
    assert len(found) == 2 * len(urls), "what tells which URLs are known is made anew"
    assert all(number == tablet_of(Url(href).key, 7) for number, _, href in found)


def test_another_number_of_tablets_needs_a_split(tmp_path: Path) -> None:
    Store.open(tmp_path / "s", settings=Settings(tablets=2)).close()
    with pytest.raises(StorageError, match="fyke store split --tablets 3"):
        Store.open(tmp_path / "s", settings=Settings(tablets=3))
