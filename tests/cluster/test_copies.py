"""Working copies: a tablet is claimed and fetched once, and not again while nobody else has had it."""

from __future__ import annotations

from pathlib import Path

from fyke.cluster.copies import WorkingCopy, known_plan, make_depot
from fyke.crawl.run.plan import Plan
from fyke.crawl.run.settings import CrawlSettings
from fyke.store import Settings, Store
from fyke.store.depot import Depot
from fyke.store.shipping import LOG_TTL, Shipping

SEED = "http://a.test/"


def depot_of(folder: Path) -> Depot:
    plan = Plan((SEED,), CrawlSettings())
    return make_depot(str(folder / "depot"), Settings(tablets=2), plan)


def write(copy: WorkingCopy, depot: Depot, tablets: list[int], url: str) -> None:
    copy.begin(tablets).close()
    with Store.open(copy.path, tablets=tablets, log_ttl=LOG_TTL) as store, Shipping(store, depot):
        store.put(url, raw=b"<p>hello")


def test_a_depot_is_made_once(tmp_path: Path) -> None:
    assert known_plan(str(tmp_path / "depot")) is None
    first, second = (
        depot_of(tmp_path),
        make_depot(str(tmp_path / "depot"), Settings(tablets=9), Plan((), CrawlSettings())),
    )
    assert second.about == first.about, "it keeps its tablets"
    assert known_plan(str(tmp_path / "depot")) is not None


def test_what_one_node_wrote_another_has_after_adopting_it(tmp_path: Path) -> None:
    depot = depot_of(tmp_path)
    one, other = WorkingCopy(tmp_path / "one", depot), WorkingCopy(tmp_path / "other", depot)
    one.make()
    other.make()
    assert one.adopt([0, 1]) == {0: 0, 1: 0}, "nobody has claimed them yet"
    write(one, depot, [0, 1], SEED)
    with Store.open(one.path, "r") as store:
        number = store.tablet_of(SEED)
    again = one.adopt([number])
    epoch = other.adopt([number])[number]
    assert epoch > again[number], "a claim of its own"
    with Store.open(other.path, "r", tablets=[number]) as store:
        row = store.get(SEED)
        assert row is not None
        assert row.raw == b"<p>hello"
    write(other, depot, [number], "http://a.test/more")
    assert one.adopt([number])[number] > epoch, "the first has an old copy, and fetches it anew"
    with Store.open(one.path, "r", tablets=[number]) as store:
        assert store.get("http://a.test/more") is not None


def test_a_copy_that_is_the_newest_is_not_fetched(tmp_path: Path) -> None:
    depot = depot_of(tmp_path)
    copy = WorkingCopy(tmp_path / "one", depot)
    copy.make()
    write(copy, depot, [0, 1], SEED)
    before = [depot.chain(number).head()[0] for number in (0, 1)]
    copy.adopt([0, 1])
    assert [depot.chain(number).head()[0] for number in (0, 1)] == before, "no claim was needed"
