"""The edges of archives: damaged, foreign, empty or lopsided ones; named, refused, or read within their memory."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from fyke.archive.archive import Archive
from fyke.archive.combine import Coding
from fyke.archive.files import date_width, read_manifest, write_manifest, write_section
from fyke.archive.run import Page, Run, runs_of, scan
from fyke.bits.eliasfano import EliasFano
from fyke.errors import StorageError
from tests.archive.test_archive import PLAIN, build, expected, facts, pages


def test_a_damaged_sub_archive_is_named_without_checksums(tmp_path: Path) -> None:
    archive = build(pages(60), tmp_path, Coding())
    archive.sub(np.arange(0, 60, 3), tmp_path / "sub")
    members = tmp_path / "sub" / "members.ef"
    members.write_bytes(bytes(members.stat().st_size))
    with pytest.raises(StorageError, match="sub is damaged"):
        Archive.open(tmp_path / "sub", verify=False)


def test_a_flipped_byte_is_found_anywhere(tmp_path: Path) -> None:
    build(pages(60), tmp_path, Coding())
    folder = tmp_path / "archive"
    Archive.open(folder)
    for file in sorted(folder.iterdir()):
        data = file.read_bytes()
        for at in {0, len(data) // 2, len(data) - 2}:
            file.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
            with pytest.raises(StorageError, match=file.name.replace(".", r"\.")):
                Archive.open(folder)
        file.write_bytes(data[:-8])
        with pytest.raises(StorageError, match=file.name.replace(".", r"\.")):
            Archive.open(folder, verify=False)
        file.write_bytes(data)
    Archive.open(folder)


@pytest.mark.parametrize("coding", [Coding("fyke", max_chain=3), Coding("paper")])
def test_damaged_summaries_do_not_leave_memory(tmp_path: Path, coding: Coding) -> None:
    archive = build(pages(80), tmp_path, coding)
    file = tmp_path / "archive" / "summaries.bits"
    good = file.read_bytes()
    chance = np.random.default_rng(4)
    terms, refused = len(archive.dictionary), 0
    for _ in range(30):
        bad = bytearray(good)
        for at in chance.integers(0, len(good), 40):
            bad[at] = chance.integers(256)
        file.write_bytes(bytes(bad))
        damaged = Archive.open(tmp_path / "archive", verify=False)
        for d in range(len(archive)):
            try:
                found = damaged[d]
            except StorageError as error:
                refused += 1
                assert f"document {d} does not decode" in str(error)  # noqa: PT017 - either outcome is right
            else:
                assert found is None or (found.ranks < terms).all(), "no term that is none"
                assert found is None or (np.diff(found.ranks) >= 0).all()
    assert refused > 30


def test_a_hole_of_zeros_is_read_to_an_end(tmp_path: Path) -> None:
    """As a crash of the machine leaves them: no run of a summary may be endless, or lead backwards."""
    archive = build(pages(80), tmp_path, Coding("fyke", max_chain=3))
    file = tmp_path / "archive" / "summaries.bits"
    good = file.read_bytes()
    refused = 0
    for kept in range(0, len(good), 61):
        file.write_bytes(good[:kept] + bytes(len(good) - kept))
        damaged = Archive.open(tmp_path / "archive", verify=False)
        for d in range(len(archive)):
            try:
                damaged[d]
            except StorageError:
                refused += 1
    assert refused > 100


def test_foreign_and_other_versions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"has no archive\.json"):
        Archive.open(tmp_path)
    archive = build(pages(10), tmp_path, Coding())
    write_manifest(archive.folder, msgspec.structs.replace(archive.manifest, version=9))
    with pytest.raises(StorageError, match="fyke-archive 9"):
        Archive.open(archive.folder)
    for name in ("terms", "largest", "postings"):
        write_manifest(archive.folder, msgspec.structs.replace(archive.manifest, **{name: 10**15}))
        with pytest.raises(StorageError, match="contradict one another"):
            Archive.open(archive.folder)
    with pytest.raises(StorageError, match="no runs"):
        runs_of([tmp_path / "archive"])
    with pytest.raises(IndexError):
        archive[10]
    with pytest.raises(StorageError, match="weights"):
        archive.score(np.array([0]), np.zeros(3))


@pytest.mark.parametrize("documents", [3, 7, 15, 16])
def test_missing_documents_of_any_number(documents: int, tmp_path: Path) -> None:
    """The width of Elias and Fano's low bits goes by the number of documents: powers of two are its edges."""
    for gone in ({0}, {documents - 1}, {0, documents // 2}):
        given = [Page(f"http://a.test/{i:02}", None if i in gone else f"w{i}") for i in range(documents)]
        folder = tmp_path / f"{len(gone)}-{min(gone)}"
        archive = build(given, folder, Coding())
        assert facts(archive) == expected(given)
        assert archive.manifest.missing == len(gone)


def test_what_an_archive_says_of_itself_stays(tmp_path: Path) -> None:
    archive = build([Page("http://a.test/", "one two")], tmp_path, Coding())
    assert Page("http://a.test/").fetched == 0
    assert archive.manifest.dates == (0, 0)
    assert [date_width((1, last)) for last in (1, 2, 3, 4, 8)] == [1, 2, 2, 3, 4]
    with pytest.raises(AttributeError):
        archive.manifest.documents = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        archive.manifest.sections["terms.bytes"].bytes = 2  # type: ignore[misc]
    assert archive.manifest.preprocessing == PLAIN


RUN_FAULTS = {
    "starts": ([1, 2, 4], [0, 2, 3], [0, 3, 2, 4], [0, 4]),
    "link_starts": ([1, 1, 2], [0, 1, 1], [0, 2, 1]),
    "terms": ([0, 1, 0, 9], [1, 0, 0, 1], [0, 0, 0, 1]),
    "counts": ([1, 0, 1, 1], [1, 1, 1]),
    "lengths": ([1, 2], [-2, 2], [2, 1]),
    "fetched": ([-1, 0], [0]),
}
"""Columns of the run below that cannot be true: a number that leads outside, an order that is none, a sum too small."""


@pytest.mark.parametrize(("column", "wrong"), [(name, row) for name, rows in RUN_FAULTS.items() for row in rows])
def test_runs_whose_numbers_contradict_one_another_are_refused(column: str, wrong: list[int], tmp_path: Path) -> None:
    links = [("http://x.test/",), ("http://y.test/",)]
    given = [Page(f"http://a.test/{i}", text, links[i]) for i, text in enumerate(("a b", "a c"))]
    assert max(scan(given, tmp_path, PLAIN)) == 2
    folder = tmp_path / "run-0000"
    run = Run.open(folder)
    assert [len(run), run.terms.tolist(), run.counts.tolist()] == [2, [0, 1, 0, 2], [1, 1, 1, 1]]
    file = folder / f"{column}.npy"
    np.save(file, np.array(wrong, np.load(file).dtype))
    with pytest.raises(StorageError, match=r"contradict|equally long"):
        Run.open(folder)


@pytest.mark.parametrize("name", ["terms", "largest", "missing", "postings", "stream_bits", "max_chain"])
def test_a_number_below_zero_is_no_archive(name: str, tmp_path: Path) -> None:
    archive = build([Page("http://a.test/", "one two")], tmp_path, Coding())
    write_manifest(archive.folder, msgspec.structs.replace(archive.manifest, **{name: -1}))
    with pytest.raises(StorageError, match="contradict one another"):
        Archive.open(archive.folder, verify=False)


def test_an_archive_of_nothing_is_one(tmp_path: Path) -> None:
    for name, given in (("none", []), ("missing", [Page("http://a.test/")]), ("empty", [Page("http://a.test/", "")])):
        archive = build(given, tmp_path / name, Coding())
        assert facts(archive) == expected(given)
        assert archive.read(np.arange(0)).starts.tolist() == [0]
        assert archive.mean_length == 0
        assert len(archive.dictionary) == 0


@pytest.mark.parametrize("mode", ["paper", "fyke"])
def test_a_large_summary_asked_for_again_and_again(mode: str, tmp_path: Path) -> None:
    """More than the mean lets foresee: room is made while they are read."""
    large = " ".join(f"w{k}" for k in range(500))
    given = [Page("http://a.test/00", large), *(Page(f"http://a.test/{i:02}", "w1") for i in range(1, 61))]
    archive = build(given, tmp_path, Coding(mode))
    asked = np.array([0, 1] * 40)
    found = archive.read(asked)
    assert np.diff(found.starts).tolist() == [500, 1] * 40
    assert found.ranks[:501].tolist() == [*range(500), 0]
    assert (found.ranks.reshape(40, 501) == found.ranks[:501]).all()
    assert (found.counts == 1).all()


def test_a_run_is_as_large_as_the_memory_lets_it(tmp_path: Path) -> None:
    links = tuple(f"http://b.test/{k}" for k in range(5))
    given = [Page(f"http://a.test/{i:02}", "one two three", links) for i in range(60)]
    assert max(scan(given, tmp_path, PLAIN, memory=10_000)) == 60
    runs = runs_of([tmp_path])
    assert [sum(map(len, runs)), len({len(run) for run in runs[:-1]})] == [60, 1]
    assert 10 <= len(runs[0]) <= 20, "some 600 bytes a page, and 250 a word"


def test_a_sub_archive_has_no_document_that_the_archive_has_not(tmp_path: Path) -> None:
    archive = build(pages(20), tmp_path, Coding())
    sub = archive.sub(np.array([0, 19]), tmp_path / "sub")
    assert len(sub) == 2
    beyond = EliasFano.of(np.array([0, 20]), 21)
    sections = {"members.ef": write_section(tmp_path / "sub", "members.ef", [beyond.low, beyond.high])}
    said = read_manifest(tmp_path / "sub")
    write_manifest(tmp_path / "sub", msgspec.structs.replace(said, sections=sections))
    with pytest.raises(StorageError, match="has documents that the archive below has not"):
        Archive.open(tmp_path / "sub")
