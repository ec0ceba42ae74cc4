"""What is known survives restarts in chunks, and is made anew where somebody else wrote rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from fyke.crawl.mail.outbox import Offer
from fyke.crawl.queue.queues import Queues
from fyke.frontier.frontier import Frontier
from fyke.frontier.politeness import Politeness
from fyke.frontier.priority import DefaultPrioritizer
from fyke.frontier.seen import SeenSet
from fyke.store import SEEN_MARK, Settings, Store
from fyke.url import Url

URLS = [Url(f"http://h{i % 7}.test/{i}") for i in range(500)]


def queues(store: Store) -> Queues:
    return Queues(store, Frontier(Politeness()), DefaultPrioritizer(), SeenSet(), lambda url, depth, now: None)


def offer(made: Queues, urls: list[Url]) -> None:
    for url in made.unseen(urls):
        tablet = made.tablet(url)
        batch = tablet.batch()
        made.offer(batch, made.tablet_of(url), [Offer(url.href, 1)], 0.0)
        tablet.write(batch)


def opened(path: Path) -> Store:
    return Store.open(path, settings=Settings(tablets=3))


def test_a_restart_knows_every_url_without_reading_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path / "s") as store:
        first = queues(store)
        first.restore(0.0)
        offer(first, URLS)
    beats = []
    with opened(tmp_path / "s") as store:
        second = queues(store)
        known = second._known_urls
        monkeypatch.setattr(
            second,
            "_known_urls",
            lambda tablet: known(tablet) if not tablet.was_written else pytest.fail("rows and queues are read"),
        )
        second.restore(0.0, lambda: beats.append(1))
        assert second.unseen(URLS) == []
        fresh = Url("http://h1.test/fresh")
        assert second.unseen([fresh]) == [fresh]
        assert second.frontier.counts().queued == len(URLS)
    assert len(beats) >= 3, "a sign of life for each tablet at least"


def test_rows_that_somebody_else_put_are_known_too(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        first = queues(store)
        first.restore(0.0)
        offer(first, URLS[:100])
        store.put("http://h2.test/by-hand", raw=b"x")
    with opened(tmp_path / "s") as store:
        number = store.tablet_of("http://h2.test/by-hand")
        assert store.tablet(number).get("queue", SEEN_MARK) is None
        second = queues(store)
        second.restore(0.0)
        assert second.unseen([Url("http://h2.test/by-hand"), *URLS[:100]]) == []
        assert store.tablet(number).get("queue", SEEN_MARK) is not None
    with opened(tmp_path / "s") as store:
        third = queues(store)
        third.restore(0.0)
        assert third.unseen([Url("http://h2.test/by-hand"), *URLS]) == URLS[100:]


def test_no_url_is_known_that_is_not_queued(tmp_path: Path) -> None:
    """A batch that was never written leaves nothing behind: the URL is found again."""
    with opened(tmp_path / "s") as store:
        first = queues(store)
        first.restore(0.0)
        url = URLS[0]
        batch = first.tablet(url).batch()
        first.offer(batch, first.tablet_of(url), [Offer(first.unseen([url])[0].href, 1)], 0.0)  # and the crash comes
    with opened(tmp_path / "s") as store:
        second = queues(store)
        second.restore(0.0)
        assert second.unseen([url]) == [url]
