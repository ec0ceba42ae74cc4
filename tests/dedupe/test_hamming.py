"""Simhash search against brute force, similarities, families, plans."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.dedupe import similarity as similar
from fyke.dedupe.families import Cosine, Family, Hamming, Jaccard, Stable, candidates, keys
from fyke.dedupe.hamming import HammingIndex, distance, similarity
from fyke.dedupe.plan import bands, false_negative, false_positive, suggest
from fyke.dedupe.sketch import simhash
from fyke.errors import UserError
from fyke.text.words import word_hashes
from tests.dedupe.test_discover import collection


@settings(max_examples=30)
@given(
    st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20),
    st.lists(st.tuples(st.integers(0, 19), st.sets(st.integers(0, 63), max_size=5)), max_size=20),
    st.sampled_from([(3, None), (3, 6), (2, 3), (1, 4), (0, None), (0, 1)]),
)
def test_search_finds_all_within_k_bits(
    base: list[int], flips: list[tuple[int, set[int]]], shape: tuple[int, int | None]
) -> None:
    values = base + [base[i % len(base)] ^ sum(1 << bit for bit in bits) for i, bits in flips]
    k, groups = shape
    index = HammingIndex(np.array(values, np.uint64), k, groups)
    for value in values[:5]:
        expected = sorted((distance(v, value), i) for i, v in enumerate(values) if distance(v, value) <= k)
        assert [(d, i) for i, d in index.near(value)] == expected
    truth = [
        (i, j, d)
        for i, j in itertools.combinations(range(len(values)), 2)
        if (d := distance(values[i], values[j])) <= k
    ]
    assert index.pairs() == (truth, 0)


def test_large_buckets_lose_no_pair_in_silence() -> None:
    """Of faults D3: of a bucket of more than a thousand only the pairs with its first were found, and none skipped."""
    chance = np.random.default_rng(5)
    spread = chance.integers(0, 2**40, 1500, np.uint64)  # one top of 16 bits for all
    near = spread[:200] ^ (np.uint64(1) << chance.integers(0, 40, 200, np.uint64))
    index = HammingIndex(np.concatenate([spread, near]))
    found, skipped = index.pairs()
    assert {(i, 1500 + i, 1) for i in range(200)} <= set(found)
    assert skipped == 0
    assert index.pairs(max_bucket=100)[1] > 1_000_000
    many = HammingIndex(np.array([7] * 40 + [6], np.uint64)).pairs(max_equal=32)
    assert many == ([(0, n, 0) for n in range(1, 40)] + [(0, 40, 1)], 40 * 39 // 2 - 39 + 39)


def test_mankus_tables() -> None:
    assert len(HammingIndex(np.zeros(1, np.uint64), 3, 4).tables) == 4
    assert len(HammingIndex(np.zeros(1, np.uint64), 3, 6).tables) == math.comb(6, 3) == 20
    with pytest.raises(ValueError, match="k \\+ 1"):
        HammingIndex(np.zeros(1, np.uint64), 3, 3)


def test_similarity_is_the_cosine_of_the_share_of_bits() -> None:
    assert similarity(np.array([0, 64, 32])) == pytest.approx([1.0, -1.0, 0.0])


def test_the_lectures_errors() -> None:
    assert false_negative(0.9, 8, 8) == pytest.approx(0.01107, abs=5e-6)
    assert false_positive(0.5, 8, 8) == pytest.approx(0.03083, abs=5e-6)
    made = suggest(0.9, 0.5, 64, 0.05, 0.05)
    assert made.k * made.groups <= 64
    assert made.false_negative <= 0.05
    assert made.false_positive <= 0.05
    with pytest.raises(UserError, match="nearest is K"):
        suggest(0.6, 0.5, 64, 0.001, 0.001)
    with pytest.raises(UserError, match="0 < q < p"):
        suggest(0.5, 0.9, 64)
    assert bands(0.8, 192) == (32, 6)
    assert bands(0.8, 128) == (25, 5)


def test_the_matrix_of_six_rows() -> None:
    """Jaccard 2/5, and of the 720 orders of its rows exactly 288 = 2/5 give both columns the same minimum."""
    left, right = [0, 1, 1, 0, 1, 0], [1, 0, 1, 0, 1, 1]

    def first(column: list[int], order: tuple[int, ...]) -> int:
        return next(row for row in order if column[row])

    agree = sum(first(left, order) == first(right, order) for order in itertools.permutations(range(6)))
    assert agree == 288
    rows = np.array([left, right], np.float64)
    minima = Jaccard().hashes(rows, 4000)
    assert float((minima[0] == minima[1]).mean()) == pytest.approx(0.4, abs=0.03)


@pytest.mark.parametrize(
    ("family", "rows", "measure"),
    [
        (Cosine(), [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]], math.sqrt(0.5)),
        (Jaccard(), [[1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 1.0]], 0.5),
        (Hamming(4), [[1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 1.0]], 2.0),
        (Stable(1), [[1.0, 2.0, 3.0], [2.0, 2.0, 1.0]], 3.0),
        (Stable(2), [[1.0, 2.0, 3.0], [2.0, 2.0, 1.0]], math.sqrt(5)),
    ],
)
def test_families_agree_as_often_as_they_say(family: Family, rows: list[list[float]], measure: float) -> None:
    made = family.hashes(np.array(rows), 6000)
    assert float((made[0] == made[1]).mean()) == pytest.approx(family.agreement(measure), abs=0.025)


def test_keys_of_a_family_make_candidates() -> None:
    rows = np.array([[1.0, 0.0, 0.1], [1.0, 0.0, 0.11], [-1.0, 1.0, 0.0]])
    assert candidates(keys(Cosine(), rows, 8, 4)) == {(0, 1)}


def test_deeper_checks() -> None:
    text = collection(1)[0]
    words = text.split()
    assert similar.jaccard(text, text) == similar.containment(text, text) == similar.edit_similarity(text, text) == 1.0
    half = " ".join(words[: len(words) // 2])
    assert similar.containment(half, text) == 1.0
    assert similar.containment(text, half) < 0.6
    assert similar.equal_words("a a b c", "a b b d") == pytest.approx(2 * 2 / 8)
    assert similar.edit_similarity("a b c d", "a x c") == pytest.approx(1 - 2 / 4)
    assert similar.cosine("a a b", "a b b") == pytest.approx(4 / 5)
    the = int(word_hashes("the")[0])
    idf = similar.inverse_frequencies(["the fish", "the fowl", "the fish pond"])
    assert similar.cosine("the fish", "the fowl", idf) < similar.cosine("the fish", "the fowl")
    assert similar.jaccard("", "") == similar.cosine("", "a") == similar.equal_words("", "") == 0.0
    assert simhash("the fish", idf=idf) == simhash("the fish", idf=idf, bits=128) >> 64
    far = (simhash("the the fish") ^ simhash("fish")).bit_count()
    assert (simhash("the the fish", idf=dict.fromkeys(idf, 1.0)) ^ simhash("the the fish")) == 0
    assert (simhash("the the fish", idf={**idf, the: 0.01}) ^ simhash("fish")).bit_count() < far
    assert similar.check("containment")(text, half) == 1.0


@pytest.mark.kernel
@settings(max_examples=40)
@given(st.lists(st.integers(0, 3), max_size=8), st.lists(st.integers(0, 3), max_size=8))
def test_edit_distance_is_levenshteins(left: list[int], right: list[int]) -> None:
    from fyke.dedupe import similarity_kernels

    def slow(a: tuple[int, ...], b: tuple[int, ...]) -> int:
        rows = [[max(i, j) if not (i and j) else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
        for i, x in enumerate(a, 1):
            for j, y in enumerate(b, 1):
                rows[i][j] = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (x != y))
        return rows[-1][-1]

    made = similarity_kernels.edit_distance(np.array(left, np.uint64), np.array(right, np.uint64))
    assert made == slow(tuple(left), tuple(right))
