"""PageRank of a web that is half known, against dense matrices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.topic import rank_kernels as kernels
from fyke.topic.quality import Quality, path_depth
from fyke.topic.rank import DAMPING, LinkGraph, Numbering, edges_of, look_up, whole_records
from fyke.values import Candidates

Web = dict[int, list[int]]
"""The links of the pages that were fetched; page x is of host x % 3."""

webs = st.dictionaries(st.integers(1, 12), st.lists(st.integers(1, 12), max_size=5, unique=True), min_size=1)


def key(page: int) -> int:
    return page * 0x9E3779B97F4A7C15 % 2**64


def records(web: Web) -> npt.NDArray[np.uint64]:
    words = []
    for sequence, (page, links) in enumerate(web.items(), 1):
        own = [y for y in links if y % 3 == page % 3]
        others = [y for y in links if y % 3 != page % 3]
        hosts = [key(100 + y % 3) for y in others]
        words += [sequence, key(page), key(100 + page % 3), len(own), len(others), *map(key, own + others), *hosts]
    return np.array(words, np.uint64)


def dense(web: Web) -> dict[int, float]:
    """The same by the definition: a matrix whose columns say where each page's rank goes."""
    known = sorted(set(web) | {y for links in web.values() for y in links})
    at = {page: k for k, page in enumerate(known)}
    flow = np.zeros((len(known), len(known)))
    for page in known:
        givers = [page] if web.get(page) else [x for x in web if web[x] and x % 3 == page % 3 and page not in web]
        for giver in givers:
            for y in web[giver]:
                flow[at[y], at[page]] += 1 / len(givers) / len(web[giver])
        if not givers:
            flow[:, at[page]] = 1 / len(known)
    ranks = np.full(len(known), 1 / len(known))
    for _ in range(300):
        ranks = DAMPING * flow @ ranks + (1 - DAMPING) / len(known)
    return dict(zip(known, ranks.tolist(), strict=True))


@pytest.mark.kernel
@given(webs, st.integers(1, 400))
def test_ranks_are_those_of_the_definition(web: Web, chunk: int) -> None:
    words = records(web)
    numbering = Numbering(np.empty(len(words), np.int32))
    at = 0
    while read := numbering.take(words[at : at + max(chunk, 40)]):
        at += read
    assert at == len(words)
    known = numbering.known()
    ranks = known.ranks(tolerance=1e-12)
    assert ranks is not None
    by_slot = np.zeros(len(numbering.pages.keys), np.float32)
    numbers = numbering.pages.columns["number"]
    by_slot[numbers > 0] = ranks[numbers[numbers > 0] - 1]
    truth = dense(web)
    found = look_up(numbering.pages.keys, by_slot, np.array([key(x) for x in truth], np.uint64), -1.0)
    assert found == pytest.approx(list(truth.values()), abs=5e-3)  # 40 steps
    assert ranks.sum() == pytest.approx(1.0)
    authority = known.authority(ranks)
    assert authority @ np.bincount(known.host_of, minlength=known.hosts) == pytest.approx(1.0)


@pytest.mark.kernel
def test_a_page_of_a_menu_is_known_after_few_pages() -> None:
    """Page 3 is linked from both fetched pages of a host with forty that wait; page 1 from one, of another host."""
    web = {30: [3, *range(33, 93, 3)], 60: [3, 33, *range(93, 153, 3)], 2: [1, 4]}
    words = records(web)
    numbering = Numbering(np.empty(len(words), np.int32))
    numbering.take(words)
    known = numbering.known()
    smart = known.ranks()
    plain = LinkGraph(known.edges, np.maximum(known.degrees, 0), known.host_of, known.hosts).ranks()
    assert smart is not None
    assert plain is not None
    numbers = numbering.pages.columns["number"][numbering.pages.slots(np.array([key(3), key(1)], np.uint64))] - 1
    assert smart[numbers[0]] > 1.5 * smart[numbers[1]]
    assert plain[numbers[0]] < plain[numbers[1]]


@pytest.mark.kernel
def test_a_page_that_came_again_counts_as_it_is_now() -> None:
    first, again = records({1: [2, 3], 2: [3]}), records({1: [4]})
    numbering = Numbering(np.empty(len(first) + len(again), np.int32))
    numbering.take(np.concatenate([first, again]))
    known = numbering.known()
    assert (known.edges == kernels.DEAD).sum() == 1
    assert known.degrees.tolist() == [1, 1, -1, -1]
    ranks = known.ranks()
    assert ranks is not None
    assert ranks.argmax() == 2 or ranks.argmax() == 3


@pytest.mark.kernel
@given(webs, st.integers(0, 12))
def test_no_more_pages_than_there_is_room_for(web: Web, most: int) -> None:
    words = records(web)
    numbering = Numbering(np.empty(len(words), np.int32), most)
    assert numbering.take(words) == len(words)
    known = numbering.known()
    assert len(known.degrees) == min(most, len(set(web) | {y for links in web.values() for y in links}))
    assert known.ranks() is not None


@pytest.mark.kernel
@given(webs, st.integers(0, 300), st.lists(st.integers(0, 2**64 - 1), max_size=20))
def test_what_is_not_whole_is_left_out(web: Web, cut: int, junk: list[int]) -> None:
    words = records(web)
    whole, last = whole_records(words)
    assert (whole, last) == (len(words), len(web))
    whole, last = whole_records(words[:cut])
    assert whole <= min(cut, len(words))
    assert last <= len(web)
    words[2] = 0  # a host that is none
    numbering = Numbering(np.empty(len(words), np.int32))
    numbering.take(words)
    assert numbering.known().ranks() is not None
    noise = np.array(junk, np.uint64)
    Numbering(np.empty(len(noise), np.int32)).take(noise)  # does no harm


def test_edges_of_arrays() -> None:
    edges = edges_of(np.array([4, 2, 0]), np.array([0, 2, 2, 3]), np.array([7, 8, 9]))
    assert edges.tolist() == [4, 2, 7, 8, 2, 0, 0, 1, 9]


def test_a_computation_can_be_given_up() -> None:
    known = LinkGraph(edges_of(np.array([0]), np.array([0, 1]), np.array([1])), np.array([1, -1], np.int32), np.zeros(2, np.int32), 1)  # noqa: E501  # fmt: skip
    assert known.ranks(lambda: True) is None


def candidates(**given: object) -> Candidates:
    one = np.ones(1)
    told: dict[str, object] = {
        "depth": np.ones(1, np.int32), "inlinks": np.ones(1, np.int32), "parent_score": np.zeros(1, np.float32),
        "sitemap_priority": np.full(1, -1, np.float32), "is_seed": np.zeros(1, np.bool_),
        "change_rate": np.zeros(1, np.float32), "cash": one, "rank": one, "authority": one, "path_depth": one,
        "host_pages": 10 * one,
        "mean_cash": 1.0, "mean_rank": 1.0, "mean_inlinks": 1.0,
    }  # fmt: skip
    return Candidates(**(told | given))  # type: ignore[arg-type]


def test_the_quality_formula() -> None:
    def score(**given: object) -> float:
        return float(Quality().priority(candidates(**given))[0])

    assert score() == pytest.approx(0.5)
    assert score(rank=np.full(1, 3.0)) == pytest.approx(0.5 + 0.5 * 0.25)
    assert score(cash=np.full(1, 3.0)) == pytest.approx(0.5 + 0.17 * 0.25)
    assert score(host_pages=np.zeros(1)) == pytest.approx(0.5 + 0.17 * 0.5)
    assert score(authority=np.full(1, 3.0)) == pytest.approx(0.5 + 0.02 * 0.25)
    assert score(path_depth=np.zeros(1)) == pytest.approx(0.5 + 0.04 * 0.5)
    assert score(spam=np.full(1, 0.5)) == pytest.approx(0.25)
    assert score(is_seed=np.ones(1, np.bool_)) == 1.0
    unknown = dict.fromkeys(("rank", "authority", "path_depth", "host_pages", "cash"), np.empty(0))
    assert score(mean_rank=0.0, **unknown) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("href", "depth"),
    [("http://a.test/", 0), ("http://a.test/b", 1), ("http://a.test/b/", 1), ("http://a.test/b/c?d=/e", 3),
     ("http://a.test/?q", 1)],
)  # fmt: skip
def test_path_depth(href: str, depth: int) -> None:
    assert path_depth(href) == depth
