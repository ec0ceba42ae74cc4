"""Near copies over machines: what three nodes find of a page, when nodes come and go, and who is whose copy."""

from __future__ import annotations

import asyncio
import contextlib
import random
from pathlib import Path

import msgspec
import pytest

from fyke.cluster import near
from fyke.cluster.near import Routing
from fyke.crawl.duplicates import examination as examining
from fyke.crawl.duplicates import sketched as sketching
from fyke.crawl.duplicates.near import ASK, FEED, SKETCH, Answer, Asked, NearIndex, marks_of
from fyke.crawl.duplicates.sketched import Sketched, Told
from fyke.crawl.mail.outbox import INDEX, Question
from fyke.dedupe.index import INLINE, SAME_TEXT
from fyke.dedupe.similarity import jaccard
from fyke.dedupe.sketch import Sketch, rank_of, sketches_of, stamp_of
from fyke.store import Settings, Store
from fyke.url import Url
from tests.crawl.test_duplicates import examiner, put, settle

WORDS = [f"w{n}" for n in range(3000)]
NODES = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5"]
_decode_told = msgspec.msgpack.Decoder(Told).decode
_decode = msgspec.msgpack.Decoder(list[Sketch]).decode


class Cluster:
    """The indices of nodes, and a network that may bring frames in any order."""

    def __init__(self, folder: Path, store: Store, nodes: list[str], shuffled: random.Random | None = None) -> None:
        self._folder, self._store, self._shuffled = folder, store, shuffled
        self.indices: dict[str, NearIndex] = {}
        self.silent = ""
        for node in nodes:
            self.join(node)

    def join(self, node: str) -> None:
        self.indices[node] = NearIndex(self._folder / node, self._store, 1 << 24)

    def leave(self, node: str) -> None:
        self.indices.pop(node).close()

    async def ask_node(self, node: str, data: bytes) -> bytes:
        for _ in range(self._shuffled.randrange(5) if self._shuffled is not None else 0):
            await asyncio.sleep(0)
        if node not in self.indices or node == self.silent:
            raise OSError("dead")
        return msgspec.msgpack.encode(self.indices[node].ask_sketches(_decode(data[1:])))

    async def send(self, data: bytes) -> bytes:
        return await near.ask(data, Routing(list(self.indices)), self.ask_node)

    def close(self) -> None:
        for index in self.indices.values():
            index.close()


def copies(count: int, chance: random.Random, changed: tuple[int, ...] = (0, 1, 2)) -> list[tuple[str, str, str]]:
    """Texts of 150 words, each with a copy in which a few words are others."""
    made = []
    for number in range(count):
        words = chance.choices(WORDS, k=150)
        other = [*words]
        for place in chance.sample(range(150), chance.choice(changed)):
            other[place] = "other"
        made.append((f"http://a.test/{number}", " ".join(words), " ".join(other)))
    return made


def ask(cluster: Cluster, kind: bytes, texts: list[tuple[str, str]], stamp: int = 1) -> list[Answer]:
    ranked = [msgspec.structs.replace(each, rank=rank_of(each.id, stamp, False)) for each in sketches_of(texts, INLINE)]
    said = asyncio.run(cluster.send(kind + msgspec.msgpack.encode(ranked)))
    answers: list[Answer] = _decode_told(said)[0]
    return answers


def recall(cluster: Cluster, made: list[tuple[str, str, str]], name: str) -> float:
    """The share of new copies, all above the threshold, that are found to be copies of some page of that text."""
    chance, asked = random.Random(name), []
    for href, text, _ in made:
        words = text.split()
        for place in chance.sample(range(150), 2):
            words[place] = name
        asked.append((href.replace("a.test", name), " ".join(words)))
    answers = ask(cluster, ASK, asked, stamp=2)
    pairs = zip(answers, made, strict=True)
    return sum(Url(a.original).target == Url(href).target for a, (href, _, _) in pairs if a.original) / len(asked)


def test_routing_moves_only_what_it_must() -> None:
    chance = random.Random(3)
    sketches = sketches_of([(href, text) for href, text, _ in copies(300, chance)], INLINE)
    before, after = Routing(NODES), Routing(NODES[:-1])
    shares = dict.fromkeys(NODES, 0)
    for sketch in sketches:
        was, now = before.places(sketch), after.places(sketch)
        assert len(was) == len(now) == 3, "each minimum has one node"
        assert all(one in (other, NODES[-1]) for one, other in zip(was, now, strict=True)), "nobody loses what it has"
        for node in was:
            shares[node] += 1
    assert min(shares.values()) > 0.6 * max(shares.values()), "even shares"


def test_of_one_node_what_it_tells_is_what_is_told(tmp_path: Path) -> None:
    made = copies(20, random.Random(5), changed=(1,))
    with Store.open(tmp_path / "store", settings=Settings(tablets=1)) as store:
        cluster = Cluster(tmp_path, store, NODES[:1])
        first = ask(cluster, ASK, [(href, text) for href, text, _ in made])
        assert [answer.original for answer in first] == [""] * 20
        second = ask(cluster, FEED, [(f"{href}/copy", copy) for href, _, copy in made], stamp=2)
        assert [answer.original for answer in second] == [href for href, _, _ in made]
        cluster.silent = NODES[0]
        for kind in (ASK, FEED):
            assert not asyncio.run(cluster.send(kind + msgspec.msgpack.encode([]))), "nobody tells"
        cluster.close()


def test_copies_are_found_and_found_again_after_nodes_come_and_go(tmp_path: Path) -> None:
    made = copies(400, random.Random(1))
    with Store.open(tmp_path / "store", settings=Settings(tablets=1)) as store:
        cluster = Cluster(tmp_path, store, NODES)
        ask(cluster, ASK, [(href, text) for href, text, _ in made])
        assert recall(cluster, made, "b.test") > 0.97
        for node in NODES[:2]:
            cluster.leave(node)
        cluster.join("10.0.0.9")
        sizes = {node: len(index._index) for node, index in cluster.indices.items()}
        lost = recall(cluster, made, "c.test")
        ask(cluster, FEED, [(href, text) for href, text, _ in made])
        assert recall(cluster, made, "d.test") > max(0.97, lost), "fed anew"
        before = {node: len(index._index) for node, index in cluster.indices.items()}
        ask(cluster, FEED, [(href, text) for href, text, _ in made])
        assert {node: len(index._index) for node, index in cluster.indices.items()} == before, "and only once"
        assert sum(sizes.values()) < sum(before.values())
        cluster.close()


def test_of_copies_that_are_asked_about_at_once_one_is_the_original(tmp_path: Path) -> None:
    chance = random.Random(7)
    made = copies(150, chance, changed=(1, 2))
    with Store.open(tmp_path / "store", settings=Settings(tablets=1)) as store:
        cluster = Cluster(tmp_path, store, NODES, shuffled=chance)

        async def both(href: str, text: str, copy: str) -> dict[str, str]:
            questions = [(href, text), (href.replace("a.test", "b.test"), copy)]
            ranked = [
                msgspec.structs.replace(sketch, rank=rank_of(sketch.id, chance.randrange(1, 1 << 50), False))
                for sketch in sketches_of(questions, INLINE)
            ]
            said = await asyncio.gather(*(cluster.send(ASK + msgspec.msgpack.encode([sketch])) for sketch in ranked))
            found: dict[str, str] = {}
            for sketch, each in zip(ranked, said, strict=True):
                (answer,), _ = _decode_told(each)
                found |= {mark.href: mark.original for mark in marks_of(sketch.id, stamp_of(sketch.rank), answer)}
            assert found.keys() <= {max(ranked, key=lambda sketch: sketch.rank).id}, "the later one"
            return found

        found = [asyncio.run(both(*each)) for each in made]
        cluster.close()
    assert sum(map(bool, found)) > 0.97 * len(found)


def test_a_page_is_asked_about_once_it_is_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the indices would know a page that is lost with its machine, and call others its copies."""
    with Store.open(tmp_path / "store", settings=Settings(tablets=1)) as store:
        examination = examiner(store)
        outbox = examination.queues.outbox
        outbox.ask_late = True
        monkeypatch.setattr(examining, "BEHIND", 0)
        put(examination, "http://a.test/", 1, b"words", "words")
        durable = outbox.syncing()
        put(examination, "http://a.test/later", 2, b"more words", "more words")
        assert outbox.waiting(INDEX) == 2
        assert not examination.ready(True)
        assert outbox.waits_for_sync
        assert not examination.behind, "a depot that is silent does not stop the crawl"
        assert not outbox.take_questions(9)
        durable()
        assert examination.ready(True)
        assert outbox.may_ask(1)
        assert [letter.notes for letter in outbox.take_questions(9)] == [[Question("http://a.test/", 1)]]


class Agents:
    """Agents that examine pages of their tablets and write to each other, beside a cluster of indices."""

    def __init__(self, path: Path, chance: random.Random, nodes: list[str]) -> None:
        Store.open(path / "store", settings=Settings(tablets=4)).close()
        self.chance, self.members = chance, 1
        self.stores = [Store.open(path / "store", tablets=(number, number + 2)) for number in (0, 1)]
        self.cluster = Cluster(path, self.stores[0], nodes, shuffled=chance)
        self.sketched = [Sketched(store, self.cluster.send) for store in self.stores]
        self.examined = [examiner(s, k.ask) for s, k in zip(self.stores, self.sketched, strict=True)]
        for sketched, examination in zip(self.sketched, self.examined, strict=True):
            sketched.duplicates = examination.queues.duplicates

    def put(self, href: str, stamp: int, text: str) -> None:
        number = self.stores[0].tablet_of(href)
        put(self.examined[number % 2], href, stamp, text.encode(), text)

    def settle(self) -> None:
        """Examine, and deliver all mail."""
        for _ in range(4):
            for examination, other in zip(self.examined, reversed(self.examined), strict=True):
                with contextlib.suppress(OSError):  # nobody knows the page; it is asked about later
                    settle(examination)
                outbox = examination.queues.outbox
                outbox.syncing()()
                for letters in outbox.take(other.queues.store.owned).values():
                    other.queues.apply(letters, 0.0)
                    outbox.delivered(letters)

    def feed(self) -> None:
        """Let the agents ask about their rows anew, where nodes have come or gone."""

        async def main() -> None:
            for sketched in self.chance.sample(self.sketched, 2):
                sketched.nodes_changed(self.members)
                while sketched.busy:
                    await asyncio.sleep(0)

        asyncio.run(main())

    def originals(self) -> dict[str, str]:
        """Every page with the one that it is a copy of, empty where it is none."""
        rows = [row for store in self.stores for row in store.scan(parts=())]
        return {row.url: row.meta.duplicate_of for row in rows}

    def close(self) -> None:
        self.cluster.close()
        for store in self.stores:
            store.close()


@pytest.mark.parametrize("seed", range(4))
def test_nodes_die_are_silent_and_join_and_of_each_family_one_is_the_original(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of those whose common index was lost between the one and the other: they have not met before."""
    monkeypatch.setattr(sketching, "RETRY", 0.0)
    chance = random.Random(seed)
    made = [(first, second) for _, first, second in copies(60, chance, changed=(1, 2))] + [("the same " * 20,) * 2]
    families = [
        [(f"http://h{chance.randrange(40)}.test/{number}/{member}", text) for member, text in enumerate(texts)]
        for number, texts in enumerate(made)
    ]
    pages = chance.sample([page for family in families for page in family], 2 * len(families))
    stamps = chance.sample(range(1, 10_000), len(pages))
    agents, last = Agents(tmp_path, chance, NODES[:3]), 3
    for number, (stamp, (href, text)) in enumerate(zip(stamps, pages, strict=True)):
        agents.put(href, stamp, text)
        if number % 10 == 9:
            agents.settle()
        if number % 40 == 20:  # one dies with its index; nobody knows at first
            agents.cluster.silent = chance.choice(list(agents.cluster.indices))
        if number % 40 == 30:
            agents.cluster.leave(agents.cluster.silent)
            agents.cluster.join(f"10.0.1.{last}")
            agents.cluster.silent, last, agents.members = "", last + 1, agents.members + 1
            if chance.random() < 0.5:
                agents.feed()
    agents.settle()
    agents.feed()
    agents.settle()
    found = agents.originals()
    agents.close()
    left = [[href for href, _ in family if not found[href]] for family in families]
    assert all(left), "one of each is nobody's copy"
    assert sum(len(each) == 1 for each in left) >= len(families) - 1, "and all others are (by routing .998 of them)"


def test_an_agent_asks_keeps_the_sketch_and_feeds_it(tmp_path: Path) -> None:
    (href, text, copy), *_ = copies(1, random.Random(2), changed=(1,))
    other = "http://b.test/copy"
    with Store.open(tmp_path / "store", settings=Settings(tablets=2)) as store:
        cluster = Cluster(tmp_path, store, NODES[:3])
        fed: list[bytes] = []

        async def send(data: bytes) -> bytes:
            fed.append(data)
            return await cluster.send(data)

        async def main() -> list[Answer]:
            sketched = Sketched(store, send)
            for page, words in ((href, text), (other, copy), ("http://d.test/", text)):
                store.put(page, text=words)
            again = [Asked.of(*each) for each in ((other, copy, 2), ("http://d.test/", text, 3), (href, text, 1))]
            first = await sketched.ask([Asked.of(href, text, 1), Asked.of("http://c.test/", "")])
            batch = store.tablet(store.tablet_of(href)).batch()
            batch.put_columns(Url(href).key, ((SKETCH, first[0].sketch),), 1)
            store.tablet(store.tablet_of(href)).write(batch)
            sketched.nodes_changed(5)
            while not any(data[:1] == FEED for data in fed):
                await asyncio.sleep(0.01)
            answers = [*first, *await sketched.ask(again)]
            sketched.stop()
            try:
                await sketched.ask(again[:1])
            except OSError:
                return answers
            raise AssertionError("it waits for nobody once it is told to stop")

        first, empty, near_copy, same, itself = asyncio.run(main())
        cluster.close()
    assert not first.original
    assert not empty.sketch, "a text without words has none"
    assert near_copy.original == href
    assert near_copy.method == "jaccard", "both texts are here"
    assert near_copy.similarity == jaccard(text, copy)
    assert itself.original != href, "a page is no copy of itself"
    assert (same.original, same.method) == (href, SAME_TEXT)
    told = msgspec.msgpack.decode(next(data for data in fed if data[:1] == FEED)[1:], type=list[Sketch])
    assert [each.id for each in told] == [href]
