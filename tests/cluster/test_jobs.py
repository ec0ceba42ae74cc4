"""Jobs over tablets: what is put together of the tablets is what one machine makes of the whole store."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fyke.archive.combine import Coding
from fyke.archive.preprocess import Preprocessing
from fyke.cluster import jobs
from fyke.cluster.copies import WorkingCopy, machine_folder, make_depot
from fyke.collection import build
from fyke.collection.pages import Source
from fyke.crawl.duplicates.exact import strip_all
from fyke.crawl.run.plan import Plan
from fyke.crawl.run.settings import CrawlSettings
from fyke.dedupe import methods
from fyke.errors import StorageError
from fyke.graph.graph import Graph
from fyke.graph.rank import pagerank
from fyke.reading.stored import documents_of
from fyke.store import Settings, Store
from fyke.store.depot import Depot
from fyke.store.exports.dataset import Dataset, rows_of, write_dataset
from fyke.store.fetching import fetch
from fyke.store.shipping import LOG_TTL, Shipping
from fyke.workers.rows import Store as RowsStore

WORDS = [f"word{n}" for n in range(400)]
HOSTS = [f"h{n}.test" for n in range(12)]


def quiet(done: int) -> None:
    """Show nothing."""


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A depot of four tablets, in which pages link to and copy pages of other tablets; and it as a store."""
    folder = tmp_path_factory.mktemp("jobs")
    depot = make_depot(str(folder / "crawl"), Settings(tablets=4), Plan((), CrawlSettings()))
    copy = WorkingCopy(folder / "writer", depot)
    copy.make()
    copy.begin(range(4)).close()
    chance = random.Random(5)
    texts: list[str] = []
    urls: list[str] = []
    with Store.open(copy.path, log_ttl=LOG_TTL) as store, Shipping(store, depot):
        for number in range(60):
            words = chance.choices(WORDS, k=120)
            if number % 3 == 1:  # a near copy
                words = [*texts[-1].split()]
                words[7] = "changed"
            text = texts[-2] if number % 5 == 4 else " ".join(words)  # or an exact one
            url = f"http://{HOSTS[number % len(HOSTS)]}/{number}"
            links = chance.sample(urls, min(len(urls), 3))
            raw = f"<title>{len(text)}</title><p>{text}</p>".encode()
            store.put(url, raw=raw, text=text, links=links, title=f"page {number}", fetched=1.7e9 + number)
            texts.append(text)
            urls.append(url)
        strip_all(store)
    whole = folder / "whole" / "crawl"
    whole.parent.mkdir()
    fetch(Depot.open(depot.url), whole)
    return depot.url, whole


@pytest.fixture(autouse=True)
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FYKE_NODE_FOLDER", str(tmp_path / "machine"))


def left(url: str) -> list[str]:
    return [name for name, _ in Depot.open(url).objects.list("jobs/")]


def test_an_export_has_the_rows_of_one_machines(crawled: tuple[str, Path], tmp_path: Path) -> None:
    url, whole = crawled
    assert jobs.export_to(tmp_path / "many", url, jobs.Export("jsonl", raw=True), jobs.here, quiet) == 60
    dataset = Dataset.of(None, raw=True)
    with RowsStore.open(whole, "r") as store:
        rows = rows_of(dataset, store, store.derived())
        write_dataset(rows, list(dataset.columns), tmp_path / "one.jsonl", "jsonl")
    many = b"".join(path.read_bytes() for path in sorted((tmp_path / "many").iterdir()))
    assert many == (tmp_path / "one.jsonl").read_bytes(), "the same rows in the same order, shared bodies, too"
    assert not left(url), "nothing is left in the depot"
    assert not list((machine_folder() / "jobs").glob("*")), "nor on the machine"


def test_an_archive_is_that_of_one_machine(crawled: tuple[str, Path], tmp_path: Path) -> None:
    url, whole = crawled
    preprocessing = Preprocessing(min_documents=2)
    assert jobs.archive(tmp_path / "many", url, jobs.Scan(preprocessing), Coding(), jobs.here, quiet) == 60
    build.build(Source(store=whole).pages(), tmp_path / "one", preprocessing, Coding())
    names = {path.name for path in (tmp_path / "one").iterdir()}
    assert {path.name for path in (tmp_path / "many").iterdir()} == names
    for name in names:
        assert (tmp_path / "many" / name).read_bytes() == (tmp_path / "one" / name).read_bytes(), name
    ranked = dict(jobs.ranks(url, jobs.here, 0.85, quiet))
    graph = Graph.open(tmp_path / "one" / "graph")
    assert ranked == dict(zip([u.decode() for u in graph.urls], pagerank(graph).tolist(), strict=True))


def test_near_duplicates_are_those_of_one_machine(crawled: tuple[str, Path]) -> None:
    url, whole = crawled
    settings = methods.Settings()
    found = jobs.duplicates(url, settings, jobs.here, quiet)
    with Store.open(whole, "r") as store:
        expected = methods.find(documents_of(store), settings)
    assert list(found.pair_rows()) == list(expected.pair_rows())
    assert list(found.cluster_rows()) == list(expected.cluster_rows())
    assert found.documents == expected.documents == 60


def test_a_machine_that_has_the_newest_copy_fetches_nothing(crawled: tuple[str, Path], tmp_path: Path) -> None:
    url, _ = crawled
    depot = Depot.open(url)
    assert jobs.held(url) == []
    copy = WorkingCopy(machine_folder() / depot.about.identity, depot)
    copy.make()
    copy.adopt([1, 2])
    assert jobs.held(url) == [1, 2]
    assert jobs.export_to(tmp_path / "out", url, jobs.Export("jsonl"), jobs.here, quiet) == 60


class Failing:
    """Work that fails for one tablet."""

    def __call__(self, store: Store, number: int, out: Path) -> dict[str, int]:
        (out / "half").write_bytes(b"half")
        if number == 2:
            raise StorageError("a disk")
        return {}


def test_a_job_that_fails_leaves_nothing(crawled: tuple[str, Path]) -> None:
    url, _ = crawled
    Depot.open(url).objects.put("jobs/1000000000-abcd/0001/old", b"of a job that was killed long ago")
    with pytest.raises(StorageError, match="a disk"), jobs.parts(url, Failing(), jobs.here):
        pass
    assert not left(url)
