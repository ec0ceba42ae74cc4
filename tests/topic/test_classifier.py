"""The page classifier against truth, its file against damage, topic files against mistakes."""

from __future__ import annotations

import hashlib
import struct

import msgspec
import numpy as np
import pytest
import xxhash
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.errors import UserError
from fyke.text.characters import WORDS
from fyke.text.language import language_of
from fyke.text.words import folded
from fyke.topic import kernels, linear, topic
from fyke.topic.features import MASK, SIZE, Hasher
from fyke.topic.model import MAGIC, MAX_FILE, VERSION, Measured, ModelFile, PageModel, PageText, is_model
from fyke.topic.sealed import seal, unseal
from fyke.topic.topic import Topic
from fyke.topic.train import measure, train, vectors
from fyke.world.words import paragraph


class OldModelFile(msgspec.Struct, frozen=True, array_like=True):
    """A model's file as it was before models said what a word is."""

    topic: Topic
    measured: Measured
    bias: float
    slope: float
    shift: float
    places: bytes
    weights: bytes


TOPICS = ("cooking", "sailing", "law", "music")


def page(about: str, number: int, language: str = "en") -> PageText:
    text = paragraph(language, about, 150, "test", about, number)
    return PageText(text, text[:30], f"http://{about}.example/{number}.html", language, "text/html")


def pages(about: str, count: int, start: int = 0) -> list[PageText]:
    return [page(about, start + k) for k in range(count)]


def others(count: int, start: int = 0) -> list[PageText]:
    return [page(TOPICS[1 + k % 3], start + k) for k in range(count)]


def chance() -> np.random.Generator:
    return np.random.default_rng(7)


COOKING = Topic("cooking", relevant=("examples",))


def test_few_examples_tell_a_topic_and_probabilities_are_calibrated() -> None:
    trained = train(COOKING, pages("cooking", 12), others(60), chance())
    assert trained.warnings == ()
    assert trained.model.measured.precision > 0.9
    assert trained.model.measured.recall > 0.9
    fresh = [trained.model.probability(p) for p in [*pages("cooking", 60, 500), *others(60, 500)]]
    assert np.mean(np.array(fresh[:60]) >= 0.5) >= 0.95
    assert np.mean(np.array(fresh[60:]) >= 0.5) <= 0.05
    # Half cooking, half law: calibrated probabilities are neither 0 nor 1 for all of them.
    mixed = [
        trained.model.probability(PageText(page("cooking", 900 + k).text[:300] + " " + page("law", k).text[:500]))
        for k in range(40)
    ]
    assert 0.05 < np.mean(mixed) < 0.95


def test_one_example_is_enough_to_begin() -> None:
    trained = train(COOKING, pages("cooking", 1), others(60), chance())
    assert "too few examples" in trained.warnings[0]
    assert np.mean([trained.model.probability(p) >= 0.5 for p in pages("cooking", 30, 100)]) > 0.8
    assert np.mean([trained.model.probability(p) >= 0.5 for p in others(30, 100)]) < 0.1


def test_training_repeats_itself_and_survives_its_file() -> None:
    one = train(COOKING, pages("cooking", 8), others(30), chance()).model
    two = train(COOKING, pages("cooking", 8), others(30), chance()).model
    assert one.encode() == two.encode()
    again = PageModel.decode(one.encode(), "m")
    assert is_model(one.encode())
    for each in [*pages("cooking", 5, 50), *others(5, 50)]:
        assert again.probability(each) == one.probability(each)
    assert again.measured == one.measured


def test_contradictory_examples_are_named() -> None:
    with pytest.raises(UserError, match="relevant and irrelevant at once"):
        train(COOKING, pages("cooking", 3), pages("cooking", 3), chance())
    trained = train(COOKING, pages("cooking", 60), pages("cooking", 60, 100), chance())
    assert "contradict one another" in trained.warnings[0]


def test_nothing_to_learn_from() -> None:
    with pytest.raises(UserError, match="no positive example"):
        train(Topic("empty"), [], others(3), chance())
    with pytest.raises(UserError, match="no positive example could be read"):
        train(COOKING, [], others(3), chance())
    with pytest.raises(UserError, match="no negative example"):
        train(COOKING, pages("cooking", 3), [], chance())


def test_words_phrases_and_patterns() -> None:
    model = PageModel(Topic(words=("keel", "rudder", "mast", "anchor", "man overboard")))
    assert model.probability(PageText("The keel and the rudder of a boat with one mast.")) > 0.5
    assert model.probability(PageText("An overboard man is no phrase.")) < 0.1
    assert model.probability(PageText("Man overboard, cried the man at the mast")) > 0.5
    islands = PageModel(Topic(words=("bora bora", "new york new york")))
    assert [islands.probability(PageText(t)) > 0 for t in ("to Bora Bora by sea", "in New York", "a bora blows")] == [
        True,
        True,
        False,
    ]
    one = PageModel(Topic(words=("keel",)))  # of each page all words may be the topic's, or none be there
    assert [one.probability(PageText(text)) for text in ("", "keel", "a boat")] == pytest.approx([0, 0.5 / 8**0.5, 0])
    assert type(one.probability(PageText("keel"))) is float  # as rows hold it
    pattern = PageModel(Topic(patterns=(r"\bcatamarans?\b",)))
    assert pattern.probability(PageText("Two Catamarans went by")) == pytest.approx(0.95)
    assert pattern.probability(PageText("x", url="http://example.org/catamaran/")) == pytest.approx(0.95)
    assert pattern.probability(PageText("Two cats went by")) == 0


def test_stuffing_does_not_pay() -> None:
    model = train(COOKING, pages("cooking", 12), others(60), chance()).model
    stuffed = "bread sauce oven flour butter onion garlic soup knife recipe "
    assert model.probability(PageText(stuffed)) > 0.5
    assert model.probability(PageText(stuffed * 300)) < 0.3
    assert all(model.probability(p) > 0.5 for p in pages("cooking", 10, 700))


def test_other_languages_and_types_are_irrelevant() -> None:
    model = PageModel(Topic(words=("keel",), languages=("en",), types=("text/html",)))
    text = "the keel of the boat is what keeps it upright in the wind and on the sea for all of the time "
    assert model.probability(PageText(text, language="en-GB", type="text/html")) >= 0.5
    assert model.probability(PageText(text, language="de", type="text/html")) == 0
    assert model.probability(PageText(text, type="application/pdf")) == 0
    assert language_of(text) == "en"
    assert (
        language_of("Der Kiel des Bootes ist das, was es im Wind und auf der See aufrecht hält, und zwar immer") == "de"
    )
    assert language_of("Kiel") == ""


@given(st.binary(max_size=200))
def test_any_bytes_are_a_safe_model_file(data: bytes) -> None:
    for start in (b"", MAGIC, MAGIC + b"\x01\0\0\0"):
        with pytest.raises(UserError, match="topic train"):
            PageModel.decode(start + data, "m.model")


def test_a_model_of_another_version_or_with_a_flipped_bit_is_refused() -> None:
    data = PageModel(Topic(words=("keel",))).encode()
    with pytest.raises(UserError, match="of version 9, this fyke reads version 1"):
        PageModel.decode(MAGIC + b"\x09" + data[len(MAGIC) + 1 :], "m.model")
    for at in range(len(MAGIC) + 4, len(data), 7):
        with pytest.raises(UserError, match="topic train"):
            PageModel.decode(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], "m.model")


def test_a_model_that_would_fill_the_memory_is_refused() -> None:
    body = zstandard.ZstdCompressor().compress(bytes(MAX_FILE + 1))
    with pytest.raises(UserError, match=r"m\.model is no topic model that can be read: it does not say that it fits"):
        PageModel.decode(MAGIC + struct.pack("<IQ", 1, xxhash.xxh3_64_intdigest(body)) + body, "m.model")


def test_topic_files() -> None:
    read = topic.parse('name = "s"\nwords = ["keel"]\nlanguages = ["en"]\ntunnel = 2', "t.toml")
    assert (read.words, read.languages, read.tunnel) == (("keel",), ("en",), 2)
    for text, said in (
        ("name =", "t.toml is no TOML"),
        ('name = "x"', "no positive example"),
        ('wrods = ["keel"]', "is no topic"),
        ('words = ["a"]\nthreshold = 3', "threshold is 3"),
        ('patterns = ["("]', "no regular expression"),
        (f'patterns = ["{"a" * 1000}("]', "1,001 characters"),
        ('relevant = ["a"]\nirrelevant = ["a"]', "a is given as relevant and as irrelevant"),
    ):
        with pytest.raises(UserError, match=said):
            topic.parse(text, "t.toml")


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.data())
def test_area_under_the_curve_is_the_share_of_ordered_pairs(p: list[float], data: st.DataObject) -> None:
    labels = np.array(data.draw(st.lists(st.sampled_from([1.0, -1.0]), min_size=len(p), max_size=len(p))))
    if abs(labels.sum()) == len(p):
        return
    values = np.array(p)
    pairs = [(a > b) + (a == b) / 2 for a in values[labels > 0] for b in values[labels < 0]]
    assert measure(values, labels, 5, 0.5).area == pytest.approx(np.mean(pairs))


# ---- kernels


def words_by_hand(text: str) -> dict[str, int]:
    import re

    counts: dict[str, int] = {}
    found = re.findall(r"[a-z0-9äöüßéа-яё]+", text.lower())
    for k, word in enumerate(found):
        counts[word] = counts.get(word, 0) + 1
        if k:
            counts[found[k - 1] + " " + word] = counts.get(found[k - 1] + " " + word, 0) + 1
    return counts


def test_features_of_spaced_scripts_are_those_of_the_first_models() -> None:
    """Models of the tokeniser before weigh Latin, Greek and Cyrillic words as new ones do."""
    vector = Hasher().page(
        "The Keel's 2 rudders, école Ölpreis ВЕТЕР и парус; 12.5%", "A title", "http://x.example/a-b_c?d=1"
    )
    seen = vector.features.astype("<i8").tobytes() + vector.values.astype("<f4").tobytes()
    assert hashlib.sha256(seen).hexdigest()[:16] == "8e05e75bda7cbe9c"


def test_a_model_says_what_a_word_was_to_it() -> None:
    model = PageModel(Topic(words=("keel",)))
    kept = unseal(model.encode(), MAGIC, VERSION, ModelFile, 1 << 26)
    assert kept.tokeniser == WORDS
    older = seal(MAGIC, VERSION, OldModelFile(*msgspec.structs.astuple(kept)[:-1]), 1)
    assert PageModel.decode(older, "m").topic == model.topic
    assert unseal(older, MAGIC, VERSION, ModelFile, 1 << 26).tokeniser == 1


@pytest.mark.kernel
@settings(max_examples=20)
@given(st.text("abc ä.йx-1", max_size=60))
def test_features_are_words_and_pairs(text: str) -> None:
    with np.errstate(over="ignore"):
        vector = Hasher().page(text)
    expected = words_by_hand(text)
    assert len(vector.features) == len(expected)
    values = np.sort([1 + np.log(n) for n in expected.values()])
    assert np.allclose(np.sort(vector.values), values / (np.linalg.norm(values) or 1))


@pytest.mark.kernel
def test_scripts_without_spaces_are_pairs_of_characters() -> None:
    with np.errstate(over="ignore"):
        hasher = Hasher()
        assert hasher.page("東京。大阪").words == 2
        one, two = hasher.page("東京").features[0], hasher.page("在東京的").features[1]
        assert one == two
        assert hasher.page("ภาษา").words == 3
        assert hasher.page("…—“”、。！").words == 0


@given(st.binary(max_size=80))
@settings(max_examples=50)
def test_any_bytes_are_counted_without_harm(data: bytes) -> None:
    counts, touched = np.zeros(SIZE, np.int32), np.empty(400, np.int64)
    used, words = kernels.add_words(folded(data), 1, True, MASK, counts, touched, 0)
    assert used <= 2 * words <= 2 * len(data)


@pytest.mark.kernel
def test_a_machine_separates_and_its_scores_become_probabilities() -> None:
    some = linear.Sparse(np.array([0, 1, 2, 3, 4]), np.array([0, 0, 1, 1]), np.ones(4))
    labels = np.array([1.0, 1.0, -1.0, -1.0])
    weights = linear.fit(some, labels, 2, chance())
    assert np.sign(linear.scores(some, weights)).tolist() == labels.tolist()
    found = np.linspace(-2, 2, 41)
    slope, shift = linear.calibrate(found, np.where(found > 0.5, 1.0, -1.0))
    assert linear.sigmoid(slope * np.array([-2.0, 2.0]) + shift) == pytest.approx([0.03, 0.94], abs=0.08)
    assert -shift / slope == pytest.approx(0.5, abs=0.3)
    with np.errstate(over="ignore"):
        few = vectors([PageText("keel keel rudder"), PageText("")])
    assert few.starts.tolist()[-2:] == [4, 4]  # keel, keel keel, rudder, keel rudder
    touched, values = few.terms, few.values
    assert kernels.dot(touched, values, len(touched), np.ones(SIZE, np.float32)) == pytest.approx(values.sum())
