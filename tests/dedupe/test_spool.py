"""Discovery on disk: the same answers as in memory, whatever the memory; methods by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fyke.dedupe import methods
from fyke.dedupe.discover import near_duplicates
from fyke.dedupe.disk import SketchFolder
from fyke.dedupe.methods import Named, Settings
from fyke.dedupe.similarity import cosine
from fyke.dedupe.sketch import Parameters
from fyke.dedupe.spool import Spool
from fyke.errors import UserError
from tests.dedupe.test_discover import collection, exact_join


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [*collection(500, seed=7), "", "the same", "the same", "the same"]


def named(texts: list[str], prefix: str = "") -> list[tuple[str, str]]:
    return [(f"{prefix}{i}", text) for i, text in enumerate(texts)]


def pairs(found: Named) -> dict[tuple[str, str], float]:
    return {(row["left"], row["right"]): row["similarity"] for row in found.pair_rows()}


@pytest.mark.parametrize("memory", [1 << 20, 40_000, 0])
def test_disk_and_memory_find_the_same(texts: list[str], memory: int, tmp_path: Path) -> None:
    expected = near_duplicates(texts)
    seen: list[tuple[str, float]] = []
    with Spool(memory=memory, folder=tmp_path, workers=2, progress=lambda *what: seen.append(what)) as spool:
        assert spool.add(iter(named(texts))) == len(texts)
        assert len(list(tmp_path.rglob("run-*"))) > 1
        found = spool.duplicates()
        assert spool.name(503) == "503"
    assert found.pairs == expected.pairs
    assert found.clusters == expected.clusters
    assert seen[0][0] == "reading"
    assert seen[-1] == ("comparing", 1.0)
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def test_an_empty_collection() -> None:
    assert methods.find([], Settings()).documents == 0
    assert list(methods.find([("a", "")], Settings()).pair_rows()) == []


def test_against_another_collection(texts: list[str]) -> None:
    truth = exact_join(texts, 0.8)
    half = len(texts) // 2
    found = methods.find(named(texts[half:], "new"), Settings(), named(texts[:half], "old"))
    expected = {(f"old{i}", f"new{j - half}") for i, j in truth if i < half <= j}
    assert set(pairs(found)) == expected != set()


def test_clusters_against_another_collection_are_of_both(texts: list[str]) -> None:
    """Of faults D5: copies within either collection were reported, which have nothing to do with the other."""
    old, new = [texts[0], texts[0], texts[5]], [texts[9], texts[9], texts[5]]
    found = methods.find(named(new, "new"), Settings(), named(old, "old"))
    assert [row["members"] for row in found.cluster_rows()] == [["old2", "new2"]]


def test_against_saved_sketches(texts: list[str], tmp_path: Path) -> None:
    truth = exact_join(texts, 0.87)
    half = len(texts) // 2
    methods.find(named(texts[:100], "old"), Settings(), save=tmp_path / "sketches")
    methods.find(named(texts[:half], "old")[100:], Settings(), save=tmp_path / "sketches")
    assert SketchFolder.open(tmp_path / "sketches").count == half
    found = methods.against_sketches(
        named(texts[half:], "new"), tmp_path / "sketches", Settings(), lambda what, share: None
    )
    assert {f"new{j - half}" for i, j in truth if i < half <= j} <= {right for _, right in pairs(found)}
    before = {path.name: path.read_bytes() for path in (tmp_path / "sketches").iterdir()}
    (tmp_path / "sketches").chmod(0o500)
    methods.against_sketches(named(texts[:3]), tmp_path / "sketches", Settings(threshold=0.5), lambda what, share: None)
    assert {path.name: path.read_bytes() for path in (tmp_path / "sketches").iterdir()} == before
    with pytest.raises(UserError, match="leave out --method"):
        methods.against_sketches([], tmp_path / "sketches", Settings(method="simhash"), lambda what, share: None)
    other = Settings(parameters=Parameters(ngram=4))
    with pytest.raises(UserError, match="other parameters"):
        methods.against_sketches([], tmp_path / "sketches", other, lambda what, share: None)
    with pytest.raises(UserError, match="other parameters"):
        methods.find([], Settings(parameters=Parameters(ngram=4)), save=tmp_path / "sketches")


def test_other_methods(texts: list[str]) -> None:
    truth = exact_join(texts, 0.8)
    copies = {(str(i), str(j)) for i, j in truth if texts[i] == texts[j]}
    exact = methods.find(named(texts), Settings(method="exact"))
    assert set(pairs(exact)) <= copies
    assert {m for row in exact.cluster_rows() for m in row["members"]} == {name for pair in copies for name in pair}
    assert {row["lowest"] for row in exact.cluster_rows()} == {1.0}
    prints = methods.find(named(texts), Settings(method="fingerprint"))
    assert all(0.5 < row["lowest"] <= 1.0 for row in prints.cluster_rows())
    near = exact_join(texts, 0.6)
    assert {(str(i), str(j)) for i, j in truth if truth[i, j] > 0.95} <= set(pairs(prints))
    assert set(pairs(prints)) <= {(str(i), str(j)) for i, j in near}
    simhash = methods.find(named(texts), Settings(method="simhash"))
    assert copies <= set(pairs(simhash))
    assert all(s >= np.cos(np.pi * 3 / 64) - 1e-6 for s in pairs(simhash).values())


@pytest.mark.parametrize("method", ["simhash", "fingerprint"])
def test_any_method_may_propose_what_a_check_decides(texts: list[str], method: str) -> None:
    """Of faults D6: the lecture's way, candidates by fingerprints and then the cosine, ignored the cosine."""
    some = texts[:200]
    found = pairs(methods.find(named(some), Settings(method=method, check="cosine")))  # type: ignore[arg-type]
    assert found
    for (i, j), similarity in found.items():
        assert similarity == pytest.approx(cosine(some[int(i)], some[int(j)]), abs=1e-6)
        assert similarity >= 0.8


@pytest.mark.parametrize("check", ["containment", "cosine", "words", "edit"])
def test_deeper_checks_decide(texts: list[str], check: str) -> None:
    found = methods.find(named(texts[:200]), Settings(check=check))  # type: ignore[arg-type]
    near = exact_join(texts[:200], 0.9)
    assert {(str(i), str(j)) for i, j in near} <= set(pairs(found))
    assert all(s >= 0.8 for s in pairs(found).values())


def test_the_first_document_of_a_collection_may_be_a_copy_of_another_collection(texts: list[str]) -> None:
    old, new = named(texts[:3], "old"), named([texts[1], "words that nobody else has ever written down here"], "new")
    assert {place: gone.matched for place, gone in methods.find(new, Settings(), old).removed().items()} == {0: "old1"}
