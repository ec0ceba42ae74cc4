"""Exact copies by their digest's owner, near copies by the index: whatever comes in which order, and after crashes."""

from __future__ import annotations

import asyncio
import hashlib
import random
from pathlib import Path

import pytest

from fyke.crawl.duplicates import Duplicates, strip_all
from fyke.crawl.mail import INDEX, Mark
from fyke.crawl.nearcopies import Answer, Beside, Line, LookAlikes, NearCopies, serve
from fyke.crawl.queues import Queues
from fyke.dedupe.exact import Digests, text_digest
from fyke.frontier.frontier import Frontier
from fyke.frontier.politeness import Politeness
from fyke.frontier.priority import DefaultPrioritizer
from fyke.frontier.seen import SeenSet
from fyke.store import EXACT, Change, Page, RowMeta, Settings, Store
from fyke.url import Url

WORDS = (
    "the quick brown fox jumps over the lazy dog and runs away from all the other animals of the dark forest".split()
)


def opened(path: Path, keep_versions: int = 0) -> Store:
    return Store.open(path, settings=Settings(tablets=4, keep_versions=keep_versions))


def queues_of(store: Store) -> Queues:
    frontier = Frontier(Politeness(delay=0.0))
    queues = Queues(store, frontier, DefaultPrioritizer(), SeenSet(), lambda url, depth, now: None)
    queues.restore(0.0)
    return queues


def put(queues: Queues, href: str, stamp: int, body: bytes, text: str) -> None:
    """Store a page as an agent does."""
    url = Url(href)
    number = queues.tablet_of(url)
    tablet = queues.store.tablet(number)
    batch = tablet.batch()
    digest = hashlib.sha1(body, usedforsecurity=False).digest()
    meta = RowMeta(status=200, type="text/plain", length=len(body), digest=digest)
    stamp = batch.put_row(url.key, Change(meta, Page(b"", b"", body), text), stamp)
    queues.duplicates.sighted(batch, number, url, stamp, Digests(hashlib.sha256(body).digest(), text_digest(text)))
    tablet.write(batch)


def settle(queues: Queues) -> None:
    """Deliver letters until none is left but questions."""
    while any(queues.post.waiting(number) for number in queues.store.owned):
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
        queues = queues_of(store)
        for number in range(20):
            pages, chance = pages_of(number), random.Random(number)
            for href in chance.sample(sorted(pages), len(pages)):
                put(queues, href, *pages[href])
                if chance.random() < 0.5:
                    settle(queues)
            settle(queues)
            found = {href: mark for href, mark in marks(store).items() if href in pages}
            first, second, third, fourth, _, sixth, seventh = pages
            assert set(found) == {second, third, fourth, seventh}
            assert found[second] == (first, EXACT)
            assert found[third][1] == "text"
            assert found[fourth] == (third, EXACT)
            assert found[seventh] == (sixth, EXACT)
            assert pages[found[third][0]][0] < 3, "every chain goes back in time, so it ends"
        assert (counted(store, "exact"), counted(store, "near")) == (60, 20)


def test_letters_that_a_crash_left_are_applied_by_the_next_run(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        queues = queues_of(store)
        for href, page in pages_of(0).items():
            put(queues, href, *page)
        assert queues.post.pending
    with opened(tmp_path / "s") as store:
        settle(queues_of(store))
        assert counted(store, "exact") == 3


@pytest.mark.parametrize("keep", [0, 2])
def test_surplus_bodies_go_later_unless_their_original_may_go(tmp_path: Path, keep: int) -> None:
    with opened(tmp_path / "s", keep) as store:
        queues = queues_of(store)
        body = b"a long body " * 100
        put(queues, "http://a.test/", 1_000_000, body, "text")
        put(queues, "http://b.test/", 2_000_000, body, "text")
        settle(queues)
        assert not queues.duplicates.strip(3.0), "too young"
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
        queues = queues_of(store)
        put(queues, "http://a.test/", 1, b"one", "one")
        put(queues, "http://a.test/", 2, b"one", "one")
        put(queues, "http://b.test/", 3, b"one", "one")
        settle(queues)
        assert marks(store) == {"http://b.test/": ("http://a.test/", EXACT)}


def test_a_firm_mark_is_not_replaced_by_a_weaker(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        queues = queues_of(store)
        put(queues, "http://a.test/", 1, b"one", "one")
        put(queues, "http://b.test/", 2, b"one", "one")
        settle(queues)
        number = queues.tablet_of(Url("http://b.test/"))
        batch = store.tablet(number).batch()
        weak = Mark("http://b.test/", 2, "http://c.test/", 0.9, "jaccard")
        gone = Mark("http://b.test/gone", 2, "http://c.test/", 0.9, "jaccard")
        Duplicates(store, queues.post).apply(batch, number, [weak, gone])
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


def asked(queues: Queues, ask: object) -> NearCopies:
    near = NearCopies(queues, ask, lambda url, text, repeats: None)  # type: ignore[arg-type]
    near.restore()
    return near


def test_near_copies_are_marked_and_questions_survive_a_crash(tmp_path: Path) -> None:
    pages = texts(8)
    with opened(tmp_path / "s") as store:
        queues = queues_of(store)
        asked(queues, object())
        for i, (href, text) in enumerate(pages.items(), 1):
            put(queues, href, i, text.encode(), text)
        assert queues.post.waiting(INDEX) == len(pages)
    with opened(tmp_path / "s") as store:  # the texts are read from the store again
        queues = queues_of(store)
        index = Beside(tmp_path / "index", store)
        near = asked(queues, index.ask)
        asyncio.run(near.ask_some())
        index.close()
        settle(queues)
        assert marks(store) == {f"http://h{i}.test/": (f"http://h{i - 1}.test/", "jaccard") for i in range(1, 8, 2)}
        assert counted(store, "near") == 4
        queues.post.clear()
    with opened(tmp_path / "s") as store:
        assert queues_of(store).post.waiting(INDEX) == 0
        index = Beside(tmp_path / "index", store)  # as it was left
        [answer] = asyncio.run(index.ask([("http://new.test/", pages["http://h2.test/"] + " more")]))
        assert answer.original == "http://h2.test/"
        assert answer.method == "jaccard"
        index.close()


def test_without_an_index_nothing_is_asked_and_old_questions_are_dropped(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        queues = queues_of(store)
        asked(queues, object())
        put(queues, "http://a.test/", 1, b"a b c", "a b c")
    with opened(tmp_path / "s") as store:
        queues = queues_of(store)
        asked(queues, None)
        put(queues, "http://b.test/", 1, b"d e f", "d e f")
        settle(queues)
        assert queues.post.pending == 0


def test_the_index_answers_on_its_socket_and_agents_survive_its_end(tmp_path: Path) -> None:
    pages = list(texts(4).items())

    async def main(store: Store) -> list[list[Answer]]:
        line = Line(tmp_path)
        with pytest.raises(OSError, match="hung up"):
            await line.ask(pages)
        answers = []
        for part in (pages[:2], pages[2:]):  # a second index takes up what the first has left
            done = asyncio.Event()
            index = LookAlikes(tmp_path / "index", store)
            server = asyncio.create_task(serve(tmp_path, index, done))
            while not (tmp_path / "duplicates.sock").exists():
                await asyncio.sleep(0)
            answers.append(await line.ask([*part, pages[0]]))
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
