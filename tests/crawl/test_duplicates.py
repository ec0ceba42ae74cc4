"""Exact copies by their digest's owner, near copies by the index: whatever comes in which order, and after crashes."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from fyke.cli import run as fyke_command
from fyke.crawl.duplicates.exact import Duplicates, strip_all
from fyke.crawl.duplicates.examination import Examination
from fyke.crawl.duplicates.near import FOLDER, Answer, Ask, Asked, LocalNearIndex, NearIndex, NearIndexClient, serve
from fyke.crawl.mail.outbox import INDEX, Mark
from fyke.crawl.politeness.rules import Rules
from fyke.crawl.queue.queues import Queues
from fyke.crawl.run.settings import CrawlSettings
from fyke.frontier.frontier import Frontier
from fyke.frontier.politeness import Politeness
from fyke.frontier.priority import DefaultPrioritizer
from fyke.frontier.seen import SeenSet
from fyke.reading.reading import Material
from fyke.store import EXACT, Change, Page, RowMeta, Settings, Store
from fyke.url import Url
from fyke.values import Meta

WORDS = (
    "the quick brown fox jumps over the lazy dog and runs away from all the other animals of the dark forest".split()
)


def opened(path: Path, keep_versions: int = 0) -> Store:
    return Store.open(path, settings=Settings(tablets=4, keep_versions=keep_versions))


def examiner(store: Store, ask: Ask | None = None) -> Examination:
    """What an agent has of it."""
    frontier = Frontier(Politeness(delay=0.0))
    queues = Queues(store, frontier, DefaultPrioritizer(), SeenSet(), lambda url, depth, now: None)
    queues.restore(0.0)
    return Examination(queues, lambda url, text, repeats: None, ask)


def put(examination: Examination, href: str, stamp: int, body: bytes, text: str, canonical: str = "") -> None:
    """Store a page as an agent does."""
    url, queues = Url(href), examination.queues
    number = queues.tablet_of(url)
    tablet = queues.store.tablet(number)
    batch = tablet.batch()
    digest = hashlib.sha1(body, usedforsecurity=False).digest()
    document = Meta(canonical=canonical) if canonical else None
    meta = RowMeta(status=200, type="text/plain", length=len(body), digest=digest, document=document)
    stamp = batch.put_row(url.key, Change(meta, Page(b"", b"", body), text), stamp)
    examination.stored(batch, number, url, stamp, Material(body, text, canonical=canonical))
    tablet.write(batch)


def settle(examination: Examination) -> None:
    """Examine what is to be examined, and deliver letters until none is left."""
    while examination.ready(True):
        asyncio.run(examination.examine())
    queues = examination.queues
    while any(queues.outbox.waiting(number) for number in queues.store.owned):
        queues.deliver(0.0)


def marks(store: Store) -> dict[str, tuple[str, str]]:
    return {row.url: (row.meta.duplicate_of, row.meta.duplicate_by) for row in store.scan() if row.meta.duplicate_of}


def counted(store: Store, name: str) -> int:
    return sum(tablet.ledger.counter("duplicates:" + name) for tablet in store.tablets())


def pages_of(number: int) -> dict[str, tuple[int, bytes, str]]:
    """Time, body and text of two exact copies of each of two bodies with the same words, and of two without words."""
    n = f"{number}".encode()
    return {
        f"http://a{number}.test/1": (1, b"<p>same words " + n, f"same words {number}"),
        f"http://b{number}.test/2": (2, b"<p>same words " + n, f"same words {number}"),
        f"http://c{number}.test/3": (3, b"<b>Same words! " + n, f"Same words! {number}"),
        f"http://d{number}.test/4": (4, b"<b>Same words! " + n, f"Same words! {number}"),
        f"http://a{number}.test/5": (5, b"other " + n, f"other {number}"),
        f"http://e{number}.test/6": (6, b"\0\1" + n, ""),
        f"http://f{number}.test/7": (7, b"\0\1" + n, ""),
    }


def test_the_lesser_time_is_the_original_in_whatever_order_they_come(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        examination = examiner(store)
        for number in range(20):
            pages, chance = pages_of(number), random.Random(number)
            for href in chance.sample(sorted(pages), len(pages)):
                put(examination, href, *pages[href])
                if chance.random() < 0.5:
                    settle(examination)
            settle(examination)
            found = {href: mark for href, mark in marks(store).items() if href in pages}
            first, second, third, fourth, _, sixth, seventh = pages
            assert set(found) == {second, third, fourth, seventh}
            assert found[second] == (first, EXACT)
            assert found[third][1] == "text"
            assert found[fourth] == (third, EXACT)
            assert found[seventh] == (sixth, EXACT)
            assert pages[found[third][0]][0] < 3, "every chain goes back in time, so it ends"
        assert (counted(store, "exact"), counted(store, "near")) == (60, 20)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_the_canonical_address_is_the_original_whenever_it_comes(tmp_path: Path, order: tuple[int, ...]) -> None:
    """Of faults S9: the canonical page was marked the copy of its ?a=1 variant, which was fetched before."""
    true = "http://a.test/p"
    pages = [(f"{true}?a=1", 1, true), (true, 2, true), (f"{true}?b=1", 3, true)]
    with opened(tmp_path / "s") as store:
        examination = examiner(store)
        for number in order:
            href, stamp, canonical = pages[number]
            put(examination, href, stamp, b"one body", "one body", canonical)
            settle(examination)
        found = marks(store)
        assert true not in found
        assert set(found) == {f"{true}?a=1", f"{true}?b=1"}
        strip_all(store)
        for href, _, _ in pages:
            row = store.get(href)
            assert row is not None
            assert row.raw == b"one body"


def test_a_near_copy_that_names_its_original_is_marked_itself(tmp_path: Path) -> None:
    async def ask(questions: Sequence[Asked]) -> list[Answer]:
        seen = "http://a.test/p?a=1"
        return [Answer(seen, 0.9, "jaccard") if href == "http://a.test/p" else Answer() for href, *_ in questions]

    with opened(tmp_path / "s") as store:
        examination = examiner(store, ask)
        put(examination, "http://a.test/p?a=1", 1, b"variant", "many words of a variant", "http://a.test/p")
        settle(examination)
        put(examination, "http://a.test/p", 2, b"true", "many words of the true one", "http://a.test/p")
        settle(examination)
        assert marks(store) == {"http://a.test/p?a=1": ("http://a.test/p", "jaccard")}


def test_letters_that_a_crash_left_are_applied_by_the_next_run(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        examination = examiner(store)
        for href, page in pages_of(0).items():
            put(examination, href, *page)
        assert examination.queues.outbox.pending
    with opened(tmp_path / "s") as store:
        settle(examiner(store))
        assert counted(store, "exact") == 3


@pytest.mark.parametrize("keep", [0, 2])
def test_surplus_bodies_go_later_unless_their_original_may_go(tmp_path: Path, keep: int) -> None:
    with opened(tmp_path / "s", keep) as store:
        examination = examiner(store)
        body = b"a long body " * 100
        put(examination, "http://a.test/", 1_000_000, body, "text")
        put(examination, "http://b.test/", 2_000_000, body, "text")
        settle(examination)
        assert not examination.queues.duplicates.strip(3.0), "too young"
        version = store.tablet(store.tablet_of(Url("http://b.test/").key)).version(Url("http://b.test/").key)
        assert version is not None
        assert version.size > 1000
    with opened(tmp_path / "s", keep) as store:
        strip_all(store)
        row = store.get("http://b.test/")
        assert row is not None
        assert row.version is not None
        assert (row.version.size > 1000) == bool(keep)
        assert row.raw == body


def test_a_changed_page_is_a_version_and_no_copy_of_itself(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        examination = examiner(store)
        put(examination, "http://a.test/", 1, b"one", "one")
        put(examination, "http://a.test/", 2, b"one", "one")
        put(examination, "http://b.test/", 3, b"one", "one")
        settle(examination)
        assert marks(store) == {"http://b.test/": ("http://a.test/", EXACT)}


def test_a_firm_mark_is_not_replaced_by_a_weaker(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        examination = examiner(store)
        put(examination, "http://a.test/", 1, b"one", "one")
        put(examination, "http://b.test/", 2, b"one", "one")
        settle(examination)
        number = examination.queues.tablet_of(Url("http://b.test/"))
        batch = store.tablet(number).batch()
        weak = Mark("http://b.test/", 2, "http://c.test/", 0.9, "jaccard")
        gone = Mark("http://b.test/gone", 2, "http://c.test/", 0.9, "jaccard")
        Duplicates(store, examination.queues.outbox).apply(batch, number, [weak, gone])
        store.tablet(number).write(batch)
        assert marks(store) == {"http://b.test/": ("http://a.test/", EXACT)}
        assert counted(store, "near") == 0


def texts(count: int) -> dict[str, str]:
    """Pages of hosts h0 … of which every odd one is the even one before with its last word replaced."""
    made = {}
    for i in range(count):
        words = [f"{word}{i // 2}" for word in WORDS * 3]
        if i % 2:
            words[-1] = "changed"
        made[f"http://h{i}.test/"] = " ".join(words)
    return made


def test_near_copies_are_marked_and_questions_survive_a_crash(tmp_path: Path) -> None:
    pages = texts(8)
    with opened(tmp_path / "s") as store:
        examination = examiner(store)
        for i, (href, text) in enumerate(pages.items(), 1):
            put(examination, href, i, text.encode(), text)
        assert examination.queues.outbox.waiting(INDEX) == len(pages)
    with opened(tmp_path / "s") as store:  # the texts are read from the store again
        index = LocalNearIndex(tmp_path / "index", store)
        examination = examiner(store, index.ask)
        settle(examination)
        index.close()
        assert marks(store) == {f"http://h{i}.test/": (f"http://h{i - 1}.test/", "jaccard") for i in range(1, 8, 2)}
        assert counted(store, "near") == 4
        examination.queues.outbox.syncing()()
    with opened(tmp_path / "s") as store:
        assert examiner(store).queues.outbox.waiting(INDEX) == 0
        index = LocalNearIndex(tmp_path / "index", store)  # as it was left
        [answer] = asyncio.run(index.ask([Asked.of("http://new.test/", pages["http://h2.test/"] + " more")]))
        assert answer.original == "http://h2.test/"
        assert answer.method == "jaccard"
        index.close()


def test_a_near_copy_is_marked_whichever_of_its_twins_is_asked_about_first(tmp_path: Path) -> None:
    base, copy = texts(2).values()
    stamps = {"http://base.test/": 1, "http://elder.test/": 2, "http://younger.test/": 3}
    for order in (("elder", "younger"), ("younger", "elder")):  # the elder may have been overtaken by another agent
        with opened(tmp_path / order[0]) as store:
            index = LocalNearIndex(tmp_path / order[0] / "index", store)
            examination = examiner(store, index.ask)
            for name in ("base", *order):
                href, text = f"http://{name}.test/", base if name == "base" else copy
                put(examination, href, stamps[href], (name + text).encode(), text)
                settle(examination)
            index.close()
            assert marks(store) == {
                "http://elder.test/": ("http://base.test/", "jaccard"),
                "http://younger.test/": ("http://elder.test/", "text"),
            }
            assert counted(store, "near") == 2


def test_what_was_deleted_is_no_original(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pages = texts(6)
    with opened(tmp_path / "s") as store:
        for href, text in pages.items():
            store.put(href, raw=text.encode(), text=text)
        index = NearIndex(tmp_path / "s" / FOLDER, store)
        index.ask([Asked.of(*page) for page in pages.items()])
        index.close()
    command = ["store", "delete", "--host", "h2.test", "--yes", "--store", str(tmp_path / "s")]
    assert fyke_command(command) == 0, capfd.readouterr().err
    with opened(tmp_path / "s") as store:
        index = NearIndex(tmp_path / "s" / FOLDER, store)
        asked = [Asked.of(f"http://new{i}.test/", pages[f"http://h{i}.test/"] + " more") for i in (0, 2, 4)]
        assert [answer.original for answer in index.ask(asked)] == [
            "http://h0.test/", "http://h3.test/", "http://h4.test/",
        ]  # fmt: skip
        index.close()


def test_a_host_that_says_not_found_with_status_200_is_counted(tmp_path: Path) -> None:
    rules = Rules.of(CrawlSettings(), [])
    with opened(tmp_path / "s") as store:
        index = LocalNearIndex(tmp_path / "index", store)
        examination = Examination(examiner(store).queues, rules.learn, index.ask)
        for i in range(25):
            put(examination, f"http://soft.test/{i}", i + 1, b"not here %d" % i, "this page is not here")
            put(examination, f"http://sound.test/{i}", i + 1, b"here %d" % i, f"page {i}")
        settle(examination)
        index.close()
        assert sum(tablet.ledger.counter("dropped:soft-error") for tablet in store.tablets()) == 25 - 19


def test_questions_stay_where_the_index_does_not_answer(tmp_path: Path) -> None:
    async def nobody(texts: object) -> list[Answer]:
        raise OSError("nobody")

    with opened(tmp_path / "s") as store:
        examination = examiner(store, nobody)
        put(examination, "http://a.test/", 1, b"a b c", "a b c")
        put(examination, "http://b.test/", 2, b"a b c", "a b c")
        with pytest.raises(OSError, match="nobody"):
            asyncio.run(examination.examine())
        assert examination.queues.outbox.waiting(INDEX) == 2
        assert marks(store) == {}


def test_the_index_answers_on_its_socket_and_agents_survive_its_end(tmp_path: Path) -> None:
    pages = [Asked.of(*page) for page in texts(4).items()]

    async def main(store: Store) -> list[list[Answer]]:
        line = NearIndexClient(tmp_path)
        with pytest.raises(OSError, match="hung up"):
            await line.ask(pages)
        answers = []
        for part in (pages[:2], pages[2:]):  # a second index takes up what the first has left
            done = asyncio.Event()
            index = NearIndex(tmp_path / "index", store)
            server = asyncio.create_task(serve(tmp_path, index, done))
            while not (tmp_path / "duplicates.sock").exists():
                await asyncio.sleep(0)
            answers.append(await line.ask([*part, pages[0]]))
            assert await line.ask([]) == [], "a bundle of pages without a text"
            assert await line.ask([Asked.of("http://h.test/no-words", "…")]) == [Answer()]
            done.set()
            await server
            index.close()
            with pytest.raises(OSError, match="hung up"):
                await line.ask(pages)
            (tmp_path / "duplicates.sock").unlink(missing_ok=True)
        line.close()
        return answers

    with opened(tmp_path / "s") as store:
        first, second = asyncio.run(main(store))
    assert [answer.original for answer in first] == ["", pages[0][0], pages[1][0]]
    assert [answer.original for answer in second] == ["", pages[2][0], pages[1][0]]
