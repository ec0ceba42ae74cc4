"""Near copies over machines: what three nodes find of a page, when nodes come and go, and who is whose copy."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import msgspec

from fyke.cluster import near
from fyke.cluster.near import Routing
from fyke.crawl.duplicates.near import ASK, FEED, SKETCH, Answer, Asked, LookAlikes
from fyke.crawl.duplicates.sketched import Sketched
from fyke.dedupe.index import INLINE, SAME_TEXT
from fyke.dedupe.similarity import jaccard
from fyke.dedupe.sketch import Sketch, sketches_of
from fyke.store import Settings, Store
from fyke.url import Url

WORDS = [f"w{n}" for n in range(3000)]
NODES = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5"]
_decode = msgspec.msgpack.Decoder(list[Asked]).decode


class Cluster:
    """The indices of nodes, and a network that may bring frames in any order."""

    def __init__(self, folder: Path, store: Store, nodes: list[str], shuffled: random.Random | None = None) -> None:
        self._folder, self._store, self._shuffled = folder, store, shuffled
        self.indices: dict[str, LookAlikes] = {}
        for node in nodes:
            self.join(node)

    def join(self, node: str) -> None:
        self.indices[node] = LookAlikes(self._folder / node, self._store, 1 << 24)

    def leave(self, node: str) -> None:
        self.indices.pop(node).close()

    async def ask_node(self, node: str, data: bytes) -> bytes:
        for _ in range(self._shuffled.randrange(5) if self._shuffled is not None else 0):
            await asyncio.sleep(0)
        if node not in self.indices:
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


def ask(cluster: Cluster, kind: bytes, texts: list[tuple[str, str]]) -> list[Answer]:
    data = kind + msgspec.msgpack.encode(sketches_of(texts, INLINE))
    said = asyncio.run(cluster.send(data))
    return msgspec.msgpack.decode(said, type=list[Answer]) if kind == ASK else []


def recall(cluster: Cluster, made: list[tuple[str, str, str]], name: str) -> float:
    """The share of new copies, all above the threshold, that are found to be copies of some page of that text."""
    chance, asked = random.Random(name), []
    for href, text, _ in made:
        words = text.split()
        for place in chance.sample(range(150), 2):
            words[place] = name
        asked.append((href.replace("a.test", name), " ".join(words)))
    answers = ask(cluster, ASK, asked)
    pairs = zip(answers, made, strict=True)
    return sum(Url(a.original).target == Url(href).target for a, (href, _, _) in pairs if a.original) / len(asked)


def test_routing_moves_only_what_it_must() -> None:
    chance = random.Random(3)
    sketches = sketches_of([(href, text) for href, text, _ in copies(300, chance)], INLINE)
    before, after = Routing(NODES), Routing(NODES[:-1])
    shares = dict.fromkeys(NODES, 0)
    for sketch in sketches:
        was, now = before.places(sketch), after.places(sketch)
        assert sum(was.values()) == sum(now.values()) == 0b111, "each minimum has one node"
        for node in NODES[:-1]:
            assert now.get(node, 0) & was.get(node, 0) == was.get(node, 0), "nobody loses what it has"
        for node, places in was.items():
            shares[node] += places.bit_count()
    assert min(shares.values()) > 0.6 * max(shares.values()), "even shares"


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

        async def both(href: str, text: str, copy: str) -> list[str]:
            questions = [(href, text), (href.replace("a.test", "b.test"), copy)]
            frames = [ASK + msgspec.msgpack.encode([sketch]) for sketch in sketches_of(questions, INLINE)]
            said = await asyncio.gather(*map(cluster.send, frames))
            return [msgspec.msgpack.decode(each, type=list[Answer])[0].original for each in said]

        found = [asyncio.run(both(*each)) for each in made]
        cluster.close()
    assert not any(all(pair) for pair in found), "never each the other's copy"
    assert sum(any(pair) for pair in found) > 0.95 * len(found)


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
            first = await sketched.ask([(href, text), ("http://c.test/", "")])
            store.put(href, text=text)
            batch = store.tablet(store.tablet_of(href)).batch()
            batch.put_columns(Url(href).key, ((SKETCH, first[0].sketch),), 1)
            store.tablet(store.tablet_of(href)).write(batch)
            sketched.nodes_changed(5)
            while not any(data[:1] == FEED for data in fed):
                await asyncio.sleep(0.01)
            answers = [*first, *await sketched.ask([(other, copy), ("http://d.test/", text), (href, text)])]
            sketched.stop()
            try:
                await sketched.ask([(other, copy)])
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
