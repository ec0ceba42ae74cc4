"""Kernels against their slow twins, bit for bit; the lectures' examples."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.dedupe import kernels, similarity_kernels
from fyke.dedupe.sketch import (
    LINEAR_PRIME,
    Parameters,
    coefficients,
    fast_coefficients,
    minhash,
    second_half,
    simhash,
    sketch,
    weighted_simhash,
    weighted_vector,
)
from fyke.lecture.texts import SENTENCE, WORD_HASHES
from fyke.text.characters import character_table
from fyke.text.words import MAX_BYTES, encode, pack, shingle_hashes, word_hashes
from tests.dedupe import reference
from tests.text.reference import M64, shingles
from tests.text.reference import word_hashes as slow_hashes
from tests.text.strategies import texts


@pytest.fixture(autouse=True)
def _wrap_around() -> Iterator[None]:
    """Without the compiler, 64-bit products wrap with a warning; here they are meant to."""
    with np.errstate(over="ignore"):
        yield


@pytest.mark.kernel
@settings(max_examples=40)
@given(texts, st.integers(1, 7))
def test_sketches_agree_with_the_reference(text: str, n: int) -> None:
    words = slow_hashes(text)
    grams = shingles(words, n)
    a, b = coefficients(20)
    made = sketch([text, "", text + " x"], Parameters(ngram=n, num_perm=20))
    assert made.signatures[0].tolist() == reference.minima(grams, a.tolist(), b.tolist())
    assert made.simhashes[0] == reference.simhash(words)
    assert made.counts.tolist()[:2] == [len(grams), 0]
    assert sketch([text], Parameters(ngram=n, num_perm=20, features="shingles")).simhashes[0] == reference.simhash(
        grams
    )
    assert minhash(text, num_perm=20, ngram=n).tolist() == made.signatures[0].tolist()
    assert made.keys[0] != made.keys[2], "one word more is another text"


@pytest.mark.kernel
@settings(max_examples=30)
@given(st.lists(st.integers(0, 2**64 - 1), max_size=40))
def test_minima_and_majority_agree_with_the_reference(hashes: list[int]) -> None:
    array = np.array(hashes, np.uint64)
    for kind, p in (("fast", 1 << 32), ("linear", LINEAR_PRIME)):
        a, b = coefficients(9, kind)
        out = np.empty(9, np.uint32)
        if kind == "fast":
            kernels.minima(array, len(array), *fast_coefficients(9), out)
        else:
            kernels.minima_modulo(array, len(array), a, b, np.uint64(p), out)
        assert out.tolist() == reference.minima(hashes, a.tolist(), b.tolist(), p)
    planes = np.empty(kernels.PLANES, np.uint64)
    assert kernels.majority(array, len(array), planes) == reference.simhash(hashes)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 3), min_size=200, max_size=3000), st.randoms())
def test_majority_counts_high(picks: list[int], chance: object) -> None:
    """Many features: carries run through several planes."""
    values = [0xFFFF0000FFFF0000, 0x0F0F0F0F0F0F0F0F, 0xFFFFFFFFFFFFFFFF, 0x8000000000000001]
    hashes = [values[i] for i in picks]
    planes = np.empty(kernels.PLANES, np.uint64)
    assert kernels.majority(np.array(hashes, np.uint64), len(hashes), planes) == reference.simhash(hashes)


@pytest.mark.kernel
@settings(max_examples=25)
@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=20), st.lists(st.sampled_from(["a", "b", "c"]), max_size=20))
def test_common_shingles_are_the_intersection(left: list[str], right: list[str]) -> None:
    buffer, offsets = pack([" ".join(left), " ".join(right)])
    out = np.zeros((3, 3), np.int64)
    similarity_kernels.common_shingles(
        buffer, offsets, np.array([0, 0, 1]), np.array([1, 0, 0]), 2, character_table(), out
    )
    sets = [set(shingles(slow_hashes(" ".join(words)), 2)) for words in (left, right)]
    both = len(sets[0] & sets[1])
    assert out.tolist() == [
        [len(sets[0]), len(sets[1]), both],
        [len(sets[0]), len(sets[0]), len(sets[0])],
        [len(sets[1]), len(sets[0]), both],
    ]


def test_signatures_estimate_jaccard() -> None:
    left = " ".join(f"w{i}" for i in range(1000))
    right = " ".join(f"w{i}" for i in range(250, 1250))
    truth = reference.jaccard(set(shingle_hashes(left).tolist()), set(shingle_hashes(right).tolist()))
    for kind in ("fast", "linear"):
        a, b = (minhash(t, num_perm=2000, kind=kind) for t in (left, right))
        assert abs(float((a == b).mean()) - truth) < 4 * (truth * (1 - truth) / 2000) ** 0.5


def test_simhash_of_similar_texts_is_similar() -> None:
    left = simhash(SENTENCE * 3 + "one")
    right = simhash(SENTENCE * 3 + "other")
    other = simhash("Quite another matter is told here, of ships and sealing wax, of cabbages and kings.")
    assert (left ^ right).bit_count() <= 8 < 16 < (left ^ other).bit_count()
    assert simhash(SENTENCE, bits=128) >> 64 == simhash(SENTENCE)
    assert simhash(SENTENCE, bits=128) & M64 == reference.simhash(second_half(word_hashes(SENTENCE)).tolist())
    assert simhash("") == 0


def test_a_text_without_words_has_no_sketch() -> None:
    assert set(minhash(" \n- ").tolist()) == {0xFFFFFFFF}


def test_one_word_a_million_times_and_a_hundred_megabytes() -> None:
    repeated = "fish " * 1_000_000
    assert len(encode(repeated)) <= MAX_BYTES
    assert len(set(shingle_hashes(repeated).tolist())) <= 130, "one shingle, and those that a sample's seams make"
    data = b"0123456789 abcdef " * (100 * 2**20 // 18)
    assert len(encode(data)) <= MAX_BYTES
    assert encode(data).startswith(data[:1000])
    assert encode(data).endswith(data[-1000:])


@pytest.mark.kernel
def test_weighted_simhash_of_the_textbook() -> None:
    weights = [2.0, 2.0] + [1.0] * 11
    hashes = [int(bits, 2) for bits in WORD_HASHES.values()]
    assert weighted_vector(hashes, weights, bits=8).tolist() == [1, -5, 9, -9, 3, 1, 3, 3]
    assert f"{weighted_simhash(hashes, weights, bits=8):08b}" == "10101111"


def test_sketches_are_those_of_the_first_version() -> None:
    """Folders on disk hold them: all scripts, marks, planes 1 and 2."""
    text = (
        "The quick Brown FOX's école e\u0301cole Straße 漢字かな ไทย हिन्दी தமிழ் 한국어 مُحَمَّد 𠀀𝒜 snake_case 12.5 £ЁЖ ﬁ İ"
    )
    assert hashlib.sha256(minhash(text).tobytes()).hexdigest()[:16] == "b20f4374e198b643"
    assert simhash(text) == 0x3413947630C2DC8C
