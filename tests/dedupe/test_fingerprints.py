"""Fingerprints: the textbook's example, Rabin's arithmetic against big integers, winnowing's promise."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.dedupe import fingerprint_kernels
from fyke.dedupe.fingerprints import (
    POLYNOMIAL,
    Fingerprinting,
    fingerprints,
    n_grams,
    overlaps,
    rabin,
    remainder,
    units,
    zero_modulo,
)
from fyke.lecture.texts import SENTENCE, SENTENCE_HASHES
from tests.text.reference import split


def test_the_textbooks_example() -> None:
    grams = n_grams(split(SENTENCE), 3)
    assert len(split(SENTENCE)) == 18
    assert len(grams) == len(SENTENCE_HASHES) == 16
    assert grams[8] == "around the world"
    assert zero_modulo(np.array(SENTENCE_HASHES), 4).tolist() == [664, 492, 236, 908]
    chosen = [gram for gram, value in zip(grams, SENTENCE_HASHES, strict=True) if value % 4 == 0]
    assert chosen == ["fish include fish", "found in tropical", "the world including", "including both freshwater"]


def multiply(a: int, b: int) -> int:
    out = 0
    while b:
        out ^= a if b & 1 else 0
        a, b = a << 1, b >> 1
    return remainder(out)


def test_the_polynomial_is_irreducible() -> None:
    """Rabin's test: x^(2^64) = x, and x^(2^32) − x has no factor in common with it (64 has the one prime 2)."""
    power = 2
    for i in range(64):
        power = multiply(power, power)
        if i == 31:
            a, b = POLYNOMIAL, power ^ 2
            while b:
                while a.bit_length() >= b.bit_length():
                    a ^= b << (a.bit_length() - b.bit_length())
                a, b = b, a
            assert a == 1
    assert power == 2


@pytest.mark.kernel
@settings(max_examples=40)
@given(st.lists(st.integers(0, 2**64 - 1), max_size=12), st.integers(1, 5), st.booleans())
def test_rolling_is_the_remainder_of_the_whole(words: list[int], n: int, overlapping: bool) -> None:
    width = min(n, len(words))
    starts = range(0, len(words) - width + 1, 1 if overlapping else n) if words else []
    expected = [remainder(sum(w << 64 * (width - 1 - j) for j, w in enumerate(words[i : i + width]))) for i in starts]
    assert rabin(np.array(words, np.uint64), n, overlapping).tolist() == expected


@pytest.mark.kernel
@settings(max_examples=60)
@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 6))
def test_winnowing_keeps_the_least_of_each_window(values: list[int], window: int) -> None:
    hashes = np.array(values, np.uint64)
    out = np.empty(len(values) + 1, np.uint64)
    kept = out[: fingerprint_kernels.winnow(hashes, window, out)].tolist()
    places: list[int] = []
    for start in range(max(1, len(values) - window + 1) if values else 0):
        part = values[start : start + window]
        place = start + max(i for i, v in enumerate(part) if v == min(part))
        if not places or places[-1] != place:
            places.append(place)
    assert kept == [values[p] for p in places]


def test_units_and_selections() -> None:
    text = "One fish. Two fish!\n\nRed fish; blue fish."
    assert len(units(text, "words")) == 8
    assert len(units(text, "sentences")) == 3
    assert len(units(text, "paragraphs")) == 2
    everything = fingerprints(text * 20, Fingerprinting(ngram=2))
    some = fingerprints(text * 20, Fingerprinting(ngram=2, select="mod", modulus=3))
    assert set(some.tolist()) == {v for v in everything.tolist() if v % 3 == 0}
    assert len(fingerprints("", Fingerprinting())) == 0


def test_overlap_is_resemblance_and_containment() -> None:
    half = " ".join(f"w{i}" for i in range(50))
    whole = half + " " + " ".join(f"w{i}" for i in range(50, 100))
    other = " ".join(f"x{i}" for i in range(50))
    prints = [fingerprints(t, Fingerprinting(ngram=3)) for t in (half, whole, other)]
    (found,) = overlaps(prints)
    assert (found.left, found.right, found.common) == (0, 1, 48)
    assert found.left_in_right == 1.0
    assert found.resemblance == found.right_in_left == pytest.approx(48 / 98)
    assert overlaps(prints, 0.6) == []
    assert overlaps([]) == []


def test_many_copies_take_the_memory_of_their_pairs() -> None:
    """Not that of their pairs for each fingerprint: here 48 MB."""
    prints = np.arange(1200, dtype=np.uint64)
    tracemalloc.start()
    try:
        found = overlaps([prints] * 100, 0.9)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(found) == 100 * 99 // 2
    assert peak < 40e6


def test_a_moved_passage_is_found_by_winnowing() -> None:
    passage = " ".join(f"p{i}" for i in range(12))
    settings_ = Fingerprinting(ngram=5, select="winnow", window=8)
    left = fingerprints("alpha beta gamma " + passage + " delta", settings_)
    right = fingerprints("something quite different before " + passage + " and after it", settings_)
    assert len(np.intersect1d(left, right)) >= 1, "12 = window + n − 1 common words"
