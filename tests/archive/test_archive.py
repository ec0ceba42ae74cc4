from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.archive import combine as second
from fyke.archive import reader_kernels, writer_kernels
from fyke.archive.archive import Archive
from fyke.archive.combine import Catalogue, Coding, combine
from fyke.archive.files import Manifest
from fyke.archive.preprocess import Preprocessing
from fyke.archive.run import Page, read_jsonl, runs_of, scan
from fyke.bits import lists
from fyke.bits.coding import SLACK, Code, Codes, read
from fyke.collection.build import scan_part
from fyke.errors import StorageError, UserError
from fyke.text.characters import WORDS

PLAIN = Preprocessing(stemmer="none", stopwords="none", min_documents=1)


def pages(count: int = 300, seed: int = 5) -> list[Page]:
    """Templated pages of a few sites in no order: a skewed vocabulary, some pages empty, some missing."""
    chance = np.random.default_rng(seed)
    out = []
    for i in chance.permutation(count).tolist():
        site = i % 4
        frame = " ".join(f"menu{site}x{j}" for j in range(12))
        words = " ".join(f"w{min(k, 900)}" for k in chance.zipf(1.4, int(chance.integers(0, 120))).tolist())
        text = None if i % 37 == 5 else "" if i % 41 == 7 else f"{frame} {words}"
        out.append(Page(f"http://site{site}.test/page/{i:05}", text, (f"http://site{site}.test/page/{i + 4:05}",)))
    return out


def build(
    given: list[Page], folder: Path, coding: Coding, preprocessing: Preprocessing = PLAIN, parts: int = 1
) -> Archive:
    for part in range(parts):
        for _ in scan(given[part::parts], folder / f"part{part}", preprocessing, memory=60_000):
            pass
    catalogue = Catalogue(runs_of([folder / f"part{part}" for part in range(parts)]))
    for _ in combine(catalogue, folder / "archive", coding):
        pass
    return Archive.open(folder / "archive")


def facts(archive: Archive) -> list[object]:
    return [s and (s.length, dict(zip(s.terms, s.counts.tolist(), strict=True))) for s in archive]


def expected(given: list[Page], least: int = 1) -> list[object]:
    """What the summaries must be, counted the plain way."""
    counted = {p.url: None if p.text is None else Counter(p.text.split()) for p in given}
    df = Counter(term for counts in counted.values() if counts for term in counts)
    return [
        None if (c := counted[url]) is None else (c.total(), {t: n for t, n in c.items() if df[t] >= least})
        for url in sorted(counted)
    ]


CODINGS = [Coding("paper"), Coding("fyke"), Coding("fyke", window=7, max_chain=4), Coding("fyke", window=0)]


@pytest.mark.parametrize("coding", CODINGS, ids=str)
def test_every_summary_comes_back(tmp_path: Path, coding: Coding, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second, "CHUNK", 64)  # several chunks
    given = pages()
    archive = build(given, tmp_path, coding)
    assert facts(archive) == expected(given)
    order = np.random.default_rng(1).permutation(len(archive))
    one_by_one = [archive[int(d)] for d in order]
    together = archive.read(order)
    assert together.lengths.tolist() == [-1 if s is None else s.length for s in one_by_one]
    assert together.ranks.tolist() == [r for s in one_by_one if s for r in s.ranks.tolist()]


@pytest.mark.parametrize("mode", ["paper", "fyke"])
def test_parts_combined_are_the_whole(tmp_path: Path, mode: str) -> None:
    given = pages()
    whole = build(given, tmp_path / "whole", Coding(mode), Preprocessing(min_documents=3))
    parts = build(given, tmp_path / "parts", Coding(mode), Preprocessing(min_documents=3), parts=3)
    assert len(list((tmp_path / "whole").glob("part*/run-*"))) > 1, "the memory budget split the scan"
    assert facts(parts) == facts(whole)
    assert parts.manifest.sections == whole.manifest.sections, "byte for byte"


def test_the_number_of_cores_does_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second, "CHUNK", 40)
    one = build(pages(), tmp_path / "one", Coding())
    for _ in second.combine(second.Catalogue(runs_of([tmp_path / "one" / "part0"])), tmp_path / "four", Coding(), 4):
        pass
    assert Archive.open(tmp_path / "four").manifest == one.manifest, "checksums of all sections included"


def test_ranks_are_by_document_frequency_and_rare_terms_go(tmp_path: Path) -> None:
    given = pages()
    archive = build(given, tmp_path, Coding(), Preprocessing("none", "none", 4))
    assert facts(archive) == expected(given, least=4)
    df = archive.dictionary.documents
    assert (np.diff(df) <= 0).all()
    assert df.min() >= 4
    counted = Counter(t for p in given if p.text for t in set(p.text.split()))
    for rank in range(0, len(archive.dictionary), 7):
        term = archive.dictionary.term(rank)
        assert counted[term] == df[rank]
        assert archive.dictionary.rank(term) == rank
    assert archive.dictionary.rank("absent") is None


def test_preprocessing_stems_and_stops(tmp_path: Path) -> None:
    text = "The crawlers crawled and are crawling: relational Relations, and THE end"
    archive = build([Page("http://a.test/", text)], tmp_path, Coding(), Preprocessing(min_documents=1))
    summary = archive[0]
    assert summary is not None
    assert summary.length == 11, "stopwords count in the length"
    assert dict(zip(summary.terms, summary.counts.tolist(), strict=True)) == {
        "crawler": 1,
        "crawl": 2,
        "relat": 2,
        "end": 1,
    }
    with pytest.raises(UserError, match="no stemmer is called 'potter'"):
        Preprocessing(stemmer="potter")


def test_terms_that_are_stopped_or_too_frequent_go(tmp_path: Path) -> None:
    given = [Page(f"http://a.test/{n}", "red green blue" + " rare" * (n < 2)) for n in range(5)]
    preprocessing = Preprocessing("none", ("blue",), min_documents=2, max_documents=4)
    archive = build(given, tmp_path, Coding(), preprocessing)
    assert [archive.dictionary.term(rank) for rank in range(len(archive.dictionary))] == ["rare"]
    assert archive.manifest.preprocessing == preprocessing
    with pytest.raises(UserError, match="no term is in 20 documents and in at most 19"):
        Preprocessing(max_documents=19)


def test_a_page_given_again_replaces_the_one_before(tmp_path: Path) -> None:
    """Document frequencies count the page that stayed, in whichever run the others are."""
    given = [Page("http://a.test/", f"alpha beta old{n}") for n in range(30)]
    archive = build(
        [*given, Page("http://a.test/", "alpha"), Page("http://b.test/", "alpha gamma")], tmp_path, Coding()
    )
    counted = {archive.dictionary.term(r): n for r, n in enumerate(archive.dictionary.documents.tolist())}
    assert counted == {"alpha": 2, "gamma": 1}


def test_terms_of_all_scripts_are_words(tmp_path: Path) -> None:
    """Vowel signs stay inside words, a Chinese clause is its pairs of characters."""
    text = "हिन्दी में हिन्दी, ภาษา; 東京大阪, தமிழ்"
    summary = build([Page("http://a.test/", text)], tmp_path, Coding())[0]
    assert summary is not None
    assert summary.length == 10
    assert dict(zip(summary.terms, summary.counts.tolist(), strict=True)) == {
        "हिन्दी": 2, "में": 1, "தமிழ்": 1, "ภา": 1, "าษ": 1, "ษา": 1, "東京": 1, "京大": 1, "大阪": 1,
    }  # fmt: skip


def test_archives_and_runs_say_what_a_word_was(tmp_path: Path) -> None:
    archive = build(pages(40), tmp_path, Coding(), parts=2)
    assert archive.manifest.tokeniser == WORDS
    older = {k: v for k, v in msgspec.json.decode(msgspec.json.encode(archive.manifest)).items() if k != "tokeniser"}
    assert msgspec.convert(older, Manifest).tokeniser == 1
    head = next((tmp_path / "part0").glob("run-*")) / "run.json"
    said = msgspec.json.decode(head.read_bytes())
    del said["tokeniser"]
    head.write_bytes(msgspec.json.encode(said))
    with pytest.raises(StorageError, match="to which a word is not the same"):
        runs_of([tmp_path / "part0", tmp_path / "part1"])


@pytest.mark.kernel
def test_paper_form_by_hand() -> None:
    """ℓ = 7, terms 0 2 3 with counts 4 1 2: every bit computed by hand."""
    codes = Codes.of([Code.parse(second.PAPER_CODES[name]) for name in writer_kernels.PAPER_STREAMS])
    streams, values = np.zeros(40, np.int64), np.zeros(40, np.int64)
    size = writer_kernels.describe_paper(7, np.array([0, 2, 3]), np.array([4, 1, 2]), streams, values)
    assert values[:size].tolist() == [7, 3, 0, 1, 0, 2, 1, 6]
    words = np.zeros(4, np.uint64)
    end = lists.write_list(words, 0, streams, values, 0, size, codes)
    # δ(7) 00100 000, ζ₃(3) 1100, ζ₂ of gaps 0 1 0, γ of ν(2−1) ν(1−2) ν(4−1) = 2 1 6
    bits = "00100000" + "1100" + "10" + "110" + "10" + "011" + "010" + "00111"
    assert f"{int(words[0]):064b}"[:end] == bits
    terms, counts, gaps = (np.zeros(9, np.int64) for _ in range(3))
    assert tuple(map(int, reader_kernels.read_paper(words, 0, codes, terms, counts, gaps))) == (7, 3, end)
    assert (terms[:3].tolist(), counts[:3].tolist()) == ([0, 2, 3], [4, 1, 2])


@pytest.mark.kernel
@pytest.mark.parametrize("mode", ["paper", "fyke"])
def test_a_small_archive_with_every_kernel(tmp_path: Path, mode: str) -> None:
    given = pages(40)
    archive = build(given, tmp_path, Coding(mode, max_chain=3))
    assert facts(archive) == expected(given)
    weights = np.random.default_rng(2).normal(size=archive.manifest.terms)
    documents = np.arange(len(archive))
    plain = [0.0 if s is None else float(weights[s.ranks] @ s.counts) for s in archive]
    np.testing.assert_allclose(archive.score(documents, weights), plain)
    mean = archive.mean_length
    bm25 = [
        0.0 if s is None else sum(
            weights[r] * c * 2.2 / (c + 1.2 * (0.25 + 0.75 * s.length / mean))
            for r, c in zip(s.ranks, s.counts, strict=True)
        )
        for s in archive
    ]  # fmt: skip
    np.testing.assert_allclose(archive.score(documents, weights, bm25=(1.2, 0.75)), bm25)


SUMMARY = st.tuples(
    st.integers(0, 50), st.dictionaries(st.integers(0, 400), st.integers(1, 300) | st.just(1), max_size=40)
)


@settings(max_examples=60)
@given(st.lists(SUMMARY, max_size=30), st.integers(0, 5), st.integers(0, 8))
def test_random_summaries_round_trip(given: list[tuple[int, dict[int, int]]], chain: int, window: int) -> None:
    lengths = np.array([rest + sum(c.values()) for rest, c in given], np.int64)
    starts = np.cumsum([0, *(len(c) for _, c in given)])
    terms = np.array([t for _, c in given for t in sorted(c)], np.int64)
    counts = np.array([c[t] for _, c in given for t in sorted(c)], np.int64)
    codes = Codes.of([Code.parse(second.FYKE_CODES[name]) for name in writer_kernels.FYKE_STREAMS])
    n = len(given)
    references, chains, bits, ends = (np.zeros(n, np.int64) for _ in range(4))
    small = lists.len_table(codes)
    chunk = writer_kernels.Chunk(lengths, starts, terms, counts)
    writer_kernels.choose_references(chunk, codes, small, window, chain, references, chains, bits)
    streams, values = np.zeros(4 * len(terms) + 16 * n, np.int64), np.zeros(4 * len(terms) + 16 * n, np.int64)
    size = writer_kernels.describe_all(chunk, references, False, streams, values, ends)
    words, positions = np.zeros(int(bits.sum()) // 64 + 3, np.uint64), np.zeros(n, np.int64)
    end = lists.write_lists(words, 0, streams, values, ends, codes, positions)
    assert end == bits.sum(), "the cost foreseen is the cost paid"
    assert size == (ends[-1] if n else 0)
    assert (chains <= chain).all()
    at = 0
    got: list[tuple[list[int], list[int]]] = []
    for x in range(n):
        reference, position = read(words, at, codes, writer_kernels.REFERENCE)
        out_terms, out_counts, extra, more = (np.zeros(41 + SLACK, np.int64) for _ in range(4))
        if reference:
            ref = np.zeros((2, 41), np.int64)
            ref[0, : len(got[x - reference][0])], ref[1, : len(got[x - reference][0])] = got[x - reference]
            length, size, _ = reader_kernels.read_against(
                words, position, codes, ref[0], ref[1], len(got[x - reference][0]), out_terms, out_counts, extra, more
            )
        else:
            length, size, _ = reader_kernels.read_alone(words, position, codes, out_terms, out_counts)
        assert length == lengths[x]
        got.append((out_terms[:size].tolist(), out_counts[:size].tolist()))
        at = positions[x]
    assert got == [(sorted(c), [c[t] for t in sorted(c)]) for _, c in given]


def test_fyke_mode_is_smaller(tmp_path: Path) -> None:
    sizes = {mode: build(pages(600), tmp_path / mode, Coding(mode)).manifest.stream_bits for mode in ("paper", "fyke")}
    assert sizes["fyke"] < 0.85 * sizes["paper"]


def test_sub_archives_are_layers(tmp_path: Path) -> None:
    archive = build(pages(), tmp_path, Coding())
    all_facts = facts(archive)
    chosen = np.array([3, 5, 40, 41, 200, 299])
    sub = archive.sub(chosen, tmp_path / "sub")
    assert facts(sub) == [all_facts[d] for d in chosen]
    again = Archive.open(tmp_path / "sub")
    assert again.sub(np.array([1, 3]), tmp_path / "subsub").below(np.array([0, 1])).tolist() == [5, 41]
    assert sum(f.stat().st_size for f in (tmp_path / "sub").iterdir()) < 1500, "no summary is copied"
    tenth, all_of_it = set(archive.sample(0.1).tolist()), set(archive.sample(1.0).tolist())
    hundredth = set(archive.sample(0.01).tolist())
    assert hundredth <= tenth <= all_of_it == set(range(300))
    assert 15 <= len(tenth) <= 50
    (tmp_path / "archive" / "archive.json").unlink()
    with pytest.raises(StorageError, match=r"lies over .* which is not there"):
        Archive.open(tmp_path / "sub")


def test_a_scan_replaces_what_an_earlier_one_left(tmp_path: Path) -> None:
    for count, memory in ((300, 60_000), (5, 60_000)):
        assert scan_part(pages(count), tmp_path, PLAIN, memory) == count
    assert len(Catalogue(runs_of([tmp_path]))) == 5


def test_jsonl_lines(tmp_path: Path) -> None:
    file = tmp_path / "pages.jsonl"
    file.write_text('{"url":"http://a.test/","text":"one two","links":["http://b.test/"]}\n{"url":"http://b.test/"}\n')
    assert list(read_jsonl(file)) == [Page("http://a.test/", "one two", ("http://b.test/",)), Page("http://b.test/")]
    file.write_text('{"text": 3}\n')
    with pytest.raises(StorageError, match="line 1"):
        list(read_jsonl(file))


def test_documents_end_where_the_archive_ends(tmp_path: Path) -> None:
    archive = build(pages(20), tmp_path, Coding("fyke"))
    assert len(archive) == 20
    for number in (20, 21, 1000, -1):
        with pytest.raises(IndexError):
            archive[number]


def test_missing_documents_may_be_the_last_ones(tmp_path: Path) -> None:
    given = [Page(f"http://a.test/{i:02}", None if i >= 6 else f"word{i} word", ()) for i in range(9)]
    assert facts(build(given, tmp_path, Coding("fyke"))) == expected(given)


def test_idf_and_mean_length_by_their_formulas(tmp_path: Path) -> None:
    given = [
        Page(f"http://a.test/{i}", text, ()) for i, text in enumerate(["fish fish in water", "fish and ships", "fish"])
    ]
    archive = build(given, tmp_path, Coding("fyke"))
    assert archive.mean_length == pytest.approx(8 / 3)
    idf = archive.idf()
    for term, documents in (("fish", 3), ("in", 1), ("ships", 1)):
        assert idf[archive.dictionary.rank(term)] == pytest.approx(np.log(4 / (documents + 0.5)))
    assert archive.pointer_index_bits > 0
    assert archive.pointer_index_bits % 64 == 0


def test_samples_are_nested_and_their_seed_counts(tmp_path: Path) -> None:
    archive = build(pages(), tmp_path, Coding("fyke"))
    small, large = set(archive.sample(0.2).tolist()), set(archive.sample(0.5).tolist())
    assert small < large
    assert 30 < len(small) < 90
    assert 110 < len(large) < 190
    assert set(archive.sample(0.2, seed=1).tolist()) != small
    assert archive.sample(0.2, seed=2**64 + 1).tolist() == archive.sample(0.2, seed=1).tolist()
    assert archive.sample(1.0).tolist() == list(range(300))
    assert archive.sample(0.0).size == 0


@pytest.mark.parametrize("documents", [63, 64, 65])
def test_dates_come_back_also_where_they_fill_their_words(documents: int, tmp_path: Path) -> None:
    when = {f"http://a.test/{i:03}": 0 if i % 9 == 4 else 1_700_000_000 + i * 1000 for i in range(documents)}
    given = [Page(url, "some words", (), fetched) for url, fetched in when.items()]
    assert build(given, tmp_path, Coding("fyke")).fetched().tolist() == list(when.values())


def test_an_archive_without_dates_says_so(tmp_path: Path) -> None:
    archive = build(pages(20), tmp_path, Coding("fyke"))
    assert not archive.fetched().any()
    assert archive.manifest.dates == (0, 0)
    older = msgspec.to_builtins(archive.manifest)
    del older["dates"]
    assert msgspec.convert(older, Manifest).dates == (0, 0)
