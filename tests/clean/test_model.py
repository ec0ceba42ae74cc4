"""The learned method: forests, the choice of blocks, the model's file, and training in small."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fyke
from bench import boosting
from bench.content_pages import Example
from bench.train_content import ARTICLE, Look, chances, first_codes, odds_of, second_codes
from fyke.bits.jit import LANES
from fyke.clean import choice_kernels
from fyke.clean import features as feature
from fyke.clean.columns import COLUMNS, CONTAINER, SAID_END, TITLED, WORDS
from fyke.clean.container_kernels import fill_features
from fyke.clean.context_kernels import path_features
from fyke.clean.elements import ID, Array
from fyke.clean.extract import METHODS
from fyke.clean.feature_kernels import width_of
from fyke.clean.features import PAD, TYPES
from fyke.clean.model import UNIT, Forest, Model, look, shipped
from fyke.clean.model_kernels import DEPTH, add_deep_scores, add_scores, belief, to_chances
from fyke.clean.page import Page, read
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
    places, shifts = np.array([[0, 1], [1, 0]], np.int32), np.array([[0, 0], [0, -1]], np.int32)
    thresholds = np.array([[5, 15], [0, 20]], np.uint8)
    leaves = np.array([[1, 2, 4, 8], [10, 20, 40, 80]], np.int16)
    rows = np.zeros((2, LANES + 2 * PAD), np.uint8)
    rows[:, PAD : PAD + 3] = [[0, 10, 30], [0, 20, 0]]
    odds = np.full(3, 1000, np.int32)
    add_scores(rows, places, shifts, thresholds, leaves, np.empty(LANES, np.uint8), odds)
    # leaf = (first question) + 2 · (second question); the last question is about the block before
    assert odds.tolist() == [1000 + 1 + 10, 1000 + 8 + 20, 1000 + 2 + 10]
    chances = np.empty(3, np.float32)
    to_chances(np.array([0, 100, -100], np.int32) * UNIT, chances)
    assert chances.tolist() == pytest.approx([0.5, 1.0, 0.0])


@pytest.mark.kernel
def test_leaves_are_picked_as_they_are_looked_up() -> None:
    chance = np.random.default_rng(1)
    places, shifts = (
        chance.integers(0, 6, (5, DEPTH)).astype(np.int32),
        chance.integers(-3, 4, (5, DEPTH)).astype(np.int32),
    )
    thresholds, leaves = (
        chance.integers(0, 64, (5, DEPTH)).astype(np.uint8),
        chance.integers(-999, 999, (5, 16)).astype(np.int16),
    )
    rows = np.zeros((6, LANES + 2 * PAD), np.uint8)
    rows[:, PAD : PAD + 21] = chance.integers(0, 64, (6, 21))
    looked_up, picked = np.zeros(21, np.int32), np.zeros(LANES, np.int32)
    add_scores(rows, places, shifts, thresholds, leaves, np.empty(LANES, np.uint8), looked_up)
    add_deep_scores(rows, places, shifts, thresholds, leaves, picked)
    assert len(set(looked_up.tolist())) > 5
    assert picked[:21].tolist() == looked_up.tolist()


def test_a_model_of_other_trees_is_refused() -> None:
    first = shipped().first
    shallow = Forest(first.columns[:, :3], first.thresholds[:, :3], first.leaves[:, :8])
    with pytest.raises(ValueError, match="4 levels, not 3"):
        replace(shipped(), first=shallow, second=shallow)


@pytest.mark.kernel
def test_one_kernel_does_what_training_does_in_parts() -> None:
    page, model = read(PAGE), shipped()
    seen = look(page, model)
    blank = np.zeros(len(page.blocks))
    example = Example("page", "", "", 0, 0, "", "", page=page, texts=[], truth=blank, weight=blank)
    rows = (*first_codes(example, model.odds, model.said), model.bags)
    width = len(feature.FIRST_ROWS)
    assert seen.rows[:width].tolist() == rows[0][:width].tolist()
    assert seen.rows.max() <= feature.TOP
    first = Look(model.first, model.types)
    assert seen.first.tolist() == chances(first.odds(example, rows[0])).tolist()
    codes, odds, heard = second_codes(example, rows, first)
    more = odds_of(model.second, codes, np.zeros(len(odds)))
    assert seen.second.tolist() == pytest.approx(chances(odds + (heard * more).astype(np.int32)).tolist(), abs=0.001)


@pytest.mark.kernel
def test_blocks_of_the_same_path_are_judged_together() -> None:
    posts = "".join(f"<div class=post><b>Ann</b><p class=text>Post {n} says something.</p></div>" for n in range(5))
    page = read(f"<div class=menu><p>Home</p></div>{posts}".encode())
    rows = np.zeros((len(feature.ROWS), len(page.blocks) + 2 * PAD), np.uint8)
    first = np.zeros(len(page.blocks), np.float32)
    text = [block for block in range(len(page.blocks)) if page.element[page.blocks[block, CONTAINER]] == ID["p"]][1:]
    first[text[1:]] = 1.0
    path_features(page.blocks, page.tree, first, rows)
    assert rows[feature.ROW["path_blocks"], PAD:-PAD][text].tolist() == [5] * 5
    assert rows[feature.ROW["first_path"], PAD + text[0]] == feature.TOP  # the others of its path are content
    assert rows[feature.ROW["path_blocks"], PAD] == 1


def rows_of(page: Page, said: Array) -> dict[str, list[int]]:
    """Return the feature rows of a page by name, class words unknown."""
    rows = np.zeros((len(feature.ROWS), width_of(len(page.blocks)) + 2 * PAD), np.uint8)
    fill_features(page.blocks, page.tree, page.said, page.title_size, np.zeros(1 << 16, np.int8), said, rows)
    return {name: rows[row, PAD : PAD + len(page.blocks)].tolist() for name, row in feature.ROW.items()}


@pytest.mark.kernel
def test_words_of_furniture_tell_in_their_block_and_under_their_heading() -> None:
    text = "<p>We set Cookies here.</p><h2>cookies!</h2><p>Read on.</p><p>重要的事情</p><p>重要的事情</p>"
    page = read(text.encode())
    assert page.blocks[:, SAID_END].tolist() == [4, 5, 7, 12, 17]  # a Chinese character each
    assert page.said[2] == page.said[4]  # case and marks are folded
    assert page.said[7:12].tolist() == page.said[12:17].tolist()
    odds = np.zeros(1 << 16, np.int8)
    odds[page.said[2]] = -32
    rows = rows_of(page, odds)
    assert rows["said"] == [16, 63, 0, 0, 0]
    assert rows["said_most"] == [16, 16, 0, 0, 0]
    assert rows["said_above"] == [0, 63, 63, 63, 63]
    assert rows["again"] == [0, 0, 0, 0, 1]


@pytest.mark.kernel
def test_a_text_near_the_title_is_told_from_teasers_of_other_pages() -> None:
    story = "<p>It rained for seven days and nights, and the river rose to the bridge of the old town.</p>" * 2
    teasers = "".join(f"<li><h3><a href=/{n}>Other {n}</a></h3><p>Some words of another story, {n}.</p>" for n in "abc")
    head = "<title>Rain</title><div><h1><a href=/>Rain</a></h1>"
    page = read(f"{head}<div>{story}</div></div><ul>{teasers}</ul>".encode())
    rows = rows_of(page, np.zeros(1 << 16, np.int8))
    assert rows["heading_linked"] == [1, 1, 1] + [feature.TOP] * 6  # its own headline is no teaser's
    assert rows["from_title"] == [1, 2, 2] + [3] * 6
    assert rows["item_number"][3:] == [0, 0, 1, 1, 2, 2]
    assert rows["in_top"] == [0, 1, 1] + [0] * 6


@pytest.mark.kernel
def test_pages_of_other_types_lean_to_more_text() -> None:
    chance = np.array([0.9, 0.15, 0.1], np.float32)
    blocks = np.zeros((3, COLUMNS), np.int64)
    blocks[:, WORDS] = [20, 20, 20]
    service = np.eye(7, dtype=np.float32)[6]
    kept = [int(choice_kernels.best_expected(chance, blocks, types, 1.0).sum()) for types in (ARTICLE, service)]
    assert kept == [1, 3]


@pytest.mark.kernel
def test_a_page_of_which_nothing_is_known_is_an_article() -> None:
    assert belief(np.full(7, 1 / 7, np.float32)) == 1.0
    assert belief(np.array([0.1, 0.9, 0, 0, 0, 0, 0], np.float32)) < 0.3


@pytest.mark.kernel
def test_scales_keep_order_and_fit_six_bits() -> None:
    assert feature.SCALE[:17].tolist() == list(range(17))
    assert (np.diff(feature.SCALE.astype(int)) >= 0).all()
    assert feature.SCALE[-1] == feature.TOP
    assert (np.diff(feature.SIGNED.astype(int)) >= 0).all()
    assert feature.SIGNED[feature.REACH] == 32
    assert feature.SIGNED.max() <= feature.TOP


@pytest.mark.kernel
def test_every_method_runs_plain() -> None:
    for method in METHODS:
        content = fyke.extract(PAGE, method)
        assert "eight thousand miles" in content.text
        assert content.blocks


@pytest.mark.kernel
def test_the_headline_right_above_the_text_is_kept() -> None:
    blocks = np.zeros((5, COLUMNS), np.int64)
    blocks[:, CONTAINER] = [1, 2, 3, 1, 4]
    blocks[:, TITLED] = [4, 4, 0, 1, 0]
    parent = np.array([0, 0, 0, 0, 3], np.int32)
    elements = np.array([1, ID["h1"], ID["h1"], ID["p"], ID["p"]], np.uint8)
    kept = np.array([0, 0, 1, 0, 1], bool)
    choice_kernels.add_headline(kept, blocks, parent, elements, 4)
    assert kept.tolist() == [False, True, True, False, True]  # the last h1 is unlike the title, and beside other text


@pytest.mark.kernel
def test_a_gap_of_one_block_is_filled() -> None:
    kept = np.array([1, 0, 1, 0, 0, 1, 0, 1, 0], bool)
    blocks = np.full((9, COLUMNS), 2, np.int64)
    choice_kernels.fill_gaps(kept, np.array([0.9, 0.2, 0.9, 0.4, 0.4, 0.9, 0.01, 0.9, 0.4], np.float32), blocks)
    assert kept.tolist() == [True, True, True, False, False, True, False, True, False]


def expected_f1(kept: tuple[int, ...], chance: np.ndarray, words: np.ndarray) -> float:
    """Return the mean of the expected F1 over a page's shift of log-odds, of standard deviation SPREAD_OF_ARTICLES."""
    mask, odds, total = np.array(kept, bool), np.log(chance / (1 - chance)), 0.0
    for shift, mass in ((-1.5, 1), (-0.6, 2), (0.0, 2), (0.6, 2), (1.5, 1)):
        sure = (1 / (1 + np.exp(-odds - shift * choice_kernels.SPREAD_OF_ARTICLES))) ** 1.5
        total += mass * 2 * (sure * words)[mask].sum() / (words[mask].sum() + (sure * words).sum())
    return float(total)


@given(st.lists(st.tuples(st.floats(0.01, 0.99), st.integers(0, 50)), min_size=1, max_size=7))
def test_no_other_set_of_blocks_promises_more(found: list[tuple[float, int]]) -> None:
    chance = np.array([c for c, _ in found], np.float32)
    blocks = np.zeros((len(found), COLUMNS), np.int64)
    blocks[:, WORDS] = [w for _, w in found]
    got = expected_f1(
        tuple(choice_kernels.best_expected(chance, blocks, ARTICLE, 1.0)), chance.astype(float), blocks[:, WORDS] + 0.3
    )
    every = [
        (expected_f1(kept, chance.astype(float), blocks[:, WORDS] + 0.3), kept)
        for kept in itertools.product([0, 1], repeat=len(found))
        if any(kept)
    ]
    falling = [k for _, k in every if min(chance[np.array(k, bool)]) >= max(chance[~np.array(k, bool)], default=0)]
    assert got == pytest.approx(max(value for value, kept in every if kept in falling), rel=1e-4)
    assert got >= 0.97 * max(every)[0]  # a set that is no prefix by falling chance may promise a little more


def test_the_models_file_comes_back_and_is_small() -> None:
    model = shipped()
    data = model.to_bytes()
    again = Model.from_bytes(data)
    assert again.to_bytes() == data
    assert len(data) < 3_000_000
    assert len(again.types) == len(TYPES)
    with pytest.raises(StorageError, match="not of version"):
        Model.from_bytes(b"PK\x03\x04")


@pytest.mark.parametrize("damage", ["cut", "directory", "kind", "column"])
def test_a_damaged_model_is_told_in_one_sentence(damage: str) -> None:
    data = shipped().to_bytes()
    wrong = {
        "cut": data[: len(data) // 2],
        "directory": data.replace(b'"first.columns"', b'"first.Columns"', 1),
        "kind": data.replace(b'"<u2"', b'"<f2"', 1),
        "column": data[: data.index(shipped().first.columns.astype("<u2").tobytes())] + b"\xff" * (len(data)),
    }[damage]
    with pytest.raises(StorageError, match="the content model is damaged"):
        Model.from_bytes(wrong)


def test_boosting_learns_and_is_the_same_twice() -> None:
    chance = np.random.default_rng(3)
    codes = chance.integers(0, 64, (4, 3000)).astype(np.uint8)
    truth = ((codes[0] > 32) ^ (codes[1] > 20)).astype(float)
    start = np.zeros(truth.size, np.int32)
    settings = boosting.Settings(trees=30, depth=3, rate=0.3, rows=0.5, columns=1.0)
    forests = [boosting.fit(codes, start, truth, np.ones(truth.size), settings, 7) for _ in range(2)]
    assert ((odds_of(forests[0], codes, start) > 0) == truth).mean() > 0.97
    assert forests[0].leaves.tobytes() == forests[1].leaves.tobytes()
    assert forests[0].thresholds.tobytes() == forests[1].thresholds.tobytes()
