"""Shipping: what was acknowledged is in the depot, whatever dies or fails, and a store fetched from it is the same."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fyke.errors import FencedError, StorageError, UserError
from fyke.store import Settings, Store, shipper
from fyke.store.depot import Depot, Kind
from fyke.store.fetching import check, fetch
from fyke.store.objects import Directory
from fyke.store.shipping import LOG_TTL, Shipping, prepare
from tests.store.depots import Act, Faulty, Memory
from tests.store.shipping_process import TABLETS, row_text, row_url

EVERY = 0.02


def new_store(path: Path, tablets: int = TABLETS) -> Path:
    Store.open(path, settings=Settings(tablets=tablets)).close()
    return path


@contextmanager
def shipped(path: Path, depot: Depot, every: float = EVERY) -> Iterator[tuple[Store, Shipping]]:
    with Store.open(path, log_ttl=LOG_TTL) as store, Shipping(store, depot, every) as shipping:
        yield store, shipping


def put(store: Store, numbers: range) -> None:
    for number in numbers:
        store.put(row_url(number), raw=row_text(number).encode(), text=row_text(number))


def rows(path: Path) -> dict[str, str]:
    with Store.open(path, "r") as store:
        return {row.url: row.text or "" for row in store}


def expected(numbers: Iterable[int]) -> dict[str, str]:
    return {row_url(number): row_text(number) for number in numbers}


def fetched(depot: Depot | str, target: Path) -> dict[str, str]:
    fetch(Depot.open(depot) if isinstance(depot, str) else depot, target)
    return rows(target)


def test_a_fetched_store_is_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over logs that rotate, bases by the dozen, deletions, and a second run."""
    monkeypatch.setattr(shipper, "BASE_EVERY", 100_000)
    monkeypatch.setattr(shipper, "ENTRIES", 5)
    path, url = new_store(tmp_path / "store"), str(tmp_path / "depot")
    for run in range(2):
        with shipped(path, prepare(path, url)) as (store, shipping):
            for start in range(run * 200, run * 200 + 200, 20):
                put(store, range(start, start + 20))
                if start % 60 == 0:
                    store.tablet(0).compact()
                assert shipping.settle()
            store.delete(row_url(run * 200))
            assert shipping.settle()
            assert fetched(url, tmp_path / f"live-{run}") == {
                u: t for u, t in expected(range(run * 200 + 200)).items() if u not in {row_url(0), row_url(run * 200)}
            }
    assert fetched(url, tmp_path / "fetched") == rows(path)
    found = check(Depot.open(url))
    assert (found.faults, found.tablets) == (0, TABLETS)
    chain = Depot.open(url).chain(0)
    kinds = [chain.header(number) for number in chain.numbers()]
    assert sum(entry is not None and entry.kind is Kind.LOG for entry in kinds) < 20  # covered ones are swept
    for tablet in range(TABLETS):
        folder = path / f"tablet-{tablet:02}" / "archive"
        assert not folder.exists() or len(list(folder.iterdir())) <= 1  # what is shipped is not kept


def test_kill_9_at_any_moment_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    chance, first = random.Random(7), 0
    path, url = tmp_path / "store", str(tmp_path / "depot")
    for turn in range(5):
        command = [sys.executable, "-m", "tests.store.shipping_process", str(path), url, str(first)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2], text=True) as process:
            assert process.stdout is not None
            for _ in range(chance.randrange(1, 25)):
                sure = int(process.stdout.readline())
            threading.Event().wait(chance.random() / 50)  # anywhere in a round
            process.kill()
            sure = int(([str(sure)] + process.stdout.read().split())[-1])
        found = fetched(url, tmp_path / f"fetched-{turn}")
        assert found.items() >= expected(range(sure + 1)).items()
        assert found.items() <= expected(range(sure + 10_000)).items()  # and nothing half or made up
        with Store.open(tmp_path / f"fetched-{turn}", "r") as store:
            for tablet in range(TABLETS):  # of each tablet a beginning of what was written
                mine = sorted(int(u.rpartition("/")[2]) for u in found if store.tablet_of(u) == tablet)
                there = [n for n in range(mine[-1] + 1) if store.tablet_of(row_url(n)) == tablet] if mine else []
                assert mine == there
        if turn % 2:  # the machine is lost: go on with what the depot has
            shutil.rmtree(path)
            (tmp_path / f"fetched-{turn}").rename(path)
            first = max((int(u.rpartition("/")[2]) for u in found), default=-1) + 1
        else:
            first = max(int(u.rpartition("/")[2]) for u in rows(path)) + 1
        with Store.open(path) as store:  # what a tablet has lost is put again
            put(store, range(first))


def test_whoever_goes_on_with_a_fetched_store_fences_the_former_owner(tmp_path: Path) -> None:
    path, url = new_store(tmp_path / "one"), str(tmp_path / "depot")
    with shipped(path, prepare(path, url)) as (store, shipping):
        put(store, range(30))
        assert shipping.settle()
        fetch(Depot.open(url), tmp_path / "two")
        with shipped(tmp_path / "two", prepare(tmp_path / "two", url)) as (other, others):
            put(other, range(30, 60))
            assert others.settle()
            put(store, range(60, 90))
            assert not shipping.settle()
            with pytest.raises(FencedError, match="taken over by"):
                shipping.check()
    assert fetched(url, tmp_path / "three") == expected(range(60))
    with pytest.raises(StorageError, match="is not what the depot"):
        prepare(path, url)


def test_an_older_copy_does_not_go_on(tmp_path: Path) -> None:
    """A copy made by hand, with the notes of the original, which went on since: with another claim, or with none."""
    path, url = new_store(tmp_path / "one"), str(tmp_path / "depot")
    with shipped(path, prepare(path, url)) as (store, shipping):
        put(store, range(10))
        assert shipping.settle()
        shutil.copytree(path, tmp_path / "same claim")
        put(store, range(10, 20))
        assert shipping.settle()
    with shipped(tmp_path / "same claim", prepare(tmp_path / "same claim", url)) as (_, shipping):
        assert not shipping.settle()
        with pytest.raises(StorageError, match="is not what the depot"):
            shipping.check()
    shutil.copytree(path, tmp_path / "before")
    with shipped(path, prepare(path, url)) as (store, shipping):
        put(store, range(20, 30))
    with pytest.raises(StorageError, match="is not what the depot"):
        prepare(tmp_path / "before", url)
    assert fetched(url, tmp_path / "fetched") == expected(range(30))


def test_a_store_without_notes_does_not_go_on(tmp_path: Path) -> None:
    url = str(tmp_path / "depot")
    with shipped(new_store(tmp_path / "one"), prepare(tmp_path / "one", url)) as (store, _):
        put(store, range(5))
    with pytest.raises(StorageError, match="fetch that with"):
        prepare(new_store(tmp_path / "two"), url)
    with pytest.raises(UserError, match="is there already"):
        fetch(Depot.open(url), tmp_path / "one")


def test_a_depot_that_fails_holds_nobody_up_and_is_caught_up_with(tmp_path: Path) -> None:
    silent, chance = threading.Event(), random.Random(3)

    def schedule(verb: str, name: str) -> Act:
        if silent.is_set():
            return "fails"
        return chance.choices(["", "fails", "lost", "twice"], [12, 1, 1, 1])[0]  # type: ignore[return-value]

    memory, path = Memory(), new_store(tmp_path / "store")
    Depot.create(memory, TABLETS).put_store_files(path)
    depot = Depot(Faulty(memory, schedule), Depot.open(memory).about)
    with shipped(path, depot) as (store, shipping):
        put(store, range(50))
        assert shipping.settle()
        silent.set()
        put(store, range(50, 300))
        assert not shipping.settle(patience=0.2)
        report = shipping.report()
        assert "fails, as it should" in report.error
        assert report.behind >= 0.2
        silent.clear()
        assert shipping.settle()
        assert shipping.report().backlog == 0
    assert fetched(Depot.open(memory), tmp_path / "fetched") == expected(range(300))


@pytest.mark.parametrize("shipped_logs", [True, False])
def test_logs_that_were_not_kept_long_enough_cost_a_base(tmp_path: Path, shipped_logs: bool) -> None:
    """Also where the depot has a base alone, and no log has been shipped yet."""
    silent, memory, path = threading.Event(), Memory(), new_store(tmp_path / "store", 1)
    Depot.create(memory, 1).put_store_files(path)
    depot = Depot(Faulty(memory, lambda verb, name: "fails" if silent.is_set() else ""), Depot.open(memory).about)
    with Store.open(path) as store:
        put(store, range(10))
    with shipped(path, depot) as (store, shipping):
        assert shipping.settle()
        put(store, range(10, 20) if shipped_logs else range(0))
        assert shipping.settle()
        silent.set()
        put(store, range(20, 21))
        assert not shipping.settle(patience=0.1)  # this one waits for the depot, and comes first
        put(store, range(21, 40))
        store.tablet(0).compact()  # every family is flushed: the logs so far are archived
        put(store, range(40, 60))
        for log in (path / "tablet-00" / "archive").glob("*.log"):  # an hour has passed
            log.unlink()
        silent.clear()
        assert shipping.settle()
    kept = [*range(20 if shipped_logs else 10), *range(20, 60)]
    assert fetched(Depot.open(memory), tmp_path / "fetched") == expected(kept)


def test_only_files_that_are_new_are_uploaded(tmp_path: Path) -> None:
    url, uploads = str(tmp_path / "depot"), []

    class Counting(Directory):
        def put(self, name: str, source: bytes | Path) -> None:
            uploads.append(name)
            super().put(name, source)

    path = new_store(tmp_path / "store", 1)
    depot = Depot(Counting(tmp_path / "depot"), prepare(path, url).about)
    with shipped(path, depot) as (store, _):
        put(store, range(400))
    for _ in range(2):
        uploads.clear()
        with shipped(path, depot):
            pass
    assert [name for name in uploads if name.endswith(".sst")] == []
    assert fetched(url, tmp_path / "fetched") == expected(range(400))


def test_a_damaged_depot_is_told(tmp_path: Path) -> None:
    path, url = new_store(tmp_path / "store"), str(tmp_path / "depot")
    with shipped(path, prepare(path, url)) as (store, shipping):
        assert shipping.settle()
        put(store, range(20))
    depot = Depot.open(url)
    entry = next(
        n for t in range(TABLETS) for n in depot.chain(t).numbers() if (e := depot.chain(t).header(n)) and e.pieces
    )
    damaged = [p for p in (tmp_path / "depot").rglob(f"log/{entry:012}") if len(p.read_bytes()) > 200]
    for log in damaged:
        log.write_bytes(log.read_bytes()[:-1] + b"!")
    assert check(depot).faults == len(damaged) > 0
    with pytest.raises(StorageError, match="is damaged"):
        fetch(depot, tmp_path / "fetched")
    assert not list(tmp_path.glob("fetched*"))
    base = next((tmp_path / "depot" / "tablet-00" / "files").glob("*.sst"))
    base.unlink()
    assert any(base.name in fault for fault in check(depot).named)
