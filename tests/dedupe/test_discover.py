"""Discovery against the exact join, clusters, tiny texts, crowds."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fyke
from fyke.dedupe import lsh_kernels
from fyke.dedupe.discover import MAX_BUCKET, band_keys, estimate, near_duplicates
from fyke.dedupe.plan import bands
from fyke.dedupe.similarity import jaccard
from fyke.dedupe.sketch import Parameters, sketch
from fyke.text.words import shingle_hashes


def edited(words: list[str], edits: int, chance: random.Random) -> list[str]:
    made = list(words)
    for _ in range(edits):
        at = chance.randrange(len(made))
        kind = chance.randrange(3)
        if kind == 0:
            made[at] = f"new{chance.randrange(10**6)}"
        elif kind == 1:
            made.insert(at, f"new{chance.randrange(10**6)}")
        else:
            del made[at]
    return made


def collection(count: int, seed: int = 1) -> list[str]:
    """Texts of 60 to 200 words, of which every third has one or two copies with up to a dozen edits."""
    chance = random.Random(seed)
    texts: list[list[str]] = []
    while len(texts) < count:
        words = [f"w{int(chance.paretovariate(0.6)) % 5000}" for _ in range(chance.randrange(60, 200))]
        texts.append(words)
        if chance.random() < 0.3:
            texts += [edited(words, chance.randrange(12), chance) for _ in range(chance.randrange(1, 3))]
    chance.shuffle(texts)
    return [" ".join(words) for words in texts[:count]]


def exact_join(texts: list[str], threshold: float, n: int = 5) -> dict[tuple[int, int], float]:
    """Every pair that shares a shingle, counted through an inverted index."""
    found = {}
    sizes: list[int] = []
    holders: dict[int, list[int]] = {}
    for j, text in enumerate(texts):
        shingles = set(shingle_hashes(text, n).tolist())
        sizes.append(len(shingles))
        common: Counter[int] = Counter()
        for shingle in shingles:
            common.update(holders.setdefault(shingle, []))
            holders[shingle].append(j)
        for i, count in common.items():
            if (similarity := count / (sizes[i] + sizes[j] - count)) >= threshold:
                found[i, j] = similarity
    return found


def test_pairs_are_those_of_the_exact_join() -> None:
    texts = collection(600)
    truth = exact_join(texts, 0.8)
    found = {(i, j): s for i, j, s in near_duplicates(texts, 0.8).pairs}
    assert len(truth) >= 50
    assert found == pytest.approx(truth), "true similarities, none missed, none invented"


@settings(max_examples=15)
@given(st.lists(st.lists(st.sampled_from("abc"), max_size=6).map(" ".join), max_size=12))
def test_small_texts_at_any_threshold(texts: list[str]) -> None:
    found = {(i, j): s for i, j, s in near_duplicates(texts, 0.5, parameters=Parameters(ngram=2)).pairs}
    assert found == pytest.approx(exact_join(texts, 0.5, n=2))


def test_empty_and_tiny_texts_make_no_false_clusters() -> None:
    texts: list[str | bytes] = [
        "",
        " ",
        "...",
        "fish",
        "Fish!",
        "fowl",
        "fish fish",
        "漢",
        "漢",
        b"\xff\xfe\x00",
        b"\xff\x00",
    ]
    found = near_duplicates(texts)
    assert [c.members for c in found.clusters] == [(3, 4), (7, 8)]
    assert near_duplicates([]).clusters == ()
    assert near_duplicates([""]).pairs == []


def chain() -> list[str]:
    """Three texts, each near the next, the ends not near: near-duplication is not transitive."""
    words = [f"w{i}" for i in range(200)]
    return [" ".join(words[a : a + 180]) for a in (0, 10, 20)]


def test_linked_clusters_chain_and_stars_do_not() -> None:
    linked = near_duplicates(chain(), 0.85)
    assert [c.members for c in linked.clusters] == [(0, 1, 2)]
    assert linked.clusters[0].lowest < 0.85
    star = near_duplicates(chain(), 0.85, cluster="star")
    assert [c.members for c in star.clusters] == [(0, 1)]
    best = near_duplicates(chain(), 0.85, cluster="star", representative="best-linked")
    assert [(c.representative, c.members) for c in best.clusters] == [(1, (0, 1, 2))]
    assert best.clusters[0].lowest >= 0.85


def test_clusters_tell_the_least_similarity_to_their_representative() -> None:
    texts = collection(150, seed=11)
    found = near_duplicates(texts, 0.6)
    assert len(found.clusters) > 10
    for cluster in found.clusters:
        centre = texts[cluster.representative]
        others = [jaccard(centre, texts[m]) for m in cluster.members if m != cluster.representative]
        assert cluster.lowest == pytest.approx(min(others))
        assert cluster.representative == min(cluster.members), "the oldest"


def test_cluster_ids_do_not_depend_on_order() -> None:
    texts = collection(80)
    ids = {c.id: sorted(texts[m] for m in c.members) for c in near_duplicates(texts).clusters}
    back = {c.id: sorted(texts[::-1][m] for m in c.members) for c in near_duplicates(texts[::-1]).clusters}
    assert ids == back != {}


def test_representative_may_be_the_longest() -> None:
    text = collection(1)[0]
    found = near_duplicates([text, text + " tail", text], representative="longest")
    assert [(c.representative, c.members) for c in found.clusters] == [(1, (0, 1, 2))]


def test_a_crowd_becomes_a_cluster_not_all_its_pairs() -> None:
    chance = random.Random(3)
    words = [f"w{i}" for i in range(100)]
    near = [" ".join(edited(words, 1, chance)) for _ in range(1500)]
    same = ["one text that a whole farm of hosts repeats without a change"] * 3000
    found = near_duplicates(near + same, 0.7)
    assert [len(c.members) for c in found.clusters] == [1500, 3000]
    assert len(found.pairs) < 100_000, "10^6 near and 4·10^6 equal pairs exist"
    assert found.pairs_skipped > 0


@pytest.mark.kernel
def test_band_kernels_small() -> None:
    with np.errstate(over="ignore"):
        made = sketch(["a b c d e f g", "a b c d e f g", "x y z", "a b c d e f h"], Parameters(ngram=2, num_perm=24))
        keys = band_keys(made.signatures, 0.6)
        assert keys.shape == (bands(0.6, 24)[0], 4)
        assert (keys[:, 0] == keys[:, 1]).all()
        assert not (keys[:, 0] == keys[:, 2]).any()
        low = np.ascontiguousarray(made.signatures.astype(np.uint16))
        assert (band_keys(low, 0.6) == keys).all(), "16 bits of a signature suffice"
        assert estimate(made.signatures, np.array([0, 0]), np.array([1, 2])).tolist() == [1.0, 0.0]
        found = near_duplicates(
            ["a b c d", "a b c d", "a b c e", "x y"], 0.3, parameters=Parameters(ngram=2, num_perm=24)
        )
        assert [c.members for c in found.clusters] == [(0, 1, 2)]
        star = near_duplicates(["a b c d", "a b c e"], 0.3, cluster="star", parameters=Parameters(ngram=2, num_perm=24))
        assert [c.members for c in star.clusters] == [(0, 1)]


@pytest.mark.kernel
def test_crowded_buckets_meet_their_head_and_neighbours() -> None:
    size = MAX_BUCKET + 3
    keys, documents = np.zeros(size, np.uint64), np.arange(size)
    parent = np.arange(size)
    bound, _ = lsh_kernels.candidates(keys, documents, parent, MAX_BUCKET, 2, np.empty(0, np.uint64))
    out = np.empty(bound, np.uint64)
    made, passed = lsh_kernels.candidates(keys, documents, parent, MAX_BUCKET, 2, out)
    pairs = {(int(v) >> 32, int(v) & 0xFFFFFFFF) for v in out[:made]}
    assert pairs == {(j, i) for i in range(size) for j in {0, max(0, i - 1), max(0, i - 2)} if j < i}
    assert passed == size * (size - 1) // 2 - len(pairs)


def test_public_names() -> None:
    assert fyke.near_duplicates(["a b c d e f", "a b c d e f"]).pairs == [(0, 1, 1.0)]
