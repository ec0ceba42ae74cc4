"""Words of all scripts against the slow twin in plain Python; what they are in each script."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.lecture.texts import ROSE, SENTENCE
from fyke.text import words as module
from fyke.text.characters import Folding
from fyke.text.stems import STOPWORDS, names, stemmer
from fyke.text.words import folded, located, shingle_hashes, word_hashes, words
from tests.text import reference
from tests.text.strategies import BROKEN, foldings, texts


@pytest.fixture(autouse=True)
def _wrap_around() -> Iterator[None]:
    """Without the compiler, 64-bit products wrap with a warning; here they are meant to."""
    with np.errstate(over="ignore"):
        yield


@pytest.mark.kernel
@settings(max_examples=60)
@given(texts, foldings)
def test_words_agree_with_the_reference(text: str, folding: Folding) -> None:
    assert words(text, folding) == reference.split(text, folding)
    assert word_hashes(text, folding).tolist() == reference.word_hashes(text, folding)


@settings(max_examples=300)
@given(texts, foldings)
def test_words_agree_with_the_reference_at_length(text: str, folding: Folding) -> None:
    assert words(text, folding) == reference.split(text, folding)
    assert word_hashes(text, folding).tolist() == reference.word_hashes(text, folding)


@settings(max_examples=300)
@given(st.binary(max_size=40) | st.lists(st.sampled_from(BROKEN)).map(b"".join))
def test_bytes_that_are_not_utf8_separate_words(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    assert word_hashes(data).tolist() == reference.word_hashes(text)
    assert folded(data).tobytes().decode().split() == reference.split(text)


@pytest.mark.kernel
@settings(max_examples=40)
@given(texts, st.integers(1, 5))
def test_shingles_agree_with_the_reference(text: str, n: int) -> None:
    assert shingle_hashes(text, n).tolist() == reference.shingles(reference.word_hashes(text), n)


@settings(max_examples=200)
@given(texts, st.integers(1, 30))
def test_words_are_where_they_are_said_to_be(text: str, limit: int) -> None:
    found = list(located(text, limit))
    assert [word for word, _, _ in found] == reference.split(text)[:limit]
    for word, start, end in found:
        assert reference.split(text[start:end]) == [word]


def test_every_character_is_of_a_word_or_none() -> None:
    """Letters, digits and marks of every script: one look at all of Unicode."""
    for first in range(0, 0x40000, 256):
        points = [p for p in range(first, first + 256) if not 0xD800 <= p < 0xE000]
        text = " ".join(map(chr, points))
        assert words(text) == reference.split(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The fish's 2 fins.", ["the", "fish", "s", "2", "fins"]),
        ("snake_case", ["snake", "case"]),
        ("हिन्दी में लिखा", ["हिन्दी", "में", "लिखा"]),  # vowel signs and virama stay inside
        ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
        ("বাংলা ভাষা", ["বাংলা", "ভাষা"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("漢字かな and 漢", ["漢字", "字か", "かな", "and", "漢"]),
        ("東京、大阪。", ["東京", "大阪"]),
        ("ภาษา", ["ภา", "าษ", "ษา"]),
        ("ÉCOLE Straße", ["école", "straße"]),
        ("e\u0301cole", ["e\u0301cole"]),
        ("שָׁלוֹם", ["שָׁלוֹם"]),
    ],
)
def test_words_by_script(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("École e\u0301cole ÉCOLE", ["ecole"] * 3),
        ("हिन्दी", ["हिन्दी"]),  # a vowel sign is no accent
        ("한국어", ["한국어"]),  # nor is a syllable a letter with accents
        ("ガギ", ["ガギ"]),
        ("น้ำ", ["น้", "้ำ"]),
        ("שָׁלוֹם", ["שלום"]),
        ("مُحَمَّد", ["محمد"]),
        ("Αθήνα", ["αθηνα"]),
        ("ёлка й", ["елка", "и"]),
    ],
)
def test_folding_accents_keeps_letters(text: str, expected: list[str]) -> None:
    folding = Folding(accents=True)
    assert words(text, folding) == expected
    assert word_hashes(text, folding).tolist() == [reference.hash_word(word) for word in expected]


def test_case_is_an_option() -> None:
    assert words("Fish fish", Folding(case=False)) == ["Fish", "fish"]


def test_words_of_the_textbooks() -> None:
    assert len(word_hashes(SENTENCE)) == 18
    assert len(shingle_hashes(SENTENCE, 3)) == 16
    grams = shingle_hashes(ROSE, 4)
    assert (len(grams), len(set(grams.tolist()))) == (5, 3)


@pytest.mark.parametrize("text", ["one two three " * 50, "漢字" * 200, "x" * 500, "é" * 300])
def test_long_texts_are_folded_in_parts(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = words(text)
    monkeypatch.setattr(module, "_PART", 100)
    parts = words(text)
    assert "".join(parts).count("x") == "".join(whole).count("x")
    if " " in text:
        assert parts == whole
    assert set("".join(parts)) == set("".join(whole))


def test_a_sampled_text_has_its_own_words() -> None:
    """Of 8 MB some windows are read, so large that hardly any word is cut in two."""
    text = " ".join(f"word{number:08}" for number in range(650_000))
    found = set(word_hashes(text).tolist())
    assert len(module.encode(text)) <= module.MAX_BYTES
    whole = {value for start in range(0, len(text), 1 << 20) for value in word_hashes(text[start : start + (1 << 20)])}
    assert len(found) > 300_000
    assert len(found - whole) < 200


def test_stems_and_stopwords() -> None:
    assert stemmer("porter")("fishing") == "fish"
    assert stemmer("none")("fishing") == "fishing"
    assert {"porter", "german", "none"} <= set(names())
    assert "the" in STOPWORDS["english"]
    assert not STOPWORDS["none"]
