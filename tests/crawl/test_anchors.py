"""Anchor texts reach the rows they point at: in a crawl, over mail, and after a crash."""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.bits import jit
from fyke.crawl.mail import anchors as module
from fyke.crawl.mail.anchors import Anchors
from fyke.crawl.mail.outbox import AnchorCells, Offer
from fyke.crawl.queue.queues import Queues
from fyke.frontier.frontier import Frontier
from fyke.frontier.politeness import Politeness
from fyke.frontier.priority import DefaultPrioritizer
from fyke.frontier.seen import SeenSet
from fyke.store import Change, RowMeta, Settings, Store
from fyke.store.cells import Anchor, unpack_anchors
from fyke.store.manifest import tablet_of
from fyke.store.splitting import split
from fyke.url import Url
from fyke.values import Link, Links

PAGES = 30
URLS = [Url(f"http://h{n % 7}.example/{n}") for n in range(PAGES)]


def links_of(n: int) -> tuple[Link, ...]:
    return tuple(Link(URLS[(n * k + k) % PAGES], f"from {n} by {k}" if k % 3 else "") for k in range(1, 6))


def expected() -> dict[str, dict[str, str]]:
    """target → source → text, the last of several."""
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for n in range(PAGES):
        for link in links_of(n):
            if link.text:
                found[link.target.href][URLS[n].href] = link.text
    return dict(found)


def queues_of(store: Store) -> Queues:
    return Queues(store, Frontier(Politeness(delay=0.0)), DefaultPrioritizer(), SeenSet(), lambda *_: None)


def store_pages(queues: Queues, pages: range) -> None:
    for n in pages:
        number = queues.tablet_of(URLS[n])
        tablet = queues.store.tablet(number)
        batch = tablet.batch()
        stamp = batch.put_row(URLS[n].key, Change(RowMeta(status=200), links=links_of(n)), 1_000_000 + n)
        tablet.write(batch)
        queues.anchors.note(number, URLS[n].href, stamp, links_of(n))
        queues.anchors.step(1.0)


def read(path: Path) -> dict[str, dict[str, str]]:
    with Store.open(path, "r") as store:
        tablets = {url: store.tablet(store.tablet_of(url.key)) for url in URLS}
        rows = {url.href: {a.source: a.text for a in tablet.anchors(url.key)} for url, tablet in tablets.items()}
    return {href: anchors for href, anchors in rows.items() if anchors}


@pytest.mark.parametrize("group", [1, 20, 1000])
def test_groups_of_any_size_put_every_anchor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: int) -> None:
    monkeypatch.setattr(module, "GROUP", group)
    with Store.open(tmp_path / "s", settings=Settings(tablets=4)) as store:
        queues = queues_of(store)
        store_pages(queues, range(PAGES))
        queues.anchors.finish(2.0)
        assert not queues.anchors.pending
    assert read(tmp_path / "s") == expected()
    split(tmp_path / "s", 3)
    assert read(tmp_path / "s") == expected()


def test_pages_of_many_links_are_not_held_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page brings three times as many new targets as are put in one step."""
    monkeypatch.setattr(module, "GROUP", 200)
    monkeypatch.setattr(module, "STEP", 10)
    with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
        anchors = queues_of(store).anchors
        for n in range(300):
            links = [Link(Url(f"http://h.example/{n}/{k}"), "text") for k in range(30)]
            anchors.note(0, f"http://h.example/{n}", n + 1, links)
            anchors.step(1.0)
            assert anchors._held.links < 2 * 200
        anchors.finish(1.0)
        put = {key for tablet in store.tablets() for key, _ in tablet.items("anchor")}
        assert len(put) == 300 * 30


def test_what_a_crash_took_is_made_anew_from_the_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GROUP", 70)  # so some are put before the crash
    with Store.open(tmp_path / "s", settings=Settings(tablets=4)) as store:
        store_pages(queues_of(store), range(PAGES))  # and what is held is forgotten
    assert read(tmp_path / "s") != expected()
    with Store.open(tmp_path / "s") as store:
        queues = queues_of(store)
        queues.restore(5.0)
        queues.anchors.finish(5.0)
        again = Anchors(store, queues.outbox)
        again.restore(6.0)
        assert not again.pending  # the watermarks say that all are put
    assert read(tmp_path / "s") == expected()


def test_anchors_of_other_agents_targets_go_by_mail(tmp_path: Path) -> None:
    Store.open(tmp_path / "s", settings=Settings(tablets=4)).close()
    with (
        Store.open(tmp_path / "s", tablets=[0, 1]) as mine,
        Store.open(tmp_path / "s", tablets=[2, 3]) as theirs,
    ):
        agents = [queues_of(mine), queues_of(theirs)]
        for n in range(PAGES):
            owner = next(agent for agent in agents if agent.tablet_of(URLS[n]) in agent.store.owned)
            store_pages(owner, range(n, n + 1))
        for agent in agents:
            agent.anchors.finish(2.0)
        for agent, other in (agents, agents[::-1]):
            for letters in agent.outbox.take(other.store.owned).values():
                other.apply(letters, 3.0)
                other.apply(letters, 3.0)  # mail may come twice
                agent.outbox.delivered(letters)
        assert not any(agent.pending for agent in agents)
    assert read(tmp_path / "s") == expected()


def two_agents(stack: ExitStack, path: Path) -> tuple[Queues, Queues]:
    Store.open(path, settings=Settings(tablets=4)).close()
    mine, theirs = (queues_of(stack.enter_context(Store.open(path, tablets=some))) for some in ([0, 1], [2, 3]))
    for n in range(PAGES):
        if mine.tablet_of(URLS[n]) in mine.store.owned:
            store_pages(mine, range(n, n + 1))
    return mine, theirs


def written(queues: Queues) -> list[bytes]:
    """The letters of an agent that survive it, and its watermarks."""
    return [key for tablet in queues.store.tablets() for key, _ in tablet.items("outbox") if key[:1] in b"ow"]


def marked(queues: Queues) -> bool:
    again = Anchors(queues.store, queues.outbox)
    again.restore(9.0)
    return not again.pending


def test_anchors_on_their_way_are_written_nowhere_and_marked_once_they_are_there(tmp_path: Path) -> None:
    with ExitStack() as stack:
        mine, theirs = two_agents(stack, tmp_path / "s")
        while mine.anchors.step(2.0, eager=True):
            pass
        assert mine.outbox.posted
        assert not written(mine)
        assert not marked(mine)  # a crash now makes them anew
        for letters in mine.outbox.take(theirs.store.owned).values():
            theirs.apply(letters, 3.0)
            mine.outbox.delivered(letters)
        mine.anchors.step(4.0)
        assert not mine.pending
        assert marked(mine)


def test_anchors_that_a_run_could_not_deliver_are_sent_by_the_next(tmp_path: Path) -> None:
    with ExitStack() as stack:
        mine, _ = two_agents(stack, tmp_path / "s")
        mine.anchors.finish(2.0)
        assert marked(mine)
        assert not mine.outbox.posted
    with ExitStack() as stack:
        mine, theirs = (queues_of(stack.enter_context(Store.open(tmp_path / "s", tablets=x))) for x in ([0, 1], [2, 3]))
        for letters in mine.outbox.take(theirs.store.owned).values():
            theirs.apply(letters, 3.0)
            mine.outbox.delivered(letters)
        assert not mine.outbox.pending
        mine.outbox.syncing()()
        assert not [key for key in written(mine) if key[:1] == b"o"]
    sources = {url.href for url in URLS if tablet_of(url.key, 4) in (0, 1)}
    wanted = {href: {s: text for s, text in some.items() if s in sources} for href, some in expected().items()}
    assert read(tmp_path / "s") == {href: some for href, some in wanted.items() if some}


LENGTHS = st.sampled_from([0, 1, 31, 32, 255, 256, 65_535, 65_536])
PLACES = st.sampled_from(["", "a", "b", "a" * 20, "b" * 300, "c" * 70_000])


@pytest.mark.kernel
@given(
    st.lists(st.lists(st.tuples(PLACES, LENGTHS, st.sampled_from("xé€")), max_size=20), max_size=8), st.integers(1, 4)
)
@settings(max_examples=20 if jit.JIT else 4, deadline=None)  # plain, they take long
def test_inverted_anchors_are_those_of_the_links(pages: list[list[tuple[str, int, str]]], step: int) -> None:
    held, expected = module._Held(), defaultdict(list)
    for n, links in enumerate(pages):
        made = [Link(Url(f"http://t.example/{place}"), letter * length) for place, length, letter in links]
        source = f"http://s.example/{'s' * (n * 40)}"
        held.add(source, n + 0.5, Links.of(made))
        for link in made:
            if link.text:
                expected[link.target.href].append(Anchor(source, link.text, n + 0.5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "STEP", step)
        steps = list(held.targets(seed=7))
    found = [target for some in steps for target in some]
    assert {href: unpack_anchors(packed) for href, packed in found} == expected
    assert len(found) == len(expected)
    assert all(len(some) <= step for some in steps)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=40))
def test_anchors_stand_in_the_order_of_their_hashes_and_pages(parts: list[tuple[int, int]]) -> None:
    hashes = np.array([high << 62 | low for high, low in parts], np.uint64)  # alike in their first bits, some of them
    assert module._order(hashes).tolist() == np.argsort(hashes, kind="stable").tolist()


@pytest.mark.parametrize("count", [15, 16, 70_000])
def test_a_target_of_many_anchors(count: int) -> None:
    held = module._Held()
    links = Links(["http://t.example/"] * count, ["x"] * count, [""] * count)
    held.add("http://s.example/", 1.0, links)
    ((_, packed),) = next(held.targets(seed=0))
    assert unpack_anchors(packed) == [Anchor("http://s.example/", "x", 1.0)] * count


def test_a_letter_may_bring_both(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
        queues = queues_of(store)
        batch = store.tablet(0).batch()
        queues.outbox.write(batch, 0, 0, [Offer(URLS[0].href)], [AnchorCells(7, [])])
        store.tablet(0).write(batch)
        queues.deliver(1.0)
        assert queues.frontier.counts().queued == 1
