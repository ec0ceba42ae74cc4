"""The learned method: forests, the choice of blocks, the model's file, and training in small."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fyke
from bench import boosting
from fyke.clean import context_kernels, feature_kernels
from fyke.clean.block_kernels import COLUMNS, CONTAINER, TITLED, WORDS
from fyke.clean.elements import ID
from fyke.clean.extract import METHODS
from fyke.clean.model import TYPES, Forest, Model, block_features, declared, look, second_rows, shipped
from fyke.clean.model_kernels import logistic, scores
from fyke.clean.page import read
from fyke.errors import StorageError

PAGE = (
    b"<title>Whale sharks</title><nav class='main menu'><ul><li><a>Home</a><li><a>News</a></ul></nav>"
    b"<article class=post><h1>Whale sharks</h1>"
    b"<p>The whale sharks were flown eight thousand miles, and the crowd was glad.</p>"
    b"<p>They arrived in good health, said the keepers of the great tank, and ate at once.</p>"
    b"</article><footer>Legal</footer>"
)


@pytest.mark.kernel
def test_a_forest_is_the_sum_of_its_leaves() -> None:
    features, thresholds = np.array([[0, 1], [1, 0]], np.int32), np.array([[0.5, 1.5], [0.0, 2.0]], np.float32)
    leaves = np.array([[1, 2, 4, 8], [0.1, 0.2, 0.4, 0.8]], np.float32)
    columns = np.array([[0.0, 1.0, 3.0], [0.0, 2.0, -1.0]], np.float32)
    # leaf = (first question) + 2 · (second question)
    expected = [10 + 1 + 0.1, 10 + 8 + 0.2, 10 + 2 + 0.4]
    assert scores(columns, features, thresholds, leaves, 10.0).tolist() == pytest.approx(expected)
    assert logistic(np.array([0.0, 100.0, -100.0], np.float32)).tolist() == pytest.approx([0.5, 1.0, 0.0])


@pytest.mark.kernel
def test_one_kernel_does_what_the_parts_do() -> None:
    page, model = read(PAGE), shipped()
    seen = look(page, model)
    rows, wider = block_features(page, model.odds)
    assert rows.shape == (len(feature_kernels.NAMES), len(page.blocks))
    assert np.isfinite(rows).all()
    first = model.first.chances(rows)
    column = context_kernels.page_features(page.blocks, rows, first, declared(page))
    assert len(column) == len(context_kernels.PAGE_NAMES)
    types = np.array([forest.chances(column)[0] for forest in model.types], np.float32)
    second = model.second.chances(second_rows(page, rows, wider, first, types))
    expert = model.article.chances(rows)
    mixed = np.log(second / (1 - second)) * (1 - types[0]) + np.log(expert / (1 - expert)) * types[0]
    assert seen.first.tolist() == first.tolist()
    assert seen.second.tolist() == pytest.approx((1 / (1 + np.exp(-mixed))).tolist(), abs=1e-4)
    assert seen.types.tolist() == types.tolist()


@pytest.mark.kernel
def test_every_method_runs_plain() -> None:
    for method in METHODS:
        content = fyke.extract(PAGE, method)
        assert "eight thousand miles" in content.text
        assert content.blocks


@pytest.mark.kernel
def test_the_headline_above_the_text_is_kept() -> None:
    blocks = np.zeros((5, COLUMNS), np.int64)
    blocks[:, CONTAINER] = [0, 1, 2, 2, 1]
    blocks[:, TITLED] = [4, 4, 0, 0, 4]
    elements = np.array([1, ID["h1"], ID["p"]], np.uint8)
    kept = np.array([0, 0, 0, 1, 0], np.uint8)
    assert context_kernels.add_headline(kept, blocks, elements, 4) == 1
    assert kept.tolist() == [0, 1, 0, 1, 0]
    assert context_kernels.add_headline(np.zeros(5, np.uint8), blocks, elements, 4) == -1


def expected_f1(kept: tuple[int, ...], sure: np.ndarray, words: np.ndarray) -> float:
    mask = np.array(kept, bool)
    return float(2 * (sure * words)[mask].sum() / (words[mask].sum() + (sure * words).sum()))


@given(st.lists(st.tuples(st.floats(0.01, 0.99), st.integers(0, 50)), min_size=1, max_size=7))
def test_no_other_set_of_blocks_promises_more(found: list[tuple[float, int]]) -> None:
    chance = np.array([c for c, _ in found], np.float32)
    blocks = np.zeros((len(found), COLUMNS), np.int64)
    blocks[:, WORDS] = [w for _, w in found]
    kept = context_kernels.best_expected(chance, blocks)
    sure, words = chance.astype(float) ** context_kernels.SHARPNESS, blocks[:, WORDS] + 0.3
    best = max(expected_f1(s, sure, words) for s in itertools.product([0, 1], repeat=len(found)) if any(s))
    assert expected_f1(tuple(kept.tolist()), sure, words) == pytest.approx(best, rel=1e-5)


def test_the_models_file_comes_back_and_is_small() -> None:
    model = shipped()
    data = model.to_bytes()
    again = Model.from_bytes(data)
    assert again.to_bytes() == data
    assert len(data) < 3_000_000
    assert len(again.types) == len(TYPES)
    with pytest.raises(StorageError, match="not of version 1"):
        Model.from_bytes(b"PK\x03\x04")


def test_boosting_learns_and_is_the_same_twice() -> None:
    chance = np.random.default_rng(3)
    columns = chance.random((4, 3000)).astype(np.float32)
    truth = ((columns[0] > 0.5) ^ (columns[1] > 0.3)).astype(float)
    settings = boosting.Settings(trees=30, depth=3, rate=0.3, rows=0.5, columns=1.0)
    forests = [boosting.fit(columns, truth, np.ones(truth.size), settings, 7) for _ in range(2)]
    made = [Forest(f.features, f.thresholds, f.leaves, f.start) for f in forests]
    assert ((made[0].chances(columns) > 0.5) == truth).mean() > 0.97
    assert made[0].leaves.tobytes() == made[1].leaves.tobytes()
    assert made[0].thresholds.tobytes() == made[1].thresholds.tobytes()
