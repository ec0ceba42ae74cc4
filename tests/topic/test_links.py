"""What a link is worth, what is learnt of it, and OPIC's cash: against models, and over checkpoints."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.errors import StorageError
from fyke.topic.features import MOST, link_contexts, link_features
from fyke.topic.linear import sigmoid
from fyke.topic.links import LinkModel, Page, carried, kinds_of, pack_clue, steps_of, unpack_clue, worth
from fyke.topic.model import PageModel
from fyke.topic.opic import MAGIC, Cash, shares_of
from fyke.topic.topic import Topic


def kinds(count: int, parent: float = 0.3, look: float = -1.0, host: float = -1.0) -> np.ndarray:
    return kinds_of(np.full(count, parent), np.ones(count, bool), np.full(count, look), np.full(count, host))


@pytest.mark.kernel
def test_words_on_the_way_are_learnt() -> None:
    model = LinkModel()
    with np.errstate(over="ignore"):
        links = link_features(
            [("More recipes", "http://a.example/recipes/7.html", ""), ("Imprint", "http://a.example/about", "")]
        )
    rows = np.arange(2)
    before = model.predict(rows, links, kinds(2))
    assert before[0] == pytest.approx(before[1])
    for _ in range(20):
        model.learn(rows, links, kinds(2), np.array([1.0, 0.0]))
    after = model.predict(rows, links, kinds(2))
    assert after[0] > 0.8
    assert after[1] < 0.2
    again, sequence = LinkModel.decode(model.encode(41))
    assert sequence == 41
    assert again.learnt == model.learnt == 40
    assert again.predict(rows, links, kinds(2)).tolist() == after.tolist()
    again.learn(rows, links, kinds(2), np.array([1.0, 0.0]))
    model.learn(rows, links, kinds(2), np.array([1.0, 0.0]))
    assert again.weights.tolist() == model.weights.tolist()


@pytest.mark.kernel
def test_one_pass_over_a_page_judges_as_the_parts_do() -> None:
    chance, model, count = np.random.default_rng(5), LinkModel(), 40
    with np.errstate(over="ignore"):
        links = link_features(
            [(f"word{k % 7} x" if k % 5 else "", "http://" + "y" * (k % 3), "") for k in range(count)]
        )
    model.weights += chance.normal(0, 0.5, len(model.weights)).astype(np.float32)
    links.looks[:] = chance.normal(-0.5, 0.5, count)
    same, shares = chance.random(count) < 0.5, np.where(chance.random(count) < 0.3, -1.0, chance.random(count))
    pages = chance.integers(0, 900, count).astype(np.float64)
    keys = chance.integers(0, 1 << 63, count, np.uint64) * np.uint64(2)
    for steps, slope in ((0, 4.0), (2, 0.0), (9, 4.0)):
        topic = Topic(explore=0.2, tunnel=3)
        page = Page(topic, 0.45, steps, 1000, slope, 1.5)
        scores, kinds = model.judge(page, links, same, shares, pages, keys)
        looks = sigmoid(slope * links.looks + 1.5) if slope else np.clip(links.looks, 0, 1)
        looks = np.where(np.diff(links.starts) > 0, looks, -1.0)
        assert kinds.tolist() == kinds_of(np.full(count, 0.45), same, looks, shares).tolist()
        predicted = model.predict(np.arange(count), links, kinds)
        expected = worth(topic, predicted, np.full(count, steps), pages.astype(np.int64), 1000, keys)
        assert scores == pytest.approx(expected)


def test_before_anything_is_learnt_a_good_parent_a_good_look_and_a_good_host_count() -> None:
    model, links, row = LinkModel(), link_features([("", "", "")]), np.zeros(1, np.int64)
    base = model.predict(row, links, kinds(1))[0]
    assert model.predict(row, links, kinds(1, parent=0.9))[0] > base
    assert model.predict(row, links, kinds(1, look=0.9))[0] > base > model.predict(row, links, kinds(1, look=0.0))[0]
    assert model.predict(row, links, kinds(1, host=0.9))[0] > base > model.predict(row, links, kinds(1, host=0.0))[0]


def test_a_links_words_look_like_the_topic() -> None:
    model = PageModel(Topic(words=("keel", "rudder")))
    found = link_features([("the keel", "http://x/", ""), ("a cake", "http://y/", "")], model.look_weights)
    looks = model.looks(found.looks)
    assert looks[0] > looks[1] == 0


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30), st.text(max_size=300)), max_size=6))
@settings(max_examples=60)
def test_any_texts_are_features_of_their_own_link(links: list[tuple[str, str, str]]) -> None:
    together = link_features(links)
    assert len(together.starts) == len(links) + 1
    for k, link in enumerate(links):
        alone = link_features([link])
        assert together.features[together.starts[k] : together.starts[k + 1]].tolist() == alone.features.tolist()
        assert len(alone.features) <= MOST


def test_hostile_anchors_cannot_end_a_link() -> None:
    found = link_features([("a\x02b\x02c\x01d", "http://x", "\x02" * 50), ("e", "http://y", "")])
    assert found.starts.tolist() == [0, 5, 7]  # a b c d x; e y


def test_contexts_follow_the_text() -> None:
    text = "Before the first link stands this. more And here is another more at the end"
    one, two, none = link_contexts(text, ["more", "more", "absent"])
    assert one.endswith(" And here is another mor")
    assert "another" in two
    assert "Before" not in two
    assert none == ""


def test_tunnels_decay_and_end() -> None:
    topic = Topic(explore=0.0, tunnel=2, decay=0.5)
    p, reached, steps = np.array([0.9]), np.array([1.0]), np.array([0])
    seen = []
    for _ in range(4):
        reached, steps = carried(p, reached, topic.decay), steps_of(p, steps, topic.threshold)
        seen.append((float(reached[0]), int(steps[0])))
        p = np.array([0.0])
    assert seen == [(0.9, 0), (0.45, 1), (0.225, 2), (0.1125, 3)]
    keys = np.zeros(4, np.uint64)
    found = worth(topic, np.full(4, 0.6), np.array([0, 1, 2, 3]), np.zeros(4, int), 0, keys)
    assert found.tolist() == [0.6, 0.6, 0.6, 0.0]


def test_exploration_has_its_share_and_hosts_have_theirs() -> None:
    topic = Topic(explore=0.05, host_share=0.25)
    keys = np.random.default_rng(1).integers(1, 1 << 63, 20_000, np.uint64) * np.uint64(2)
    found = worth(topic, np.full(20_000, 0.01), np.zeros(20_000, int), np.zeros(20_000, int), 0, keys)
    assert np.mean(found > 0.01) == pytest.approx(0.05, abs=0.01)
    calm = Topic(explore=0.0, host_share=0.25)
    pages = np.array([10, 250, 500])
    shares = worth(calm, np.full(3, 0.8), np.zeros(3, int), pages, 1000, keys[:3])
    assert shares.tolist() == [0.8, 0.8, 0.4]


@given(st.integers(0, 300), st.floats(0, 1), st.lists(st.integers(0, 1 << 20), max_size=24))
def test_clues_come_back(steps: int, reached: float, features: list[int]) -> None:
    clue = pack_clue(steps, reached, np.array([1, 2, 3]), np.array(features, np.int64))
    again = unpack_clue(clue)
    assert again[0] == min(255, steps)
    assert again[1] == pytest.approx(reached, abs=0.002)
    assert again[2].tolist() == [1, 2, 3]
    assert again[3].tolist() == features
    assert unpack_clue(b"")[:2] == (0, 1.0)


# ---- OPIC


@pytest.mark.kernel
@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(1, 12), st.lists(st.integers(1, 12), max_size=5)), max_size=25), st.integers(0, 24)
)
def test_cash_is_conserved_and_survives_its_checkpoint(visits: list[tuple[int, list[int]]], checkpoint: int) -> None:
    cash, model, virtual_page = Cash(), dict.fromkeys(range(1, 13), 0.0), 0.0
    cash.endow(np.array([1, 2, 3], np.uint64), np.ones(3))
    model.update({1: 1.0, 2: 1.0, 3: 1.0})
    for k, (page, links) in enumerate(visits):
        if k == checkpoint:
            cash = Cash.decode(cash.encode())
        shares = shares_of(np.zeros(len(links), bool))
        cash.visit(page, np.array(links, np.uint64), shares, np.ones(len(links), bool))
        have, model[page] = model[page], 0.0
        if not links:
            virtual_page += have
        for y in links:
            model[y] += have / len(links)
    keys = np.array(list(model), np.uint64)
    assert cash.of(keys)[0] == pytest.approx(list(model.values()))
    assert cash.virtual_page == pytest.approx(virtual_page)
    assert cash.waiting + cash.virtual_page == pytest.approx(cash.endowed) == pytest.approx(3.0)


def test_cash_of_two_tablets_with_mail_between_them() -> None:
    one, two = Cash(), Cash()
    one.endow(np.array([1], np.uint64), np.ones(1))
    gifts = one.visit(1, np.array([2, 3], np.uint64), np.array([0.25, 0.75]), np.array([True, False]))
    two.endow(np.array([3], np.uint64), gifts[1:])
    assert (one.waiting, two.waiting) == (0.25, 0.75)
    assert one.endowed + two.endowed == pytest.approx(1.0)
    assert two.of(np.array([3], np.uint64))[1].tolist() == [1]


def test_own_sites_and_stuffed_pages_give_less() -> None:
    assert shares_of(np.array([True, True, False])).tolist() == [0.25, 0.25, 0.5]
    assert shares_of(np.array([True, False]), honest=False).tolist() == [0.0, 0.0]
    cash = Cash()
    cash.endow(np.array([1], np.uint64), np.ones(1))
    cash.visit(1, np.array([2], np.uint64), np.zeros(1), np.ones(1, bool))
    assert cash.virtual_page == 1.0


def test_many_accounts() -> None:
    cash, keys = Cash(), np.arange(1, 20_001, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15 >> 1)
    for chunk in np.split(keys, 20):
        cash.endow(chunk, np.arange(1.0, len(chunk) + 1.0, dtype=np.float64))
    assert len(cash) == 20_000
    assert cash.of(keys)[0].tolist() == np.tile(np.arange(1000) + 1.0, 20).tolist()
    assert Cash.decode(cash.encode()).of(keys)[0].tolist() == cash.of(keys)[0].tolist()


@given(st.binary(max_size=60))
def test_damaged_checkpoints_are_named(data: bytes) -> None:
    for start in (b"", MAGIC, b"fyke-links\0"):
        with pytest.raises(StorageError, match="cannot be read"):
            Cash.decode(start + data)
        with pytest.raises(StorageError, match="cannot be read"):
            LinkModel.decode(start + data)
