"""The inline index: against brute force, over restarts, crashes and spills to the disk; folders of sketches."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

import fyke
from fyke.bits.hashing import mix
from fyke.dedupe import index_kernels
from fyke.dedupe.disk import SketchFolder
from fyke.dedupe.index import FILTER_BITS, INLINE, DuplicateIndex, Match
from fyke.dedupe.sketch import DEFAULTS, Parameters, Sketch, sketch, sketches_of
from fyke.errors import StorageError, UserError
from fyke.text.characters import WORDS, Folding
from fyke.text.words import word_hashes
from tests.dedupe.test_discover import collection, exact_join

SMALL = Parameters(ngram=2, num_perm=24)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return collection(400, seed=5)


def ask_all(index: DuplicateIndex, texts: list[str], start: int = 0) -> list[Match | None]:
    return [index.seen(text, f"doc-{i}") for i, text in enumerate(texts, start)]


def test_finds_what_came_before(texts: list[str]) -> None:
    truth = exact_join(texts, 0.85)
    copies = {j for _, j in truth}
    near = exact_join(texts, 0.65)
    index = fyke.DuplicateIndex()
    answers = ask_all(index, texts)
    assert all(answers[j] for j in copies), "clear copies are found"
    for j, answer in enumerate(answers):
        if answer is not None:
            i = int(answer.id.removeprefix("doc-"))
            assert (i, j) in near, "clear strangers are not"
            assert abs(answer.similarity - near[i, j]) < 0.15
            assert answer.method == ("text" if answer.similarity == 1.0 else "minhash")


def test_true_similarity_where_texts_are_at_hand(texts: list[str]) -> None:
    truth = exact_join(texts, 0.8)
    by_id = {f"doc-{i}": text for i, text in enumerate(texts)}
    index = DuplicateIndex(text_of=by_id.get)
    found = {j: answer for j, answer in enumerate(ask_all(index, texts)) if answer}
    assert set(found) == {j for _, j in truth}
    for j, answer in found.items():
        assert truth[int(answer.id.removeprefix("doc-")), j] == pytest.approx(answer.similarity)
        assert answer.method == ("text" if answer.similarity == 1.0 else "jaccard")


def test_words_are_as_good_as_the_text(texts: list[str]) -> None:
    words = {f"doc-{i}": word_hashes(text) for i, text in enumerate(texts)}
    by_text = DuplicateIndex(text_of={f"doc-{i}": text for i, text in enumerate(texts)}.get)
    by_words = DuplicateIndex(text_of=words.get)
    for i, text in enumerate([*texts, "", "one"]):
        found = by_words.seen_words(word_hashes(text), f"doc-{i}")
        assert found == by_text.seen(text, f"doc-{i}")
    assert len(by_words) == len(by_text)


def test_a_sketch_that_was_made_elsewhere_is_as_good_as_the_text(texts: list[str]) -> None:
    here, there = DuplicateIndex(), DuplicateIndex()
    sketches = sketches_of([(f"doc-{i}", text) for i, text in enumerate(texts)], INLINE)
    for i, (sketched, text) in enumerate(zip(sketches, texts, strict=True)):
        sent = msgspec.msgpack.encode(msgspec.structs.replace(sketched, rank=i + 1))
        found = there.seen_sketch(msgspec.msgpack.decode(sent, type=Sketch))
        assert found.original == here.seen(text, sketched.id)
        assert found.copy is None, "all that came before is of a lesser rank"
    assert len(here) == len(there)


def test_ranks_tell_the_original_in_whatever_order_sketches_come(texts: list[str]) -> None:
    made = sketches_of([(f"doc-{i}", text) for i, text in enumerate(texts)], INLINE)
    ranked = [msgspec.structs.replace(each, rank=i + 1) for i, each in enumerate(made)]
    for seed in range(3):
        index, copies = DuplicateIndex(), dict[str, str]()
        for each in random.Random(seed).sample(ranked, len(ranked)):
            found = index.seen_sketch(each)
            if found.original is not None:
                assert int(found.original.id[4:]) < each.rank - 1
                copies[each.id] = found.original.id
            if found.copy is not None:
                assert found.copy_rank > each.rank
                copies.setdefault(found.copy.id, each.id)
        truth = exact_join(texts, 0.85)
        families = [{f"doc-{i}", f"doc-{j}"} for i, j in truth]
        assert families
        assert all(pair & copies.keys() for pair in families), "of two that are alike one is a copy"


def test_versions_of_a_page_are_no_copies_of_it(texts: list[str]) -> None:
    index = DuplicateIndex()
    assert index.seen(texts[0], "a") is None
    assert index.seen(texts[0] + " more", "a") is None
    answer = index.seen(texts[0] + " more", "b")
    assert answer is not None
    assert (answer.id, answer.similarity) == ("a", 1.0)
    assert len(index) == 2, "a copy in all places is not kept twice"


def test_empty_texts_and_search_leave_no_trace(texts: list[str]) -> None:
    index = DuplicateIndex()
    assert index.seen("", "a") is None
    assert index.seen(b"\xff\x00", "b") is None
    assert index.similar(texts[0]) is None
    assert len(index) == 0
    index.seen(texts[0], "c")
    assert index.similar(texts[0]) == Match("c", 1.0, "text")
    assert index.similar(texts[0], "c") is None


def test_an_index_opens_as_it_was_left(texts: list[str], tmp_path: Path) -> None:
    whole = ask_all(DuplicateIndex(), texts)
    with DuplicateIndex(tmp_path / "index") as index:
        first = ask_all(index, texts[:300])
    with DuplicateIndex(tmp_path / "index") as index:
        assert first + ask_all(index, texts[300:], 300) == whole


def test_memory_is_bounded_and_the_disk_answers_the_same(texts: list[str], tmp_path: Path) -> None:
    whole = ask_all(DuplicateIndex(), texts)
    with DuplicateIndex(tmp_path / "index", memory=1 << 16) as index:
        assert ask_all(index, texts) == whole
        assert index.memory <= 1 << 16
        assert len(list((tmp_path / "index").glob("bands-*"))) == 1
    with DuplicateIndex(tmp_path / "index", memory=1 << 16) as index:
        again = ask_all(index, texts, 1000)
        assert all(again), "from the run on disk, after a restart"
    with pytest.raises(UserError, match="give it a folder"):
        ask_all(DuplicateIndex(memory=1 << 16), texts)


def test_most_of_an_index_is_on_the_disk_long_before_its_memory_is_full(
    texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fyke.dedupe.index.YOUNG", 1 << 14)
    with DuplicateIndex() as whole, DuplicateIndex(tmp_path / "index") as index:
        assert ask_all(index, texts) == ask_all(whole, texts)
        assert index.memory < whole.memory / 4
    with DuplicateIndex(tmp_path / "index") as index:
        assert all(ask_all(index, texts, 1000)), "also after a restart"
        assert index.memory < whole.memory / 4


def random_sketches(count: int, seed: int = 1) -> list[Sketch]:
    """Sketches of texts that are not like one another."""
    signatures = np.random.default_rng(seed).integers(0, 1 << 16, (count, INLINE.num_perm), np.uint16)
    return [Sketch(f"doc-{i}", row.tobytes(), i + 1, 0, 100, i + 1) for i, row in enumerate(signatures)]


def test_memory_does_not_grow_with_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fyke.dedupe.index.YOUNG", 1 << 16)  # for 229 documents; the filter of as many bytes for 2,097
    held = []
    with DuplicateIndex(tmp_path / "index") as index:
        for place, each in enumerate(random_sketches(2000), 1):
            index.seen_sketch(each)
            if place % 250 == 0:
                held.append(index.memory)
    assert len(list((tmp_path / "index").glob("bands-*"))) == 1
    assert max(held) - held[0] < 1 << 10, "but for one slot of 512"
    assert max(held) < 3 << 16


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="another system")
def test_files_do_not_stay_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fyke.dedupe.index.YOUNG", 1 << 19)
    monkeypatch.setattr("fyke.dedupe.index.UNLOAD", 4, raising=False)
    sketches, most = random_sketches(20_000), 0
    with DuplicateIndex(tmp_path / "index") as index:
        for each in sketches:
            index.seen_sketch(each)
        for place in range(0, len(sketches), 7):
            copy = msgspec.structs.replace(sketches[place], id="copy", rank=1 << 40)
            assert index.seen_sketch(copy).original == Match(f"doc-{place}", 1.0, "text")
            most = max(most, mapped(tmp_path)) if place % 1000 == 0 else most
    assert most < sum(file.stat().st_size for file in (tmp_path / "index").iterdir()) / 4


def mapped(folder: Path) -> int:
    """Bytes of a folder's files that this process has in memory."""
    total, ours = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        words = line.split()
        if not words[0].endswith(":"):
            ours = str(folder) in line
        elif ours and words[0] == "Rss:":
            total += int(words[1]) << 10
    return total


def test_the_filter_keeps_most_questions_from_the_disk() -> None:
    with np.errstate(over="ignore"):
        tags = np.random.default_rng(1).integers(0, 1 << 36, 40_000, np.uint64) << index_kernels.DOCUMENT_BITS
        bits = np.zeros(4096, np.uint64)
        index_kernels.fill_filter(tags[: 4096 * 64 // FILTER_BITS], bits)
        asked = tags[-10_000:]
        filled = np.array([index_kernels.filter_word(tag) for tag in asked], np.uint64)
        there = bits[[int(mix(tag)) % 4096 for tag in asked]] & filled == filled
    assert there.mean() < 0.025


CRASH = """
import os, sys
from fyke.dedupe.index import DuplicateIndex
index = DuplicateIndex(sys.argv[1])
for i in range(500):
    index.seen(" ".join(f"w{i}-{j}" for j in range(20)), f"doc-{i}")
os.kill(os.getpid(), 9)
"""


def test_a_killed_process_loses_nothing(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", CRASH, str(tmp_path / "index")], check=False)
    with DuplicateIndex(tmp_path / "index") as index:
        assert len(index) == 500
        for i in (0, 250, 499):
            assert index.similar(" ".join(f"w{i}-{j}" for j in range(20))) == Match(f"doc-{i}", 1.0, "text")


@pytest.mark.parametrize("part", ["signatures", "facts", "names"])
def test_a_torn_record_ends_the_folder_and_hurts_nothing_before_it(texts: list[str], tmp_path: Path, part: str) -> None:
    index = DuplicateIndex(tmp_path / "index")
    ask_all(index, texts[:100])
    kept = len(index)
    names = int(index._kept.facts[49, 0])
    at = {"signatures": 50 * 256 + 7, "facts": 50 * 32 + 9, "names": names + 1}[part]
    del index  # as a crash leaves it: the header says that no record is known to be whole
    with (tmp_path / "index" / part).open("r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 1]))
    with DuplicateIndex(tmp_path / "index") as again:
        assert (kept > 60, len(again)) == (True, 50)
        assert again.seen(texts[0], "new") is not None


def test_other_parameters_and_foreign_folders_are_refused(tmp_path: Path) -> None:
    SketchFolder.open(tmp_path / "a", SMALL, create=True).close()
    with pytest.raises(UserError, match="ngram = 2 not 5, num_perm = 24 not 192"):
        DuplicateIndex(tmp_path / "a", parameters=DEFAULTS)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "thing").touch()
    with pytest.raises(StorageError, match="is not empty and no folder of sketches"):
        DuplicateIndex(tmp_path / "b")
    with pytest.raises(StorageError, match="is no folder of sketches"):
        SketchFolder.open(tmp_path / "b")
    header = tmp_path / "a" / "header.json"
    header.write_bytes(header.read_bytes().replace(b'"version":1', b'"version":9'))
    with pytest.raises(StorageError, match="version 9; this fyke reads"):
        SketchFolder.open(tmp_path / "a")


def test_one_writer_at_a_time_and_none_after_closing(tmp_path: Path) -> None:
    with DuplicateIndex(tmp_path / "index") as index:
        with pytest.raises(StorageError, match="being written by another process"):
            DuplicateIndex(tmp_path / "index")
        index.seen("a b c d e f", "1")
    with pytest.raises(StorageError, match="is closed"):
        index.seen("a b c d e f", "2")
    with DuplicateIndex(tmp_path / "index") as index:
        assert len(index) == 1


def test_sketches_are_saved_appended_and_merged(texts: list[str], tmp_path: Path) -> None:
    parameters = Parameters()
    made = sketch(texts[:40], parameters)
    for name, part in (("a", slice(0, 25)), ("b", slice(25, 40))):
        folder = SketchFolder.open(tmp_path / name, parameters, create=True)
        folder.append([f"doc-{i}" for i in range(part.start, part.stop)], sketch(texts[part], parameters))
        folder.close()
    both = SketchFolder.open(tmp_path / "a", parameters, create=True)
    both.merge(SketchFolder.open(tmp_path / "b"))
    both.close()
    again = SketchFolder.open(tmp_path / "a")
    assert [again.name(d) for d in range(again.count)] == [f"doc-{i}" for i in range(40)]
    assert (again.signatures == made.signatures.astype(np.uint16)).all()
    assert (again.facts[:, 1] == made.simhashes).all()
    with pytest.raises(UserError, match="other parameters"):
        both.merge(SketchFolder.open(tmp_path / "c", SMALL, create=True))


def test_sketches_of_older_words_are_taken_where_they_are_the_same(tmp_path: Path) -> None:
    for accents in (False, True):
        path = tmp_path / str(accents)
        SketchFolder.open(path, Parameters(folding=Folding(accents=accents)), create=True).close()
        header = msgspec.json.decode((path / "header.json").read_bytes())
        assert header.pop("words") == WORDS
        (path / "header.json").write_bytes(msgspec.json.encode(header))
    assert SketchFolder.open(tmp_path / "False").count == 0
    with pytest.raises(StorageError, match="made of other words"):
        SketchFolder.open(tmp_path / "True")


def test_bytes_for_a_document_on_disk(texts: list[str], tmp_path: Path) -> None:
    with DuplicateIndex(tmp_path / "index", memory=1 << 16) as index:
        ask_all(index, texts)
        kept = len(index)
        index._spill(index._folder, len(index))  # type: ignore[arg-type]
    size = sum(f.stat().st_size for f in (tmp_path / "index").iterdir())
    assert size / kept <= 900


@pytest.mark.kernel
def test_index_kernels_small(tmp_path: Path) -> None:
    with np.errstate(over="ignore"):
        with DuplicateIndex(tmp_path / "index", threshold=0.5, parameters=SMALL) as index:
            assert index.seen("a b c d e f", "1") is None
            assert index.seen("x y z", "2") is None
            index._make_room()
            index._spill(index._folder, len(index))  # type: ignore[arg-type]
            assert index.seen("a b c d e f", "3") == Match("1", 1.0, "text")
            assert index.seen("a b c d e f g", "4") is not None
            count = len(index)
            for text, name in (("a b c d e f g", "4"), ("a b c d e f", "1"), ("", "7"), ("p q r s t", "8")):
                index.seen_sketch(sketches_of([(name, text)], SMALL)[0])
            assert len(index) == count + 1, "what is remembered is not remembered again, also from the disk"
        with DuplicateIndex(tmp_path / "index", threshold=0.5, parameters=SMALL) as index:
            assert len(index) == 4
            assert index.seen("x y z", "5") == Match("2", 1.0, "text")
            index._folder.append(["6"], sketch(["k l m"], SMALL))  # type: ignore[union-attr]
        same = np.empty(2, np.uint16)
        index_kernels.agreements(np.array([[1, 2, 3], [1, 5, 3]], np.uint16), np.array([1, 2, 4], np.uint16), same)
        assert same.tolist() == [2, 1]
        for size in (1, 511, 512, 513, 3000):
            run = np.sort(np.random.default_rng(size).integers(1, 2**64, size, np.uint64))
            run[size // 2 : size // 2 + 600] = run[size // 2]  # a crowd
            run.tofile(tmp_path / "run")
            with (tmp_path / "run").open("rb") as file:
                bits, found = np.full(1, 2**64 - 1, np.uint64), np.empty(1000, np.int64)
                marks, page = run[:: index_kernels.STRIDE].copy(), np.empty(index_kernels.STRIDE, np.uint64)
                bands = (bits, bits, marks, page, found, file.fileno())
                places = {0, 1, size // 3, size // 2, size // 2 + 599, size // 2 + 600, 512, 1024, size - 2, size - 1}
                tags = [run[at] & ~index_kernels.DOCUMENT for at in places if 0 <= at < size]
                for tag in [*tags, np.uint64(0), np.uint64(2**64 - 2**28)]:
                    assert index_kernels.lower_bound(run, size, tag) == np.searchsorted(run, tag)
                    count = index_kernels.old_candidates(tag, bands, 3, 900)
                    truth = run[run & ~index_kernels.DOCUMENT == tag] & index_kernels.DOCUMENT
                    assert (found[3:count] + 1).tolist() == truth.tolist()
                    assert index_kernels.old_candidates(tag, bands, 3, 4) == 3 + min(1, len(truth))


def test_sketches_appended_together_outlive_a_crash(texts: list[str], tmp_path: Path) -> None:
    folder = SketchFolder.open(tmp_path / "s", Parameters(), create=True)
    folder.append([f"document number {i}" for i in range(10)], sketch(texts[:10], Parameters()))
    del folder  # as a crash leaves it: each record is known to be whole by its check sum alone
    again = SketchFolder.open(tmp_path / "s")
    assert [again.name(d) for d in range(again.count)] == [f"document number {i}" for i in range(10)]
